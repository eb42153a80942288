"""What a sample weighs in the score, by the argument `average`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from ..._base.labels import EncodedLabels
from ..._base.validation import check_choice, check_real
from ...designs import Design, TrainingSets

AVERAGES = ("pooled", "item", "class")
SLACK = Fraction(1, 10**9)
"""By how much shares may miss a sum of 1, as decimals of 1/3 do."""


def weights_of(
    kinds: tuple[TrainingSets, ...], labels: EncodedLabels, average: Any
) -> tuple[tuple[Fraction, ...], ...]:
    """The weight of a sample of each class in each kind, (n_kinds, n_classes), where all rest is tested."""
    n_classes = len(labels.classes)
    counts = [int(count) for count in labels.counts]
    shares = [kind.tested_share(n_classes) for kind in kinds]
    if average == "pooled":
        n_items = sum(counts)
        each = [kind.probability / (kind.n_test if kind.held_out else n_items) for kind in kinds]
        return tuple(tuple(one * share for share in row) for one, row in zip(each, shares, strict=True))
    tested = [
        sum(
            (kind.probability * row[c] for kind, row in zip(kinds, shares, strict=True)),
            Fraction(0),
        )
        if counts[c]  # a half of the samples may have none of a class
        else Fraction(0)
        for c in range(n_classes)
    ]
    n_tested = sum(count for count, share in zip(counts, tested, strict=True) if share)
    wanted = class_shares(average, labels)
    total = sum((want for want, share in zip(wanted, tested, strict=True) if share), Fraction(0))

    def weight(kind: TrainingSets, share: Fraction, c: int) -> Fraction:
        if not tested[c]:
            return Fraction(0)
        within = n_tested if average == "item" else counts[c] * total / wanted[c]
        return kind.probability * share / tested[c] / within

    return tuple(
        tuple(weight(kind, share, c) for c, share in enumerate(row))
        for kind, row in zip(kinds, shares, strict=True)
    )


def check_average(average: Any) -> str | dict[Any, Any]:
    """The average, a mapping as a dictionary: the caller may change the original.

    Raises
    ------
    ValueError, TypeError
        If it is neither a known word nor a mapping of labels to positive shares with sum 1.
    """
    if not isinstance(average, Mapping):
        if not isinstance(average, str) or average not in AVERAGES:
            words = ", ".join(map(repr, AVERAGES))
            msg = f"average must be one of {words}, or a mapping of label to share, got {average!r}"
            raise ValueError(msg)
        check_choice("average", average, AVERAGES)
        return average
    for label, share in average.items():
        value = Fraction(share) if isinstance(share, Rational) else check_real(f"average[{label!r}]", share)
        if not 0 < value <= 1:
            msg = (
                f"average[{label!r}] must be a share in (0, 1], got {share}; every class needs a positive "
                "share (per_class() has the scores of single classes)"
            )
            raise ValueError(msg)
    total = sum(map(_exactly, average.values()), Fraction(0))
    if abs(total - 1) > SLACK:
        msg = (
            f"the shares of the classes must sum to 1, got {float(total):.10g} for {dict(average)}; "
            "every class needs one"
        )
        raise ValueError(msg)
    return dict(average)


def check_labels_of(average: Any, labels: EncodedLabels, has_classes: bool, rule: str) -> None:
    """Raise ValueError if a mapping does not name every class, and no other."""
    if not isinstance(average, Mapping):
        return
    if not has_classes:
        msg = f"variant {rule!r} has real targets, no classes; got average={average!r}"
        raise ValueError(msg)
    keys = list(labels.classes)  # NumPy's scalars equal Python's, and keep dates
    missing = [name for name, key in zip(labels.classes.tolist(), keys, strict=True) if key not in average]
    known = set(keys)
    unknown = [name for name in average if name not in known]
    if missing or unknown:
        msg = f"average must name every class and no other: missing {missing}, unknown {unknown}"
        raise ValueError(msg)


def check_tested(average: Any, weights: Any, labels: EncodedLabels, design: Design) -> None:
    """Raise ValueError if a class is never tested and so cannot have its share."""
    if not isinstance(average, Mapping):
        return
    for name, column in zip(labels.classes.tolist(), zip(*weights, strict=True), strict=True):
        if not any(column):
            msg = f"average gives class {name!r} a share, but {design!r} never tests a sample of it"
            raise ValueError(msg)


def class_shares(average: Any, labels: EncodedLabels) -> list[Fraction]:
    """The wanted share of every class: that of a mapping, or the same for all."""
    if isinstance(average, Mapping):
        return [_exactly(average[label]) for label in labels.classes]
    return [Fraction(1)] * len(labels.classes)


def by_class(average: Any) -> bool:
    """Return True if the weights of the classes do not depend on their numbers of samples."""
    return isinstance(average, Mapping) or average == "class"


def _exactly(share: Any) -> Fraction:
    """The share as it is written: 0.9 is 9/10, also in single precision."""
    if isinstance(share, Rational):
        return Fraction(share)
    return Fraction(repr(share) if type(share) is float else np.format_float_scientific(share))
