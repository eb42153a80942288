"""Galleries of random identities: scores equal their means over all sets of identities and all draws.

One of the tests that compile the kernel is fast, so that not two processes compile it at the same time.
"""

import itertools
import math
from fractions import Fraction

import naive_retrieval as naive
import numpy as np
import pytest

from knnccv.neighbors import Between
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

N_PROBLEMS, N_FAST = 240, 30
SCORES = ("cmc", "ap", "rr", "inp", "precision@3", "recall@4", "r_precision", "map@r", "ndcg@5", "rbp@0.7")


def problem(seed):
    """A small random problem: distances, identities, masked items, items of every gallery, the draw."""
    rng = np.random.default_rng([7, seed])
    n_ids = int(rng.integers(2, 6))
    n = int(rng.integers(5, 10))
    ids, cams, queries = rng.integers(0, n_ids, n), rng.integers(0, 2, n), rng.integers(0, n_ids, 3)
    ties = "random" if seed % 2 else "index"
    distances = rng.integers(0, 4, (3, n)) / 4 if seed % 3 else rng.random((3, n))
    masked = (rng.random((3, n)) < 0.3) & bool(rng.integers(0, 2))
    sure = (rng.random(n) < 0.2) & bool(rng.integers(0, 3) == 0)
    shots = int(rng.integers(0, 3))
    fine = bool(rng.integers(0, 2)) and shots > 0
    before = shots > 0 or bool(rng.integers(0, 2))
    m = int(rng.integers(1, n_ids + 1))
    gallery = Gallery(
        None if shots else "all", shots=shots or None, strata=(ids, cams) if fine else None, n_identities=m,
        mask="before" if before else None, short="all",
    )  # fmt: skip
    names = [(i, c) if fine else i for i, c in zip(ids.tolist(), cams.tolist(), strict=True)]
    return ids, queries, distances, ties, masked, sure, shots, names, m, gallery, before


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(N_FAST, N_PROBLEMS))
def test_all_sets_of_identities(seed):
    check(seed)


def test_all_sets_of_identities_of_some_problems():
    for seed in range(N_FAST):
        check(seed)


def items_before(ranking, query):
    """For every right item: right ones, wrong ones and wrong identities before it."""
    for at, identity in enumerate(ranking):
        if identity == query:
            wrong = [other for other in ranking[:at] if other != query]
            yield at - len(wrong), len(wrong), len(set(wrong))


def mean_of_every(weights, rank):
    def score(ranking, query):
        counts = [v if rank == "identity" else b for _, b, v in items_before(ranking, query)]
        return sum(weights[n] if n < len(weights) else 0 * weights[0] for n in counts) / Fraction(
            len(counts)
        )

    return score


def forms(rank):
    """Scores of one's own, and named ones of the same forms."""
    halves = (Fraction(1), Fraction(1, 2))

    def fusion(ranking, query):
        _, b, v = next(items_before(ranking, query))
        return Fraction(1, 61 + (v if rank == "identity" else b))

    def last(ranking, query):
        a, b, _ = list(items_before(ranking, query))[-1]
        return Fraction(2 + 3 * a, 4 + a + b)

    def points(ranking, query):
        places = [a + b for a, b, _ in items_before(ranking, query)]
        return Fraction(sum(3 - at for at in places if at < 3), (3, 5, 6)[min(len(places), 3) - 1])

    def table(ranking, query):
        places = [(a, b) for a, b, _ in items_before(ranking, query) if a < 2 and b < 2]
        return sum((halves[a] * (2 - b) for a, b in places), Fraction(0))

    def ap_within(ranking, query):
        terms = [Fraction(1 + a, 1 + a + b) for a, b, _ in items_before(ranking, query) if a + b < 3]
        return sum(terms, Fraction(0)) / min(3, ranking.count(query))

    curve = np.array([[Fraction(int(n < r)) for r in range(1, 5)] for n in range(4)], dtype=object)
    return {
        Reciprocal(61, of="first", slope=0, name="fusion"): fusion,
        Reciprocal(4, of="last", constant=2, slope=3, name="last"): last,
        AtRank((3, 2, 1), normalize="ideal", name="points"): points,
        Table([[2, 1], [1, 0.5]], name="table"): table,
        First((1, 0.5), of="every", name="every"): mean_of_every(halves, rank),
        "ap@3/min": ap_within,
        "cmc_all_shots": mean_of_every(curve, rank),
    }


