"""The sections on errors: classes, ties, and the parts of the error of a regression."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._formatting import plain, plain_fields
from .._typing import Array
from ..curves import loo_curve
from ._cost import affordable_confusion, confusion_units
from ._study import Study, part_of
from ._table import Cut, of_a_part
from ._text import counted, percentage, quoted, rounded

MOST_CLASSES = 200
"""Classes up to which the matrix is given as a whole."""
MOST_PAIRS = 10
"""Most confused pairs of a section."""
MOST_LISTED = 30
"""And of a page."""
SMALLEST_SHARE = 1e-9
"""A class that is predicted less often is not listed as confused."""
RARELY = 1e-3
"""A class with a lower score counts as never recognized."""


def classes_section(study: Study) -> dict[str, Any] | None:
    """Return what the rule predicts for each class; None for a regression.

    Parameters
    ----------
    study : Study
        The data and the best setting.

    Returns
    -------
    dict or None
        labels, as text, in the order of the labels; confusion, with ``confusion[i][j]`` the expected share
        of class i that is predicted as class j, or None, and then no_confusion says why; subsample, the
        part of the samples whose confusion it is, or None; confused, the largest entries off the diagonal;
        per_class, balanced_accuracy and conclusion.
    """
    if study.task != "classification":
        return None
    best, scores = study.best, study.best.per_class()
    counts = np.unique(best.labels, return_counts=True)[1]
    labels = [str(label) for label in scores]
    matrix, cut = _confusion(study, list(scores))
    reason = None
    if np.isnan(matrix).all():
        reason = (
            f"a pass for each of {len(labels)} classes over samples of most of them would take too long"
        )
    elif len(labels) > MOST_CLASSES:
        reason = (
            f"of {len(labels)} classes only the largest entries are listed (the limit is {MOST_CLASSES})"
        )
    answer: dict[str, Any] = plain(
        {
            "labels": labels,
            "confusion": None if reason else matrix,
            "no_confusion": reason,
            "subsample": cut,
            "confused": most_confused(labels, matrix)[:MOST_PAIRS],
            "per_class": [
                {"label": label, "n_items": n_items, "score": score}
                for label, n_items, score in zip(labels, counts, scores.values(), strict=True)
            ],
            "balanced_accuracy": best.balanced_accuracy,
        }
    )
    return answer | {"conclusion": _of_classes(answer, matrix)}


def _confusion(study: Study, labels: list[Any]) -> tuple[Array, Cut]:
    """The matrix with rows that sum to 1, and the part of the samples that it was computed on.

    The row of a class without samples in that part is NaN, and all rows are if no matrix is affordable.
    """
    n_items = len(study.y)
    units = confusion_units(n_items, len(labels), study.n_neighbors, study.ties)
    rows = affordable_confusion(n_items, len(labels), units)
    if rows == n_items:
        return study.best.confusion(normalize="true"), None
    if not rows:
        return np.full((len(labels), len(labels)), np.nan), None
    part, cut = part_of(study, rows, f"a pass for each of {len(labels)} classes over")
    k = min(study.n_neighbors, part.train_size)
    found = part.score(study.best_setting._replace(n_neighbors=k))
    matrix = np.zeros((len(labels), len(labels)))
    places = [labels.index(label) for label in found.per_class()]
    matrix[np.ix_(places, places)] = found.confusion(normalize="true")
    matrix[np.setdiff1d(np.arange(len(labels)), places)] = np.nan
    return matrix, cut


def most_confused(labels: list[str], matrix: Any) -> list[dict[str, Any]]:
    """The entries of a confusion matrix off the diagonal, the largest first, equal ones in their order."""
    off = np.nan_to_num(np.array(matrix, np.float64))
    np.fill_diagonal(off, 0.0)
    order = np.argsort(-off, axis=None, kind="stable")[:MOST_LISTED]
    rows, columns = np.unravel_index(order, off.shape)
    return [
        {"label": labels[i], "predicted": labels[j], "share": float(off[i, j])}
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if off[i, j] > SMALLEST_SHARE
    ]


def _of_classes(found: dict[str, Any], matrix: Array) -> str:
    tested = [each | {"at": at} for at, each in enumerate(found["per_class"]) if each["score"] is not None]
    worst = min(tested, key=lambda each: each["score"])
    missed = [each for each in tested if each["score"] < RARELY]
    if len(missed) > 1:
        worst = max(missed, key=lambda each: each["n_items"])
    name, size = quoted(worst["label"]), counted(worst["n_items"], "sample")
    score, whose = percentage(worst["score"]), f" of class {name}"
    if len({each["score"] for each in tested}) == 1:
        text = f"All classes are recognized equally often, in {score} of the cases"
    elif len(missed) > 1:
        text = (
            f"{len(missed)} of {len(matrix)} classes are never recognized, or in less than {RARELY:.1%} of "
            f"the cases; the largest of them is {name} with {size}"
        )
    else:
        how = f"recognized worst, in {score} of the cases" if worst["score"] > 0 else "never recognized"
        text, whose = f"Class {name} ({size}) is {how}", ""
    off = np.nan_to_num(matrix[worst["at"]])
    off[worst["at"]] = 0.0
    if off.max() > SMALLEST_SHARE:
        taken = quoted(found["labels"][int(off.argmax())])
        text += f"; {percentage(float(off.max()))}{whose} are taken for class {taken}"
        text += of_a_part(found["subsample"])
    return text + "."


MOST_DIGITS = 9
ROUNDING = 1e-9
"""Differences of scores up to this share of the largest one count as rounding."""


def ties_section(study: Study) -> dict[str, Any]:
    """Return the range of scores that the orders of tied samples allow.

    Parameters
    ----------
    study : Study
        The data and the best setting.

    Returns
    -------
    dict
        n_items, n_tied, score, low and high as in `knnccv.CompleteCV.tie_report`; n_dependent, the number
        of items whose expected score depends on the order of tied samples; width, high - low; exact_range;
        error_bound; measure; conclusion.
    """
    found = study.best.tie_report()
    tested = study.best.weights > 0
    widths = (found.per_item_highest - found.per_item_lowest)[tested]
    largest = max(float(np.abs(found.per_item_highest[tested]).max()), ROUNDING)
    answer = plain_fields(found, "n_items", "n_tied", "score", "exact_range", "error_bound", "measure") | {
        "n_dependent": int((widths > ROUNDING * largest).sum()),
        "low": found.lowest,
        "high": found.highest,
        "width": found.highest - found.lowest,
    }
    return answer | {"conclusion": _of_ties(study.task, answer)}


def _of_ties(task: str, found: dict[str, Any]) -> str:
    number = found["n_dependent"]
    if not number:
        what = "labels" if task == "classification" else "targets"
        return (
            "The order of the rows decides nothing: no sample has tied neighbors with different "
            f"{what} that could change its score."
        )
    low, high, score = _said((found["low"], found["high"], found["score"]), task)
    ends = "" if found["exact_range"] else " or slightly beyond"
    return (
        f"{counted(number, 'sample')} of {found['n_items']:,} {'has' if number == 1 else 'have'} equally "
        "near neighbors that disagree: a program that breaks ties by the order of the rows would find a "
        f"score between {low} and {high}{ends}; the mean over all orders is {score}."
    )


def _said(values: tuple[float, ...], task: str) -> list[str]:
    """The numbers, with as many digits as tell them apart."""
    for digits in range(MOST_DIGITS):
        said = [
            f"{value:.{digits + 2}%}" if task == "classification" else rounded(value, digits + 5)
            for value in values
        ]
        if len(set(said)) == len(set(values)):
            break
    return said


CURVE = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50)
"""K of the leave-one-out curve, besides that of the best setting."""


def regression_section(study: Study) -> dict[str, Any] | None:
    """Return the parts of the error of the best setting; None for a classification.

    Parameters
    ----------
    study : Study
        The data and the best setting.

    Returns
    -------
    dict or None
        mse, the expected squared error, and rmse, its square root; bias2 and variance, the weighted
        means of `knnccv.CompleteCV.bias2` and `knnccv.CompleteCV.variance`, which sum to it;
        target_variance, the mean squared distance of the targets from their mean; r2,
        1 - mse / target_variance, None if all targets are equal; loo, the error over leave-one-out for
        several K; conclusion.
    """
    if study.task != "regression":
        return None
    best, spread = study.best, float(np.var(study.y))
    tested = best.weights > 0
    ks = curve_numbers(study.n_neighbors, study.near.max_depth)
    answer: dict[str, Any] = plain(
        {
            "mse": best.score,
            "rmse": math.sqrt(best.score),
            "bias2": best.weights[tested] @ best.bias2[tested],
            "variance": best.weights[tested] @ best.variance[tested],
            "target_variance": spread,
            "r2": 1 - best.score / spread if spread > 0 else None,
            "loo": {"n_neighbors": ks, "mse": loo_curve(study.near, study.y, ks, n_jobs=study.n_jobs)},
        }
    )
    return answer | {"conclusion": _of_regression(answer)}


def curve_numbers(n_neighbors: int, most: int) -> list[int]:
    """K of the leave-one-out curve, ascending: those of `CURVE` and `n_neighbors`, up to `most`."""
    return sorted({k for k in (*CURVE, n_neighbors) if k <= most})


def _of_regression(found: dict[str, Any]) -> str:
    mse, r2, total = rounded(found["mse"]), found["r2"], found["bias2"] + found["variance"]
    if r2 is None:
        return f"All targets are equal, so there is nothing to explain; the mean squared error is {mse}."
    start = f"The rule predicts worse than the mean of the targets would (R² = {r2:.3g})"
    if r2 > 0:
        start = (
            f"Predictions are off by about {rounded(found['rmse'])} (the root of the mean squared error); "
            f"the rule explains {percentage(r2)} of the variance of the target"
        )
    error, k = min(zip(found["loo"]["mse"], found["loo"]["n_neighbors"], strict=True))
    loo = f"leave-one-out is best at K = {k}, with {rounded(error)}"
    if total <= 0:
        return f"{start}: its expected squared error is 0; {loo}."
    share = found["bias2"] / total
    return (
        f"{start}; {share:.0%} of its squared error of {mse} is squared bias, the noise of the target "
        f"included, and {1 - share:.0%} the variance between training sets; {loo}."
    )
