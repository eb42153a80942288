"""Searches for columns and weights: greedy searches with enumerated scores, `complete_cv`, scikit-learn."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from seeds import over_seeds
from sklearn.base import is_regressor
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import KFold as ShuffledKFold
from sklearn.model_selection import StratifiedKFold as ShuffledStratifiedKFold
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from knnccv import KFold, LeaveOut, StratifiedKFold, Subsample, complete_cv
from knnccv.selection import Condense, FeatureSelector, FeatureWeights, search_weights, select_features
from knnccv.sklearn import expected_score

RNG = np.random.default_rng
Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
GRID = (0, 0.5, 1, 2)
HALVES = naive.stratified_kfold(Y, 2)
CASES = [
    ("knn", "euclidean", "pooled", 2, HALVES),
    ("knn", "manhattan", "class", KFold(2), naive.kfold(8, 2)),
    ("knn", "sqeuclidean", "item", Subsample(5), naive.subsample(8, 5)),
    ("regression", "euclidean", "pooled", KFold(2), naive.kfold(8, 2)),
]


def plain_score(X, y, weights, design, metric, variant, average):
    """The score of three neighbors by weighted columns, in exact distances or squared ones."""
    power = 1 if metric == "manhattan" else 2
    gaps = [
        [sum(abs(w * int(a - b)) ** power for w, a, b in zip(weights, u, v, strict=True)) for v in X]
        for u in X
    ]
    return naive.complete(gaps, y, variant, design, average=average, n_neighbors=3)


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


def plain_weights(score, n_columns, sign):
    grid = [Fraction(w) for w in GRID]
    weights, scores = [Fraction(1)] * n_columns, []
    last = score(weights)
    changed = True
    while changed:
        changed = False
        for c in range(n_columns):
            tried = [[*weights[:c], w, *weights[c + 1 :]] for w in grid if w != weights[c]]
            tried = [one for one in tried if any(one)]
            found = [score(one) for one in tried]
            best = max(found, key=lambda value: sign * value)
            if sign * (best - last) > 0:
                weights, last = tried[found.index(best)], best
                scores.append(best)
                changed = True
    return weights, scores


def problem(seed, n_columns, variant):
    rng = RNG(seed)
    X = rng.integers(0, 4, (8, n_columns))
    X[:, seed % n_columns] += 2 * Y
    return X, Y if variant == "knn" else rng.integers(0, 5, 8), 1 if variant == "knn" else -1


@over_seeds(2)
def test_searches_are_those_of_enumerated_scores(seeds):
    for seed in seeds:
        for variant, metric, average, cv, design in CASES[seed % 2 :: 2]:
            X, y, sign = problem(seed, 4, variant)

            def score(columns, given=(X, y), how=(design, metric, variant, average)):
                return plain_score(*given, [int(c in columns) for c in range(4)], *how)

            options = {"metric": metric, "average": average, "n_neighbors": 3, "n_jobs": 1}
            for direction, search in (("forward", plain_forward), ("backward", plain_backward)):
                where = f"seed {seed}: {direction} {variant} {cv} {options}"
                columns, scores = search(score, 4, sign)
                found = select_features(X, y, variant, cv, direction=direction, **options)
                assert found.columns.tolist() == columns, where
                assert found.scores == pytest.approx(np.array(scores, float), abs=1e-12), where
                if direction == "backward":
                    assert abs(found.start_score - float(score(range(4)))) < 1e-12, where
                assert abs(found.inner_score - float(score(columns))) < 1e-12, where


@over_seeds(2)
def test_weights_are_those_of_enumerated_scores(seeds):
    for seed in seeds:
        for variant, metric, average, cv, design in CASES[seed % 2 :: 2]:
            X, y, sign = problem(seed, 3, variant)

            def score(weights, given=(X, y), how=(design, metric, variant, average)):
                return plain_score(*given, weights, *how)

            where = f"seed {seed}: {variant} {metric} {average} {cv}"
            weights, scores = plain_weights(score, 3, sign)
            options = {"metric": metric, "average": average, "n_neighbors": 3, "n_jobs": 1}
            found = search_weights(X, y, variant, cv, grid=GRID, **options)
            assert found.converged, where
            assert found.weights.tolist() == [float(w) for w in weights], where
            assert found.scores == pytest.approx(np.array(scores, float), abs=1e-12), where
            assert found.start_score == pytest.approx(float(score([1, 1, 1])), abs=1e-12), where
            assert found.inner_score == pytest.approx(float(score(weights)), abs=1e-12), where


@pytest.mark.parametrize("kind", ["continuous", "rounded", "binary", "regression"])
def test_inner_scores_are_those_of_complete_cv_to_the_last_bit(kind):
    rng = RNG(5)
    X = rng.normal(size=(60, 5))
    y = rng.integers(0, 2 if kind == "binary" else 3, 60)
    X[:, 2] += y
    variant, designs = "knn", [5, KFold(4), Subsample(0.6), LeaveOut(1), StratifiedKFold(3)]
    if kind in ("rounded", "binary"):
        X = np.round(X)
    elif kind == "regression":
        variant, designs = "regression", [KFold(5), *designs[1:4]]
        y = X[:, 1] + rng.normal(size=60)
    for cv in designs:
        for direction in ("forward", "backward"):
            found = select_features(X, y, variant, cv, direction=direction, n_features=3, n_jobs=1)
            if direction == "forward":
                sets = [found.order[: i + 1] for i in range(3)]
            else:
                sets = [[c for c in range(5) if c not in found.order[: i + 1]] for i in range(2)]
            expected = [complete_cv(X[:, columns], y, variant, cv, n_jobs=1).score for columns in sets]
            assert found.scores.tolist() == expected
            assert found.inner_score == expected[-1]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("grid", [(0, 0.25, 0.5, 1, 2, 4), (0.3, 1, 1.7)])
def test_the_inner_score_is_that_of_the_weighted_columns_to_the_last_bit(metric, grid):
    rng = RNG(4)
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 5))
    X[:, 1] += y
    X[:, 3] = np.round(X[:, 3])
    model = FeatureWeights(metric=metric, grid=grid, n_jobs=1).fit(X, y)
    expected = complete_cv(model.transform(X), y, "knn", 5, metric=metric, n_jobs=1).score
    assert model.inner_score_ == model.result_.inner_score == expected
    assert model.inner_score_ >= model.result_.start_score
    assert np.isin(model.weights_, grid).all()
    assert model.transform(X).tolist() == (X * model.weights_).tolist()


def test_some_weight_stays_above_zero():
    """On lines of alternating classes the nearest is nearly always wrong: all weights 0 would be better."""
    line = np.arange(16.0)
    X, y = np.column_stack([line, 3 * line % 16]), line % 2
    assert search_weights(X, y, "nn", KFold(8), grid=(0, 1)).weights.any()


REAL, ONCE = {"variant": "regression"}, {"n_jobs": 1, "max_cycles": 1}
PROCEDURES = {
    "columns": [FeatureSelector(3, n_features=2, n_jobs=1), KNeighborsClassifier(3)],
    "weights": [FeatureWeights(3, **ONCE), KNeighborsClassifier(3)],
    "columns of a regression": [FeatureSelector(3, n_jobs=1, **REAL), KNeighborsRegressor(3)],
    "weights of a regression": [FeatureWeights(3, **ONCE, **REAL), KNeighborsRegressor(3)],
    "prototypes": [Condense(n_jobs=1)],
}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(steps, id=name, marks=[pytest.mark.slow] * (name == "weights of a regression"))
        for name, steps in PROCEDURES.items()
    ],
)
def test_expected_score_repeats_the_search_in_every_training_set(steps):
    """Of noise the inner score is good, and the honest one that of chance; the runs are scikit-learn's."""
    X, y, line = RNG(3).normal(size=(40, 15)), np.arange(40) % 2, make_pipeline(*steps)
    folds, scoring, chance = ShuffledStratifiedKFold, "accuracy", 0.5
    if is_regressor(line):
        y = RNG(4).normal(size=40)
        folds, scoring, chance = ShuffledKFold, "neg_mean_squared_error", -y.var() * 4 / 3
    asked = {"scoring": scoring, "n_runs": 2, "random_state": 4}
    found = expected_score(line, X, y, cv=folds(4, shuffle=True), **asked)
    rng, scores = RNG(4), []
    for _ in range(2):
        cv = folds(4, shuffle=True, random_state=int(rng.integers(2**31 - 1)))
        scores.append(cross_val_score(line, X, y, cv=cv, scoring=scoring).mean())
    assert found.score == pytest.approx(np.mean(scores), rel=1e-12)
    assert found.std_error >= np.std(scores, ddof=1) / np.sqrt(2)
    told = line.fit(X, y)[0].result_.to_dict()
    inner = told.get("inner_score", told.get("score")) * (-1 if is_regressor(line) else 1)
    assert inner - 0.15 > chance == pytest.approx(found.score, rel=0.25)


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
    options = {"n_features": 2, "loss": [[0, 1], [5, 0]], "n_jobs": 1}
    priced = FeatureSelector(3, **options).fit(X, y)
    assert priced.inner_score_ == select_features(X, y, n_neighbors=3, **options).inner_score


@pytest.mark.parametrize(
    "estimator",
    [
        FeatureSelector(1, cv=2, direction="backward"),
        FeatureSelector(n_jobs=1),
        FeatureWeights(n_jobs=1, max_cycles=2),
        pytest.param(Condense(n_jobs=1), marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_the_estimator(estimator):
    found = check_estimator(estimator, on_skip=None, on_fail=None)
    assert [each["check_name"] for each in found if each["status"] == "failed"] == []
