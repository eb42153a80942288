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
    market1501,
)

SCORES = ("cmc", "ap", "rr", "inp", "ndcg@5", "recall@3", "map@r", "rbp")


def data(seed=0, n_queries=70, n_gallery=90):
    """Identities 0 to 11 have queries, 1 to 13 gallery items."""
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, 12, n_queries), rng.integers(1, 14, n_gallery)
    distances = rng.random((n_queries, n_gallery)) + 0.3 * (query_ids[:, None] != ids)
    return distances, query_ids, ids, rng.integers(1, 3, n_queries), rng.integers(1, 3, n_gallery)


def score(problem, gallery, queries=slice(None), items=slice(None), **options):
    distances, query_ids, ids, query_cams, cams = problem
    query_cams, ids, cams = query_cams[queries], ids[items], cams[items]
    return expected_retrieval(
        distances[queries][:, items], query_ids[queries], ids, gallery(ids, cams),
        exclude=SameIdentityAndCamera(query_cams, cams), scores=SCORES, max_rank=5, tol=1e-14, n_jobs=1,
        **options,
    )  # fmt: skip


GALLERIES = {
    "all": lambda ids, cams: Gallery("all"),  # noqa: ARG005
    "own": lambda ids, cams: Gallery(per_identity=2, short="all"),  # noqa: ARG005
    "cells": lambda ids, cams: Gallery(shots=1, strata=(ids, cams), mask="before", short="all"),
}


@pytest.mark.parametrize("n_groups", [None, 5])
@pytest.mark.parametrize("average", ["query", "identity"])
@pytest.mark.parametrize("kind", GALLERIES)
def test_every_replicate_is_the_score_of_the_data_without_these_identities(kind, average, n_groups):
    problem = data()
    _, query_ids, ids, *_ = problem
    options = {"average": average, "rank": "identity", "ties": "random"}
    r = score(problem, GALLERIES[kind], jackknife="identity", n_groups=n_groups, **options)
    groups = r["ap"].groups
    assert groups.identities.tolist() == list(range(1, 14))  # identity 0 has no right item
    assert groups.sizes.sum() == 13
    assert groups.n_queried == 11
    for g in range(len(groups.sizes)):
        out = groups.identities[groups.groups == g]
        rest = score(problem, GALLERIES[kind], ~np.isin(query_ids, out), ~np.isin(ids, out), **options)
        for name in SCORES:
            assert np.abs(rest[name].score - r[name].score_without[g]).max() < 1e-12


def test_the_standard_error_of_identities_one_by_one():
    problem = data(1)
    r = score(problem, GALLERIES["own"], jackknife="identity")
    plain = score(problem, GALLERIES["own"])
    for name in SCORES:
        without = r[name].score_without
        n = len(without)
        expected = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
        assert np.abs(r[name].standard_error - expected).max() < 1e-15
        assert np.all(r[name].score == plain[name].score)
        assert np.shape(r[name].standard_error) == np.shape(r[name].score)
        assert np.isnan(plain[name].standard_error).all()
    assert plain["ap"].score_without is None
    assert "standard error over identities" in repr(r)
    assert "13 identities left out one by one, 2 of them without scored queries" in repr(r)
    assert "jackknife" not in repr(plain)


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


def test_groups_are_balanced_and_always_the_same():
    problem = data(2)
    first, second = (score(problem, GALLERIES["all"], jackknife="identity", n_groups=4) for _ in range(2))
    assert first["ap"].groups.same(second["ap"].groups)
    assert sorted(first["ap"].groups.sizes.tolist()) == [3, 3, 3, 4]
    assert "in 4 random groups of 3 or 4" in repr(first)


@pytest.mark.parametrize("options", [{"gallery": cuhk03()}, {"gallery": market1501()}])
def test_any_number_of_threads_and_protocols(options):
    distances, query_ids, ids, query_cams, cams = data(3, 150, 120)
    results = [
        expected_retrieval(
            distances, query_ids, ids, options["gallery"], query_cams, cams, jackknife="identity",
            n_groups=5, n_jobs=n_jobs,
        )
        for n_jobs in (1, 3)
    ]  # fmt: skip
    for name in ("cmc", "ap"):
        assert (results[0][name].score_without == results[1][name].score_without).all()


def test_queries_that_are_gallery_items():
    rng = np.random.default_rng(4)
    ids = rng.integers(0, 8, 50)
    distances = rng.random((50, 50))
    r = expected_retrieval(distances, ids, ids, exclude="self", jackknife="identity")
    for g, identity in enumerate(r["ap"].groups.identities):
        kept = ids != identity
        rest = expected_retrieval(distances[np.ix_(kept, kept)], ids[kept], ids[kept], exclude="self")
        assert abs(rest["ap"].score - r["ap"].score_without[g]) < 1e-12


