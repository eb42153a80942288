"""Larger galleries: sums over the laws of the items before a right one, closed forms, and the bounds.

They take the ways of the walk that small problems do not: kept laws, ratios or products, ranks left out.
"""

import functools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from galleries import random_problem
from scipy.stats import hypergeom

from knnccv.retrieval import AtRank, First, Gallery, Reciprocal, Table, expected_retrieval


@functools.cache
def chances(n, nearer, drawn):
    """The law of the number of nearer items among those drawn of n."""
    return hypergeom.pmf(np.arange(drawn + 1), n, nearer, drawn) if n else np.ones(1)


def double_sums(row, query_id, ids, strata, shots, max_rank):
    """Scores of one query without ties, by image and by identity: sums over the laws of A and B."""
    cells = [np.flatnonzero(strata == s) for s in np.unique(strata)]
    right = [cell for cell in cells if ids[cell[0]] == query_id]
    n_drawn = sum(min(shots, len(cell)) for cell in right)
    found = {name: np.zeros(2) for name in ("rectangle", "trapezoid", "rr", "inp")}
    cmc = np.zeros((2, max_rank))
    for i in np.flatnonzero(ids == query_id):
        mine, images, none = np.ones(1), np.ones(1), {}
        for cell in cells:
            n, drawn, nearer = len(cell), min(shots, len(cell)), int((row[cell] < row[i]).sum())
            if i in cell:
                share = drawn / n
                n, drawn = n - 1, drawn - 1
            law = chances(n, nearer, drawn)
            if ids[cell[0]] == query_id:
                mine = np.convolve(mine, law)
            else:
                images = np.convolve(images, law)
                none[ids[cell[0]]] = none.get(ids[cell[0]], 1.0) * law[0]
        ahead = functools.reduce(np.convolve, ([stays, 1 - stays] for stays in none.values()))
        a, b = np.arange(len(mine))[:, None], np.arange(len(images))
        both, here = share * mine[:, None] * images, (1 + a) / (1 + a + b)
        before = np.where(a + b > 0, a / np.maximum(a + b, 1), 1.0)
        found["rectangle"] += (both * here).sum() / n_drawn
        found["trapezoid"] += (both * (here + before)).sum() / 2 / n_drawn
        found["inp"] += share * mine[-1] * (n_drawn * images / (n_drawn + b)).sum()
        for by_identity, law in enumerate((images, ahead)):
            found["rr"][by_identity] += share * mine[0] * (law / np.arange(1, len(law) + 1)).sum()
            cmc[by_identity] += share * mine[0] * np.cumsum(np.pad(law, (0, max_rank))[:max_rank])
    return found | {"cmc": cmc}


