"""How the score changes without each sample: the result, and one pass over the neighbor lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from ...._base.formatting import Result, item_frame
from ...._base.typing import Array
from ...._base.validation import lowest
from ....designs import GroupTrainingSets, LeaveGroupsOut
from ....kernel import Labels, Variant
from ....neighbors import NeighborLists, Neighbors, within
from .._deepen import Jobs, alike_samples, deepen, first_depth
from .._problem import ScoringProblem
from .._rows import Block, Step, usable_lengths
from .._scores import Scored
from ._removal_rows import Copies, Found, Totals, add_rows
from ._removals import ReducedKind, ReducedProblem, Removal, reduced_kinds, reduced_problems, removals

if TYPE_CHECKING:
    import pandas as pd

LARGEST_TOL = 1e-9  # a change is about 1/N of the score


@dataclass(frozen=True, eq=False, repr=False)
class Influence(Result):
    """How a score changes without each sample; from `CompleteCV.influence`.

    Sample j has two parts in the score: it is tested, and it trains the others. Let U be the score, A_x the
    expected score of sample x (`per_item` of the score), U_j and w_x the score and the weights of the other
    N - 1 samples, under the same design. Then ``per_item[j]`` is U - U_j, and with M_j the sum of w_x A_x
    over the others, U - M_j is ``as_tested[j]`` and M_j - U_j is ``as_training[j]``. With a test set, the
    samples are those of the pool, which train only: ``as_tested`` is 0.

    Attributes
    ----------
    per_item : ndarray of shape (n_items,)
        The score minus the score of the other samples alone, by the same design. Positive for an accuracy:
        the sample helps. The design's numbers change with N - 1 samples: `KFold` has other fold sizes, a
        fraction may give a smaller training set.
    as_tested : ndarray of shape (n_items,)
        The change if the sample is no longer tested, but still trains the others, as in the full problem.
    as_training : ndarray of shape (n_items,)
        The change of the others' scores if the sample no longer trains, and the training sets are those of
        the design for the others. The two parts sum to `per_item`. NaN if a sample is never tested in the
        full problem but is in the reduced one, so that its score is not defined in both.
    labels : ndarray of shape (n_items,), or (n_items, n_outputs)
        The label of every sample, or its targets.
    measure : str
        The name of the score.
    is_loss : bool
        True if a smaller score is better.
    error_bound : float
        Bound of the error of `per_item`, from neighbor lists that end too early and from the rounding of
        the score. The score without a sample is rounded as well, to about 1e-15. Infinite for approximate
        neighbors.

    Examples
    --------
    >>> from knnccv import complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> effect = complete_cv(wine.X, wine.y, "nn").influence()
    >>> effect.per_item.shape, len(effect.most_harmful(3))
    ((178,), 3)
    """

    _json = "measure is_loss per_item as_tested as_training error_bound"

    per_item: Array
    as_tested: Array
    as_training: Array
    labels: Array
    measure: str = "score"
    is_loss: bool = False
    error_bound: float = 0.0

    def most_harmful(self, n: int = 10) -> Array:
        """Return the samples without which the score is best, the worst sample first.

        Parameters
        ----------
        n : int, default 10
            Number of samples, at least 1; all samples if there are fewer.

        Returns
        -------
        int64 ndarray of shape (min(n, n_items),)
            Indices of samples; equal changes in the order of the samples.

        Raises
        ------
        TypeError, ValueError
            If n is not a positive integer.
        """
        gain = self.per_item if self.is_loss else -self.per_item
        return lowest(-gain, n)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sample: label and the three changes, as a pandas DataFrame.

        Several targets have a column each: label_0, label_1, …

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        return item_frame(
            self.labels, total=self.per_item, as_tested=self.as_tested, as_training=self.as_training
        )


@dataclass(frozen=True)
class Outside:
    """The known training sets of a design that leaves out one group: the samples of the other groups.

    ``groups`` (n_items,) are the groups; ``size_of`` (n_items,) is the index of the size of a tested
    sample's training set; ``nearest`` (n_sizes,) are the numbers of nearest samples that decide.
    """

    groups: Array
    size_of: Array
    nearest: Array

    def cut(self, lists: NeighborLists, lengths: Array, rows: Array) -> tuple[NeighborLists, Array]:
        """The lists of training samples, as far as they decide; and how many decide, (n_rows,)."""
        nearest = self.nearest[self.size_of[rows]]
        known = replace(lists, lengths=lengths)
        every, first = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        own = self.groups[rows]
        return within(known, every, self.groups[None], first, own, nearest, equal=False), nearest


@dataclass(frozen=True)
class Remover:
    """Everything a worker needs to leave samples out of the lists of a block of tested samples.

    Where one group is left out, the training set is known: ``outside`` cuts the lists to the K + 1 nearest
    samples of other groups and those that tie the last of these; the others change nothing. There is a
    removal for each size of training sets, and no `kinds`.
    """

    neighbors: Neighbors
    labels: Labels
    owners: Array
    average_ties: bool
    tol: float
    removals: tuple[Removal, ...]
    kinds: tuple[ReducedKind, ...] = ()
    outside: Outside | None = None

    def compile(self) -> None:
        """Compile what blocks call first."""
        for removal in self.removals:
            removal.compile()

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[Found, Array]:
        """What is found for the rows, and a mask of open rows."""
        lengths = usable_lengths(lists, self.neighbors, self.average_ties)
        changes = np.zeros(lists.items.shape)
        bases, tails = np.zeros((2, max(len(self.kinds), 1), len(rows)))
        if self.outside is not None:
            lists, near = self.outside.cut(lists, lengths, rows)
            lengths = lists.lengths
            tails[0] = lengths < near
        block = Block(lists, lengths, rows, self.labels, self.average_ties)
        if self.outside is not None:
            size_of = self.outside.size_of[rows]
            for size in np.unique(size_of):
                served = (size_of != size).astype(np.int64)
                self.removals[size].add(block, self.owners, changes, bases, served)
        else:
            served = np.zeros(bases.shape, np.int64)
            for removal in self.removals:
                left = served[removal.kinds.start].copy()
                removal.add(block, self.owners, changes, bases[removal.kinds], left)
                served[removal.kinds] = left
        for base, tail, kind in zip(bases, tails, self.kinds, strict=False):
            tail[:] = kind.tails(block, shorter=True)
            untested = kind.weights[:, self.labels.classes[rows]].max(axis=0) == 0
            base[untested] = tail[untested] = 0.0
        is_open = np.asarray((tails > self.tol / 2).any(axis=0))
        return Found(lists.items, lengths, changes, bases, tails), is_open


def influence(
    result: Scored, problem: ScoringProblem, neighbors: Neighbors, tol: float, n_jobs: int | None
) -> Influence:
    """Return the `Influence` of every sample on the score of `result`."""
    check_linear(problem, "influence")
    for task in problem.tasks_to_check(problem.training_sets):
        problem.variant.kernel_for(task)  # otherwise some sample would be blamed for what the rule lacks
    reduced, owners = reduced_problems(problem)
    tol = min(tol, LARGEST_TOL)
    ties = problem.ties == "random"
    given = neighbors, problem.kernel_labels(), owners, ties, tol
    if problem.leaves_groups:
        weights = np.array([[float(weight) for weight in one.item_weights[0]] for one in reduced])
        parts = [(0, weights)]
        remover = Remover(*given, *_of_groups(problem, weights))
        depth = 2 + first_depth(problem, neighbors, tol)
    else:
        kinds = reduced_kinds(problem, reduced)
        parts = [(kind.first, kind.weights) for kind in kinds]
        remover = Remover(*given, tuple(removals(problem, kinds)), tuple(kinds))
        depth = max(2, *(kind.first_depth(tol) for kind in kinds)) + ties
    remover.compile()
    without, bound = _scores_without(problem, remover, parts, depth, n_jobs)
    if problem.pool is None:
        kept = _kept(result, problem, reduced, owners)
    else:  # samples of the pool are never tested
        without = without[neighbors.n_items :]
        kept = np.full(len(without), result.score)
    labels = problem.targets if problem.pool is None else problem.asked_again()[0]
    return Influence(
        per_item=result.score - without,
        as_tested=result.score - kept,
        as_training=kept - without,
        labels=labels,
        measure=problem.measure,
        is_loss=problem.is_loss,
        error_bound=float("inf") if neighbors.approximate else result.error_bound + bound,
    )


def check_linear(problem: ScoringProblem, who: str) -> None:
    """Raise ValueError unless the score is the mean of the samples' scores over all training sets."""
    if type(problem.variant).over_kinds is Variant.over_kinds:
        return
    scores = np.zeros((1, 1))

    def refuse(**_: object) -> Array:
        shown = f"variant {problem.variant.name!r} with {problem.parameters}"
        msg = (
            f"{who} needs a score that is a mean over the training sets, but {shown} is no mean over the "
            "samples and kinds of training sets"
        )
        raise ValueError(msg)

    problem.variant.over_kinds(scores, scores + 1, refuse, problem.values.shape[1], **problem.parameters)


