"""The base class of designs, `Design`, its training sets, and their sizes in halves of the samples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from .._base.labels import EncodedLabels
from .._base.typing import Array

SMALL_SHARE = Fraction(1, 10)
"""Training sets of at most this share of the samples keep their size in the halves.

A score at a small training size depends on that size more than on the share. The variance of the halves is
then too large, never too small.
"""


@dataclass(frozen=True)
class TrainingSets:
    """One kind of training sets: all of one size (or of one size per class), equally likely.

    Attributes
    ----------
    probability : Fraction
        Share of the design's splits that are of this kind.
    n_train, counts : tuple of int
        Per stratum: samples in the training set, and all samples. The strata are the classes if
        `stratified`; otherwise there is one stratum.
    stratified : bool
        Whether the strata are the classes.
    extra : tuple of int
        Strata of which a random choice of `n_extra` has one sample more in the training set than `n_train`;
        usually empty.
    n_extra : int
        The number of strata with an extra sample.
    held_out : int
        1 if a tested sample is one of the `counts`; 0 if all these only train, and others are tested.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from knnccv import TrainingSets
    >>> TrainingSets(Fraction(1), (2,), (4,), stratified=False).number
    6
    """

    probability: Fraction
    n_train: tuple[int, ...]
    counts: tuple[int, ...]
    stratified: bool
    extra: tuple[int, ...] = ()
    n_extra: int = 0
    held_out: int = 1

    @property
    def number(self) -> int:
        """Number of these training sets."""
        ways = [1] + [0] * self.n_extra  # by the number of strata with an extra sample
        for stratum, (count, n_train) in enumerate(zip(self.counts, self.n_train, strict=True)):
            plain = math.comb(count, n_train)
            more = math.comb(count, n_train + 1) if stratum in self.extra else 0
            before = [0, *ways[:-1]]
            ways = [n * plain + m * more for n, m in zip(ways, before, strict=True)]
        return ways[-1]

    @property
    def log10_number(self) -> float:
        """Decimal logarithm of `number`, for display."""
        if self.n_extra:
            return math.log10(self.number)
        pairs = zip(self.counts, self.n_train, strict=True)
        logs = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for n, k in pairs)
        return sum(logs) / math.log(10)

    @property
    def n_available(self) -> int:
        """Number of samples besides a tested one."""
        return sum(self.counts) - self.held_out

    @property
    def least_train(self) -> int:
        """Size of the smallest training set; here all have the same."""
        return self.most_train

    @property
    def most_train(self) -> int:
        """Size of the largest training set."""
        return sum(self.n_train) + self.n_extra

    @property
    def n_test(self) -> int | Fraction:
        """Number of samples that each of these training sets leaves for testing."""
        return sum(self.counts) - self.most_train

    def tested_share(self, n_classes: int) -> list[Fraction]:
        """Per class, the probability that a given sample of it is tested."""
        if not self.held_out:
            return [Fraction(1)] * n_classes
        more = Fraction(self.n_extra, max(len(self.extra), 1))
        shares = [
            (count - n_train - (more if stratum in self.extra else 0)) / Fraction(count or 1)
            for stratum, (count, n_train) in enumerate(zip(self.counts, self.n_train, strict=True))
        ]
        return shares if self.stratified else shares * n_classes


@dataclass(frozen=True, eq=False)
class Allotment:
    """How one run allots samples, or whole groups, to folds: all ways with these sizes are equally likely.

    Attributes
    ----------
    sizes : int64 ndarray of shape (n_strata, n_codes)
        The number of units of every stratum that get each code.
    strata : int64 ndarray of shape (n_units,)
        The stratum of every unit.
    kinds : int64 ndarray of shape (n_folds,)
        For every fold, the index of its kind in `Design.training_sets`.
    folded : bool
        True: the code of a sample is the fold that tests it; in all other folds it trains. False: there is
        one split; 0 trains, 1 is tested, 2 does neither.
    units : int64 ndarray of shape (n_items,), or None
        The unit (group) of every sample; None if every sample is one.
    """

    sizes: Array
    strata: Array
    kinds: Array
    folded: bool
    units: Array | None = None

    def draw(self, rng: np.random.Generator) -> Array:
        """Return the codes of all samples in one run, int32 (n_items,)."""
        code = np.empty(len(self.strata), np.int32)
        for stratum, sizes in enumerate(self.sizes):
            codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
            code[self.strata == stratum] = rng.permutation(codes)
        return code if self.units is None else code[self.units]


class Design(ABC):
    """A random split of the samples into training and test sets; see the subclasses.

    What others ask about a design stands here, with an answer that is right for every design.

    Attributes
    ----------
    leaves_groups : bool
        Whether whole groups of samples are tested or train together: ``codes`` are the groups of the
        samples, and the one kind of training sets is a `GroupTrainingSets`.
    stratifies : bool
        Whether the strata of the training sets are the classes.
    balanced : bool
        Whether all classes count alike in the score, whatever `average`.
    example : str
        Arguments of an example of the design, for messages.
    depends_on : {"", "size", "counts", "order"}
        What of the labels decides the training sets: the number of samples, the sizes of the classes, or
        these and the order in which the classes first appear; empty if it may be something else.

    Notes
    -----
    A subclass of another design inherits neither `depends_on` nor `every_split`, since it may change what
    is true of that design; nor `allotment`, if it defines `draw`.

    Examples
    --------
    >>> from knnccv import Design, KFold
    >>> isinstance(KFold(5), Design)
    True
    """

    leaves_groups: ClassVar[bool] = False
    stratifies: ClassVar[bool] = False
    balanced: bool = False
    example: ClassVar[str] = "..."
    depends_on: ClassVar[Literal["", "size", "counts", "order"]] = ""

    def __init_subclass__(cls) -> None:
        for name in ("depends_on", "every_split"):
            if name not in vars(cls):
                setattr(cls, name, getattr(Design, name))
        if "draw" in vars(cls) and "allotment" not in vars(cls):
            cls.allotment = Design.allotment  # type: ignore[method-assign]

    @abstractmethod
    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """The kinds of training sets, distinct, with probabilities that sum to 1.

        Raises
        ------
        ValueError
            If the data cannot be split in this way.
        """

    def allotment(self, labels: EncodedLabels) -> Allotment | None:  # noqa: ARG002
        """Return the sizes of the folds of a run; None if some ways to fill them are more likely."""
        return None

    def draw(self, labels: EncodedLabels, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return one random run of the design; a subclass without `allotment` defines it.

        Returns
        -------
        fold : int32 ndarray of shape (n_items,)
            The fold in which the sample is tested, -1 if it never is.
        kind : ndarray of shape (n_folds,)
            For every fold, the index of its kind in `training_sets`.

        Raises
        ------
        NotImplementedError
            If the design defines neither.
        """
        allotment = self.allotment(labels)
        if allotment is None:
            msg = f"define draw() or allotment() in {type(self).__name__}, so that runs can be drawn"
            raise NotImplementedError(msg)
        code = allotment.draw(rng)
        return code if allotment.folded else np.where(code == 1, 0, -1).astype(np.int32), allotment.kinds

    def item_weights(self, labels: EncodedLabels, average: Any) -> tuple[tuple[Fraction, ...], ...] | None:  # noqa: ARG002
        """Return the weights of samples in the score, if the training sets do not determine them.

        Returns
        -------
        tuple of tuple of Fraction, shape (n_kinds, n_classes), or None
            The weight of a sample, for each of `training_sets` and each class; over kinds and samples they
            sum to 1. None, the default, if all samples outside the training set are tested.
        """
        return None

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:  # noqa: ARG002
        """Return the design for one half of the samples, which `standard_error` asks for.

        It tests the same share of the half as the design tests of all samples. The default is the design
        itself, which suits fractions and numbers of folds; a design with numbers of samples adapts them.

        Parameters
        ----------
        labels : EncodedLabels
            The labels of all samples.
        rows : int64 ndarray of shape (n_half,)
            The samples of the half, ascending.
        """
        return self

    def without(self, item: int) -> Design:  # noqa: ARG002
        """Return the design for all samples but one; the default is the design itself."""
        return self

    def every_split(self, labels: EncodedLabels) -> tuple[Array, Array] | None:  # noqa: ARG002
        """Return a run, as `draw` does, if all runs are equal but for the order of folds; else None."""
        return None

    @property
    def n_folds(self) -> int:
        """The number of test sets of one run."""
        return 1

    def n_train_sets(self, labels: EncodedLabels) -> int:
        """Return the exact number of different training sets."""
        return sum(kind.number for kind in self.training_sets(labels))

    def in_words(self) -> str:
        """Return the design in words, for a line of text."""
        return repr(self)

    def class_sizes_in_words(self) -> str:
        """Return how many samples of every class train, if the design stratifies."""
        return "with their class shares here"

    def without_strata(self) -> tuple[str, ...]:
        """Return the code of designs of the same training sizes without strata, beside `Subsample`."""
        return ()


