"""The scoring problem: labels, rule, design, tie rule and average, and what a sample weighs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np

from ..._base.labels import EncodedLabels, labels_of
from ..._base.typing import Array
from ..._base.validation import check_real
from ...designs import Design, GroupTrainingSets, LeaveGroupsOut, TrainingSets
from ...kernel import Constraints, Labels, Score, Task, Variant, constraints_for

AVERAGES = ("pooled", "item", "class")
SLACK = Fraction(1, 10**9)
"""By how much shares may miss a sum of 1, as decimals of 1/3 do."""


def weights_of(
    kinds: tuple[TrainingSets, ...], labels: EncodedLabels, average: Any
) -> tuple[tuple[Fraction, ...], ...]:
    """The weight of a sample of each class in each kind, (n_kinds, n_classes), where all rest is tested."""
    counts = labels.counts.astype(object)
    shares = np.array([kind.tested_share(len(counts)) for kind in kinds], dtype=object)
    parts = np.array([[kind.probability] for kind in kinds], dtype=object) * shares
    if average == "pooled":
        n_items = counts.sum()
        divisors = [kind.n_test if kind.held_out else n_items for kind in kinds]
        return tuple(tuple(row / n) for row, n in zip(parts, divisors, strict=True))
    tested = parts.sum(axis=0)
    known = (tested > 0) & (labels.counts > 0)  # a half of the samples may have none of a class
    within = np.full(len(counts), counts[known].sum())
    if average != "item":
        wanted = np.array(class_shares(average, labels))
        within = counts * wanted[known].sum() / wanted
    each = np.full(parts.shape, Fraction(0))
    each[:, known] = parts[:, known] / (tested * within)[known]
    return tuple(map(tuple, each))


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


class Way(NamedTuple):
    """How the samples of a problem are scored, see `way_of`.

    Attributes
    ----------
    method : str or None
        The argument of `complete_cv`; None where only kernels that see no distances are allowed.
    by_kernels : bool
        Exact kernels score the samples, and may leave single ones out; otherwise all are sampled.
    sees_distances : bool
        Some kind of training sets is scored by a kernel that sees distances.
    may_leave_out : bool
        A sample may have too many training sets to go through.
    samples_rest : bool
        What the kernels leave out is sampled.
    """

    method: str | None = None
    by_kernels: bool = True
    sees_distances: bool = False
    may_leave_out: bool = False
    samples_rest: bool = False


BY_KERNELS = Way()
"""Before it is decided."""


@dataclass(frozen=True)
class ScoringProblem:
    """Everything that decides a score except the neighbors; checked.

    ``training_sets`` are the design's, one entry for each kind. ``item_weights`` (n_kinds, n_classes) are
    Fractions: the weight of a sample of a class in each kind; over all samples and kinds they sum to 1.
    ``values`` (n_items, n_outputs) are the real targets, (0, 0) for a rule of class labels. ``targets`` is
    y as an array.

    ``pool`` are the labels of samples that only train, if there are any; all else describes the samples
    that are tested. Kernels number the samples of the pool after these, and ``values`` hold theirs too.
    ``way`` is how the samples are scored.
    """

    variant: Variant
    parameters: dict[str, Any]
    labels: EncodedLabels
    design: Design
    training_sets: tuple[TrainingSets, ...]
    item_weights: tuple[tuple[Fraction, ...], ...]
    ties: str
    average: Any
    values: Array
    targets: Array
    pool: EncodedLabels | None = None
    way: Way = BY_KERNELS

    @property
    def score(self) -> Score:
        """What the score of one classification is."""
        return self.variant.score(**self.parameters)

    @property
    def largest(self) -> float:
        """Largest absolute score of one classification."""
        return self.score.largest_for(self.values)

    @property
    def radius(self) -> float | None:
        """The distance within which all training samples decide; None if the nearest do."""
        return self.variant.radius(**self.parameters)

    def nearest(self, kind: TrainingSets) -> int:
        """The number of nearest training samples that decide."""
        return min(self.variant.n_nearest(**self.parameters), kind.most_train)

    def task(self, kind: TrainingSets, number: type = float) -> Task:
        """The training sets as the variant sees them."""
        return Task(
            kind.n_train,
            kind.counts,
            kind.stratified,
            held_out=kind.held_out,
            n_classes=len(self.labels.classes),
            number=number,
            extra=kind.extra,
            n_extra=kind.n_extra,
        )

    @property
    def leaves_groups(self) -> bool:
        """Return True if whole groups of samples are left out."""
        return self.design.leaves_groups

    @property
    def left_out(self) -> Array | None:
        """The groups, int64 (n_items,), if a single one is left out; otherwise None."""
        design = self.design
        return design.codes if isinstance(design, LeaveGroupsOut) and design.p == 1 else None

    @property
    def smallest_train(self) -> int:
        """Size of the smallest training set."""
        return min(kind.least_train for kind in self.training_sets)

    def known_training_set_task(self, train_size: int, number: type = float) -> Task:
        """One known training set of that size: exactly its samples can be drawn."""
        n_classes = len(self.labels.classes)
        return Task((train_size,), (train_size,), False, held_out=0, n_classes=n_classes, number=number)

    def tasks_to_check(self, kinds: Iterable[TrainingSets]) -> list[Task]:
        """The tasks that the parameters must suit; of whole groups, known training sets of their sizes."""
        tasks = []
        for kind in kinds:
            if isinstance(kind, GroupTrainingSets):
                tasks += [self.known_training_set_task(size) for size in kind.train_sizes]
            else:
                tasks.append(self.task(kind))
        return tasks

    def constraints(self, task: Task) -> Constraints:
        """The constraints that the kernel reads for these training sets."""
        tables = self.variant.tables(task, **self.parameters)
        n_nearest = self.variant.n_nearest(**self.parameters)
        return constraints_for(task, tables, n_nearest=n_nearest, fields=self.variant.fields)

    @property
    def measure(self) -> str:
        """The name of the score, such as "balanced accuracy" or "mean squared error"."""
        measure = self.score.name
        if isinstance(self.average, Mapping):
            return f"{measure} at given class shares"
        balanced = self.average == "class" or self.design.balanced
        if not balanced or self.variant.target == "values":
            return measure
        return f"balanced {measure}" if self.score.is_share else f"class-mean {measure}"

    @property
    def is_loss(self) -> bool:
        """Return True if a smaller score is better."""
        return bool(self.score.is_loss)

    @property
    def loss(self) -> Any:
        """The matrix of losses; None for the 0/1 match."""
        return self.parameters.get("loss")

    def described(self) -> dict[str, Any]:
        """The fields of a result that tell its problem."""
        names = ("ties", "average", "parameters", "measure")
        return {"variant": self.variant.name, **{name: getattr(self, name) for name in names}}

    def single_neighbor_scores(self) -> Array:
        """Score of a tested sample of the row's class if one sample of the column's class decides."""
        if self.variant.target == "values":
            return np.zeros((1, 1))
        if self.loss is not None:
            return np.array(self.loss, dtype=float)
        right = np.eye(len(self.labels.classes))
        return 1 - right if self.is_loss else right

    def never_tested(self) -> Array:
        """Bool (n_kinds, n_classes): classes whose samples are in every training set of the kind."""
        n_classes = len(self.labels.classes)
        shares = [kind.tested_share(n_classes) for kind in self.training_sets]
        return np.array([[share == 0 for share in row] for row in shares])

    def tested(self) -> Array:
        """Bool (n_kinds, n_items): whether the sample is tested in a kind of training sets."""
        tested: Array = ~self.never_tested()[:, self.labels.codes]
        return tested

    def asked_again(self) -> tuple[Any, tuple[None, Any] | None]:
        """The arguments `y` and `test` of `complete_cv`, for neighbors that are known."""
        if self.pool is None:
            return self.targets, None
        own = self.labels.classes[self.pool.codes]
        if self.values.size:
            own = self.values[len(self.targets) :].reshape(-1, *self.targets.shape[1:])
        return own, (None, self.targets)

    def kernel_labels(self) -> Labels:
        """Classes and targets of the samples, as the kernel reads them."""
        pools = [] if self.pool is None else [self.pool.codes]
        return Labels(np.concatenate([self.labels.codes, *pools]), self.values)

    def with_labels_of(self, source: Array) -> ScoringProblem:
        """The problem in which sample i has the label, or the targets, of sample ``source[i]``.

        `source` is a permutation, so that no class gains or loses samples.
        """
        labels, values = self.labels._replace(codes=self.labels.codes[source]), self.values
        moves_kinds = self.design.depends_on not in ("size", "counts")
        return replace(
            self.over(self.design, labels) if moves_kinds else self,
            labels=labels,
            values=values[source] if values.size else values,
            targets=self.targets[source],
        )

    def over(self, design: Design, labels: EncodedLabels) -> ScoringProblem:
        """The problem over another design, whose training sets are those for these labels."""
        kinds = kinds_of(design, labels, self.pool)
        weights = item_weights(design, kinds, labels, self.average, self.pool)
        return replace(self, design=design, training_sets=kinds, item_weights=weights)


def kinds_of(design: Design, labels: EncodedLabels, pool: EncodedLabels | None) -> tuple[TrainingSets, ...]:
    """The kinds of training sets, of a pool if there is one."""
    return design.training_sets(labels) if pool is None else training_sets_of_pool(design, pool)


def item_weights(
    design: Design,
    kinds: tuple[TrainingSets, ...],
    labels: EncodedLabels,
    average: Any,
    pool: EncodedLabels | None,
) -> Any:
    """The weights of the samples; a design may have its own, but not for a test set."""
    own = design.item_weights(labels, average) if pool is None else None
    return own or weights_of(kinds, labels, average)


def labels_of_pool(pool: EncodedLabels, rows: Array | None = None) -> EncodedLabels:
    """The labels of a pool, or of some of its samples, by the classes that the pool has."""
    own = np.flatnonzero(pool.counts)
    codes = np.searchsorted(own, pool.codes)
    whole = EncodedLabels(codes, pool.classes[own], pool.counts[own], pool=True)
    return whole if rows is None else labels_of(whole, rows)._replace(pool=True)


def training_sets_of_pool(
    design: Design, pool: EncodedLabels, rows: Array | None = None
) -> tuple[TrainingSets, ...]:
    """The kinds of training sets of a pool, or of some of its samples.

    The design sees the classes of the pool alone. A class that only the samples tested have is a stratum of
    no sample.
    """
    kinds = design.training_sets(labels_of_pool(pool, rows))
    own, n_classes = np.flatnonzero(pool.counts), len(pool.counts)

    def in_strata(kind: TrainingSets) -> TrainingSets:
        if not kind.stratified or len(own) == n_classes:
            return replace(kind, held_out=0)
        n_train, counts = np.zeros((2, n_classes), np.int64)
        n_train[own], counts[own] = kind.n_train, kind.counts
        extra = tuple(own[list(kind.extra)].tolist())
        return replace(
            kind, n_train=tuple(n_train.tolist()), counts=tuple(counts.tolist()), extra=extra, held_out=0
        )

    return tuple(map(in_strata, kinds))
