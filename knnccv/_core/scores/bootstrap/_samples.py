"""Scores of all samples: expected ones out of bag, and apparent ones, with all samples as training set."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...._base.parallel import n_workers
from ...._base.typing import Array
from ....kernel import Labels, Link, Tables, Task, profile_of
from ....kernel.voting import BRIER, PLURALITY, VOTE_SHARE, tie_quadrature
from ....neighbors import NeighborLists, Neighbors
from ...driver import (
    LONG,
    Block,
    Jobs,
    Part,
    ScoringProblem,
    SlowComputationWarning,
    alike_samples,
    callers_level,
    deepen,
    in_words,
    known_set_part,
    steps_of,
    usable_lengths,
)
from ._kernels import (
    BootstrapFields,
    bootstrap_rank,
    bootstrap_regression,
    bootstrap_shares,
    bootstrap_votes,
    log_weights,
    moment_weights,
    undecided,
)

POSITION = 4e-11  # seconds of a position per class and K^3, for plain votes
SHARED_VOTE = 4.0  # times as much for votes with losses, or whose ties are shared
GROUP = 4.5e-10  # seconds of a tied group of several classes per class and K^5
TWO_CLASSES = 1.8  # so many classes fewer count, since two are fast
TRIALS = 16


def _count(codes: Array, values: Array) -> tuple[int, int]:
    """The numbers of samples, and of tied groups of several classes, that are positions of their own."""
    starts = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    sizes = np.diff(starts, append=len(values))
    if not len(starts):
        return 0, 0
    mixed = np.minimum.reduceat(codes, starts) < np.maximum.reduceat(codes, starts)
    return int(sizes[~mixed].sum()), int(mixed.sum())


RULES = ("nn", "knn", "rank", "confidence", "regression")
PROFILES = ("votes", "rank", "error", "share", "brier")
"""Other rules with one of these are served as well."""


class Found(NamedTuple):
    """Scores of all samples.

    ``scores`` (n_scores, n_items); ``tails`` (n_items,), the probabilities that the lists do not decide;
    ``depth`` of the longest lists.
    """

    scores: Array
    tails: Array
    depth: int


@dataclass
class OutOfBag:
    """The expected scores over the bootstrap samples that leave out the tested sample.

    ``fixed`` are the tails of lists of each length; ``part`` has the kernel, and the weights of the
    positions of lists of the current depth.
    """

    neighbors: Neighbors
    problem: ScoringProblem
    n_draws: int
    tol: float
    fixed: Array
    n_jobs: int | None
    n_scores = 1

    def __post_init__(self) -> None:
        self.part = _part(self.problem, self.n_draws, self.neighbors.n_items, 1)
        self.announced = self.part.steps[0].kernel is not bootstrap_votes  # the others are fast

    def compile(self) -> None:
        """Compile the kernel, and the pass over the rows."""
        self.part.compile()

    def begin(self, rows: Array, depth: int, _workers: Any) -> None:
        """Warn of votes that take long, and weigh the positions of lists of this depth."""
        self.announced = self.announced or self._announce(rows, depth)
        self.part = _part(self.problem, self.n_draws, self.neighbors.n_items, depth)

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[tuple[Array, Array], Array]:
        """Scores and tails of the rows, and the rows whose lists are too short."""
        average_ties = self.problem.ties == "random"
        lengths = usable_lengths(lists, self.neighbors, average_ties)
        block = Block(lists, lengths, rows, self.problem.kernel_labels(), average_ties)
        tails = self.fixed[lengths]
        return (self.part.scores(block)[None], tails), tails > self.tol / 2

    def _announce(self, rows: Array, depth: int) -> bool:
        """Warn if votes take more than a minute, judged by the lists of some rows; return True if so."""
        problem, parameters, near = self.problem, self.problem.parameters, self.neighbors
        n_nearest = problem.variant.n_nearest(**parameters)
        plain = parameters.get("vote_ties", "smallest") == "smallest" and problem.loss is None
        each = max(len(problem.labels.classes) - TWO_CLASSES, 0.0) * n_nearest**3
        position = POSITION * each * (1.0 if plain else SHARED_VOTE)
        group = GROUP * each * n_nearest**2 if problem.ties == "random" else 0.0
        workers = n_workers(self.n_jobs)
        if len(rows) * depth * max(position, group / 2) <= LONG * workers:
            return False
        some = rows[np.unique(np.linspace(0, len(rows) - 1, TRIALS).astype(np.int64))]
        lists = near.search(some, depth)
        positions, groups = int(lists.lengths.sum()), 0
        if group:
            each_list = zip(lists.items, lists.values, lists.lengths, strict=True)
            counts = [_count(problem.labels.codes[items[:n]], values[:n]) for items, values, n in each_list]
            positions, groups = map(sum, zip(*counts, strict=True))
        scale = len(rows) / len(some) / workers
        by_positions, by_groups = scale * position * positions, scale * group * groups
        seconds = by_positions + by_groups
        if seconds <= LONG:
            return False
        why = f"votes of {n_nearest} nearest draws among {len(problem.labels.classes)} classes"
        if by_groups > by_positions:
            why += ", averaged over all orders of tied samples"
            why += "; ties='index' takes these in the order of the data"
        msg = (
            f"this will take about {in_words(seconds)} with {workers} worker{'s' if workers > 1 else ''}: "
            f"{why}. Fewer neighbors are faster, and variant 'confidence', the share of right votes, is "
            "fast"
        )
        warnings.warn(msg, SlowComputationWarning, stacklevel=callers_level())
        return True


def out_of_bag(
    problem: ScoringProblem, near: Neighbors, n_draws: int, tol: float, n_jobs: int | None
) -> Found:
    """Score every sample; lists are deepened until at most `tol` / 2 of its score is undecided."""
    n_nearest, longest = problem.variant.n_nearest(**problem.parameters), near.max_depth
    fixed = undecided(n_draws, near.n_items - 1, longest, n_nearest)
    enough = int(np.argmax(fixed <= tol / 2)) if (fixed <= tol / 2).any() else longest
    work = OutOfBag(near, problem, n_draws, tol, fixed, n_jobs)
    return _every_sample(work, max(enough, 1) + (problem.ties == "random"), n_jobs, work.begin)


@dataclass(frozen=True)
class Resubstitution:
    """Scores if all samples are the training set, and each is its own nearest neighbor, at distance 0.

    The first score of a sample is for its own label; the others for each class as its label, or for the
    mean target.
    """

    neighbors: Neighbors
    problem: ScoringProblem
    labels: Labels
    part: Part

    @property
    def n_scores(self) -> int:
        """The number of scores of a sample."""
        return 1 + len(self.problem.labels.classes)

    def compile(self) -> None:
        """Compile the rule's own kernel."""
        self.part.compile()

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[tuple[Array, Array], Array]:
        """Scores of the rows, 1.0 where the lists are too short and else 0.0, and these rows."""
        near, n_items = self.neighbors, self.neighbors.n_items
        average_ties = self.problem.ties == "random"
        whole = _with_itself(lists, near, rows)
        whole.lengths = usable_lengths(whole, near, average_ties)
        unknown = whole.lengths < min(self.problem.variant.n_nearest(**self.problem.parameters), n_items)
        found = np.empty((self.n_scores, len(rows)))
        for number in range(self.n_scores):
            targets = rows if number == 0 else np.full(len(rows), n_items + number - 1)
            block = Block(whole, whole.lengths, targets, self.labels, average_ties)
            found[number] = self.part.scores(block)
        return (found, unknown * 1.0), unknown


