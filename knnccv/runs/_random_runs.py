"""What single runs of a design would have said: `CompleteCV.runs`, and a base of results of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._formatting import plain_fields
from .._parallel import check_pool
from .._typing import Array
from .._validation import check_integer, check_random_state
from ..driver import Jobs, ScoringProblem
from ..neighbors import Neighbors
from ._counts import RunCounter, RunTables, ballot_of
from ._planes import draw_runs
from ._trials import item_shares, score_runs
from ._walks import CONFUSION

MOST_RUNS = 10**7
"""Runs whose scores are kept."""
MOST_CELLS = 2**26
"""Cells of the confusion tables of all runs that are kept."""


@dataclass(frozen=True, eq=False, repr=False)
class RandomRuns:
    """Scores of random runs, with their mean and its standard error.

    Attributes
    ----------
    scores : ndarray of shape (n_runs,)
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
class ScoredRuns(RandomRuns):
    """Scores and confusion tables of single random runs; `CompleteCV.runs`.

    Attributes
    ----------
    scores : ndarray of shape (n_runs,)
        The score of every run; one run of a k-fold design is a whole partition into folds.
    confusions : int64 ndarray of shape (n_runs, n_classes, n_classes), or None
        The predictions of every run, of all its folds together: rows true, columns predicted. None if the
        rule does not predict a class, or if they take too much memory.
    classes : ndarray of shape (n_classes,)
        The labels of rows and columns.
    expected : float
        The exact mean over all runs.
    measure : str
        The meaning of the scores.
    """

    confusions: Array | None
    classes: Array
    expected: float
    measure: str

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers in types that JSON has."""
        names = ("score", "std", "standard_error", "expected", "measure", "scores")
        return plain_fields(self, *names, "classes", "confusions")

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

    def __repr__(self) -> str:
        low, middle, high = self.quantile([0.025, 0.5, 0.975])
        return (
            f"<ScoredRuns of {len(self.scores):,} runs, {self.measure}: 95 % in {low:.4g} to {high:.4g}, "
            f"median {middle:.4g}, exact mean {self.expected:.6g}>"
        )


def random_runs(
    problem: ScoringProblem,
    neighbors: Neighbors,
    expected: float,
    n_runs: int,
    random_state: Any,
    n_jobs: int | None,
) -> ScoredRuns:
    """Return what `CompleteCV.runs` returns."""
    n_runs = check_integer("n_runs", n_runs, 1, MOST_RUNS, "the most whose scores are kept")
    check_pool(n_jobs, None, progress=False)
    if problem.parameters.get("part", "error") not in ("error", "prediction", "bias"):
        msg = f"runs() needs a score that is a mean over runs, which the {problem.measure} is not"
        raise ValueError(msg)
    try:
        runs = draw_runs(problem, n_runs, check_random_state(random_state))
    except NotImplementedError as reason:
        msg = f"runs() cannot draw runs of {problem.design!r}: {reason}"
        raise ValueError(msg) from reason
    ballot, classes = ballot_of(problem), problem.labels.classes
    confusions = None
    if ballot is None or ballot.any_of or n_runs * len(classes) ** 2 > MOST_CELLS:
        scores, _ = score_runs(problem, neighbors, runs, Jobs(n_jobs))
    else:
        scores = np.zeros(n_runs)
        confusions = np.zeros((n_runs, len(classes), len(classes)), np.int64)
        loss = problem.parameters.get("loss")
        values = np.eye(len(classes)) if loss is None else np.array(loss, dtype=float)
        shares, differ = item_shares(problem, runs.n_folds), runs.kinds.ndim > 1

        def take(block: int, tables: RunTables) -> None:
            some = runs.rows(block)
            kinds = runs.kinds[some] if differ else runs.kinds[None]
            scores[some] = ((tables.counts * values).sum(axis=3) * shares[kinds]).sum(axis=(1, 2))
            confusions[some] = tables.counts.sum(axis=1)

        RunCounter(problem, neighbors, runs, CONFUSION, np.arange(runs.n_folds)).count(take, n_jobs)
    return ScoredRuns(
        scores=scores, confusions=confusions, classes=classes, expected=expected, measure=problem.measure
    )
