"""The scikit-learn bridge: small data, odd estimators and splitters, and answers that must be exact."""

import warnings
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier as KNN
from sklearn.pipeline import Pipeline, make_pipeline

import knnccv.sklearn as bridge

exact_score = partial(bridge.expected_score, method="exact")
exact_scorer = partial(bridge.ccv_scorer, method="exact")
FOLDS = KFold(3, shuffle=True)


def data(seed=0, n_items=30, n_classes=2, n_features=3):
    """Classes that overlap, without ties."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_items) % n_classes)
    return rng.normal(size=(n_items, n_features)) + y[:, None] * 0.7, y


X, Y = data()
THREE_CLASSES = data(n_classes=3)


def ask(scoring="accuracy", cv=FOLDS, estimator=None, X=X, y=Y, **more):
    """An exact score of three neighbors, without warnings."""
    with warnings.catch_warnings(action="ignore"):
        return exact_score(KNN(3) if estimator is None else estimator, X, y, cv=cv, scoring=scoring, **more)


def before(step, k=3, **options):
    """A pipeline of a step and a vote."""
    return Pipeline([("first", step), ("vote", KNN(k, **options))])


def recorded(monkeypatch, module, name, read):
    """What `read` finds in every later call of a function, from its answer and its arguments."""
    seen, function = [], getattr(module, name)

    def recording(*args, **options):
        found = function(*args, **options)
        seen.append(read(found, args))
        return found

    monkeypatch.setattr(module, name, recording)
    return seen


def means_by_scikit_learn(estimator, X, y, runs, scoring, **fit):
    """scikit-learn's mean score of every run, on the splits that were drawn; `fit` goes to its fits."""
    splits = [
        (np.flatnonzero((folds != fold) & (folds != -2)), np.flatnonzero(folds == fold))
        for folds in runs.all_folds()
        for fold in range(runs.n_folds)
    ]
    scores = cross_val_score(estimator, X, y, cv=splits, scoring=scoring, params=fit, error_score="raise")
    return scores.reshape(-1, runs.n_folds).mean(axis=1)


class Coin:
    """A splitter that draws random numbers without a `random_state`."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __repr__(self):
        return "Coin()"

    def split(self, X, *_):
        order = self.rng.permutation(len(X))
        yield order[5:], order[:5]

    def get_n_splits(self, *_):
        return 1


class Third(KFold):
    """A user's subclass of KFold, which may do anything."""


class Step(TransformerMixin, BaseEstimator):
    """A step that scikit-learn fits in every training set, and that leaves the samples as they are."""

    def fit(self, X, y=None):  # noqa: ARG002
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


class Pulled(Step):
    """Weights columns by the distance of the class means, if it gets the classes (as UMAP does)."""

    def fit(self, X, y=None):
        self.weights_ = np.ones(X.shape[1])
        if y is not None:
            first = y == np.unique(y)[0]
            self.weights_ = np.abs(X[first].mean(axis=0) - X[~first].mean(axis=0)) ** 3
        return self

    def transform(self, X):
        return X * self.weights_


class Remembering(Step):
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


class Worldly(Step):
    """Uses the global random state, and no labels."""

    def fit(self, X, y=None):  # noqa: ARG002
        self.turn_ = np.random.normal(size=(X.shape[1], 2))  # noqa: NPY002
        return self

    def transform(self, X):
        return X @ self.turn_


class Shy(Step):
    """Fitted to X alone: ``fit`` has no parameter for labels."""

    def fit(self, X):
        self.scale_ = X.std(axis=0)
        return self

    def transform(self, X):
        return X / self.scale_


def knn_after(*steps):
    """A pipeline with the names of scikit-learn."""
    return make_pipeline(*steps, KNN(3))
