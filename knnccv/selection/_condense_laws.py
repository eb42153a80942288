"""The training sets that are drawn from a pool of samples, and the kernels that score samples over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._labels import EncodedLabels
from .._typing import Array
from ..designs import GroupTrainingSets, TrainingSets
from ..driver import Block, ScoringProblem
from ..influence import RemovalKernels, removal_kernels
from ..kernel import Task


def kinds_within(problem: ScoringProblem, counts: Array) -> tuple[TrainingSets, ...]:
    """The kinds of training sets that the design draws from a pool with these numbers of samples per class.

    Raises
    ------
    ValueError
        If it cannot: every class, or the pool, must have a sample that is not drawn.
    """
    codes = np.repeat(np.arange(len(counts)), counts)
    kinds = problem.design.training_sets(EncodedLabels(codes, problem.labels.classes, counts))
    for kind in kinds:
        if isinstance(kind, GroupTrainingSets):
            msg = f"condense draws single samples from the pool, got cv={problem.design!r}"
            raise ValueError(msg)
        for stratum, (count, n_train) in enumerate(zip(kind.counts, kind.n_train, strict=True)):
            most = n_train + (kind.n_extra > 0 and stratum in kind.extra)
            if count and most >= count:
                name = problem.labels.classes.tolist()[stratum]
                whole = f"class {name!r}" if kind.stratified else "the pool"
                msg = (
                    f"{problem.design!r} draws all {count} samples of {whole}; each of them is tested with "
                    "training sets of the others, so at least one must be left"
                )
                raise ValueError(msg)
        for held_out in (0, 1):
            problem.variant.check(_task(problem, kind, held_out), **problem.parameters)
    return kinds


def try_kinds(problem: ScoringProblem, counts: Array) -> tuple[TrainingSets, ...] | None:
    """`kinds_within`, or None if the design cannot draw training sets from such a pool."""
    try:
        return kinds_within(problem, counts)
    except ValueError:
        return None


def _task(problem: ScoringProblem, kind: TrainingSets, held_out: int) -> Task:
    return Task(
        kind.n_train,
        kind.counts,
        kind.stratified,
        held_out=held_out,
        n_classes=len(problem.labels.classes),
        extra=kind.extra,
        n_extra=kind.n_extra,
    )


@dataclass(frozen=True)
class Law:
    """One kind of training sets drawn from a pool, for tested samples in the pool, or outside it.

    Attributes
    ----------
    probability : float
        The share of this kind.
    kernels : RemovalKernels
        The kernels of the rule for these training sets, with or without a listed sample.
    """

    probability: float
    kernels: RemovalKernels

    def scores(self, block: Block) -> Array:
        """Expected score of every row, shape (n_rows,)."""
        return self.kernels.part.scores(block)

    def changes(self, block: Block, owners: Array) -> tuple[Array, Array]:
        """The score of every row without a candidate beyond its list, and its change without a listed one.

        `owners` (n_items,) are 0 for the samples whose removal counts. Shapes (n_rows,), (n_rows, depth).
        """
        changes, bases = np.zeros(block.lists.items.shape), np.zeros(len(block.rows))
        removal = self.kernels.removal(0, 0, np.ones((1, self.kernels.task.n_classes)))
        removal.add(block, owners, changes, bases[None], np.zeros(len(bases), np.int64))
        return bases, changes

    def tails(self, block: Block, *, shorter: bool) -> Array:
        """The probability that the listed candidates do not decide, shape (n_rows,).

        With `shorter`, that they do not if one of them is removed.
        """
        lists, lengths, rows, labels, *_ = block
        return self.kernels.tails(lists, lengths, rows, labels, shorter=shorter)


def laws_of(
    problem: ScoringProblem, kinds: tuple[TrainingSets, ...], held_out: int, removed: int | None = None
) -> tuple[Law, ...]:
    """The laws of all kinds, for a tested sample in the pool (`held_out` 1) or not (0).

    `removed` is the class of a sample that is missing in the counts of the kinds, None if none is.
    """
    laws = []
    for kind in kinds:
        missing = -1 if removed is not None and not kind.stratified else removed
        kernels = removal_kernels(problem, _task(problem, kind, held_out), missing)
        laws.append(Law(float(kind.probability), kernels))
    return tuple(laws)
