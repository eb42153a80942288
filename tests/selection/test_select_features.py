"""Feature selection: against greedy searches with enumerated scores, `complete_cv`, and refusals."""

import pickle
import subprocess
import sys
from fractions import Fraction

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from problems import drawn_folds
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    StratifiedKFold,
    Subsample,
    complete_cv,
    screened_cv,
)
from knnccv.selection import FeatureSelector, _scorer, select_features

RNG = np.random.default_rng
Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def distances(X, columns, metric):
    """Exact distances, or squared ones, over some columns."""
    power = 1 if metric == "manhattan" else 2
    gaps = [[sum(abs(a[c] - b[c]) ** power for c in columns) for b in X] for a in X]
    return [[Fraction(int(gap)) for gap in row] for row in gaps]


def plain_score(X, y, columns, design, metric="euclidean", variant="knn", average="pooled", k=3):
    D = distances(X, columns, metric)
    return naive.complete(D, y, variant, design, average=average, n_neighbors=k)


def plain_forward(score, n_columns, sign=1):
    """The columns in the order of their choice, and the scores, up to the last gain."""
    chosen, scores = [], []
    while len(chosen) < n_columns:
        left = [c for c in range(n_columns) if c not in chosen]
        found = [score([*chosen, c]) for c in left]
        best = max(found, key=lambda value: sign * value)
        if scores and sign * (best - scores[-1]) <= 0:
            break
        chosen.append(left[found.index(best)])
        scores.append(best)
    return chosen, scores


def plain_backward(score, n_columns, sign=1):
    """The columns that stay, and the scores, as long as no removal costs anything."""
    chosen, scores = list(range(n_columns)), []
    last = score(chosen)
    while len(chosen) > 1:
        found = [score([c for c in chosen if c != out]) for out in chosen]
        best = max(found, key=lambda value: sign * value)
        if sign * (last - best) > 0:
            break
        chosen.pop(max(i for i, value in enumerate(found) if value == best))
        scores.append(best)
        last = best
    return chosen, scores


PROBLEMS = [(seed, *case) for seed in range(4) for case in (
    ("knn", "euclidean", "pooled", 2), ("knn", "manhattan", "class", KFold(2)),
    ("knn", "sqeuclidean", "item", Subsample(5)), ("regression", "euclidean", "pooled", KFold(2)),
)]  # fmt: skip


@pytest.mark.parametrize(("seed", "variant", "metric", "average", "cv"), PROBLEMS)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_searches_are_those_of_enumerated_scores(seed, variant, metric, average, cv, direction):
    rng = RNG(seed)
    X = rng.integers(0, 4, (8, 4))
    X[:, seed] += 2 * Y
    y = Y if variant == "knn" else rng.integers(0, 5, 8)
    designs = {2: lambda: naive.stratified_kfold(Y, 2), KFold(2): lambda: naive.kfold(8, 2)}
    design = designs.get(cv, lambda: naive.subsample(8, 5))()
    sign = 1 if variant == "knn" else -1

    def score(columns):
        return plain_score(X, y, columns, design, metric, variant, average)

    search = plain_forward if direction == "forward" else plain_backward
    columns, scores = search(score, 4, sign)
    options = {"metric": metric, "average": average, "n_neighbors": 3, "n_jobs": 1}
    found = select_features(X, y, variant, cv, direction=direction, **options)
    assert found.columns.tolist() == columns
    assert np.abs(found.scores - np.array(scores, dtype=float)).max(initial=0) < 1e-12
    if direction == "backward":
        assert abs(found.start_score - float(score(range(4)))) < 1e-12
    assert abs(found.inner_score - float(score(columns))) < 1e-12


@pytest.mark.parametrize("cv", [5, KFold(4), Subsample(0.6), LeaveOut(1), StratifiedKFold(3)], ids=repr)
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("kind", ["continuous", "rounded", "binary", "regression"])
def test_inner_scores_are_those_of_complete_cv_to_the_last_bit(cv, direction, kind):
    rng = RNG(5)
    X = rng.normal(size=(60, 5))
    y = rng.integers(0, 2 if kind == "binary" else 3, 60)
    X[:, 2] += y
    if kind in ("rounded", "binary"):
        X = np.round(X)
    variant = "regression" if kind == "regression" else "knn"
    if kind == "regression":
        cv = KFold(5) if isinstance(cv, StratifiedKFold | int) else cv
        y = X[:, 1] + rng.normal(size=60)
    found = select_features(X, y, variant, cv, direction=direction, n_features=3, n_jobs=1)
    if direction == "forward":
        sets = [found.order[: i + 1] for i in range(3)]
    else:
        sets = [[c for c in range(5) if c not in found.order[: i + 1]] for i in range(2)]
    expected = [complete_cv(X[:, columns], y, variant, cv, n_jobs=1).score for columns in sets]
    assert found.scores.tolist() == expected
    assert found.inner_score == expected[-1]


