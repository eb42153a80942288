"""Weights of columns: against a plain coordinate search with enumerated scores, and refusals."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from knnccv import KFold, complete_cv, screened_cv
from knnccv.selection import FeatureWeights, search_weights

RNG = np.random.default_rng
Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
GRID = (0, 0.5, 1, 2)


def plain_score(X, y, weights, design, metric, variant):
    power = 1 if metric == "manhattan" else 2
    gaps = [
        [sum(abs(w * int(a - b)) ** power for w, a, b in zip(weights, u, v, strict=True)) for v in X]
        for u in X
    ]
    return naive.complete(gaps, y, variant, design, n_neighbors=3)


def plain_search(score, n_columns, sign):
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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("variant", "metric"), [("knn", "euclidean"), ("regression", "manhattan")])
def test_the_search_is_that_of_enumerated_scores(seed, variant, metric):
    rng = RNG(seed)
    X = rng.integers(0, 4, (8, 3))
    y = Y if variant == "knn" else rng.integers(0, 5, 8)
    cv, design = (2, naive.stratified_kfold(Y, 2)) if variant == "knn" else (KFold(2), naive.kfold(8, 2))

    def score(weights):
        return plain_score(X, y, weights, design, metric, variant)

    weights, scores = plain_search(score, 3, 1 if variant == "knn" else -1)
    found = search_weights(X, y, variant, cv, grid=GRID, metric=metric, n_neighbors=3, n_jobs=1)
    assert found.converged
    assert found.weights.tolist() == [float(w) for w in weights]
    assert found.scores.tolist() == pytest.approx([float(value) for value in scores], abs=1e-12)
    assert found.start_score == pytest.approx(float(score([1, 1, 1])), abs=1e-12)
    assert found.inner_score == pytest.approx(float(score(weights)), abs=1e-12)


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


def test_a_search_that_is_cut_short_says_so():
    rng = RNG(5)
    X, y = rng.normal(size=(30, 6)), np.repeat([0, 1], 15)
    found = search_weights(X, y, max_cycles=1, n_jobs=1)
    assert (found.n_cycles, found.converged) == (1, False)
    assert "not converged" in repr(found)
    assert "OPTIMISTIC" in repr(found)


def test_the_honest_score_repeats_the_search_in_every_training_set():
    rng = RNG(3)
    X, y = rng.normal(size=(24, 5)), np.repeat([0, 1], 12)
    options = {"n_neighbors": 3, "max_cycles": 2, "n_jobs": 1}
    found = search_weights(X, y, **options)
    runs = found.honest(n_repeats=3, random_state=4, n_jobs=1)
    estimator = FeatureWeights(**options)
    same = screened_cv(X, y, estimator, 5, n_neighbors=3, n_repeats=3, random_state=4, n_jobs=1)
    assert runs.scores.tolist() == same.scores.tolist()
    assert found.inner_score > found.honest_score
    line = make_pipeline(StandardScaler(), estimator)
    assert 0 < screened_cv(X, y, line, 3, n_neighbors=3, n_repeats=1, random_state=0).score < 1
    error = search_weights(X, X[:, 2], "regression", **options)
    plain = search_weights(X, X[:, 2], "regression", nested=2, **options)
    assert plain.honest_score == error.honest(n_repeats=2, random_state=0).score > error.inner_score


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_the_estimator():
    found = check_estimator(FeatureWeights(n_jobs=1, max_cycles=2), on_skip=None, on_fail=None)
    assert [each["check_name"] for each in found if each["status"] == "failed"] == []


REFUSED = {
    "no-1": ({"grid": (0, 2)}, ValueError, r"with 1 among them, got \(0, 2\)"),
    "negative": ({"grid": (-1, 1)}, ValueError, "not negative"),
    "one": ({"grid": (1,)}, ValueError, "at least 2 weights"),
    "repeated": ({"grid": (1, 2, 2)}, ValueError, "all different"),
    "nan": ({"grid": (1, np.nan)}, ValueError, "must be finite"),
    "word": ({"grid": "fine"}, TypeError, "grid must be a sequence"),
    "number": ({"grid": 4}, ValueError, "grid must be a sequence"),
    "cycles": ({"max_cycles": 0}, ValueError, "max_cycles must be"),
    "tol": ({"tol": np.inf}, ValueError, "tol must be finite and not negative, got inf"),
    "one-column": ({"X": np.zeros((12, 1))}, ValueError, "n_features = 1; a choice"),
    "metric": ({"metric": "chebyshev"}, ValueError, "sums over the columns, got 'chebyshev'"),
    "y": ({"y": [0, 1]}, ValueError, "X has 12 samples, but y has 2 labels"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    arguments, error, message = REFUSED[case]
    given = {"X": RNG(0).normal(size=(12, 3)), "y": np.repeat([0, 1], 6), "n_jobs": 1, **arguments}
    with pytest.raises(error, match=message):
        search_weights(given.pop("X"), given.pop("y"), cv=2, n_neighbors=3, **given)
