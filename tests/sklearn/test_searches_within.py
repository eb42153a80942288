"""Grid searches in every training set: run by run those of scikit-learn, and their mean."""

from collections import Counter

import numpy as np
import pytest
from bridge import means_by_scikit_learn, recorded
from seeds import of_today, over_seeds
from sklearn import model_selection as ms
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from knnccv.sklearn import KNeighborsClassifierCV, KNeighborsRegressorCV, _searches, expected_score


def KNN(**options):
    return KNeighborsClassifier(algorithm="kd_tree", **options)


def scaled(scaler, rule=None):
    return Pipeline([("scale", scaler), ("near", rule or KNN())])


K = {"near__n_neighbors": [5, 1, 3]}
SCALERS = {"scale": [StandardScaler(), MinMaxScaler(), "passthrough"]}
WEIGHTS = {"near__weights": ["uniform", "distance"], "near__p": [1, 2]}
LEFT = {"cv": ms.LeaveOneOut()}
CASES = [
    (scaled(StandardScaler()), K, 3, None, None),
    (scaled(MinMaxScaler()), {**K, **WEIGHTS}, 4, "f1_macro", None),
    (scaled(RobustScaler()), {**K, **SCALERS}, 3, "accuracy", "f1_macro"),
    (scaled(None), {**K, **SCALERS, "near__weights": ["uniform", lambda d: 1 / (1 + d)]}, 3, None, None),
    (scaled(StandardScaler()), {**K, "near__p": [1, 2]}, ms.StratifiedKFold(2), "roc_auc", "roc_auc"),
    (KNN(), {"n_neighbors": [1, 4, 6], "weights": ["uniform", "distance"]}, 3, "neg_log_loss", "accuracy"),
    (KNN(p=3), {"n_neighbors": [1, 1, 4]}, 2, "f1_macro", None),
    (KNN(), {"metric": ["minkowski", "euclidean"]}, 2, None, None),
    (KNN(), [{"n_neighbors": [1, 2]}, {"weights": ["distance"], "p": [1]}], ms.KFold(3), None, None),
    (scaled(StandardScaler(), KNeighborsRegressor(algorithm="kd_tree")), {**K, **SCALERS}, 3, None, "r2"),
    (
        scaled(StandardScaler(), KNeighborsRegressor(algorithm="kd_tree")),
        {**K, **WEIGHTS},
        ms.KFold(4),
        "neg_mean_absolute_error",
        None,
    ),
    (scaled(StandardScaler()), {"near__n_neighbors": [5, 1], **SCALERS}, LEFT["cv"], None, None),
    (scaled(RobustScaler()), {"near__n_neighbors": [3, 6]}, LEFT["cv"], "f1_macro", "neg_log_loss"),
    (
        scaled(MinMaxScaler(), KNeighborsRegressor(algorithm="kd_tree")),
        {"near__n_neighbors": [4], **WEIGHTS},
        LEFT["cv"],
        "neg_mean_squared_error",
        None,
    ),
    *(  # estimators that scale columns once in every training set
        (KNeighborsClassifierCV([5, 1, 2], scaling=["robust", "standard", None], **LEFT), *[None] * 4),
        (
            KNeighborsClassifierCV([5, 2], scaling=MinMaxScaler(), weights=["distance", "uniform"], **LEFT),
            *[None] * 4,
        ),
        (
            KNeighborsRegressorCV([3, 8], metric="minkowski", p=[1, 2], scaling="standard", **LEFT),
            *[None] * 3,
            "r2",
        ),
    ),
]


def data(seed, regression, n_items=60):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_items) % 3 > 1).astype(int)
    X = rng.normal(size=(n_items, 3)) * [1, 5, 0.2] + 0.9 * y[:, None] * [1, 0, 0.2]
    return X, X[:, 0] + rng.normal(size=n_items) if regression else y


class Columns(TransformerMixin, BaseEstimator):
    """A step that learns nothing, with a parameter that is named as one of the neighbors is."""

    def __init__(self, weights=(1, 1, 1)):
        self.weights = weights

    def fit(self, X, y=None):  # noqa: ARG002
        return self

    def transform(self, X):
        return X * np.array(self.weights)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


OTHERS = {"columns__weights": [(0, 0, 1), (1, 0, 0)], "kneighborsclassifier__n_neighbors": [3, 5]}
OTHER_STEPS = (make_pipeline(Columns(), KNN()), OTHERS, 3, None, None)