def check(seed):
    """Compare with the enumeration, in Fractions and as floats."""
    ids, queries, distances, ties, masked, sure, shots, names, m, gallery, before = problem(seed)
    rank = "identity" if seed % 5 < 2 else "image"
    ap = "trapezoid" if seed % 7 < 3 else "rectangle"
    scores = dict(naive.IDENTITY if rank == "identity" else naive.IMAGE)
    if ap == "trapezoid":
        scores["ap"] = naive.ap_trapezoid
    if seed % 3 == 0:
        scores |= forms(rank)
    named = {score: getattr(score, "name", score) for score in scores}
    expected = {name: [] for name in named.values()}
    for q, query in enumerate(queries):
        pool = np.flatnonzero(~masked[q]).tolist()
        some = pool if before else range(len(ids))
        choosable = {int(ids[i]) for i in some if not sure[i]} - {int(query)}
        for name, score in scores.items():
            expected[named[name]].append(
                naive.expected_of_chosen(
                    score, query, m - 1, choosable, distances[q], ids, names, shots, pool,
                    always=set(np.flatnonzero(sure).tolist()), ties=ties,
                )
            )  # fmt: skip
    arguments = {
        "exclude": lambda rows: masked[rows], "scores": tuple(scores), "rank": rank, "ap": ap,
        "max_rank": 4, "ties": ties, "always": sure, "exact": True, "n_jobs": 1,
    }  # fmt: skip
    if gallery.shared and np.isin(queries, ids[sure]).any():
        with pytest.raises(ValueError, match="has items in always"):
            expected_retrieval(distances, queries, ids, gallery, **arguments)
        return
    if all(value is None for value in expected["ap"]):
        with pytest.raises(ValueError, match="no query has a right item"):
            expected_retrieval(distances, queries, ids, gallery, **arguments)
        return
    r = expected_retrieval(distances, queries, ids, gallery, **arguments)
    for name, values in expected.items():
        for q, value in enumerate(values):
            found = r[name].per_item_exact[q]
            if value is None:
                assert found is None
                continue
            assert np.all(np.asarray(found, object) == value), (name, q)
            assert np.abs(r[name].per_item[q] - np.asarray(value, dtype=float)).max() < 1e-13, name
        exact = np.asarray(r[name].exact, object)
        error = np.ravel(r[name].score) - np.array([float(v) for v in np.ravel(exact)])
        assert np.abs(error).max() <= r[name].error_bound


def data(seed=0, n_queries=30, n_gallery=90, n_ids=12):
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, n_ids, n_queries), np.arange(n_gallery) % n_ids
    distances = np.round(30 * (rng.random((n_queries, n_gallery)) + 0.3 * (query_ids[:, None] != ids)))
    return distances, query_ids, ids, rng.integers(1, 4, n_queries), rng.integers(1, 4, n_gallery)


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["image", "identity"])
def test_the_mean_of_the_trials(rank):
    distances, query_ids, ids, query_cams, cams = data()
    options = {
        "exclude": SameIdentityAndCamera(query_cams, cams), "scores": SCORES, "rank": rank, "max_rank": 6,
        "ties": "random",
    }  # fmt: skip
    galleries = {
        "own": Gallery(per_identity=2, n_identities=5),
        "all items": Gallery("all", n_identities=5, per_query=True),
        "cells": Gallery(shots=1, n_identities=4, strata=(ids, cams), mask="before"),
    }
    for kind, gallery in galleries.items():
        r = expected_retrieval(distances, query_ids, ids, gallery, **options)
        s = sampled_retrieval(distances, query_ids, ids, gallery, n_repeats=600, **options)
        for name in SCORES:
            error = np.maximum(s.standard_error(name, 600), 1e-6)
            assert np.all(np.abs(s.mean(name) - r[name].score) / error < 4.5), (kind, name)


@pytest.mark.slow
def test_one_gallery_for_all_queries():
    distances, _, ids, _, _ = data(1, n_queries=36)
    query_ids = np.arange(36) % 12  # as many queries of every identity
    gallery = Gallery(shots=2, n_identities=5)
    r = expected_retrieval(distances, query_ids, ids, gallery, scores=SCORES, max_rank=6)
    s = sampled_retrieval(distances, query_ids, ids, gallery, scores=SCORES, max_rank=6, n_repeats=800)
    for name in SCORES:
        error = np.maximum(s.standard_error(name, 800), 1e-6)
        assert np.all(np.abs(s.mean(name) - r[name].score) / error < 4.5), name
    single = sampled_retrieval(distances, query_ids, ids, gallery, scores=("ap",), n_repeats=800, n_jobs=3)
    assert (single.trials["ap"] == s.trials["ap"]).all()
    assert np.unique(np.bincount(ids)).tolist() == [7, 8]
    ways = [math.comb(n, 2) for n in np.bincount(ids)]
    assert r.n_galleries == sum(math.prod(some) for some in itertools.combinations(ways, 5))


