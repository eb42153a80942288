"""Splitters: the distributions of the training and test sets that scikit-learn's draw, and `WholeData`.

The splitters themselves give the numbers of samples. They run as shallow copies with their own seed, so the
random states of the caller do not change.

`StratifiedShuffle` and `ByClass` are designs that knnccv's own do not cover. The score of a split may be a
mean over its tested classes (balanced accuracy). It has a closed form for fixed numbers of tested samples
of every class; `ByClass` goes through these numbers.
"""

from __future__ import annotations

import copy
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from .._base.compat import is_sklearns_scorer, scorer_of_splits
from .._base.formatting import magnitude
from .._base.labels import EncodedLabels, encode_labels, labels_of
from .._base.typing import Array
from .._base.validation import check
from .._core.driver import InexactError
from ..designs import (
    Allotment,
    Design,
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    StratifiedKFold,
    Subsample,
    TrainingSets,
    encode_groups,
    n_train_in_half,
)
from ._estimators import length_of

MAX_COUNTS = 200
"""The largest number of different class counts of test sets that are evaluated one by one."""
MAX_PATTERNS = 1_000
"""The largest number of patterns of class counts that are evaluated one by one."""


@dataclass(frozen=True, repr=False)
class SplitterDesign(Design):
    """A design of one of scikit-learn's splitters, which draws its splits itself.

    Attributes
    ----------
    splitter : str
        Text for messages.
    """

    splitter: str

    def __repr__(self) -> str:
        return self.splitter

    def draw(self, labels: EncodedLabels, rng: np.random.Generator) -> tuple[Array, Array]:
        """Raise NotImplementedError: the splitter draws."""
        msg = "scikit-learn draws these splits: expected_score(..., method='sampled')"
        raise NotImplementedError(msg)


@dataclass(frozen=True, repr=False)
class ByClass(SplitterDesign):
    """The splits of another design by their class counts, whose score is the mean over the tested classes.

    Training sets of given class counts are those of a stratified design, and the mean over the tested
    classes has a fixed denominator. If the other design is not stratified, the counts are hypergeometric.

    Attributes
    ----------
    design : Design
        A design that tests all samples outside the training set.
    balanced : bool
        True: the score is a mean over classes.
    """

    design: Design
    balanced: bool = True

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind for each combination of class counts."""
        counts = as_ints(labels.counts)
        shares: dict[tuple[int, ...], Fraction] = {}
        for kind in self.design.training_sets(labels):
            if kind.stratified:
                shares[kind.n_train] = kind.probability
                continue
            share_of_one = kind.probability / kind.number
            for n_train in _compositions(sum(kind.n_train), counts):
                share = share_of_one * math.prod(map(math.comb, counts, n_train))
                shares[n_train] = shares.get(n_train, Fraction(0)) + share
        return tuple(TrainingSets(share, n_train, counts, True) for n_train, share in shares.items())

    def item_weights(self, labels: EncodedLabels, average: Any) -> tuple[tuple[Fraction, ...], ...] | None:
        """Return the weights of the mean over the tested classes of each split."""
        if average != "pooled":
            return None
        kinds = self.training_sets(labels)
        tested = [Shares(as_ints(np.subtract(kind.counts, kind.n_train))).balanced() for kind in kinds]
        pairs = zip(kinds, tested, strict=True)
        return tuple(_per_sample(shares * kind.probability, kind.counts) for kind, shares in pairs)

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:
        """Return the same for the other design's halves.

        Raises
        ------
        ValueError
            If the half has too many combinations of class counts.
        """
        half = replace(self, design=self.design.halved(labels, rows))
        msg = f"the test sets of a half have more than {MAX_COUNTS} combinations of class counts"
        check(n_class_counts(half.design, labels_of(labels, rows)) <= MAX_COUNTS, msg)
        return half


def n_class_counts(design: Design, labels: EncodedLabels) -> int:
    """The number of different class counts of the training sets of a design."""
    total = 0
    for kind in design.training_sets(labels):
        ways = np.zeros(sum(kind.n_train) + 1, object)  # by the number of training samples
        ways[0] = 1
        for count in labels.counts.tolist():
            sums = np.cumsum(ways)
            ways = sums.copy()
            ways[count + 1 :] -= sums[: -count - 1]
        total += 1 if kind.stratified else ways[-1]
    return total


def _compositions(size: int, counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All numbers of training samples of every class that sum to `size`."""
    found: list[tuple[int, ...]] = [()]
    for at, count in enumerate(counts):
        rest = sum(counts[at + 1 :])
        left = ((taken, size - sum(taken)) for taken in found)
        found = [
            (*taken, n) for taken, most in left for n in range(max(most - rest, 0), min(count, most) + 1)
        ]
    return found


