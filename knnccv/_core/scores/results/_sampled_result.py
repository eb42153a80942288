"""The result of decoupled sampling, `SampledCV`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...._base.typing import Array
from ...driver import Computation, Scores, ScoringProblem, summarize_scores
from ...driver.sampled import DrawnScores
from ...luck.scorings import unseen_error
from ._result import CompleteCV, described

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class SampledCV(CompleteCV):
    """An estimate of the mean score of a rule over all admissible training sets.

    For each sample, random training sets were drawn for this sample alone (decoupled sampling). The
    estimate has no bias. Each draw looks at the nearest samples only, and the draws of a sample are spread
    evenly over their possible choices, so that the standard error is smaller than that of as many splits of
    all samples: half as large for 100 draws, a third for 1,000, in the examples measured. All else is
    as in `CompleteCV`.

    Attributes
    ----------
    std_error : float
        Standard error of ``score``: the luck of the draws. It does not contain the luck of the data. It
        is itself a rough estimate if there are few draws, or if the draws of few samples disagree, and so
        contains what a single other draw would change. It is 0 only if no sample has a choice.
    per_item_std_error : ndarray of shape (n_items,)
        Standard errors of ``per_item``, estimated from the same draws: 0 if all of them agree, and for a
        sample whose score is exact.
    n_draws : int
        The training sets that were drawn for each sample that is sampled.
    n_sampled : int
        The number of samples that were sampled; the scores of the others are exact.
    is_exact : bool
        False.
    certified : bool
        False, and ``error_bound`` is infinite.
    n_tied : int
        Number of samples for which some draw met a group of tied neighbors with different labels.
    truncation_bound : float
        Bound of the error because of draws that went on beyond lists of limited depth; they score 0.

    Examples
    --------
    >>> from knnccv import KFold, complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = complete_cv(wine.X, wine.y, "nn", KFold(5), method="sampled", n_draws=100)
    >>> exact = complete_cv(wine.X, wine.y, "nn", KFold(5))
    >>> abs(found.score - exact.score) < 4 * found.std_error
    True
    """

    _json = CompleteCV._json + " std_error n_draws n_sampled"
    _shown = (
        "score std_error measure variant design n_train_sets n_draws n_sampled truncation_bound n_tied ties"
    )

    is_exact: ClassVar[bool] = False
    certified: bool = False
    std_error: float = 0.0
    per_item_std_error: Array = field(default_factory=lambda: np.empty(0))
    n_draws: int = 0
    n_sampled: int = 0

    def _reference(self) -> Any:
        """Nothing more can be computed from drawn training sets."""
        msg = (
            "this needs an exact score, but this one is estimated from random training sets (SampledCV); "
            "std_error has the luck of the draws"
        )
        raise ValueError(msg)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sample: label, score, weight and standard error; see `CompleteCV.to_frame`."""
        frame = super().to_frame()
        frame["std_error"] = self.per_item_std_error
        return frame


def summarize_sampled(
    evaluation: Computation, drawn: DrawnScores, rows: Array, known: Scores | None, started: float
) -> SampledCV:
    """The mean of drawn scores of the samples `rows`, and of `known` scores of all others."""
    problem = evaluation.problem
    scores, missed, tied, depth = drawn.scores, drawn.missed, drawn.tied, drawn.depth
    variances = drawn.variances
    sampled: Array = np.ones(scores.shape, bool)
    if known is not None:
        sampled = np.zeros(len(tied), bool)
        sampled[rows] = True
        sampled = sampled & np.isnan(known.scores)
        scores = np.where(sampled, scores, known.scores)
        missed = np.where(sampled, missed, known.tails)
        variances = np.where(sampled, variances, 0.0)
        tied, depth = known.tied | tied, max(depth, known.depth)
    by_class = np.array([[float(w) for w in row] for row in problem.item_weights])
    weights = by_class[:, problem.labels.codes]
    total = weights.sum(axis=0)
    spread = (weights**2 * variances).sum(axis=0)
    plain = summarize_scores(problem, Scores(scores, missed, tied, depth))
    values = {**vars(plain), **described(evaluation, started), "certified": False, "error_bound": math.inf}
    values["truncation_bound"] = problem.largest * float((weights * missed).sum())
    # Draws that are spread evenly hardly differ: few of their pairs, or none, show the variance.
    error = math.hypot(
        math.sqrt(math.fsum(spread)), _one_other_draw(problem, drawn, np.where(sampled, weights, 0.0))
    )
    apart = np.divide(np.sqrt(spread), total, out=np.zeros(len(total)), where=total > 0)
    return SampledCV(
        **values,
        std_error=error,
        per_item_std_error=apart,
        n_draws=sum(drawn.n_draws),
        n_sampled=len(rows),
    )


def _one_other_draw(problem: ScoringProblem, drawn: DrawnScores, weights: Array) -> float:
    """The standard error because of a draw with another score that none has; 0 if none can have.

    A sample has no choice if a single training set leaves it out, and no ties matter.
    """
    codes = problem.labels.codes
    largest = 0.0
    for kind, n_draws, each in zip(problem.training_sets, drawn.n_draws, weights, strict=True):
        n_train = np.array(kind.n_train)
        # A row for the stratum of the tested sample.
        left = np.array(kind.counts) - kind.held_out * np.eye(len(n_train), dtype=int)
        single = ((left == n_train) | (n_train == 0)).all(axis=1) & (not kind.n_extra)
        own = codes if kind.stratified else np.zeros_like(codes)
        free = each[~single[own] | drawn.tied]
        effect = problem.largest * float(free.max(initial=0.0))
        largest = max(largest, unseen_error(effect, n_draws))
    return largest
