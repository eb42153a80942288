"""What public evaluation codes print, written plainly in `plain_retrieval`, from `expected_retrieval`.

That the scores of a drawn gallery are the means of what the codes print for each is in `test_enumeration`.
"""

import numpy as np
import plain_retrieval as plain
import pytest
from seeds import seeds
from sklearn.metrics import average_precision_score, ndcg_score

from knnccv import Neighbors
from knnccv.retrieval import (
    Gallery,
    SameCamera,
    SameIdentityAndCamera,
    cuhk03,
    expected_retrieval,
    market1501,
)


def data(seed, tied=False):
    """Distances, identities and cameras; the last identity of the queries is not in the gallery."""
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, 11, 40), rng.integers(0, 10, 120)
    query_ids[:2] = 10, ids[-1]
    query_cams, cams = rng.integers(1, 5, 40), rng.integers(1, 5, 120)
    distances = rng.random((40, 120)) + 0.3 * (query_ids[:, None] != ids)
    return np.round(9 * distances) if tied else distances, query_ids, ids, query_cams, cams


def test_torchreid_fastreid_and_the_matlab_code_of_market1501():
    for seed in seeds(4):
        distances, query_ids, ids, query_cams, cams = problem = data(seed, tied=seed % 2)
        ids[:9] = -1
        curve, precision, inverse = plain.market(*problem, 20, junk=-1)
        r, trapezoid = (
            expected_retrieval(
                distances, query_ids, ids, market1501(ap), query_cams, cams, scores=("cmc", "ap", "inp"),
                max_rank=20, ties="index",
            )
            for ap in ("rectangle", "trapezoid")
        )  # fmt: skip
        assert np.abs(r.cmc - curve).max() < 1e-12, seed
        assert abs(r["ap"].score - precision) < 1e-12, seed
        assert abs(r["inp"].score - inverse) < 1e-12, seed
        assert r.n_left_out >= (query_ids == 10).sum() > 0
        assert r.n_galleries == 1
        curve, mean = plain.layumi(*problem, 20)
        share = r.valid.mean()  # theirs is a mean over all queries, those left out count as 0
        assert np.abs(share * trapezoid.cmc - curve).max() < 1e-12, seed
        assert abs(share * trapezoid["ap"].score - mean) < 1e-12, seed
        whole = expected_retrieval(distances, query_ids, ids, cuhk03(), query_cams, cams, ties="index")
        _, precision, _ = plain.market(*problem, 5)
        assert abs(whole["ap"].score - precision) < 1e-12, seed  # of the whole gallery, as in the codes


def test_open_reid():
    for seed in seeds(4):
        distances, query_ids, ids, query_cams, cams = problem = data(seed, tied=seed % 2)
        for mask, other_cameras in ((SameIdentityAndCamera, False), (SameCamera, True)):
            r = expected_retrieval(
                distances, query_ids, ids, exclude=mask(query_cams, cams), scores=("cmc", "cmc_all_shots"),
                max_rank=8, ties="index",
            )  # fmt: skip
            for name, first_only in (("cmc", True), ("cmc_all_shots", False)):
                curve = plain.open_reid_cmc(*problem, 8, other_cameras=other_cameras, first_only=first_only)
                assert np.abs(r[name].score - curve).max() < 1e-12, (seed, name)


@pytest.mark.parametrize("shots", [1, 3])
def test_one_trial_of_sysu(shots):
    """A gallery that is drawn once is a whole gallery."""
    distances, query_ids, ids, _, _ = data(3)
    rng = np.random.default_rng(4)
    query_cams, cams = rng.choice([3, 6], 40), rng.choice([1, 2, 4, 5], 120)
    draw = {}
    order = np.random.default_rng(0)
    for identity in np.unique(ids):
        for camera in np.unique(cams):
            draw[identity, camera] = order.permutation(((ids == identity) & (cams == camera)).sum())
    problem = distances, query_ids, ids, query_cams, cams
    drawn = np.concatenate(
        [np.flatnonzero((ids == i) & (cams == c))[some[:shots]] for (i, c), some in draw.items()]
    )
    r = expected_retrieval(
        distances[:, drawn], query_ids, ids[drawn], Gallery.sysu(shots=1000), query_cams, cams[drawn],
        scores=("cmc", "ap", "inp"), max_rank=6,
    )  # fmt: skip
    trial = plain.sysu_trial(*problem, shots, np.random.default_rng(0), 6)
    assert np.abs(np.append(r.cmc, [r["ap"].score, r["inp"].score]) - trial).max() < 1e-12
    curve, mean = plain.sysu_matlab(*problem, draw, shots, 6)
    assert np.abs(r.cmc - curve).max() < 1e-12
    assert abs(r["ap"].score - mean) < 1e-12