def _of_groups(problem: ScoringProblem, weights: Array) -> tuple[tuple[Removal, ...], tuple[()], Outside]:
    """The removals for a design that leaves out one group, one for each size, and the lists outside it."""
    kind, groups = (
        cast(GroupTrainingSets, problem.training_sets[0]),
        cast(LeaveGroupsOut, problem.design).codes,
    )
    found, n_nearest = [], problem.nearest(kind) + 1
    for size in kind.train_sizes:
        task, fewer = (problem.known_training_set_task(n) for n in (size, size - 1))
        kernel, owner = problem.variant.kernel_for(task), f"variant {problem.variant.name!r}"
        steps = (Step(kernel, problem.constraints(fewer), "", owner),)
        found.append(Removal(slice(0, 1), -1, 0, weights[None], steps, problem.constraints(task)))
    size_of = np.searchsorted(kind.train_sizes, sum(kind.sizes) - np.array(kind.sizes)[groups])
    nearest = np.array([min(n_nearest, size) for size in kind.train_sizes])
    return tuple(found), (), Outside(groups, size_of, nearest)


def _scores_without(
    problem: ScoringProblem,
    remover: Remover,
    parts: list[tuple[int, Array]],
    depth: int,
    n_jobs: int | None,
) -> tuple[Array, float]:
    """The score without every sample, and a bound of what the ends of the lists can change.

    `parts` has, for every kind of training sets, the first reduced problem and the weights, (n_problems,
    n_classes).
    """
    neighbors, owners = remover.neighbors, remover.owners
    n_items, n_classes = len(owners), len(problem.labels.classes)
    same = _same_changes(problem, neighbors, owners)
    copies = Copies(remover.labels.classes, same, np.bincount(same, minlength=n_items)[same])
    sums = np.zeros((len(parts), 2, n_classes)), np.zeros((len(parts), n_classes))
    totals, own = Totals(np.zeros(n_items), np.zeros(n_items), *sums), np.zeros(n_items)
    rows, depth = np.unique(same[: neighbors.n_items]), min(depth, neighbors.max_depth)
    for block, deepest, found, is_open in deepen(remover, rows, depth, Jobs(n_jobs)):
        if deepest >= neighbors.max_depth:
            is_open[:] = False
        add_rows(block, is_open, found, copies, totals)
        done = block[~is_open]
        for (first, weights), base in zip(parts, found.bases[:, ~is_open], strict=True):
            at = owners[done] - first
            inside = (at >= 0) & (at < len(weights))
            each = weights[np.where(inside, at, 0), copies.classes[done]]
            own[done] += np.where(inside, each * base, 0.0)
    scores, bounds = np.zeros((2, int(owners.max()) + 1))
    for (first, weights), base, tails in zip(parts, totals.bases.sum(axis=1), totals.tails, strict=True):
        problems = slice(first, first + len(weights))
        scores[problems] += weights @ base
        bounds[problems] += weights @ tails
    changes = totals.deltas + (totals.copy_deltas - own)[same]
    return scores[owners] + changes, float(bounds.max()) * problem.largest


def _same_changes(problem: ScoringProblem, neighbors: Neighbors, owners: Array) -> Array:
    """The tested sample that stands for every sample, int64 (n_items,): itself, or one that is alike.

    Without one of the samples that are alike, the others are left with the same lists.
    """
    alike, itself = alike_samples(problem, neighbors), np.arange(len(owners))
    if alike is None:
        return itself
    mixed = np.bincount(alike, owners != owners[alike], len(owners)) > 0
    return np.where(mixed[alike], itself, alike)


def _kept(result: Scored, problem: ScoringProblem, reduced: list[ReducedProblem], owners: Array) -> Array:
    """For every sample the others' mean score, with the weights of the problem without it."""
    codes = problem.labels.codes
    scores = np.bincount(codes, result.per_item, len(problem.labels.classes))
    means, weights = [], []
    for one in reduced:
        each = np.array([float(sum(column)) for column in zip(*one.item_weights, strict=True)])
        means.append(sum(w * score for w, score in zip(each, scores, strict=True) if w > 0))
        weights.append(each)
    own = np.array(weights)[owners, codes]
    parts = np.where(own > 0, own * result.per_item, 0.0)
    return np.asarray(np.array(means)[owners] - parts)
