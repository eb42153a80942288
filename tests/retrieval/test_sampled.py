"""Random galleries agree with the exact means, and scatter as plain runs do."""

import numpy as np
import plain_retrieval as plain
import pytest

from knnccv.retrieval import Gallery, SameIdentityAndCamera, cuhk03, expected_retrieval, sampled_retrieval

SCORES = ("cmc", "ap", "rr", "inp", "precision@3", "recall@4", "r_precision", "map@r", "ndcg@5", "rbp@0.7")


def data(seed=0, n_queries=40, n_gallery=120, n_ids=8):
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, n_ids, n_queries), rng.integers(0, n_ids, n_gallery)
    distances = np.round(40 * (rng.random((n_queries, n_gallery)) + 0.3 * (query_ids[:, None] != ids)))
    return distances, query_ids, ids, rng.integers(1, 4, n_queries), rng.integers(1, 4, n_gallery)


@pytest.mark.parametrize("rank", ["image", "identity"])
@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize("kind", ["shared", "own", "cells"])
def test_the_mean_of_the_trials(kind, ties, rank):
    distances, query_ids, ids, query_cams, cams = data()
    gallery = {
        "shared": Gallery(shots=2),
        "own": Gallery(per_identity=2),
        "cells": Gallery(shots=1, strata=(ids, cams)),
    }[kind]
    exclude = SameIdentityAndCamera(query_cams, cams) if kind != "shared" else None
    options = {"exclude": exclude, "scores": SCORES, "ties": ties, "rank": rank, "max_rank": 6}
    r = expected_retrieval(distances, query_ids, ids, gallery, ap="trapezoid", **options)
    s = sampled_retrieval(distances, query_ids, ids, gallery, ap="trapezoid", n_repeats=600, **options)
    for name in SCORES:
        error = np.maximum(s.standard_error(name, 600), 1e-6)
        assert np.all(np.abs(s.mean(name) - r[name].score) / error < 4.5), name


def test_trials_are_reproducible_and_scatter():
    distances, query_ids, ids, query_cams, cams = data(1)
    runs = [
        sampled_retrieval(distances, query_ids, ids, Gallery(shots=1), n_repeats=50, n_jobs=n_jobs, **seed)
        for n_jobs, seed in ((1, {}), (3, {}), (1, {"random_state": 1}))
    ]
    assert (runs[0].trials["cmc"] == runs[1].trials["cmc"]).all()
    assert (runs[0].trials["ap"] == runs[1].trials["ap"]).all()
    assert (runs[0].trials["ap"] != runs[2].trials["ap"]).any()
    assert "trials scatters by" in repr(runs[0])
    whole = sampled_retrieval(distances, query_ids, ids, cuhk03(), query_cams, cams, n_repeats=3)
    assert whole.std("ap") == 0  # of the whole gallery
    with pytest.raises(ValueError, match="n_repeats must be at least 2"):
        sampled_retrieval(distances, query_ids, ids, n_repeats=1)


@pytest.mark.slow
def test_the_deviation_of_a_trial_of_sysu():
    distances, query_ids, ids, _, cams = data(2)
    query_cams = np.full(len(query_ids), 6)
    rng = np.random.default_rng(0)
    trials = [plain.sysu_trial(distances, query_ids, ids, query_cams, cams, 1, rng, 4) for _ in range(400)]
    gallery = Gallery(shots=1, strata=(ids, cams))
    s = sampled_retrieval(
        distances, query_ids, ids, gallery, scores=("cmc", "ap", "inp"), rank="identity", max_rank=4,
        n_repeats=2000,
    )  # fmt: skip
    deviation = np.append(s.std("cmc"), [s.std("ap"), s.std("inp")])
    assert np.abs(np.std(trials, axis=0, ddof=1) / deviation - 1).max() < 0.15


def test_galleries_of_each_query_or_of_all():
    """The luck of queries that share a gallery is correlated; drawn apart it is not."""
    rng = np.random.default_rng(4)
    ids = np.repeat(np.arange(4), 5)
    query_ids = np.repeat(np.arange(4), 10)
    distances = np.tile(rng.random((4, 20)), (1, 10)).reshape(40, 20)  # ten equal queries of each identity
    for gallery in (Gallery(per_identity=1), Gallery(shots=1)):
        arguments = distances, query_ids, ids, gallery
        apart = sampled_retrieval(*arguments, scores=("ap",), per_query=True, n_repeats=400)
        shared = sampled_retrieval(*arguments, scores=("ap",), per_query=False, n_repeats=400)
        assert "anew for every query" in apart.gallery
        assert "one gallery for all queries" in shared.gallery
        assert 2 < shared.std("ap") / apart.std("ap") < 5
    with pytest.raises(TypeError, match="per_query"):
        sampled_retrieval(*arguments, per_query=1)
