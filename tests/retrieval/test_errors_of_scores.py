"""Jackknife over identities and paired differences: against the scores of the data without an identity."""

import math

import numpy as np
import pytest

from knnccv import Neighbors
from knnccv.inference import InferenceWarning, jackknife_error
from knnccv.retrieval import (
    First,
    Gallery,
    JunkIdentities,
    Reciprocal,
    SameIdentityAndCamera,
    cuhk03,
    expected_retrieval,
)

SCORES = (
    "cmc", "ap", "rr", "inp", "ndcg@5", "recall@3", "map@r", "rbp", "cmc_all_shots",
    First((1, 0.5), name="half"), Reciprocal(2, name="late"),
)  # fmt: skip


def data(seed=0, n_queries=70, n_gallery=90):
    """Identities 0 to 11 have queries, 1 to 13 gallery items."""
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, 12, n_queries), rng.integers(1, 14, n_gallery)
    distances = rng.random((n_queries, n_gallery)) + 0.3 * (query_ids[:, None] != ids)
    return distances, query_ids, ids, rng.integers(1, 3, n_queries), rng.integers(1, 3, n_gallery)


def score(problem, gallery, queries=slice(None), items=slice(None), **options):
    """Scores of some queries and items; a protocol has its own mask."""
    distances, query_ids, ids, query_cams, cams = problem
    cameras = query_cams[queries], cams[items]
    gallery = gallery(ids[items], cams[items])
    more = cameras if not isinstance(gallery, Gallery) else ()
    exclude = None if more else SameIdentityAndCamera(*cameras)
    return expected_retrieval(
        distances[queries][:, items], query_ids[queries], ids[items], gallery, *more, exclude=exclude,
        scores=SCORES, max_rank=5, tol=1e-14, n_jobs=1, **options,
    )  # fmt: skip


GALLERIES = {
    "all": lambda *_: Gallery("all"),
    "own": lambda *_: Gallery(per_identity=2, short="all"),
    "cells": lambda ids, cams: Gallery(shots=1, strata=(ids, cams), mask="before", short="all"),
    "some": lambda *_: Gallery("all", n_identities=4, per_query=True),
    "some own": lambda *_: Gallery(per_identity=1, n_identities=3),
    "protocol": lambda *_: cuhk03(),
}


@pytest.mark.parametrize("kind", GALLERIES)
def test_every_replicate_is_the_score_of_the_data_without_these_identities(kind):
    problem = data()
    _, query_ids, ids, *_ = problem
    for average, n_groups in (("query", 5), ("identity", None)):
        options = {"average": average, "ties": "random"}
        if kind != "protocol":
            options["rank"] = "identity"
        r = score(problem, GALLERIES[kind], jackknife="identity", n_groups=n_groups, **options)
        again = score(problem, GALLERIES[kind], jackknife="identity", n_groups=n_groups, **options)
        groups = r["ap"].groups
        assert groups.same(again["ap"].groups)
        assert groups.identities.tolist() == list(range(1, 14))  # identity 0 has no right item
        assert sorted(groups.sizes.tolist()) == ([1] * 13 if n_groups is None else [2, 2, 3, 3, 3])
        assert groups.n_queried == 11
        for g in range(len(groups.sizes)):
            out = groups.identities[groups.groups == g]
            rest = score(problem, GALLERIES[kind], ~np.isin(query_ids, out), ~np.isin(ids, out), **options)
            for name in r:
                assert np.abs(rest[name].score - r[name].score_without[g]).max() < 1e-12, (average, name)


def test_the_standard_error_of_identities_one_by_one():
    problem = data(1)
    r = score(problem, GALLERIES["own"], jackknife="identity")
    plain = score(problem, GALLERIES["own"])
    for name in r:
        without = r[name].score_without
        n = len(without)
        expected = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
        assert np.abs(r[name].standard_error - expected).max() < 1e-15
        assert np.all(r[name].score == plain[name].score)
        assert np.shape(r[name].standard_error) == np.shape(r[name].score)
        assert np.isnan(plain[name].standard_error).all()
    assert plain["ap"].score_without is None


def test_groups_of_different_sizes_of_a_mean():
    rng = np.random.default_rng(0)
    values, group = rng.random(11), np.arange(11) % 4
    without = np.array([values[group != g].mean() for g in range(4)])
    sizes = np.bincount(group)
    means = np.array([values[group == g].mean() for g in range(4)])
    expected = np.sqrt(((means - values.mean()) ** 2 / (11 / sizes - 1)).mean())
    assert abs(jackknife_error(without, values.mean(), sizes) - expected) < 1e-15
    singles = np.array([np.delete(values, i).mean() for i in range(11)])
    assert abs(jackknife_error(singles) - values.std(ddof=1) / math.sqrt(11)) < 1e-15


