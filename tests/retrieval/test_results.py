"""Results of retrieval: what they hold, their errors and intervals."""

import collections
import itertools
import math
from fractions import Fraction

import naive_retrieval as naive
import numpy as np
import pytest
from galleries import random_forms, random_problem
from scipy.stats import t

from knnccv import Neighbors
from knnccv._core.luck.inference import InferenceWarning, jackknife_error
from knnccv.neighbors import Between
from knnccv.retrieval import (
    First,
    Gallery,
    JunkIdentities,
    Reciprocal,
    SameIdentityAndCamera,
    cuhk03,
    expected_retrieval,
    sampled_retrieval,
)

SCORES = (
    "cmc", "ap", "rr", "inp", "precision@3", "recall@4", "r_precision", "map@r", "ndcg@5", "rbp@0.7",
    "cmc_all_shots", "ap@4/r", "ap@4/min",
)  # fmt: skip
FORMS = tuple(random_forms(np.random.default_rng(7)))


def data(seed=0, n_queries=40, n_gallery=120, n_ids=8, levels=40):
    return random_problem(seed, n_queries, n_gallery, n_ids, levels, nearer=0.3)


def bits(r):
    """Everything that is known of the scores, to the last bit."""
    return [(name, r[name].per_item.tobytes(), np.asarray(r[name].score).tobytes()) for name in r]


def test_the_same_bits_for_any_threads_blocks_other_scores_and_masks(monkeypatch):
    distances, query_ids, ids, query_cams, cams = data(3, 150, 90, levels=30)
    points = np.round(distances[:, :9], 1), distances.T[:, :9]
    order = np.argsort(distances, axis=1, kind="stable")[:, :20]
    listed = Neighbors.between_lists(order, np.take_along_axis(distances, order, axis=1), 90)
    mask = SameIdentityAndCamera(query_cams, cams)
    removed = (query_ids[:, None] == ids) & (query_cams[:, None] == cams)
    sources = distances, Neighbors.between(*points, metric="cosine"), listed
    gallery = Gallery(per_identity=2, short="all")
    asked = ("index", "image"), ("random", "identity"), ("index", "image")
    for near, (ties, rank) in zip(sources, asked, strict=True):
        forms = () if near is listed else FORMS[3:]  # another `Reciprocal` would change the nodes
        found = collections.defaultdict(set)
        for n_jobs, rows, scores, exclude in (
            (1, 64, (*SCORES, *forms), mask),
            (5, 64, (*forms, *SCORES), mask),
            (2, 7, SCORES, lambda queries: removed[queries]),
            (1, 1, ("map@r", "ap", "ndcg@5", *forms), mask),  # laws of the same length
        ):
            monkeypatch.setattr(Between, "rows_at_once", property(lambda _, rows=rows: rows))
            r = expected_retrieval(
                near, query_ids, ids, gallery, scores=scores, ties=ties, rank=rank, exclude=exclude,
                n_jobs=n_jobs,
            )  # fmt: skip
            for name, *values in bits(r):
                found[name].add((*values, r[name].error_bound))
        assert all(len(values) == 1 for values in found.values()), (gallery, ties)
        assert near is not listed or r.truncated > 0


def test_distances_in_files_and_of_small_types_are_not_copied(tmp_path):
    distances, query_ids, ids, _, _ = data(7)
    for values in (distances.astype(np.float32), (9 * distances).astype(np.uint8)):
        np.save(tmp_path / "D.npy", values)
        mapped = np.load(tmp_path / "D.npy", mmap_mode="r")
        near = Neighbors.from_distances(mapped, queries="other")
        assert np.shares_memory(near.compare.args[0], mapped)
        for ties in ("index", "random"):
            found = [
                bits(expected_retrieval(given, query_ids, ids, ties=ties))
                for given in (near, mapped, values.astype(float))
            ]
            assert found[0] == found[1] == found[2]


