"""Lists of the nearest gallery items: exact where all right items are listed, bracketed elsewhere."""

import itertools

import naive_retrieval as naive
import numpy as np
import pytest
from galleries import random_problem
from seeds import over_seeds

from knnccv import Neighbors
from knnccv.retrieval import (
    AtRank,
    First,
    Gallery,
    Reciprocal,
    SameIdentityAndCamera,
    Table,
    expected_retrieval,
    sampled_retrieval,
)

FALLING = (
    Reciprocal(2, slope=0.5, name="every"), Reciprocal(61, "first", slope=0, name="fusion"),
    Reciprocal(4, "last", constant=2, slope=3, normalize="R", name="last"),
    AtRank([3, 2, 2, 1], normalize="ideal", name="points"), First([3, 2, 2, 1], "every", name="each"),
    First([1, 0.5], name="half"), Table([[2, 1], [1, 0.5]], name="table"),
)  # fmt: skip
SCORES = (
    "cmc", "ap", "rr", "inp", "precision@3", "recall@4", "r_precision", "map@r", "ndcg@5", "rbp@0.7",
    "cmc_all_shots", "ap@5/r", "ap@5/min", *FALLING,
)  # fmt: skip


def data(seed=0, n_queries=30, n_gallery=60, n_ids=7, levels=None):
    return random_problem(seed, n_queries, n_gallery, n_ids, levels, nearer=0.3)


def nearest(distances, depth):
    """What a search returns."""
    items = np.argsort(distances, axis=1, kind="stable")[:, :depth]
    return items, np.take_along_axis(distances, items, axis=1)


def lists(distances, depth, **options):
    return Neighbors.between_lists(*nearest(distances, depth), distances.shape[1], **options)


def brackets(full, cut, note):
    """Whether the results of lists bracket those of the whole matrix."""
    np.testing.assert_array_equal(full.valid, cut.valid)
    for name in full:
        gap = np.asarray(full[name].score) - np.asarray(cut[name].score)
        assert (gap >= -1e-13).all(), (note, name)
        assert (gap <= cut[name].error_bound).all(), (note, name)
        assert np.nanmax(cut[name].per_item - full[name].per_item) < 1e-12, (note, name)
        assert cut[name].certified, (note, name)
    assert cut.truncated > 0 or cut["ap"].error_bound < 1e-11, note