def test_queries_that_are_gallery_items():
    rng = np.random.default_rng(4)
    ids = rng.integers(0, 8, 50)
    distances = rng.random((50, 50))
    r = expected_retrieval(distances, ids, ids, exclude="self", jackknife="identity")
    for g, identity in enumerate(r["ap"].groups.identities):
        kept = ids != identity
        rest = expected_retrieval(distances[np.ix_(kept, kept)], ids[kept], ids[kept], exclude="self")
        assert abs(rest["ap"].score - r["ap"].score_without[g]) < 1e-12


def test_junk_and_distractors_are_not_left_out():
    distances, query_ids, ids, *_ = data(5)
    sure = np.flatnonzero(ids == 13)
    r = expected_retrieval(
        distances, query_ids, ids, Gallery(per_identity=1), exclude=JunkIdentities(12), always=[13],
        jackknife="identity",
    )  # fmt: skip
    assert r["ap"].groups.identities.tolist() == list(range(1, 12))
    some = ids == 13
    some[sure[0]] = False  # one item is drawn, or not
    r = expected_retrieval(
        distances, query_ids, ids, Gallery(per_identity=1), always=some, jackknife="identity"
    )
    assert 13 in r["ap"].groups.identities


def test_a_warning_of_distractors_under_one_identity():
    rng = np.random.default_rng(6)
    query_ids, ids = np.arange(20), np.concatenate([np.arange(20), np.arange(20), np.full(40, 99)])
    distances = rng.random((20, 80))
    with pytest.warns(InferenceWarning, match=r"identity 99 has 40 of 80 .*always=\[99\]") as caught:
        expected_retrieval(distances, query_ids, ids, jackknife="identity")
    assert caught[0].filename == __file__
    r = expected_retrieval(distances, query_ids, ids, always=[99], jackknife="identity")
    assert len(r["ap"].groups.identities) == 20


def test_a_difference_is_that_of_the_replicates():
    problem = data(8)
    first, second = (
        score((distances, *problem[1:]), GALLERIES["own"], jackknife="identity")
        for distances in (problem[0], data(9)[0])
    )
    for name in ("ap", "cmc"):
        found = first.difference(second, name)
        assert np.all(found.difference == first[name].score - second[name].score)
        gaps = first[name].per_item - second[name].per_item
        assert np.array_equal(found.per_item, gaps, equal_nan=True)
        without = first[name].score_without - second[name].score_without
        assert (found.difference_without == without).all()
        n = len(without)
        expected = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
        assert np.abs(found.standard_error - expected).max() < 1e-15
        assert found.error_bound == first[name].error_bound + second[name].error_bound
        assert np.all(second.difference(first, name).difference == -found.difference)
    alone = score(problem, GALLERIES["own"])
    for name in ("ap", "cmc"):
        assert np.isnan(alone.difference(first, name).standard_error).all()
        assert alone.difference(first, name).difference_without is None


@pytest.mark.slow
def test_the_jackknife_says_how_much_other_identities_scatter():
    """A variance of 100 values has a standard error of 14 %; the jackknife's has a bias besides."""
    scores, errors, differences, paired = [], [], [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        spread = rng.uniform(0.4, 1.3, 40)
        centers = rng.normal(size=(40, 8))
        query_ids, ids = np.repeat(np.arange(40), 2), np.repeat(np.arange(40), 4)
        features = [centers[i] + spread[i, None] * rng.normal(size=(len(i), 8)) for i in (query_ids, ids)]
        first, second = (
            expected_retrieval(
                Neighbors.between(*(f + noise * rng.normal(size=f.shape) for f in features)), query_ids,
                ids, Gallery(per_identity=1), scores="ap", jackknife="identity", n_jobs=1,
            )
            for noise in (0.0, 0.3)
        )  # fmt: skip
        difference = first.difference(second)
        scores.append(first["ap"].score)
        errors.append(first["ap"].standard_error)
        differences.append(difference.difference)
        paired.append(difference.standard_error)
    assert 0.7 < np.mean(np.square(errors)) / np.var(scores, ddof=1) < 1.6
    assert 0.7 < np.mean(np.square(paired)) / np.var(differences, ddof=1) < 2.0
    assert np.mean(paired) < np.mean(errors)
