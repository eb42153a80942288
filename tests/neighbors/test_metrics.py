"""Metrics against scipy's and scikit-learn's definitions; duplicates, ties and numbers of any size."""

import numpy as np
import pytest
from features import by_brute_force, engine, grid, reference_order
from scipy.spatial.distance import cdist

from knnccv import KFold, Neighbors, complete_cv
from knnccv.neighbors import NAMES

pairwise = pytest.importorskip("sklearn.metrics.pairwise")
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
    "braycurtis of reals": ("braycurtis", {}, reals(), scipys("braycurtis")),
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


def test_tanimoto_of_bits_is_jaccard_to_the_last_bit():
    X = np.random.default_rng(0).integers(0, 2, (80, 37))
    one, other = (Neighbors.from_data(X, metric).kneighbors(79) for metric in ("tanimoto", "jaccard"))
    np.testing.assert_array_equal(one, other)


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


def test_every_name_is_known_to_expected_score():
    neighbors = pytest.importorskip("sklearn.neighbors")
    from sklearn.model_selection import KFold as Folds

    from knnccv.sklearn import expected_score

    y = np.random.default_rng(0).integers(0, 2, 40)
    for metric in NAMES:
        X = places(40) if metric == "haversine" else counts(40)
        params = {"VI": VI} if metric == "mahalanobis" else None
        vote = neighbors.KNeighborsClassifier(3, metric=metric, metric_params=params)
        found = expected_score(vote, X, y, cv=Folds(4, shuffle=True))
        near = Neighbors.from_data(X, metric, metric_params=params)
        assert found.exact
        assert found.score == complete_cv(near, y, "knn", KFold(4), n_neighbors=3, ties="index").score
