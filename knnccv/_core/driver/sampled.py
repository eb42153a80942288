# mypy: allow-untyped-defs
"""Decoupled sampling: A_x of every sample from training sets that are drawn for this sample alone.

The score is a mean of the A_x, and an expectation is linear. So the training sets of different samples may
be independent of each other, and a draw need not go farther along the neighbor list than to the K-th
training sample.

A draw goes along the list and puts every position into the training set with the probability that it has,
given the positions before it, until the K nearest training samples are known. A number u in [0, 1) makes
the decisions: if u < p the position is included, and the place of u within [0, p) decides the rest,
otherwise its place within [p, 1). The R draws of a sample take u from R / 2 strata of equal width, two from
each. So they divide the decisions at the nearest positions, which matter most, nearly in proportion to
their probabilities. The draws are independent, the variance is never larger than that of R plain draws, and
the two draws of each stratum estimate it without bias (Cochran, Sampling Techniques, 1977, section 5.3).

Each draw of a sample has a stream of random numbers of its own, the same for any threads, blocks and
executors. So it does not depend on how far the draws before it went: the k nearest of a draw of K are the
draw of k, and one draw serves the rules of all numbers of neighbors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numba import types

from ..._base.parallel import stop_flag
from ..._base.typing import Array, Kernel
from ...designs import GroupTrainingSets, LeaveGroupsOut, TrainingSets
from ...kernel import (
    CONSTRAINTS,
    DECIDE,
    DECIDES,
    KERNEL,
    LABELS,
    Constraints,
    Labels,
    Order,
    Tables,
    Task,
    compile_driver,
    compile_kernel,
    constraints_for,
    inner,
    jit,
)
from ...kernel.sampling import GOLDEN, scramble, uniform
from ...neighbors import NeighborLists, Neighbors
from ._deepen import Jobs, deepen, first_depth
from ._problem import ScoringProblem
from ._rows import (
    DISTANCES,
    INTEGERS,
    Rows,
    fill_group_ends,
    mixed_groups,
    usable_lengths,
)
from ._validation import Sampling

USED_UP = 2.0**-20
"""Share of [0, 1) below which u has too few random bits left; fresh numbers follow."""
IN, OUT = 1, 2
"""Whether a group that is met is in the training set."""
_STOP = types.Array(types.boolean, 1, "C")


class Urn(NamedTuple):
    """One kind of training sets, from which all samples draw.

    ``strata_of`` int64 (n_items,) has the stratum of every sample; its group if ``of_groups``, and then
    ``sets`` count groups, which are drawn whole. A list of ``n_available`` samples is complete. ``seed``
    and ``kind`` choose the streams.
    """

    strata_of: Array
    of_groups: bool
    n_available: int
    sets: Constraints
    seed: int
    kind: int


class Draws(NamedTuple):
    """The K nearest training samples of every draw (n_rows, n_draws, K), their distances, their numbers.

    The numbers n (n_rows, n_draws) are at most K; they are ~n, below 0, where a draw goes on beyond the
    list. The places beyond repeat the last sample. ``targets`` are the tested samples.
    """

    items: Array
    distances: Array
    numbers: Array
    targets: Array


class Walk(NamedTuple):
    """The list of the tested sample, and what is not yet drawn.

    ``order`` are the positions as they are met, since tied samples come in random order; ``group_end`` the
    ends of their tied groups, ``strata`` their strata or groups. ``left`` and ``need`` (n_strata,) are the
    samples or groups of every stratum, and those in the training set. ``met`` (n_groups,) is `IN` or `OUT`
    for groups that are met.
    """

    order: Array
    group_end: Array
    strata: Array
    left: Array
    need: Array
    met: Array


@inner
def open_strata(own, sets, state, left, need):
    """Set `left` and `need` for a tested sample of the stratum `own`, with extra samples at random.

    Training sets with an extra sample of the tested sample's own stratum leave it out less often.
    """
    for s in range(len(left)):
        left[s] = sets.counts[s]
        need[s] = sets.n_train[s]
    left[own] -= sets.held_out
    n_extra = sets.n_extra
    if n_extra == 0:
        return
    n_flagged = 0
    for flag in sets.extra:
        n_flagged += flag
    if sets.extra[own] == 1 and sets.held_out == 1:
        spared = left[own] + 1 - need[own]
        with_own, without = n_extra * (spared - 1.0), (n_flagged - n_extra) * float(spared)
        n_flagged -= 1
        if uniform(state) * (with_own + without) < with_own:
            need[own] += 1
            n_extra -= 1
    for s in range(len(sets.extra)):
        if sets.extra[s] == 1 and (s != own or sets.held_out == 0):
            if uniform(state) * n_flagged < n_extra:
                need[s] += 1
                n_extra -= 1
            n_flagged -= 1


@inner
def draw_sets(walk, length, own, urn, state, chosen, numbers, stop):
    """Draw a training set for every row of `chosen` (n_draws, K).

    Filled are the positions of the nearest training samples, and the ``numbers`` (n_draws,) of them. Of
    groups, one is drawn when its first sample is met.
    """
    order, group_end, strata, left, need, met = walk
    of_groups, sets = urn.of_groups, urn.sets
    n_draws, wanted = chosen.shape
    n_slices, n_strata, start = n_draws // 2, len(left), state[0]
    for row in range(n_draws):
        if stop[0]:
            break
        state[0] = scramble(start + np.uint64(row))
        u = (row % n_slices + uniform(state)) / n_slices
        low, width, is_used_up = 0.0, 1.0, False  # u is in [low, low + width) by the decisions so far
        if n_strata == 1:
            left[0], need[0] = sets.counts[0] - sets.held_out, sets.n_train[0]
        elif row == 0 or sets.n_extra > 0:
            open_strata(own, sets, state, left, need)
        if of_groups:
            met[own] = OUT
        found, i = 0, 0
        while i < length and found < wanted:
            n_tied = group_end[i] - i
            if n_tied > 1:
                j = i + int(uniform(state) * n_tied)
                order[i], order[j] = order[j], order[i]
            at = order[i]
            i += 1
            s = strata[at]
            group = s
            if of_groups:
                s = 0
                if met[group]:
                    chosen[row, found] = at
                    found += met[group] == IN
                    continue
            n_need, n_left = need[s], left[s]
            if is_used_up:  # in one stratum: a number for each decision, and no branches
                is_in = uniform(state) * n_left < n_need
                need[s], left[s] = n_need - is_in, n_left - 1
                chosen[row, found] = at
                found += is_in
                continue
            part = width * (n_need / n_left)
            is_in = u < low + part or n_need == n_left  # the sum is rounded
            left[s] = n_left - 1
            if is_in:
                width = part
                need[s] = n_need - 1
                chosen[row, found] = at
                found += 1
            else:
                low += part
                width -= part
            if of_groups:
                met[group] = IN if is_in else OUT
            if width < USED_UP:
                is_used_up = n_strata == 1 and not of_groups
                if not is_used_up:
                    u = uniform(state)
                    low, width = 0.0, 1.0
        numbers[row] = ~found if found < wanted and length < urn.n_available else found
        if of_groups:
            met[own] = 0
            for j in range(i):
                met[strata[order[j]]] = 0
        elif n_strata > 1:
            for j in range(i):
                left[strata[order[j]]] += 1
            for j in range(found):
                need[strata[chosen[row, j]]] += 1
        for j in range(group_end[i - 1] if i > 0 else 0):
            order[j] = j


@jit
def collect_draws(rows, distances, urn, draws, reach, stop):
    """Fill the draws of a block, and `reach` (n_rows, K): how far k of K neighbors go along the lists."""
    n_draws, k = draws.items.shape[1:]
    n_strata, depth = len(urn.sets.counts), rows.items.shape[1]
    # One by one: the rows of one array would not be known to be contiguous.
    order, group_end = np.empty(depth, np.int64), np.empty(depth, np.int64)
    strata, chosen = np.empty(depth, np.int64), np.empty((n_draws, k), np.int64)
    left, need = np.empty(n_strata, np.int64), np.empty(n_strata, np.int64)
    met = np.zeros(urn.sets.counts[0] + 1 if urn.of_groups else 0, np.int8)
    walk = Walk(order, group_end, strata, left, need, met)
    state = np.empty(1, np.uint64)
    for r in range(len(rows.targets)):
        length = rows.lengths[r]
        for i in range(length):
            order[i] = i
            group_end[i] = i + 1
            strata[i] = urn.strata_of[rows.items[r, i]]
        if rows.average_ties:
            fill_group_ends(rows.values[r], length, group_end)
        own = urn.strata_of[rows.targets[r]]
        of_kind = scramble(np.uint64(urn.seed) + GOLDEN * np.uint64(urn.kind + 1))
        state[0] = scramble(of_kind + np.uint64(rows.targets[r]))
        draw_sets(walk, length, own, urn, state, chosen, draws.numbers[r], stop)
        if stop[0]:
            break
        for j in range(n_draws):
            n = max(draws.numbers[r, j], ~draws.numbers[r, j])
            for i in range(k):
                at = chosen[j, min(i, n - 1)] if n > 0 else 0
                draws.items[r, j, i] = rows.items[r, at]
                draws.distances[r, j, i] = distances[r, at]
                reach[r, i] = max(reach[r, i], at + 1 if i < n else length)


DRAWS = types.NamedTuple(
    [
        types.Array(types.int64, 3, "C"),
        types.Array(types.float64, 3, "C"),
        types.Array(types.int64, 2, "C"),
        INTEGERS,
    ],
    Draws,
)


@jit
def score_draws(decide, kernel, has_decide, draws, labels, constraints, out, stop):
    """Fill the estimates of A_x, their variances and the missed shares ``out`` (3, n_rows).

    ``constraints`` are those of a known training set, for `decide`, or for the `kernel` where the rule has
    no `decide`; their ``n_nearest`` may be smaller than K of the draws. Missed draws go on beyond the list;
    they score 0. Ends early once ``stop[0]`` is set.
    """
    n_draws, k = draws.items.shape[1], constraints.n_nearest
    items, ends, distances = np.empty(k, np.int64), np.arange(1, k + 1), np.empty(k)
    single = np.empty(n_draws)
    for r in range(len(draws.targets)):
        if stop[0]:
            break
        target, n_missed = draws.targets[r], 0
        for j in range(n_draws):
            n = draws.numbers[r, j]
            if n < 0 and ~n < k:
                n_missed += 1
                single[j] = 0.0
                continue
            n = min(max(n, ~n), k)
            for i in range(n):
                items[i], distances[i] = draws.items[r, j, i], draws.distances[r, j, i]
            if not has_decide:
                single[j] = kernel(Order(items[:n], ends[:n]), labels, target, constraints)
            elif n == k:  # slices take time
                single[j] = decide(items, distances, labels, target, constraints)
            else:
                single[j] = decide(items[:n], distances[:n], labels, target, constraints)
        out[0, r], out[1, r] = estimate(single)
        out[2, r] = n_missed / n_draws


SCORE_DRAWS = types.void(DECIDE, KERNEL, types.boolean, DRAWS, LABELS, CONSTRAINTS, DISTANCES, _STOP)


@jit
def kernel_unused(order, labels, target, constraints):  # noqa: ARG001
    """Stands for the kernel where the rule has a function `decide`."""
    return 0.0


@jit
def decide_unused(items, distances, labels, target, constraints):  # noqa: ARG001
    """Stands for `decide` where the kernel scores known training sets."""
    return 0.0


@jit
def estimate(scores):
    """Mean of draws and its estimated variance; draw j is of the slice ``j % (len(scores) // 2)``."""
    n_slices = len(scores) // 2
    total, spread = 0.0, 0.0
    for s in range(n_slices):
        mean, n = 0.0, 0
        for j in range(s, len(scores), n_slices):
            mean += scores[j]
            n += 1
        mean /= n
        squares = 0.0
        for j in range(s, len(scores), n_slices):
            squares += (scores[j] - mean) ** 2
        total += mean
        spread += squares / (n * (n - 1))
    return total / n_slices, spread / n_slices**2


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
        mixed = mixed_groups(lists, lengths, self.labels)
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
    if problem.variant.decision() is not None and not isinstance(kind, GroupTrainingSets):
        return replace(problem.task(kind), counts=kind.n_train, held_out=0)
    known = problem.known_training_set_task(kind.most_train)
    if problem.variant.decision() is None and type(problem.variant).fixed is None:
        most = tuple(n + (stratum in kind.extra) for stratum, n in enumerate(kind.n_train))
        return replace(known, n_train=most, counts=most, stratified=kind.stratified)
    return known
