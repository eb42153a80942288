"""`CompleteCV.split_std`: by formulas where they apply, otherwise by random runs; its result."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._formatting import plain_fields
from .._parallel import check_pool
from .._typing import Array
from .._validation import check_choice, check_integer, check_random_state
from ..driver import Jobs, Scored, ScoringProblem
from ..neighbors import Neighbors
from ._planes import draw_runs
from ._random_runs import ScoredRuns
from ._split_exact import EPS, NotExactError, exact_variance, why_not_exact
from ._trials import item_shares, score_runs

METHODS = ("auto", "exact", "sampled")
N_RUNS = 5000
ROUNDED_TO_ZERO = 1e-15
"""Variance of scores of at most 1 that rounding alone may cause."""


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

    Examples
    --------
    >>> from knnccv import complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> spread = complete_cv(wine.X, wine.y, "nn").split_std()
    >>> round(spread.std, 3)
    0.019
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
            Number of random runs, at most 10**7.
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


def split_spread(
    problem: ScoringProblem,
    neighbors: Neighbors,
    result: Scored,
    tol: float,
    method: str,
    n_repeats: int,
    random_state: Any,
    n_jobs: int | None,
) -> SplitSpread:
    """Return what `CompleteCV.split_std` returns."""
    check_choice("method", method, METHODS)
    n_repeats = check_integer("n_repeats", n_repeats, 1)
    rng = check_random_state(random_state)
    check_pool(n_jobs, None, progress=False)
    if problem.parameters.get("part", "error") not in ("error", "prediction", "bias"):
        msg = f"split_std() needs a score that is a mean over runs, which the {problem.measure} is not"
        raise ValueError(msg)
    found = None
    if method != "sampled":
        try:
            found = _exact(problem, neighbors, result, tol, n_jobs)
        except NotExactError as error:
            if method == "exact":
                msg = f'method="exact" is not offered: {error}; method="sampled" draws random runs'
                raise ValueError(msg) from None
    if found is None:
        found = _sampled(problem, neighbors, result, rng, n_jobs)
    root = math.sqrt(n_repeats)
    return replace(found, std=found.std / root, error=found.error / root)


def _exact(
    problem: ScoringProblem, neighbors: Neighbors, result: Scored, tol: float, n_jobs: int | None
) -> SplitSpread:
    if problem.design.every_split(problem.labels) is not None:  # nothing is random
        return SplitSpread(0.0, True, 0.0, 0)
    scores = _all_runs(problem, result)
    if scores is not None:
        spread = _deviation(scores, result.score)
        largest_error = result.truncation_bound * math.sqrt(len(scores))  # if all of it is in one run
        error = largest_error + 8 * EPS * problem.largest
    else:
        reason = why_not_exact(problem, result)
        if reason:
            raise NotExactError(reason)
        variance, slack = exact_variance(problem, neighbors, result, tol, n_jobs)
        spread = math.sqrt(variance) if variance > ROUNDED_TO_ZERO * problem.largest**2 else 0.0
        error = max(spread - math.sqrt(max(variance - slack, 0.0)), math.sqrt(variance + slack) - spread)
    return SplitSpread(spread, True, math.inf if neighbors.approximate else error, 0)


def _all_runs(problem: ScoringProblem, result: Scored) -> Array | None:
    """The scores of all runs, if each sample has one training set that tests it; otherwise None."""
    of_one_size = problem.design.one_run == "set" and not problem.design.stratifies
    if not of_one_size or problem.training_sets[0].n_test != 1:
        return None
    scores: Array = item_shares(problem, 1)[0][problem.labels.codes] * result.per_item
    return scores


def _sampled(
    problem: ScoringProblem,
    neighbors: Neighbors,
    result: Scored,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> SplitSpread:
    try:
        runs = draw_runs(problem, N_RUNS, rng)
    except NotImplementedError as reason:
        msg = f"split_std() cannot draw runs of {problem.design!r}: {reason}"
        raise ValueError(msg) from reason
    scores, missed = score_runs(problem, neighbors, runs, Jobs(n_jobs))
    deviations = scores - result.score
    std = _deviation(deviations, 0.0)
    if std <= 8 * EPS * problem.largest:
        std = 0.0
    fourth = math.fsum((deviations**4).tolist()) / N_RUNS
    error = math.sqrt(max(fourth - std**4, 0.0) / N_RUNS) / (2 * std) if std else 0.0
    return SplitSpread(std, False, error + math.sqrt(missed * problem.largest), N_RUNS)


def _deviation(scores: Array, mean: float) -> float:
    """The root of the mean squared deviation from the mean."""
    return math.sqrt(math.fsum(((scores - mean) ** 2).tolist()) / len(scores))
