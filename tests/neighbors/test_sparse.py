"""Sparse data: orders, distances and ties are those of the dense array, to the last bit."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from knnccv import KFold, Neighbors, StratifiedSubsample, complete_cv, loo_curve, monte_carlo_cv, surface
from knnccv.neighbors import SPARSE_NAMES

KINDS = ["bits", "counts", "reals", "single", "bytes", "tiny", "huge"]


def data(kind, n_items=90, n_features=40, seed=0):
    """Dense data, mostly zeros, with empty and equal rows."""
    rng = np.random.default_rng(seed)
    there = rng.random((n_items, n_features)) < 0.12
    X = {
        "bits": np.ones((n_items, n_features)),
        "counts": rng.poisson(1.5, (n_items, n_features)),
        "reals": rng.normal(size=(n_items, n_features)),
        "single": rng.normal(size=(n_items, n_features)).astype(np.float32),
        "bytes": rng.integers(0, 120, (n_items, n_features)).astype(np.int8),
        "tiny": rng.normal(size=(n_items, n_features)) * 2.0**-700,
        "huge": rng.normal(size=(n_items, n_features)) * 2.0**900,
    }[kind] * there
    X[5] = X[17] = 0
    X[30] = X[31] = X[60]
    X[70] = 2 * X[71].astype(float)
    return X.astype({"single": np.float32, "bytes": np.int8}.get(kind, float))


def assert_same(sparse, dense, metric, depths):
    """Lists, ties and distances of two containers of the same data."""
    one, other = (Neighbors.from_data(X, metric) for X in (dense, sparse))
    for depth in depths:
        expected, found = (near.search(np.arange(len(dense)), depth) for near in (one, other))
        np.testing.assert_array_equal(found.items, expected.items)
        np.testing.assert_array_equal(found.may_tie_beyond, expected.may_tie_beyond)
        np.testing.assert_array_equal(other.kneighbors(depth)[1], one.kneighbors(depth)[1])


@pytest.mark.parametrize("metric", [*SPARSE_NAMES, "l1", "l2", "cityblock"])
def test_lists_are_those_of_dense_data(metric):
    for kind in KINDS:
        if (kind, metric) != ("huge", "sqeuclidean"):  # beyond the range of doubles
            assert_same(sp.csr_array(data(kind)), data(kind), metric, (1, 7, 40, 88, 89))
    rng = np.random.default_rng(0)
    long = rng.normal(size=(40, 1500)) * (rng.random((40, 1500)) < 0.3)  # which NumPy sums in another order
    unit = data("reals", 120, 300) + np.eye(120, 300)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    for X in (long, unit, np.zeros((6, 4))):
        assert_same(sp.csr_matrix(X), X, metric, (1, len(X) // 2, len(X) - 1))


def test_duplicates_stored_zeros_and_disorder():
    rng = np.random.default_rng(0)
    at = rng.integers(0, 60, 500), rng.integers(0, 25, 500)
    values = rng.integers(-2, 3, 500).astype(float)
    coo = sp.coo_array((values, at), shape=(60, 25))
    order = np.argsort(at[0], kind="stable")
    starts = np.searchsorted(at[0][order], np.arange(61))
    csr = sp.csr_array((values[order], at[1][order], starts), shape=(60, 25))
    assert not csr.has_canonical_format
    before = csr.copy()
    for metric in SPARSE_NAMES:
        for given in (coo, csr):
            assert_same(given, coo.toarray(), metric, (30,))
    for name in ("data", "indices", "indptr"):  # the caller's own matrix stays as it is
        np.testing.assert_array_equal(getattr(csr, name), getattr(before, name))


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
def test_formats():
    X, y = data("counts"), np.arange(90) % 3
    expected = complete_cv(X, y, "knn", KFold(5)).per_item
    for container in (sp.csr_array, sp.csr_matrix):
        for kind in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia"):
            given = container(X).asformat(kind)
            np.testing.assert_array_equal(complete_cv(given, y, "knn", KFold(5)).per_item, expected)
            np.testing.assert_array_equal(given.toarray(), X)


@pytest.mark.parametrize("metric", SPARSE_NAMES)
def test_every_function_takes_sparse_data(metric):
    neighbors = pytest.importorskip("sklearn.neighbors")
    from sklearn.model_selection import KFold as Folds

    from knnccv.sklearn import expected_score

    X, y = data("counts"), np.random.default_rng(0).integers(0, 3, 90)
    vote = neighbors.KNeighborsClassifier(3, metric=metric)
    options = {"metric": metric}
    runs = {"n_repeats": 3, "random_state": 0, **options}
    one, other = (
        [
            *(
                complete_cv(given, y, "rank", KFold(4), n_jobs=n_jobs, **options).per_item
                for n_jobs in (1, 3)
            ),
            complete_cv(given, y, "knn", StratifiedSubsample(0.7), **options).per_item,
            monte_carlo_cv(given, y, "nn", KFold(3), **runs).scores,
            surface(given, y, **options).scores,
            loo_curve(given, y, **options),
            expected_score(vote, given, y, cv=Folds(3, shuffle=True)).score,
        ]
        for given in (X, sp.csr_matrix(X))
    )
    for expected, found in zip(one, other, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_neighbors_of_sparse_data_can_be_pickled():
    near = Neighbors.from_data(sp.csr_array(data("reals")), "cosine", n_neighbors=20)
    copy = pickle.loads(pickle.dumps(near))
    np.testing.assert_array_equal(copy.kneighbors(20), near.kneighbors(20))


def test_many_features_are_never_dense():
    """The dense array of these would take 32 GB."""
    rng = np.random.default_rng(0)
    rest = sp.random_array((400, 10**7), density=2e-6, rng=rng)
    X = sp.hstack([sp.csr_array(rng.integers(1, 9, (400, 1))), rest], format="csr")
    for metric in ("euclidean", "manhattan", "jaccard", "tanimoto"):
        items, distances = Neighbors.from_data(X, metric).kneighbors(3)
        if metric == "euclidean":
            gap = X[[7]] - X[[items[7, 0]]]
            assert distances[7, 0] == pytest.approx(np.linalg.norm(gap.data))


def test_graphs_used_as_features_are_warned_of():
    neighbors = pytest.importorskip("sklearn.neighbors")
    graph = neighbors.kneighbors_graph(np.random.default_rng(0).normal(size=(30, 2)), 4, mode="distance")
    with pytest.warns(UserWarning, match=r"empty diagonal.*Neighbors.from_graph\(X\)"):
        Neighbors.from_data(graph)


def test_a_stratified_rank_surface_of_deep_questions():
    """Dense data are compared pair by pair here, which sparse data are not."""
    X, y = data("reals", 150), np.random.default_rng(0).integers(0, 3, 150)
    dense, sparse = (
        surface(Neighbors.from_data(table), y, [1, 30], [2], "rank", stratified=True)
        for table in (X, sp.csr_array(X))
    )
    assert np.abs(sparse.scores - dense.scores).max() <= (sparse.error_bound + dense.error_bound).max()
