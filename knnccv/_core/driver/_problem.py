"""The scoring problem: labels, rule, design, tie rule and average, checked before anything is computed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any, NamedTuple

import numpy as np

from ..._base.labels import (
    EncodedLabels,
    as_targets,
    encode_labels,
    encode_together,
    labels_of,
    single_class,
)
from ..._base.typing import Array
from ..._base.validation import check_choice, check_integer, check_real
from ...designs import Design, GroupTrainingSets, LeaveGroupsOut, TrainingSets, as_design
from ...kernel import DECIDES, Constraints, Labels, Score, Task, Variant, constraints_for
from ...kernel.registry import get_variant

TIES = ("index", "random")


@dataclass(frozen=True)
class ScoringProblem:
    """Everything that decides a score except the neighbors; checked.

    ``training_sets`` are the design's, one entry for each kind. ``item_weights`` (n_kinds, n_classes) are
    Fractions: the weight of a sample of a class in each kind; over all samples and kinds they sum to 1.
    ``values`` (n_items, n_outputs) are the real targets, (0, 0) for a rule of class labels. ``targets`` is
    y as an array.

    ``pool`` are the labels of samples that only train, if there are any; all else describes the samples
    that are tested. Kernels number the samples of the pool after these, and ``values`` hold theirs too.
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
        return Task(
            (train_size,),
            (train_size,),
            stratified=False,
            held_out=0,
            n_classes=len(self.labels.classes),
            number=number,
        )

    def tasks_to_check(self, kind: TrainingSets) -> list[Task]:
        """The tasks that the parameters must suit."""
        if isinstance(kind, GroupTrainingSets):
            return [self.known_training_set_task(size) for size in kind.train_sizes]
        return [self.task(kind)]

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
        kinds = _kinds(design, labels, self.pool)
        weights = _weights(design, kinds, labels, self.average, self.pool)
        return replace(self, design=design, training_sets=kinds, item_weights=weights)


def validate_problem(
    y: Any,
    n_items: int,
    variant: str | Variant | type[Variant],
    cv: Any,
    ties: str | None,
    average: Any,
    parameters: Mapping[str, Any],
    method: str | None = None,
    pool: Pool | None = None,
) -> ScoringProblem:
    """Check all arguments that define a problem.

    The rule needs kernels that see no distances, unless the `method` of `complete_cv` is given. With a
    `pool`, y are the labels of the samples that are tested.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed, or arguments contradict each other.
    """
    rule = get_variant(variant)
    settings = rule.settings(parameters)
    has_kernels = any(form != DECIDES for _, form in rule.compiled_functions())
    tie_rules = rule.tie_rules if has_kernels else TIES
    if ties is None:
        ties = "random" if "random" in tie_rules else "index"
    check_choice("ties", ties, TIES)
    average = check_average(average)
    if ties not in tie_rules:
        allowed = " or ".join(repr(name) for name in tie_rules)
        msg = f"variant {rule.name!r} offers ties={allowed}, got ties={ties!r}"
        raise ValueError(msg)
    design = as_design(cv, stratified=rule.target != "values")
    values = np.empty((0, 0))
    from_pool, test = None, "" if pool is None else "_test"
    if rule.target == "values":
        values, targets = as_targets(y, n_items, test)
        labels = single_class(n_items)
        if pool is not None:
            values, from_pool = _with_pool_targets(values, pool)
    else:
        labels = encode_labels(y, n_items, test)
        if pool is not None:
            from_pool, labels = encode_together(encode_labels(pool.y, pool.n_items), labels)
        targets = labels.classes[labels.codes]
        trained = labels if from_pool is None else from_pool
        settings = dict(rule.for_classes(labels.classes, trained.counts, **settings))
    check_labels_of(average, labels, rule.target == "classes", rule.name)
    # Checked here, since the message of the design would be less helpful.
    unfit = design.stratifies and rule.target == "values"
    training_sets = () if unfit else _kinds(design, labels, from_pool)
    if unfit or (rule.target == "values" and any(kind.stratified for kind in training_sets)):
        msg = f"variant {rule.name!r} has real targets, no classes to stratify by; got cv={design!r}"
        raise ValueError(msg)
    weights = _weights(design, training_sets, labels, average, from_pool)
    check_tested(average, weights, labels, design)
    problem = ScoringProblem(
        rule,
        settings,
        labels,
        design,
        training_sets,
        weights,
        ties,
        average,
        values,
        targets,
        from_pool,
    )
    for task in (task for kind in training_sets for task in problem.tasks_to_check(kind)):
        if not _has_other_way(rule, task, method):
            _check_kernel(rule, task, cv)
        rule.check(task, **settings)
    check_integer(f"n_nearest of variant {rule.name!r}", rule.n_nearest(**settings), 1)
    rule.check_targets(values, **settings)
    return replace(problem, parameters=copy.deepcopy(settings))  # the caller may change the original


