"""Scores, unknown shares and ties of samples, for one kind of training sets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..kernel import Constraints, Labels, compile_driver, compile_kernel
from ..neighbors import NeighborLists
from ..sampling import STRATIFIED_TAILS, stratified_tails
from ._light_kernels import compile_first, first_kernel, light_kernels, not_served
from ._problem import ScoringProblem
from ._rows import SCORE_ROWS, score_rows, score_rows_by_distance


@dataclass(frozen=True)
class KindScorer:
    """The kernel of one kind of training sets, and everything it needs besides the samples.

    A position of a neighbor list matters as long as fewer than K of the samples before it are in the
    training set. The probability of that, its *tail*, falls along the list.

    Attributes
    ----------
    kernel, light : jitted function
        The full kernel, and the light one that is called first, or None.
    constraints : Constraints
        The description of the training sets for the kernel.
    n_nearest : int
        The number of nearest training samples that decide.
    fixed_tail : ndarray of shape (n_available + 1,), or None
        The tail after every number of samples; None if it depends on their classes (stratified designs).
    untested : bool ndarray of shape (n_classes,)
        Classes whose samples are in every training set.
    sees_distances : bool
        Whether the kernel gets the distances of the listed samples.
    """

    kernel: Kernel
    light: Kernel | None
    constraints: Constraints
    n_nearest: int
    fixed_tail: Array | None
    untested: Array
    sees_distances: bool = False

    def up_to(self, depth: int) -> KindScorer:
        """The same scorer for lists up to this depth, without tails that they do not reach."""
        return self if self.fixed_tail is None else replace(self, fixed_tail=self.fixed_tail[: depth + 1])

    def scores(
        self,
        lists: NeighborLists,
        lengths: Array,
        rows: Array,
        labels: Labels,
        average_ties: bool,
        distances: Array | None = None,
    ) -> Array:
        """A_x of every row, shape (n_rows,); NaN for samples that are never tested."""
        if self.sees_distances:
            scores = self._run_by_distance(lists, distances, lengths, rows, labels, average_ties)
            scores[self.untested[labels.classes[rows]]] = np.nan
            return scores
        first = first_kernel(self.light, self.kernel)
        scores = self._run(first, lists, lengths, rows, labels, average_ties)
        left = not_served(scores) if first is not self.kernel else rows[:0]
        if len(left):
            rest = lists.cut(left, lists.items.shape[1])
            full = compile_kernel(self.kernel, "the scorer")
            scores[left] = self._run(full, rest, lengths[left], rows[left], labels, average_ties)
        scores[self.untested[labels.classes[rows]]] = np.nan
        return scores

    def leave_out_untested(self, scores: Array, tails: Array, rows: Array, labels: Labels) -> None:
        """Set the scores of samples that are never tested to NaN, and their tails to 0."""
        untested = self.untested[labels.classes[rows]]
        scores[untested], tails[untested] = np.nan, 0.0

    def tails(self, lists: NeighborLists, lengths: Array, rows: Array, labels: Labels) -> Array:
        """The probability that the listed samples do not decide, shape (n_rows,)."""
        tails = self._tails_after(lengths, lists.items, rows, labels)
        tails[self.untested[labels.classes[rows]]] = 0.0
        return tails

    def ties_that_matter(
        self, mixed: Array, lists: NeighborLists, rows: Array, labels: Labels, tol: float
    ) -> Array:
        """Mark rows with a tied group of different labels that is reached with probability > ``tol / 2``.

        `mixed` has the start of the first such group of every row, -1 for none: later ones are reached less
        often. All lists that are deep enough for `tol` give the same answer, whatever their depth.
        """
        tied = mixed >= 0
        unsure = np.flatnonzero(mixed >= self.n_nearest)  # fewer samples never decide
        if len(unsure):
            items = lists.items if self.fixed_tail is not None else lists.items[unsure]
            tied[unsure] = self._tails_after(mixed[unsure], items, rows[unsure], labels) > tol / 2
        tied &= ~self.untested[labels.classes[rows]]
        return tied

    def _tails_after(self, lengths: Array, items: Array, rows: Array, labels: Labels) -> Array:
        """The tails after that many samples of every row; `items` matter in stratified designs only."""
        if self.fixed_tail is not None:
            known: Array = self.fixed_tail[lengths]
            return known
        tails = np.empty(len(rows))
        fill = compile_driver(stratified_tails, STRATIFIED_TAILS)
        fill(items, lengths, rows, labels, self.constraints, self.n_nearest, tails)
        return tails

    def _run_by_distance(
        self,
        lists: NeighborLists,
        distances: Array | None,
        lengths: Array,
        rows: Array,
        labels: Labels,
        average_ties: bool,
    ) -> Array:
        scores = np.zeros(len(rows))
        score_rows_by_distance(
            self.kernel,
            lists.items,
            lists.values,
            distances,
            lengths,
            rows,
            average_ties,
            labels,
            self.constraints,
            scores,
            stop_flag(),
        )
        return scores

    def _run(
        self,
        kernel: Kernel,
        lists: NeighborLists,
        lengths: Array,
        rows: Array,
        labels: Labels,
        average_ties: bool,
    ) -> Array:
        scores = np.zeros(len(rows))
        score_rows(
            kernel,
            lists.items,
            lists.values,
            lengths,
            rows,
            average_ties,
            labels,
            self.constraints,
            scores,
            stop_flag(),
        )
        return scores


def known_set_scorer(problem: ScoringProblem, n_train: int) -> KindScorer:
    """The scorer of samples by one known training set of this size, compiled."""
    task = problem.known_training_set_task(n_train)
    constraints = problem.constraints(task)
    kernel = problem.variant.kernel_for(task)
    light = light_kernels(problem.variant, [task], [constraints])
    compile_first(light, [kernel], f"variant {problem.variant.name!r}")
    compile_driver(score_rows, SCORE_ROWS)
    never = np.zeros(len(problem.labels.classes), bool)
    nearest = problem.variant.n_nearest(**problem.parameters)
    return KindScorer(kernel, light[0], constraints, nearest, None, never)
