"""The scores of the halves, and the variance that they show."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .._typing import Array


class InferenceWarning(UserWarning):
    """A standard error or an interval is outside the conditions under which it was found to be reliable."""


@dataclass(frozen=True, eq=False)
class HalfScores:
    """Complete scores of random pairs of disjoint halves.

    Attributes
    ----------
    scores : ndarray of shape (n_halvings, 2)
        The exact score of each half.
    n_units : int
        The number of samples, or of groups if halves of groups were drawn.
    of_groups : bool
        Whether halves of groups were drawn.
    train_size : float
        The mean training size of the halves.
    warnings : tuple of str
        Conditions under which intervals were found to be unreliable.
    drawn : str
        A digest of the halves: results with the same digest were scored on the same halves.
    n_answers : float
        The effective number of weighted answers, 1 / (sum of squared weights); 0 for `n_units`.
    resolution : float
        The accuracy of the scores. A standard error below it counts as 0.
    deviations : ndarray of shape (n_units,)
        What every unit adds to the score of all samples beyond its weight's share, for the skewness of
        scores with one bound only; empty if it is not known, which counts as no skewness.
    """

    scores: Array
    n_units: int
    of_groups: bool
    train_size: float
    warnings: tuple[str, ...] = ()
    drawn: str = ""
    n_answers: float = 0.0
    resolution: float = 0.0
    deviations: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        self.scores.flags.writeable = False

    @property
    def mean(self) -> float:
        """The mean score of the halves."""
        return math.fsum(self.scores.ravel()) / self.scores.size

    @property
    def variance(self) -> float:
        """A quarter of the mean squared difference of two halves.

        Two disjoint halves are independent, so its expectation is half the variance of a half's score. A
        score of all samples has about half the variance of that of a half.
        """
        found = mean_squared_difference(self.scores) / 4
        return found if math.sqrt(found) > self.resolution else 0.0

    @property
    def degrees_of_freedom(self) -> float:
        """Those of the samples and of the halvings together."""
        return degrees_of_freedom(self.n_units, len(self.scores))


def mean_squared_difference(scores: Array) -> float:
    """The mean of (first - second)^2 over the rows."""
    return math.fsum(np.square(scores[:, 0] - scores[:, 1])) / len(scores)


def degrees_of_freedom(n_units: int, n_halvings: int) -> float:
    """1 / (1 / (n - 1) + 1 / H)."""
    return 1 / (1 / (n_units - 1) + 1 / n_halvings)
