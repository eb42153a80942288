"""Scoring problems of N - 1 samples: the training sets and weights without each sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from .._labels import EncodedLabels
from .._typing import Array
from ..designs import LeaveGroupsOut, TrainingSets
from ..driver import ScoringProblem, check_labels_of, check_tested, weights_of


@dataclass(frozen=True)
class ReducedProblem:
    """What is left of a problem without a sample; equal for all samples of a class but a few.

    Attributes
    ----------
    removed : int
        The class of the missing sample.
    training_sets : tuple of TrainingSets
        Those of the design for the other samples.
    item_weights : tuple of tuple of Fraction
        Weights (n_kinds, n_classes) of the other samples.
    """

    removed: int
    training_sets: tuple[TrainingSets, ...]
    item_weights: tuple[tuple[Fraction, ...], ...]


def reduced_problems(problem: ScoringProblem) -> tuple[list[ReducedProblem], Array]:
    """The different problems of N - 1 samples, and the index of that of every sample, int64 (n_items,).

    A design knows a class by its size, and by the order in which the classes first appear. So all samples
    of a class leave the same problem, except that its first one may leave another. A class keeps its code
    if its only sample is removed.

    Raises
    ------
    ValueError
        If the design or the rule is impossible without some sample, or the design leaves out several
        groups.
    """
    design = cast(LeaveGroupsOut, problem.design) if problem.leaves_groups else None
    if design is not None and design.p > 1:
        msg = (
            "influence is available for designs of single samples and for LeaveGroupsOut of one group, got "
            f"{problem.design!r}"
        )
        raise ValueError(msg)
    codes = problem.labels.codes
    if len(codes) < 3:
        msg = (
            f"influence needs at least 3 samples, so that 2 are left without one of them, got {len(codes)}"
        )
        raise ValueError(msg)
    if design is not None:
        groups, sizes = design.codes, design.sizes
        for at in (np.argmin(sizes[groups]), np.argmax(groups != np.argmax(sizes))):
            _without(problem, int(at))  # leaves the fewest groups, or the smallest training set
    found: dict[tuple[object, ...], int] = {}
    reduced: list[ReducedProblem] = []
    index = np.empty(len(codes), np.int64)
    for members, item in _alike(codes, len(problem.labels.classes)):
        one = _without(problem, item)
        stratified = any(kind.stratified for kind in one.training_sets)
        kinds = () if problem.leaves_groups else one.training_sets
        key = (one.removed if stratified else -1, kinds, one.item_weights)
        if key not in found:
            found[key] = len(reduced)
            reduced.append(one)
        index[members] = found[key]
    return reduced, index


def _alike(codes: Array, n_classes: int) -> Iterator[tuple[Array, int]]:
    """Samples that leave the same problem, and one of them: the first of every class, and the others."""
    by_class = np.argsort(codes, kind="stable")
    for members in np.split(by_class, np.cumsum(np.bincount(codes, minlength=n_classes))[:-1]):
        yield members[:1], int(members[0])
        if len(members) > 1:
            yield members[1:], int(members[-1])


def _without(problem: ScoringProblem, item: int) -> ReducedProblem:
    labels = problem.labels
    removed = int(labels.codes[item])
    try:
        kinds, weights = _split(problem, labels_without(labels, item), item)
        if labels.counts[removed] == 1:
            kinds = tuple(_with_empty_class(kind, removed) for kind in kinds)
            weights = tuple((*row[:removed], Fraction(0), *row[removed:]) for row in weights)
        for kind in kinds:
            for task in problem.tasks_to_check(kind):
                problem.variant.kernel_for(task)
                problem.variant.check(task, **problem.parameters)
    except ValueError as error:
        name = labels.classes.tolist()[removed]
        label = "" if problem.variant.target == "values" else f" (class {name!r})"
        msg = (
            "influence needs the score without each sample, by the same design and rule, but without "
            f"sample {item}{label} there is none: {error}"
        )
        raise ValueError(msg) from error
    return ReducedProblem(removed, kinds, weights)


def _split(
    problem: ScoringProblem, labels: EncodedLabels, item: int
) -> tuple[tuple[TrainingSets, ...], tuple[tuple[Fraction, ...], ...]]:
    """The training sets and the weights of these labels, from which an item was removed."""
    design = problem.design.without(item)
    kinds = design.training_sets(labels)
    for kind in kinds:
        too_many = any(size > count for size, count in zip(kind.n_train, kind.counts, strict=True))
        if too_many or kind.n_test <= 0:
            msg = f"{design!r} leaves none of {len(labels.codes)} samples to test"
            raise ValueError(msg)
    check_labels_of(problem.average, labels, True, problem.variant.name)
    weights = design.item_weights(labels, problem.average) or weights_of(kinds, labels, problem.average)
    check_tested(problem.average, weights, labels, design)
    return kinds, weights


def labels_without(labels: EncodedLabels, item: int) -> EncodedLabels:
    """The labels of the other samples."""
    removed = int(labels.codes[item])
    codes = np.delete(labels.codes, item)
    counts = labels.counts.copy()
    counts[removed] -= 1
    if counts[removed] > 0:
        return EncodedLabels(codes, labels.classes, counts)
    codes[codes > removed] -= 1
    return EncodedLabels(codes, np.delete(labels.classes, removed), np.delete(counts, removed))


def _with_empty_class(kind: TrainingSets, c: int) -> TrainingSets:
    """The same training sets, with a class c that has no sample."""
    if not kind.stratified:
        return kind
    return replace(
        kind,
        n_train=(*kind.n_train[:c], 0, *kind.n_train[c:]),
        counts=(*kind.counts[:c], 0, *kind.counts[c:]),
        extra=tuple(stratum + (stratum >= c) for stratum in kind.extra),
    )