@over_seeds(16)
def test_brackets_contain_the_value_of_the_whole_matrix(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        levels = rng.choice([2, 6, 20, 1000])
        distances, query_ids, ids, query_cams, cams = data(seed, 8, 24, 4, levels)
        galleries = (
            Gallery("all"), Gallery(per_identity=1, short="all"), Gallery(per_identity=3, short="all"),
            Gallery(shots=1, strata=(ids, cams), mask="before"),
        )  # fmt: skip
        options = {
            "ties": rng.choice(["index", "random"]), "rank": rng.choice(["image", "identity"]),
            "ap": rng.choice(["rectangle", "trapezoid"]), "scores": SCORES, "max_rank": 8,
            "exclude": rng.choice([SameIdentityAndCamera(query_cams, cams), None]), "n_jobs": 1,
        }  # fmt: skip
        # Lists of which the last ties are cut in any order.
        shuffled = rng.permuted(np.tile(np.arange(24), (8, 1)), axis=1)
        order = np.argsort(np.take_along_axis(distances, shuffled, axis=1), axis=1, kind="stable")
        depth = int(rng.integers(1, 24))
        any_order = np.take_along_axis(shuffled, order, axis=1)[:, :depth]
        found = np.take_along_axis(distances, any_order, axis=1)
        gallery = galleries[rng.integers(4)]
        full = expected_retrieval(distances, query_ids, ids, gallery, **options)
        for near in (lists(distances, depth), Neighbors.between_lists(any_order, found, 24)):
            cut = expected_retrieval(near, query_ids, ids, gallery, **options)
            brackets(full, cut, f"seed {seed}, depth {depth}")


@over_seeds(10)
def test_brackets_are_those_of_all_completions(seeds):
    """The smallest and the largest mean over all orders of the items that are not listed."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        ids = rng.integers(0, 3, 6)
        ids[0] = 0
        distances = rng.random((1, 6))
        depth, shots = int(rng.integers(1, 5)), int(rng.integers(0, 3))
        rank = ("image", "identity")[seed % 2]
        scores = naive.scores_of(rank, "rectangle")
        scores |= {form.name: naive.of_form(form, rank == "identity") for form in FALLING}
        order = np.argsort(distances[0])
        values = {name: [] for name in scores}
        for tail in itertools.permutations(order[depth:].tolist()):
            row = np.empty(6)
            row[[*order[:depth].tolist(), *tail]] = np.arange(6)
            law = naive.law(0, row, ids.tolist(), ids.tolist(), shots, range(6))
            for name, score in scores.items():
                values[name].append(np.asarray(naive.expected(score, 0, law), float))
        gallery = Gallery(per_identity=shots, short="all") if shots else Gallery("all")
        asked = [name for name in scores if name not in {form.name for form in FALLING}]
        near = lists(distances, depth, cut_ties=False)
        r = expected_retrieval(near, [0], ids, gallery, scores=(*asked, *FALLING), rank=rank, max_rank=4)
        for name, some in values.items():
            low, high = np.min(some, axis=0), np.max(some, axis=0)
            assert np.abs(r[name].score - low).max() < 1e-13, (seed, name)
            assert abs(r[name].error_bound - np.max(high - low)) < 1e-12, (seed, name)


def test_lists_of_all_right_items_are_the_matrix():
    for ties, rank in itertools.product(("index", "random"), ("image", "identity")):
        distances, query_ids, ids, query_cams, cams = data(levels=20)
        options = {
            "scores": SCORES, "max_rank": 10, "exclude": SameIdentityAndCamera(query_cams, cams),
            "ties": ties, "rank": rank,
        }  # fmt: skip
        right = query_ids[:, None] == ids
        last = np.where(right, distances, -1).max(axis=1)
        depth = int((distances <= last[:, None]).sum(axis=1).max())
        galleries = Gallery("all"), Gallery(per_identity=2, short="all")
        for gallery, n in itertools.product(galleries, (depth + 1, 60)):
            whole, listed = (
                expected_retrieval(near, query_ids, ids, gallery, **options)
                for near in (distances, lists(distances, min(n, 60)))
            )
            assert listed.truncated == 0
            for name in whole if n == 60 or gallery.which else ():
                assert whole[name].per_item.tobytes() == listed[name].per_item.tobytes(), name
                assert listed[name].error_bound == whole[name].error_bound


def test_approximate_lists_have_no_bound_and_may_end_early():
    distances, query_ids, ids, _, _ = data(7)
    items, found = nearest(distances, 30)
    items[3, 20:], found[3, 20:] = -1, np.inf
    items[4], found[4] = -1, np.nan
    results = []
    for kind in (np.int64, np.int32, np.uint64):
        near = Neighbors.between_lists(items.astype(kind), found, 60, approximate=True)
        r = expected_retrieval(near, query_ids, ids)
        for name in ("ap", "cmc"):
            assert not r[name].certified
            assert r[name].error_bound == np.inf
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
            cut = expected_retrieval(near, ids, ids, exclude=exclude, scores=SCORES)
            brackets(full, cut, (depth, exclude))
            assert depth == 8 or cut["ap"].score == full["ap"].score
    sampled_retrieval(one, ids, ids, n_runs=2)  # complete lists serve


def test_memory_mapped_lists_are_read_when_asked(tmp_path):
    distances, query_ids, ids, _, _ = data(8, 300, 60)
    for kind in (np.float32, np.float64):
        items, found = nearest(distances.astype(kind), 15)
        items.astype(np.int32).tofile(tmp_path / "items")
        found.tofile(tmp_path / "found")
        mapped = (
            np.memmap(tmp_path / "items", np.int32, "r+", shape=items.shape),
            np.memmap(tmp_path / "found", kind, "r+", shape=items.shape),
        )
        near = Neighbors.between_lists(*mapped, 60)
        same = Neighbors.between_lists(items, found, 60)
        one, other = (expected_retrieval(given, query_ids, ids)["ap"] for given in (same, near))
        assert (one.score, one.error_bound) == (other.score, other.error_bound)
    mapped[0][77, 3] = 60
    with pytest.raises(ValueError, match=r"indices\[77, 3\] is 60; with n_gallery=60"):
        expected_retrieval(near, query_ids, ids)