@dataclass(frozen=True)
class Shares:
    """Numbers of samples per class with a fixed total; equal remainders are rounded at random.

    Attributes
    ----------
    base : tuple of int
        The number of samples that every class gets.
    tied : tuple of int
        The classes that may get one more; all subsets of `extra` of them are equally likely.
    extra : int
        The number of classes that get one more.
    """

    base: tuple[int, ...]
    tied: tuple[int, ...] = ()
    extra: int = 0

    @classmethod
    def of(cls, counts: Array, total: int) -> Shares:
        """Divide `total` as scikit-learn's ``_approximate_mode`` does, in the same float arithmetic.

        Rounding decides which remainders are equal, so Fractions would give other results.
        """
        continuous = counts / counts.sum() * total
        floored = np.floor(continuous)
        left = int(total - floored.sum())
        remainder = continuous - floored
        base = floored.astype(int)
        for value in np.unique(remainder)[::-1]:
            if left <= 0:
                break
            tied = np.flatnonzero(remainder == value)
            if len(tied) > left:
                return cls(as_ints(base), as_ints(tied), left)
            base[tied] += 1
            left -= len(tied)
        return cls(as_ints(base))

    @property
    def n_patterns(self) -> int:
        """The number of equally likely outcomes."""
        return math.comb(len(self.tied), self.extra)

    def patterns(self) -> Iterator[tuple[int, ...]]:
        """Yield all outcomes; InexactError if there are too many."""
        drawn = f"{self.extra} of {len(self.tied)} classes, chosen at random, get one more sample"
        many = f"this gives {magnitude(self.n_patterns)} patterns of class counts"
        msg = f"{drawn}: {many}, more than the {MAX_PATTERNS} that can be evaluated one by one"
        check(self.n_patterns <= MAX_PATTERNS, msg, error=InexactError)
        for chosen in combinations(self.tied, self.extra):
            yield tuple(n + (c in chosen) for c, n in enumerate(self.base))

    def expected(self) -> list[Fraction]:
        """Return the expected number of samples per class."""
        share = Fraction(self.extra, len(self.tied) or 1)
        return [n + share * (c in self.tied) for c, n in enumerate(self.base)]

    def balanced(self) -> Array:
        """Return the expected weights, as Fractions, if the classes that have samples count alike."""
        weights = np.full(len(self.base), Fraction(0))
        for pattern in self.patterns():
            present = np.array(pattern) > 0
            weights[present] += Fraction(1, self.n_patterns * int(present.sum()))
        return weights


