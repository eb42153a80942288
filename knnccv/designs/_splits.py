"""The designs of single samples, from random subsamples to stratified k-fold cross-validation.

`as_design` tells which of all designs an argument `cv` stands for.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._base.labels import EncodedLabels, labels_of
from .._base.typing import Array
from .._base.validation import check, check_integer
from ._base import Allotment, Design, OneKind, TrainingSets, each_alone, n_train_in_half, plural
from ._groups import LeaveGroupsOut


@dataclass(frozen=True)
class Subsample(OneKind):
    """All training sets of one size, equally likely (scikit-learn's ShuffleSplit; technical report §2.2).

    Parameters
    ----------
    train_size : int or float
        Number of training samples (1 to n_items - 1), or a fraction in (0, 1) of all samples, rounded down
        as in scikit-learn.

    Examples
    --------
    >>> from knnccv import Subsample
    >>> Subsample(0.8)
    Subsample(train_size=0.8)
    >>> Subsample(100)
    Subsample(train_size=100)
    """

    example = "0.5"
    depends_on = "size"
    train_size: int | float

    def __post_init__(self) -> None:
        _check_size("train_size", self.train_size)

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind, with all samples as one stratum."""
        n_items = len(labels.codes)
        size, most = _count(self.train_size, n_items), n_items - (not labels.pool)
        if not 1 <= size <= most:
            given = "" if isinstance(self.train_size, Integral) else f" ({size} samples)"
            msg = (
                f"train_size must be between 1 and {most} for {n_items} samples, "
                f"got {self.train_size}{given}"
            )
            raise ValueError(msg)
        return (TrainingSets(Fraction(1), (size,), (n_items,), stratified=False),)

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:
        """Return the design with the same share of training samples."""
        (kind,) = self.training_sets(labels)
        return Subsample(*n_train_in_half(kind.n_train, kind.counts, (len(rows),)))

    def in_words(self) -> str:
        """Return the design in words."""
        if isinstance(self.train_size, float):
            return f"training sets of a share {self.train_size:g} of the samples"
        return f"training sets of {plural(self.train_size, 'sample')}"


@dataclass(frozen=True)
class LeaveOut(OneKind):
    """All test sets of p samples, equally likely (scikit-learn's LeaveOneOut and LeavePOut).

    Parameters
    ----------
    p : int, default 1
        Number of tested samples, 1 to n_items - 1.

    References
    ----------
    For K neighbors and two classes: A. Celisse & T. Mary-Huard, Exact Cross-Validation for kNN, Journal de
    la Société Française de Statistique 152, 2011; what it estimates: Theoretical Analysis of
    Cross-Validation for Estimating the Risk of the k-Nearest Neighbor Classifier, JMLR 18, 2018.

    Examples
    --------
    >>> from knnccv import LeaveOut
    >>> LeaveOut(1)
    LeaveOut(p=1)
    """

    example = "1"
    depends_on = "size"
    p: int = 1

    def __post_init__(self) -> None:
        check_integer("p", self.p, 1)

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind, of n_items - p samples."""
        n_items = len(labels.codes)
        msg = f"p must be between 1 and {n_items - 1} for {n_items} samples, got {self.p}"
        check(self.p <= n_items - 1, msg)
        return (TrainingSets(Fraction(1), (n_items - int(self.p),), (n_items,), stratified=False),)

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:
        """Return the design with the same share of tested samples, at least one."""
        (kind,) = self.training_sets(labels)
        (n_train,) = n_train_in_half(kind.n_train, kind.counts, (len(rows),))
        return LeaveOut(len(rows) - n_train)

    def every_split(self, labels: EncodedLabels) -> tuple[Array, Array] | None:
        """Return the run that tests one sample after another, if one is tested."""
        return each_alone(len(labels.codes)) if self.p == 1 else None

    def in_words(self) -> str:
        """Return the design in words."""
        return f"leave {self.p} out"


@dataclass(frozen=True, repr=False)
class StratifiedSubsample(OneKind):
    """All training sets with a fixed number of samples of every class, all equally likely.

    Source: technical report, §2.4.

    Parameters
    ----------
    train_size : float, optional
        Fraction in (0, 1) of every class, rounded down.
    per_class : int or mapping of label to int, optional
        Number of samples of every class, or a mapping with a number (0 to the size of the class) for every
        label.

    Raises
    ------
    TypeError, ValueError
        Unless exactly one of the two is given, with a value of the type above.

    Examples
    --------
    >>> from knnccv import StratifiedSubsample
    >>> StratifiedSubsample(0.5)
    StratifiedSubsample(train_size=0.5)
    """

    stratifies = True
    example = "0.5"
    depends_on = "counts"
    train_size: float | None = None
    per_class: int | Mapping[Any, int] | None = None

    def __repr__(self) -> str:
        if self.per_class is None:
            return f"StratifiedSubsample(train_size={self.train_size})"
        return f"StratifiedSubsample(per_class={self.per_class})"

    def __post_init__(self) -> None:
        msg = (
            "give either train_size (a fraction of every class) or per_class (a number, or a "
            f"mapping of label to number), got train_size={self.train_size!r}, "
            f"per_class={self.per_class!r}"
        )
        check((self.train_size is None) != (self.per_class is None), msg, error=TypeError)
        if self.train_size is not None:
            msg = (
                f"train_size must be a fraction in (0, 1) of every class, got "
                f"{self.train_size!r}; for a number of samples use per_class={self.train_size!r}"
            )
            check(not isinstance(self.train_size, Integral), msg, error=TypeError)
            _check_size("train_size", self.train_size)
        elif isinstance(self.per_class, Mapping):
            own = dict(self.per_class)  # the caller may change the original
            object.__setattr__(self, "per_class", own)
            for label, count in self.per_class.items():
                check_integer(f"per_class[{label!r}]", count, 0)
        elif isinstance(self.per_class, Integral):
            check_integer("per_class", self.per_class, 1)
        else:
            msg = f"per_class must be an integer or a mapping of label to number, got {self.per_class!r}"
            raise TypeError(msg)

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind, with the classes as strata."""
        counts = tuple(int(count) for count in labels.counts)
        n_train = tuple(self._sizes(labels))
        check(sum(n_train) > 0, "per_class must leave a training sample", self.per_class)
        msg = f"per_class puts all {sum(counts)} samples into the training set: none is tested"
        check(n_train != counts or labels.pool, msg)
        return (TrainingSets(Fraction(1), n_train, counts, stratified=True),)

    def _sizes(self, labels: EncodedLabels) -> list[int]:
        names = labels.classes.tolist()
        sizes = [int(count) for count in labels.counts]
        if self.train_size is not None:
            wanted = [_count(self.train_size, size) for size in sizes]
            for name, size, count in zip(names, sizes, wanted, strict=True):
                if count == 0:
                    msg = (
                        f"train_size={self.train_size} leaves no training sample of class {name!r} "
                        f"({size} samples); use per_class={{label: count}} to choose the number"
                    )
                    raise ValueError(msg)
            return wanted
        if isinstance(self.per_class, Mapping):
            keys = list(labels.classes)  # NumPy's scalars equal Python's, and keep dates
            known = set(keys)
            missing = [name for name, key in zip(names, keys, strict=True) if key not in self.per_class]
            unknown = [name for name in self.per_class if name not in known]
            if missing or unknown:
                msg = f"per_class must name every class and no other: missing {missing}, unknown {unknown}"
                raise ValueError(msg)
            wanted = [int(self.per_class[key]) for key in keys]
        else:
            wanted = [int(self.per_class or 0)] * len(names)
        for name, size, count in zip(names, sizes, wanted, strict=True):
            if count > size:
                msg = (
                    f"per_class must be at most the size of the class: class {name!r} has {size} "
                    f"samples, got {count}"
                )
                raise ValueError(msg)
        return wanted

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:
        """Return the design with the same share of training samples of every class."""
        (kind,) = self.training_sets(labels)
        half = tuple(labels_of(labels, rows).counts.tolist())
        n_train = n_train_in_half(kind.n_train, kind.counts, half)
        is_date = labels.classes.dtype.kind in "mM"  # tolist() would turn nanoseconds into integers
        names = list(labels.classes) if is_date else labels.classes.tolist()
        return StratifiedSubsample(per_class=dict(zip(names, n_train, strict=True)))

    def in_words(self) -> str:
        """Return the design in words."""
        if isinstance(self.per_class, Mapping):
            listed = ", ".join(f"{count} of class {name}" for name, count in self.per_class.items())
            return f"training sets of {listed}"
        if self.per_class is not None:
            return f"training sets of {plural(self.per_class, 'sample')} of every class"
        return f"training sets of a share {self.train_size:g} of every class"

    def class_sizes_in_words(self) -> str:
        """Return how many samples of every class train."""
        return (
            super().class_sizes_in_words()
            if self.per_class is None
            else "with given numbers of every class"
        )


@dataclass(frozen=True)
class RebalancedLeaveOneOut(OneKind):
    """Leave out one sample of every class together, so that all training sets have the same class counts.

    A sample is tested by all training sets that leave out it and one sample of every other class.

    Raises
    ------
    ValueError
        When it is used: if a class has fewer than two samples.

    Notes
    -----
    Plain leave-one-out (`LeaveOut`) removes a sample from its own class alone: in its training set this
    class is rarer than where a sample of another class is tested. A rule that leans to the frequent class
    is then wrong more often than by chance: with two classes of equal size and features that say nothing,
    the majority vote of all training samples is wrong about every sample. Here a class has N_c - 1 samples
    in every training set, so that its frequency tells nothing about the tested sample.

    This is `StratifiedSubsample` with ``per_class`` N_c - 1, except that ``average="pooled"``, like "item",
    gives all samples equal weight, as in leave-one-out. (A split tests one sample of every class, so that
    splits would give the classes equal weight; this is ``average="class"``.)

    Austin, Pe'er & Korem, "Distributional bias compromises leave-one-out cross-validation", Science
    Advances 11, 2025 (rebalanced leave-one-out, with one training set for each tested sample; here the
    exact mean over all of them).

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv import LeaveOut, RebalancedLeaveOneOut, complete_cv
    >>> noise, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    >>> for design in (LeaveOut(1), RebalancedLeaveOneOut()):
    ...     print(round(complete_cv(noise, y, "knn", design, n_neighbors=37).score, 3))
    0.275
    0.513
    """

    stratifies = True
    example = ""
    depends_on = "counts"

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind, with the classes as strata."""
        counts = tuple(int(count) for count in labels.counts)
        for name, count in zip(labels.classes.tolist(), counts, strict=True):
            if count == 1:
                msg = (
                    "rebalanced leave-one-out needs at least two samples of every class, but class "
                    f"{name!r} has one"
                )
                raise ValueError(msg)
        n_train = tuple(max(count - 1, 0) for count in counts)  # a half may have none of a class
        return (TrainingSets(Fraction(1), n_train, counts, stratified=True),)

    def item_weights(self, labels: EncodedLabels, average: Any) -> tuple[tuple[Fraction, ...], ...] | None:
        """Return equal weights of all samples for "pooled"."""
        if average != "pooled":
            return None
        n_items = int(labels.counts.sum())
        return (tuple(Fraction(1, n_items) for _ in labels.counts),)

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:  # noqa: ARG002
        """Return the same design: it leaves out one sample of every class of the half."""
        return self

    def in_words(self) -> str:
        """Return the design in words."""
        return "leave one sample of every class out"


@dataclass(frozen=True)
class _ShuffledFolds(Design):
    """All shuffles into folds, each of which tests a fixed number of samples of every stratum."""

    example = "5"
    n_splits: int = 5

    def __post_init__(self) -> None:
        check_integer("n_splits", self.n_splits, 2)

    @property
    def n_folds(self) -> int:
        """The number of test sets of one run."""
        return self.n_splits

    @abstractmethod
    def _tested(self, labels: EncodedLabels) -> Array:
        """The tested samples of each fold, by strata: (n_splits, n_strata)."""

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return at most k kinds of training sets, usually one to three."""
        tested = self._tested(labels)
        counts = tested.sum(axis=0)
        n_trains = [tuple(row) for row in (counts - tested).tolist()]
        return merge_folds(tuple(counts.tolist()), n_trains, self.stratifies)

    def allotment(self, labels: EncodedLabels) -> Allotment:
        """Return the sizes of the folds in every stratum."""
        tested = self._tested(labels)
        n_trains = list(map(tuple, (tested.sum(axis=0) - tested).tolist()))
        kinds = list(dict.fromkeys(n_trains))  # in the order of `merge_folds`
        kind_of = np.array([kinds.index(n_train) for n_train in n_trains])
        strata = labels.codes if self.stratifies else np.zeros_like(labels.codes)
        return Allotment(np.ascontiguousarray(tested.T), strata, kind_of, folded=True)


@dataclass(frozen=True)
class KFold(_ShuffledFolds):
    """K-fold cross-validation over all shuffles (scikit-learn's ``KFold(k, shuffle=True)``).

    If k does not divide N, the first N mod k folds have one sample more. The score is then the mean of the
    folds' scores (``cross_val_score(...).mean()``).

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds, 2 to n_items.

    Examples
    --------
    >>> from knnccv import KFold
    >>> KFold(5)
    KFold(n_splits=5)
    """

    depends_on = "size"

    def _tested(self, labels: EncodedLabels) -> Array:
        n_items = len(labels.codes)
        msg = f"n_splits must be between 2 and {n_items} for {n_items} samples, got {self.n_splits}"
        check(self.n_splits <= n_items, msg)
        small, larger = divmod(n_items, self.n_splits)
        return np.array([[small + 1]] * larger + [[small]] * (self.n_splits - larger))

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:  # noqa: ARG002
        """Return the same number of folds, at most one for each sample."""
        return KFold(min(self.n_splits, len(rows)))

    def every_split(self, labels: EncodedLabels) -> tuple[Array, Array] | None:
        """Return the run that tests one sample after another, if there are as many folds."""
        n_items = len(labels.codes)
        return each_alone(n_items) if self.n_splits == n_items else None

    def in_words(self) -> str:
        """Return the design in words."""
        return f"{self.n_splits}-fold cross-validation"


@dataclass(frozen=True)
class StratifiedKFold(_ShuffledFolds):
    """Stratified k-fold cross-validation over all shuffles (scikit-learn's ``StratifiedKFold``).

    Every fold tests as many samples of each class as in scikit-learn; these numbers depend on the order in
    which the classes first appear.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds, 2 to the size of the largest class.

    Examples
    --------
    >>> from knnccv import StratifiedKFold
    >>> StratifiedKFold(10)
    StratifiedKFold(n_splits=10)
    """

    stratifies = True
    depends_on = "order"

    def _tested(self, labels: EncodedLabels) -> Array:
        largest = int(labels.counts.max())
        check(largest >= 2, "stratified folds need a class of at least two samples, but all labels differ")
        msg = (
            f"n_splits must be between 2 and {largest}, the size of the largest class, got {self.n_splits}"
        )
        check(self.n_splits <= largest, msg)
        n_classes = len(labels.counts)
        present, first = np.unique(labels.codes, return_index=True)
        by_appearance = present[np.argsort(first, kind="stable")]
        dealt = np.repeat(by_appearance, labels.counts[by_appearance])
        return np.array(
            [np.bincount(dealt[i :: self.n_splits], minlength=n_classes) for i in range(self.n_splits)]
        )

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:
        """Return the same number of folds, at most the size of the half's largest class."""
        largest = int(labels_of(labels, rows).counts.max())
        return StratifiedKFold(max(2, min(self.n_splits, largest)))

    def in_words(self) -> str:
        """Return the design in words."""
        return f"stratified {self.n_splits}-fold cross-validation"

    def without_strata(self) -> tuple[str, ...]:
        """Return the code of as many folds without strata."""
        return (f"KFold({self.n_splits})",)


def merge_folds(
    counts: tuple[int, ...], n_trains: list[tuple[int, ...]], stratified: bool
) -> tuple[TrainingSets, ...]:
    """Merge folds of equal training sizes into one kind, in order of first appearance."""
    return tuple(
        TrainingSets(Fraction(number, len(n_trains)), n_train, counts, stratified)
        for n_train, number in Counter(n_trains).items()
    )


def _check_size(name: str, size: Any) -> None:
    msg = f"{name} must be a number of samples or a fraction in (0, 1), got {size!r}"
    check(not isinstance(size, bool) and isinstance(size, Real), msg, error=TypeError)
    if isinstance(size, Integral):
        check_integer(name, size, 1)
    elif not 0 < float(size) < 1:
        msg = f"{name} as a fraction must be in (0, 1), got {size}"
        raise ValueError(msg)


def _count(size: int | float, n_items: int) -> int:
    """The number of samples; a fraction is rounded down, as in scikit-learn."""
    return int(size) if isinstance(size, Integral) else math.floor(float(size) * n_items)


DESIGNS: tuple[type[Design], ...] = (
    Subsample,
    StratifiedSubsample,
    KFold,
    StratifiedKFold,
    LeaveOut,
    RebalancedLeaveOneOut,
    LeaveGroupsOut,
)
"""All designs of the library. `Design` says what each tells about itself."""


def as_design(cv: Any, *, stratified: bool = True) -> Design:
    """Return the design that `cv` stands for: itself, or this number of folds.

    Raises
    ------
    TypeError, ValueError
        If `cv` is neither a design nor an integer.
    """
    if isinstance(cv, Design):
        return cv
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        return StratifiedKFold(int(cv)) if stratified else KFold(int(cv))
    kind = cv if isinstance(cv, type) else type(cv)
    if kind.__module__.startswith("sklearn."):
        name = kind.__name__
        same = f"own {name}" if name in {design.__name__ for design in DESIGNS} else "own designs"
        own = "LeaveGroupsOut(groups)" if "Group" in name else same
        msg = (
            f"cv is scikit-learn's {cv!r}; use knnccv's {own}, or "
            "knnccv.sklearn.expected_score(estimator, X, y, cv=...), which takes scikit-learn's"
        )
        raise TypeError(msg)
    names = ", ".join(design.__name__ for design in DESIGNS)
    msg = f"cv must be a number of folds or a design ({names}), got {_shown(cv)}"
    raise TypeError(msg)


def _shown(cv: Any) -> str:
    """The given object as text; for a class of designs, with an example of a design."""
    if not (isinstance(cv, type) and issubclass(cv, Design)):
        return repr(cv)
    example = f"{cv.__name__}({cv.example})"
    return f"the class {cv.__name__}; give one of its designs, such as {example}"
