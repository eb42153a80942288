"""Decoupled sampling: A_x of every sample from training sets that are drawn for this sample alone.

The score is a mean of the A_x, and an expectation is linear. So the training sets of different samples may
be independent of each other, and a draw need not go farther along the neighbor list than to the K-th
training sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from ...._base.parallel import stop_flag
from ...._base.typing import Array, Kernel
from ....designs import GroupTrainingSets, LeaveGroupsOut, TrainingSets
from ....kernel import (
    DECIDES,
    Constraints,
    Labels,
    Tables,
    Task,
    compile_driver,
    compile_kernel,
    constraints_for,
)
from ....neighbors import NeighborLists, Neighbors
from .._deepen import Jobs, deepen, first_depth
from .._problem import ScoringProblem
from .._rows import FIRST_MIXED_GROUPS, Rows, first_mixed_groups, usable_lengths
from .._validation import Sampling
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

    ``decide`` or the ``kernel`` scores a draw, by the ``constraints`` of a known training set, one for
    every problem; the other is unused. Samples of the classes ``untested`` have no score.
    """

    urn: Urn
    decide: Kernel
    kernel: Kernel
    constraints: tuple[Constraints, ...]
    n_draws: int
    untested: Array


@dataclass(frozen=True)
class DrawScorer:
    """Everything a worker needs to estimate the scores of a block of samples.

    ``prepare`` is `Variant.prepare_distances` with the parameters, or None, for every problem; ``owner``
    names the rule.
    """

    neighbors: Neighbors
    labels: Labels
    kinds: tuple[DrawnKind, ...]
    average_ties: bool
    has_decide: bool
    owner: str
    prepare: tuple[Callable[[Array], Any] | None, ...]

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

        These are scores, variances and shares beyond the lists (n_problems, n_kinds, n_rows), and a mask of
        tied rows (n_problems, n_rows).

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
        size = len(self.prepare), len(self.kinds), len(rows)
        found, reach = np.zeros((3, *size)), np.zeros(size, np.int64)
        for j, kind in enumerate(self.kinds):
            with np.errstate(over="ignore"):  # without compilation, random numbers overflow
                self._score(kind, block, distances, found[:, :, j], reach[:, j])
            untested = kind.untested[self.labels.classes[rows]]
            for scores in found[0, :, j]:
                self._check(scores, rows)
                scores[untested] = np.nan
            found[1:, :, j, untested], reach[:, j, untested] = 0.0, 0
        tied = (mixed >= 0) & (reach.max(axis=1) > mixed)
        return (*found, tied), (found[2] > 0).any(axis=(0, 1))

    def _score(self, kind: DrawnKind, block: Rows, distances: Array, found: Array, reach: Array) -> None:
        """Draw for the most neighbors, and score for all problems, a few rows at a time."""
        shape = kind.n_draws, kind.constraints[0].n_nearest
        step = max(1, (AT_ONCE if any(self.prepare) else IN_CACHE) // math.prod(shape))
        for start in range(0, len(block.targets), step):
            part = slice(start, start + step)
            some = Rows._make((*(each[part] for each in block[:-1]), block.average_ties))
            size = len(some.targets), *shape
            numbers = np.empty(size[:2], np.int64)
            draws = Draws(np.empty(size, np.int64), np.empty(size), numbers, some.targets)
            ends = np.zeros((size[0], size[2]), np.int64)
            collect_draws(some, distances[part], kind.urn, draws, ends, stop_flag())
            if stop_flag()[0]:
                return
            rule, is_changed = (kind.decide, kind.kernel, self.has_decide), True
            for i, (constraints, prepare) in enumerate(zip(kind.constraints, self.prepare, strict=True)):
                k, given = constraints.n_nearest, draws
                if prepare is not None and is_changed:
                    nearest = np.ascontiguousarray(draws.distances[..., :k])
                    given = draws._replace(distances=self._prepared(prepare, nearest))
                    is_changed = given.distances is not nearest
                each = np.empty((3, size[0]))
                score_draws(*rule, given, self.labels, constraints, each, stop_flag())
                found[:, i, part], reach[i, part] = each, ends[:, k - 1]

    def _prepared(self, prepare: Callable[[Array], Any], draws: Array) -> Array:
        """What `decide` gets in place of the distances (n_rows, n_draws, k)."""
        distances = draws.reshape(-1, draws.shape[2])
        given = prepare(distances.copy())
        if given is None:
            return draws
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
        return prepared.reshape(draws.shape)

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
    problems: Sequence[ScoringProblem],
    neighbors: Neighbors,
    sampling: Sampling,
    rows: Array,
    jobs: Jobs,
    *,
    keep: bool = False,
) -> list[DrawnScores]:
    """Estimates of A_x for some samples; lists are deepened where draws go on beyond them.

    The problems differ in the parameters of their rule alone, and share the draws of the first, which
    needs the most neighbors. The estimates of each are those that it has alone.
    """
    scorer = draw_scorer(problems, neighbors, sampling)
    size = len(problems), len(problems[0].training_sets), neighbors.n_items
    scores, variances, missed = np.zeros((3, *size))
    tied = np.zeros((size[0], size[2]), bool)

    depth = first_depth(problems[0], neighbors, RARE)
    keep = keep and len(rows) == neighbors.n_items
    for block, now, found, _ in deepen(scorer, rows, depth, jobs, keep=keep):
        depth = now
        for each, values in zip((scores, variances, missed, tied), found, strict=True):
            each[..., block] = values
    n_draws = tuple(kind.n_draws for kind in scorer.kinds)
    drawn = zip(scores, variances, missed, tied, strict=True)
    return [DrawnScores(*each, depth, n_draws) for each in drawn]


def draw_scorer(problems: Sequence[ScoringProblem], neighbors: Neighbors, sampling: Sampling) -> DrawScorer:
    """The scorer of problems that differ in the parameters of their rule, compiled."""
    problem = problems[0]
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
        each = tuple(one.constraints(known) for one in problems)
        kinds.append(DrawnKind(urn, *rule, each, n_draws, untested))
    prepare = tuple(
        partial(variant.prepare_distances, **one.parameters)
        if decide is not None and variant.prepares_distances(**one.parameters)
        else None
        for one in problems
    )
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
