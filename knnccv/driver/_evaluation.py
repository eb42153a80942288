"""A problem together with the neighbors: computes a result, and further results from the same data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._formatting import uncertified
from .._parallel import ExecutorLike
from .._typing import Array
from ..designs import GroupTrainingSets
from ..inference import HalfScores
from ..kernel import Variant
from ._confusion import expected_confusion
from ._decoupled import sampled_scores
from ._exact import exact_scores
from ._halves import check_request, halves_of
from ._influence import influence
from ._influence_result import Influence
from ._method import Computation, is_exact, sees_distances, tested_scores
from ._result import CompleteCV
from ._sampled_result import summarize_sampled
from ._sampling import Sampling
from ._scores import float_scores, no_score
from ._split_result import SplitSpread
from ._split_spread import split_spread
from ._summary import Scores, kind_weights, summarize_scores
from ._target import HalvesRequest, check_finite
from ._tie_range import tie_report
from ._tie_report import TieReport


@dataclass(frozen=True)
class NeighborEvaluation(Computation):
    """A computation that can be repeated with other parameters."""

    def again(self, **parameters: Any) -> CompleteCV:
        """Return the result with other parameters; the neighbors keep their lists."""
        problem = replace(self.problem, parameters={**self.problem.parameters, **parameters})
        return replace(self._unchanged(), problem=problem).result(keep=True)

    def result(
        self, keep: bool, executor: ExecutorLike | None = None, progress: bool = False
    ) -> CompleteCV:
        """Compute the result; with `keep` the neighbors keep their lists."""
        if self.sampling is not None and not is_exact(self.problem, self.sampling.method):
            return self._sampled(self.sampling, None, keep, executor, progress)
        by_distance = sees_distances(self.problem)
        found = self._scores(keep or by_distance, executor, progress)
        if by_distance and np.isnan(found.scores[tested_scores(self.problem)]).any():
            return self._sampled(self.sampling, found, keep, executor, progress)
        linear = type(self.problem.variant).over_kinds is Variant.over_kinds
        if not linear and self._has_several_kinds():
            found = replace(found, scores=self._over_kinds(found.scores, executor))
        result = summarize_scores(self.problem, found)
        return uncertified(result) if self.neighbors.approximate else result

    def _sampled(
        self,
        sampling: Sampling | None,
        known: Scores | None,
        keep: bool,
        executor: ExecutorLike | None,
        progress: bool,
    ) -> CompleteCV:
        """The result from drawn training sets, for all samples or for those without a `known` score."""
        rows = np.arange(self.neighbors.n_items)
        if known is not None:
            rows = rows[(np.isnan(known.scores) & tested_scores(self.problem)).any(axis=0)]
        assert sampling is not None
        drawn = sampled_scores(
            self.problem,
            self.neighbors,
            sampling,
            rows,
            n_jobs=self.n_jobs,
            keep=keep,
            executor=executor,
            progress=progress,
        )
        return summarize_sampled(self.problem, drawn, rows, known)

    def _has_several_kinds(self) -> bool:
        """Return True if kernels see several kinds of training sets, or one set of groups at a time."""
        kind = self.problem.training_sets[0]
        sets_of_groups = isinstance(kind, GroupTrainingSets) and kind.n_test_groups > 1
        return len(self.problem.training_sets) > 1 or sets_of_groups

    def with_tie_order(self, order: int) -> CompleteCV:
        """Return the result with tied samples ordered by their single scores, in floating point."""
        return replace(self._unchanged(), exact=False, tie_order=order).result(keep=True)

    def _unchanged(self) -> NeighborEvaluation:
        """Return this evaluation for a further question; ValueError if X was changed after the score."""
        self.neighbors.check_unchanged()
        return self

    def confusion(self, result: CompleteCV) -> Array:
        """Return the matrix of `CompleteCV.confusion`, not normalized."""
        return expected_confusion(result, self)

    def tie_report(self, result: CompleteCV) -> TieReport:
        """Return the report of `CompleteCV.tie_report`."""
        return tie_report(result, self)

    def split_std(
        self, result: CompleteCV, method: str, n_repeats: int, random_state: Any, n_jobs: int | None
    ) -> SplitSpread:
        """Return the spread of `CompleteCV.split_std`."""
        check_finite(result)
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        near = self._unchanged().neighbors
        return split_spread(self.problem, near, result, self.tol, method, n_repeats, random_state, n_jobs)

    def influence(self, result: CompleteCV, n_jobs: int | None) -> Influence:
        """Return the changes of `CompleteCV.influence`."""
        check_finite(result)
        jobs = self.n_jobs if n_jobs is None else n_jobs
        return influence(result, self.problem, self._unchanged().neighbors, self.tol, jobs)

    def halves_request(
        self, result: CompleteCV, n_halvings: Any, groups: Any, random_state: Any
    ) -> HalvesRequest:
        """Return the checked arguments of `half_scores`."""
        check_finite(result)
        return check_request(self.problem, n_halvings, groups, random_state)

    def half_scores(self, result: CompleteCV, request: HalvesRequest) -> HalfScores:
        """Return the scores of random halves."""
        return halves_of(self.problem, self._unchanged().neighbors, result, request, self.n_jobs)

    def _over_kinds(self, scores: Array, executor: ExecutorLike | None) -> Array:
        """The scores, averaged over several kinds of training sets as the variant defines it."""
        problem = self.problem

        def scores_with(**parameters: Any) -> Array:
            other = replace(problem, parameters={**problem.parameters, **parameters})
            return replace(self, problem=other)._scores(True, executor).scores

        return problem.variant.over_kinds(
            scores,
            kind_weights(problem, self.exact),
            scores_with,
            problem.values.shape[1],
            **problem.parameters,
        )

    def _scores(self, keep: bool, executor: ExecutorLike | None, progress: bool = False) -> Scores:
        if not self.exact:
            return float_scores(self, keep=keep, executor=executor, progress=progress)
        # Ties are counted in the lists of the floating-point mode, so that both modes agree.
        found = exact_scores(self.problem, self.neighbors)
        return replace(found, tied=float_scores(self, kernel=no_score).tied)