@pytest.mark.slow
def test_a_mean_of_trials_is_not_a_ratio_of_expectations():
    """Identity 0 has two queries, both right; 1 and 2 have one, both wrong unless alone with it."""
    ids = np.array([0, 1, 2])
    distances = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    query_ids = np.array([0, 0, 1, 2])
    gallery = Gallery(n_identities=2)
    r = expected_retrieval(distances, query_ids, ids, gallery, scores=("cmc",), max_rank=1, exact=True)
    assert r["cmc"].per_item_exact == ((1,), (1,), (Fraction(1, 2),), (0,))
    assert r["cmc"].exact == (Fraction(5, 8),)
    s = sampled_retrieval(distances, query_ids, ids, gallery, scores=("cmc",), max_rank=1, n_repeats=3000)
    assert set(np.round(s.trials["cmc"][:, 0], 12)) == {round(2 / 3, 12), 0.5}
    assert abs(s.mean("cmc")[0] - (2 / 3 + 2 / 3 + 1 / 2) / 3) < 4.5 * s.standard_error("cmc", 3000)[0]
    assert "ratios of expectations" in r.gallery


@pytest.mark.slow
def test_queries_that_are_gallery_items():
    rng = np.random.default_rng(5)
    ids, distances = np.array([0, 0, 1, 1, 1, 2, 2, 3]), rng.random((8, 8))
    galleries = ((Gallery(n_identities=3), 0), (Gallery(per_identity=1, n_identities=2, short="all"), 1))
    for gallery, shots in galleries:
        r = expected_retrieval(
            distances, ids, ids, gallery, exclude="self", scores=("ap", "rr"), exact=True
        )
        for q in range(8):
            pool = [i for i in range(8) if i != q]
            for name in ("ap", "rr"):
                value = naive.expected_of_chosen(
                    naive.IMAGE[name], ids[q], gallery.n_others, {0, 1, 2, 3} - {int(ids[q])}, distances[q],
                    ids, ids.tolist(), shots, pool,
                )  # fmt: skip
                assert r[name].per_item_exact[q] == value
                assert value is None or abs(r[name].per_item[q] - float(value)) < 1e-14


@pytest.mark.slow
def test_the_deviation_of_galleries_of_every_query():
    distances, query_ids, ids, _, _ = data(6)
    gallery = Gallery(per_identity=1, n_identities=4)
    r = expected_retrieval(distances, query_ids, ids, gallery, scores=("cmc",), max_rank=3)
    s = sampled_retrieval(distances, query_ids, ids, gallery, scores=("cmc",), max_rank=3, n_repeats=2000)
    assert np.abs(s.std("cmc") / r.cmc_std() - 1).max() < 0.1
    shared = expected_retrieval(distances, query_ids, ids, Gallery(n_identities=4), scores=("cmc",))
    with pytest.raises(ValueError, match="cmc_std needs galleries that are drawn anew"):
        shared.cmc_std()


@pytest.mark.slow
def test_all_identities_and_one():
    distances, query_ids, ids, _, _ = data(2)
    options = {"scores": SCORES, "max_rank": 6, "ties": "random"}
    for rank in ("image", "identity"):
        full = expected_retrieval(distances, query_ids, ids, Gallery(shots=2), rank=rank, **options)
        same = expected_retrieval(
            distances, query_ids, ids, Gallery(shots=2, n_identities=12), rank=rank, **options
        )
        alone = expected_retrieval(
            distances, query_ids, ids, Gallery(shots=2, n_identities=1), rank=rank, **options
        )
        assert same.n_galleries == full.n_galleries
        for name in SCORES:
            assert np.abs(full[name].per_item - same[name].per_item).max() < 1e-13, name
        for name in ("cmc", "ap", "rr", "inp"):
            assert np.abs(alone[name].per_item - 1).max() < 1e-12, name


def test_the_number_of_galleries():
    ids = np.array([0, 0, 1, 1, 1, 2, 3])
    distances = np.arange(7.0)[None]
    r = expected_retrieval(distances, [0], ids, Gallery(shots=1, n_identities=2))
    ways = [2, 3, 1, 1]
    assert r.n_galleries == sum(a * b for a, b in itertools.combinations(ways, 2))
    r = expected_retrieval(distances, [0], ids, Gallery(n_identities=3), always=[3])
    assert r.n_galleries == 1
    r = expected_retrieval(distances, [0], ids, Gallery(n_identities=9, short="all"))
    assert r.n_galleries == 1


@pytest.mark.parametrize("always", [[0], [True, *[False] * 5]])
@pytest.mark.parametrize("function", [expected_retrieval, sampled_retrieval])
def test_right_items_in_all_shared_galleries(always, function):
    """Galleries without the query's identity would have right items, which the mean does not count."""
    distances, ids = np.arange(6.0)[None], [0, 0, 1, 1, 2, 2]
    shared = Gallery(n_identities=2, shots=1, short="all")
    with pytest.raises(ValueError, match=r"identity 0 of query 0 has items in always.*per_query=True"):
        function(distances, [0], ids, shared, always=always)
    anew = Gallery(n_identities=2, shots=1, short="all", per_query=True)
    function(distances, [0], ids, anew, always=always)
    function(np.repeat(distances, 2, axis=0), [1, 2], ids, shared, always=always)


