"""A problem put to neighbors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .._formatting import uncertified
from .._parallel import ExecutorLike
from .._typing import Array, Kernel
from ..designs import GroupTrainingSets
from ..kernel import Variant
from ..neighbors import Neighbors
from ._confusion import expected_confusion
from ._exact import exact_scores
from ._problem import ScoringProblem
from ._result import CompleteCV, TieReport
from ._scores import float_scores, no_score
from ._summary import Scores, kind_weights, summarize_scores
from ._tie_report import tie_report


@dataclass(frozen=True)
class NeighborEvaluation:
    """A question, the neighbors it is asked of, and how."""

    question: ScoringProblem
    neighbors: Neighbors
    tol: float
    exact: bool
    n_jobs: int | None
    tie_order: int = 0

    def again(self, **parameters: Any) -> CompleteCV:
        """The answer with other parameters; the neighbors keep their lists."""
        question = replace(self.question, parameters={**self.question.parameters, **parameters})
        return replace(self, question=question).answer(keep=True)

    def answer(
        self, keep: bool, executor: ExecutorLike | None = None, progress: bool = False
    ) -> CompleteCV:
        """The answer; with `keep` the neighbors keep their lists."""
        found = self._scores(keep, executor, progress)
        linear = type(self.question.variant).over_kinds is Variant.over_kinds
        if not linear and self._asks_several():
            found = replace(found, scores=self._over_kinds(found.scores, executor))
        answer = summarize_scores(self.question, found)
        return uncertified(answer) if self.neighbors.approximate else answer

    def _asks_several(self) -> bool:
        """Whether kernels see several kinds of training sets, or one set of groups at a time."""
        kind = self.question.kinds[0]
        sets_of_groups = isinstance(kind, GroupTrainingSets) and kind.n_test_groups > 1
        return len(self.question.kinds) > 1 or sets_of_groups

    def with_tie_order(self, order: int) -> CompleteCV:
        """Return the result with tied samples in the order of what they score alone, in floating point."""
        return replace(self, exact=False, tie_order=order).answer(keep=True)

    def confusion(self, result: CompleteCV) -> Array:
        """Return the matrix of `CompleteCV.confusion`, not normalized."""
        return expected_confusion(result, self)

    def tie_report(self, result: CompleteCV) -> TieReport:
        """Return the report of `CompleteCV.tie_report`."""
        return tie_report(result, self)

    def _over_kinds(self, scores: Array, executor: ExecutorLike | None) -> Array:
        """The scores as the variant wants several kinds of training sets to be averaged."""
        question = self.question

        def ask(**parameters: Any) -> Array:
            other = replace(question, parameters={**question.parameters, **parameters})
            return replace(self, question=other)._scores(True, executor).scores

        return question.variant.over_kinds(
            scores, kind_weights(question, self.exact), ask, question.values.shape[1], **question.parameters
        )

    def _scores(self, keep: bool, executor: ExecutorLike | None, progress: bool = False) -> Scores:
        if self.exact:
            found = exact_scores(self.question, self.neighbors)
            # Ties count among the neighbors that floating point looks at, so that both modes agree.
            floating = self._float_scores(kernel=no_score)
            return replace(found, tied=floating.tied)
        return self._float_scores(keep, executor, progress)

    def _float_scores(
        self,
        keep: bool = False,
        executor: ExecutorLike | None = None,
        progress: bool = False,
        kernel: Kernel | None = None,
    ) -> Scores:
        return float_scores(
            self.question,
            self.neighbors,
            self.tol,
            n_jobs=self.n_jobs,
            tie_order=self.tie_order,
            keep=keep,
            executor=executor,
            progress=progress,
            kernel=kernel,
        )
