"""The generator of LED digits."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from uci_counts import LEDS

from knnccv_papers import fetch_uci

# top, upper left, upper right, middle, lower left, lower right, bottom
SHOWN = {
    0: (1, 1, 1, 0, 1, 1, 1),
    1: (0, 0, 1, 0, 0, 1, 0),
    2: (1, 0, 1, 1, 1, 0, 1),
    3: (1, 0, 1, 1, 0, 1, 1),
    4: (0, 1, 1, 1, 0, 1, 0),
    5: (1, 1, 0, 1, 0, 1, 1),
    6: (1, 1, 0, 1, 1, 1, 1),
    7: (1, 0, 1, 0, 0, 1, 0),
    8: (1, 1, 1, 1, 1, 1, 1),
    9: (1, 1, 1, 1, 0, 1, 1),
}


def bayes():
    """For each display the most probable digit, and the probability that this is right."""
    rule, right = {}, Fraction(0)
    for display in itertools.product((0, 1), repeat=7):
        joint = {}
        for digit, segments in SHOWN.items():
            n_wrong = sum(a != b for a, b in zip(display, segments, strict=True))
            joint[digit] = Fraction(1, 10) * Fraction(1, 10) ** n_wrong * Fraction(9, 10) ** (7 - n_wrong)
        rule[display] = max(joint, key=joint.get)
        right += joint[rule[display]]
    return rule, right


def near(share, expected, n):
    """Check that a share of n draws is within five standard errors of its expectation."""
    return abs(share - expected) < 5 * sqrt(expected * (1 - expected) / n)


@pytest.fixture(scope="module", params=LEDS)
def samples(request):
    """Forty samples as one: displays, further attributes, digits."""
    drawn = [fetch_uci(request.param, random_state=seed) for seed in range(40)]
    X, y = np.concatenate([d.X for d in drawn]), np.concatenate([d.y for d in drawn])
    return X[:, :7].astype(int), X[:, 7:].astype(int), y


@pytest.mark.parametrize("name", LEDS)
def test_form(name):
    data, n_random = fetch_uci(name), LEDS.index(name) * 17
    assert data.X.shape == (1000, 7 + n_random)
    assert data.X.flags.c_contiguous
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.int64)
    assert data.nominal == (True,) * (7 + n_random)
    assert data.categories == (("0", "1"),) * (7 + n_random)
    assert set(np.unique(data.X)) == {0, 1}
    assert data.target_names == tuple("0123456789")
    assert data.feature_names[:2] == ("top", "upper_left")
    assert data.feature_names[7:] == tuple(f"random_{i}" for i in range(1, n_random + 1))
    assert "random_state" in data.description


def test_digits_segments_and_their_bayes_rule(samples):
    displays, _, digits = samples
    wrong = displays != np.array([SHOWN[k] for k in digits])
    for digit in range(10):
        assert near((digits == digit).mean(), 0.1, len(digits))
        for segment in range(7):
            found = wrong[digits == digit, segment]
            assert near(found.mean(), 0.1, len(found)), (digit, segment)
    for one, other in itertools.combinations(range(7), 2):
        assert near((wrong[:, one] & wrong[:, other]).mean(), 0.01, len(wrong)), (one, other)
    rule, right = bayes()
    assert float(right) == pytest.approx(0.74, abs=0.005)  # the paper's number has two digits
    said = [rule[tuple(display)] for display in displays.tolist()]
    assert near(np.mean(said == digits), float(right), len(digits))


def test_the_further_attributes_say_nothing(samples):
    displays, others, digits = samples
    for column in others.T:
        assert near(column.mean(), 0.5, len(digits))
        for digit in range(10):
            found = column[digits == digit]
            assert near(found.mean(), 0.5, len(found))
        for segment in displays.T:
            assert near(column[segment == 1].mean(), 0.5, segment.sum())
    for one, other in itertools.combinations(others.T, 2):
        assert near((one == other).mean(), 0.5, len(digits))


@pytest.mark.parametrize("name", LEDS)
def test_seeds(name):
    first, again, other = (fetch_uci(name, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(fetch_uci(name, random_state=rng).X, first.X)
    assert not np.array_equal(fetch_uci(name, random_state=rng).X, first.X)
    one, two = fetch_uci(name, random_state=None), fetch_uci(name, random_state=None)
    assert not np.array_equal(one.X, two.X)
    np.testing.assert_array_equal(fetch_uci(name, rows="all").X, fetch_uci(name).X)


def test_the_sample_of_the_repositories_has_the_same_structure(data_folder):
    sample = np.loadtxt(data_folder / "uci31" / "led-display" / "led-display.data", dtype=int)
    wrong = sample[:, :7] != np.array([SHOWN[k] for k in sample[:, 7]])
    assert near(wrong.mean(), 0.1, wrong.size)
