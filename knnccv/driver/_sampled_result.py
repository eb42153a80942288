"""The result of decoupled sampling, `SampledCV`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from .._formatting import _listed
from .._typing import Array
from ._problem import ScoringProblem
from ._result import CompleteCV, Evaluation
from ._sampling import DrawnScores
from ._summary import Scores, summarize_scores

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class SampledCV(CompleteCV):
    """An estimate of the mean score of a rule over all admissible training sets.

    For each sample, random training sets were drawn for this sample alone (decoupled sampling). The mean of
    the samples' expected scores is estimated without bias, with a far smaller standard error than from as
    many splits of all samples. Everything else is as in `CompleteCV`.

    Attributes
    ----------
    std_error : float
        Standard error of ``score``: the luck of the draws. It does not contain the luck of the data.
    per_item_std_error : ndarray of shape (n_items,)
        Standard errors of ``per_item``, from few replicates, so that a single one is uncertain; 0 for a
        sample whose score is exact.
    n_draws : int
        The training sets that were drawn for each sample that is sampled.
    exact : bool
        False.
    certified : bool
        False, and ``error_bound`` is infinite.
    truncation_bound : float
        Bound of the error because of draws that went on beyond lists of limited depth; they score 0.
    """

    exact: Any = False
    certified: bool = False
    std_error: float = 0.0
    per_item_std_error: Array = field(default_factory=lambda: np.empty(0))
    n_draws: int = 0

    def __repr__(self) -> str:
        cut = (
            f", lists too short: off by up to {self.truncation_bound:.1e}" if self.truncation_bound else ""
        )
        return (
            f"<SampledCV {self.score:.6g} ± {self.std_error:.2g}: {self.variant}{_listed(self.parameters)} "
            f"over {self.design}, {self.measure} of {self.n_draws} random training sets for each of "
            f"{len(self.per_item)} samples{cut}, {self.tied} samples tied (ties={self.ties!r})>"
        )

    def _reference(self) -> Evaluation:
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
    problem: ScoringProblem, drawn: DrawnScores, rows: Array, known: Scores | None
) -> SampledCV:
    """The mean of drawn scores of the samples `rows`, and of `known` scores of all others."""
    scores, missed, tied, depth = drawn.scores, drawn.missed, drawn.tied, drawn.depth
    variances = drawn.variances
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
    values = {each.name: getattr(plain, each.name) for each in fields(CompleteCV)}
    values |= {"exact": False, "certified": False, "error_bound": math.inf}
    values["truncation_bound"] = problem.largest * float((weights * missed).sum())
    apart = np.divide(np.sqrt(spread), total, out=np.zeros(len(total)), where=total > 0)
    return SampledCV(
        **values,
        std_error=math.sqrt(math.fsum(spread)),
        per_item_std_error=apart,
        n_draws=drawn.n_draws,
    )
