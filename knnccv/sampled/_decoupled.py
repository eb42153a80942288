"""Decoupled sampling: A_x of every sample from training sets that are drawn for this sample alone.

The score is a mean of the A_x, and an expectation is linear. So the training sets of different samples may
be independent of each other, and a draw need not go farther along the neighbor list than to the K-th
training sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..designs import GroupTrainingSets, LeaveGroupsOut, TrainingSets
from ..driver import (
    FIRST_MIXED_GROUPS,
    Jobs,
    Rows,
    Sampling,
    ScoringProblem,
    deepen,
    first_depth,
    first_mixed_groups,
    usable_lengths,
)
from ..kernel import (
    DECIDES,
    Constraints,
    Labels,
    Tables,
    Task,
    compile_driver,
    compile_kernel,
    constraints_for,
)
from ..neighbors import NeighborLists, Neighbors
from ._draws import (
    COLLECT_DRAWS,
    SCORE_DRAWS,
    Draws,
    Urn,
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


class DrawnKind(NamedTuple):
    """One kind of training sets, and how they are drawn and scored.

    ``decide`` or the ``kernel`` scores a draw, by the ``constraints`` of a known training set; the other is
    unused. Samples of the classes ``untested`` have no score.
    """

    urn: Urn
    decide: Kernel
    kernel: Kernel
    constraints: Constraints
    n_draws: int
    untested: Array


@dataclass(frozen=True)
class DrawScorer:
    """Everything a worker needs to estimate the scores of a block of samples.

    ``prepare`` is `Variant.prepare_distances` with the parameters, or None; ``owner`` names the rule.
    """

    neighbors: Neighbors
    labels: Labels
    kinds: tuple[DrawnKind, ...]
    average_ties: bool
    has_decide: bool
    owner: str
    prepare: Callable[[Array], Any] | None

    def compile(self) -> None:
        """Compile the functions that blocks call, or load them from the cache; once per process."""
        for kind in self.kinds:
            compile_kernel(kind.decide, self.owner, DECIDES, now=False)
            compile_kernel(kind.kernel, self.owner, now=False)
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
        mixed = np.empty(len(rows), np.int64)
        first_mixed_groups(lists.items, lists.values, lengths, self.labels, mixed)
        block = Rows(lists.items, lists.values, lengths, rows, self.average_ties)
        distances = self.neighbors.distances_of(lists) if self.has_decide else lists.values
        found = np.zeros((3, len(self.kinds), len(rows)))
        reach = np.zeros((len(self.kinds), len(rows)), np.int64)
        for j, kind in enumerate(self.kinds):
            with np.errstate(over="ignore"):  # without compilation, random numbers overflow
                self._score(kind, block, distances, found[:, j], reach[j])
            self._check(found[0, j], rows)
            untested = kind.untested[self.labels.classes[rows]]
            found[0, j, untested], found[1:, j, untested], reach[j, untested] = np.nan, 0.0, 0
        tied = (mixed >= 0) & (reach.max(axis=0) > mixed)
        return (found[0], found[1], found[2], tied), (found[2] > 0).any(axis=0)

    def _score(self, kind: DrawnKind, block: Rows, distances: Array, found: Array, reach: Array) -> None:
        """Draw and score a few rows at a time."""
        shape = kind.n_draws, kind.constraints.n_nearest
        step = max(1, (IN_CACHE if self.prepare is None else AT_ONCE) // math.prod(shape))
        for start in range(0, len(block.targets), step):
            part = slice(start, start + step)
            some = Rows._make((*(each[part] for each in block[:-1]), block.average_ties))
            size = len(some.targets), *shape
            numbers = np.empty(size[:2], np.int64)
            draws = Draws(np.empty(size, np.int64), np.empty(size), numbers, some.targets)
            collect_draws(some, distances[part], kind.urn, draws, reach[part], stop_flag())
            if stop_flag()[0]:
                return
            if self.prepare is not None:
                prepared = self._prepared(draws.distances.reshape(-1, size[2]))
                draws = draws._replace(distances=prepared.reshape(size))
            each = np.empty((3, size[0]))
            rule = kind.decide, kind.kernel, self.has_decide
            score_draws(*rule, draws, self.labels, kind.constraints, each, stop_flag())
            found[:, part] = each

    def _prepared(self, distances: Array) -> Array:
        """What `decide` gets in place of the distances (n_draws, k)."""
        assert self.prepare is not None
        given = self.prepare(distances.copy())
        if given is None:
            return distances
        if np.asarray(given).dtype.kind not in "biufO":
            msg = (
                f"prepare_distances of {self.owner} must return real numbers, got {np.asarray(given).dtype}"
            )
            raise TypeError(msg)
        prepared = np.require(given, np.float64, ("C", "W"))
        if prepared.shape != distances.shape:
            msg = (
                f"prepare_distances of {self.owner} must return an array of shape {distances.shape}, the "
                f"shape of the distances, got {prepared.shape}"
            )
            raise ValueError(msg)
        return prepared

    def _check(self, scores: Array, rows: Array) -> None:
        bad = ~np.isfinite(scores)
        if bad.any() and not stop_flag()[0]:
            at = int(np.argmax(bad))
            source = "function decide" if self.has_decide else "kernel"
            msg = (
                f"the {source} of {self.owner} returned a score that is not a finite number for sample "
                f"{int(rows[at])}: the mean over its training sets is {scores[at]}"
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
    variant, of_groups, decide = problem.variant, problem.leaves_groups, problem.variant.decision()
    classes = problem.kernel_labels().classes
    strata = np.zeros(len(classes), np.int64)
    if of_groups:
        codes = cast(LeaveGroupsOut, problem.design).codes
        tested_apart = np.full(len(classes) - len(codes), codes.max() + 1)  # a group that is never drawn
        strata = np.concatenate([tested_apart, codes])
    elif problem.training_sets[0].stratified:
        strata = classes
    strata = np.require(strata, np.int64, ("C", "W"))
    kinds = []
    for number, kind in enumerate(problem.training_sets):
        sets = constraints_for(problem.task(kind), Tables(), n_nearest=problem.nearest(kind))
        seed: Any = np.uint64(sampling.seed)
        urn = Urn(strata, of_groups, kind.n_available, sets, seed, number)
        known = known_set(problem, kind)
        rule = decide or decide_unused, kernel_unused if decide else variant.kernel_for(known)
        n_draws = max(2, math.ceil(sampling.n_draws * kind.probability))
        untested = problem.never_tested()[number]
        kinds.append(DrawnKind(urn, *rule, problem.constraints(known), n_draws, untested))
    prepare = None
    if decide is not None and variant.prepares_distances(**problem.parameters):
        prepare = partial(variant.prepare_distances, **problem.parameters)
    scorer = DrawScorer(
        neighbors,
        problem.kernel_labels(),
        tuple(kinds),
        problem.ties == "random",
        decide is not None,
        f"variant {variant.name!r}",
        prepare,
    )
    scorer.compile()
    return scorer


def known_set(problem: ScoringProblem, kind: TrainingSets) -> Task:
    """The task of one drawn training set."""
    known = problem.known_training_set_task(kind.most_train)
    if problem.variant.decision() is not None:
        if isinstance(kind, GroupTrainingSets):
            return known
        return replace(
            known,
            n_train=kind.n_train,
            counts=kind.n_train,
            stratified=kind.stratified,
            extra=kind.extra,
            n_extra=kind.n_extra,
        )
    if type(problem.variant).fixed is None:
        most = tuple(n + (stratum in kind.extra) for stratum, n in enumerate(kind.n_train))
        return replace(known, n_train=most, counts=most, stratified=kind.stratified)
    return known