def test_the_deviation_of_galleries_drawn_for_every_query():
    """Hits of queries are independent: the variance of a weighted mean of Bernoulli variables."""
    gallery = Gallery(per_identity=1)
    for average in ("pooled", "identity"):
        distances, query_ids, ids, _, _ = data(6)
        r = expected_retrieval(distances, query_ids, ids, gallery, average=average, max_rank=3)
        hits, weights = r["cmc"].per_item, r["cmc"].weights[:, None]
        variance = (weights**2 * hits * (1 - hits))[r.valid].sum(axis=0)
        for n in (1, 10):
            assert np.abs(r.cmc_std(n) - np.sqrt(variance / n)).max() < 1e-12
    s = sampled_retrieval(distances, query_ids, ids, gallery, average="identity", max_rank=3, n_runs=1500)
    assert np.abs(s.std("cmc") / r.cmc_std() - 1).max() < 4 / np.sqrt(2 * 1500)


GALLERIES = {
    "shared": Gallery(shots=2, short="all"),
    "own": Gallery(per_identity=2, short="all"),
    "cells": None,
    "all": Gallery("all"),
}


@pytest.mark.parametrize("kind", GALLERIES)
def test_the_mean_of_the_trials(kind):
    distances, query_ids, ids, query_cams, cams = data()
    cells = Gallery(shots=1, strata=(ids, cams), mask="before")
    mask = SameIdentityAndCamera(query_cams, cams)
    for ties, rank in (("index", "identity"), ("random", "image")):
        options = {
            "exclude": None if kind == "shared" else mask, "scores": (*SCORES, *FORMS), "rank": rank,
            "ap": "trapezoid", "max_rank": 6, "ties": ties,
        }  # fmt: skip
        gallery = GALLERIES[kind] or cells
        r = expected_retrieval(distances, query_ids, ids, gallery, **options)
        s = sampled_retrieval(distances, query_ids, ids, gallery, n_runs=300, **options)
        for name in r:
            error = np.maximum(s.std_error(name, 300), 1e-6)
            assert np.all(np.abs(s.mean(name) - r[name].score) / error < 4.5), (ties, name)
            assert s.mean(name).shape == np.shape(r[name].score)


def test_trials_of_random_identities_have_the_mean_of_all_galleries():
    """Galleries of every query's own, of some identities, after a mask and with items in all of them."""
    rng = np.random.default_rng(3)
    ids, queries, sure = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 2]), np.arange(8) == 6
    distances, masked = rng.integers(0, 4, (3, 8)) / 4, np.zeros((3, 8), bool)
    masked[0, [0, 2, 3]] = masked[1, 4] = True  # for query 0 the identity 1 cannot be chosen
    for shots, rank in itertools.product((0, 1), ("image", "identity")):
        gallery = Gallery(per_identity=shots or None, n_identities=3, per_query=True, short="all")
        s = sampled_retrieval(
            distances, queries, ids, gallery, exclude=lambda rows: masked[rows], always=sure, rank=rank,
            scores=("ap", "rr", "cmc"), max_rank=4, n_runs=3000,
        )  # fmt: skip
        scores, means = naive.scores_of(rank, "rectangle"), collections.defaultdict(list)
        for query, row, out in zip(queries.tolist(), distances, masked, strict=True):
            others = 2, sorted(set(ids[~out & ~sure].tolist()) - {query})
            law = naive.law(
                query, row, ids.tolist(), ids.tolist(), shots, np.flatnonzero(~out).tolist(),
                always=set(np.flatnonzero(sure).tolist()), ties="random", others=others,
            )  # fmt: skip
            for name in s.trials:
                means[name].append(naive.expected(scores[name], query, law))
        for name, values in means.items():
            gap = s.mean(name) - np.asarray(sum(values) / 3, float)
            assert np.all(np.abs(gap) <= 4.5 * s.std_error(name, 3000) + 1e-12), (shots, rank, name)


def test_every_gallery_is_as_likely_as_any_other():
    """Trials of one gallery for all queries: the values of all galleries, each as often as it should be."""
    rng = np.random.default_rng(2)
    ids, query_ids, n = np.array([0, 0, 0, 1, 1, 2]), [0, 0, 1, 2], 4000
    distances = rng.random((4, 6))
    for n_identities in (3, 2):
        sets = list(itertools.combinations(range(3), n_identities))
        expected = collections.defaultdict(Fraction)
        for chosen in sets:
            strata = {i: ids[i] for i in range(6) if ids[i] in chosen}
            drawn = list(naive.galleries(strata, 1, ()))
            for gallery in drawn:
                values = []
                for query, row in zip(query_ids, distances, strict=True):
                    if query in chosen:
                        values.append(naive.ap(ids[sorted(gallery, key=row.__getitem__)].tolist(), query))
                expected[sum(values) / len(values)] += Fraction(1, len(sets) * len(drawn))
        gallery = Gallery(shots=1, n_identities=None if n_identities == 3 else 2)
        s = sampled_retrieval(distances, query_ids, ids, gallery, scores="ap", n_runs=n)
        found = collections.Counter(np.round(s.trials["ap"], 12).tolist())
        assert set(found) == {round(float(value), 12) for value in expected}
        for value, chance in expected.items():
            error = np.sqrt(float(chance * (1 - chance)) * n)
            assert abs(found[round(float(value), 12)] - float(chance) * n) < 4 * error


