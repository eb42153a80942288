"""Twins, whose steps are fitted once, as control variates; scorings that share runs; scaled test sets."""

import numpy as np
import pytest
from bridge import Step, recorded
from seeds import of_today
from sklearn import model_selection as ms
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.metrics import check_scoring
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from knnccv.sklearn import _by_runs as by_runs
from knnccv.sklearn import _twins as twins
from knnccv.sklearn import expected_score

FOLDS = ms.StratifiedKFold(4, shuffle=True)


def KNN(k, **options):
    return KNeighborsClassifier(k, algorithm="kd_tree", **options)


def data(n_items=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_items) % 2)
    return rng.normal(size=(n_items, 4)) * [1.0, 4.0, 0.3, 1.0] + 0.6 * y[:, None], y


class Counting(TransformerMixin, BaseEstimator):
    """Changes nothing; counts its fits."""

    fits = 0

    def fit(self, _X, _y=None):
        type(self).fits += 1
        return self

    def transform(self, X):
        return X


NOTHING = [
    *((KNN(5), scoring, FOLDS) for scoring in ("f1", "roc_auc", "neg_log_loss", None)),
    *((KNN(5, weights="distance"), scoring, FOLDS) for scoring in ("f1", "roc_auc", "neg_log_loss", None)),
    (KNeighborsRegressor(3), "neg_mean_squared_error", ms.KFold(4, shuffle=True)),
    (KNN(4, weights="distance"), None, ms.ShuffleSplit(3, test_size=0.3, train_size=50)),
]


@pytest.mark.parametrize(("rule", "scoring", "cv"), of_today(NOTHING, 5))
def test_steps_that_learn_nothing_leave_only_the_error_of_the_twin(rule, scoring, cv):
    X, y = data()
    y = X[:, 0] + y if isinstance(rule, KNeighborsRegressor) else y
    asked = {"cv": cv, "scoring": scoring, "n_runs": 12}
    found = expected_score(make_pipeline(Step(), rule), X, y, **asked)
    once = expected_score(rule, X, y, cv=cv, scoring=scoring)
    assert abs(found.score - once.score) < 4 * np.hypot(found.std_error, once.std_error) + 1e-9
    plain = expected_score(make_pipeline(Step(), rule), X, y, method="sampled", **asked)
    gain = 1.0 if rule.weights == "distance" and scoring else 0.8
    assert found.std_error < gain * plain.std_error
    assert ("score of steps that are fitted once" in found.explanation) == (found.score != plain.score)


HONEST = [
    (rule, scoring)
    for rule in (KNN(5), KNN(4, weights="distance"))
    for scoring in (None, "f1", "roc_auc", "neg_log_loss")
]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "scoring"), of_today(HONEST, 3))
def test_twins_are_honest(rule, scoring):
    """Of runs of scikit-learn: the error over seeds, and the mean of many plain runs."""
    X, y = data()
    asked = {
        "estimator": make_pipeline(StandardScaler(), PCA(2), rule),
        "X": X,
        "y": y,
        "cv": FOLDS,
        "scoring": scoring,
    }
    answers = [expected_score(n_runs=20, random_state=seed, **asked) for seed in range(20)]
    scores = np.array([each.score for each in answers])
    stated = np.sqrt(np.mean([each.std_error**2 for each in answers]))
    assert 0.7 < stated / scores.std(ddof=1) < 2.5
    plain = expected_score(n_runs=75, method="sampled", random_state=99, **asked)
    error = np.hypot(scores.std(ddof=1) / np.sqrt(20), plain.std_error)
    assert abs(scores.mean() - plain.score) < 4 * error


def with_and_without_twin(monkeypatch, X, y, weights="uniform", **asked):
    """Scores of scaled columns by the same runs, with the twin that is their control and without it."""
    pipeline = make_pipeline(StandardScaler(), KNN(5, weights=weights))
    found = expected_score(pipeline, X, y, cv=FOLDS, **asked)
    monkeypatch.setattr(twins, "_twin", lambda *_: None)
    return found, expected_score(pipeline, X, y, cv=FOLDS, **asked)


@pytest.mark.parametrize(
    ("scoring", "gain"), [("roc_auc", 3.0), ("neg_log_loss", 3.0), ("average_precision", 2.0)]
)
def test_scaled_runs_have_a_twin_where_the_confusion_table_says_little(monkeypatch, scoring, gain):
    found, without = with_and_without_twin(monkeypatch, *data(300), scoring=scoring, n_runs=128)
    assert without.std_error**2 > gain * found.std_error**2
    assert abs(found.score - without.score) < 4 * np.hypot(found.std_error, without.std_error)


def test_twins_break_ties_as_their_expectation_does(monkeypatch):
    """Integers, whose equal distances rounding breaks: in other ways where columns are shifted."""
    rng = np.random.default_rng(8)
    X = rng.integers(0, 4, (100, 4)).astype(float)
    y = (X.sum(axis=1) + 2 * rng.normal(size=100) > 6).astype(int)
    found, without = with_and_without_twin(monkeypatch, X, y, scoring="roc_auc", n_runs=4000)
    assert found.std_error < without.std_error
    assert abs(found.score - without.score) < 2.5 * without.std_error  # of the same runs


