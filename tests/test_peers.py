"""The same numbers as other packages, which the project does not need: skipped where one is missing.

``bash .ci/peers`` installs all of them and runs these tests. Of torchreid and fastreid the file that
evaluates is loaded by its path.
"""

import importlib.util
import math
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

from knnccv import Neighbors, item_values
from knnccv.episodes import Episodes, expected_episodes
from knnccv.neighbors.hvdm import HVDM
from knnccv.retrieval import cuhk03, expected_retrieval, market1501

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

SINGLE = 5e-7  # codes in single precision


def identities(seed, n_queries=30, n_gallery=100, n_ids=9, n_cams=4):
    """Distances that float32 holds and of which no two in a row are equal; a query without right items."""
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, n_ids, n_queries), rng.integers(0, n_ids, n_gallery)
    query_ids[3] = n_ids
    noise = rng.random((n_queries, n_gallery)) + 0.3 * (query_ids[:, None] != ids)
    distances = (1 + noise.argsort(axis=1).argsort(axis=1)) / 128
    return distances, query_ids, ids, rng.integers(1, n_cams, n_queries), rng.integers(1, n_cams, n_gallery)


def file_of(package, *parts):
    """A file of an installed package, loaded as a module; skips the test if there is none."""
    found = importlib.util.find_spec(package)
    places = found.submodule_search_locations if found else ()
    path = next((p for p in (Path(place, *parts) for place in places) if p.is_file()), None)
    if path is None:
        pytest.skip(f"{package} is not installed, or has no {'/'.join(parts)}")
    spec = importlib.util.spec_from_file_location(path.name.split(".")[0], path)
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


REID = {"torchreid": ("reid", "metrics", "rank.py"), "fastreid": ("evaluation", "rank.py")}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("package", REID)
def test_eval_market1501(package, seed):
    module = file_of(package, *REID[package])
    problem = identities(seed)
    curve, mean, *inverse = module.eval_market1501(*problem, 20)
    distances, query_ids, ids, query_cams, cams = problem
    r = expected_retrieval(
        distances, query_ids, ids, market1501(), query_cams, cams, scores=("cmc", "ap", "inp"), max_rank=20
    )
    assert np.abs(r.cmc - curve).max() < SINGLE
    if inverse:  # values of all queries
        assert np.abs(r["ap"].per_item[r.valid] - mean).max() < 1e-12
        assert np.abs(r["inp"].per_item[r.valid] - inverse[0]).max() < 1e-12
    assert abs(r["ap"].score - np.mean(mean)) < 1e-12
    assert r.n_left_out >= 1


@pytest.mark.slow
@pytest.mark.parametrize("package", REID)
def test_eval_cuhk03(package):
    """Ten draws for every query, 200 times: within the sampling error; the AP is not sampled."""
    module = file_of(package, *REID[package])
    problem = identities(7, n_cams=3)
    np.random.seed(0)  # noqa: NPY002
    runs = [module.eval_cuhk03(*problem, 6) for _ in range(200)]
    curves = np.array([run[0] for run in runs], float)
    distances, query_ids, ids, query_cams, cams = problem
    r = expected_retrieval(distances, query_ids, ids, cuhk03(), query_cams, cams, max_rank=6)
    error = np.maximum(curves.std(axis=0, ddof=1) / np.sqrt(len(runs)), 1e-7)
    assert (np.abs(curves.mean(axis=0) - r.cmc) / error).max() < 4
    assert np.abs(curves.std(axis=0, ddof=1)[:3] / r.cmc_std(10)[:3] - 1).max() < 0.2
    assert abs(np.mean(runs[0][1]) - r["ap"].score) < 1e-12


NAMES = (
    "cmc",
    "ap",
    "ap@5/r",
    "ap@10/r",
    "rr",
    "r_precision",
    "ndcg@10",
    "precision@5",
    "recall@5",
    "rbp@0.8",
)