def test_random_galleries_of_each_query_or_of_all():
    """The luck of ten equal queries that share a gallery is correlated; that of a whole gallery is none."""
    ids, query_ids = np.repeat(np.arange(4), 5), np.repeat(np.arange(4), 10)
    distances = np.repeat(np.random.default_rng(4).random((4, 20)), 10, axis=0)
    arguments = distances, query_ids, ids, Gallery(shots=1)
    apart, shared = (
        sampled_retrieval(*arguments, scores="ap", per_query=anew, n_runs=400) for anew in (True, False)
    )
    assert 2 < shared.std("ap") / apart.std("ap") < 5
    cams = np.zeros(40, int), np.ones(20, int)
    whole = sampled_retrieval(*arguments[:3], cuhk03(), *cams, n_runs=3)
    assert whole.std("ap") == 0
    seeds = [sampled_retrieval(*arguments, n_runs=20, random_state=seed).trials for seed in (0, 0, 1)]
    assert (seeds[0]["ap"] == seeds[1]["ap"]).all()
    assert (seeds[0]["ap"] != seeds[2]["ap"]).any()


def test_frames():
    distances, query_ids, ids, _, _ = data(10, 20, 60, 4)
    names = np.array(["ann", "bob", "cem", "dan"])
    r = expected_retrieval(
        distances, names[query_ids], names[ids], Gallery(shots=2), scores=("cmc", "ap", FORMS[0])
    )
    number = expected_retrieval(distances, query_ids, ids, Gallery(shots=2))
    assert r["ap"].score == number["ap"].score == float(r["ap"])
    frame = r.to_frame()
    expected = ["query_id", "valid", "weight", "cmc@1", "cmc@5", "cmc@10", "cmc@20", "ap", FORMS[0].name]
    assert list(frame) == expected
    assert abs((frame["ap"] * frame["weight"]).sum() - r["ap"].score) < 1e-14
    assert frame["query_id"].tolist() == names[query_ids].tolist()


GROUPED_SCORES = (
    "cmc", "ap", "rr", "inp", "ndcg@5", "recall@3", "map@r", "rbp", "cmc_all_shots",
    First((1, 0.5), name="half"), Reciprocal(2, name="late"),
)  # fmt: skip


def grouped_data(seed=0, n_queries=70, n_gallery=90):
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
        scores=GROUPED_SCORES, max_rank=5, tol=1e-14, n_jobs=1, **options,
    )  # fmt: skip


GROUPED_GALLERIES = {
    "all": lambda *_: Gallery("all"),
    "own": lambda *_: Gallery(per_identity=2, short="all"),
    "cells": lambda ids, cams: Gallery(shots=1, strata=(ids, cams), mask="before", short="all"),
    "protocol": lambda *_: cuhk03(),
}


@pytest.mark.parametrize("kind", GROUPED_GALLERIES)
def test_every_replicate_is_the_score_of_the_data_without_these_identities(kind):
    problem = grouped_data()
    _, query_ids, ids, *_ = problem
    for average, n_groups in (("pooled", 5), ("identity", None)):
        options = {"average": average, "ties": "random"}
        if kind != "protocol":
            options["rank"] = "identity"
        r = score(problem, GROUPED_GALLERIES[kind], jackknife="identity", n_groups=n_groups, **options)
        again = score(problem, GROUPED_GALLERIES[kind], jackknife="identity", n_groups=n_groups, **options)
        groups = r["ap"].groups
        assert groups.same(again["ap"].groups)
        assert groups.identities.tolist() == list(range(1, 14))  # identity 0 has no right item
        assert sorted(groups.sizes.tolist()) == ([1] * 13 if n_groups is None else [2, 2, 3, 3, 3])
        assert groups.n_queried == 11
        for g in range(len(groups.sizes)):
            out = groups.identities[groups.groups == g]
            rest = score(
                problem, GROUPED_GALLERIES[kind], ~np.isin(query_ids, out), ~np.isin(ids, out), **options
            )
            for name in r:
                assert np.abs(rest[name].score - r[name].score_without[g]).max() < 1e-12, (average, name)


