"""Surfaces of scikit-learn's scorings: means over random training sets, the same for all K."""

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.metrics import f1_score, get_scorer, make_scorer
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

from knnccv import surface
from knnccv.sklearn import expected_score


def data(n_items=60, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_classes
    return rng.normal(size=(n_items, 2)) + 0.7 * y[:, None], y


def plain(X, y, k, train_sets, scoring):
    """Scikit-learn's scores on the samples outside these training sets."""
    scorer, found = get_scorer(scoring), []
    for train in train_sets:
        test = np.setdiff1d(np.arange(len(y)), train)
        fitted = KNeighborsClassifier(k, algorithm="kd_tree").fit(X[train], y[train])
        found.append(scorer(fitted, X[test], y[test]))
    return np.array(found)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize(
    ("scoring", "n_classes", "stratified"),
    [
        ("f1_macro", 3, False),
        ("roc_auc", 2, True),
        ("roc_auc_ovr", 3, True),
    ],
)
def test_cells_are_the_mean_of_all_training_sets(scoring, n_classes, stratified):
    X, y = data(9, n_classes)
    size = 2 if stratified else 6  # of every class, or in all
    found = surface(X, y, [1, 3], size, scoring=scoring, stratified=stratified)
    pools = [np.flatnonzero(y == c) for c in range(n_classes)] if stratified else [np.arange(9)]
    sets = [np.concatenate(parts) for parts in product(*(combinations(pool, size) for pool in pools))]
    for row, k in enumerate([1, 3]):
        scores, error = plain(X, y, k, sets, scoring), found.std_error[row, 0]
        assert abs(scores.mean() - found.scores[row, 0]) < 4 * error + 1e-12
        # no worse than that of plain runs
        assert error < 1.1 * scores.std() / np.sqrt(5000)
        assert error < 0.01


@pytest.mark.parametrize(("scoring", "n_classes"), [("f1_macro", 3), ("average_precision", 2)])
def test_cells_are_those_of_expected_score(scoring, n_classes):
    X, y = data(n_classes=n_classes)
    found = surface(X, y, [1, 5], [30, 42], scoring=scoring, n_runs=3000, random_state=2)
    for row, k in enumerate([1, 5]):
        for column, size in enumerate([30, 42]):
            cv = ShuffleSplit(train_size=size, test_size=60 - size)
            one = expected_score(
                KNeighborsClassifier(k), X, y, cv=cv, scoring=scoring, n_runs=3000, random_state=2
            )
            error = found.std_error[row, column]
            assert abs(one.score - found.scores[row, column]) < 4 * np.hypot(one.std_error, error)
            assert 0.8 < one.std_error / error < 1.25


def test_accuracy_by_runs_is_the_exact_surface():
    """The exact confusion tables explain it: what is left is rounding."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 6, (60, 1)).astype(float), rng.integers(0, 3, 60)  # ties
    for stratified, sizes in [(False, [0.5, 0.8]), (True, [0.5, 8])]:
        sizes = sizes[:1] if stratified else sizes
        found = surface(X, y, [1, 4], sizes, scoring="accuracy", stratified=stratified, n_runs=512)
        exact = surface(X, y, [1, 4], sizes, stratified=stratified, tol=0)
        np.testing.assert_allclose(found.scores, exact.scores, atol=1e-9)
        assert found.std_error.max() < 1e-9


def test_all_numbers_of_neighbors_see_the_same_runs():
    X, y = data()
    asked = {"train_sizes": [0.5, 0.7], "scoring": "f1_macro", "n_runs": 700}
    several = surface(X, y, [1, 5, 9], **asked, n_jobs=2)
    for row, k in enumerate([1, 5, 9]):
        alone = surface(X, y, k, **asked, n_jobs=1)
        assert alone.scores.tobytes() == several.scores[row : row + 1].tobytes()
        assert alone.std_error.tobytes() == several.std_error[row : row + 1].tobytes()
    assert (surface(X, y, 5, **asked, random_state=1).scores != several.scores[1]).all()


def test_the_surface_says_that_it_is_not_exact():
    X, y = data()
    found = surface(X, y, [1, 5], [0.5], scoring=make_scorer(f1_score, average="macro"), n_runs=600)
    named = surface(X, y, [1, 5], [0.5], scoring="f1_macro", n_runs=600)
    assert found.scores.tobytes() == named.scores.tobytes()
    assert not named.exact
    assert named.std_error.shape == named.scores.shape == (2, 1)
    assert np.isinf(named.error_bound).all()
    assert "means over random training sets" in named._repr_html_()
    assert named.to_frame()["std_error"].tolist() == named.std_error.ravel().tolist()
    exact = surface(X, y, [1], [0.5])
    assert exact.exact
    assert "std_error" not in exact.to_frame()
    k, score = named.best(30)
    assert score == named.scores[[1, 5].index(k), 0]
