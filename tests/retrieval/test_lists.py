"""Lists of the nearest gallery items: exact where all right items are listed, bracketed elsewhere."""

import itertools
import tracemalloc

import naive_retrieval as naive
import numpy as np
import pytest
from plain_retrieval import random_problem

from knnccv import Neighbors
from knnccv.neighbors import Between
from knnccv.retrieval import (
    AtRank,
    First,
    Gallery,
    SameIdentityAndCamera,
    Table,
    expected_retrieval,
    sampled_retrieval,
)
from knnccv.retrieval._forms import Score
from knnccv.retrieval._scores import check_bracketed

SCORES = ("cmc", "ap", "rr", "inp", "precision@3", "recall@4", "r_precision", "map@r", "ndcg@5", "rbp@0.7")


def data(seed=0, n_queries=30, n_gallery=60, n_ids=7, levels=None):
    return random_problem(seed, n_queries, n_gallery, n_ids, levels, nearer=0.3)


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
    beyond = order[depth:].tolist()
    lowest, highest = {}, {}
    for tail in itertools.permutations(beyond):
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


@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize("source", ["lists", "search"])
def test_the_same_bits_for_any_threads_and_blocks(ties, source, monkeypatch):
    distances, query_ids, ids, query_cams, cams = data(3, 150, 90, levels=30)
    results = set()
    for n_jobs, rows in ((1, 64), (2, 64), (5, 64), (2, 7), (1, 150)):
        monkeypatch.setattr(Between, "rows_at_once", property(lambda _, rows=rows: rows))
        if source == "lists":
            near = lists(distances, 20)
        else:
            near = Neighbors.between(np.round(distances[:, :3], 1), distances.T[:, :3], n_neighbors=20)
        r = expected_retrieval(
            near, query_ids, ids, Gallery(per_identity=2, short="all"), scores=SCORES, ties=ties,
            exclude=SameIdentityAndCamera(query_cams, cams), n_jobs=n_jobs,
        )  # fmt: skip
        assert r.truncated
        results.add(str([(values(r, name), r[name].error_bound) for name in r]))
    assert len(results) == 1


@pytest.mark.parametrize("seed", range(30))
def test_items_beyond_a_list_may_tie_with_its_last(seed):
    """Lists of which the last ties are cut in any order bracket the value under either rule of ties."""
    rng = np.random.default_rng(seed)
    distances, query_ids, ids, _, _ = data(seed, 6, 20, 3, levels=2)
    shuffled = rng.permuted(np.tile(np.arange(20), (6, 1)), axis=1)
    order = np.argsort(np.take_along_axis(distances, shuffled, axis=1), axis=1, kind="stable")
    items = np.take_along_axis(shuffled, order, axis=1)[:, : int(rng.integers(1, 20))]
    near = Neighbors.between_lists(items, np.take_along_axis(distances, items, axis=1), 20)
    for ties in ("index", "random"):
        full, cut = (
            expected_retrieval(D, query_ids, ids, scores=SCORES, ties=ties) for D in (distances, near)
        )
        for name in SCORES:
            gap = np.asarray(full[name].score) - np.asarray(cut[name].score)
            assert (gap >= -1e-13).all(), name
            assert (gap <= cut[name].error_bound).all(), name


def test_scores_are_exact_where_all_right_items_are_listed():
    distances, query_ids, ids, _, _ = data(5)
    right = query_ids[:, None] == ids
    last = np.where(right, distances, -1).max(axis=1)
    depth = int((distances <= last[:, None]).sum(axis=1).max())
    full = expected_retrieval(distances, query_ids, ids, scores=SCORES)
    for near in (lists(distances, depth, cut_ties=False), lists(distances, depth + 1)):
        r = expected_retrieval(near, query_ids, ids, scores=SCORES)
        assert r.truncated == 0
        for name in SCORES:
            assert values(r, name) == values(full, name)
            assert r[name].error_bound == full[name].error_bound
    short = expected_retrieval(lists(distances, 5), query_ids, ids)
    assert short.truncated > 0
    assert f"lists: {short.truncated} queries have right items that are not listed" in str(short)


def test_without_distances_no_items_tie():
    distances, query_ids, ids, _, _ = data(6)
    items, found = nearest(distances, 12)
    one, other = (
        expected_retrieval(
            Neighbors.between_lists(items, D, 60, cut_ties=False), query_ids, ids, ties="random"
        )
        for D in (None, found)
    )
    assert one["ap"].score == other["ap"].score
    assert one["ap"].error_bound == other["ap"].error_bound