def test_blocks_and_threads_do_not_change_a_bit(monkeypatch):
    rng = RNG(0)
    X, y = np.round(rng.normal(size=(40, 7)), 1), rng.integers(0, 3, 40)
    one = select_features(X, y, n_features=4, n_jobs=1)
    monkeypatch.setattr(_scorer, "FAST_BYTES", 8 * 40 * 7)
    monkeypatch.setattr(_scorer, "SCORE_BYTES", 8 * 40 * 2)
    many = select_features(X, y, n_features=4, n_jobs=4)
    assert many.columns.tolist() == one.columns.tolist()
    assert many.scores.tolist() == one.scores.tolist()


def test_numbers_of_columns_and_what_a_column_must_be_worth():
    rng = RNG(1)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 6))
    X[:, 3] += 3 * y
    sizes = {n: len(select_features(X, y, n_features=n, n_jobs=1).columns) for n in (1, 4, 0.5, 0.01)}
    assert sizes == {1: 1, 4: 4, 0.5: 3, 0.01: 1}
    assert len(select_features(X, y, n_features=1.0, n_jobs=1).columns) == 6
    all_but_worthless = select_features(X, y, tol=0.5, n_jobs=1)
    assert all_but_worthless.columns.tolist() == [3]
    backward = select_features(X, y, direction="backward", tol=1.0, n_jobs=1)
    assert len(backward.columns) == 1
    assert len(backward.order) == 5


def test_of_equal_scores_the_first_column_is_added_and_the_last_removed():
    rng = RNG(2)
    y = np.repeat([0, 1], 10)
    one = y + 0.1 * rng.normal(size=20)
    X = np.column_stack([rng.normal(size=20), one, one, one])
    assert select_features(X, y, n_jobs=1).columns.tolist() == [1]
    backward = select_features(X, y, direction="backward", n_jobs=1, n_features=1)
    assert backward.columns.tolist() == [1]


def test_the_honest_score_repeats_the_search_in_every_training_set():
    rng = RNG(3)
    X, y = rng.normal(size=(30, 60)), np.repeat([0, 1], 15)
    options = {"n_neighbors": 3, "n_features": 2, "n_jobs": 1}
    found = select_features(X, y, **options)
    assert found.honest_score is None
    assert "OPTIMISTIC" in repr(found)
    assert "honest accuracy not computed" in repr(found)
    runs = found.honest(n_repeats=3, random_state=4, n_jobs=1)

    def select(X_train, y_train):
        return select_features(X_train, y_train, **options).columns

    same = screened_cv(X, y, select, 5, n_neighbors=3, n_repeats=3, random_state=4, n_jobs=1)
    assert runs.scores.tolist() == same.scores.tolist()
    assert (found.honest_score, found.honest_standard_error) == (runs.score, runs.standard_error)
    assert f"honest accuracy {runs.score:.6g}" in repr(found)
    assert found.inner_score > 0.75 > found.honest_score
    nested = select_features(X, y, nested=3, random_state=4, **options)
    assert nested.honest_score == found.honest_score
    again = pickle.loads(pickle.dumps(found))
    assert again.honest(n_repeats=3, random_state=4, n_jobs=2).scores.tolist() == runs.scores.tolist()


def test_the_honest_error_of_a_regression_is_that_of_plain_loops():
    rng = RNG(6)
    X = rng.normal(size=(23, 5))
    y = X[:, 1] + 0.3 * rng.normal(size=23)
    found = select_features(X, y, "regression", 4, n_neighbors=3, n_features=2, n_jobs=1)
    runs = found.honest(n_repeats=2, random_state=7, n_jobs=1)
    expected = []
    for fold_of in drawn_folds(KFold(4), np.zeros(23), 2, 7):
        errors = []
        for fold in range(4):
            train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            columns = select_features(
                X[train], y[train], "regression", 4, n_neighbors=3, n_features=2, n_jobs=1
            ).columns
            gaps = []
            for x in test:
                squares = ((X[train][:, columns] - X[x, columns]) ** 2).sum(axis=1)
                gaps.append(y[train][np.argsort(squares)[:3]].mean() - y[x])
            errors.append(np.mean(np.square(gaps)))
        expected.append(np.mean(errors))
    assert runs.scores == pytest.approx(expected, rel=1e-12)


def test_the_estimator_selects_what_the_function_does():
    rng = RNG(8)
    X, y = rng.normal(size=(40, 6)), np.repeat(["a", "b"], 20)
    X[:, 4] += 2 * (y == "b")
    selector = FeatureSelector(3, n_features=2, direction="backward", n_jobs=1).fit(X, y)
    assert isinstance(selector, SelectorMixin)
    found = select_features(X, y, n_neighbors=3, n_features=2, direction="backward", n_jobs=1)
    assert selector.columns_.tolist() == found.columns.tolist()
    assert selector.get_support(indices=True).tolist() == sorted(found.columns.tolist())
    assert selector.transform(X).tolist() == X[:, np.sort(found.columns)].tolist()
    assert selector.inner_score_ == found.inner_score
    costs = [[0, 1], [5, 0]]
    priced = FeatureSelector(3, n_features=2, loss=costs, n_jobs=1).fit(X, y)
    assert (
        priced.inner_score_
        == select_features(X, y, n_neighbors=3, n_features=2, loss=costs, n_jobs=1).inner_score
    )
    line = make_pipeline(StandardScaler(), selector)
    assert screened_cv(X, y, line, 4, n_neighbors=3, n_repeats=1, random_state=0).score > 0.5