def judged(seed):
    """A problem as relevance judgments and a run: dictionaries of query and item names."""
    distances, query_ids, ids, *_ = identities(seed)
    r = expected_retrieval(distances, query_ids, ids, scores=NAMES)
    asked = np.flatnonzero(r.valid)
    qrels = {f"q{q}": {f"d{i}": 1 for i in np.flatnonzero(ids == query_ids[q])} for q in asked}
    run = {f"q{q}": {f"d{i}": 2.0 - float(distances[q, i]) for i in range(len(ids))} for q in asked}
    return r, asked, qrels, run


def test_trec_eval():
    trec = pytest.importorskip("pytrec_eval")
    theirs = {
        "ap": "map", "rr": "recip_rank", "r_precision": "Rprec", "ndcg@10": "ndcg_cut_10",
        "precision@5": "P_5", "recall@5": "recall_5", "ap@5/r": "map_cut_5", "ap@10/r": "map_cut_10",
    }  # fmt: skip
    r, asked, qrels, run = judged(1)
    values = trec.RelevanceEvaluator(qrels, {*trec.supported_measures}).evaluate(run)
    for ours, name in theirs.items():
        for q in asked:
            assert abs(r[ours].per_item[q] - values[f"q{q}"][name]) < 1e-12, name
    for k in (1, 5, 10):
        for q in asked:
            assert abs(r["cmc"].per_item[q, k - 1] - values[f"q{q}"][f"success_{k}"]) < 1e-12


def test_ranx():
    ranx = pytest.importorskip("ranx")
    theirs = {
        "ap": "map", "rr": "mrr", "r_precision": "r-precision", "ndcg@10": "ndcg@10",
        "precision@5": "precision@5", "recall@5": "recall@5", "rbp@0.8": "rbp.8", "ap@5/r": "map@5",
        "ap@10/r": "map@10",
    }  # fmt: skip
    r, _, qrels, run = judged(2)
    metrics = [*theirs.values(), "hit_rate@1", "hit_rate@5"]
    values = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), metrics)
    for ours, name in theirs.items():
        assert abs(r[ours].score - values[name]) < 1e-12, name
    assert abs(r.cmc[0] - values["hit_rate@1"]) < 1e-12
    assert abs(r.cmc[4] - values["hit_rate@5"]) < 1e-12


def test_torchmetrics():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from torchmetrics import retrieval as theirs

    distances, query_ids, ids, *_ = identities(3)
    r = expected_retrieval(distances, query_ids, ids, scores=NAMES)
    indexes = torch.arange(len(distances)).repeat_interleave(len(ids))
    right = torch.as_tensor((query_ids[:, None] == ids).ravel())
    scores = torch.as_tensor((2 - distances).ravel(), dtype=torch.float32)
    pairs = {
        "ap": theirs.RetrievalMAP, "rr": theirs.RetrievalMRR, "r_precision": theirs.RetrievalRPrecision,
    }  # fmt: skip
    at_rank = {
        "ndcg@10": theirs.RetrievalNormalizedDCG, "precision@5": theirs.RetrievalPrecision,
        "recall@5": theirs.RetrievalRecall,
    }  # fmt: skip
    made = {name: (kind, {}) for name, kind in pairs.items()}
    made |= {name: (kind, {"top_k": int(name.split("@")[1])}) for name, kind in at_rank.items()}
    for name, (kind, options) in made.items():
        left_out = kind(empty_target_action="skip", **options)(scores, right, indexes=indexes)
        zeros = kind(empty_target_action="neg", **options)(scores, right, indexes=indexes)
        assert abs(r[name].score - float(left_out)) < SINGLE, name
        assert abs(r[name].score * r.valid.mean() - float(zeros)) < SINGLE, name
    for k in (1, 5):
        hit = theirs.RetrievalHitRate(empty_target_action="skip", top_k=k)(scores, right, indexes=indexes)
        assert abs(r.cmc[k - 1] - float(hit)) < SINGLE


