"""First-order variance over shared galleries: against the enumeration of all galleries.

Tests that compile its kernel, which takes long, are slow ones.
"""

from fractions import Fraction

import naive_retrieval as naive
import numpy as np
import pytest

from knnccv import Neighbors
from knnccv.retrieval import Gallery, cuhk03, expected_retrieval, sampled_retrieval
from knnccv.retrieval._draw import Draw
from knnccv.retrieval._hajek import item_effects
from knnccv.retrieval._problem import check_problem


def problem(seed):
    """Arguments, plain descriptions of the strata and the mask, and the scores."""
    rng = np.random.default_rng(seed)
    n_ids, n = int(rng.integers(2, 5)), int(rng.integers(5, 9))
    ids, cams = rng.integers(0, n_ids, n), rng.integers(0, 2, n)
    queries = rng.choice(ids, 3)
    distances = rng.integers(0, 6, (3, n)) / 4 if seed % 3 else rng.random((3, n))
    shots, fine = int(rng.integers(1, 4)), bool(rng.integers(0, 2))
    rank = ("identity", "image")[seed % 2]
    ap = ("rectangle", "trapezoid")[int(rng.integers(0, 2))]
    sure = rng.random(n) < 0.15 if rng.integers(0, 3) == 0 else np.zeros(n, bool)
    out = np.zeros((3, n), bool)
    if fine and rng.integers(0, 2):
        out = rng.integers(0, 2, 3)[:, None] == cams  # whole strata
    names = list(zip(ids.tolist(), cams.tolist(), strict=True)) if fine else ids.tolist()
    scores = dict(naive.IDENTITY if rank == "identity" else naive.IMAGE)
    if ap == "trapezoid":
        scores["ap"] = naive.ap_trapezoid
    gallery = Gallery(shots=shots, strata=(ids, cams) if fine else None, short="all")
    options = {
        "exclude": lambda block: out[block], "scores": tuple(scores), "rank": rank, "ap": ap, "max_rank": 4,
        "always": sure, "n_jobs": 1,
    }  # fmt: skip
    return distances, queries, ids, gallery, options, names, shots, sure, out, scores


