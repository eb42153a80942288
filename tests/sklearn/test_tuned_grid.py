"""Grid searches that `tuned_score` serves: what is read, and whole nested runs against scikit-learn."""

import numpy as np
import pytest
from sklearn import model_selection as ms
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC

from knnccv import KFold, Neighbors, StratifiedKFold, tuned_score
from knnccv.runs import given_runs
from knnccv.sklearn._expected_score import tuned_from_grid
from knnccv.tuning import Inner
from knnccv.tuning._nested import nested_runs
from knnccv.tuning._tuned_score import tuned_problem

KS = {"n_neighbors": [5, 1, 3]}
FOLDS = ms.StratifiedKFold(4, shuffle=True)


def search(rule=None, grid=KS, **settings):
    return ms.GridSearchCV(
        KNeighborsClassifier(algorithm="brute") if rule is None else rule, grid, **settings
    )


@pytest.mark.parametrize(
    ("given", "cv", "expected"),
    [
        (search(cv=ms.LeaveOneOut()), FOLDS, ([5, 1, 3], ["euclidean"], Inner(), StratifiedKFold(4))),
        (search(), ms.KFold(3, shuffle=True), ([5, 1, 3], ["euclidean"], Inner(5, True, False), KFold(3))),
        (
            search(KNeighborsClassifier(p=1), [KS], cv=3, scoring="accuracy"),
            ms.RepeatedKFold(n_splits=7),
            ([5, 1, 3], ["manhattan"], Inner(3, True, False), KFold(7)),
        ),
        (
            search(grid={"metric": ["cosine", "minkowski"]}, cv=ms.KFold(2, shuffle=True, random_state=0)),
            ms.RepeatedStratifiedKFold(n_splits=3, n_repeats=9),
            ([5], ["cosine", "euclidean"], Inner(2, False, True), StratifiedKFold(3)),
        ),
    ],
)
def test_what_a_grid_search_asks(given, cv, expected):
    assert tuned_from_grid(given, cv) == dict(
        zip(["n_neighbors", "metric", "inner", "cv"], expected, strict=True)
    )


@pytest.mark.parametrize(
    ("given", "cv"),
    [
        (KNeighborsClassifier(), FOLDS),
        (search(SVC(), {"C": [1, 2]}), FOLDS),
        (search(KNeighborsRegressor()), FOLDS),
        (search(KNeighborsClassifier(weights="distance")), FOLDS),
        (search(grid={"n_neighbors": [1, 2], "weights": ["uniform", "distance"]}), FOLDS),
        (search(grid=[KS, {"n_neighbors": [9]}]), FOLDS),
        (search(grid={"n_neighbors": [1, 1]}), FOLDS),
        (search(grid={"metric": ["minkowski", "euclidean"]}), FOLDS),
        (search(KNeighborsClassifier(p=3)), FOLDS),
        (search(KNeighborsClassifier(metric="mahalanobis")), FOLDS),
        (search(KNeighborsClassifier(metric="precomputed")), FOLDS),
        (search(scoring="f1"), FOLDS),
        (search(refit=False), FOLDS),
        (search(cv=ms.ShuffleSplit()), FOLDS),
        (search(cv=[([0], [1])]), FOLDS),
        (search(), ms.StratifiedKFold(4)),
        (search(), 5),
        (search(), ms.ShuffleSplit()),
        (ms.RandomizedSearchCV(KNeighborsClassifier(), KS), FOLDS),
    ],
)
def test_what_is_not_served(given, cv):
    assert tuned_from_grid(given, cv) is None


@pytest.mark.parametrize("seed", range(4))
def test_whole_runs_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(54) % 3)
    X = rng.normal(size=(54, 2)) + 0.5 * y[:, None]
    asked = search(grid={"n_neighbors": [4, 1, 7], "metric": ["euclidean", "manhattan"]}, cv=3)
    arguments = tuned_from_grid(asked, FOLDS)
    splits = [list(ms.StratifiedKFold(4, shuffle=True, random_state=s).split(X, y)) for s in range(2)]
    codes = np.empty((2, len(y)), np.int64)
    for run, folds in enumerate(splits):
        for fold, (_, test) in enumerate(folds):
            codes[run, test] = fold
    problem = tuned_problem(y, len(y), 7, arguments["cv"], arguments["inner"])
    runs = given_runs([(row, np.zeros(4, np.int64)) for row in codes])
    sources = [Neighbors.from_data(X, metric) for metric in arguments["metric"]]
    found = nested_runs(problem, sources, arguments["n_neighbors"], arguments["inner"], runs, 1)
    scores = np.take_along_axis(found.outer, found.chosen[..., None], axis=2)[..., 0]
    for run, folds in enumerate(splits):
        theirs = ms.cross_validate(asked, X, y, cv=folds, return_estimator=True)
        np.testing.assert_array_equal(scores[run], theirs["test_score"])
        np.testing.assert_array_equal(found.best[run], [one.best_score_ for one in theirs["estimator"]])
        np.testing.assert_array_equal(found.chosen[run], [one.best_index_ for one in theirs["estimator"]])
    assert 0 < tuned_score(X, y, n_runs=100, **arguments).score < 1