def test_unsigned_and_approximate_lists():
    distances, query_ids, ids, _, _ = data(7)
    items, found = nearest(distances, 30)
    items[3, 20:], found[3, 20:] = -1, np.inf
    items[4], found[4] = -1, np.nan
    results = []
    for kind in (np.int64, np.int32, np.uint32, np.uint64):
        near = Neighbors.between_lists(items.astype(kind), found, 60, approximate=True)
        r = expected_retrieval(near, query_ids, ids)
        assert not r["ap"].certified
        assert not r["cmc"].certified
        assert r["ap"].error_bound == r["cmc"].error_bound == np.inf
        results.append(r["ap"].per_item.tobytes())
    assert len(set(results)) == 1
    full = expected_retrieval(distances, query_ids, ids)
    assert (r["ap"].per_item <= full["ap"].per_item + 1e-12)[full.valid].all()


@pytest.mark.parametrize("with_itself", [False, True])
def test_queries_that_are_gallery_items(with_itself):
    X = np.random.default_rng(0).normal(size=(50, 2))
    ids = np.random.default_rng(1).integers(0, 10, 50)
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    full = expected_retrieval(distances, ids, ids, exclude="self", scores=SCORES)
    given = distances.copy()
    if not with_itself:
        np.fill_diagonal(given, np.inf)
    for depth in (8, 49):
        items, found = nearest(given, depth + with_itself)
        one = Neighbors.between_lists(items, found, 50, same=np.arange(50))
        other = Neighbors.between_lists(items, found, 50)
        for near, exclude in ((one, None), (other, "self"), (one, "self")):
            r = expected_retrieval(near, ids, ids, exclude=exclude, scores=SCORES)
            for name in SCORES:
                gap = np.asarray(full[name].score) - np.asarray(r[name].score)
                assert (gap >= -1e-13).all()
                assert (gap <= r[name].error_bound).all()
            assert r.truncated == 0 or depth == 8
            if depth == 49:
                assert r["ap"].score == full["ap"].score
    sampled_retrieval(one, ids, ids, n_repeats=2)  # complete lists serve


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_memory_mapped_lists(kind, tmp_path):
    distances, query_ids, ids, _, _ = data(8, 300, 60)
    items, found = nearest(distances.astype(kind), 15)
    items.astype(np.int32).tofile(tmp_path / "items")
    found.tofile(tmp_path / "found")
    mapped = (
        np.memmap(tmp_path / "items", np.int32, "r+", shape=items.shape),
        np.memmap(tmp_path / "found", kind, "r+", shape=items.shape),
    )
    one, other = (
        expected_retrieval(Neighbors.between_lists(*given, 60), query_ids, ids)
        for given in ((items, found), mapped)
    )
    assert values(one, "ap") == values(other, "ap")
    assert one["cmc"].error_bound == other["cmc"].error_bound
    near = Neighbors.between_lists(*mapped, 60)
    mapped[0][77, 3] = 60
    with pytest.raises(ValueError, match=r"indices\[77, 3\] is 60; with n_gallery=60"):
        expected_retrieval(near, query_ids, ids)


