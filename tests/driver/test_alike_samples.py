"""Samples with equal features and targets: one score serves them all, the same as one for each."""

import naive
import numpy as np
import pytest
from problems import plain
from scipy import sparse

from knnccv import KFold, LeaveGroupsOut, Neighbors, StratifiedKFold, Subsample, complete_cv
from knnccv.driver import _scores
from knnccv.driver._deepen import alike_samples
from knnccv.driver._problem import validate_problem
from knnccv.hvdm import HEOM
from knnccv.neighbors import distinct_rows

RULES = [
    ("nn", {}),
    ("nn", {"loss": np.array([[0, 1, 3], [1, 0, 2], [5, 1, 0]])}),
    ("knn", {"n_neighbors": 4}),
    ("knn", {"n_neighbors": 3, "vote_ties": "random"}),
    ("rank", {"rank": 3}),
    ("confidence", {"n_neighbors": 3, "score": "brier"}),
    ("regression", {"n_neighbors": 3}),
]


def copies(n_items, n_points, n_classes=3, seed=0):
    """Rows that are copies of a few points, in no order, with labels that are unequally many."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (n_points, 2)).astype(float)
    points[:, 0] += np.arange(n_points) / 8  # distinct, and some are tied
    y = rng.choice(n_classes, n_items, p=np.arange(1, n_classes + 1) / sum(range(n_classes + 1)))
    y[:n_classes] = np.arange(n_classes)
    return points[rng.integers(0, n_points, n_items)], y


@pytest.fixture
def scored(monkeypatch):
    """The rows that the scorer was asked for."""
    rows = []
    call = _scores.BlockScorer.__call__

    def spied(self, lists, block):
        rows.extend(block.tolist())
        return call(self, lists, block)

    monkeypatch.setattr(_scores.BlockScorer, "__call__", spied)
    return rows


def each_by_itself(monkeypatch, *arguments, **parameters):
    with monkeypatch.context() as patch:
        patch.setattr(_scores, "alike_samples", lambda *_: None)
        return complete_cv(*arguments, **parameters)


@pytest.mark.parametrize(("rule", "parameters"), RULES)
@pytest.mark.parametrize("design", [KFold(4), Subsample(0.6), StratifiedKFold(3)])
def test_as_if_each_sample_were_scored(monkeypatch, scored, rule, parameters, design):
    if rule == "regression" and isinstance(design, StratifiedKFold):
        pytest.skip("no kernel")
    X, y = copies(120, 6)
    for tol in (0.0, 1e-3):
        scored.clear()
        result = complete_cv(X, y, rule, design, tol=tol, n_jobs=1, **parameters)
        assert 6 <= len(set(scored)) <= 18
        expected = each_by_itself(monkeypatch, X, y, rule, design, tol=tol, n_jobs=1, **parameters)
        assert len(set(scored)) == 120
        np.testing.assert_allclose(result.per_item, expected.per_item, rtol=1e-12, atol=1e-13)
        assert result.score == pytest.approx(expected.score, rel=1e-12)
        assert result.error_bound == pytest.approx(expected.error_bound, rel=1e-9)
        assert (result.tied, result.depth) == (expected.tied, expected.depth)


@pytest.mark.parametrize(("rule", "parameters"), RULES)
def test_enumeration(scored, rule, parameters):
    """Two points, each four times, of two classes."""
    X = np.array([0, 1, 0, 1, 1, 0, 1, 0], float)[:, None]
    y = np.array([0, 0, 1, 0, 1, 0, 1, 1])
    distances = np.abs(X - X.T)
    if "loss" in parameters:
        parameters = {"loss": np.array([[0, 2], [5, 1]])}
    designs = [(Subsample(5), naive.subsample(8, 5)), (KFold(3), naive.kfold(8, 3))]
    if rule != "regression":
        designs.append((StratifiedKFold(3), naive.stratified_kfold(y.tolist(), 3)))
    for design, runs in designs:
        scored.clear()
        result = complete_cv(X, y, rule, design, tol=0, **parameters)
        assert len(scored) == 4
        expected = naive.complete(distances.tolist(), y.tolist(), rule, runs, **plain(parameters))
        assert result.score == pytest.approx(float(expected), rel=1e-12)


def test_lists_that_end_early(monkeypatch):
    """The last tied group of a cut list is left out, for every copy alike."""
    X, y = copies(200, 4)
    for depth in (20, 60, 120):
        near = Neighbors.from_data(X, n_neighbors=depth)
        result = complete_cv(near, y, "knn", KFold(4))
        expected = each_by_itself(monkeypatch, near, y, "knn", KFold(4))
        np.testing.assert_allclose(result.per_item, expected.per_item, rtol=1e-12, atol=1e-13)
        assert result.error_bound == pytest.approx(expected.error_bound, rel=1e-9)


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "jaccard", "mahalanobis", "hamming"])
def test_metrics(monkeypatch, scored, metric):
    X, y = copies(300, 9)
    X = np.column_stack([X, X[:, ::-1] * [1, -1] + 1])
    params = {"V": np.diag([1.0, 2.0, 3.0, 4.0])} if metric == "mahalanobis" else None
    near = Neighbors.from_data(X.astype(np.float32), metric, metric_params=params)
    complete_cv(near, y, "knn", 5, n_neighbors=3)
    scored.clear()
    result = complete_cv(near, y, "knn", 5, n_neighbors=3)  # from lists that were kept
    assert len(set(scored)) <= 27
    expected = each_by_itself(monkeypatch, near, y, "knn", 5, n_neighbors=3)
    np.testing.assert_allclose(result.per_item, expected.per_item, rtol=1e-12, atol=1e-13)


def test_lists_are_kept_for_all_samples(scored):
    """Once, at the first depth; farther neighbors are searched for one sample of those that are alike."""
    X, y = copies(400, 8)
    near = Neighbors.from_data(X)
    first = complete_cv(near, y, "knn", KFold(4), n_neighbors=3)
    assert len(set(scored[:400])) == 400
    assert len(scored) < 600
    assert near.serves_cheaply(20)
    scored.clear()
    again = complete_cv(near, y, "knn", KFold(4), n_neighbors=3)
    assert len(scored) < 200
    np.testing.assert_allclose(again.per_item, first.per_item, rtol=1e-12)


def test_real_targets_must_be_equal_too(scored):
    X, y = copies(120, 6)
    complete_cv(X, y.astype(float), "regression", KFold(4))
    assert len(set(scored)) <= 18
    scored.clear()
    complete_cv(X, np.column_stack([y, y * y]), "regression", KFold(4))
    assert len(set(scored)) <= 18
    scored.clear()
    complete_cv(X, np.column_stack([y, np.arange(120)]), "regression", KFold(4))
    assert len(set(scored)) == 120


def test_where_every_sample_needs_its_own():
    X, y = copies(120, 6)
    near = Neighbors.from_data(X)

    def alike(near, design=5, ties="random"):
        return alike_samples(validate_problem(y, 120, "nn", design, ties, "pooled", {}), near)

    assert alike(near) is not None
    assert alike(near, ties="index") is None
    assert alike(near, LeaveGroupsOut(np.arange(120) % 10)) is None
    distances = np.abs(X[:, None] - X).sum(axis=2)
    indices, found = near.kneighbors(119)
    others = [
        Neighbors.from_distances(distances),
        Neighbors.from_lists(indices, found),
        Neighbors.from_data(sparse.csr_array(X)),
        Neighbors.from_data(X, lambda a, b: float(abs(a - b).sum())),
        HEOM(nominal=[0]).fit(X).neighbors(),
    ]
    for each in others:
        assert each.distinct_rows() is None
        assert alike(each) is None


def test_in_the_order_of_the_rows_copies_differ(scored):
    X, y = copies(120, 6)
    result = complete_cv(X, y, "knn", KFold(4), ties="index")
    assert len(set(scored)) == 120
    assert len(set(result.per_item)) > 18
    scored.clear()
    result.tie_report()
    assert len(set(scored)) == 120


@pytest.mark.parametrize("dtype", [np.float64, np.float32, bool])
@pytest.mark.parametrize("n_rows", [500, 30_000])
def test_distinct_rows(dtype, n_rows):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2 if dtype is bool else 4, (n_rows, 3)).astype(dtype)
    numbers = distinct_rows(table)
    rows, expected = np.unique(table, axis=0, return_inverse=True)
    assert numbers.max() + 1 == len(rows)
    assert len(np.unique(np.column_stack([numbers, expected.ravel()]), axis=0)) == len(rows)


def test_distinct_rows_are_not_sought_in_vain():
    rng = np.random.default_rng(0)
    for n_rows in (8, 500, 30_000):
        assert distinct_rows(rng.normal(size=(n_rows, 3))) is None
        assert distinct_rows(rng.permutation(n_rows)[:, None] // 3) is None
        adjacent = (np.arange(n_rows) // 4)[:, None]
        assert distinct_rows(adjacent).max() + 1 == n_rows // 4


def test_rows_that_are_mixed_to_one_number(monkeypatch):
    from knnccv.neighbors import _sources

    table = np.arange(20.0).reshape(10, 2).repeat(5, axis=0)
    assert distinct_rows(table).max() == 9
    monkeypatch.setattr(_sources, "mixed", lambda table: np.zeros(len(table), np.uint64))
    assert distinct_rows(table).max() == 9