@pytest.mark.parametrize("average", ["pooled", "identity"])
@pytest.mark.parametrize("same", [False, True])
def test_pytorch_metric_learning(same, average):
    torch = pytest.importorskip("torch")
    pytest.importorskip("faiss")
    calculators = pytest.importorskip("pytorch_metric_learning.utils.accuracy_calculator")
    rng = np.random.default_rng(4)
    y, labels = rng.integers(0, 8, 120), rng.integers(0, 9, 40)
    X = (rng.normal(size=(8, 6))[y] + 1.2 * rng.normal(size=(120, 6))).astype(np.float32)
    queries = (rng.normal(size=(9, 6))[labels] + rng.normal(size=(40, 6))).astype(np.float32)
    if same:
        queries, labels = X, y
    names = {
        "precision_at_1": "precision@1", "r_precision": "r_precision",
        "mean_average_precision_at_r": "map@r", "mean_average_precision": "ap",
        "mean_reciprocal_rank": "rr",
    }  # fmt: skip
    calculator = calculators.AccuracyCalculator(
        include=tuple(names), k=len(X) - same, avg_of_avgs=average == "identity", device=torch.device("cpu")
    )
    values = calculator.get_accuracy(
        torch.as_tensor(queries), torch.as_tensor(labels), torch.as_tensor(X), torch.as_tensor(y),
        ref_includes_query=same,
    )  # fmt: skip
    near = Neighbors.between(X, X) if same else Neighbors.between(queries, X)
    r = expected_retrieval(near, labels, y, scores=tuple(names.values()), average=average)
    for theirs, ours in names.items():
        tolerance = SINGLE if theirs == "mean_reciprocal_rank" else 1e-12
        assert abs(r[ours].score - values[theirs]) < tolerance, theirs


def test_open_metric_learning():
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("oml.functional.metrics")
    distances, query_ids, ids, *_ = identities(6)
    names = ("cmc", "ap", "precision@5", "recall@5", "precision@30", "recall@30")
    r = expected_retrieval(distances, query_ids, ids, scores=names)
    asked = np.flatnonzero(r.valid)
    found = metrics.calc_retrieval_metrics(
        [torch.as_tensor(np.argsort(distances[q])) for q in asked],
        [torch.as_tensor(np.flatnonzero(ids == query_ids[q])) for q in asked],
        cmc_top_k=(1, 5), precision_top_k=(5, 30), map_top_k=(len(ids),), reduce=False, verbose=False,
    )  # fmt: skip
    for k in (1, 5):
        assert np.abs(r["cmc"].per_item[asked, k - 1] - found["cmc"][k].numpy()).max() < SINGLE
    for k in (5, 30):  # it divides by min(k, R)
        ours = np.maximum(r[f"precision@{k}"].per_item, r[f"recall@{k}"].per_item)[asked]
        assert np.abs(ours - found["precision"][k].numpy()).max() < SINGLE
    assert np.abs(r["ap"].per_item[asked] - found["map"][len(ids)].numpy()).max() < SINGLE


N_EPISODES, N_QUERY = 3000, 3


