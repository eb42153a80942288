"""Metrics against scipy's and scikit-learn's definitions; duplicates and ties; what is refused."""

import numpy as np
import pytest
from features import by_brute_force, engine
from scipy.spatial.distance import cdist

from knnccv import KFold, LeaveOut, Neighbors, Subsample, complete_cv
from knnccv.neighbors._metrics import NAMES

pairwise = pytest.importorskip("sklearn.metrics.pairwise")
RNG = np.random.default_rng(11)
ROOT = RNG.normal(size=(5, 5))
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


def continuous_tanimoto(X):
    products = X @ X.T
    squares = np.diag(products)
    union = squares[:, None] + squares - products
    return 1 - np.where(union > 0, products / np.where(union > 0, union, 1), 1)


def zero_for_empty(D):
    return np.nan_to_num(D, nan=0.0)


CASES = {
    "jaccard of counts": ("jaccard", {}, counts(), lambda X: cdist(X > 0, X > 0, "jaccard")),
    "jaccard of reals": (
        "jaccard",
        {},
        reals() * (counts(seed=1) > 0),
        lambda X: pairwise.pairwise_distances(X != 0, metric="jaccard"),
    ),
    "tanimoto": ("tanimoto", {}, counts(), continuous_tanimoto),
    "tanimoto of bits": ("tanimoto", {}, 1.0 * (counts() > 0), lambda X: cdist(X > 0, X > 0, "jaccard")),
    "tanimoto of reals": ("tanimoto", {}, reals(), continuous_tanimoto),
    "canberra": ("canberra", {}, reals(), lambda X: cdist(X, X, "canberra")),
    "canberra of counts": ("canberra", {}, counts(), lambda X: cdist(X, X, "canberra")),
    "braycurtis": ("braycurtis", {}, np.abs(reals()), lambda X: cdist(X, X, "braycurtis")),
    "braycurtis of counts": (
        "braycurtis",
        {},
        counts(),
        lambda X: zero_for_empty(cdist(X, X, "braycurtis")),
    ),
    "braycurtis of reals": ("braycurtis", {}, reals(), lambda X: cdist(X, X, "braycurtis")),
    "mahalanobis VI": ("mahalanobis", {"VI": VI}, reals(), lambda X: cdist(X, X, "mahalanobis", VI=VI)),
    "mahalanobis V": (
        "mahalanobis",
        {"V": VI},
        reals(),
        lambda X: cdist(X, X, "mahalanobis", VI=np.linalg.inv(VI)),
    ),
    "mahalanobis scaled": (
        "mahalanobis",
        {"V": 2.0**31 * VI},
        2.0**-300 * reals(),
        lambda X: (
            2.0**-300 * cdist(2.0**300 * X, 2.0**300 * X, "mahalanobis", VI=np.linalg.inv(2.0**31 * VI))
        ),
    ),
    "haversine": ("haversine", {}, places(), pairwise.haversine_distances),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_scipy_and_scikit_learn(case):
    metric, params, X, reference = CASES[case]
    expected = reference(X)
    items, found = Neighbors.from_data(X, metric, metric_params=params or None).kneighbors(len(X) - 1)
    D = np.zeros_like(expected)
    np.put_along_axis(D, items, found, axis=1)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(D, expected, rtol=1e-10, atol=1e-15)
    np.testing.assert_array_equal(D, D.T)
    assert D[20, 40] == 0
    np.testing.assert_array_equal(np.delete(D[20], [20, 40]), np.delete(D[40], [20, 40]))


@pytest.mark.parametrize("case", CASES)
def test_scores_do_not_depend_on_the_order_of_the_samples(case):
    metric, params, X, _ = CASES[case]
    y = np.random.default_rng(0).integers(0, 2, len(X))
    order = np.random.default_rng(1).permutation(len(X))
    asked = {"metric": metric, "metric_params": params or None}
    one = complete_cv(X, y, "knn", KFold(4), **asked)
    other = complete_cv(X[order], y[order], "knn", KFold(4), **asked)
    np.testing.assert_allclose(one.per_item[order], other.per_item, rtol=1e-12)


def test_tanimoto_of_bits_is_jaccard_to_the_last_bit():
    X = np.random.default_rng(0).integers(0, 2, (80, 37))
    for one, other in zip(
        Neighbors.from_data(X, "tanimoto").kneighbors(79),
        Neighbors.from_data(X, "jaccard").kneighbors(79),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_the_min_max_form_has_the_order_of_braycurtis():
    X = counts(seed=3)[:, None, :]
    low, high = np.minimum(X, X[:, 0]).sum(axis=2), np.maximum(X, X[:, 0]).sum(axis=2)
    D = 1 - np.where(high > 0, low / np.where(high > 0, high, 1), 1)
    expected = Neighbors.from_distances(np.round(D, 12)).kneighbors(59)[0]
    np.testing.assert_array_equal(Neighbors.from_data(X[:, 0], "braycurtis").kneighbors(59)[0], expected)


@pytest.mark.parametrize("scale", [2.0**-1030, 2.0**-500, 2.0**500, 2.0**1020])
@pytest.mark.parametrize("metric", ["tanimoto", "canberra", "braycurtis", "mahalanobis"])
def test_tiny_and_huge_numbers_keep_their_order(metric, scale):
    X = counts(50)
    params = {"VI": VI} if metric == "mahalanobis" else None
    expected = Neighbors.from_data(X, metric, metric_params=params).kneighbors(49)
    found = Neighbors.from_data(X * scale, metric, metric_params=params).kneighbors(49)
    np.testing.assert_array_equal(found[0], expected[0])
    factor = scale if metric == "mahalanobis" else 1.0
    np.testing.assert_allclose(found[1], expected[1] * factor, rtol=1e-14)


def test_a_step_in_either_direction_is_as_far_under_mahalanobis():
    X = np.array([[0, 0], [1, 2], [-1, -2], [3, 1], [-3, -1]]) + 1000.0
    _, distances = Neighbors.from_data(
        X, "mahalanobis", metric_params={"V": [[2, 0.3], [0.3, 7]]}
    ).kneighbors(4)
    assert distances[0, 0] == distances[0, 1]
    assert distances[0, 2] == distances[0, 3]


def test_a_projection_under_mahalanobis_ties_what_it_cannot_see():
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
    for one, other in zip(found, plain.kneighbors(10), strict=True):
        np.testing.assert_array_equal(one, other)
    D = pairwise.haversine_distances(X)
    np.testing.assert_allclose(found[1], np.sort(D, axis=1)[:, 1:11], atol=1e-7)
    assert (found[1][:, 0] == 0).all()


@pytest.mark.parametrize("metric", NAMES)
def test_every_name_is_known_to_expected_score(metric):
    neighbors = pytest.importorskip("sklearn.neighbors")
    from sklearn.model_selection import KFold as Folds

    from knnccv.sklearn import expected_score

    X = places(40) if metric == "haversine" else counts(40)
    y = np.random.default_rng(0).integers(0, 2, 40)
    params = {"VI": VI} if metric == "mahalanobis" else None
    vote = neighbors.KNeighborsClassifier(3, metric=metric, metric_params=params)
    found = expected_score(vote, X, y, cv=Folds(4, shuffle=True))
    near = Neighbors.from_data(X, metric, metric_params=params)
    wanted = complete_cv(near, y, "knn", KFold(4), n_neighbors=3, ties="index")
    assert found.exact
    assert found.score == wanted.score


@pytest.mark.parametrize("metric", ["canberra", "braycurtis", "mahalanobis", "haversine"])
def test_leave_one_out_is_scikit_learns(metric):
    neighbors = pytest.importorskip("sklearn.neighbors")
    from sklearn.model_selection import LeaveOneOut, cross_val_score

    X = places(40) if metric == "haversine" else np.abs(reals(50))
    y = np.random.default_rng(0).integers(0, 2, len(X))
    params = {"VI": VI} if metric == "mahalanobis" else None
    vote = neighbors.KNeighborsClassifier(1, metric=metric, metric_params=params, algorithm="brute")
    found = complete_cv(X, y, "nn", LeaveOut(), metric=metric, metric_params=params)
    assert found.score == pytest.approx(cross_val_score(vote, X, y, cv=LeaveOneOut()).mean())


REFUSED = {
    "mahalanobis alone": (
        reals(),
        "mahalanobis",
        None,
        ValueError,
        "needs metric_params.*'V'.*'VI'.*not taken from X",
    ),
    "both": (reals(), "mahalanobis", {"V": VI, "VI": VI}, ValueError, "not both"),
    "shape": (reals(), "mahalanobis", {"VI": VI[:4]}, ValueError, r"VI of .* shape \(5, 5\), got \(4, 5\)"),
    "asymmetric": (
        reals(),
        "mahalanobis",
        {"VI": VI + np.eye(5, k=1)},
        ValueError,
        "VI of .* must be symmetric",
    ),
    "negative": (
        reals(),
        "mahalanobis",
        {"VI": -VI},
        ValueError,
        "VI of .* positive semidefinite.*eigenvalue -",
    ),
    "nothing": (reals(), "mahalanobis", {"VI": 0 * VI}, ValueError, "VI of .* not 0, got the eigenvalue 0"),
    "singular": (reals(), "mahalanobis", {"V": np.ones((5, 5))}, ValueError, "V of .* positive definite"),
    "nan": (reals(), "mahalanobis", {"V": VI * np.nan}, ValueError, r"V\[0, 0\] is nan"),
    "text": (reals(), "mahalanobis", {"V": [["a"]]}, TypeError, "V of .* must hold real numbers"),
    "other": (reals(), "mahalanobis", {"W": VI}, TypeError, "metric 'mahalanobis' takes no parameter 'W'"),
    "canberra": (reals(), "canberra", {"p": 2}, TypeError, "metric 'canberra' takes no parameter 'p'"),
    "3 angles": (reals(), "haversine", None, ValueError, "needs 2 features, latitude and longitude, got 5"),
    "degrees": (
        [[0.0, 0.0], [48.1, 11.6]],
        "haversine",
        None,
        ValueError,
        r"X\[1, 0\] is 48.1.*latitude.*np.radians",
    ),
    "longitude": (
        [[0.0, 0.0], [1.1, 111.6]],
        "haversine",
        None,
        ValueError,
        r"X\[1, 1\] is 111.6; a longitude",
    ),
    "no zero": (reals(), "jaccard", None, ValueError, "which values are 0, and X has none.*'tanimoto'"),
    "opposite": (
        [[1.0, 2.0], [-1.0, -2.0]],
        "braycurtis",
        None,
        ValueError,
        "samples 0 and 1 under braycurtis is inf",
    ),
    "tanimoto": ([[1e-300], [1e300]], "tanimoto", None, ValueError, "too many orders of magnitude"),
    "misspelt": (reals(), "tanimotto", None, ValueError, "did you mean 'tanimoto'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_metrics_refuse(case):
    X, metric, params, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        complete_cv(X, np.arange(len(X)) % 2, "nn", Subsample(1), metric=metric, metric_params=params)