def _kinds(design: Design, labels: EncodedLabels, pool: EncodedLabels | None) -> tuple[TrainingSets, ...]:
    """The kinds of training sets, of a pool if there is one."""
    return design.training_sets(labels) if pool is None else training_sets_of_pool(design, pool)


def _weights(
    design: Design,
    kinds: tuple[TrainingSets, ...],
    labels: EncodedLabels,
    average: Any,
    pool: EncodedLabels | None,
) -> Any:
    """The weights of the samples; a design may have its own, but not for a test set."""
    own = design.item_weights(labels, average) if pool is None else None
    return own or weights_of(kinds, labels, average)


class Pool(NamedTuple):
    """The samples that only train: their labels, as the caller gave them, and their number."""

    y: Any
    n_items: int


def _with_pool_targets(values: Array, pool: Pool) -> tuple[Array, EncodedLabels]:
    """The targets of the samples tested and of the pool after them; and the pool as one class."""
    others, _ = as_targets(pool.y, pool.n_items)
    if others.shape[1] != values.shape[1]:
        msg = f"y_test has {values.shape[1]} outputs, but y has {others.shape[1]}"
        raise ValueError(msg)
    return np.concatenate([values, others]), single_class(pool.n_items)._replace(pool=True)


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


def _has_other_way(rule: Variant, task: Task, method: str | None) -> bool:
    """Return True if `complete_cv` can score the rule by this method without `Variant.kernel_for`."""
    by_distance = rule.distance_kernel_for(task) is not None
    match method:
        case "exact":
            return by_distance
        case "auto":
            return by_distance or rule.decision() is not None
        case "sampled":
            return True  # check_method finds what is missing
    return False


def check_tested(average: Any, weights: Any, labels: EncodedLabels, design: Design) -> None:
    """Raise ValueError if a class is never tested and so cannot have its share."""
    if not isinstance(average, Mapping):
        return
    for name, column in zip(labels.classes.tolist(), zip(*weights, strict=True), strict=True):
        if not any(column):
            msg = f"average gives class {name!r} a share, but {design!r} never tests a sample of it"
            raise ValueError(msg)


def _check_kernel(rule: Variant, task: Task, cv: Any) -> None:
    """Raise ValueError if the rule has no kernel; for a number of folds, name the design that it means."""
    try:
        rule.kernel_for(task)
    except ValueError as error:
        kind = type(rule)
        if not isinstance(cv, Integral) or kind.stratified is not None or kind.fixed is None:
            raise
        msg = (
            f"variant {rule.name!r} has no kernel for stratified training sets, but cv={cv} means "
            f"stratified folds; take cv=KFold({cv}) (on the command line --no-stratify)"
        )
        raise ValueError(msg) from error


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


AVERAGES = ("pooled", "item", "class")
SLACK = Fraction(1, 10**9)
"""By how much shares may miss a sum of 1, as decimals of 1/3 do."""


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
            f"the shares of average must sum to 1, got {float(total):.10g} for {dict(average)}; "
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