@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:One or more of the test scores")
@pytest.mark.parametrize(("rule", "grid", "inner", "inside", "outside"), [*of_today(CASES, 6), OTHER_STEPS])
@over_seeds(1)
def test_single_runs_are_grid_searches_of_scikit_learn(
    monkeypatch, rule, grid, inner, inside, outside, seeds
):
    drawn = recorded(monkeypatch, _searches, "runs_of", lambda runs, _: runs)
    scores = recorded(monkeypatch, _searches, "mean_of_runs", lambda _, given: given[1][0][0])
    search = rule if grid is None else ms.GridSearchCV(rule, grid, scoring=inside, cv=inner)
    last = getattr(rule, "steps", [("", rule)])[-1][1]
    regression = isinstance(last, KNeighborsRegressor | KNeighborsRegressorCV)
    for seed in seeds:
        X, y = data(seed, regression, 48 if inner is not LEFT["cv"] else 24)
        cv = (ms.KFold if regression or seed % 2 else ms.StratifiedKFold)(3, shuffle=True)
        expected_score(search, X, y, cv=cv, scoring=outside, n_runs=2, random_state=seed)
        wanted = means_by_scikit_learn(search, X, y, drawn[-1], outside)
        np.testing.assert_allclose(scores[-1], wanted, rtol=1e-10, err_msg=f"seed {seed}")


@pytest.mark.parametrize(
    "inner", [ms.GroupKFold(3), ms.StratifiedGroupKFold(2, shuffle=True, random_state=0)]
)
def test_inner_folds_of_groups_are_those_of_scikit_learn(monkeypatch, inner):
    drawn = recorded(monkeypatch, _searches, "runs_of", lambda runs, _: runs)
    scores = recorded(monkeypatch, _searches, "mean_of_runs", lambda _, given: given[1][0][0])
    (X, y), groups = data(1, False), np.arange(60) // 2 % 20
    search = ms.GridSearchCV(scaled(StandardScaler()), {"near__n_neighbors": [1, 4]}, cv=inner)
    for outer in (ms.GroupShuffleSplit(test_size=0.3), ms.GroupKFold(3, shuffle=True)):
        asked = {"cv": outer, "groups": groups, "scoring": "f1", "n_runs": 3}
        found = expected_score(search, X, y, **asked)
        wanted = means_by_scikit_learn(search, X, y, drawn[-1], "f1", groups=groups)
        np.testing.assert_allclose(scores[-1], wanted, rtol=1e-10)
        assert expected_score(search, X, y, **asked).score == found.score
    fits = [
        clone(search).fit(X[train], y[train], groups=groups[train])
        for folds in drawn[-1].all_folds()
        for train in (np.flatnonzero(folds != fold) for fold in range(3))
    ]
    (k, number), *_ = Counter(fit.best_params_["near__n_neighbors"] for fit in fits).most_common()
    assert found.explanation.endswith(f"which chooses near__n_neighbors={k} in {number / 9:.0%}")
    low, high = found.confidence_interval(n_halvings=20, groups=groups)
    assert low < found.score < high


def test_the_mean_is_that_of_scikit_learn_and_its_error_honest():
    X, y = data(0, False, 90)
    search = ms.GridSearchCV(scaled(StandardScaler()), {"near__n_neighbors": [1, 9]}, cv=3)
    cv = ms.StratifiedKFold(3, shuffle=True)
    found = [expected_score(search, X, y, cv=cv, n_runs=64, random_state=seed) for seed in range(12)]
    scores, errors = np.array([(one.score, one.std_error) for one in found]).T
    assert 0.6 < np.sqrt((errors**2).mean()) / scores.std(ddof=1) < 1.6
    runs = [
        ms.cross_val_score(search, X, y, cv=ms.StratifiedKFold(3, shuffle=True, random_state=seed)).mean()
        for seed in range(6)
    ]
    assert abs(scores.mean() - np.mean(runs)) < 4 * np.hypot(
        np.std(runs, ddof=1) / 6**0.5, scores.std() / 12**0.5
    )
    finer = expected_score(search, X, y, cv=cv, precision=errors[0] / 1.5)
    assert finer.n_runs > 64
    assert finer.std_error < errors[0] / 1.3
    assert "with a search in every training set" in finer.explanation
