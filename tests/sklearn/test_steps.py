"""Steps of a pipeline must not use labels, nor other samples than the one they transform."""

import math
import re
import warnings

import numpy as np
import pytest
from exact_bridge import ccv_scorer, expected_score
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    StandardScaler,
    maxabs_scale,
    minmax_scale,
)
from sklearn.utils import all_estimators

from knnccv import KFold as Folds
from knnccv import Subsample, complete_cv
from knnccv.hvdm import SupervisedDistanceWarning
from knnccv.sklearn import WholeData


class Pulled(TransformerMixin, BaseEstimator):
    """Weights columns by the distance of the class means, if it gets the classes (as UMAP does)."""

    def fit(self, X, y=None):
        self.weights_ = np.ones(X.shape[1])
        if y is not None:
            first = y == np.unique(y)[0]
            self.weights_ = np.abs(X[first].mean(axis=0) - X[~first].mean(axis=0)) ** 3
        return self

    def transform(self, X):
        return X * self.weights_


class Remembering(Pulled):
    """Moves training samples to their classes, as a supervised embedding does."""

    def fit(self, X, y=None):
        self.X_, self.moved_ = X, np.zeros(len(X))
        if y is not None:
            self.moved_ = 9.0 * (y == np.unique(y)[0])
        return self

    def transform(self, X):
        same = (X[:, None] == self.X_).all(axis=2)
        return np.column_stack([X, same @ self.moved_])


