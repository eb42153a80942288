"""Square matrices that are mistaken: similarities for distances, distances for features."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from knnccv import KFold, Neighbors, complete_cv, loo_curve, monte_carlo_cv, surface

SIMILARITIES = "similarities.*1 - S.*NaN or the smallest value on the diagonal"
FEATURES = 'used as the features.*metric="precomputed"'


def problem(n_items=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3))
    return X, rng.integers(0, 2, n_items)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def similarities():
    X, _ = problem()
    return {
        "cosine": unit(X) @ unit(X).T,
        "kernel": np.exp(-cdist(X, X, "sqeuclidean")),
        "single": np.exp(-cdist(X, X, "sqeuclidean")).astype(np.float32),
        "negated": -cdist(X, X),
        "integers": (10 - np.rint(cdist(X, X))).astype(int),
        "twins": np.kron(np.exp(-cdist(X, X)), np.ones((2, 2))),
        "small": np.exp(-cdist(X[:3], X[:3])),
        "lopsided": np.exp(-cdist(X, X)) * np.linspace(1, 2, 30)[:, None],
        "sentinel": cdist(X, X) + np.diag(np.full(30, 1e9)),
        "list": np.exp(-cdist(X, X)).tolist(),
    }


@pytest.mark.parametrize("kind", similarities())
def test_similarities_are_refused(kind):
    S = similarities()[kind]
    y = np.arange(len(S)) % 2
    for ask in (complete_cv, monte_carlo_cv):
        with pytest.raises(ValueError, match=SIMILARITIES):
            ask(S, y, "nn", KFold(3), metric="precomputed")
    with pytest.raises(ValueError, match=SIMILARITIES):
        surface(S, y, metric="precomputed")
    with pytest.raises(ValueError, match=SIMILARITIES):
        loo_curve(S, y, metric="precomputed")
    with pytest.raises(ValueError, match=SIMILARITIES):
        Neighbors.from_distances(S)


def test_scikit_learns_estimators_are_refused_similarities():
    neighbors = pytest.importorskip("sklearn.neighbors")
    from sklearn.model_selection import KFold as Folds

    from knnccv.sklearn import expected_score

    X, y = problem()
    vote = neighbors.KNeighborsClassifier(3, metric="precomputed")
    with pytest.raises(ValueError, match=SIMILARITIES):
        expected_score(vote, unit(X) @ unit(X).T, y, cv=Folds(3, shuffle=True))


def test_converted_similarities_are_accepted():
    X, y = problem()
    S = np.exp(-cdist(X, X, "sqeuclidean"))
    expected = complete_cv(X, y, "nn", KFold(5)).per_item
    for D in (1 - S, S.max() - S, -S, np.where(np.eye(30) > 0, np.nan, -S)):
        np.testing.assert_allclose(
            complete_cv(D, y, "nn", KFold(5), metric="precomputed").per_item, expected
        )


@pytest.mark.parametrize("own", [np.nan, np.inf, -np.inf, 0.0, 0.5, -3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble, object])
def test_the_diagonal_is_ignored(own, dtype):
    X, y = problem(40)
    D = cdist(X, X).astype(np.float32).astype(dtype)
    expected = complete_cv(D, y, "knn", KFold(5), metric="precomputed")
    given = D.copy()
    np.fill_diagonal(given, own)
    before = given.copy()
    found = complete_cv(given, y, "knn", KFold(5), metric="precomputed")
    np.testing.assert_array_equal(found.per_item, expected.per_item)
    np.testing.assert_array_equal(given.astype(float), before.astype(float))
    np.testing.assert_array_equal(
        Neighbors.from_distances(given).kneighbors(39), Neighbors.from_distances(D).kneighbors(39)
    )
    whole = complete_cv(given, y, "knn", KFold(5), metric="precomputed", exact=True).exact
    assert whole == complete_cv(D, y, "knn", KFold(5), metric="precomputed", exact=True).exact


def test_single_entries_of_the_diagonal():
    X, _ = problem()
    D = cdist(X, X)
    D[4, 4] = np.nan
    D[7, 7] = np.inf
    assert Neighbors.from_distances(D).kneighbors(3)[0].shape == (30, 3)
    D[7, 8] = np.inf
    with pytest.raises(ValueError, match=r"distances\[7, 8\] is inf"):
        Neighbors.from_distances(D)


def test_a_matrix_in_a_file_is_read_by_blocks(tmp_path, monkeypatch):
    from knnccv.neighbors import _inputs

    monkeypatch.setattr(_inputs, "BLOCK_VALUES", 100)
    X, _ = problem()
    for S, error in ((cdist(X, X), None), (np.exp(-cdist(X, X)), SIMILARITIES)):
        np.save(tmp_path / "S.npy", S)
        mapped = np.load(tmp_path / "S.npy", mmap_mode="r")
        if error:
            with pytest.raises(ValueError, match=error):
                Neighbors.from_distances(mapped)
        else:
            assert np.shares_memory(Neighbors.from_distances(mapped)._source.matrix, mapped)


def test_distances_of_any_kind_are_not_similarities():
    rng = np.random.default_rng(0)
    X, _ = problem()
    for D in (
        np.zeros((5, 5)),
        np.ones((5, 5)),
        cdist(X, X),
        cdist(X, X) - 5,
        rng.random((30, 30)),
        rng.integers(0, 2, (30, 30)),
        np.array([[5.0, 1.0], [2.0, 7.0]]),  # two samples have one order
        np.array([[3.0, 1.0, 2.0], [2.0, 4.0, 1.0], [5.0, 2.0, 6.0]]),  # by chance
    ):
        assert Neighbors.from_distances(D).n_items == len(D)


def distances(X):
    return {
        "euclidean": cdist(X, X),
        "single": cdist(X, X).astype(np.float32),
        "integers": np.rint(cdist(X, X)).astype(int),
        "rounding": np.triu(cdist(X, X)) + np.tril(cdist(X, X) * (1 + 1e-12)),
    }


@pytest.mark.parametrize("kind", distances(problem()[0]))
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "minkowski"])
def test_distances_used_as_features_are_warned_of(kind, metric):
    X, y = problem()
    D = distances(X)[kind]
    with pytest.warns(UserWarning, match=FEATURES):
        Neighbors.from_data(D, metric)
    with pytest.warns(UserWarning, match=FEATURES):
        complete_cv(D, y, "nn", KFold(3), metric=metric)


def test_every_function_warns_of_distances_used_as_features():
    X, y = problem()
    D = cdist(X, X)
    for ask in (surface, loo_curve):
        with pytest.warns(UserWarning, match=FEATURES):
            ask(D, y)
    with pytest.warns(UserWarning, match=FEATURES):
        monte_carlo_cv(D, y, "nn", KFold(3))
    neighbors = pytest.importorskip("sklearn.neighbors")
    from sklearn.model_selection import KFold as Folds

    from knnccv.sklearn import expected_score

    with pytest.warns(UserWarning, match=FEATURES):
        expected_score(neighbors.KNeighborsClassifier(3), D, y, cv=Folds(3, shuffle=True))


def test_square_data_are_data(recwarn):
    """No warning for square data that are not symmetric, have another diagonal, or negative values."""
    rng = np.random.default_rng(0)
    X, _ = problem()
    lopsided = cdist(X, X) * np.linspace(1, 2, 30)[:, None]
    covariance = X @ X.T
    negative = covariance - np.diag(np.diag(covariance))
    for data in (
        rng.normal(size=(30, 30)),
        lopsided,
        covariance,
        negative,
        np.zeros((4, 4)),
        [[0, 1], [1, 0]],
        cdist(X, X[:20]),
    ):
        Neighbors.from_data(data)
    assert not recwarn.list