@pytest.mark.parametrize(
    "estimator", [FeatureSelector(n_jobs=1), FeatureSelector(1, cv=2, direction="backward")]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_the_estimator(estimator):
    found = check_estimator(estimator, on_skip=None, on_fail=None)
    assert [each["check_name"] for each in found if each["status"] == "failed"] == []


@pytest.mark.slow
def test_the_function_loads_no_scikit_learn():
    code = (
        "import sys, knnccv; assert 'knnccv.selection' not in sys.modules; "
        "knnccv.selection.select_features; assert 'sklearn' not in sys.modules; "
        "knnccv.selection.FeatureSelector; assert 'sklearn' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


X12 = RNG(0).normal(size=(12, 3))
Y12 = np.repeat([0, 1], 6)


def with_value(value):
    X = X12.copy()
    X[3, 1] = value
    return X


REFUSED = {
    "nan": ({"X": with_value(np.nan)}, ValueError, r"X\[3, 1\] is nan; every value must be finite"),
    "inf": ({"X": with_value(np.inf)}, ValueError, r"X\[3, 1\] is inf; every value must be finite"),
    "one-column": ({"X": X12[:, :1]}, ValueError, "n_features = 1; a choice of columns needs at least 2"),
    "one-dimension": ({"X": X12[:, 0]}, ValueError, r"X must have shape \(n_items, n_features\)"),
    "one-sample": ({"X": X12[:1]}, ValueError, "at least 2 samples"),
    "sparse": ({"X": sp.csr_array(X12)}, TypeError, r"X is a sparse matrix; pass X.toarray\(\)"),
    "text": ({"X": X12.astype(str)}, TypeError, "X must hold real numbers"),
    "estimator": ({"X": StandardScaler()}, TypeError, "fitted"),
    "y-short": ({"y": Y12[:11]}, ValueError, "X has 12 samples, but y has 11 labels"),
    "y-one-class": ({"y": np.ones(12, int)}, ValueError, "y has 1 class, 1; .*needs at least 2"),
    "y-real": ({"y": X12[:, 0]}, TypeError, "class labels must be whole numbers"),
    "direction": ({"direction": "both"}, ValueError, "direction must be one of 'forward', 'backward'"),
    "direction-number": ({"direction": 1}, ValueError, "direction must be one of"),
    "metric": ({"metric": "cosine"}, ValueError, "sums over the columns, got 'cosine'"),
    "metric-function": ({"metric": max}, ValueError, "metric must be one of 'euclidean'"),
    "n-features-many": ({"n_features": 4}, ValueError, "an integer from 1 to 3, .*got 4"),
    "n-features-0": ({"n_features": 0}, ValueError, "n_features must be 'auto'.*got 0"),
    "n-features-share": ({"n_features": 1.5}, ValueError, r"share in \(0, 1\], got 1.5"),
    "n-features-nan": ({"n_features": np.nan}, ValueError, r"share in \(0, 1\], got nan"),
    "n-features-word": ({"n_features": "best"}, TypeError, "n_features must be 'auto'.*got 'best'"),
    "n-features-bool": ({"n_features": True}, TypeError, "n_features must be 'auto'.*got True"),
    "tol-negative": ({"tol": -0.1}, ValueError, "tol must be finite and not negative, got -0.1"),
    "tol-word": ({"tol": "small"}, TypeError, "tol must be"),
    "k-too-large": ({"n_neighbors": 10}, ValueError, "n_neighbors must be between 1 and 6"),
    "cv-groups": ({"cv": LeaveGroupsOut([0, 1, 2] * 4)}, ValueError, "leaves out groups, which is not"),
    "cv-1": ({"cv": 1}, ValueError, "at least 2|between 2"),
    "average": ({"average": "mean"}, ValueError, "average must be one of"),
    "parameter": ({"neighbors": 3}, (TypeError, ValueError), "neighbors"),
    "variance": (
        {"variant": "regression", "part": "variance", "cv": 5, "n_neighbors": 2},
        ValueError,
        "is no mean over the samples",
    ),
    "nested-negative": ({"nested": -1}, ValueError, "nested must be at least 0|nested must be"),
    "nested-rule": ({"loss": [[0, 1], [2, 0]], "nested": 2}, ValueError, "an honest score exists"),
    "n-jobs": ({"n_jobs": 0}, ValueError, "n_jobs"),
    "magnitudes": (
        {"X": np.column_stack([X12 * 1e-300, X12 * 1e10])},
        ValueError,
        "orders of magnitude",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    arguments, error, message = REFUSED[case]
    given = {"X": X12, "y": Y12, "n_neighbors": 3, "cv": 2, "n_jobs": 1, **arguments}
    with pytest.raises(error, match=message):
        select_features(given.pop("X"), given.pop("y"), **given)
