"""What single runs of a design would have said, `CompleteCV.runs`, and their spread, `split_std`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._base.formatting import Numeric
from ...._base.parallel import check_pool
from ...._base.typing import Array
from ...._base.validation import check_integer, check_random_state
from ....neighbors import Neighbors
from ...driver import Jobs, Scored, ScoringProblem
from ..scorings import check_precision, enough_draws
from ._counts import CONFUSION, RunCounter, RunTables, ballot_of
from ._planes import Runs, draw_runs
from ._trials import item_shares, score_runs

USUAL = 5000
"""Runs for their standard deviation."""
MOST_RUNS = 10**7
"""Runs whose scores are kept."""
MOST_CELLS = 2**26
"""Cells of the confusion tables of all runs that are kept."""
ROUNDING = 8 * float(np.finfo(float).eps)
"""Deviation of scores of at most 1 that rounding alone may cause."""


@dataclass(frozen=True, eq=False, repr=False)
class ScoredRuns(Numeric):
    """Scores of single random runs of a design; `CompleteCV.runs` and `monte_carlo_cv`.

    Attributes
    ----------
    scores : ndarray of shape (n_runs,)
        The score of every run, as `CompleteCV.split_std` describes runs.
    score : float
        Their mean.
    std : float
        Their standard deviation (n_runs - 1 in the denominator): the variation between runs. NaN for a
        single run.
    std_error : float
        ``std / sqrt(n_runs)``, the standard error of the mean. It measures the randomness of the splits,
        not that of the samples.
    measure : str
        The meaning of the scores.
    expected : float or None
        The exact mean over all runs, which `monte_carlo_cv` does not compute.
    error_bound : float
        Bound of the error of the mean that is caused by neighbor lists which end before enough training
        samples are found; 0 unless the caller gave short lists, infinite if the neighbors are approximate.
    confusions : int64 ndarray of shape (n_runs, n_classes, n_classes), or None
        The predictions of every run, of all its folds together: rows true, columns predicted; by
        `CompleteCV.runs`. None if the rule does not predict a class, or if they take too much memory.
    classes : ndarray of shape (n_classes,) or None
        The labels of rows and columns.
    seconds : float
        Wall time.

    Examples
    --------
    >>> from knnccv import monte_carlo_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = monte_carlo_cv(wine.X, wine.y, "nn", n_runs=20, random_state=0)
    >>> round(found.score, 2), len(found.scores)
    (0.75, 20)
    """

    _json = "measure expected score std std_error error_bound scores classes confusions seconds"
    _shown = "measure expected score std std_error error_bound scores"

    scores: Array
    measure: str = "score"
    expected: float | None = None
    error_bound: float = 0.0
    confusions: Array | None = None
    classes: Array | None = None
    seconds: float = 0.0

    @property
    def score(self) -> float:
        """Mean of the runs."""
        return float(self.scores.mean())

    @property
    def std(self) -> float:
        """Standard deviation of one run."""
        return float(self.scores.std(ddof=1)) if len(self.scores) > 1 else math.nan

    @property
    def std_error(self) -> float:
        """Standard deviation of the mean."""
        return self.std / math.sqrt(len(self.scores))

    def quantile(self, q: Any) -> Any:
        """Quantiles of the score of one run.

        Parameters
        ----------
        q : float or array of floats
            Probabilities in [0, 1].

        Returns
        -------
        float or ndarray
        """
        found = np.quantile(self.scores, q)
        return float(found) if np.ndim(found) == 0 else found


@dataclass(frozen=True, repr=False)
class SplitSpread(Numeric):
    """Standard deviation of the score of one random run around the exact mean; `CompleteCV.split_std`.

    ``float(spread)`` is the standard deviation.

    Attributes
    ----------
    std : float
        The standard deviation of one run.
    std_error : float
        The standard error of `std`, the luck of the random runs, and what short neighbor lists leave open.
    n_runs : int
        Number of random runs that were drawn; 0 if all runs use the same splits, so that nothing is random.

    Examples
    --------
    >>> from knnccv import complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> spread = complete_cv(wine.X, wine.y, "nn").split_std()
    >>> round(spread.std, 3)
    0.02
    """

    _json = "std std_error n_runs"
    _value = "std"

    std: float
    std_error: float
    n_runs: int


class RandomSplits(Scored):
    """A result that knows the random runs of which it is the mean; a base of `CompleteCV`."""

    def _given(self, n_jobs: int | None) -> tuple[ScoringProblem, Neighbors, int | None]:
        """The problem and the neighbors of the result, and the number of threads."""
        raise NotImplementedError

    def split_std(
        self,
        n_runs: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        *,
        precision: float | None = None,
    ) -> SplitSpread:
        """Standard deviation of the score of one random run around ``score``: the luck of the split.

        The samples are fixed; only their random split varies. One run of a k-fold design is a whole
        partition into folds, one run of another design a single split; with a pool and a test set, one run
        is one training set from the pool. It says how far one random run, as of scikit-learn's shuffled
        splitters, is from the exact score; not how far the exact score is from that of other samples.
        Within a run it averages over orders of ties and, with ``vote_ties="random"``, over the lots of
        equal votes: a program that draws them scatters more, as `runs` does.

        Computed at every call, from the data, to which the result refers until it is pickled or copied.

        Parameters
        ----------
        n_runs : int, optional
            Number of random runs, at most 10**7. Default: 5,000, which give the deviation to about 1 %.
            None is drawn where all splits are used, as in ``LeaveOut(1)``, ``KFold(n_items)`` and
            ``LeaveGroupsOut(groups)``: the standard deviation is 0.
        random_state : int, numpy Generator or None, default 0
            Seed of the random runs.
        n_jobs : int, optional
            Threads; -1: all processors. Default: the `n_jobs` of `complete_cv`. It does not change a bit.
        precision : float, optional
            The wanted standard error of the deviation, in place of `n_runs`: 5,000 runs tell how many it
            takes, at most 500,000; a warning says if these are not enough.

        Returns
        -------
        SplitSpread
            The mean of R independent runs has ``std / sqrt(R)``.

        Raises
        ------
        ValueError, TypeError
            If an argument is not allowed, the design cannot be drawn, the score is no mean over runs (the
            parts of regression "bias2" and "variance"), or the result was pickled or copied.

        See Also
        --------
        monte_carlo_cv : The scores of random runs.

        Examples
        --------
        >>> from knnccv import KFold, complete_cv
        >>> from knnccv.datasets import load_wine
        >>> wine = load_wine()
        >>> spread = complete_cv(wine.X, wine.y, "nn", KFold(5)).split_std()
        >>> round(spread.std, 2), spread.n_runs, spread.std_error < 0.02 * spread.std
        (0.02, 5000, True)
        """
        problem, neighbors, n_jobs = self._given(n_jobs)
        if n_runs is not None:
            n_runs = check_integer("n_runs", n_runs, 1, MOST_RUNS, "the most whose scores are kept")
        check_precision(precision, n_runs)
        rng = check_random_state(random_state)
        check_pool(n_jobs, None, progress=False)
        _check_is_mean("split_std()", problem)
        every = problem.design.every_split(problem.labels) if problem.pool is None else None
        whole = all(kind.n_train == kind.counts for kind in problem.training_sets)  # of a pool
        if every is not None or whole:  # nothing is random
            return SplitSpread(0.0, 0.0, 0)
        deviations, spread = np.empty(0), SplitSpread(0.0, 0.0, 0)

        def look(number: int) -> float:
            nonlocal deviations, spread
            runs = _drawn("split_std()", problem, number - len(deviations), rng)
            scores, missed = score_runs(problem, neighbors, runs, Jobs(n_jobs))
            deviations = np.append(deviations, scores - self.score)
            std = math.sqrt(math.fsum((deviations**2).tolist()) / number)
            if std <= ROUNDING * problem.largest:
                std = 0.0
            fourth = math.fsum((deviations**4).tolist()) / number
            error = math.sqrt(max(fourth - std**4, 0.0) / number) / (2 * std) if std else 0.0
            error = error if number > 1 else math.nan  # one run shows no spread
            spread = SplitSpread(std, error + math.sqrt(missed * problem.largest), number)
            return error

        enough_draws(look, USUAL, precision, n_runs, "n_runs")
        return spread

    def runs(self, n_runs: int = 10_000, random_state: Any = 0, n_jobs: int | None = None) -> ScoredRuns:
        """Scores and confusion tables of single random runs: what one would have reported by chance.

        The mean of the runs estimates ``score``, which is exact. One run is as in `split_std`, but for ties
        (see the notes). Results of the same design and seed are scored on the same splits.

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
        started = time.perf_counter()
        problem, neighbors, n_jobs = self._given(n_jobs)
        n_runs = check_integer("n_runs", n_runs, 1, MOST_RUNS, "the most whose scores are kept")
        check_pool(n_jobs, None, progress=False)
        _check_is_mean("runs()", problem)
        runs = _drawn("runs()", problem, n_runs, check_random_state(random_state))
        ballot, classes = ballot_of(problem), problem.labels.classes
        confusions, missed = None, 0.0
        if ballot is None or ballot.any_of or n_runs * len(classes) ** 2 > MOST_CELLS:
            scores, missed = score_runs(problem, neighbors, runs, Jobs(n_jobs))
        else:
            scores = np.zeros(n_runs)
            confusions = np.zeros((n_runs, len(classes), len(classes)), np.int64)
            values = np.eye(len(classes)) if problem.loss is None else np.array(problem.loss, dtype=float)
            shares = item_shares(problem, runs.n_folds)

            def take(block: int, tables: RunTables) -> None:
                some = runs.rows(block)
                weights = shares[runs.kind_of[some]]
                scores[some] = ((tables.counts * values).sum(axis=3) * weights).sum(axis=(1, 2))
                confusions[some] = tables.counts.sum(axis=1)

            RunCounter(problem, neighbors, runs, CONFUSION, np.arange(runs.n_folds)).count(take, n_jobs)
        return ScoredRuns(
            scores=scores,
            measure=problem.measure,
            expected=self.score,
            error_bound=math.inf if neighbors.approximate else missed,
            confusions=confusions,
            classes=classes,
            seconds=time.perf_counter() - started,
        )


def _check_is_mean(caller: str, problem: ScoringProblem) -> None:
    if not problem.score.is_mean:
        msg = f"{caller} needs a score that is a mean over runs, which the {problem.measure} is not"
        raise ValueError(msg)


def _drawn(caller: str, problem: ScoringProblem, n_runs: int, rng: np.random.Generator) -> Runs:
    try:
        return draw_runs(problem, n_runs, rng)
    except NotImplementedError as reason:
        msg = f"{caller} cannot draw runs of {problem.design!r}: {reason}"
        raise ValueError(msg) from reason