def all_trials(distances, queries, ids, names, shots, sure, out, scores, valid):
    """Every gallery, and every score of each of them: the mean over the queries."""
    strata = dict(enumerate(names))
    galleries = list(naive.galleries(strata, shots, set(np.flatnonzero(sure).tolist())))
    trials = {name: [] for name in scores}
    for gallery in galleries:
        total = dict.fromkeys(scores, 0)
        for q in np.flatnonzero(valid):
            order = sorted((i for i in gallery if not out[q, i]), key=lambda i, q=q: (distances[q, i], i))
            for name, score in scores.items():
                total[name] = total[name] + score([ids[i] for i in order], queries[q])
        for name, value in total.items():
            trials[name].append(np.atleast_1d(value / Fraction(int(valid.sum()))))
    return galleries, {name: np.array(values) for name, values in trials.items()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_all_galleries(seed):
    distances, queries, ids, gallery, options, names, shots, sure, out, scores = problem(seed)
    valid = ((queries[:, None] == ids) & ~out).any(axis=1)
    if not valid.any():
        pytest.skip("the mask removes all right items")
    r = expected_retrieval(distances, queries, ids, gallery, hajek=True, **options)
    galleries, trials = all_trials(distances, queries, ids, names, shots, sure, out, scores, valid)
    p = check_problem(
        distances, queries, ids, gallery, None, None, ties="index", tol=1e-12, average="query", **options
    )
    effects, columns = item_effects(Draw(p, gallery, p.scores), r["ap"].weights, 1)
    drawn = np.array([[i in chosen for i in range(len(ids))] for chosen in galleries])
    centered = drawn - drawn.mean(axis=0)
    for name, values in trials.items():
        mean = values.mean(axis=0)
        for j in range(len(ids)):
            if drawn[:, j].any():
                exact = (values[drawn[:, j]].mean(axis=0) - mean).astype(float)
                assert np.abs(effects[j, columns[name]] - exact).max() < 1e-13, name
        rest = (values - mean).astype(float)
        best = centered @ np.linalg.lstsq(centered, rest, rcond=1e-9)[0]  # a sum over the drawn items
        found = np.atleast_1d(r.hajek_std(name)) ** 2
        assert np.abs(found - (best**2).mean(axis=0)).max() < 1e-13, name
        assert np.all(found <= (rest**2).mean(axis=0) + 1e-13)


def middle(seed=0, n_queries=140):
    rng = np.random.default_rng(seed)
    query_ids, ids, cams = rng.integers(0, 15, n_queries), rng.integers(0, 15, 300), rng.integers(1, 4, 300)
    distances = rng.random((n_queries, 300)) + 0.25 * (query_ids[:, None] != ids)
    return distances, query_ids, ids, cams


@pytest.mark.slow
@pytest.mark.parametrize(("shots", "rank"), [(1, "identity"), (2, "image")])
def test_a_lower_bound_of_the_sampled_variance(shots, rank):
    distances, query_ids, ids, cams = middle()
    gallery = Gallery(shots=shots, strata=(ids, cams))
    options = {"scores": ("cmc", "ap", "inp", "ndcg@10"), "rank": rank, "max_rank": 3}
    r = expected_retrieval(distances, query_ids, ids, gallery, hajek=True, **options)
    s = sampled_retrieval(distances, query_ids, ids, gallery, n_repeats=2000, **options)
    for name in options["scores"]:
        ratio = (r.hajek_std(name) / s.std(name)) ** 2
        assert np.all(ratio < 1.15), name
        assert np.all(ratio > 0.3), name
        assert np.all(r.hajek_std(name, 4) == r.hajek_std(name) / 2)


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads():
    distances, query_ids, ids, cams = middle(1, 300)
    gallery = Gallery(shots=1, strata=(ids, cams))
    options = {"rank": "identity", "average": "identity", "hajek": True, "max_rank": 5}
    results = [
        expected_retrieval(distances, query_ids, ids, gallery, n_jobs=n_jobs, **options)
        for n_jobs in (1, 3)
    ]
    for name in ("cmc", "ap"):
        assert np.all(results[0].hajek_std(name) == results[1].hajek_std(name))


@pytest.mark.slow
def test_strata_that_are_drawn_whole_add_nothing():
    distances, query_ids, ids, cams = middle(2)
    gallery = Gallery(shots=300, strata=(ids, cams), short="all")
    r = expected_retrieval(distances, query_ids, ids, gallery, hajek=True)
    assert r.hajek_std("ap") == 0
    assert np.all(r.hajek_std("cmc") == 0)


@pytest.mark.parametrize(
    ("gallery", "options", "message"),
    [
        (Gallery("all"), {}, "the whole gallery is taken"),
        (Gallery(per_identity=1), {}, "every query has a gallery of its own.*cmc_std"),
        (Gallery(shots=1, mask="before"), {}, "every query has a gallery of its own"),
        (Gallery(shots=1), {"ties": "random"}, "must be fixed, ties=\"index\", got 'random'; sampled_retr"),
        (Gallery(shots=1), {"near": Neighbors}, "queries that are gallery items"),
    ],
)
def test_refused(gallery, options, message):
    distances, query_ids, ids, _ = middle(3)
    if "near" in options:
        options, distances = {}, Neighbors.from_distances(distances, queries=np.arange(len(distances)))
    with pytest.raises(ValueError, match=message):
        expected_retrieval(distances, query_ids, ids, gallery, hajek=True, **options)


def test_refused_protocols_and_results():
    distances, query_ids, ids, cams = middle(4)
    with pytest.raises(ValueError, match="sampled_retrieval estimates the standard deviation"):
        expected_retrieval(
            distances, query_ids, ids, cuhk03(), np.zeros(len(query_ids), int), cams, hajek=True
        )
    with pytest.raises(TypeError, match="hajek"):
        expected_retrieval(distances, query_ids, ids, Gallery(shots=1), hajek=1)
    r = expected_retrieval(distances, query_ids, ids, Gallery(shots=1))
    with pytest.raises(ValueError, match="hajek=True"):
        r.hajek_std("ap")


@pytest.mark.slow
def test_refused_questions_about_results():
    distances, query_ids, ids, _ = middle(4)
    r = expected_retrieval(distances, query_ids, ids, Gallery(shots=1), hajek=True)
    with pytest.raises(KeyError, match="no score 'rr'"):
        r.hajek_std("rr")
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        r.hajek_std("ap", 0)