def test_scorings_share_the_runs_and_fits_of_scikit_learn():
    X, y = data(60)
    pipeline = make_pipeline(PCA(2), Counting(), KNN(3))
    asked = {"cv": FOLDS, "n_runs": 5, "random_state": 1}
    names, answers, fits = ["f1", "roc_auc", "neg_brier_score"], [], []
    for scoring in (names, *names):
        Counting.fits = 0
        answers.append(expected_score(pipeline, X, y, scoring=scoring, **asked))
        fits.append(Counting.fits)
    assert fits[0] < 1.5 * fits[1]  # each twin fits once or twice
    for one, alone in zip(answers[0].values(), answers[1:], strict=True):
        assert (one.score, one.std_error) == pytest.approx((alone.score, alone.std_error), rel=1e-12)


@pytest.mark.parametrize(
    ("estimator", "precision"),
    [
        (make_pipeline(StandardScaler(), KNN(3)), 0.003),
        (ms.GridSearchCV(KNN(3), {"n_neighbors": [1, 5], "weights": ["uniform", "distance"]}), 0.003),
        pytest.param(make_pipeline(PCA(2), KNN(3)), 0.015, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_the_largest_need_counts(estimator, precision):
    X, y = data(60)
    names = ["f1", "roc_auc", "average_precision"]
    asked = {"cv": FOLDS, "precision": precision}
    found = expected_score(estimator, X, y, scoring=names, **asked)
    needs = [expected_score(estimator, X, y, scoring=name, **asked).n_runs for name in names]
    numbers = {one.n_runs for one in found.values()}
    assert len(numbers) == 1
    assert 0.6 * max(needs) < numbers.pop() < 1.6 * max(needs)


WITH_TEST_SET = [
    (scaler, rule, scoring, cv)
    for scaler in (StandardScaler(), MinMaxScaler(), RobustScaler())
    for rule, scoring in [
        (KNN(5), None),
        (KNN(5, p=1), "f1"),
        (KNN(4, weights="distance"), "roc_auc"),
        (KNeighborsRegressor(3), "r2"),
        (KNeighborsRegressor(3, weights="distance"), "neg_mean_absolute_error"),
    ]
    for cv in (FOLDS, ms.ShuffleSplit(3, train_size=30, test_size=20), ms.GroupKFold(4, shuffle=True))
]  # fmt: skip


def test_scalers_are_fitted_within_the_pool_of_a_test_set(monkeypatch):
    """Run by run as scikit-learn, on the training sets that were drawn."""
    drawn = recorded(monkeypatch, by_runs, "runs_of", lambda runs, _: runs)
    means = recorded(monkeypatch, by_runs, "mean_of_runs", lambda _, given: given[1])
    X, y = data(100)
    for scaler, rule, scoring, splitter in of_today(WITH_TEST_SET, 9):
        regression = isinstance(rule, KNeighborsRegressor)
        target, cv = (X[:, 0], ms.KFold(4, shuffle=True)) if regression else (y, splitter)
        groups = np.arange(60) // 3 if isinstance(cv, ms.GroupKFold) else None
        pipeline, test = make_pipeline(scaler, rule), (X[60:] + 0.3, target[60:])
        asked = {"cv": cv, "scoring": scoring, "groups": groups, "n_runs": 3}
        expected_score(pipeline, X[:60], target[:60], test=test, **asked)
        scores = np.concatenate([values for values, _ in means[-1]])
        for score, folds in zip(scores, drawn[-1].all_folds(), strict=True):
            train = np.flatnonzero(folds[40:] == -1)
            wanted = check_scoring(pipeline, scoring)(pipeline.fit(X[train], target[train]), *test)
            assert score == pytest.approx(wanted, rel=1e-10), (scaler, rule, scoring, cv)


@pytest.mark.parametrize(
    ("scoring", "weights"),
    [
        *(("roc_auc", "uniform"), ("neg_log_loss", "distance")),
        pytest.param("roc_auc", "distance", marks=pytest.mark.slow),
        pytest.param("neg_log_loss", "uniform", marks=pytest.mark.slow),
    ],
)
def test_many_runs_are_not_held_up_by_the_error_of_a_twin(monkeypatch, scoring, weights):
    asked = {"weights": weights, "scoring": scoring, "n_runs": 4000}
    found, without = with_and_without_twin(monkeypatch, *data(40), **asked)
    assert found.std_error <= 1.001 * without.std_error


def test_twins_that_are_not_used_are_not_named():
    X, y = data(80)
    groups = np.repeat(np.arange(20), [2, 6] * 10)
    asked = {
        "cv": ms.GroupShuffleSplit(1, test_size=0.3),
        "groups": groups,
        "average": "pooled",
        "n_runs": 12,
    }
    found = expected_score(make_pipeline(PCA(2), KNN(5)), X, y, **asked)
    plain = expected_score(make_pipeline(PCA(2), KNN(5)), X, y, method="sampled", **asked)
    assert (found.score, found.std_error) == (plain.score, plain.std_error)
    assert "corrected" not in found.explanation


def test_scorers_of_other_people_do_not_hinder_the_others():
    X, y = data(60)
    scoring = {"own": lambda model, X, y: model.score(X, y), "f1": "f1", "roc_auc": "roc_auc"}
    found = expected_score(make_pipeline(StandardScaler(), KNN(3)), X, y, cv=FOLDS, scoring=scoring)
    assert "scikit-learn" in found["own"].explanation
    assert found["f1"].n_runs == found["roc_auc"].n_runs >= 64
