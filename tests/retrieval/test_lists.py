"""Lists of the nearest gallery items: exact where all right items are listed, bracketed elsewhere."""

import naive_retrieval as naive
import numpy as np
import pytest

from knnccv import Neighbors
from knnccv.neighbors import Between
from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval, sampled_retrieval

SCORES = ("cmc", "ap", "rr", "inp", "precision@3", "recall@4", "r_precision", "map@r", "ndcg@5", "rbp@0.7")


def data(seed=0, n_queries=30, n_gallery=60, n_ids=7, levels=None):
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, n_ids, n_queries), rng.integers(0, n_ids, n_gallery)
    right = query_ids[:, None] == ids
    distances = rng.random((n_queries, n_gallery)) + 0.6 - 0.3 * right
    if levels:
        distances = np.round(distances * levels) / levels
    return distances, query_ids, ids, rng.integers(0, 4, n_queries), rng.integers(0, 4, n_gallery)


def nearest(distances, depth):
    """What a search returns."""
    items = np.argsort(distances, axis=1, kind="stable")[:, :depth]
    return items, np.take_along_axis(distances, items, axis=1)


def lists(distances, depth, **options):
    return Neighbors.between_lists(*nearest(distances, depth), distances.shape[1], **options)


def values(r, name):
    return r[name].per_item.tobytes(), np.asarray(r[name].score).tobytes()


@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize("rank", ["image", "identity"])
def test_complete_lists_are_the_matrix(ties, rank):
    distances, query_ids, ids, query_cams, cams = data(levels=20)
    for gallery in (Gallery("all"), Gallery(per_identity=2, short="all")):
        whole, listed = (
            expected_retrieval(
                near, query_ids, ids, gallery, scores=SCORES, ties=ties, rank=rank, max_rank=10,
                exclude=SameIdentityAndCamera(query_cams, cams),
            )
            for near in (distances, lists(distances, distances.shape[1]))
        )  # fmt: skip
        assert listed.truncated == 0
        for name in SCORES:
            assert values(whole, name) == values(listed, name), name
            assert listed[name].error_bound == whole[name].error_bound
            assert listed[name].certified


def problem(seed):
    """A random problem, and how much of it is listed."""
    rng = np.random.default_rng(seed)
    levels = (None, 6, 20)[seed % 3]
    distances, query_ids, ids, query_cams, cams = data(seed, 8, 24, 4, levels)
    gallery = (
        Gallery("all"), Gallery(per_identity=1, short="all"), Gallery(per_identity=3, short="all"),
        Gallery(shots=1, strata=(ids, cams), mask="before"),
    )[seed % 4]  # fmt: skip
    options = {
        "ties": ("index", "random")[seed // 2 % 2],
        "rank": ("image", "identity")[seed // 3 % 2],
        "ap": ("rectangle", "trapezoid")[seed // 5 % 2],
        "exclude": SameIdentityAndCamera(query_cams, cams) if seed // 7 % 2 else None,
        "scores": SCORES,
        "max_rank": 8,
    }
    return distances, query_ids, ids, gallery, options, int(rng.integers(1, 24))


@pytest.mark.parametrize("seed", range(120))
def test_brackets_contain_the_value_of_the_whole_matrix(seed):
    distances, query_ids, ids, gallery, options, depth = problem(seed)
    full = expected_retrieval(distances, query_ids, ids, gallery, **options)
    cut = expected_retrieval(lists(distances, depth), query_ids, ids, gallery, **options)
    np.testing.assert_array_equal(full.valid, cut.valid)
    for name in SCORES:
        low, high = np.asarray(cut[name].score), np.asarray(cut[name].score) + cut[name].error_bound
        assert (low <= np.asarray(full[name].score) + 1e-13).all(), name
        assert (np.asarray(full[name].score) <= high).all(), name
        assert cut[name].certified
        below = cut[name].per_item - full[name].per_item
        assert np.nanmax(below) < 1e-12, name
    assert cut.truncated > 0 or cut["ap"].error_bound < 1e-11


@pytest.mark.parametrize("seed", range(40))
def test_brackets_are_those_of_all_completions(seed):
    """The smallest and the largest mean over all orders of the items that are not listed."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 3, 6)
    ids[0] = 0
    distances = rng.random((1, 6))
    depth = int(rng.integers(1, 5))
    shots = int(rng.integers(0, 3))
    rank = ("image", "identity")[seed % 2]
    scores = dict(naive.IDENTITY if rank == "identity" else naive.IMAGE)
    order = np.argsort(distances[0])
    beyond = [i for i in order[depth:].tolist()]
    lowest, highest = {}, {}
    from itertools import permutations

    for tail in permutations(beyond):
        row = np.empty(6)
        row[[*order[:depth].tolist(), *tail]] = np.arange(6)
        for name, score in scores.items():
            value = np.asarray(
                naive.expected(score, 0, row, ids, ids.tolist(), shots, range(6)), dtype=float
            )
            lowest[name] = np.minimum(lowest.get(name, np.inf), value)
            highest[name] = np.maximum(highest.get(name, -np.inf), value)
    gallery = Gallery(per_identity=shots, short="all") if shots else Gallery("all")
    near = lists(distances, depth, cut_ties=False)
    r = expected_retrieval(near, [0], ids, gallery, scores=tuple(scores), rank=rank, max_rank=4)
    for name in scores:
        assert np.abs(r[name].score - lowest[name]).max() < 1e-13, name
        assert abs(r[name].error_bound - np.max(highest[name] - lowest[name])) < 1e-12, name