def problem(seed, sizes, n_queries, n_cams):
    """Distances without ties, identities, cameras; identity j has ``sizes[j]`` items."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    query_ids = rng.integers(0, len(sizes), n_queries)
    distances = rng.random((n_queries, len(ids))) + 0.4 * (query_ids[:, None] != ids)
    return distances, query_ids, ids, rng.integers(0, n_cams, len(ids))


CASES = {
    "fewer strata than wrong items between": ([2, 3, 300, 400, 5], 4, 1),
    "more strata": ([4] * 80, 3, 1),
    "identities move a few at a time": ([40] + [2] * 150, 2, 1),
    "cells of identities": ([9, 8, 12, 7, 30, 11], 6, 3),
    "many of each": ([15] * 40, 2, 1),
}


@pytest.mark.parametrize("case", CASES)
def test_every_way_equals_the_double_sums(case):
    sizes, n_queries, n_cams = CASES[case]
    distances, query_ids, ids, cams = problem(1, sizes, n_queries, n_cams)
    for shots in (1, 3):
        gallery = Gallery(shots=shots, strata=(ids, cams), short="all")
        expected = [
            double_sums(distances[q], query_ids[q], ids, ids * n_cams + cams, shots, 6)
            for q in range(n_queries)
        ]
        for by_identity, ap in ((0, "rectangle"), (1, "trapezoid")):
            r = expected_retrieval(
                distances, query_ids, ids, gallery, scores=("ap", "rr", "inp", "cmc"), max_rank=6, n_jobs=1,
                rank=("image", "identity")[by_identity], ap=ap,
            )  # fmt: skip
            for q, values in enumerate(expected):
                for name in r:
                    value = values[ap if name == "ap" else name][by_identity]
                    assert np.abs(r[name].per_item[q] - value).max() < 1e-12, (shots, by_identity, name)


def test_the_walk_for_ties_equals_the_one_without():
    """A wrong item tied with the last own one takes the walk for ties; the mean of both orders is exact."""
    distances, query_ids, ids, cams = problem(2, [9, 8, 12, 7, 30, 11], 8, 3)
    distances -= 0.3 * (query_ids[:, None] == ids)
    scores = ("ap", "rr", "inp", "cmc", "precision@3", "map@r", "rbp")
    before, tied, behind = distances.copy(), distances.copy(), distances.copy()
    for q in range(len(tied)):
        own = np.flatnonzero(ids == query_ids[q])
        far = own[np.argmax(distances[q, own])]
        wrong = np.flatnonzero((ids != query_ids[q]) & (distances[q] > distances[q, far]))
        item = wrong[np.argmin(distances[q, wrong])]
        tied[q, item] = tied[q, far]
        before[q, item] = np.nextafter(before[q, far], -1)
    for shots, rank, ap in (
        (1, "image", "trapezoid"),
        (3, "image", "rectangle"),
        (3, "identity", "trapezoid"),
    ):
        gallery = Gallery(shots=shots, strata=(ids, cams), short="all")
        options = {"scores": scores, "rank": rank, "ap": ap, "ties": "random", "max_rank": 5}
        nearer, fair, farther = (
            expected_retrieval(values, query_ids, ids, gallery, **options)
            for values in (before, tied, behind)
        )
        assert (nearer.n_tied, fair.n_tied, farther.n_tied) == (0, 8, 0)
        for name in scores:
            mean = (nearer[name].per_item + farther[name].per_item) / 2
            assert np.abs(fair[name].per_item - mean).max() < 1e-13, (shots, rank, name)


TIED = ("ap", "inp", "rr", "cmc", "precision@10", "r_precision", "map@r", "recall@300")


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


def agree(r, expected):
    """Whether scores of tied items are the closed forms, within their bounds."""
    for name in TIED:
        error = abs(np.ravel(r[name].score)[-1] - float(expected[name]))
        assert error <= r[name].error_bound, name
        assert error < 1e-12, name


@pytest.mark.parametrize(("n", "n_right"), [(400, 400), (420, 300), (500, 3)])
def test_all_items_at_one_distance(n, n_right):
    ids = np.random.default_rng(0).permutation(np.where(np.arange(n) < n_right, 0, 1 + np.arange(n) % 30))
    forms = First([1, 1, 1], name="within 3"), Table(np.full((n, 1), 1 / n_right), name="right ones first")
    r = expected_retrieval(
        np.zeros((1, n)), [0], ids, ties="random", scores=(*TIED, *forms), max_rank=3, n_jobs=1
    )
    expected = closed(n, n_right)
    agree(r, expected)
    assert abs(r["within 3"].score - float(expected["cmc"])) < 1e-12
    ahead = Fraction(n_right, n - n_right + 1) / n_right  # right items before the first wrong one
    assert abs(r["right ones first"].score - float(ahead if n > n_right else 1)) < 1e-12


def test_a_looser_tolerance_is_within_its_bound():
    distances, query_ids, ids, _, _ = random_problem(2, 40, 900, 120, None, nearer=0.4)
    gallery = Gallery(per_identity=2, short="all")
    fine, rough = (
        expected_retrieval(
            distances[:10], query_ids[:10], ids, gallery, scores=("ap", "rr", "inp"), tol=tol
        )
        for tol in (1e-13, 1e-4)
    )
    for name in fine:
        difference = abs(fine[name].score - rough[name].score)
        assert difference <= fine[name].error_bound + rough[name].error_bound
        assert rough[name].error_bound > fine[name].error_bound < 1e-11


@pytest.mark.parametrize("c", [1, 61, 2000])
def test_the_bound_of_the_quadrature_holds(c):
    """Against double sums with one item per identity, where the law of the wrong items is a convolution."""
    rng = np.random.default_rng(c)
    ids = np.concatenate([[0] * 3, np.repeat(np.arange(1, 60), 5)])
    distances = rng.random(len(ids))
    value = 0.0
    for own in distances[ids == 0]:
        shares = [(distances[ids == i] < own).mean() for i in range(1, 60)]
        law = functools.reduce(np.convolve, ([1 - share, share] for share in shares))
        value += law @ (1 / (c + np.arange(60))) / 3  # one right item, none before it
    for tol in (1e-3, 1e-6, 1e-13):
        forms = [Reciprocal(c, of, slope=5, name=of) for of in ("every", "last")]
        r = expected_retrieval(
            distances[None], [0], ids, Gallery(per_identity=1), scores=forms, tol=tol, n_jobs=1
        )
        for of in r:
            assert abs(r[of].score - value) <= r[of].error_bound
            assert r[of].error_bound < 2 * tol * value + 1e-12


def test_ranks_left_out_are_in_the_bound():
    """Own items so far behind that their chance of a low rank is left out."""
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(300), 2)
    query_ids = np.arange(6)
    distances = rng.random((6, 600)) + 0.8 * (query_ids[:, None] == ids)
    exact = np.mean(
        [double_sums(distances[q], q, ids, ids, 1, 3)["cmc"] for q in range(6)], axis=0
    )  # by image and by identity
    for by_identity, rank in enumerate(("image", "identity")):
        r = expected_retrieval(
            distances, query_ids, ids, Gallery(shots=1), scores=("cmc", "rr"), rank=rank, max_rank=3
        )
        assert np.abs(r.cmc - exact[by_identity]).max() <= r["cmc"].error_bound


def test_far_items_are_left_out_within_the_bound():
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(400), 3)
    distances = rng.random((4, len(ids)))
    distances[:, ids == 0] += 0.3
    forms = (
        Table(np.ones((3, 3)), name="table"), First([1, 0.5], "every", name="every"),
        AtRank([1, 1], name="at"), First([1], name="first"), Reciprocal(61, "first", slope=0),
    )  # fmt: skip
    for rank in ("image", "identity"):
        r = expected_retrieval(
            distances, [0] * 4, ids, Gallery(per_identity=2), scores=(*forms, "cmc_all_shots"), rank=rank
        )
        for form in forms[:4]:
            assert 0 <= r[form.name].score < 1e-15
            assert r[form.name].error_bound < 1e-14
        assert 1 / 1000 < r["reciprocal"].score < 1 / 150