class OneKind(Design):
    """A design of one kind of training sets of single samples."""

    def allotment(self, labels: EncodedLabels) -> Allotment:
        """Return the sizes of the training set and the test set in every stratum."""
        (kind,) = self.training_sets(labels)
        n_train, counts = np.array([kind.n_train, kind.counts], dtype=np.int64)
        strata = labels.codes if kind.stratified else np.zeros_like(labels.codes)
        sizes = np.column_stack([n_train, counts - n_train])
        return Allotment(sizes, strata, np.zeros(1, np.int64), folded=False)


def each_alone(n_items: int) -> tuple[Array, Array]:
    """The run that tests every sample alone."""
    return np.arange(n_items, dtype=np.int32), np.zeros(n_items, np.int64)


def plural(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def n_train_in_half(n_train: Sequence[int], counts: Sequence[int], half: Sequence[int]) -> tuple[int, ...]:
    """Training samples of every stratum in a half of the samples.

    Parameters
    ----------
    n_train, counts : sequence of int, one entry per stratum
        Training samples, and all samples.
    half : sequence of int
        Samples of the half.

    Returns
    -------
    tuple of int
        At least one sample of the half is tested, and at least one trains. Shares of strata are rounded by
        the largest remainders.
    """
    if sum(n_train) <= SMALL_SHARE * sum(counts):
        same = [min(n, size) for n, size in zip(n_train, half, strict=True)]
        if not any(same):  # the half has no sample of the classes that train
            same[max(range(len(half)), key=half.__getitem__)] = 1
        return tuple(same)
    triples = zip(n_train, counts, half, strict=True)
    wanted = [Fraction((count - n) * size, count or 1) for n, count, size in triples]
    total = min(max(1, round(sum(wanted, Fraction(0)))), sum(half) - 1)
    tested = [math.floor(share) for share in wanted]
    by_remainder = sorted(range(len(wanted)), key=lambda c: tested[c] - wanted[c])
    for c in by_remainder:
        if sum(tested) < total and tested[c] < half[c]:
            tested[c] += 1
    for c in reversed(by_remainder):
        if sum(tested) > total and tested[c] > 0:
            tested[c] -= 1
    return tuple(size - n for size, n in zip(half, tested, strict=True))
