"""Decoupled sampling: A_x of every sample from training sets that are drawn for this sample alone.

The score is a mean of the A_x, and an expectation is linear. So the training sets of different samples may
be independent of each other, and a draw need not go farther along the neighbor list than to the K-th
training sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..designs import GroupTrainingSets, TrainingSets
from ..driver import (
    FIRST_MIXED_GROUPS,
    Jobs,
    Sampling,
    ScoringProblem,
    deepen,
    first_depth,
    first_mixed_groups,
    usable_lengths,
)
from ..kernel import (
    Constraints,
    Labels,
    Tables,
    Task,
    compile_decide,
    compile_driver,
    compile_kernel,
    constraints_for,
)
from ..neighbors import NeighborLists, Neighbors
from ._drawn_scores import (
    COLLECT_DRAWS,
    SCORE_DRAWS,
    collect_draws,
    decide_unused,
    kernel_unused,
    score_draws,
)

RARE = 2e-5
"""The first lists are so deep that half this share of the draws goes on beyond them."""
AT_ONCE = 2**20
"""Number of distances that `Variant.prepare_distances` gets at once; more if one sample has more."""
IN_CACHE = 2**16
"""The same without it: few enough for the processor's cache."""


@dataclass(frozen=True)
class DrawnScores:
    """Estimates of A_x for every sample and every kind of training sets.

    ``scores``, ``variances`` and ``missed`` have shape (n_kinds, n_items): the estimates, their variances,
    and the shares of the draws that go on beyond the neighbor lists. ``tied`` (n_items,) marks samples
    whose ties matter; ``depth`` is the largest depth used; ``n_draws`` (n_kinds,) are the numbers of draws.
    """

    scores: Array
    variances: Array
    missed: Array
    tied: Array
    depth: int
    n_draws: tuple[int, ...]


def draws_of(n_draws: int, probability: Fraction) -> int:
    """The number of draws for one kind of training sets, at least 2."""
    return max(2, math.ceil(n_draws * probability))


@dataclass(frozen=True)
class DrawnKind:
    """One kind of training sets, and how they are drawn and scored.

    ``sets`` are the constraints of the training sets, ``constraints`` those of a known one, for `decide` or
    the kernel. ``number`` is the place of the kind in the design.
    """

    decide: Kernel | None
    kernel: Kernel | None
    sets: Constraints
    constraints: Constraints
    n_draws: int
    untested: Array
    number: int

    @property
    def n_nearest(self) -> int:
        """The number of nearest training samples that decide."""
        return self.constraints.n_nearest


