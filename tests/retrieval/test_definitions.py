"""Published definitions: equal where nothing is drawn, within sampling error where something is."""

import numpy as np
import plain_retrieval as plain
import pytest

from knnccv import Neighbors
from knnccv.retrieval import Gallery, SameIdentityAndCamera, cuhk03, expected_retrieval, market1501


def data(seed, n_queries=40, n_gallery=160, n_ids=12, n_cams=4, queries_from=None):
    """Features, identities and cameras like those of a re-identification test set."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_ids, 6))
    query_ids, ids = rng.integers(0, n_ids + 1, n_queries), rng.integers(0, n_ids, n_gallery)
    cams = rng.integers(1, n_cams + 1, n_gallery)
    query_cams = rng.choice(queries_from or range(1, n_cams + 1), n_queries)
    queries = centers[query_ids % n_ids] + 1.2 * rng.normal(size=(n_queries, 6))
    gallery = centers[ids] + 1.2 * rng.normal(size=(n_gallery, 6))
    distances = ((queries[:, None] - gallery) ** 2).sum(axis=2)
    return distances, query_ids, ids, query_cams, cams


@pytest.mark.parametrize("seed", range(6))
def test_market1501(seed):
    distances, query_ids, ids, query_cams, cams = data(seed)
    ids[:9] = -1
    curve, precision, inverse = plain.market(distances, query_ids, ids, query_cams, cams, 20, junk=-1)
    r = expected_retrieval(
        distances, query_ids, ids, market1501(), query_cams, cams, scores=("cmc", "ap", "inp"), max_rank=20
    )
    assert np.abs(r.cmc - curve).max() < 1e-12
    assert abs(r["ap"].score - precision) < 1e-12
    assert abs(r["inp"].score - inverse) < 1e-12
    assert r.n_left_out == (query_ids == 12).sum() > 0
    assert r.n_galleries == 1
    by_ap = expected_retrieval(distances, query_ids, ids, market1501("trapezoid"), query_cams, cams)
    for q in np.flatnonzero(r.valid):
        removed = (ids == -1) | (ids == query_ids[q]) & (cams == query_cams[q])
        value = plain.trapezoid(distances[q], query_ids[q], ids, removed)
        assert abs(by_ap["ap"].per_item[q] - value) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_sklearn_and_metric_learning(seed):
    from sklearn.metrics import average_precision_score, ndcg_score

    distances, query_ids, ids, _, _ = data(seed)
    scores = ("ap", "r_precision", "map@r", "ndcg@10", "precision@1", "recall@5")
    for ties in ("index", "random"):
        r = expected_retrieval(distances, query_ids, ids, scores=scores, ties=ties)
        for q in np.flatnonzero(r.valid):
            right = ids == query_ids[q]
            assert abs(r["ap"].per_item[q] - average_precision_score(right, -distances[q])) < 1e-12
            gain = ndcg_score(right[None], -distances[q][None], k=10)
            assert abs(r["ndcg@10"].per_item[q] - gain) < 1e-12
            nothing = np.zeros(len(ids), bool)
            first, mean = plain.metric_learning(distances[q], query_ids[q], ids, nothing)
            assert abs(r["r_precision"].per_item[q] - first) < 1e-12
            assert abs(r["map@r"].per_item[q] - mean) < 1e-12
            nearest = np.argsort(distances[q])
            assert abs(r["precision@1"].per_item[q] - right[nearest[0]]) < 1e-12
            assert abs(r["recall@5"].per_item[q] - right[nearest[:5]].sum() / right.sum()) < 1e-12


def test_self_exclusion_is_leave_one_out():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 4, 30)
    near = Neighbors.between(X, X)
    r = expected_retrieval(near, y, y, scores=("precision@1", "map@r", "ap"))
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    nearest = (distances + np.diag(np.full(30, np.inf))).argmin(axis=1)
    assert abs(r["precision@1"].score - (y[nearest] == y).mean()) < 1e-12
    for q in range(30):
        assert (
            abs(
                r["map@r"].per_item[q] - plain.metric_learning(distances[q], y[q], y, np.arange(30) == q)[1]
            )
            < 1e-12
        )
    for other in (
        expected_retrieval(distances, y, y, exclude="self", scores=("ap",)),
        expected_retrieval(
            Neighbors.from_distances(distances, queries=np.arange(30)), y, y, scores=("ap",)
        ),
    ):
        assert np.abs(other["ap"].per_item - r["ap"].per_item).max() < 1e-12
    drawn = expected_retrieval(near, y, y, Gallery(shots=2), scores=("ap",))  # the query is no pool item
    assert drawn["ap"].score > 0


def z_scores(sampled, exact):
    """Deviations of the mean of runs from the exact values, in standard errors."""
    error = np.std(sampled, axis=0, ddof=1) / np.sqrt(len(sampled))
    return np.abs(np.mean(sampled, axis=0) - exact) / np.maximum(error, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("shots", [1, 3])
def test_sysu_agrees_with_random_galleries(shots):
    distances, query_ids, ids, query_cams, cams = data(5, n_cams=5, queries_from=(3, 6))
    keep = cams != 3
    distances, ids, cams = distances[:, keep], ids[keep], cams[keep]
    rng = np.random.default_rng(0)
    trials = [
        plain.sysu_trial(distances, query_ids, ids, query_cams, cams, shots, rng, 5) for _ in range(300)
    ]
    r = expected_retrieval(
        distances, query_ids, ids, Gallery.sysu(shots=shots), query_cams, cams,
        scores=("cmc", "ap", "inp"), max_rank=5,
    )  # fmt: skip
    exact = np.append(r.cmc, [r["ap"].score, r["inp"].score])
    assert z_scores(trials, exact).max() < 4
    assert r.rank == "identity"


@pytest.mark.slow
def test_cuhk03_agrees_with_random_galleries():
    distances, query_ids, ids, query_cams, cams = data(6, n_cams=2)
    rng = np.random.default_rng(0)
    runs = [plain.cuhk03_run(distances, query_ids, ids, query_cams, cams, rng, 5, 2) for _ in range(100)]
    r = expected_retrieval(distances, query_ids, ids, cuhk03(), query_cams, cams, max_rank=5)
    assert z_scores(runs, r.cmc).max() < 4
    _, precision, _ = plain.market(distances, query_ids, ids, query_cams, cams, 5)
    assert abs(r["ap"].score - precision) < 1e-12  # of the whole gallery, as in the public codes


def test_protocols_are_masks_and_galleries():
    distances, query_ids, ids, query_cams, cams = data(7, n_cams=2)
    mask = SameIdentityAndCamera(query_cams, cams)
    named = expected_retrieval(distances, query_ids, ids, cuhk03(), query_cams, cams, scores=("cmc",))
    by_hand = expected_retrieval(
        distances, query_ids, ids, Gallery(per_identity=1), exclude=mask, scores=("cmc",)
    )
    assert (named.cmc == by_hand.cmc).all()
    for words in ("CUHK03", "1 per identity", "same identity and camera", "image", "rectangle", "left out"):
        assert words in repr(named), words
    assert "identity ranks" in repr(Gallery.sysu("indoor-search", shots=10))
    assert repr(Gallery.cuhk03()) == repr(cuhk03())
    assert repr(Gallery.market1501()) == repr(market1501())
