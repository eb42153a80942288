"""`check_score` accepts right scores and finds wrong ones."""

import math
from fractions import Fraction

import numpy as np
import pytest

from knnccv.retrieval import AtRank, First, Reciprocal, Table, check_score


def ranks(relevant):
    return [r for r, right in enumerate(relevant, 1) if right]


def average(relevant):
    return sum(Fraction(c, r) for c, r in enumerate(ranks(relevant), 1)) / sum(relevant)


def average_within(k, divisor):
    def score(relevant):
        found = [Fraction(c, r) for c, r in enumerate(ranks(relevant), 1) if r <= k]
        return sum(found, Fraction(0)) / divisor(k, sum(relevant))

    return score


def ndcg(relevant):
    ideal = sum(1 / math.log2(1 + r) for r in range(1, min(3, sum(relevant)) + 1))
    return sum(1 / math.log2(1 + r) for r in ranks(relevant) if r <= 3) / ideal


def every(relevant):
    wrong = [r - c for c, r in enumerate(ranks(relevant), 1)]
    return Fraction(sum(b < 2 for b in wrong), len(wrong))


def precision_within_r(R):
    a, b = np.ogrid[:R, :R]
    return np.where(a + b < R, (1 + a) / (1 + a + b), 0) / R


GAINS = 1 / np.log2([2, 3, 4])
RIGHT = {
    "ap": ("ap", average),
    "ap as a form": (Reciprocal(1), average),
    "fusion": (Reciprocal(61, "first", slope=0), lambda relevant: Fraction(1, 60 + ranks(relevant)[0])),
    "inp": (Reciprocal(1, "last"), lambda relevant: Fraction(sum(relevant), ranks(relevant)[-1])),
    "ndcg": (AtRank(GAINS, normalize="ideal"), ndcg),
    "ndcg by name": ("ndcg@3", ndcg),
    "all shots": (First([1, 1], "every"), every),
    "ap@2/r": ("ap@2/r", average_within(2, lambda _, R: R)),
    "ap@3/min": ("ap@3/min", average_within(3, min)),
    "map@r": (
        Table(precision_within_r),
        lambda relevant: average_within(sum(relevant), lambda _, R: R)(relevant),
    ),
}
WRONG = {
    "a wrong weight": (First([1, 0.5, 0.5]), lambda relevant: {1: 1, 2: 0.5}.get(ranks(relevant)[0], 0)),
    "a wrong divisor": (AtRank([1, 1], normalize="R"), lambda relevant: Fraction(sum(relevant[:2]), 2)),
    "no ideal": (AtRank(GAINS), ndcg),
    "another c": (Reciprocal(2), average),
    "every for last": (Reciprocal(1), RIGHT["inp"][1]),
    "a table without its R": (Table(precision_within_r(3)), RIGHT["map@r"][1]),
    "over min(k, R)": ("ap@3/r", RIGHT["ap@3/min"][1]),
}


@pytest.mark.parametrize("case", RIGHT)
def test_right_scores(case):
    assert check_score(*RIGHT[case], n_cases=4) > 50


@pytest.mark.parametrize("case", WRONG)
def test_wrong_scores(case):
    with pytest.raises(AssertionError, match=r"but enumeration gives .* gallery items at the distances"):
        check_score(*WRONG[case], n_cases=10)


def test_the_counter_example_is_small():
    with pytest.raises(AssertionError, match=r"for 1 gallery items .* the ranking is \[True\]"):
        check_score("rr", lambda _: Fraction(1, 2))
    with pytest.raises(AssertionError, match=r"for 3 gallery items"):
        check_score("ap", lambda relevant: Fraction(1, ranks(relevant)[0]))


def test_the_trapezoid():
    def trapezoid(relevant):
        found = ranks(relevant)
        before = [Fraction(c, r - 1) if r > 1 else Fraction(1) for c, r in enumerate(found)]
        return (average(relevant) + sum(before) / len(found)) / 2

    assert check_score("ap", trapezoid, ap="trapezoid", n_cases=4) > 50


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (("cmc", average), ValueError, "'cmc' is a curve"),
        (("nothing", average), ValueError, "scores must be of"),
        (("ap", lambda _: None), TypeError, "naive must return a finite number, got None"),
        (("ap", lambda _: math.nan), TypeError, "naive must return a finite number, got nan"),
    ],
)
def test_bad_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        check_score(*arguments)
    with pytest.raises(ValueError, match="n_cases must be at least 1"):
        check_score("ap", average, n_cases=0)
