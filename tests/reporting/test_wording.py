"""Numbers within the sentences of a report."""

from fractions import Fraction

import numpy as np
import pytest

from knnccv._formatting import rounded_up
from knnccv.reporting._text import at_most, interval_text, percentage, score_text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0.0%"),
        (1, "100.0%"),
        (0.5676, "56.8%"),
        (0.99987, "99.99%"),
        (0.9996, "99.96%"),
        (0.00002, "0.002%"),
        (1 - 1e-9, "100.0%"),
        (-0.25, "-25.0%"),
    ],
)
def test_shares_that_are_not_all_or_none_do_not_read_so(share, text):
    assert percentage(share) == score_text(share, "classification") == text


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (0.022312, "0.023"),
        (5.378e-13, "5.4e-13"),
        (1e-12, "1e-12"),
        (5e-7, "5e-7"),
        (9.91e-7, "1e-6"),
        (151_234.5, "1.6e+05"),
        (0.0, "0"),
        (float("inf"), "inf"),
    ],
)
def test_bounds_are_rounded_up(bound, text):
    assert at_most(bound) == at_most(np.float64(bound)) == text


def test_rounded_bounds_hold():
    for bound in np.random.default_rng(0).lognormal(-20, 9, 500).tolist():
        shown = Fraction(at_most(bound))
        assert Fraction(str(bound)) <= shown <= Fraction(str(bound)) * Fraction(111, 100)


def test_an_interval_has_both_ends():
    assert interval_text(5.0, 12_345.6, "regression") == "5 to 12,350"
    assert interval_text(0.0, 0.5, "classification") == "0.0% to 50.0%"


@pytest.mark.parametrize("seed", range(3))
def test_rounded_bounds_are_bounds(seed):
    rng = np.random.default_rng(seed)
    for bound in (10 ** rng.uniform(-300, 300, 200)).tolist():
        shown = f"{rounded_up(bound):.1e}"
        assert bound <= float(shown) <= 1.11 * bound
    for bound in (0.0, np.inf, 1e-12, 2.5e-3, 9.9e-7, 7.0, 5e-324):
        assert rounded_up(bound) == bound
    assert rounded_up(9.91e-7) == 1e-6


def test_a_bound_that_is_no_number_is_no_number():
    assert np.isnan(rounded_up(np.nan))
