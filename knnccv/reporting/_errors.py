"""The sections on errors: classes, ties, and the parts of the error of a regression."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Array
from ..curves import loo_curve
from ..results import TieReport
from ._cost import affordable_confusion, confusion_units
from ._study import Study, part_of
from ._table import Cut, of_a_part
from ._text import counted, finite, percentage, quoted, rounded

MOST_CLASSES = 200
"""Classes up to which the matrix is given as a whole."""
MOST_PAIRS = 10
"""Most confused pairs that are listed."""
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
    best = study.best
    counts = np.unique(best.labels, return_counts=True)[1].tolist()
    per_class = [
        {"label": str(label), "n_items": n_items, "score": finite(score)}
        for n_items, (label, score) in zip(counts, best.per_class().items(), strict=True)
    ]
    labels = [each["label"] for each in per_class]
    matrix, cut = _confusion(study, best.per_class())
    reason = None
    if np.isnan(matrix).all():
        reason = (
            f"a pass for each of {len(labels)} classes over samples of most of them would take too long"
        )
    elif len(labels) > MOST_CLASSES:
        reason = (
            f"of {len(labels)} classes only the largest entries are listed (the limit is {MOST_CLASSES})"
        )
    shown = None if reason else [[finite(x) for x in row] for row in matrix.tolist()]
    return {
        "labels": labels,
        "confusion": shown,
        "no_confusion": reason,
        "subsample": cut,
        "confused": _confused(labels, matrix),
        "per_class": per_class,
        "balanced_accuracy": best.balanced_accuracy,
        "conclusion": _of_classes(per_class, labels, matrix, cut),
    }


def _confusion(study: Study, classes: Iterable[Any]) -> tuple[Array, Cut]:
    """The matrix with rows that sum to 1, and the part of the samples that it was computed on.

    The row of a class without samples in that part is NaN, and all rows are if no matrix is affordable.
    """
    labels = list(classes)
    n_items = len(study.y)
    units = confusion_units(n_items, len(labels), study.n_neighbors, study.ties)
    rows = affordable_confusion(n_items, len(labels), units)
    if rows == n_items:
        return study.best.confusion(normalize="true"), None
    if not rows:
        return np.full((len(labels), len(labels)), np.nan), None
    part, cut = part_of(study, rows, f"a pass for each of {len(labels)} classes over")
    k = min(study.n_neighbors, part.train_size)
    found = part.score(replace(study.best_setting, n_neighbors=k))
    matrix = np.zeros((len(labels), len(labels)))
    places = [labels.index(label) for label in found.per_class()]
    matrix[np.ix_(places, places)] = found.confusion(normalize="true")
    matrix[np.setdiff1d(np.arange(len(labels)), places)] = np.nan
    return matrix, cut


def _confused(labels: list[str], matrix: Array) -> list[dict[str, Any]]:
    """The largest entries off the diagonal, equal ones in the order of the labels."""
    off = np.nan_to_num(matrix)
    np.fill_diagonal(off, 0.0)
    order = np.argsort(-off, axis=None, kind="stable")[:MOST_PAIRS]
    rows, columns = np.unravel_index(order, off.shape)
    return [
        {"label": labels[i], "predicted": labels[j], "share": float(off[i, j])}
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if off[i, j] > SMALLEST_SHARE
    ]


def _of_classes(per_class: list[dict[str, Any]], labels: list[str], matrix: Array, cut: Cut) -> str:
    tested = [at for at, each in enumerate(per_class) if each["score"] is not None]
    worst = min(tested, key=lambda at: per_class[at]["score"])
    score = per_class[worst]["score"]
    same = len({per_class[at]["score"] for at in tested}) == 1
    missed = [at for at in tested if per_class[at]["score"] < RARELY]
    if same:
        text = f"All classes are recognized equally often, in {percentage(score)} of the cases"
    elif len(missed) > 1:
        worst = max(missed, key=lambda at: per_class[at]["n_items"])
        size = counted(per_class[worst]["n_items"], "sample")
        text = (
            f"{len(missed)} of {len(labels)} classes are never recognized, or in less than {RARELY:.1%} of "
            f"the cases; the largest of them is {quoted(labels[worst])} with {size}"
        )
    else:
        size = counted(per_class[worst]["n_items"], "sample")
        how = f"recognized worst, in {percentage(score)} of the cases" if score > 0 else "never recognized"
        text = f"Class {quoted(labels[worst])} ({size}) is {how}"
    off = np.nan_to_num(matrix[worst])
    off[worst] = 0.0
    taken = int(off.argmax())
    if off[taken] > SMALLEST_SHARE:
        whose = f" of class {quoted(labels[worst])}" if same or len(missed) > 1 else ""
        text += f"; {percentage(float(off[taken]))}{whose} are taken for class {quoted(labels[taken])}"
        text += of_a_part(cut)
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
    n_dependent = int((widths > ROUNDING * largest).sum())
    width = found.highest - found.lowest
    return {
        "n_items": found.n_items,
        "n_tied": found.n_tied,
        "n_dependent": n_dependent,
        "score": found.score,
        "low": found.lowest,
        "high": found.highest,
        "width": width,
        "exact_range": bool(found.exact_range),
        "error_bound": found.error_bound if np.isfinite(found.error_bound) else None,
        "measure": found.measure,
        "conclusion": _of_ties(study.task, found, n_dependent),
    }


def _of_ties(task: str, found: TieReport, n_dependent: int) -> str:
    if not n_dependent:
        what = "labels" if task == "classification" else "targets"
        return (
            "The order of the rows decides nothing: no sample has tied neighbors with different "
            f"{what} that could change its score."
        )
    low, high, score = _said((found.lowest, found.highest, found.score), task)
    verb = "has" if n_dependent == 1 else "have"
    ends = "" if found.exact_range else " or slightly beyond"
    return (
        f"{counted(n_dependent, 'sample')} of {found.n_items:,} {verb} equally near neighbors that "
        f"disagree: a program that breaks ties by the order of the rows would find a score between {low} "
        f"and {high}{ends}; the mean over all orders is {score}."
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
    best = study.best
    mse = best.score
    rmse = math.sqrt(mse)
    bias2, variance = _mean(best.weights, best.bias2), _mean(best.weights, best.variance)
    target_variance = float(np.var(study.y))
    r2 = 1 - mse / target_variance if target_variance > 0 else None
    ks = curve_numbers(study.n_neighbors, study.near.max_depth)
    curve = loo_curve(study.near, study.y, ks, n_jobs=study.n_jobs).tolist()
    return {
        "mse": mse,
        "rmse": rmse,
        "bias2": bias2,
        "variance": variance,
        "target_variance": target_variance,
        "r2": r2,
        "loo": {"n_neighbors": ks, "mse": curve},
        "conclusion": _of_regression(mse, rmse, bias2, variance, r2, ks, curve),
    }


def curve_numbers(n_neighbors: int, most: int) -> list[int]:
    """K of the leave-one-out curve, ascending: those of `CURVE` and `n_neighbors`, up to `most`."""
    return sorted({k for k in (*CURVE, n_neighbors) if k <= most})


def _mean(weights: Array, values: Array) -> float:
    tested = weights > 0
    return float(weights[tested] @ values[tested])


def _of_regression(
    mse: float,
    rmse: float,
    bias2: float,
    variance: float,
    r2: float | None,
    ks: list[int],
    curve: list[float],
) -> str:
    best = int(np.argmin(curve))
    loo = f"leave-one-out is best at K = {ks[best]}, with {rounded(curve[best])}"
    if r2 is None:
        return (
            f"All targets are equal, so there is nothing to explain; the mean squared error is "
            f"{rounded(mse)}."
        )
    if r2 > 0:
        start = (
            f"Predictions are off by about {rounded(rmse)} (the root of the mean squared error); the rule "
            f"explains {percentage(r2)} of the variance of the target"
        )
    else:
        start = f"The rule predicts worse than the mean of the targets would (R² = {r2:.3g})"
    total = bias2 + variance
    if total <= 0:
        return f"{start}: its expected squared error is 0; {loo}."
    share = bias2 / total
    return (
        f"{start}; {share:.0%} of its squared error of {rounded(mse)} is squared bias, the noise of the "
        f"target included, and {1 - share:.0%} the variance between training sets; {loo}."
    )
