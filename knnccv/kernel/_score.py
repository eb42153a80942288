"""`Score`: what a rule's score is, and how large it can be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array


@dataclass(frozen=True)
class Score:
    """What the score of one classification is, see `Variant.score`. By default an accuracy.

    Attributes
    ----------
    name : str
        The name in results, reports and plots, such as "top-2 accuracy".
    low, high : float
        The smallest and the largest score of one classification. They choose the confidence interval:
        Wilson's for finite ones, Hall's if `low` alone is finite, and Wald's if both are infinite.
    is_loss : bool or None
        Whether smaller scores are better. None: neither smaller nor larger ones are, as of a prediction.
    is_share : bool
        Whether the score is the share of correct answers.
    is_mean : bool
        Whether the score over many training sets is the mean of the scores of each; a variance is not.
    monotone : float
        The largest number of classes for which a right sample that comes nearer never makes the score
        worse, infinity for any. The two ends of `CompleteCV.tie_report` are then exact; they always are for
        one neighbor.
    largest : callable or None
        ``largest(values)``, the largest absolute score for targets of shape (n_items, n_outputs), where
        `low` or `high` is infinite. None: the squared diagonal of the box that holds all targets.

    Examples
    --------
    >>> from knnccv.kernel import Score
    >>> Score("error rate", is_loss=True).high
    1.0
    """

    name: str = "accuracy"
    low: float = 0.0
    high: float = 1.0
    is_loss: bool | None = False
    is_share: bool = False
    is_mean: bool = True
    monotone: float = 0
    largest: Callable[[Array], float] | None = None

    def __post_init__(self) -> None:
        """Refuse a range that is none."""
        if not self.low <= self.high:
            msg = f"low must be at most high, got low={self.low} and high={self.high}"
            raise ValueError(msg)

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest score; None if there is no bound."""
        return None if math.isinf(self.low) and math.isinf(self.high) else (self.low, self.high)

    def largest_for(self, values: Array) -> float:
        """The largest absolute score of one classification for these targets."""
        end = max(abs(self.low), abs(self.high))
        if math.isfinite(end):
            return end
        if self.largest is None and not values.size:
            msg = f"give the score {self.name!r} finite ends or largest=, got {self.low} to {self.high}"
            raise ValueError(msg)
        return squared_diagonal(values) if self.largest is None else float(self.largest(values))


ACCURACY = Score(is_share=True)


def loss_score(loss: Any) -> Score:
    """The expected loss of a matrix."""
    matrix = np.asarray(loss, dtype=float)
    return Score("expected loss", float(matrix.min()), float(matrix.max()), is_loss=True)


def squared_diagonal(values: Array) -> float:
    """The largest squared error in the box that holds all targets, summed over the outputs."""
    spread = np.ptp(values, axis=0)
    return float((spread * spread).sum())