def test_revisitop():
    """Landmarks are identities; junk lists are a mask."""
    for seed in seeds(4):
        distances, query_ids, ids, _, _ = data(seed)
        same = query_ids[:, None] == ids
        junk = same & (np.random.default_rng(seed).random(same.shape) < 0.4)
        depths = (1, 5, 10, 80)
        mean, at_depths = plain.revisitop(distances, same & ~junk, junk, depths)
        names = [f"precision@{k}" for k in depths]
        r = expected_retrieval(
            distances, query_ids, ids, exclude=lambda queries, junk=junk: junk[queries], ap="trapezoid",
            scores=("ap", "inp", *names),
        )  # fmt: skip
        assert not r.valid[0]
        assert abs(r["ap"].score - mean) < 1e-12, seed
        last = (same & ~junk).sum(axis=1) / r["inp"].per_item  # rank of the last right item
        for name, k, value in zip(names, depths, at_depths, strict=True):
            found = r[name].per_item * k / np.minimum(k, last)
            assert abs(np.nanmean(found) - value) < 1e-12, (seed, name)


def test_scikit_learn_torchmetrics_and_metric_learning():
    scores = ("ap", "r_precision", "map@r", "ndcg@10", "precision@6", "recall@6")
    for seed in seeds(3):
        distances, query_ids, ids, _, _ = data(seed)
        r = expected_retrieval(distances, query_ids, ids, scores=scores)
        right = query_ids[:, None] == ids
        theirs = [plain.torchmetrics_ap(*pair) for pair in zip(2 - distances, right, strict=True)]
        assert abs(np.mean(theirs) - r["ap"].score * r.valid.mean()) < 1e-12  # 0 of those left out
        for q in np.flatnonzero(r.valid):
            found = {name: r[name].per_item[q] for name in scores}
            first, mean = plain.metric_learning(distances[q], query_ids[q], ids, np.zeros(120, bool))
            ranking = right[q][np.argsort(distances[q])].tolist()
            for value, other in (
                (found["ap"], average_precision_score(right[q], -distances[q])),
                (found["ap"], plain.one_threshold_ap(distances[q], right[q])),
                (found["ap"], theirs[q]),
                (found["ndcg@10"], ndcg_score(right[q][None], -distances[q][None], k=10)),
                (found["r_precision"], first),
                (found["map@r"], mean),
                (max(found["precision@6"], found["recall@6"]), plain.oml_precision(ranking, 6)),
            ):
                assert abs(value - other) < 1e-12, (seed, q)


def test_what_other_codes_do_with_ties_and_depths_is_no_score_here():
    """Tied items of scikit-learn are one threshold; torchmetrics divides AP@k by the hits in the top k."""
    distances, query_ids, ids, _, _ = data(0, tied=True)
    r = expected_retrieval(distances, query_ids, ids, scores=("ap",), ties="random")
    valid = np.flatnonzero(r.valid)
    theirs = [average_precision_score(ids == query_ids[q], -distances[q]) for q in valid]
    thresholds = [plain.one_threshold_ap(distances[q], ids == query_ids[q]) for q in valid]
    assert np.abs(np.subtract(theirs, thresholds)).max() < 1e-12
    assert np.abs(r["ap"].per_item[valid] - thresholds).max() > 0.01
    scores, right = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, True])
    assert plain.torchmetrics_ap(scores, right, 2) == 1.0
    assert plain.torchmetrics_ap(scores - 0.65, right) == (1 + 2 / 3) / 2  # the last does not count


def test_self_exclusion_is_leave_one_out():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 4, 30)
    near = Neighbors.between(X, X)
    scores = ("precision@1", "map@r")
    r = expected_retrieval(near, y, y, scores=scores)
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    nearest = (distances + np.diag(np.full(30, np.inf))).argmin(axis=1)
    assert abs(r["precision@1"].score - (y[nearest] == y).mean()) < 1e-12
    for q in range(30):
        _, mean = plain.metric_learning(distances[q], y[q], y, np.arange(30) == q)
        assert abs(r["map@r"].per_item[q] - mean) < 1e-12
    itself = Neighbors.from_distances(distances, queries=np.arange(30))
    for other in (
        expected_retrieval(distances, y, y, exclude="self", scores=scores),
        expected_retrieval(itself, y, y, scores=scores),
    ):
        assert np.abs(other["map@r"].per_item - r["map@r"].per_item).max() < 1e-12