class Embedding(Remembering):
    """The same at random, with a seed."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        rng = np.random.RandomState(self.random_state)
        self.turn_ = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
        return super().fit(X, y)

    def transform(self, X):
        found = super().transform(X)
        return np.column_stack([X @ self.turn_, found[:, -1]])


class Restless(Remembering):
    """The same at random, without a seed."""

    def fit(self, X, y=None):
        super().fit(X, y)
        self.noise_ = np.random.default_rng().normal(scale=0.01, size=X.shape[1])
        return self

    def transform(self, X):
        return super().transform(X) + np.append(self.noise_, 0.0)


class Whispering(Remembering):
    """Looks at the labels in ``fit_transform`` alone, which is what a pipeline calls."""

    def fit(self, X, y=None):  # noqa: ARG002
        return super().fit(X)

    def fit_transform(self, X, y=None):
        return super().fit(X, y).transform(X)


class Worldly(TransformerMixin, BaseEstimator):
    """Uses the global random state, and no labels."""

    def fit(self, X, y=None):  # noqa: ARG002
        self.turn_ = np.random.normal(size=(X.shape[1], 2))  # noqa: NPY002
        return self

    def transform(self, X):
        return X @ self.turn_


class Shy(TransformerMixin, BaseEstimator):
    """Fitted to X alone: ``fit`` has no parameter for labels."""

    def fit(self, X):
        self.scale_ = X.std(axis=0)
        return self

    def transform(self, X):
        return X / self.scale_


LOOKING = {
    "weights": Pulled(),
    "remembers": Remembering(),
    "random": Embedding(),
    "seeded": Embedding(random_state=3),
    "nested": make_pipeline(StandardScaler(), Remembering()),
    "union": FeatureUnion([("scaled", StandardScaler()), ("pulled", Remembering())]),
    "columns": ColumnTransformer([("pulled", Remembering(), [0, 1])], remainder="passthrough"),
}


def noise(seed):
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(60, 101))
    return rng.normal(size=(n_items, 4)), rng.integers(0, 2, n_items)


def search(step, scorer, **options):
    pipeline = make_pipeline(step, KNeighborsClassifier())
    grid = {"kneighborsclassifier__n_neighbors": [1, 3, 5]}
    return GridSearchCV(pipeline, grid, scoring=scorer, cv=WholeData(), **options)


def said(function, *args, **options):
    """Return the message of the refusal, or an empty string."""
    try:
        function(*args, **options)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("step", LOOKING.values(), ids=LOOKING)
def test_steps_that_use_optional_labels_are_refused(step):
    X, y = noise(1)
    pipeline = make_pipeline(step, KNeighborsClassifier(3))
    name = pipeline.steps[0][0]
    for transductive in (True, False):
        scorer = ccv_scorer(Subsample(0.7), transductive=transductive)
        reason = f"'{name}' .*uses the labels" if transductive else "would be fitted to every"
        with pytest.raises(ValueError, match=reason):
            scorer(pipeline.fit(X, y), X, y)
    for method in ("exact", "mc", "auto"):
        with pytest.raises(ValueError, match=f"'{name}' .*uses the labels.*leak"):
            expected_score(
                pipeline, X, y, cv=KFold(3, shuffle=True), transductive=True, method=method, n_repeats=2
            )


@pytest.mark.parametrize("seed", range(10))
def test_noise_is_never_above_chance(seed):
    """Ten data sets with random labels: steps are refused, or score no better than chance."""
    X, y = noise(seed)
    scorer = ccv_scorer(5, transductive=True)
    for step in (Pulled(), Remembering(), Embedding(seed)):
        with pytest.raises(ValueError, match="uses the labels"):
            search(step, scorer, error_score="raise").fit(X, y)
        with pytest.warns(UserWarning, match="uses the labels|non-finite") as seen:
            best = search(step, scorer).fit(X, y).best_score_
        assert math.isnan(best)
        assert any("uses the labels" in str(one.message) for one in seen)
    # The best of three dependent scores of random labels, 4 standard deviations.
    most = max(y.mean(), 1 - y.mean()) + 4 * 0.5 / math.sqrt(len(y))
    with pytest.warns(SupervisedDistanceWarning, match="it is unknown whether"):
        assert search(Restless(), scorer).fit(X, y).best_score_ < most
    with pytest.warns(SupervisedDistanceWarning, match="it is unknown whether the step 'restless'"):
        expected_score(
            make_pipeline(Restless(), KNeighborsClassifier()),
            X,
            y,
            cv=KFold(4, shuffle=True),
            transductive=True,
        )
    whispering = make_pipeline(Whispering(), KNeighborsClassifier())
    assert expected_score(whispering, X, y, cv=KFold(4, shuffle=True), transductive=True).score < most
    with pytest.raises(ValueError, match=r"step 'whispering' .* was not fitted to"):
        search(Whispering(), scorer, error_score="raise").fit(X, y)
    for step in (StandardScaler(), PCA(2, svd_solver="randomized"), Worldly()):
        assert search(step, scorer, error_score="raise").fit(X, y).best_score_ < most


@pytest.mark.parametrize("step", [Remembering(), Restless()], ids=["looks", "cannot be told"])
def test_one_class_has_nothing_to_leak(step):
    X, _ = noise(2)
    y = np.zeros(len(X), int)
    pipeline = make_pipeline(step, KNeighborsClassifier(3))
    found = expected_score(pipeline, X, y, cv=KFold(3, shuffle=True), transductive=True)
    assert found.score == pytest.approx(1)


def test_random_steps_that_ignore_labels_pass():
    X, y = noise(3)
    cv = KFold(3, shuffle=True)
    for step in (Worldly(), PCA(2, svd_solver="randomized"), Shy()):
        pipeline = make_pipeline(step, KNeighborsClassifier(3))
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        assert 0 < expected_score(pipeline, X, y, cv=cv, transductive=True).score < 1
        assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
        if isinstance(step, Shy):
            continue
        np.random.seed(0)  # noqa: NPY002
        alone = clone(step).fit(X).transform(X)
        fitted = pipeline.fit(X, y)
        assert isinstance(step, PCA) or not np.allclose(fitted[0].transform(X), alone)
        found = ccv_scorer(Folds(3), transductive=True)(fitted, X, y)
        assert found == complete_cv(alone, y, "knn", Folds(3), n_neighbors=3).score


def transformers():
    for name, kind in all_estimators(type_filter="transformer"):
        try:
            step = kind()
        except TypeError:  # it takes other estimators
            continue
        if hasattr(step, "transform"):
            yield pytest.param(step, id=name)


@pytest.mark.parametrize("step", list(transformers()))
def test_scikit_learns_transformers(step):
    """Transformers that depend on labels are refused; all others pass without a warning."""
    X, y = noise(4)
    X = np.abs(X) + 0.1
    if "n_components" in step.get_params() and type(step).__name__ != "IncrementalPCA":
        step.set_params(n_components=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = np.random.default_rng(5).permutation(y)
        outcomes = []
        for labels in (None, y, other):
            given = () if labels is None else (labels,)
            np.random.seed(0)  # noqa: NPY002
            try:
                fresh = type(step)(**step.get_params())
                if "random_state" in fresh.get_params():
                    fresh.set_params(random_state=0)
                made = fresh.fit(X, *given).transform(X)
                outcomes.append(np.asarray(made.toarray() if hasattr(made, "toarray") else made))
            except Exception:
                outcomes.append(None)
    alone, with_labels, with_others = outcomes
    if with_labels is None:
        pytest.skip("not for data of this kind")
    ignores = alone is not None and np.allclose(alone, with_labels) and np.allclose(alone, with_others)
    pipeline = make_pipeline(step, KNeighborsClassifier(3))
    cv = KFold(3, shuffle=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", SupervisedDistanceWarning)
        refused = said(expected_score, pipeline, X, y, cv=cv, transductive=True)
    assert ("uses the labels" in refused) == (not ignores)


def wine_like(seed=0, n_items=60):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % 2
    return rng.normal(size=(n_items, 4)) * [1, 5, 0.1, 30] + y[:, None], y


@pytest.mark.parametrize("precomputed", [False, True])
@pytest.mark.parametrize("folds", [5, 2, KFold(2), StratifiedKFold(2)], ids=str)
def test_the_scorer_within_folds_is_refused(folds, precomputed):
    X, y = wine_like()
    model = KNeighborsClassifier(3)
    if precomputed:
        model.set_params(metric="precomputed")
        X = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    scorer = ccv_scorer(Subsample(0.5))
    mending = r"Pass cv=WholeData\(\)"
    with pytest.raises(ValueError, match=mending):
        cross_val_score(model, X, y, cv=folds, scoring=scorer, error_score="raise")
    with pytest.warns(UserWarning, match=mending):
        assert np.isnan(cross_val_score(model, X, y, cv=folds, scoring=scorer)).all()
    for options in ({}, {"return_train_score": True}):
        tuned = GridSearchCV(model, {"n_neighbors": [1, 3]}, scoring=scorer, cv=folds, **options)
        with pytest.raises(ValueError, match=mending):
            tuned.set_params(error_score="raise").fit(X, y)
        with pytest.warns(UserWarning, match="Scoring failed|non-finite") as seen:
            tuned.set_params(error_score=np.nan).fit(X, y)
        assert any(re.search(mending, str(one.message)) for one in seen)
        assert np.isnan(tuned.best_score_)
        assert np.isfinite(tuned.set_params(cv=WholeData(), error_score="raise").fit(X, y).best_score_)


@pytest.mark.parametrize("first", [StandardScaler(), Normalizer(), "passthrough"], ids=str)
def test_pipelines_within_folds_are_refused(first):
    X, y = wine_like()
    y = np.sort(y)
    pipeline = Pipeline([("first", first), ("vote", KNeighborsClassifier(3))])
    scorer = ccv_scorer(Subsample(0.5), transductive=True)
    for folds in (5, 2):
        with pytest.raises(ValueError, match=r"Pass cv=WholeData\(\)"):
            cross_val_score(pipeline, X, y, cv=folds, scoring=scorer, error_score="raise")
    assert np.isfinite(cross_val_score(pipeline, X, y, cv=WholeData(), scoring=scorer))


def test_the_scorer_accepts_permuted_columns():
    X, y = wine_like()
    for first in ("passthrough", StandardScaler()):
        model = Pipeline([("first", first), ("vote", KNeighborsClassifier(3))]).fit(X, y)
        scorer = ccv_scorer(Subsample(0.5), transductive=True)
        found = permutation_importance(model, X, y, scoring=scorer, n_repeats=2, random_state=0)
        assert np.isfinite(found.importances).all()


def test_fitted_steps_have_one_policy():
    X, y = wine_like()
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(X, y)
    cv = KFold(3, shuffle=True)
    reasons = []
    for ask in (
        lambda **options: ccv_scorer(cv, **options)(pipeline, X, y),
        lambda **options: float(expected_score(pipeline, X, y, cv=cv, **options)),
    ):
        with pytest.raises(
            ValueError, match=r"transductive=True.*'standardscaler' would be fitted"
        ) as error:
            ask()
        reasons.append(str(error.value).rpartition("score: ")[2])
        assert (
            ask(transductive=True)
            == complete_cv(
                StandardScaler().fit_transform(X), y, "knn", Folds(3), n_neighbors=3, ties="index"
            ).score
        )
    assert reasons[0] == reasons[1]
    mixing = make_pipeline(FunctionTransformer(minmax_scale), KNeighborsClassifier(3)).fit(X, y)
    with pytest.raises(ValueError, match="depends on the other samples"):
        ccv_scorer(cv)(mixing, X, y)
    with pytest.raises(TypeError, match="transductive must be True or False, got 1"):
        ccv_scorer(cv, transductive=1)
    assert (
        repr(ccv_scorer(transductive=True, method="auto"))
        == "ccv_scorer(cv=5, scoring=None, transductive=True)"
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


@pytest.mark.parametrize("function", MIXING)
@pytest.mark.parametrize("pandas", [False, True])
def test_functions_that_use_other_rows_are_detected(function, pandas):
    caught = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(int(rng.integers(10, 150)), int(rng.integers(1, 6))))
        y = np.arange(len(X)) % 2
        if function is filled:
            X[rng.integers(len(X)), 0] = np.nan
        if pandas and seed < 4:
            X = pytest.importorskip("pandas").DataFrame(X)
        pipeline = make_pipeline(FunctionTransformer(function), KNeighborsClassifier(1))
        refused = said(expected_score, pipeline, X, y, cv=KFold(3, shuffle=True))
        caught += "depends on the other samples" in refused or "of the samples without" in refused
    assert caught == 40


class Sly(TransformerMixin, BaseEstimator):
    """Declares that it needs no fit, but learns."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def fit(self, X, y=None):  # noqa: ARG002
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return np.abs(X - self.mean_)


