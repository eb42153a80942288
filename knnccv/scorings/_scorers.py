"""Scikit-learn's scorings as functions of tables of counts: `table_scorer` and `TableScorer`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._typing import Array
from ._forms import Form, confusion_form, votes_form

PREDICTS = "confusion"
MEDIANS = ("median_absolute_error", "d2_absolute_error_score", "d2_pinball_score")
"""Metrics whose weighted form is another one in some versions of scikit-learn."""
_NEEDS: dict[str, Literal["confusion", "votes"]] = {"predict": "confusion", "predict_proba": "votes"}


@dataclass(frozen=True, eq=False)
class TableScorer:
    """A scoring as a function of the table of a fold.

    Attributes
    ----------
    name : str
        The name of the scoring, or of its function.
    needs : {"confusion", "votes"}
        The table that it reads: counts of (true class, predicted class), or of (true class, class, votes
        for the class), 0 to K.
    """

    name: str
    needs: Literal["confusion", "votes"]
    _form: Form | None
    _on_cells: Callable[[Array], float]

    def __call__(self, tables: Array) -> Array:
        """Compute the score of each fold of each run, as scikit-learn's scorer does.

        Where the scorer raises an error, as for folds that lack a class, the score is NaN. No warnings of
        undefined values are shown.

        Parameters
        ----------
        tables : int ndarray of shape (n_runs, n_folds, n_classes, n_classes) or (n_runs, n_folds, \
n_classes, n_classes, K + 1)

        Returns
        -------
        float64 ndarray of shape (n_runs, n_folds)
        """
        flat = tables.reshape(-1, *tables.shape[2:])
        scores = np.full(len(flat), np.nan) if self._form is None else self._form(flat.astype(float))
        open_ = np.flatnonzero(np.isnan(scores))
        if len(open_):
            rows, which = np.unique(flat[open_].reshape(len(open_), -1), axis=0, return_inverse=True)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = [self._on_cells(row.reshape(flat.shape[1:])) for row in rows]
            scores[open_] = np.array(found)[which.ravel()]
        return scores.reshape(tables.shape[:2])


def table_scorer(scoring: Any, classes: Any) -> TableScorer | None:
    """Return a scoring as a function of confusion tables or of histograms of votes.

    Parameters
    ----------
    scoring : str, scorer or None
        A name of ``sklearn.metrics.get_scorer_names()``, a result of ``make_scorer``, or None for accuracy.
    classes : array-like of shape (n_classes,)
        The sorted labels.

    Returns
    -------
    TableScorer or None
        None if the score is not a function of these tables: callables without ``make_scorer``, metrics of
        probabilities of several classes that look at all of them together.

    Raises
    ------
    ValueError
        If scikit-learn's scorer does not serve these classes.

    Notes
    -----
    The common metrics are computed for all folds at once. For any other metric, scikit-learn's function
    gets the cells of every distinct table, with the counts as ``sample_weight`` or else repeated.

    Examples
    --------
    >>> import numpy as np
    >>> scorer = table_scorer("f1_macro", [0, 1])
    >>> scorer.needs
    'confusion'
    >>> scorer(np.array([[[[3, 1], [0, 4]]]])).round(4)  # one run of one fold
    array([[0.873]])
    """
    from sklearn import metrics

    scorer = metrics.get_scorer("accuracy" if scoring is None else scoring)
    function = getattr(scorer, "_score_func", None)
    given = getattr(scorer, "_response_method", None)
    responses = [given] if isinstance(given, str) else list(given or ())
    needs = next((_NEEDS[response] for response in responses if response in _NEEDS), None)
    if function is None or needs is None:
        return None
    labels, given_options = np.asarray(classes), dict(scorer._kwargs)
    n_classes, sign = len(labels), float(scorer._sign)
    metric = getattr(function, "__name__", "")
    name = scoring if isinstance(scoring, str) else metric or repr(function)
    defaults = {key: each.default for key, each in inspect.signature(function).parameters.items()}
    options = {**defaults, **given_options}
    position = _positive(options.get("pos_label"), labels, name)
    weighs = "sample_weight" in defaults and metric not in MEDIANS
    cells = _Cells(function, given_options, labels, position, weighs, sign)
    cells.check(name, needs)
    form = None
    if function is getattr(metrics, metric, None):
        if needs == PREDICTS:
            form = confusion_form(metric, options, labels)
        elif n_classes > 1:
            form = votes_form(metric, options, n_classes, position)
    if needs == PREDICTS:
        return TableScorer(name, needs, _signed(form, sign), cells.of_predictions)
    if n_classes == 2:
        return TableScorer(name, needs, _signed(form, sign), cells.of_shares)
    if form is None:
        return None
    return TableScorer(name, needs, _signed(form, sign), lambda _: np.nan)


def _positive(pos_label: Any, classes: Array, name: str) -> int:
    """The positive class of two, as scikit-learn's scorers choose it."""
    names = classes.tolist()
    if len(names) == 2 and pos_label is not None:
        if pos_label not in names:
            msg = (
                f"pass make_scorer(..., pos_label={names[1]!r}): the positive class must be one of "
                f"{names}, got {pos_label!r} by scoring {name!r}"
            )
            raise ValueError(msg)
        return int(names.index(pos_label))
    return len(names) - 1


def _signed(function: Callable[[Any], Array] | None, sign: float) -> Callable[[Any], Array] | None:
    return None if function is None else lambda argument: sign * function(argument)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Scikit-learn's function on the cells of one table that are not empty."""

    function: Callable[..., Any]
    options: dict[str, Any]
    classes: Array
    position: int
    weighs: bool
    sign: float

    def of_predictions(self, table: Array) -> float:
        """The score of a table (C, C) of true and predicted classes."""
        return self._score(table, self.classes)

    def of_shares(self, table: Array) -> float:
        """The score of a table (2, 2, K + 1) of true classes and votes."""
        votes = table[:, self.position]
        return self._score(votes, np.arange(votes.shape[1]) / (votes.shape[1] - 1))

    def _score(self, table: Array, answers: Array) -> float:
        true, answer = np.nonzero(table)
        counts = table[true, answer]
        options = self.options
        if self.weighs and len(true) > 1:  # some functions refuse a single sample
            options = {**options, "sample_weight": counts}
        else:
            true, answer = np.repeat(true, counts), np.repeat(answer, counts)
        try:
            return self.sign * float(self.function(self.classes[true], answers[answer], **options))
        except ValueError:
            return np.nan

    def check(self, name: str, needs: str) -> None:
        """Try the function once, so that what it refuses for any table is an error."""
        true = np.repeat(self.classes, 2)
        shares = np.repeat(np.eye(len(self.classes)), 2, axis=0)
        answers = (
            true if needs == PREDICTS else shares[:, self.position] if len(self.classes) == 2 else shares
        )
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                float(self.function(true, answers, **self.options))
        except Exception as error:
            shown = self.classes.tolist()
            msg = f"scoring {name!r} must serve the classes {shown}, but its function raises: {error}"
            raise ValueError(msg) from error
