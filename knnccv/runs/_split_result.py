"""`CompleteCV.split_std` and its result, `SplitSpread`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._formatting import plain_fields
from ._random_runs import ScoredRuns


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

    def to_dict(self) -> dict[str, Any]:
        """Return std, exact and error in types that JSON has.

        Numbers that are not finite are None, whole numbers beyond 2**53 and fractions are text.
        """
        return plain_fields(self, "std", "exact", "error")

    def __float__(self) -> float:
        return self.std

    def __repr__(self) -> str:
        if self.exact:
            bound = f", error at most {self.error:.2g}" if self.error > self.std / 1000 else ""
            return f"± {self.std:.3g} (exact{bound})"
        return f"± {self.std:.3g} ({self.n_runs:,} sampled runs, standard error {self.error:.2g})"


class RandomSplits:
    """A result that knows the random runs of which it is the mean; a base of `CompleteCV`."""

    def _reference(self) -> Any:
        """The evaluation that made the result."""
        raise NotImplementedError

    def split_std(
        self, method: str = "auto", n_repeats: int = 1, random_state: Any = 0, n_jobs: int | None = None
    ) -> SplitSpread:
        """Standard deviation of the score of one random run around ``score``: the luck of the split.

        The samples are fixed; only their random split varies. One run of a k-fold design is a whole
        partition into folds, one run of another design a single split. It says how far one random run, as
        of scikit-learn's shuffled splitters, is from the exact score; not how far the exact score is from
        that of other samples.

        Computed at every call, from the data, to which the result refers until it is pickled or copied.

        Parameters
        ----------
        method : {"auto", "exact", "sampled"}, default "auto"
            "exact" covers all runs by formulas, up to 5e9 steps of the computation. They need a rule that
            one nearest training sample decides ("nn", K or R of 1), no ties that matter unless
            ``ties="index"``, and a design without strata that has `Design.one_run`, such as `Subsample`.
            Every rule is served where all splits are used, as in ``LeaveOut(1)``, ``KFold(n_items)`` and
            ``LeaveGroupsOut(groups)``: the standard deviation is 0. "sampled" draws 5,000 random runs.
            "auto" is "exact" where that is offered, otherwise "sampled".
        n_repeats : int, default 1
            Number of independent runs of which the mean is taken; divides by its square root.
        random_state : int, numpy Generator or None, default 0
            Seed of the random runs.
        n_jobs : int, optional
            Threads; -1: all processors. Default: the `n_jobs` of `complete_cv`. It does not change a bit.

        Returns
        -------
        SplitSpread
            For approximate neighbors, an exact one has an infinite ``error``.

        Raises
        ------
        ValueError, TypeError
            If an argument is not allowed, "exact" is not offered, the score is no mean over runs (the parts
            of regression "bias2" and "variance"), or the result was pickled or copied.

        See Also
        --------
        monte_carlo_cv : The scores of random runs.

        Examples
        --------
        >>> from knnccv import KFold, complete_cv
        >>> from knnccv.datasets import load_wine
        >>> wine = load_wine()
        >>> complete_cv(wine.X, wine.y, "nn", KFold(5)).split_std()
        ± 0.0198 (exact)
        """
        found: SplitSpread = self._reference().split_std(self, method, n_repeats, random_state, n_jobs)
        return found

    def runs(self, n_runs: int = 10_000, random_state: Any = 0, n_jobs: int | None = None) -> ScoredRuns:
        """Scores and confusion tables of single random runs: what one would have reported by chance.

        The mean of the runs estimates ``score``, which is exact. Results of the same design and seed are
        scored on the same splits.

        Parameters
        ----------
        n_runs : int, default 10_000
            Number of random runs.
        random_state : int, numpy Generator or None, default 0
            Seed of the random runs.
        n_jobs : int, optional
            Threads; -1: all processors. Default: the `n_jobs` of `complete_cv`. It does not change a bit.

        Returns
        -------
        ScoredRuns

        Raises
        ------
        ValueError, TypeError
            If an argument is not allowed, the design cannot be drawn, the score is no mean over runs, or
            the result was pickled or copied.

        Notes
        -----
        Where the order of tied samples matters, one is drawn for each tested sample in each run; tied votes
        with ``vote_ties="random"`` are drawn. Rules without votes are averaged over these within a run.

        Examples
        --------
        >>> from knnccv import KFold, complete_cv
        >>> from knnccv.datasets import load_wine
        >>> wine = load_wine()
        >>> runs = complete_cv(wine.X, wine.y, "knn", KFold(5)).runs()
        >>> runs.confusions.shape, bool(runs.quantile(0.025) < runs.expected < runs.quantile(0.975))
        ((10000, 3, 3), True)
        """
        found: ScoredRuns = self._reference().runs(self, n_runs, random_state, n_jobs)
        return found