def resubstitution(problem: ScoringProblem, near: Neighbors, weights: Array, n_jobs: int | None) -> Found:
    """Score every sample with the rule's own kernel; `weights` (n_items,) are those of the mean target."""
    codes, values = problem.kernel_labels()
    pseudo = np.concatenate([codes, np.arange(len(problem.labels.classes))])
    if problem.variant.target == "values":
        values = np.concatenate([values, weights[None] @ values])
    part = known_set_part(problem, problem.known_training_set_task(near.n_items))
    work = Resubstitution(near, problem, Labels(pseudo, values), part)
    return _every_sample(work, problem.variant.n_nearest(**problem.parameters), n_jobs)


def _every_sample(
    work: OutOfBag | Resubstitution, depth: int, n_jobs: int | None, begin: Any = None
) -> Found:
    """Score the samples by lists of this depth at first; those that are alike share a score."""
    near = work.neighbors
    alike = alike_samples(work.problem, near)
    first = np.arange(near.n_items) if alike is None else alike
    scores, tails = np.empty((work.n_scores, near.n_items)), np.empty(near.n_items)
    depth = min(depth, near.max_depth)
    for block, now, found, _ in deepen(work, np.unique(first), depth, Jobs(n_jobs), begin=begin):
        scores[:, block], tails[block] = found
        depth = now
    return Found(scores[:, first], tails[first], depth)


def _with_itself(lists: NeighborLists, near: Neighbors, block: Array) -> NeighborLists:
    """Lists with the samples themselves."""
    depth = lists.items.shape[1]
    listed = np.arange(depth) < lists.lengths[:, None]
    zero = listed & near.measured & (near.to_distance(lists.values) == 0)
    zero &= zero[:, :1]
    before = (zero & (lists.items < block[:, None])).sum(axis=1)[:, None]  # equal samples, as in the data
    place = np.arange(depth + 1)
    source = np.where(place < before, place + 1, np.where(place == before, 0, place))
    itself = np.where(zero[:, 0], lists.values[:, 0], -np.inf)
    items = np.column_stack([block.astype(np.int32), lists.items])
    values = np.column_stack([itself, lists.values])
    items, values = (np.take_along_axis(each, source, axis=1) for each in (items, values))
    return NeighborLists(items, values, lists.lengths + 1, lists.may_tie_beyond)


def _part(problem: ScoringProblem, n_draws: int, n_items: int, depth: int) -> Part:
    """The kernel of the rule, and what it reads: the weights of all positions of the lists."""
    parameters: dict[str, Any] = problem.parameters
    task = Task((n_draws,), (n_items,), False, held_out=1, n_classes=len(problem.labels.classes))
    n_nearest = problem.variant.n_nearest(**parameters)
    positions = n_draws, n_items - 1, depth, n_nearest
    profile = profile_of(problem.variant, parameters)
    if profile in ("error", "share", "brier"):
        kernel = bootstrap_regression if profile == "error" else bootstrap_shares
        kind = BRIER if profile == "brier" else VOTE_SHARE
        tables = Tables(BootstrapFields(kind), weights=moment_weights(*positions))
    elif profile == "rank":
        kernel, tables = bootstrap_rank, Tables(weights=log_weights(*positions))
    else:
        kernel = bootstrap_votes
        smallest = parameters.get("vote_ties", "smallest") == "smallest"
        n_tie_nodes, tie_nodes = tie_quadrature(n_nearest, smallest, float)
        tables = Tables(
            BootstrapFields(PLURALITY, n_tie_nodes),
            numbers=tie_nodes,
            weights=np.exp(log_weights(*positions)),
            table=np.empty((0, 0)) if problem.loss is None else np.asarray(problem.loss, dtype=float),
        )
    return Part(slice(0, 1), steps_of(problem, task, [Link(kernel, tables)]))
