"""The ways in which the walk computes the same: ratios or products, kept laws, bounds, slots."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval


def definition(row, query_id, ids, strata, shots, rank, max_rank):
    """AP, reciprocal rank, INP and CMC of one query without ties: sums over the laws of A and W."""
    own = np.flatnonzero(ids == query_id)
    cells = [np.flatnonzero(strata == s) for s in np.unique(strata)]
    right = [cell for cell in cells if ids[cell[0]] == query_id]
    wrong = [cell for cell in cells if ids[cell[0]] != query_id]
    n_drawn = sum(min(shots, len(cell)) for cell in right)
    ap = rr = inp = 0.0
    cmc = np.zeros(max_rank)
    for i in own:
        before, behind, mine = 1.0, 1.0, np.ones(1)
        for cell in right:
            n, drawn = len(cell), min(shots, len(cell))
            share = drawn / n if i in cell else None
            nearer = int((row[cell] < row[i]).sum())
            if share is not None:
                p, n, drawn = share, n - 1, drawn - 1
            law = hypergeom.pmf(np.arange(drawn + 1), n, nearer, drawn) if n else np.ones(1)
            mine = np.convolve(mine, law)
        before, behind = mine[0], mine[-1]
        images, none = np.ones(1), {}
        for cell in wrong:
            drawn, nearer = min(shots, len(cell)), int((row[cell] < row[i]).sum())
            law = hypergeom.pmf(np.arange(drawn + 1), len(cell), nearer, drawn)
            images = np.convolve(images, law)
            none[ids[cell[0]]] = none.get(ids[cell[0]], 1.0) * law[0]
        ahead = np.ones(1)
        for stays in none.values():
            ahead = np.convolve(ahead, [stays, 1 - stays])
        law = ahead if rank == "identity" else images
        a, b = np.arange(len(mine))[:, None], np.arange(len(images))
        ap += p * (mine[:, None] * images * (1 + a) / (1 + a + b)).sum() / n_drawn
        rr += p * before * (law / np.arange(1, len(law) + 1)).sum()
        inp += p * behind * (n_drawn * images / (n_drawn + b)).sum()
        cmc += p * before * np.cumsum(np.pad(law, (0, max_rank))[:max_rank])
    return ap, rr, inp, cmc


def problem(seed, sizes, n_queries, n_cams):
    """Distances without ties, identities, cameras; identity j has about ``sizes[j]`` items."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    query_ids = rng.integers(0, len(sizes), n_queries)
    distances = rng.random((n_queries, len(ids))) + 0.4 * (query_ids[:, None] != ids)
    return distances, query_ids, ids, rng.integers(0, n_cams, len(ids))


CASES = {
    "fewer strata than wrong items between": ([2, 3, 300, 400, 5], 6, 1),
    "more strata": ([4] * 80, 4, 1),
    "identities move a few at a time": ([40] + [2] * 150, 3, 1),
    "cells of identities": ([9, 8, 12, 7, 30, 11], 6, 3),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("rank", ["image", "identity"])
@pytest.mark.parametrize("shots", [1, 2, 7])
def test_every_way_equals_the_double_sums(case, rank, shots):
    sizes, n_queries, n_cams = CASES[case]
    distances, query_ids, ids, cams = problem(1, sizes, n_queries, n_cams)
    gallery = Gallery(shots=shots, strata=(ids, cams), short="all")
    r = expected_retrieval(
        distances,
        query_ids,
        ids,
        gallery,
        scores=("ap", "rr", "inp", "cmc"),
        rank=rank,
        max_rank=6,
        n_jobs=1,
    )
    for q in range(n_queries):
        ap, rr, inp, cmc = definition(distances[q], query_ids[q], ids, ids * n_cams + cams, shots, rank, 6)
        assert abs(r["ap"].per_item[q] - ap) < 1e-12
        assert abs(r["rr"].per_item[q] - rr) < 1e-12
        assert abs(r["inp"].per_item[q] - inp) < 1e-12
        assert np.abs(r["cmc"].per_item[q] - cmc).max() < 1e-12


@pytest.mark.parametrize("rank", ["image", "identity"])
@pytest.mark.parametrize("ap", ["rectangle", "trapezoid"])
@pytest.mark.parametrize("shots", [1, 3])
def test_the_walk_for_ties_equals_the_one_without(rank, ap, shots):
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
    gallery = Gallery(shots=shots, strata=(ids, cams), short="all")
    nearer, fair, farther = (
        expected_retrieval(
            values, query_ids, ids, gallery, scores=scores, rank=rank, ap=ap, ties="random", max_rank=5
        )
        for values in (before, tied, behind)
    )
    assert (nearer.tied, fair.tied, farther.tied) == (0, 8, 0)
    for name in scores:
        mean = (nearer[name].per_item + farther[name].per_item) / 2
        assert np.abs(fair[name].per_item - mean).max() < 1e-13, name


def test_skipped_ranks_are_in_the_bound():
    """Own items so far behind that their chance of a low rank is left out."""
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(300), 2)
    query_ids = np.arange(6)
    distances = rng.random((6, 600)) + 0.8 * (query_ids[:, None] == ids)
    for rank in ("image", "identity"):
        r = expected_retrieval(
            distances, query_ids, ids, Gallery(shots=1), scores=("cmc", "rr"), rank=rank, max_rank=3
        )
        exact = np.mean(
            [definition(distances[q], query_ids[q], ids, ids, 1, rank, 3)[3] for q in range(6)], axis=0
        )
        assert np.abs(r.cmc - exact).max() <= r["cmc"].error_bound


def test_ties_in_index_order_at_every_place():
    """Many equal distances: counts of wrong items before each own one, in the order of the gallery."""
    rng = np.random.default_rng(4)
    ids = rng.integers(0, 5, 203)
    query_ids = np.arange(5)
    distances = rng.integers(0, 6, (5, 203)) / 8
    cams, query_cams = rng.integers(0, 2, 203), rng.integers(0, 2, 5)
    mask = SameIdentityAndCamera(query_cams, cams)
    r = expected_retrieval(distances, query_ids, ids, exclude=mask, scores=("ap", "inp", "rr"))
    for q in range(5):
        kept = np.flatnonzero(~((ids == query_ids[q]) & (cams == query_cams[q])))
        order = kept[np.argsort(distances[q, kept], kind="stable")]
        places = np.flatnonzero(ids[order] == query_ids[q]) + 1
        found = np.arange(1, len(places) + 1)
        assert abs(r["ap"].per_item[q] - (found / places).mean()) < 1e-13
        assert abs(r["inp"].per_item[q] - len(places) / places[-1]) < 1e-13
        assert abs(r["rr"].per_item[q] - 1 / places[0]) < 1e-13
    assert r.tied == 5
