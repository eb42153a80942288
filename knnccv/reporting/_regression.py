"""The section on regression: the parts of the mean squared error, and the leave-one-out curve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from ..curves import loo_curve
from ._wording import percentage, rounded

if TYPE_CHECKING:
    from ._study import Study

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
        "conclusion": _conclusion(mse, rmse, bias2, variance, r2, ks, curve),
    }


def curve_numbers(n_neighbors: int, most: int) -> list[int]:
    """K of the leave-one-out curve, ascending: those of `CURVE` and `n_neighbors`, up to `most`."""
    return sorted({k for k in (*CURVE, n_neighbors) if k <= most})


def _mean(weights: Array, values: Array) -> float:
    tested = weights > 0
    return float(weights[tested] @ values[tested])


def _conclusion(
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
