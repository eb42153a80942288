"""The results of Monte Carlo cross-validation, `RandomRuns` and `MonteCarloCV`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._formatting import _listed, error_line
from .._typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class RandomRuns:
    """Scores of random runs, with their mean and its standard error.

    Attributes
    ----------
    scores : ndarray of shape (n_repeats,)
        The score of every run.
    """

    scores: Array

    @property
    def score(self) -> float:
        """Mean of the runs."""
        return float(self.scores.mean())

    @property
    def std(self) -> float:
        """Standard deviation of one run."""
        return float(self.scores.std(ddof=1)) if len(self.scores) > 1 else float("nan")

    @property
    def standard_error(self) -> float:
        """Standard deviation of the mean."""
        return self.std / float(np.sqrt(len(self.scores)))

    def __float__(self) -> float:
        return self.score

    def __format__(self, spec: str) -> str:
        return format(self.score, spec) if spec else repr(self)

    def _spread(self) -> str:
        if len(self.scores) == 1:
            return ""
        return f" ± {self.standard_error:.2g} (standard error; one run ± {self.std:.2g})"


@dataclass(frozen=True, eq=False, repr=False)
class MonteCarloCV(RandomRuns):
    """Scores of random runs of a design.

    Attributes
    ----------
    scores : ndarray of shape (n_repeats,)
        The score of every run; a run of a k-fold design is one whole partition into folds.
    score : float
        Their mean.
    std : float
        Their standard deviation (n_repeats - 1 in the denominator): the variation between runs. NaN for a
        single run.
    standard_error : float
        ``std / sqrt(n_repeats)``, the standard error of the mean. It measures the randomness of the splits,
        not that of the samples.
    error_bound : float
        Bound of the error of the mean that is caused by neighbor lists which end before enough training
        samples are found; 0 unless the caller gave short lists. Infinite if ``certified`` is False.
    certified : bool
        False if the neighbors are approximate.
    truncation_bound : float
        The ``error_bound`` if the neighbor lists were exact up to their ends.
    measure : str
        The meaning of the scores.
    """

    error_bound: float = 0.0
    variant: str = ""
    design: str = ""
    ties: str = "index"
    average: Any = "pooled"
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    certified: bool = True
    truncation_bound: float = 0.0
    measure: str = "score"

    def __repr__(self) -> str:
        return (
            f"<MonteCarloCV {self.score:.6g}{self._spread()}: {self.variant}{_listed(self.parameters)}, "
            f"{self.measure} of {len(self.scores)} random run{'s' if len(self.scores) > 1 else ''} of "
            f"{self.design}"
            f"{'' if self.certified else ', ' + error_line(self)}>"
        )
