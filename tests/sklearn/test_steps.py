"""Steps of a pipeline must not use labels, nor other samples than the one they transform."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from bridge import (
    FOLDS,
    Embedding,
    Pulled,
    Remembering,
    Restless,
    Shy,
    Whispering,
    Worldly,
    X,
    Y,
    before,
    data,
    exact_score,
    exact_scorer,
    knn_after,
)  # fmt: skip
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier as KNN
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
    maxabs_scale,
    minmax_scale,
)  # fmt: skip
from sklearn.utils import all_estimators

from knnccv import KFold as Folds
from knnccv import Subsample, complete_cv
from knnccv.neighbors.hvdm import SupervisedDistanceWarning
from knnccv.sklearn import WholeData, expected_score

LOOKING = [
    Pulled(),
    Remembering(),
    Embedding(),
    Embedding(random_state=3),
    make_pipeline(StandardScaler(), Remembering()),
    FeatureUnion([("scaled", StandardScaler()), ("pulled", Remembering())]),
    ColumnTransformer([("pulled", Remembering(), [0, 1])], remainder="passthrough"),
]


def noise(seed):
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(60, 101))
    return rng.normal(size=(n_items, 4)), rng.integers(0, 2, n_items)


def search(step, scorer, **options):
    return GridSearchCV(
        before(step), {"vote__n_neighbors": [1, 3, 5]}, scoring=scorer, cv=WholeData(), **options
    )


def said(function, *args, **options):
    """The message of the refusal, or an empty string."""
    try:
        function(*args, **options)
    except ValueError as error:
        return str(error)
    return ""


def test_steps_that_use_optional_labels_are_refused():
    points, y = noise(1)
    for step in LOOKING:
        for transductive in (True, False):
            scorer = exact_scorer(Subsample(0.7), transductive=transductive)
            reason = "'first' .*uses the labels" if transductive else "would be fitted to every"
            assert re.search(reason, said(scorer, before(step).fit(points, y), points, y)), step
        for method in ("exact", "sampled", "auto"):
            asked = {"cv": FOLDS, "transductive": True, "method": method, "n_runs": 2}
            assert "uses the labels" in said(expected_score, before(step), points, y, **asked), step


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
)
def test_noise_is_never_above_chance(seed):
    """Random labels: steps are refused, or score no better than chance."""
    points, y = noise(seed)
    scorer = exact_scorer(5, transductive=True)
    assert "uses the labels" in said(search(Embedding(seed), scorer, error_score="raise").fit, points, y)
    with pytest.warns(UserWarning, match="uses the labels|non-finite") as seen:
        assert math.isnan(search(Pulled(), scorer).fit(points, y).best_score_)
    assert any("uses the labels" in str(one.message) for one in seen)
    # The best of three dependent scores of random labels, 4 standard deviations.
    most = max(y.mean(), 1 - y.mean()) + 4 * 0.5 / math.sqrt(len(y))
    with pytest.warns(SupervisedDistanceWarning, match="it is unknown whether the step 'first'"):
        assert search(Restless(), scorer).fit(points, y).best_score_ < most
    asked = {"cv": KFold(4, shuffle=True), "transductive": True}
    with pytest.warns(SupervisedDistanceWarning, match="it is unknown whether the step 'first'"):
        exact_score(before(Restless()), points, y, **asked)
    assert exact_score(before(Whispering()), points, y, **asked).score < most
    assert "was not fitted to" in said(search(Whispering(), scorer, error_score="raise").fit, points, y)
    for step in (StandardScaler(), PCA(2, svd_solver="randomized"), Worldly()):
        assert search(step, scorer, error_score="raise").fit(points, y).best_score_ < most


def test_one_class_has_nothing_to_leak():
    y = np.zeros(len(X), int)
    for step in (Remembering(), Restless()):
        assert exact_score(before(step), X, y, cv=FOLDS, transductive=True).score == pytest.approx(1)


def test_random_steps_that_ignore_labels_pass():
    points, y = noise(3)
    for step in (Worldly(), PCA(2, svd_solver="randomized"), Shy()):
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        assert 0 < exact_score(before(step), points, y, cv=FOLDS, transductive=True).score < 1
        assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
        if isinstance(step, Shy):
            continue
        np.random.seed(0)  # noqa: NPY002
        alone = clone(step).fit(points).transform(points)
        fitted = before(step).fit(points, y)
        assert isinstance(step, PCA) or not np.allclose(fitted[0].transform(points), alone)
        found = exact_scorer(Folds(3), transductive=True)(fitted, points, y)
        assert found == complete_cv(alone, y, "knn", Folds(3), n_neighbors=3).score


def transformers():
    """All transformers of scikit-learn that need no other estimator."""
    for name, kind in all_estimators(type_filter="transformer"):
        try:
            step = kind()
        except TypeError:
            continue
        if hasattr(step, "transform"):
            if "n_components" in step.get_params() and name != "IncrementalPCA":
                step.set_params(n_components=1)
            yield step


def fitted_output(step, points, *labels):
    """The output of a fitted copy with a fixed seed; None if it cannot be fitted."""
    np.random.seed(0)  # noqa: NPY002
    try:
        fresh = clone(step)
        if "random_state" in fresh.get_params():
            fresh.set_params(random_state=0)
        made = fresh.fit(points, *labels).transform(points)
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made)
    except Exception:
        return None


@pytest.mark.slow
def test_scikit_learns_transformers():
    """Transformers that depend on labels are refused; all others pass without a warning."""
    points, y = noise(4)
    points = np.abs(points) + 0.1
    n_looking = n_passing = 0
    for step in transformers():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = fitted_output(step, points)
            seeing = [fitted_output(step, points, y), fitted_output(step, points, np.roll(y, 7))]
            if seeing[0] is None:
                continue  # not for data of this kind
            ignores = alone is not None and all(np.allclose(alone, other) for other in seeing)
            warnings.simplefilter("error", SupervisedDistanceWarning)
            refused = said(exact_score, before(step), points, y, cv=FOLDS, transductive=True)
        assert ("uses the labels" in refused) == (not ignores), step
        n_passing += ignores
        n_looking += not ignores
    assert n_passing > 25
    assert n_looking > 3


SINGLE_ROWS = [
    "passthrough",
    None,
    Normalizer(),
    FunctionTransformer(np.abs),
    FunctionTransformer(lambda X: X @ np.linspace(-1, 1, 5 * X.shape[1]).reshape(X.shape[1], 5)),
    FunctionTransformer(),
    Binarizer(threshold=0.2),
]


@pytest.mark.parametrize("n_items", [2, 12, 70])
@pytest.mark.slow
def test_steps_of_single_rows_are_applied_in_advance(n_items):
    points, y = data(7, n_items)
    for step in SINGLE_ROWS:
        found = exact_score(before(step, 1), points, y, cv=LeaveOneOut())
        seen = points if step is None or step == "passthrough" else step.fit_transform(points)
        assert found.score == exact_score(KNN(1), seen, y, cv=LeaveOneOut()).score
        assert "closed form" in found.explanation
        if not isinstance(step, Binarizer):
            assert found.score == pytest.approx(
                cross_val_score(before(step, 1), points, y, cv=LeaveOneOut()).mean()
            )


def clipped(X):
    return np.clip(X, *np.percentile(X, [2, 98], axis=0))


def filled(X):
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def halves(X):
    if len(X) < 2:
        raise ValueError("two rows at least")
    return maxabs_scale(X)


def by_norm(X):
    return X / np.linalg.norm(X, axis=1).max()


def sorted_rows(X):
    return np.sort(X, axis=0)


def only_in_crowds(X):
    return minmax_scale(X) if len(X) > 9 else X


MIXING = [maxabs_scale, minmax_scale, clipped, filled, halves, by_norm, sorted_rows, only_in_crowds]


def test_functions_that_use_other_rows_are_detected():
    for function in MIXING:
        for seed in range(12):
            rng = np.random.default_rng(seed)
            points = rng.normal(size=(int(rng.integers(10, 150)), int(rng.integers(1, 6))))
            if function is filled:
                points[rng.integers(len(points)), 0] = np.nan
            table = pd.DataFrame(points) if seed < 2 else points
            pipeline = knn_after(FunctionTransformer(function))
            refused = said(exact_score, pipeline, table, np.arange(len(points)) % 2, cv=FOLDS)
            mixing = re.search("depends on the other samples|of the samples without", refused)
            assert mixing, (function, seed)


def test_steps_are_fitted_once_if_transductive():
    points = X * [30, 1, 1]
    for step in (StandardScaler(), PCA(2), VarianceThreshold(), PolynomialFeatures()):
        seen = clone(step).fit_transform(points)
        for cv, design in ((FOLDS, Folds(3)), (KFold(4, shuffle=True), Folds(4))):
            found = exact_score(before(step), points, Y, cv=cv, transductive=True)
            wanted = complete_cv(seen, Y, "knn", design, n_neighbors=3, ties="index").score
            assert found.score == wanted
            assert exact_scorer(cv, transductive=True)(before(step).fit(points, Y), points, Y) == wanted


def test_permuted_columns_are_scored():
    scorer = exact_scorer(Subsample(0.5), transductive=True)
    for step in ("passthrough", StandardScaler()):
        model = before(step).fit(X, Y)
        found = permutation_importance(model, X, Y, scoring=scorer, n_repeats=2, random_state=0)
        assert np.isfinite(found.importances).all()
