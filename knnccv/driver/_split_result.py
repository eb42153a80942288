"""The result of `CompleteCV.split_std`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SplitSpread:
    """Standard deviation of the score of one random run around the exact mean; `CompleteCV.split_std`.

    ``float(spread)`` is the standard deviation.

    Attributes
    ----------
    std : float
        The standard deviation of one run, or of the mean of several runs.
    exact : bool
        Whether it comes from a formula that covers all runs, not from random runs.
    error : float
        If `exact`, a bound of the error of `std`: lists that end, and rounding; infinite for approximate
        neighbors. Otherwise the standard error of `std`.
    n_runs : int
        Number of random runs that were drawn; 0 if `exact`.
    """

    std: float
    exact: bool
    error: float
    n_runs: int

    def __float__(self) -> float:
        return self.std

    def __repr__(self) -> str:
        if self.exact:
            return f"± {self.std:.3g} (exact)"
        return f"± {self.std:.3g} ({self.n_runs:,} sampled runs, standard error {self.error:.2g})"
