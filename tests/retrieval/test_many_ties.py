"""Hundreds of items at one distance: the scores of random orders, which have closed forms."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from knnccv.retrieval import First, Gallery, Table, expected_retrieval

SCORES = ("ap", "inp", "rr", "cmc", "precision@10", "r_precision", "map@r", "recall@300")


def closed(n, n_right):
    """Means over all orders of n items, n_right of them right, in Fractions."""
    before = Fraction(n_right - 1, max(n - 1, 1))
    precisions = [(1 + (r - 1) * before) / r / n for r in range(1, n + 1)]
    last = {r: Fraction(comb(r - 1, n_right - 1), comb(n, n_right)) for r in range(n_right, n + 1)}
    first = {n + 1 - r: share for r, share in last.items()}
    return {
        "ap": sum(precisions),
        "inp": sum(share * Fraction(n_right, r) for r, share in last.items()),
        "rr": sum(share / r for r, share in first.items()),
        "cmc": sum(share for r, share in first.items() if r <= 3),
        "precision@10": Fraction(n_right, n),
        "r_precision": Fraction(n_right, n),
        "map@r": sum(precisions[:n_right]),
        "recall@300": min(Fraction(300, n), Fraction(1)),
    }


@pytest.mark.parametrize(("n", "n_right"), [(400, 400), (420, 300), (500, 3), (1200, 700)])
def test_all_items_at_one_distance(n, n_right):
    ids = np.random.default_rng(0).permutation(np.where(np.arange(n) < n_right, 0, 1 + np.arange(n) % 30))
    forms = First([1, 1, 1], name="within 3"), Table(np.full((n, 1), 1 / n_right), name="right ones first")
    r = expected_retrieval(
        np.zeros((1, n)), [0], ids, ties="random", scores=(*SCORES, *forms), max_rank=3, n_jobs=1
    )
    expected = closed(n, n_right)
    for name in SCORES:
        found = r[name].score[-1] if name == "cmc" else r[name].score
        assert abs(found - float(expected[name])) <= r[name].error_bound, name
        assert abs(found - float(expected[name])) < 1e-12, name
    assert abs(r["within 3"].score - float(expected["cmc"])) < 1e-12
    ahead = Fraction(n_right, n - n_right + 1) / n_right  # right items before the first wrong one
    assert abs(r["right ones first"].score - float(ahead if n > n_right else 1)) < 1e-12


@pytest.mark.parametrize(
    "gallery",
    [
        Gallery(per_identity=40),
        pytest.param(Gallery(n_identities=3, per_identity=40), marks=pytest.mark.slow),
    ],
)
def test_drawn_items_at_one_distance(gallery):
    ids = np.repeat(np.arange(3), 60)
    r = expected_retrieval(
        np.zeros((1, 180)), [0], ids, gallery, ties="random", scores=SCORES, max_rank=3, n_jobs=1
    )
    expected = closed(120, 40)
    for name in SCORES:
        found = r[name].score[-1] if name == "cmc" else r[name].score
        assert abs(found - float(expected[name])) <= r[name].error_bound, name
        assert abs(found - float(expected[name])) < 1e-12, name