def test_steps_that_learn_secretly_are_detected():
    X, y = wine_like()
    with pytest.raises(ValueError, match="depends on the other samples"):
        expected_score(make_pipeline(Sly(), KNeighborsClassifier(1)), X, y, cv=KFold(3, shuffle=True))


def by_matrix(X):
    return X @ np.linspace(-1, 1, 5 * X.shape[1], dtype=X.dtype).reshape(X.shape[1], 5)


@pytest.mark.parametrize("n_items", [2, 30, 200])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "step",
    [
        Normalizer(),
        Binarizer(),
        FunctionTransformer(np.abs),
        FunctionTransformer(np.log1p),
        FunctionTransformer(by_matrix),
        FunctionTransformer(),
    ],
    ids=lambda step: str(step).partition(" at 0x")[0],  # workers must agree on it
)
def test_functions_of_single_rows_pass_with_the_same_bits(step, dtype, n_items):
    from knnccv.sklearn._estimators import prepare

    X = np.abs(np.random.default_rng(0).normal(size=(n_items, 3))).astype(dtype)
    y = np.arange(n_items) % 2
    found = prepare(make_pipeline(step, KNeighborsClassifier(1)), X, y, False)
    whole = step.fit(X).transform(X)
    assert found.reason == ""
    assert found.X.dtype == whole.dtype
    assert np.array_equal(found.X, whole)


def test_selecting_steps_are_still_refused():
    X, y = wine_like()
    leaking = make_pipeline(SelectKBest(k=2), KNeighborsClassifier(3)).fit(X, y)
    with pytest.raises(ValueError, match="uses the labels"):
        ccv_scorer(Subsample(0.7), transductive=True)(leaking, X, y)