@dataclass(frozen=True, repr=False)
class StratifiedShuffle(SplitterDesign):
    """The training sets of scikit-learn's ``StratifiedShuffleSplit``.

    Attributes
    ----------
    train : Shares
        Training samples per class.
    n_test : int
        Number of test samples.
    balanced : bool
        Whether the score of a split is the mean of the scores of its tested classes.
    one_by_one : bool
        Whether every pattern of class counts is a kind, for rules that cannot evaluate them together.
    """

    train: Shares
    n_test: int
    balanced: bool = False
    one_by_one: bool = False

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind if all samples are used in every split, or one per pattern of class counts.

        Raises
        ------
        ValueError
            If a class has fewer samples than the training set needs, as without one of its samples.
        """
        counts, train = as_ints(labels.counts), self.train
        most = [n + (train.extra > 0 and c in train.tied) for c, n in enumerate(train.base)]
        suits = len(counts) == len(most) and np.less_equal(most, counts).all()
        check(suits, f"{self.splitter} trains {most} samples of the classes, which have {list(counts)}")
        if self._one_kind(labels):
            return (TrainingSets(Fraction(1), train.base, counts, True, train.tied, train.extra),)
        share = Fraction(1, train.n_patterns)
        return tuple(TrainingSets(share, pattern, counts, stratified=True) for pattern in train.patterns())

    def _one_kind(self, labels: EncodedLabels) -> bool:
        """Check whether all patterns can be evaluated together: every sample not in training is tested."""
        n_train = sum(self.train.base) + self.train.extra
        whole = n_train + self.n_test == len(labels.codes)
        return self.train.extra > 0 and whole and not (self.balanced or self.one_by_one)

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:
        """Return the design with the same shares of training and tested samples."""
        half, n_items = labels_of(labels, rows), len(labels.codes)
        total = sum(self.train.base) + self.train.extra
        (n_train,) = n_train_in_half((total,), (n_items,), (len(rows),))
        n_test = len(rows) - n_train
        if total + self.n_test < n_items:
            n_test = min(n_test, max(1, round(Fraction(self.n_test * len(rows), n_items))))
        return replace(self, train=Shares.of(half.counts, n_train), n_test=n_test)

    def tests(self, labels: EncodedLabels, n_train: tuple[int, ...]) -> Shares:
        """Return the numbers of tested samples per class, given those of the training set."""
        return Shares.of(labels.counts - np.array(n_train), self.n_test)

    def item_weights(self, labels: EncodedLabels, average: Any) -> tuple[tuple[Fraction, ...], ...] | None:
        """Weight every class by its expected number of tested samples; a class may have none."""
        if self._one_kind(labels):
            return None
        kinds, counts = self.training_sets(labels), as_ints(labels.counts)
        tests = [self.tests(labels, kind.n_train) for kind in kinds]
        probabilities = np.array([[kind.probability] for kind in kinds])
        if self.balanced and average == "pooled":
            shares = np.array([test.balanced() for test in tests]) * probabilities
        else:
            tested = np.array([test.expected() for test in tests]) * probabilities
            totals = tested.sum(axis=0)
            parts = totals / self.n_test
            if average != "pooled":
                parts = np.where(totals > 0, labels.counts if average == "item" else 1, 0)
                parts = parts.astype(object) / Fraction(int(parts.sum()))
            shares = tested * (parts / np.where(totals > 0, totals, 1))
        return tuple(_per_sample(row, counts) for row in shares)


def _per_sample(shares: Iterable[Fraction], counts: tuple[int, ...]) -> tuple[Fraction, ...]:
    """Divide the weight of every class among its samples; a class without samples has none."""
    return tuple(share / n if n else Fraction(0) for share, n in zip(shares, counts, strict=True))


def as_ints(values: Array) -> tuple[int, ...]:
    """Convert to Python integers."""
    return tuple(int(value) for value in values)


Split = tuple[Array, Array]


class WholeData:
    """A splitter that trains on all samples and tests on all samples, for scorers that split the data.

    Use it with `ccv_scorer` only. An ordinary scorer, such as ``scoring="accuracy"``, would report training
    scores: every sample is then one of its own neighbors, and a single neighbor is always correct.
    scikit-learn's functions get an error if they would do so. Your own scoring functions are not checked.

    Examples
    --------
    >>> from knnccv.sklearn import WholeData
    >>> list(WholeData().split([[0.0], [1.0]]))
    [(array([0, 1]), array([0, 1]))]
    """

    def __repr__(self) -> str:
        return "WholeData()"

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Array, Array]]:  # noqa: ARG002
        """Return an iterator over one split: all samples for training and for testing.

        Raises
        ------
        ValueError
            If scikit-learn would score these splits by a scorer of its own, or predict from them.
        """
        # A splitter is not told the scorer, so it is looked up in the function of scikit-learn that calls.
        scorer = scorer_of_splits(sys._getframe(1))
        remedy = "pass scoring=ccv_scorer(...) with cv=WholeData(), or folds such as cv=5"
        why = "an ordinary scorer would test the samples that the estimator was fitted to"
        check(not (scorer is True or is_sklearns_scorer(scorer)), f"{remedy}: {why}")
        rows = np.arange(length_of(X))
        return iter([(rows, rows.copy())])

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return 1."""
        return 1