@pytest.mark.slow
def test_threads_and_blocks(monkeypatch):
    distances, query_ids, ids, query_cams, cams = data(3)
    gallery = Gallery(per_identity=1, n_identities=5)
    mask = SameIdentityAndCamera(query_cams, cams)
    runs = []
    for n_jobs, rows in ((1, 30), (3, 4)):
        monkeypatch.setattr(Between, "rows_at_once", property(lambda _, rows=rows: rows))
        runs.append(
            expected_retrieval(
                distances, query_ids, ids, gallery, exclude=mask, scores=SCORES, n_jobs=n_jobs
            )
        )
    for name in SCORES:
        assert (runs[0][name].per_item == runs[1][name].per_item).all()
    order = np.random.default_rng(0).permutation(90)
    options = {"scores": SCORES, "ties": "random"}
    first = expected_retrieval(distances, query_ids, ids, gallery, **options)
    second = expected_retrieval(distances[:, order], query_ids, ids[order], gallery, **options)
    for name in SCORES:
        assert np.abs(first[name].per_item - second[name].per_item).max() < 1e-12


@pytest.mark.slow
def test_the_certified_error():
    rng = np.random.default_rng(0)
    ids, query_ids = np.repeat(np.arange(30), 6), np.arange(30)
    distances = rng.random((30, 180))
    gallery = Gallery(n_identities=20)
    rough, fine = (
        expected_retrieval(distances, query_ids, ids, gallery, scores=("ap", "rr", "inp"), tol=tol)
        for tol in (1e-6, 1e-13)
    )
    for name in ("ap", "rr", "inp"):
        assert abs(rough[name].score - fine[name].score) <= rough[name].error_bound + fine[name].error_bound
        assert fine[name].error_bound < 1e-11


def test_refused():
    distances, query_ids, ids, query_cams, cams = data(4)
    with pytest.raises(ValueError, match="at most 12 identities in its gallery; Gallery"):
        expected_retrieval(distances, query_ids, ids, Gallery(n_identities=13))
    with pytest.raises(ValueError, match="after the mask"):
        expected_retrieval(
            distances, query_ids, ids, Gallery(per_identity=1, n_identities=12, short="refuse"),
            exclude=lambda rows: np.tile(ids == 3, (len(rows), 1)),
        )  # fmt: skip
    with pytest.raises(ValueError, match="n_identities must be between 1"):
        Gallery(n_identities=0)
    with pytest.raises(ValueError, match="the mask removes a part of a stratum"):
        expected_retrieval(
            distances, query_ids, ids, Gallery(shots=1, n_identities=5),
            exclude=SameIdentityAndCamera(query_cams, cams),
        )  # fmt: skip
    rare = np.zeros(len(query_ids), np.int64)
    with pytest.raises(ValueError, match="no query has its identity in the gallery"):
        sampled_retrieval(distances, rare, ids, Gallery(n_identities=2))


@pytest.mark.slow
def test_the_jackknife_draws_from_the_other_identities():
    rng = np.random.default_rng(8)
    ids, query_ids, distances = np.array([0, 0, 1, 1, 2, 2, 3, 4]), np.arange(4), rng.random((4, 8))
    masked = np.zeros((4, 8), bool)
    masked[0, 7] = masked[1, 6] = True
    for gallery, before in (
        (Gallery(n_identities=3), False),
        (Gallery("all", n_identities=2, per_query=True), True),
    ):
        r = expected_retrieval(
            distances, query_ids, ids, gallery, exclude=lambda rows: masked[rows], scores=("ap",),
            jackknife="identity",
        )  # fmt: skip
        assert r["ap"].groups.identities.tolist() == [0, 1, 2, 3, 4]
        for out in range(5):
            values = []
            for q in set(range(4)) - {out}:
                pool = [i for i in range(8) if not masked[q, i] and ids[i] != out]
                choosable = {int(ids[i]) for i in (pool if before else range(8))} - {q, out}
                values.append(
                    naive.expected_of_chosen(
                        naive.ap, q, gallery.n_others, choosable, distances[q], ids, ids.tolist(), 0, pool
                    )
                )
            group = r["ap"].groups.groups[out]
            assert abs(r["ap"].score_without[group] - float(sum(values) / len(values))) < 1e-13
    with pytest.raises(ValueError, match="without a group of the jackknife, a query can have at most 4"):
        expected_retrieval(
            distances, query_ids, ids, Gallery(n_identities=5), scores=("ap",), jackknife="identity"
        )
