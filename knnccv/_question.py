"""What is asked, checked before anything is computed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ._checks import check_choice
from ._labels import Coded, code_labels
from .designs import Design, TrainingSets, as_design
from .kernel import Array, Constraints, Labels, Task, Variant, constraints_for
from .variants import get_variant

TIES = ("index", "random")
AVERAGES = ("pooled", "item", "class")


@dataclass(frozen=True)
class Question:
    """What is asked, checked: everything but the neighbours.

    ``kinds`` are the design's training sets; ``item_weights`` of shape (n_kinds, n_classes), Fractions,
    tells what an item of a class counts in each of them, all items' together being 1.
    """

    variant: Variant
    parameters: dict[str, Any]
    labels: Coded
    design: Design
    kinds: tuple[TrainingSets, ...]
    item_weights: tuple[tuple[Fraction, ...], ...]
    ties: str
    average: str

    @property
    def largest(self) -> float:
        """Largest absolute score of one classification."""
        return self.variant.largest_score(**self.parameters)

    def nearest(self, kind: TrainingSets) -> int:
        """How many of the nearest training items decide."""
        return min(self.variant.n_nearest(**self.parameters), sum(kind.n_train))

    def task(self, kind: TrainingSets, number: type = float) -> Task:
        """The kind as the variant sees it."""
        return Task(
            kind.n_train,
            kind.counts,
            kind.stratified,
            held_out=1,
            n_classes=len(self.labels.classes),
            number=number,
        )

    def constraints(self, task: Task) -> Constraints:
        """What the kernel gets for these training sets."""
        return constraints_for(task, self.variant.tables(task, **self.parameters))

    def never_tested(self) -> Array:
        """Bool (n_kinds, n_classes): whether all items of the class are always in the training set."""
        n_classes = len(self.labels.classes)
        shares = [kind.tested_share(n_classes) for kind in self.kinds]
        return np.array([[share == 0 for share in row] for row in shares])

    def kernel_labels(self) -> Labels:
        """What the kernel gets of the items."""
        return Labels(self.labels.codes, np.empty((0, 0)))


def pose(
    y: Any,
    n_items: int,
    variant: str | Variant | type[Variant],
    cv: Any,
    ties: str,
    average: str,
    parameters: Mapping[str, Any],
) -> Question:
    """Check a question.

    Raises
    ------
    ValueError, TypeError
        If a part of it is not allowed, or parts do not suit each other.
    """
    rule = get_variant(variant)
    settings = rule.settings(parameters)
    check_choice("ties", ties, TIES)
    check_choice("average", average, AVERAGES)
    if ties not in rule.tie_rules:
        allowed = " or ".join(repr(name) for name in rule.tie_rules)
        msg = f"variant {rule.name!r} offers ties={allowed}, got ties={ties!r}"
        raise ValueError(msg)
    design = as_design(cv)
    labels = code_labels(y, n_items)
    kinds = design.training_sets(labels)
    weights = design.item_weights(labels, average) or _item_weights(kinds, labels, average)
    question = Question(rule, settings, labels, design, kinds, weights, ties, average)
    for kind in kinds:
        task = question.task(kind)
        rule.kernel_for(task)
        rule.check(task, **settings)
    return replace(question, parameters=copy.deepcopy(settings))  # the caller may change theirs


def _item_weights(
    kinds: tuple[TrainingSets, ...], labels: Coded, average: str
) -> tuple[tuple[Fraction, ...], ...]:
    n_classes = len(labels.classes)
    counts = [int(count) for count in labels.counts]
    shares = [kind.tested_share(n_classes) for kind in kinds]
    if average == "pooled":
        each = [kind.probability / kind.n_test for kind in kinds]
        return tuple(tuple(one * share for share in row) for one, row in zip(each, shares, strict=True))
    tested = [
        sum(
            (kind.probability * row[c] for kind, row in zip(kinds, shares, strict=True)),
            Fraction(0),
        )
        for c in range(n_classes)
    ]
    n_tested = sum(count for count, share in zip(counts, tested, strict=True) if share)
    n_tested_classes = sum(1 for share in tested if share)

    def weight(kind: TrainingSets, share: Fraction, c: int) -> Fraction:
        if not tested[c]:
            return Fraction(0)
        within = n_tested if average == "item" else counts[c] * n_tested_classes
        return kind.probability * share / tested[c] / within

    return tuple(
        tuple(weight(kind, share, c) for c, share in enumerate(row))
        for kind, row in zip(kinds, shares, strict=True)
    )
