"""Designs in which whole groups of samples are tested together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .._base.labels import EncodedLabels, is_missing, one_each
from .._base.typing import Array
from .._base.validation import ByValue, check, check_integer
from ._base import Allotment, Design, TrainingSets, n_train_in_half


@dataclass(frozen=True)
class GroupTrainingSets(TrainingSets):
    """All training sets of a fixed number of whole groups, equally likely.

    ``n_train`` and ``counts`` are numbers of groups; groups may differ in size.

    Attributes
    ----------
    sizes : tuple of int
        Number of samples of every group, in the order of the group codes.
    """

    sizes: tuple[int, ...] = ()

    @property
    def n_test(self) -> Fraction:
        """Mean number of samples that a training set leaves for testing."""
        return Fraction(sum(self.sizes) * self.n_test_groups, len(self.sizes))

    @property
    def n_test_groups(self) -> int:
        """Number of groups that every training set leaves for testing."""
        return sum(self.counts) - sum(self.n_train)

    @property
    def n_available(self) -> int:
        """Number of samples besides a tested one."""
        return sum(self.sizes) - self.held_out

    @property
    def least_train(self) -> int:
        """Size of the smallest training set."""
        return self.train_sizes[0]

    @property
    def most_train(self) -> int:
        """Size of the largest training set."""
        return sum(self.sizes) - sum(sorted(self.sizes)[: self.n_test_groups])

    @property
    def train_sizes(self) -> tuple[int, ...]:
        """All sizes of training sets if one group is tested; otherwise the smallest and the largest."""
        n_items = sum(self.sizes)
        if self.n_test_groups == 1:
            return tuple(sorted({n_items - size for size in self.sizes}))
        smallest = n_items - sum(sorted(self.sizes)[-self.n_test_groups :])
        return tuple(sorted({smallest, self.most_train}))


@dataclass(frozen=True, eq=False, repr=False)
class LeaveGroupsOut(ByValue, Design):
    """All test sets of p whole groups, equally likely (scikit-learn's LeaveOneGroupOut, LeavePGroupsOut).

    Samples of one group (a patient, a speaker, a photograph's subject) are tested together or train
    together. Every rule that has a kernel for fixed sizes is supported. With ``p > 1``, rules of several
    nearest training samples go through the sets of groups that they meet in a sample's neighbor list. A
    sample that meets too many (5,000, if there are more than 20,000 sets in all) is sampled, see
    `SampledCV`. Fewer neighbors, smaller shares of tested groups and a larger `tol` take fewer.

    Parameters
    ----------
    groups : array of shape (n_items,)
        The group of every sample: labels of any type (numbers, text, dates, tuples, …), at least two
        different ones. Copied.
    p : int, default 1
        Number of groups that are tested, 1 to n_groups - 1.

    Raises
    ------
    TypeError, ValueError
        If `groups` or `p` is not as above.

    Notes
    -----
    Every sample is tested in the same share of the splits, p / n_groups. With ``average="pooled"`` all
    classifications of all splits have equal weight, and hence all samples: the score is the share of
    correct answers among all answers. ``average="item"`` is the same.

    The mean of the splits' scores (``cross_val_score(...).mean()``) differs unless groups have equal sizes.
    It is a mean of ratios, in which a sample of a small group has more weight. For ``p=1`` it follows from
    the samples' scores, see the example. GroupShuffleSplit and shuffled GroupKFold draw from the same test
    sets: with the same number of tested groups, the mean score of each sample is the same.

    With ``p > 1`` and ``ties="random"``, tied groups of unequal sizes cost, for every tested sample, their
    number times the smaller of p and n_groups - p times their samples. This is slow if most distances are
    equal.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv import LeaveGroupsOut, complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> groups = np.arange(178) // 5
    >>> result = complete_cv(wine.X, wine.y, "knn", LeaveGroupsOut(groups), n_neighbors=3)
    >>> round(result.score, 6), result.n_train_sets
    (0.719101, 36)
    >>> fold_scores = [result.per_item[groups == group].mean() for group in np.unique(groups)]
    >>> round(float(np.mean(fold_scores)), 6)
    0.714815
    """

    leaves_groups = True
    example = "groups"
    groups: Any
    p: int = 1

    def __post_init__(self) -> None:
        groups, codes = encode_groups(self.groups)
        n_groups = int(codes.max()) + 1 if len(codes) else 0
        check(n_groups >= 2, f"groups must hold at least two different labels, got {n_groups}")
        p = check_integer("p", self.p, 1, n_groups - 1, "one less than the number of groups")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "_codes", codes)

    def __repr__(self) -> str:
        return f"LeaveGroupsOut({len(self.sizes)} groups, p={self.p})"

    @property
    def codes(self) -> Array:
        """int64 (n_items,): 0 .. n_groups - 1."""
        codes: Array = self._codes  # type: ignore[attr-defined]
        return codes

    @property
    def sizes(self) -> Array:
        """int64 (n_groups,): the number of samples of every group."""
        return np.bincount(self.codes)

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """One kind: n_groups - p groups."""
        _check_number(self.codes, len(labels.codes), "groups")
        sizes = tuple(self.sizes.tolist())
        n_groups = len(sizes)
        return (GroupTrainingSets(Fraction(1), (n_groups - self.p,), (n_groups,), False, sizes=sizes),)

    def allotment(self, labels: EncodedLabels) -> Allotment:
        """Return the numbers of groups that train and that are tested."""
        (kind,) = self.training_sets(labels)
        sizes = np.array([[*kind.n_train, self.p]])
        strata = np.zeros(kind.counts[0], np.int64)
        return Allotment(sizes, strata, np.zeros(1, np.int64), folded=False, units=self.codes)

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:  # noqa: ARG002
        """Return the design of the half's groups, with the same share of tested groups."""
        groups = self.codes[rows]
        n_groups, n_half = len(self.sizes), len(np.unique(groups))
        (n_train,) = n_train_in_half((n_groups - self.p,), (n_groups,), (n_half,))
        return LeaveGroupsOut(groups, n_half - n_train)

    def without(self, item: int) -> Design:
        """Return the design of the other samples' groups."""
        return LeaveGroupsOut(np.delete(self.codes, item), self.p)

    def every_split(self, labels: EncodedLabels) -> tuple[Array, Array] | None:  # noqa: ARG002
        """Return the run that tests one group after another, if one is tested."""
        return (self.codes.astype(np.int32), np.zeros(len(self.sizes), np.int64)) if self.p == 1 else None

    def in_words(self) -> str:
        """Return the design in words."""
        return "leave one group out" if self.p == 1 else f"leave {self.p} groups out"


def encode_groups(groups: Any, name: str = "groups", n_items: int | None = None) -> tuple[Array, Array]:
    """A copy of the groups as an array, and their codes, int64 (n_items,); messages call them `name`."""
    check(not np.ma.is_masked(groups), f"{name} holds masked entries; every sample needs a group")
    labels = one_each(groups)
    check(labels.ndim == 1, f"{name} must have shape (n_items,), got shape {labels.shape}")
    if labels.dtype.kind in "OT":
        codes = _encode_objects(labels, name)
    else:
        missing = labels != labels
        if missing.any():
            at = int(np.argmax(missing))
            msg = f"{name}[{at}] is missing ({labels[at]}); every sample needs a group"
            raise ValueError(msg)
        codes = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if n_items is not None:
        _check_number(codes, n_items, name)
    return labels, codes


def _check_number(codes: Array, n_items: int, name: str) -> None:
    msg = f"{name} must have one label for each of the {n_items} samples, got {len(codes)}"
    check(len(codes) == n_items, msg)


def _encode_objects(labels: Array, name: str) -> Array:
    codes: dict[Any, int] = {}
    listed = np.empty(len(labels), np.int64)
    for at, label in enumerate(labels.tolist()):
        try:
            hash(label)
        except TypeError as error:
            msg = f"{name}[{at}] is a {type(label).__name__}, which cannot label a group"
            raise TypeError(msg) from error
        if is_missing(label):
            msg = f"{name}[{at}] is missing ({label!r}); every sample needs a group"
            raise ValueError(msg)
        listed[at] = codes.setdefault(label, len(codes))
    return listed
