"""Metrics by their definitions, of dense and of sparse data."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from problems import by_brute_force, engine, grid, reference_order
from scipy.spatial.distance import cdist
from sklearn import neighbors
from sklearn.metrics import DistanceMetric, pairwise

from knnccv import KFold, Neighbors, complete_cv
from knnccv.neighbors import SPARSE_NAMES

ROOT = np.random.default_rng(11).normal(size=(5, 5))
VI = ROOT @ ROOT.T


def counts(n_items=60, n_features=5, seed=0):
    """Small counts with empty and equal rows."""
    X = np.random.default_rng(seed).poisson(0.7, (n_items, n_features)).astype(float)
    X[3] = X[9] = X[-10] = 0
    X[20] = X[-20]
    return X


def reals(n_items=60, n_features=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_items, n_features))
    X[20] = X[-20]
    return X


def places(n_items=60, seed=0):
    rng = np.random.default_rng(seed)
    X = np.stack([np.arcsin(rng.uniform(-1, 1, n_items)), rng.uniform(-np.pi, np.pi, n_items)], axis=1)
    X[20] = X[-20]
    return X


def scipys(name, **options):
    """Its distances; 0 of two empty rows, of which it knows none."""
    return lambda X: np.nan_to_num(cdist(X, X, name, **options), nan=0.0)


def of_presence(X):
    return cdist(X != 0, X != 0, "jaccard")


def continuous_tanimoto(X):
    products = X @ X.T
    squares = np.diag(products)
    union = squares[:, None] + squares - products
    return 1 - np.where(union > 0, products / np.where(union > 0, union, 1), 1)


def mahalanobis(X, scale=1.0):
    return scale * cdist(X / scale, X / scale, "mahalanobis", VI=VI)


SMALL = 2.0**-300
CASES = {
    "euclidean": ("euclidean", {}, reals(), scipys("euclidean")),
    "sqeuclidean": ("sqeuclidean", {}, reals(), scipys("sqeuclidean")),
    "manhattan": ("manhattan", {}, reals(), scipys("cityblock")),
    "chebyshev": ("chebyshev", {}, reals(), scipys("chebyshev")),
    "minkowski": ("minkowski", {"p": 3}, reals(), scipys("minkowski", p=3)),
    "hamming": ("hamming", {}, counts(), scipys("hamming")),
    "cosine": ("cosine", {}, reals(), pairwise.cosine_distances),
    "cosine of counts": ("cosine", {}, counts(), pairwise.cosine_distances),
    "correlation": ("correlation", {}, reals(), scipys("correlation")),
    "jaccard of counts": ("jaccard", {}, counts(), of_presence),
    "jaccard of reals": ("jaccard", {}, reals() * (counts(seed=1) > 0), of_presence),
    "tanimoto": ("tanimoto", {}, counts(), continuous_tanimoto),
    "tanimoto of bits": ("tanimoto", {}, 1.0 * (counts() > 0), of_presence),
    "tanimoto of reals": ("tanimoto", {}, reals(), continuous_tanimoto),
    "canberra": ("canberra", {}, reals(), scipys("canberra")),
    "canberra of counts": ("canberra", {}, counts(), scipys("canberra")),
    "braycurtis": ("braycurtis", {}, np.abs(reals()), scipys("braycurtis")),
    "braycurtis of counts": ("braycurtis", {}, counts(), scipys("braycurtis")),
    "braycurtis of reals": ("braycurtis", {}, reals(), DistanceMetric.get_metric("braycurtis").pairwise),
    "mahalanobis VI": ("mahalanobis", {"VI": VI}, reals(), mahalanobis),
    "mahalanobis V": ("mahalanobis", {"V": np.linalg.inv(VI)}, reals(), mahalanobis),
    "mahalanobis scaled": (
        "mahalanobis",
        {"V": np.linalg.inv(VI)},
        SMALL * reals(),
        lambda X: mahalanobis(X, SMALL),
    ),
    "haversine": ("haversine", {}, places(), pairwise.haversine_distances),
}


@pytest.mark.filterwarnings("ignore:X has features of both signs")
@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_scipy_and_scikit_learn(case):
    """And do not depend on the order of the samples."""
    metric, params, X, reference = CASES[case]
    expected = reference(X)
    near = Neighbors.from_data(X, metric, metric_params=params or None)
    items, found = near.kneighbors(len(X) - 1)
    D = np.zeros_like(expected)
    np.put_along_axis(D, items, found, axis=1)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(D, expected, rtol=1e-10, atol=1e-15)
    np.testing.assert_array_equal(items, reference_order(D))
    np.testing.assert_array_equal(D, D.T)
    assert D[20, 40] == 0
    np.testing.assert_array_equal(np.delete(D[20], [20, 40]), np.delete(D[40], [20, 40]))
    y, order = np.random.default_rng(0).integers(0, 2, len(X)), np.random.default_rng(1).permutation(len(X))
    one = complete_cv(near, y, "knn", KFold(4))
    other = complete_cv(X[order], y[order], "knn", KFold(4), metric=metric, metric_params=params or None)
    np.testing.assert_allclose(one.per_item[order], other.per_item, rtol=1e-12)


SCIPY = {"euclidean": "sqeuclidean", "l2": "sqeuclidean", "sqeuclidean": "sqeuclidean"}
SCIPY |= {"manhattan": "cityblock", "l1": "cityblock", "cityblock": "cityblock"}
SCIPY |= {"chebyshev": "chebyshev", "minkowski": "minkowski", "hamming": "hamming"}


def test_orders_and_ties_of_a_grid_are_those_of_full_sorts():
    X = grid()
    for metric, name in SCIPY.items():
        params = {"p": 3} if metric == "minkowski" else {}
        expected = reference_order(cdist(X, X, name, **params))
        for depth in (1, 5, 68, 69):
            found = Neighbors.from_data(X, metric, metric_params=params or None).kneighbors(depth)[0]
            np.testing.assert_array_equal(found, expected[:, :depth], metric)


def test_parallel_rows_have_no_angle_and_tie_to_the_last_bit():
    base = np.array([[1.0, 2.0, 7.0]])
    X = np.concatenate([base * factor for factor in (1, 3, 7, 0.1, 1e-30, 1e200)] + [[[2.0, 1.0, 0.0]]])
    X[3] = [1 / 8, 2 / 8, 7 / 8]
    items, distances = Neighbors.from_data(X, "cosine").kneighbors(6)
    assert (distances[0, :5] == 0).all()
    assert len(np.unique(distances[6])) == 1
    np.testing.assert_array_equal(items[6], range(6))
    base = np.random.default_rng(0).integers(0, 50, (10, 4))
    for metric in ("cosine", "correlation"):
        X = np.concatenate([base * factor for factor in (1, 2, 3, 7)]).astype(float)
        X[10:20] += 5 * (metric == "correlation")
        _, distances = Neighbors.from_data(X, metric).kneighbors(39)
        assert (distances[:, :3] == 0).all()
        assert max(len(np.unique(row)) for row in distances) <= 10


def test_rows_without_a_direction_are_at_distance_one():
    for metric, row in (("cosine", 0.0), ("correlation", 0.1), ("correlation", 3.0)):
        X = np.random.default_rng(0).normal(size=(8, 3))
        X[2] = X[5] = row
        _, distances = Neighbors.from_data(X, metric).kneighbors(7)
        assert (distances[[2, 5]] == 1).all()
        assert ((distances >= 0) & (distances <= 2)).all()


def test_a_callable_metric_may_be_asymmetric():
    X = grid(30)

    def metric(tested, other):
        return float(np.maximum(tested - other, 0).sum())

    D = np.array([[metric(a, b) for b in X] for a in X])
    near = Neighbors.from_data(X, metric)
    np.testing.assert_array_equal(near.kneighbors(29)[0], reference_order(D))


SCALED = {  # powers of 2, and the power of the scale that distances have
    **dict.fromkeys(["euclidean", "manhattan", "chebyshev", "minkowski"], ((-996, -664, 664, 996), 1)),
    "mahalanobis": ((-1030, -500, 500, 1020), 1),
    **dict.fromkeys(["tanimoto", "canberra", "braycurtis"], ((-1030, -500, 500, 1020), 0)),
    **dict.fromkeys(["cosine", "correlation"], ((-1060, -500, 900, 1017), 0)),
}


def test_tiny_and_huge_numbers_keep_their_order():
    for metric, (powers, degree) in SCALED.items():
        X = counts(50) + (np.arange(5) if metric == "correlation" else 0)
        params = {"VI": VI} if metric == "mahalanobis" else None
        items, distances = Neighbors.from_data(X, metric, metric_params=params).kneighbors(49)
        for power in powers:
            found = Neighbors.from_data(np.ldexp(X, power), metric, metric_params=params).kneighbors(49)
            np.testing.assert_array_equal(found[0], items, f"{metric}, 2**{power}")
            np.testing.assert_allclose(found[1], np.ldexp(distances, degree * power), rtol=1e-14)


def test_mixed_scales_keep_small_differences_or_are_refused():
    for metric in ("euclidean", "manhattan", "chebyshev", "minkowski"):
        params = {"metric_params": {"p": 1.5}} if metric == "minkowski" else {}
        for small, large in [(1e-70, 1e100), (1e-170, 1.0), (1e-30, 1e250), (1e-100, 1e305)]:
            X = np.array([[0.0], [small], [3 * small], [large]])
            try:
                items, distances = Neighbors.from_data(X, metric, **params).kneighbors(3)
            except ValueError as error:
                assert metric in {"euclidean", "minkowski"}
                assert large / small > 1e250
                assert "differences to the power of" in str(error)  # noqa: PT017
                continue
            np.testing.assert_array_equal(items[2], [1, 0, 3])
            np.testing.assert_allclose(distances[0], [small, 3 * small, large], rtol=1e-12)
        with pytest.raises(ValueError, match="too many orders of magnitude"):
            Neighbors.from_data([[5e-324], [1e305], [1.0]], metric, **params)


def test_squares_of_neighboring_distances_are_not_blurred():
    """sqrt() maps these two squared distances to one double."""
    X = np.array([[0.0, 0.0], [1.0, 2.0**-26], [1.0, 0.0]])
    assert np.sqrt(1.0 + 2.0**-52) == 1.0
    np.testing.assert_array_equal(Neighbors.from_data(X).kneighbors(2)[0][0], [2, 1])


def test_mahalanobis_ties_steps_in_either_direction_and_what_a_projection_cannot_see():
    X = np.array([[0, 0], [1, 2], [-1, -2], [3, 1], [-3, -1]]) + 1000.0
    params = {"V": [[2, 0.3], [0.3, 7]]}
    _, distances = Neighbors.from_data(X, "mahalanobis", metric_params=params).kneighbors(4)
    assert distances[0, 0] == distances[0, 1]
    assert distances[0, 2] == distances[0, 3]
    projection = np.array([[0.3, -1.1, 0.7]])
    X = np.random.default_rng(0).integers(-3, 4, (50, 3)).astype(float)
    X[7] = X[3] + [11.0, 3.0, 0.0]  # along the kernel
    near = Neighbors.from_data(X, "mahalanobis", metric_params={"VI": projection.T @ projection})
    expected = np.abs((X[:, None] - X) @ projection[0])
    items, distances = near.kneighbors(49)
    np.testing.assert_allclose(distances, np.take_along_axis(expected, items, axis=1), atol=1e-13)


def test_great_circles_are_searched_by_engines():
    X = np.repeat(places(600), 2, axis=0)
    near = Neighbors.from_data(X, "haversine")
    assert engine(near, 10) == "KDTree"
    found = near.kneighbors(10)
    plain = by_brute_force(Neighbors.from_data(X, "haversine"))
    np.testing.assert_array_equal(found, plain.kneighbors(10))
    D = pairwise.haversine_distances(X)
    np.testing.assert_allclose(found[1], np.sort(D, axis=1)[:, 1:11], atol=1e-7)
    assert (found[1][:, 0] == 0).all()


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


ALIASES = [pytest.param(name, marks=pytest.mark.slow) for name in ("l1", "l2", "cityblock")]


@pytest.mark.parametrize("metric", [*SPARSE_NAMES, *ALIASES])
def test_lists_are_those_of_dense_data(metric):
    for kind in KINDS:
        if (kind, metric) != ("huge", "sqeuclidean"):  # beyond the range of doubles
            assert_same(sp.csr_array(data(kind)), data(kind), metric, (1, 40, 89))
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


def test_neighbors_of_sparse_data_can_be_pickled():
    near = Neighbors.from_data(sp.csr_array(data("reals")), "cosine", n_neighbors=20)
    copy = pickle.loads(pickle.dumps(near))
    np.testing.assert_array_equal(copy.kneighbors(20), near.kneighbors(20))


def test_many_features_are_never_dense():
    """The dense array of these would take 16 GB."""
    rng = np.random.default_rng(0)
    places = np.arange(4000) // 20, rng.integers(0, 10**7, 4000)
    rest = sp.csr_array((rng.random(4000), places), shape=(200, 10**7))
    X = sp.hstack([sp.csr_array(rng.integers(1, 9, (200, 1))), rest], format="csr")
    for metric in ("euclidean", "jaccard"):
        items, distances = Neighbors.from_data(X, metric).kneighbors(3)
        if metric == "euclidean":
            gap = X[[7]] - X[[items[7, 0]]]
            assert distances[7, 0] == pytest.approx(np.linalg.norm(gap.data))


def test_graphs_used_as_features_are_warned_of():
    graph = neighbors.kneighbors_graph(np.random.default_rng(0).normal(size=(30, 2)), 4, mode="distance")
    with pytest.warns(UserWarning, match=r"empty diagonal.*Neighbors.from_graph\(X\)"):
        Neighbors.from_data(graph)