def test_no_matrix_of_all_pairs_is_made():
    rng = np.random.default_rng(0)
    items = np.sort(rng.integers(0, 2000, (3000, 10)), axis=1) + 2000 * np.arange(10)
    near = Neighbors.between_lists(items, None, 20000)
    query_ids, ids = rng.integers(0, 500, 3000), rng.integers(0, 500, 20000)
    expected_retrieval(lists(data()[0], 5), *data()[1:3], scores=("rr",), n_jobs=1)  # compiles
    tracemalloc.start()
    expected_retrieval(near, query_ids, ids, scores=("rr",), n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 3000 * 20000 / 4


def test_lists_of_scikit_learn():
    from sklearn.neighbors import NearestNeighbors

    rng = np.random.default_rng(0)
    queries, gallery = rng.normal(size=(40, 3)), rng.normal(size=(200, 3))
    query_ids, ids = rng.integers(0, 9, 40), rng.integers(0, 9, 200)
    found, items = NearestNeighbors(n_neighbors=60).fit(gallery).kneighbors(queries)
    given = expected_retrieval(Neighbors.between_lists(items, found, 200), query_ids, ids)
    full = expected_retrieval(Neighbors.between(queries, gallery), query_ids, ids)
    assert given["ap"].score < full["ap"].score < given["ap"].score + given["ap"].error_bound
    np.testing.assert_array_equal(given.cmc, full.cmc)


@pytest.mark.parametrize(
    ("form", "falls"),
    [
        (First((3, 2, 2)), True),
        (AtRank((1, 2)), False),
        (AtRank((1, -1)), False),
        (Table(lambda R: np.ones((R, 2)) * [2, 1]), True),
        (Table(lambda R: np.ones((R, 2)) * [2 - R, 0.5]), False),
        (None, True),
    ],
)
def test_scores_that_may_rise_as_right_items_move_back_are_not_bracketed(form, falls):
    score = Score("own", () if form is None else (form,))
    if falls:
        check_bracketed(score, np.array([0, 1, 2]))
    else:
        with pytest.raises(ValueError, match="'own' is not bracketed by lists"):
            check_bracketed(score, np.array([0, 1, 2]))


def test_galleries_are_not_sampled_from_short_lists():
    distances, query_ids, ids, _, _ = data(9)
    with pytest.raises(ValueError, match="lists of the nearest serve expected_retrieval"):
        sampled_retrieval(lists(distances, 10), query_ids, ids)


ITEMS = np.array([[3, 0, 1], [1, 2, 4]])
FOUND = np.array([[0.1, 0.2, 0.2], [0.0, 0.5, 0.7]])


def call(items=ITEMS, found=FOUND, n_gallery=5, **options):
    near = Neighbors.between_lists(items, found, n_gallery, **options)
    return expected_retrieval(near, [0, 1], [0, 0, 1, 1, 0])


def changed(array, place, value):
    copy = array.copy()
    copy[place] = value
    return copy


CASES = {
    "not sorted": (
        lambda: call(found=FOUND[:, ::-1]), ValueError, r"distances\[0, 2\] = 0.1 is smaller than"
    ),
    "similarities": (lambda: call(found=1 - FOUND), ValueError, "negate similarities"),
    "an item twice": (lambda: call(changed(ITEMS, (1, 2), 1)), ValueError, r"\[1\] holds .* 1 twice"),
    "an index too large": (lambda: call(changed(ITEMS, (0, 1), 5)), ValueError, "between 0 and 4"),
    "a gallery too small": (lambda: call(n_gallery=4), ValueError, r"\[1, 2\] is 4; with n_gallery=4"),
    "a gallery smaller than the lists": (lambda: call(n_gallery=2), ValueError, "have 3 columns, but"),
    "another gallery than the identities": (
        lambda: call(n_gallery=6), ValueError, r"gallery_ids must have shape \(6,\)"
    ),
    "half a gallery": (lambda: call(n_gallery=2.5), TypeError, "n_gallery must be an integer"),
    "an empty gallery": (lambda: call(n_gallery=0), ValueError, "n_gallery must be at least 1"),
    "a missing item": (lambda: call(changed(ITEMS, (0, 2), -1)), ValueError, "or -1 for none with approxi"),
    "a negative index": (
        lambda: call(changed(ITEMS, (0, 2), -2), approximate=True), ValueError, r"indices\[0, 2\] is -2"
    ),
    "a gap": (lambda: call(changed(ITEMS, (0, 1), -1), approximate=True), ValueError, "continues after"),
    "NaN": (lambda: call(found=changed(FOUND, (1, 1), np.nan)), ValueError, r"distances\[1, 1\] is nan"),
    "infinite": (lambda: call(found=changed(FOUND, (1, 2), np.inf)), ValueError, r"\[1, 2\] is inf"),
    "distances of another shape": (lambda: call(found=FOUND[:, :2]), ValueError, "the shape of indices"),
    "distances in words": (lambda: call(found=FOUND.astype(str)), TypeError, "distances must be real"),
    "indices with fractions": (lambda: call(ITEMS + 0.5), TypeError, "indices must be integers"),
    "exchanged": (lambda: call(FOUND, ITEMS), TypeError, "indices must be integers"),
    "ragged": (lambda: call([[3, 0], [1]]), ValueError, "indices must be integers in a rectangular array"),
    "one list": (lambda: call(ITEMS[0]), ValueError, r"must have shape \(n_queries, depth\)"),
    "masked": (lambda: call(np.ma.masked_equal(ITEMS, 4)), ValueError, "masked entries in indices"),
    "self of another length": (lambda: call(same=[0]), ValueError, r"must have shape \(2,\)"),
    "self out of range": (lambda: call(same=[0, 5]), ValueError, "from 0 to 4, or -1"),
    "approximate in words": (lambda: call(approximate="yes"), TypeError, "approximate must be True or"),
    "ties in words": (lambda: call(cut_ties=2), TypeError, "cut_ties must be True or False"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_clear(name):
    function, kind, words = CASES[name]
    with pytest.raises(kind, match=words):
        function()
