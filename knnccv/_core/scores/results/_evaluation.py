"""A problem together with the neighbors: computes a result, and further results from the same data."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...._base.parallel import ExecutorLike
from ...._base.typing import Array, Kernel
from ....designs import LeaveGroupsOut, TrainingSets
from ....kernel import Variant
from ...driver import (
    BlockScorer,
    Computation,
    Jobs,
    Scored,
    Scores,
    block_scorer,
    exact_scores,
    float_scores,
    is_exact,
    kind_weights,
    may_leave_out,
    no_score,
    sees_distances,
    summarize_scores,
    tested_scores,
)
from ...driver.groups import GroupScorer, exact_group_scores, group_scorer
from ...driver.sampled import sampled_scores
from ...luck.halves import HalvesRequest, check_finite, check_request, halves_of
from ...luck.inference import HalfScores
from ._result import CompleteCV, result_of
from ._sampled_result import summarize_sampled


@dataclass(frozen=True)
class NeighborEvaluation(Computation):
    """A computation that can be repeated with other parameters."""

    def again(self, **parameters: Any) -> CompleteCV:
        """Return the result with other parameters; the neighbors keep their lists."""
        problem = replace(self.problem, parameters={**self.problem.parameters, **parameters})
        return replace(self.unchanged(), problem=problem).result(keep=True)

    def each(self, parameters: Iterable[Mapping[str, Any]]) -> list[CompleteCV]:
        """Return the results with other parameters, from the same drawn training sets.

        Each is that of its parameters alone. The first ones need the most neighbors.
        """
        given = self.unchanged().problem
        others = [replace(given, parameters={**given.parameters, **other}) for other in parameters]
        return results_of([replace(self, problem=other) for other in others], True, Jobs(self.n_jobs))

    def result(
        self,
        keep: bool,
        executor: ExecutorLike | None = None,
        progress: bool = False,
        started: float | None = None,
    ) -> CompleteCV:
        """Compute the result; with `keep` the neighbors keep their lists."""
        return results_of([self], keep, Jobs(self.n_jobs, executor, progress), started)[0]

    def _known(self, keep: bool, jobs: Jobs) -> tuple[Scores | None, Array]:
        """The exact scores, and a mask of the samples without one that are to be sampled."""
        problem = self.problem
        if self.sampling is not None and not is_exact(problem, self.sampling.method):
            return None, np.ones(self.neighbors.n_items, bool)
        found = self._scores(keep or sees_distances(problem), jobs)
        if not may_leave_out(problem) or self.exact:
            return found, np.zeros(self.neighbors.n_items, bool)
        is_open = np.any(np.isnan(found.scores) & tested_scores(problem), axis=0)
        return found, is_open

    def _exact(self, found: Scores, jobs: Jobs, started: float) -> CompleteCV:
        """The result from exact scores of all samples."""
        if not self._is_mean_over_kinds():
            found = replace(found, scores=self._over_kinds(found.scores, jobs._replace(progress=False)))
        return result_of(self, summarize_scores(self.problem, found), started)

    def _is_mean_over_kinds(self) -> bool:
        """Return True if scores are means over kinds of training sets, or there is only one set to see."""
        sets_of_groups = self.problem.leaves_groups and cast(LeaveGroupsOut, self.problem.design).p > 1
        linear = type(self.problem.variant).over_kinds is Variant.over_kinds
        return linear or not (len(self.problem.training_sets) > 1 or sets_of_groups)

    def with_labels_of(self, depth: int) -> Callable[[Array], Scored]:
        """A function of a permutation of the samples: the result with the labels of ``permutation[i]``.

        It may be called in threads. All calls share the lists of this depth, and the kernels' tables: half
        the time of `result`. Where a list is too short for some labels, where many samples are equal, and
        for rules that see distances or are sampled, `result` computes the score.
        """
        given, near = self.problem, self.neighbors
        method = "exact" if self.sampling is None else self.sampling.method
        single = given.ties != "random" or given.leaves_groups or near.distinct_rows() is None
        shared = single and is_exact(given, method) and not sees_distances(given) and not self.exact
        lists = near.all_lists(depth, self.n_jobs) if shared and self._is_mean_over_kinds() else None
        rows = np.arange(near.n_items)

        @functools.lru_cache(maxsize=64)  # folds may depend on the order in which the classes appear
        def scorer_of(kinds: tuple[TrainingSets, ...]) -> Any:
            return replace(self, problem=replace(given, training_sets=kinds))._scorer()

        def result(permutation: Array) -> Scored:
            problem = given.with_labels_of(permutation)
            if lists is not None:
                scorer = replace(scorer_of(problem.training_sets), labels=problem.kernel_labels())
                (scores, tails, tied), is_open = scorer(lists, rows)
                known = not np.isnan(scores[tested_scores(problem)]).any()
                if known and (depth >= near.max_depth or not is_open.any()):
                    return summarize_scores(problem, Scores(scores, tails, tied, depth))
            return replace(self, problem=problem, n_jobs=1).result(keep=False)

        return result

    def with_tie_order(self, order: int) -> CompleteCV:
        """Return the result with tied samples ordered by their single scores, in floating point."""
        return replace(self.unchanged(), exact=False, tie_order=order).result(keep=True)

    def unchanged(self) -> NeighborEvaluation:
        """Return this evaluation for a further question; ValueError if X was changed after the score."""
        self.neighbors.check_unchanged()
        return self

    def halves_request(
        self, result: CompleteCV, n_halvings: Any, groups: Any, random_state: Any
    ) -> HalvesRequest:
        """Return the checked arguments of `half_scores`."""
        check_finite(result)
        return check_request(self.problem, n_halvings, groups, random_state)

    def half_scores(self, result: CompleteCV, request: HalvesRequest) -> HalfScores:
        """Return the scores of random halves."""
        return halves_of(self.problem, self.unchanged().neighbors, result, request, self.n_jobs)

    def _over_kinds(self, scores: Array, jobs: Jobs) -> Array:
        """The scores, averaged over several kinds of training sets as the variant defines it."""
        problem = self.problem

        def scores_with(**parameters: Any) -> Array:
            other = replace(problem, parameters={**problem.parameters, **parameters})
            return replace(self, problem=other)._scores(True, jobs).scores

        return problem.variant.over_kinds(
            scores,
            kind_weights(problem, self.exact),
            scores_with,
            problem.values.shape[1],
            **problem.parameters,
        )

    def _scores(self, keep: bool, jobs: Jobs) -> Scores:
        if not self.exact:
            return float_scores(self, self._scorer(), jobs, keep=keep)
        if self.problem.leaves_groups:
            found = exact_group_scores(self.problem, self.neighbors)
        else:
            found = exact_scores(self.problem, self.neighbors)
        # Ties are counted in the lists of the floating-point mode, so that both modes agree.
        ties = float_scores(self, self._scorer(no_score), Jobs(self.n_jobs), complete=False)
        return replace(found, tied=ties.tied)

    def _scorer(self, kernel: Kernel | None = None) -> BlockScorer | GroupScorer:
        """The scorer of the problem; with another kernel than the variant's, if given."""
        if self.problem.leaves_groups:
            return group_scorer(self.problem, self.neighbors, self.tol, kernel=kernel)
        return block_scorer(self.problem, self.neighbors, self.tol, self.tie_order, kernel)


def results_of(
    them: Sequence[NeighborEvaluation], keep: bool, jobs: Jobs, started: float | None = None
) -> list[CompleteCV]:
    """The results of rules that differ in their parameters; training sets are drawn once for all.

    Their seconds count from `started`, by default from now.
    """
    started = time.perf_counter() if started is None else started
    known = [one._known(keep, jobs) for one in them]
    drawn = [one for one, (_, is_open) in zip(them, known, strict=True) if is_open.any()]
    if drawn:
        sampling, rows = them[0].sampling, np.flatnonzero(np.any([is_open for _, is_open in known], axis=0))
        assert sampling is not None
        problems, near = [one.problem for one in drawn], them[0].neighbors
        estimates = iter(sampled_scores(problems, near, sampling, rows, jobs, keep=keep))
    results: list[CompleteCV] = []
    for one, (found, is_open) in zip(them, known, strict=True):
        if is_open.any():
            estimate = next(estimates)
            estimate, rows = replace(estimate, tied=estimate.tied & is_open), np.flatnonzero(is_open)
            results.append(summarize_sampled(one, estimate, rows, found, started))
        else:
            results.append(one._exact(cast(Scores, found), jobs, started))
    return results