class FromPool:
    """The training sets of a splitter of a pool, each of which tests the samples before the pool."""

    def __init__(self, cv: Any, n_tested: int) -> None:
        self.cv, self.n_tested = cv, n_tested
        if is_random(cv):
            self.random_state = cv.random_state

    def __repr__(self) -> str:
        return repr(self.cv)

    def split(self, X: Any, y: Array, groups: Any = None) -> Iterator[Split]:  # noqa: ARG002
        """Return an iterator over the splits of all samples; `groups` are those of the pool."""
        cv, n = reseeded(self.cv, getattr(self, "random_state", 0)), self.n_tested
        for train, _ in cv.split(np.zeros(len(y) - n), y[n:], groups):
            yield np.asarray(train) + n, np.arange(n)

    def get_n_splits(self, X: Any, y: Array, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of splits."""
        return int(self.cv.get_n_splits(np.zeros(len(y) - self.n_tested), y[self.n_tested :], groups))


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

    @property
    def every(self) -> bool:
        """Whether the splitter goes through all splits."""
        return self.n_splits > 0


@dataclass(frozen=True)
class GroupLaw:
    """Whole groups in training and test sets.

    `codes` (n_items,) are the numbers of the groups; `parts` are (probability, number of training groups,
    number of tested groups); a run has `n_folds` of them. `every` is True if the splitter goes through all
    such splits.
    """

    codes: Array
    parts: tuple[tuple[Fraction, int, int], ...]
    n_folds: int
    every: bool
    ties: ClassVar[str] = "index"

    @property
    def sizes(self) -> Array:
        """The number of samples in every group."""
        return np.bincount(self.codes)

    @property
    def n_splits(self) -> int:
        """The number of different splits."""
        n_groups = len(self.sizes)
        return sum(math.comb(n_groups, s) * math.comb(n_groups - s, t) for _, t, s in self.parts)

    @property
    def folds(self) -> list[tuple[int, int]]:
        """The numbers of training groups and of tested groups of every fold of a run."""
        return [(n, t) for share, n, t in self.parts for _ in range(int(share * self.n_folds))]

    def allotment(self) -> Allotment:
        """How a run allots the groups: to its folds, or to training, testing and neither."""
        n_groups, sizes = len(self.sizes), [tested for _, tested in self.folds]
        if self.n_folds == 1:
            sizes = [*self.folds[0], n_groups - sum(self.folds[0])]
        strata, kinds = np.zeros(n_groups, np.int64), np.zeros(self.n_folds, np.int64)
        return Allotment(np.array([sizes]), strata, kinds, self.n_folds > 1, self.codes)

    def leaving(self, n_train: int) -> LeaveGroupsOut:
        """The design whose training sets are so many groups."""
        return LeaveGroupsOut(self.codes, len(self.sizes) - n_train)

    @property
    def design(self) -> LeaveGroupsOut:
        """The design with the fewest training groups."""
        return self.leaving(min(n_train for _, n_train, _ in self.parts))

    def splits(self) -> Iterator[tuple[Fraction, tuple[tuple[int, ...], tuple[int, ...]]]]:
        """Yield all splits, as training groups and tested groups, with their probabilities."""
        groups = range(len(self.sizes))
        for probability, n_train, n_test in self.parts:
            number = math.comb(len(groups), n_test) * math.comb(len(groups) - n_test, n_train)
            for tested in combinations(groups, n_test):
                for trained in combinations([group for group in groups if group not in tested], n_train):
                    yield probability / number, (trained, tested)


Law = FoldLaw | GroupLaw | tuple[Split, ...]


def law_of(cv: Any, X: Any, y: Array, groups: Any, *, regression: bool) -> Law:
    """Return the distribution of the splits of a splitter or a design; a tuple if they are always the same.

    Raises
    ------
    InexactError
        If the distribution has no closed form.
    ValueError
        If the splitter raises it for these data, or is `WholeData`.
    """
    from sklearn import model_selection as ms

    msg = "pass the splits to average over as cv, such as 5: WholeData() tests the training samples"
    check(not isinstance(cv, WholeData), msg)
    if isinstance(cv, FromPool):
        n = cv.n_tested
        law = law_of(cv.cv, X[n:], y[n:], groups, regression=regression)
        if isinstance(law, tuple):
            return tuple((train + n, np.arange(n)) for train, _ in law)
        return replace(law, tests_rest=True) if isinstance(law, FoldLaw) else law
    if isinstance(cv, Design):
        fixed = not regression and all(kind.stratified for kind in cv.training_sets(encode_labels(y)))
        return FoldLaw(cv, "random", balanced=ByClass(repr(cv), cv) if fixed else None)
    kind, n_items = type(cv), len(y)
    grouped = (ms.GroupKFold, ms.GroupShuffleSplit, ms.LeaveOneGroupOut, ms.LeavePGroupsOut)
    if groups is not None:
        encode_groups(groups, n_items=n_items)
    else:
        msg = f"pass groups, a label for each of the {n_items} samples: {in_words(cv)} needs them"
        check(kind not in (*grouped, ms.StratifiedGroupKFold), msg)
    leaving = (ms.LeaveOneOut, ms.LeavePOut, ms.LeaveOneGroupOut, ms.LeavePGroupsOut)
    if not is_random(cv) and kind not in leaving:
        return listed(cv, X, y, groups)
    stratified = (ms.StratifiedKFold, ms.RepeatedStratifiedKFold, ms.StratifiedShuffleSplit)
    if kind in stratified and (regression or y.ndim != 1):
        what = "a regression" if regression else "several labels for each sample"
        msg = f"stratified splits of {what} have no closed form"
        raise InexactError(msg)
    # With a fixed seed, to count the samples.
    splits: Iterator[Split] = reseeded(cv, 0).split(np.zeros(n_items), y, groups)
    train, test = next(splits)
    if kind in (ms.KFold, ms.RepeatedKFold, ms.StratifiedKFold, ms.RepeatedStratifiedKFold):
        n_folds = int(cv.get_n_splits() // getattr(cv, "n_repeats", 1))
        if kind not in stratified:
            return FoldLaw(KFold(n_folds), "index", single=n_folds == n_items)
        strata = StratifiedKFold(n_folds)
        return FoldLaw(strata, "index", balanced=ByClass(in_words(cv), strata))
    if kind in (ms.LeaveOneOut, ms.LeavePOut):
        p = len(test)
        return FoldLaw(LeaveOut(p), "index", single=p == 1, n_splits=math.comb(n_items, p))
    if kind is ms.ShuffleSplit:
        rest = len(train) + len(test) == n_items
        return FoldLaw(Subsample(len(train)), "random", single=len(test) == 1, tests_rest=rest)
    if kind is ms.StratifiedShuffleSplit:
        shares = Shares.of(encode_labels(y).counts, len(train))
        shuffle = StratifiedShuffle(in_words(cv), shares, len(test))
        return FoldLaw(shuffle, "random", "pooled", replace(shuffle, balanced=True))
    if kind in grouped:
        codes = np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)
        chosen = [(train, test), *(splits if kind is ms.GroupKFold else ())]
        sizes = [(len(np.unique(codes[train])), len(np.unique(codes[test]))) for train, test in chosen]
        number = Counter(sorted(sizes, reverse=True))
        parts = tuple((Fraction(n, len(sizes)), n_train, n_test) for (n_train, n_test), n in number.items())
        return GroupLaw(codes, parts, len(sizes), every=kind in leaving)
    msg = f"the random splits of {in_words(cv)} have no closed form"
    raise InexactError(msg)


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


def listed(cv: Any, X: Any, y: Array, groups: Any) -> tuple[Split, ...]:
    """Return the splits of a splitter without random numbers; InexactError if two runs differ."""
    try:
        cv = copy.deepcopy(cv)
    except TypeError:  # an attribute cannot be copied
        cv = copy.copy(cv)
    splits = tuple(cv.split(X, y, groups))
    msg = f"the splits of {in_words(cv)} change from run to run"
    for one, other in zip(splits, cv.split(X, y, groups), strict=True):
        check(all(map(np.array_equal, one, other)), msg, error=InexactError)
    return splits
