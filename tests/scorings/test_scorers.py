"""Scorings of tables: each equals scikit-learn's own scorer on the predictions that the tables count."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from knnccv.scorings import table_scorer

TWO = [[0, 1], [-1, 1], [1, 2], ["bad", "good"]]
SEVERAL = [[0, 1, 2], [-3, 0, 5, 7], ["a", "b", "c", "d", "e"]]


class Known(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions are known; X are numbers of samples."""

    def __init__(self, classes, votes):
        self.classes_, self.votes = np.array(classes), votes

    def fit(self, X, y):  # noqa: ARG002
        return self

    def predict_proba(self, X):
        return self.votes[X] / self.votes.sum(axis=1, keepdims=True)[X]

    def predict(self, X):
        return self.classes_[self.votes[X].argmax(axis=1)]


def problem(classes, seed, k=5):
    """Codes and votes (n, C) of samples, and the runs: the tested samples of every fold."""
    rng = np.random.default_rng(seed)
    n_classes, n = len(classes), 60
    shares = rng.dirichlet(np.full(n_classes, 2.0))
    codes = np.r_[np.arange(n_classes), rng.choice(n_classes, n - n_classes, p=shares)]
    votes = np.stack([rng.multinomial(k, (np.eye(n_classes)[c] + shares) / 2) for c in codes])
    runs = [np.array_split(rng.permutation(n), [2, 9, 20, 22]) for _ in range(6)]
    return codes, votes, runs


def tables_of(codes, votes, runs, needs):
    n_classes, k = votes.shape[1], votes[0].sum()
    shape = (len(runs), len(runs[0]), n_classes, n_classes)
    tables = np.zeros(shape if needs == "confusion" else (*shape, k + 1), np.int32)
    for r, folds in enumerate(runs):
        for f, tested in enumerate(folds):
            for i in tested:
                if needs == "confusion":
                    tables[r, f, codes[i], votes[i].argmax()] += 1
                else:
                    for c in range(n_classes):
                        tables[r, f, codes[i], c, votes[i, c]] += 1
    return tables


def expected_scores(scorer, classes, codes, votes, runs):
    """Scikit-learn's score of every fold; NaN where it raises an error, as cross_val_score has it."""
    model, y = Known(classes, votes), np.array(classes)[codes]
    scores = np.full((len(runs), len(runs[0])), np.nan)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for r, folds in enumerate(runs):
            for f, tested in enumerate(folds):
                try:
                    scores[r, f] = scorer(model, tested, y[tested])
                except ValueError:
                    pass
    return scores


def check(scoring, classes, seed):
    scorer = metrics.accuracy_score if scoring is None else get_scorer(scoring)
    codes, votes, runs = problem(classes, seed)
    found = table_scorer(scoring, classes)
    tables = tables_of(codes, votes, runs, found.needs)
    expected = expected_scores(scorer, classes, codes, votes, runs)
    assert np.isfinite(expected).any()
    np.testing.assert_allclose(found(tables), expected, rtol=1e-10, atol=1e-12)
    return found


def names_for(classes):
    """The names of all scorings that scikit-learn's scorer computes for the whole sample."""
    codes, votes, runs = problem(classes, 0)
    everything = [[np.arange(len(codes))] for _ in range(1)]
    return [
        name
        for name in get_scorer_names()
        if np.isfinite(expected_scores_or_nan(get_scorer(name), classes, codes, votes, everything)).all()
    ]


def expected_scores_or_nan(scorer, *rest):
    try:
        return expected_scores(scorer, *rest)
    except TypeError:  # numbers of labels that are words
        return np.array([[np.nan]])


@pytest.mark.parametrize("classes", [*TWO, *SEVERAL], ids=str)
def test_every_name_is_as_in_scikit_learn(classes):
    names = names_for(classes)
    assert len(names) > 20
    for name in names:
        if name == "top_k_accuracy" and len(classes) > 2:
            assert table_scorer(name, classes) is None
        else:
            check(name, classes, 1)