def of_replicates(without):
    """The standard error of scores without each identity."""
    n = len(without)
    return np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))


def test_the_standard_error_of_identities_one_by_one():
    problem = grouped_data(1)
    r = score(problem, GROUPED_GALLERIES["own"], jackknife="identity")
    plain = score(problem, GROUPED_GALLERIES["own"])
    for name in r:
        assert np.abs(r[name].standard_error() - of_replicates(r[name].score_without)).max() < 1e-15
        assert np.all(r[name].score == plain[name].score)
        assert np.shape(r[name].standard_error()) == np.shape(r[name].score)
        assert np.isnan(plain[name].standard_error()).all()
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
    distances, query_ids, ids, *_ = grouped_data(5)
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
    problem = grouped_data(8)
    first, second = (
        score((distances, *problem[1:]), GROUPED_GALLERIES["own"], jackknife="identity")
        for distances in (problem[0], grouped_data(9)[0])
    )
    for name in ("ap", "cmc"):
        found = first.difference(second, name)
        assert np.all(found.difference == first[name].score - second[name].score)
        gaps = first[name].per_item - second[name].per_item
        assert np.array_equal(found.per_item, gaps, equal_nan=True)
        without = first[name].score_without - second[name].score_without
        assert (found.difference_without == without).all()
        assert np.abs(found.standard_error() - of_replicates(without)).max() < 1e-15
        assert found.error_bound == first[name].error_bound + second[name].error_bound
        assert np.all(second.difference(first, name).difference == -found.difference)
    alone = score(problem, GROUPED_GALLERIES["own"])
    for name in ("ap", "cmc"):
        assert np.isnan(alone.difference(first, name).standard_error()).all()
        assert alone.difference(first, name).difference_without is None


def test_tied_items_are_in_every_order_unless_one_is_asked_for():
    ids = [7, 7, 1, 2, 3]  # the right items first, and all distances equal, as of poor hash codes
    problem = np.zeros((1, 5)), [7], ids
    r = expected_retrieval(*problem)
    assert r.cmc[0] == pytest.approx(2 / 5)
    assert r["ap"].score == pytest.approx(
        np.mean([float(naive.ap(order, 7)) for order in itertools.permutations(ids)])
    )
    drawn = sampled_retrieval(*problem, n_runs=2000).trials["ap"]
    assert abs(drawn.mean() - r["ap"].score) < 4 * drawn.std() / np.sqrt(2000)
    with pytest.warns(UserWarning, match="^1 of 1 queries have right and wrong items at equal distances"):
        assert expected_retrieval(*problem, ties="index").cmc[0] == 1.0
    expected_retrieval(np.zeros((1, 2)), [7], [7, 7], ties="index")  # no order matters


def test_intervals_are_students_over_identities():
    distances, query_ids, ids = data(3)[:3]
    one, two = (
        expected_retrieval(of, query_ids, ids, Gallery(per_identity=1), jackknife="identity")
        for of in (distances, distances**2 + distances[::-1])
    )
    gap = one.difference(two)
    ap, cmc = one["ap"], one["cmc"]
    n_free = len(np.unique(ids)) - 1
    for found, value, error in (
        (ap.confidence_interval(0.9), ap.score, ap.standard_error()),
        (cmc.confidence_interval(0.9, rank=5), cmc.score[4], cmc.standard_error()[4]),
        (gap.confidence_interval(0.9), gap.difference, gap.standard_error()),
    ):
        assert tuple(found) == pytest.approx(t.interval(0.9, n_free, value, error), rel=1e-12)
        assert found.confidence_level == 0.9
    assert cmc.confidence_interval(rank=5).target == "cmc at rank 5 with other identities"
    plain = expected_retrieval(distances, query_ids, ids)["ap"]
    with pytest.raises(ValueError, match=r"^pass jackknife='identity' for a confidence interval"):
        plain.confidence_interval()
