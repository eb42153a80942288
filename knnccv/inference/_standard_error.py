"""`StandardError`: the luck of the data."""

from __future__ import annotations

import math
from typing import Any, Self

from ._halves import HalfScores


class StandardError(float):
    """The estimated standard deviation of an exact score over samples of the population (luck of the data).

    A float. The luck of the split is another number, `CompleteCV.split_std`.

    Attributes
    ----------
    half_score : float
        The mean score of the halves. If it differs much from the score, halving hurts the rule, and the
        error is too large.
    half_train_size : float
        The mean training size of the halves.
    n_halvings : int
        The number of random pairs of disjoint halves.
    n_units : int
        The number of samples, or of groups.
    of_groups : bool
        Whether groups are the units.
    degrees_of_freedom : float
        Those of the t distribution for intervals.
    target : str
        What the score estimates, in words.
    """

    half_score: float
    half_train_size: float
    n_halvings: int
    n_units: int
    of_groups: bool
    degrees_of_freedom: float
    target: str

    def __new__(cls, value: float, **fields: Any) -> Self:
        """Make the number and set its attributes."""
        number = super().__new__(cls, value)
        number.__dict__.update(fields)
        return number

    @classmethod
    def of(cls, halves: HalfScores, target: str) -> StandardError:
        """The standard error that these halves show."""
        return cls(
            math.sqrt(halves.variance),
            half_score=halves.mean,
            half_train_size=halves.train_size,
            n_halvings=len(halves.scores),
            n_units=halves.n_units,
            of_groups=halves.of_groups,
            degrees_of_freedom=halves.degrees_of_freedom,
            target=target,
        )

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]:
        """Return the arguments of `__new__`, for copies."""
        return (float(self),), dict(self.__dict__)

    def __repr__(self) -> str:
        units = "groups" if self.of_groups else "samples"
        return (
            f"<StandardError {float(self):.3g} (luck of the data): {self.n_halvings} halvings of "
            f"{self.n_units} {units}, halves score {self.half_score:.4g} with {self.half_train_size:.4g} "
            "training samples>"
        )

    def __str__(self) -> str:
        return str(float(self))
