"""The distributions of the training and test sets that scikit-learn's splitters draw.

The splitters themselves give the numbers of samples. They run as shallow copies with their own seed, so the
random states of the caller do not change.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, islice
from typing import Any

import numpy as np

from .._labels import EncodedLabels, encode_labels
from .._typing import Array
from ..designs import Design
from ..driver import InexactError
from ._designs import Folds, Shares, StratifiedShuffle, as_ints
from ._whole_data import WholeData

Split = tuple[Array, Array]


@dataclass(frozen=True)
class FoldLaw:
    """Equally likely test sets of fixed sizes, in total or per class.

    Attributes
    ----------
    design : Design
        The training sets; its "pooled" average is the mean of the scores of the folds.
    ties : {"index", "random"}
        The order of tied training samples.
    pooled : str
        The average of `design` that gives all classifications of all splits equal weight.
    balanced : Design or None
        The design whose score of a fold is the mean of the scores of its tested classes; None if the
        numbers of tested samples per class are not fixed.
    single : bool
        Whether all test sets are single samples.
    tests_rest : bool
        Whether all samples outside the training set are tested.
    n_splits : int
        The number of splits if the splitter goes through all of them, otherwise 0.
    """

    design: Design
    ties: str
    pooled: str = "item"
    balanced: Design | None = None
    single: bool = False
    tests_rest: bool = True
    n_splits: int = 0

    @classmethod
    def of_design(cls, design: Design, ties: str, labels: EncodedLabels) -> FoldLaw:
        """Create the distribution of splits of a design of knnccv."""
        kinds = design.training_sets(labels)
        if not all(kind.stratified for kind in kinds):
            return cls(design, ties)
        parts = math.lcm(*(kind.probability.denominator for kind in kinds))
        n_trains = [kind.n_train for kind in kinds for _ in range(int(kind.probability * parts))]
        return cls(design, ties, balanced=Folds(repr(design), tuple(n_trains), True, balanced=True))


@dataclass(frozen=True)
class GroupLaw:
    """Whole groups in training and test sets.

    `codes` (n_items,) are the numbers of the groups; `parts` are (probability, number of training groups,
    number of tested groups); `every` is True if the splitter goes through all such splits.
    """

    codes: Array
    parts: tuple[tuple[Fraction, int, int], ...]
    every: bool

    @property
    def sizes(self) -> Array:
        """The number of samples in every group."""
        return np.bincount(self.codes)

    @property
    def n_splits(self) -> int:
        """The number of different splits."""
        n_groups = len(self.sizes)
        return sum(math.comb(n_groups, s) * math.comb(n_groups - s, t) for _, t, s in self.parts)

    def group_splits(self) -> Iterator[tuple[Fraction, tuple[tuple[int, ...], tuple[int, ...]]]]:
        """Yield all splits, as training groups and tested groups, with their probabilities."""
        n_groups = len(self.sizes)
        for probability, n_train, n_test in self.parts:
            number = math.comb(n_groups, n_test) * math.comb(n_groups - n_test, n_train)
            for tested in combinations(range(n_groups), n_test):
                rest = [group for group in range(n_groups) if group not in tested]
                for trained in combinations(rest, n_train):
                    yield probability / number, (trained, tested)

    def splits(self) -> Iterator[tuple[Fraction, Split]]:
        """Yield all splits with their probabilities."""
        for probability, parts in self.group_splits():
            train, test = (np.flatnonzero(np.isin(self.codes, chosen)) for chosen in parts)
            yield probability, (train, test)


@dataclass(frozen=True)
class ListedLaw:
    """The same splits for every seed."""

    splits: tuple[Split, ...] = field(repr=False)


@dataclass(frozen=True)
class UnknownLaw:
    """A random splitter without a closed form."""

    reason: str


Law = FoldLaw | GroupLaw | ListedLaw | UnknownLaw


def law_of(cv: Any, X: Any, y: Array, groups: Any, *, regression: bool) -> Law:
    """Return the distribution of a splitter's splits.

    Raises
    ------
    ValueError
        If the splitter raises it for these data, or is `WholeData`.
    """
    from sklearn import model_selection as ms

    if isinstance(cv, WholeData):
        msg = "pass the splits to average over as cv, such as 5: WholeData() tests the training samples"
        raise ValueError(msg)
    kind, n_items = type(cv), len(y)
    if not is_random(cv) and kind not in (
        ms.LeaveOneOut,
        ms.LeavePOut,
        ms.LeaveOneGroupOut,
        ms.LeavePGroupsOut,
    ):
        return listed(cv, X, y, groups)
    splits = _probe(cv, y, groups)
    if kind in (ms.KFold, ms.RepeatedKFold):
        sizes = [(len(train), len(test)) for train, test in islice(splits, _n_folds(cv))]
        design = Folds(in_words(cv), tuple((n_train,) for n_train, _ in sizes), False)
        return FoldLaw(design, "index", single=all(n_test == 1 for _, n_test in sizes))
    if kind in (ms.StratifiedKFold, ms.RepeatedStratifiedKFold):
        labels = _strata(y, regression)
        trains = [train for train, _ in islice(splits, _n_folds(cv))]
        counts = [np.bincount(labels.codes[train], minlength=len(labels.counts)) for train in trains]
        design = Folds(in_words(cv), tuple(map(as_ints, counts)), True)
        return FoldLaw(design, "index", balanced=replace(design, balanced=True))
    if kind in (ms.LeaveOneOut, ms.LeavePOut, ms.ShuffleSplit):
        train, test = next(splits)
        design = Folds(in_words(cv), ((len(train),),), False)
        if kind is ms.ShuffleSplit:
            rest = len(train) + len(test) == n_items
            return FoldLaw(design, "random", single=len(test) == 1, tests_rest=rest)
        return FoldLaw(design, "index", single=len(test) == 1, n_splits=math.comb(n_items, len(test)))
    if kind is ms.StratifiedShuffleSplit:
        train, test = next(splits)
        labels = _strata(y, regression)
        shuffle = StratifiedShuffle(in_words(cv), Shares.of(labels.counts, len(train)), len(test))
        return FoldLaw(shuffle, "random", "pooled", replace(shuffle, balanced=True))
    if kind is ms.GroupKFold:
        tests = [test for _, test in splits]
        codes = _group_codes(groups)
        n_tests = [len(np.unique(codes[test])) for test in tests]
        n_groups = int(codes.max()) + 1
        parts = ((Fraction(n_tests.count(n), len(n_tests)), n_groups - n, n) for n in sorted(set(n_tests)))
        return GroupLaw(codes, tuple(parts), every=False)
    if kind in (ms.GroupShuffleSplit, ms.LeaveOneGroupOut, ms.LeavePGroupsOut):
        split = next(splits)
        codes = _group_codes(groups)
        n_train, n_test = (len(np.unique(codes[part])) for part in split)
        one = (Fraction(1), n_train, n_test)
        return GroupLaw(codes, (one,), every=kind is not ms.GroupShuffleSplit)
    return UnknownLaw(f"the random splits of {in_words(cv)} have no closed form")


def is_random(cv: Any) -> bool:
    """Check by its attributes whether a splitter draws random numbers."""
    return hasattr(cv, "random_state") and bool(getattr(cv, "shuffle", True))


def in_words(cv: Any) -> str:
    """Return the repr of a splitter in one line."""
    return " ".join(repr(cv).split())


def reseeded(cv: Any, seed: int) -> Any:
    """Copy a splitter with another seed; the random state of the original stays unchanged."""
    other = copy.copy(cv)
    if hasattr(other, "random_state"):
        other.random_state = seed
    return other


def _probe(cv: Any, y: Array, groups: Any) -> Iterator[Split]:
    """Yield splits with a fixed seed, to count their samples."""
    splits: Iterator[Split] = reseeded(cv, 0).split(np.zeros(len(y)), y, groups)
    return splits


def _n_folds(cv: Any) -> int:
    return int(cv.get_n_splits() // getattr(cv, "n_repeats", 1))


def listed(cv: Any, X: Any, y: Array, groups: Any) -> ListedLaw | UnknownLaw:
    """Return the splits of a splitter without random numbers, if two runs make the same ones."""
    try:
        cv = copy.deepcopy(cv)
    except TypeError:  # an attribute cannot be copied
        cv = copy.copy(cv)
    splits = tuple(cv.split(X, y, groups))
    for one, other in zip(splits, cv.split(X, y, groups), strict=True):
        if not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True)):
            return UnknownLaw(f"the splits of {in_words(cv)} change from run to run")
    return ListedLaw(splits)


def _strata(y: Array, regression: bool) -> EncodedLabels:
    if regression or y.ndim != 1:
        what = "a regression" if regression else "several labels for each sample"
        msg = f"stratified splits of {what} have no closed form"
        raise InexactError(msg)
    return encode_labels(y)


def _group_codes(groups: Any) -> Array:
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    return codes.reshape(-1)