def drawn_classes(seed):
    """Samples of unequal classes with overlapping normal laws."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(7), rng.integers(9, 16, 7))
    return rng.normal(size=(7, 4))[y] + rng.normal(size=(len(y), 4)), y


def nearest_accuracies(X, y, episodes, n_shot):
    """The accuracy of the nearest support in each episode: items of one class after the other."""
    for items in episodes:
        cells = np.asarray(items).reshape(-1, n_shot + N_QUERY)
        supports, queries = cells[:, :n_shot].ravel(), cells[:, n_shot:].ravel()
        gaps = ((X[queries][:, None] - X[supports]) ** 2).sum(axis=-1)
        yield (y[supports][gaps.argmin(axis=1)] == y[queries]).mean()


def check_episodes(X, y, n_way, n_shot, episodes):
    found = np.array(list(nearest_accuracies(X, y, episodes, n_shot)))
    assert len(found) == N_EPISODES
    exact = expected_episodes(X, y, Episodes(n_way, n_shot), n_jobs=1).score
    error = found.std(ddof=1) / math.sqrt(N_EPISODES)
    assert error < 0.01
    assert abs(found.mean() - exact) < 4 * error


@pytest.mark.parametrize(("n_way", "n_shot"), [(5, 1), (3, 4)])
def test_easyfsl(n_way, n_shot):
    samplers = pytest.importorskip("easyfsl.samplers", exc_type=ImportError)
    X, y = drawn_classes(n_shot)
    sampler = samplers.TaskSampler.__new__(samplers.TaskSampler)  # its __init__ fails with torch 2.15
    sampler.n_way, sampler.n_shot, sampler.n_query, sampler.n_tasks = n_way, n_shot, N_QUERY, N_EPISODES
    sampler.items_per_label = {c: np.flatnonzero(y == c).tolist() for c in range(7)}
    random.seed(n_way)
    check_episodes(X, y, n_way, n_shot, sampler)


VALUED = range(20)


def valued(seed):
    """Training and test samples without ties; in every fourth problem fewer than K to train."""
    rng = np.random.default_rng(seed)
    n_train, n_tests = int(rng.integers(8, 40)), int(rng.integers(1, 9))
    k = n_train + 3 if seed % 4 == 3 else int(rng.integers(1, 8))
    y = np.concatenate([np.arange(3), rng.integers(0, 3, n_train - 3)])
    return rng.normal(size=(n_train, 3)), y, rng.normal(size=(n_tests, 3)), rng.integers(0, 3, n_tests), k


def quietly_import(name):
    """The module, or skip; warnings that importing it gives are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed", exc_type=ImportError)


def of_published(X, y, tests, y_test, k):
    """Our values, plus what the theorem adds with fewer samples than K."""
    values = item_values(X, y, n_neighbors=k, test=(tests, y_test), n_jobs=1).per_item
    farthest = ((tests[:, None] - X[None]) ** 2).sum(axis=-1).argmax(axis=1)
    return values + max(1 / len(y) - 1 / k, 0) * (y[farthest] == y_test).mean()


@pytest.mark.parametrize("seed", VALUED)
def test_values_are_those_of_opendataval(seed):
    quietly_import("opendataval.dataval")
    import torch
    from opendataval.dataval import KNNShapley

    X, y, tests, y_test, k = valued(seed)
    right = torch.eye(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = KNNShapley(k_neighbors=k)
        theirs.input_data(torch.tensor(X).float(), right[y], torch.tensor(tests).float(), right[y_test])
        values = theirs.train_data_values().evaluate_data_values()
    # It computes in single precision only.
    assert np.abs(of_published(X, y, tests, y_test, k) - values).max() < 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_nominal_terms_are_those_of_imbalanced_learn(seed):
    """Its k is the power of a class's term, and its r that of a column's."""
    metrics = pytest.importorskip("imblearn.metrics.pairwise")
    rng = np.random.default_rng(seed)
    n_items, n_columns = int(rng.integers(10, 60)), int(rng.integers(1, 6))
    n_values = rng.integers(1, 7, n_columns)
    codes = np.column_stack([np.r_[np.arange(n), rng.integers(0, n, n_items - n)] for n in n_values])
    labels = rng.integers(0, int(rng.integers(2, 5)), n_items)
    vdm = metrics.ValueDifferenceMetric(n_categories=n_values, k=2, r=2).fit(codes, labels)
    others = np.column_stack([rng.integers(0, n, 20) for n in n_values])
    hvdm = HVDM(nominal=range(n_columns)).fit(codes, labels)
    np.testing.assert_allclose(hvdm.pairwise(codes) ** 2, vdm.pairwise(codes), atol=1e-12)
    np.testing.assert_allclose(hvdm.pairwise(codes, others) ** 2, vdm.pairwise(codes, others), atol=1e-12)
    assert hvdm.pairwise(codes, others).max() > 0 or (n_values == 1).all()
