"""`predictions_on`: scores of the predictions of another classifier or regressor, for `compare`."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._base.formatting import Result
from ...._base.labels import as_targets, encode_labels
from ...._base.typing import Array
from ...._base.validation import as_reals


@dataclass(frozen=True, eq=False, repr=False)
class PredictionScores(Result):
    """Scores of another classifier's or regressor's predictions, for `compare`.

    Attributes
    ----------
    per_item : ndarray of shape (n_items,)
        The mean score of every sample over the splits that test it; NaN where none does.
    n_tested : int64 ndarray of shape (n_items,)
        How many splits test each sample.
    split_scores : ndarray of shape (n_splits,)
        The score of every split.
    std_error : float
        The standard error of their mean that is due to their training sets: from what their variance is
        more than single scores, drawn at random into the test sets, would make it. 0 for one split.
    labels : ndarray of shape (n_items,), or (n_items, n_outputs)
        The label of every sample, or its targets.
    measure : str
        "accuracy", "expected loss" or "mean squared error".
    loss : ndarray of shape (n_classes, n_classes), or None
        The loss matrix.
    name : str
        The name of the classifier.
    train_size : float
        The mean size of the training sets; NaN if one is unknown.

    Examples
    --------
    >>> from knnccv import predictions_on
    >>> predictions_on([([0, 1], [2, 3]), ([2, 3], [0, 1])], [["b", "b"], ["a", "b"]], ["a", "b", "a", "b"])
    <PredictionScores name=other, measure=accuracy, split_scores=[0.5, 1. ], std_error=0>
    """

    _json = "name measure split_scores std_error"

    per_item: Array
    n_tested: Array
    split_scores: Array
    std_error: float
    labels: Array
    measure: str
    loss: Array | None
    name: str
    train_size: float


def predictions_on(
    splits: Iterable[Any], predictions: Any, y: Any, *, loss: Any = None, name: str = "other"
) -> PredictionScores:
    """Score predictions of another classifier or regressor on stated splits, for `compare`.

    Parameters
    ----------
    splits : iterable of (train, test)
        As scikit-learn's ``cv.split(X, y)`` yields them; of the training sets only the sizes are read, and
        None is an unknown one. Random splits must be those of the predictions: keep them in a list.
    predictions : sequence of array
        For each split the predictions for its test set, in its order. Of `cross_val_predict`:
        ``[predicted[test] for _, test in splits]``.
    y : array of shape (n_items,), or (n_items, n_outputs)
        The true labels, or targets.
    loss : ndarray of shape (n_classes, n_classes) or "squared", optional
        A loss matrix (rows true, columns predicted, in sorted label order), or squared errors of real
        targets, summed over outputs. Default: 1 for a right prediction, otherwise 0.
    name : str, default "other"
        What the comparison calls the classifier.

    Returns
    -------
    PredictionScores

    Raises
    ------
    ValueError, TypeError
        If there is no split, a test set does not fit `y`, the number of predictions is wrong, a predicted
        label is none of those in `y`, or the loss does not fit.

    Examples
    --------
    >>> from sklearn.model_selection import RepeatedStratifiedKFold
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from knnccv import StratifiedKFold, compare, complete_cv, predictions_on
    >>> from knnccv.datasets import load_wine
    >>> X, y = load_wine().X, load_wine().y
    >>> splits = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0).split(X, y))
    >>> predicted = [GaussianNB().fit(X[train], y[train]).predict(X[test]) for train, test in splits]
    >>> bayes = predictions_on(splits, predicted, y, name="naive Bayes")
    >>> compare(complete_cv(X, y, "knn", StratifiedKFold(5)), bayes).names[1]
    'naive Bayes'
    """
    if hasattr(splits, "split"):
        msg = f"splits must be pairs (train, test), such as list(cv.split(X, y)), got {splits!r}"
        raise TypeError(msg)
    pairs = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    n_items, tests = len(y), [test for _, test in pairs]
    rows, sizes = np.concatenate(tests or [np.empty(0)]), [test.size for test in tests]
    numbers = rows.ndim == 1 and rows.dtype.kind in "iu" and all(sizes)
    if not numbers or not 0 <= rows.min() <= rows.max() < n_items:
        msg = (
            f"test sets of splits must hold row numbers from 0 to {n_items - 1}, got {reprlib.repr(tests)}"
        )
        raise ValueError(msg)
    given = [np.asarray(one) for one in predictions]
    if [one.shape[:1] for one in given] != [(size,) for size in sizes]:
        got = reprlib.repr([len(one) if one.ndim else "no array" for one in given])
        msg = (
            f"predictions must be arrays as long as the test sets, {reprlib.repr(sizes)}, got {got}; "
            "of one array of cross_val_predict take [y_pred[test] for _, test in splits]"
        )
        raise ValueError(msg)
    trains = [train.nonzero()[0] if train.dtype == bool else train for train, _ in pairs]
    train_size = float(np.mean([train.size if train.ndim else math.nan for train in trains]))
    predicted = np.concatenate(given)
    matrix: Array | None = None
    if isinstance(loss, str) and loss == "squared":
        measure, (true, labels) = "mean squared error", as_targets(y, n_items)
        found, true = as_targets(predicted, len(rows), "_pred")[0], true[rows]
        if found.shape != true.shape:
            msg = f"predictions must have {true.shape[1]} outputs as y, got {found.shape[1]}"
            raise ValueError(msg)
        scores = np.square(found - true).sum(axis=1)
    else:
        truth, seen = encode_labels(y), encode_labels(predicted, test="_pred")
        measure, labels = "accuracy" if loss is None else "expected loss", truth.classes[truth.codes]
        places = {label: code for code, label in enumerate(truth.classes.tolist())}
        strange = [label for label in seen.classes.tolist() if label not in places]
        if strange:
            msg = f"predictions must be labels that y holds, {reprlib.repr([*places])}, got {strange[0]!r}"
            raise ValueError(msg)
        if loss is not None:
            matrix = as_reals("loss", loss, 'loss must be "squared" or a matrix of real numbers')
            if matrix.shape != (len(places), len(places)):
                msg = f"loss must have shape ({len(places)}, {len(places)}), got shape {matrix.shape}"
                raise ValueError(msg)
        codes = np.array([places[label] for label in seen.classes.tolist()])[seen.codes]
        scores = (np.eye(len(places)) if matrix is None else matrix)[truth.codes[rows], codes]
    n_tested = np.bincount(rows, minlength=n_items)
    per_item = np.full(n_items, np.nan)
    np.divide(np.bincount(rows, scores, n_items), n_tested, out=per_item, where=n_tested > 0)
    split_scores = np.add.reduceat(scores, np.cumsum([0, *sizes[:-1]])) / sizes
    excess = 0.0
    if len(sizes) > 1:
        excess = split_scores.var(ddof=1) - scores.var(ddof=1) * np.mean(1 / np.array(sizes))
    std_error = math.sqrt(max(excess, 0.0) / len(sizes))
    return PredictionScores(
        per_item,
        n_tested,
        split_scores,
        std_error,
        labels,
        measure,
        matrix,
        name,
        train_size,
    )