@dataclass(frozen=True)
class DrawScorer:
    """Everything a worker needs to estimate the scores of a block of samples.

    ``strata_of`` int64 (n_items,) are the strata of the samples, or their groups if `of_groups`.
    ``prepare`` is `Variant.prepare_distances` with the parameters, or None.
    """

    neighbors: Neighbors
    labels: Labels
    strata_of: Array
    of_groups: bool
    kinds: tuple[DrawnKind, ...]
    average_ties: bool
    seed: int
    name: str
    prepare: Callable[[Array], Any] | None

    def compile(self) -> None:
        """Compile the functions that blocks call, or load them from the cache; once per process."""
        owner = f"variant {self.name!r}"
        for kind in self.kinds:
            compile_decide(kind.decide or decide_unused, owner)
            compile_kernel(kind.kernel or kernel_unused, owner)
        compile_driver(first_mixed_groups, FIRST_MIXED_GROUPS)
        compile_driver(collect_draws, COLLECT_DRAWS)
        compile_driver(score_draws, SCORE_DRAWS)

    def __call__(
        self, lists: NeighborLists, rows: Array
    ) -> tuple[tuple[Array, Array, Array, Array], Array]:
        """Return estimates, and a mask of rows whose draws go on beyond their lists.

        These are scores, variances and shares beyond the lists (n_kinds, n_rows), and a mask of tied rows.

        Raises
        ------
        ValueError
            If the rule returns a score that is not a number.
        """
        lengths = usable_lengths(lists, self.neighbors, self.average_ties)
        found = np.zeros((3, len(self.kinds), len(rows)))
        reach = np.zeros((len(self.kinds), len(rows)), np.int64)
        mixed = np.empty(len(rows), np.int64)
        first_mixed_groups(lists.items, lists.values, lengths, self.labels, mixed)
        distances = lists.values
        if self.kinds[0].decide is not None:
            distances = self.neighbors.distances_of(lists)
        block = lists.items, lists.values, distances, lengths, rows
        for j, kind in enumerate(self.kinds):
            with np.errstate(over="ignore"):  # without compilation, random numbers overflow
                self._score(kind, block, found[:, j], reach[j])
            self._check(kind, found[0, j], rows)
            untested = kind.untested[self.labels.classes[rows]]
            found[0, j, untested], found[1:, j, untested], reach[j, untested] = np.nan, 0.0, 0
        tied = (mixed >= 0) & (reach.max(axis=0) > mixed)
        return (found[0], found[1], found[2], tied), (found[2] > 0).any(axis=0)

    def _score(self, kind: DrawnKind, block: tuple[Array, ...], found: Array, reach: Array) -> None:
        """Draw and score a few rows at a time."""
        rows = block[-1]
        k, n_draws = kind.n_nearest, kind.n_draws
        step = max(1, (IN_CACHE if self.prepare is None else AT_ONCE) // (n_draws * k))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            some = tuple(each[part] for each in block)
            n_rows = len(some[-1])
            near, apart = np.empty((n_rows, n_draws, k), np.int64), np.empty((n_rows, n_draws, k))
            numbers = np.empty((n_rows, n_draws), np.int64)
            collect_draws(
                *some,
                self.average_ties,
                self.strata_of,
                self.of_groups,
                kind.sets,
                np.uint64(self.seed),
                kind.number,
                near,
                apart,
                numbers,
                reach[part],
                stop_flag(),
            )
            if stop_flag()[0]:
                return
            if self.prepare is not None:
                apart = self._prepared(apart.reshape(-1, k)).reshape(apart.shape)
            each = np.empty((3, n_rows))
            score_draws(
                kind.decide or decide_unused,
                kind.kernel or kernel_unused,
                kind.decide is not None,
                near,
                apart,
                numbers,
                some[-1],
                self.labels,
                kind.constraints,
                *each,
                stop_flag(),
            )
            found[:, part] = each

    def _prepared(self, distances: Array) -> Array:
        """What `decide` gets in place of the distances (n_draws, k)."""
        assert self.prepare is not None
        given = self.prepare(distances.copy())
        if given is None:
            return distances
        if np.asarray(given).dtype.kind not in "biufO":
            msg = (
                f"prepare_distances of variant {self.name!r} must return real numbers, got "
                f"{np.asarray(given).dtype}"
            )
            raise TypeError(msg)
        prepared = np.require(given, np.float64, ("C", "W"))
        if prepared.shape != distances.shape:
            msg = (
                f"prepare_distances of variant {self.name!r} must return an array of shape "
                f"{distances.shape}, the shape of the distances, got {prepared.shape}"
            )
            raise ValueError(msg)
        return prepared

    def _check(self, kind: DrawnKind, scores: Array, rows: Array) -> None:
        bad = ~np.isfinite(scores)
        if bad.any() and not stop_flag()[0]:
            at = int(np.argmax(bad))
            what = "function decide" if kind.decide is not None else "kernel"
            msg = (
                f"the {what} of variant {self.name!r} returned a score that is not a finite number for "
                f"sample {int(rows[at])}: the mean over its training sets is {scores[at]}"
            )
            raise ValueError(msg)


def sampled_scores(
    problem: ScoringProblem,
    neighbors: Neighbors,
    sampling: Sampling,
    rows: Array,
    jobs: Jobs,
    *,
    keep: bool = False,
) -> DrawnScores:
    """Estimates of A_x for some samples; lists are deepened where draws go on beyond them."""
    scorer = draw_scorer(problem, neighbors, sampling)
    scores, variances, missed = np.zeros((3, len(problem.training_sets), neighbors.n_items))
    tied = np.zeros(neighbors.n_items, bool)

    def take(block: Array, depth: int, found: tuple[Any, ...], is_open: Array) -> None:  # noqa: ARG001
        scores[:, block], variances[:, block], missed[:, block], tied[block] = found

    keep = keep and len(rows) == neighbors.n_items
    deepest = deepen(scorer, rows, first_depth(problem, neighbors, RARE), take, jobs, keep=keep)
    return DrawnScores(
        scores, variances, missed, tied, deepest, tuple(kind.n_draws for kind in scorer.kinds)
    )


def draw_scorer(problem: ScoringProblem, neighbors: Neighbors, sampling: Sampling) -> DrawScorer:
    """The scorer of a problem, compiled."""
    kinds = []
    for number, kind in enumerate(problem.training_sets):
        sets = constraints_for(problem.task(kind), Tables(), n_nearest=problem.nearest(kind))
        decide, kernel, known = decision_of(problem, kind)
        n_draws = draws_of(sampling.n_draws, kind.probability)
        untested = problem.never_tested()[number]
        constraints = problem.constraints(known)
        kinds.append(DrawnKind(decide, kernel, sets, constraints, n_draws, untested, number))
    groups = getattr(problem.design, "codes", None) if problem.leaves_groups else None
    strata = np.zeros(neighbors.n_items, np.int64) if groups is None else groups
    if problem.training_sets[0].stratified:
        strata = problem.labels.codes
    scorer = DrawScorer(
        neighbors,
        problem.kernel_labels(),
        np.require(strata, np.int64, ("C", "W")),
        groups is not None,
        tuple(kinds),
        problem.ties == "random",
        sampling.seed,
        problem.variant.name,
        preparation_of(problem),
    )
    scorer.compile()
    return scorer


def preparation_of(problem: ScoringProblem) -> Callable[[Array], Any] | None:
    """`Variant.prepare_distances` with the parameters, or None if the rule does not need it."""
    variant = problem.variant
    if variant.decision() is None or not variant.prepares_distances(**problem.parameters):
        return None
    return partial(variant.prepare_distances, **problem.parameters)


def decision_of(problem: ScoringProblem, kind: TrainingSets) -> tuple[Kernel | None, Kernel | None, Task]:
    """The function that scores one training set, or the kernel that does; and the task of such a set.

    Without `decide` a kernel serves that is given the nearest samples of a known training set.
    """
    variant = problem.variant
    owner = f"variant {variant.name!r}"
    n_classes = len(problem.labels.classes)
    decide = variant.decision()
    known = problem.known_training_set_task(kind.most_train)
    if decide is not None:
        if not isinstance(kind, GroupTrainingSets):
            sizes = kind.n_train, kind.n_train
            known = Task(*sizes, kind.stratified, 0, n_classes, extra=kind.extra, n_extra=kind.n_extra)
        return compile_decide(decide, owner), None, known
    if type(variant).fixed is None:
        flags = [int(stratum in kind.extra) for stratum in range(len(kind.n_train))]
        most = tuple(n + flag for n, flag in zip(kind.n_train, flags, strict=True))
        known = Task(most, most, kind.stratified, 0, n_classes)
    return None, compile_kernel(variant.kernel_for(known), owner), known
