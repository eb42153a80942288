"""Threads and blocks, random galleries, results as frames, and scores of installed packages."""

import collections
import itertools
import re
from fractions import Fraction

import naive_retrieval as naive
import numpy as np
import pytest
from plain_retrieval import random_forms, random_problem
from scipy.spatial.distance import cdist

from knnccv import Neighbors
from knnccv.neighbors import Between
from knnccv.retrieval import (
    First,
    Gallery,
    SameIdentityAndCamera,
    Table,
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
    galleries = Gallery(per_identity=2, short="all"), Gallery(per_identity=1, n_identities=5, short="all")
    for near, gallery, (ties, rank) in zip(
        (*sources, distances), (*galleries[:1] * 3, galleries[1]),
        itertools.cycle((("index", "image"), ("random", "identity"))), strict=False,
    ):  # fmt: skip
        forms = () if near is listed else FORMS[3:]  # another `Reciprocal` would change the nodes
        found = collections.defaultdict(set)
        for n_jobs, rows, scores, exclude in (
            (1, 64, (*SCORES, *forms), mask),
            (5, 64, (*forms, *SCORES), mask),
            (2, 7, SCORES, lambda queries: removed[queries]),
            (1, 1, ("map@r", "ap", *forms), mask),
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


def test_large_tables_cut_the_blocks(monkeypatch):
    distances, query_ids, ids, _, _ = data(2)
    form = Table(lambda R: np.ones((R, 4)) / R, name="table")
    for gallery in (Gallery("all"), Gallery(shots=2, short="all")):
        runs = []
        for most in (2**23, 1):
            monkeypatch.setattr("knnccv.retrieval._scores.MOST_NUMBERS", most)
            r = expected_retrieval(distances, query_ids, ids, gallery, scores=(form, "ap"))
            s = sampled_retrieval(distances, query_ids, ids, gallery, scores=form, n_repeats=20)
            runs.append((bits(r), s.trials["table"].tobytes()))
        assert runs[0] == runs[1]


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


def test_metrics_by_products_rank_as_scipy_does():
    rng = np.random.default_rng(8)
    queries, gallery = rng.normal(size=(70, 5)), rng.normal(size=(90, 5))
    gallery[7] = gallery[50]
    for metric, name in (("euclidean", "euclidean"), ("cosine", "cosine"), ("manhattan", "cityblock")):
        near = Neighbors.between(queries, gallery, metric=metric)
        values = near.block(0, 70)
        expected = cdist(queries, gallery, name)
        assert (np.argsort(values, kind="stable") == np.argsort(expected, kind="stable")).all()
        assert (values[:, 7] == values[:, 50]).all()
        assert (near.block(13, 29) == values[13:29]).all()


def test_the_deviation_of_galleries_drawn_for_every_query():
    """Hits of queries are independent: the variance of a weighted mean of Bernoulli variables."""
    for gallery in (Gallery(per_identity=1), Gallery(per_identity=1, n_identities=4)):
        for average in ("query", "identity"):
            distances, query_ids, ids, _, _ = data(6)
            r = expected_retrieval(distances, query_ids, ids, gallery, average=average, max_rank=3)
            hits, weights = r["cmc"].per_item, r["cmc"].weights[:, None]
            variance = (weights**2 * hits * (1 - hits))[r.valid].sum(axis=0)
            for n in (1, 10):
                assert np.abs(r.cmc_std(n) - np.sqrt(variance / n)).max() < 1e-12
    s = sampled_retrieval(
        distances, query_ids, ids, gallery, average="identity", max_rank=3, n_repeats=1500
    )
    assert np.abs(s.std("cmc") / r.cmc_std() - 1).max() < 4 / np.sqrt(2 * 1500)


GALLERIES = {
    "shared": Gallery(shots=2, short="all"),
    "own": Gallery(per_identity=2, short="all"),
    "cells": None,
    "all": Gallery("all"),
    "some own": Gallery(per_identity=2, n_identities=5, short="all"),
    "some items": Gallery("all", n_identities=5, per_query=True),
    "some cells": None,
}


@pytest.mark.parametrize("kind", GALLERIES)
def test_the_mean_of_the_trials(kind):
    distances, query_ids, ids, query_cams, cams = data()
    cells = Gallery(
        shots=1, strata=(ids, cams), mask="before", n_identities=4 if kind == "some cells" else None
    )
    mask = SameIdentityAndCamera(query_cams, cams)
    for ties, rank in (("index", "identity"), ("random", "image")):
        options = {
            "exclude": None if kind == "shared" else mask, "scores": (*SCORES, *FORMS), "rank": rank,
            "ap": "trapezoid", "max_rank": 6, "ties": ties,
        }  # fmt: skip
        gallery = GALLERIES[kind] or cells
        r = expected_retrieval(distances, query_ids, ids, gallery, **options)
        s = sampled_retrieval(distances, query_ids, ids, gallery, n_repeats=300, **options)
        for name in r:
            error = np.maximum(s.standard_error(name, 300), 1e-6)
            assert np.all(np.abs(s.mean(name) - r[name].score) / error < 4.5), (ties, name)
            assert s.mean(name).shape == np.shape(r[name].score)


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
        s = sampled_retrieval(distances, query_ids, ids, gallery, scores="ap", n_repeats=n)
        found = collections.Counter(np.round(s.trials["ap"], 12).tolist())
        assert set(found) == {round(float(value), 12) for value in expected}
        for value, chance in expected.items():
            error = np.sqrt(float(chance * (1 - chance)) * n)
            assert abs(found[round(float(value), 12)] - float(chance) * n) < 4 * error


def test_random_galleries_of_each_query_or_of_all():
    """The luck of queries that share a gallery is correlated; that of a whole gallery is none."""
    rng = np.random.default_rng(4)
    ids = np.repeat(np.arange(4), 5)
    query_ids = np.repeat(np.arange(4), 10)
    distances = np.tile(rng.random((4, 20)), (1, 10)).reshape(40, 20)  # ten equal queries of each identity
    for gallery in (Gallery(per_identity=1), Gallery(shots=1)):
        arguments = distances, query_ids, ids, gallery
        apart, shared = (
            sampled_retrieval(*arguments, scores="ap", per_query=anew, n_repeats=400)
            for anew in (True, False)
        )
        assert 2 < shared.std("ap") / apart.std("ap") < 5
    cams = np.zeros(40, int), np.ones(20, int)
    whole = sampled_retrieval(*arguments[:3], cuhk03(), *cams, n_repeats=3)
    assert whole.std("ap") == 0
    seeds = [sampled_retrieval(*arguments, n_repeats=20, random_state=seed).trials for seed in (0, 0, 1)]
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


class Point:
    """An entry point."""

    dist = None

    def __init__(self, name, value, found):
        self.name, self.value, self.found = name, value, found

    def load(self):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


POINTS = [
    Point("half-life", "good:SCORE", First([1, 0.5], name="half-life")),
    Point("broken", "bad:SCORE", RuntimeError("no such file")),
    Point("misnamed", "odd:SCORE", First([1])),
    Point("no score", "odd:NAME", "first"),
    Point("twice", "one:SCORE", First([1], name="twice")),
    Point("twice", "two:SCORE", First([1], name="twice")),
    Point("ap", "bold:SCORE", First([1], name="ap")),
]


def test_scores_of_installed_packages(monkeypatch):
    def entry_points(*, group, name=None):
        assert group == "knnccv.retrieval_scores"
        return [point for point in POINTS if name in (None, point.name)]

    monkeypatch.setattr("knnccv.retrieval._forms.entry_points", entry_points)

    def score(name):
        return expected_retrieval([[0.1, 0.2, 0.3]], [7], [8, 7, 7], scores=name)[name].score

    assert score("half-life") == 0.5
    assert score("ap") == (1 / 2 + 2 / 3) / 2
    a_form = "must be a Reciprocal, AtRank, First or Table named "
    for name, error, words in (
        ("broken", ImportError, "'broken' of bad:SCORE (package an unnamed package)"),
        ("misnamed", TypeError, a_form + "'misnamed'"),
        ("no score", TypeError, a_form + "'no score'"),
        ("twice", ValueError, "two installed packages offer a score named 'twice': one:SCORE"),
        ("half-live", ValueError, "'half-life', 'misnamed'"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            score(name)