def test_scores_of_your_own_and_lists_of_the_nearest():
    distances, query_ids, ids, *_ = data(9)
    forms = (First((1, 0.5), name="half"), Reciprocal(2, name="late"), "cmc_all_shots")
    options = {"scores": forms, "max_rank": 4}
    r = expected_retrieval(distances, query_ids, ids, jackknife="identity", **options)
    queries, items = query_ids != 3, ids != 3
    rest = expected_retrieval(distances[queries][:, items], query_ids[queries], ids[items], **options)
    at = r["half"].groups.identities.tolist().index(3)
    for name in ("half", "late", "cmc_all_shots"):
        assert np.abs(rest[name].score - r[name].score_without[at]).max() < 1e-12
    order = np.argsort(distances, axis=1)[:, :60]
    near = Neighbors.between_lists(order, np.take_along_axis(distances, order, axis=1), n_gallery=90)
    with pytest.raises(ValueError, match="needs the distances of all gallery items, got lists"):
        expected_retrieval(near, query_ids, ids, jackknife="identity")


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


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"jackknife": "class"}, ValueError, "jackknife must be None or \"identity\", got 'class'"),
        ({"n_groups": 5}, ValueError, 'n_groups=5 needs jackknife="identity"'),
        ({"jackknife": "identity", "n_groups": 2}, ValueError, "n_groups must be at least 3"),
        ({"jackknife": "identity", "n_groups": 2.5}, TypeError, "n_groups"),
    ],
)
def test_refused_arguments(options, error, message):
    distances, query_ids, ids, *_ = data()
    with pytest.raises(error, match=message):
        expected_retrieval(distances, query_ids, ids, **options)


def test_two_identities_have_no_standard_error():
    with pytest.raises(ValueError, match="scored queries of at least 3 identities, got 2"):
        expected_retrieval(np.ones((3, 6)), [0, 1, 7], [0, 0, 1, 1, 2, 3], jackknife="identity")


def embeddings(seed=7, **options):
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, 9, 60), rng.integers(0, 10, 100)
    centers = rng.normal(size=(10, 6))
    queries, items = centers[query_ids] + rng.normal(size=(60, 6)), centers[ids] + rng.normal(size=(100, 6))
    arguments = {"gallery": Gallery(per_identity=1), "jackknife": "identity", "max_rank": 4} | options
    return [
        expected_retrieval(
            Neighbors.between(queries[:, :n], items[:, :n]), query_ids, ids, **arguments
        )
        for n in (6, 4)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["ap", "cmc"])
def test_a_difference_is_that_of_the_replicates(name):
    first, second = embeddings()
    found = first.difference(second, name)
    assert np.all(found.difference == first[name].score - second[name].score)
    assert np.array_equal(
        found.per_item, first[name].per_item - second[name].per_item, equal_nan=True
    )  # fmt: skip
    without = first[name].score_without - second[name].score_without
    assert (found.difference_without == without).all()
    n = len(without)
    expected = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    assert np.abs(found.standard_error - expected).max() < 1e-15
    assert found.error_bound == first[name].error_bound + second[name].error_bound
    assert "over identities (10 identities left out one by one" in repr(found)
    assert float(second.difference(first, "ap")) == -float(first.difference(second, "ap"))


def test_a_difference_without_a_jackknife():
    first, second = embeddings(jackknife=None)
    found = first.difference(second)
    assert math.isnan(found.standard_error)
    assert np.isnan(first.difference(second, "cmc").standard_error).all()
    assert found.difference_without is None
    assert "no standard error" in repr(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gallery": Gallery("all")}, "different draws"),
        ({"ap": "trapezoid"}, "different conventions"),
        ({"rank": "identity"}, "different kinds of ranks"),
        ({"ties": "random"}, "different treatments of ties"),
        ({"average": "identity"}, "different averages"),
        ({"exclude": JunkIdentities(9)}, "different masks"),
        ({"n_groups": 3}, "different groups: 10 identities left out one by one.*3 random groups"),
        ({"seed": 8}, "different identities of the queries"),
        ({"max_rank": 3}, "different lengths: 4 and 3"),
    ],
)
def test_results_that_cannot_be_compared(options, message):
    with pytest.raises(ValueError, match=message):
        embeddings()[0].difference(embeddings(**options)[1], "cmc")


def test_other_galleries_and_masks_are_not_compared():
    distances, query_ids, ids, query_cams, cams = data(8)

    def result(ids=ids, cams=cams):
        mask = SameIdentityAndCamera(query_cams, cams)
        return expected_retrieval(distances, query_ids, ids, exclude=mask)

    with pytest.raises(ValueError, match="different gallery identities"):
        result().difference(result(ids=ids[::-1]))
    with pytest.raises(ValueError, match="different right items of the queries"):
        result().difference(result(cams=3 - cams))
    with pytest.raises(TypeError, match="other must be a Retrieval, got 5"):
        result().difference(5)
    with pytest.raises(KeyError, match="no score 'rr'"):
        result().difference(result(), "rr")


@pytest.mark.slow
def test_the_jackknife_says_how_much_other_identities_scatter():
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
