"""The result of complete cross-validation."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from .._training_set_count import TrainingSetCount, magnitude, magnitude_of_log10, n_digits
from .._typing import Array

if TYPE_CHECKING:
    import pandas as pd

    from ..designs import TrainingSets
    from ._problem import ScoringProblem

from .._formatting import _listed, data_frame, error_line
from ._normalize import check_normalize, normalized

MOST_EXACT_LOG = 1000  # decimal digits of a number of training sets that takes no time


class Evaluation(Protocol):
    """A problem put to neighbors: what a result asks for more than it holds."""

    @property
    def question(self) -> ScoringProblem:
        """The problem."""

    @property
    def exact(self) -> bool:
        """Whether the scores are rational numbers."""

    def again(self, **parameters: Any) -> CompleteCV:
        """Return the result with other parameters of the variant."""

    def with_tie_order(self, order: int) -> CompleteCV:
        """Return the result with tied samples in the order of what they score alone, in floating point."""

    def confusion(self, result: CompleteCV) -> Array:
        """Return the matrix of `CompleteCV.confusion`, not normalized."""

    def tie_report(self, result: CompleteCV) -> TieReport:
        """Return the report of `CompleteCV.tie_report`."""


@dataclass(frozen=True, eq=False, repr=False)
class CompleteCV:
    """The exact mean score of a nearest-neighbor rule over all admissible training sets.

    Attributes
    ----------
    score : float
        The mean score: accuracy as a share in [0, 1], or the expected loss where a loss was given.
    per_item : ndarray of shape (n_items,)
        A_x, the expected score of every sample when it is tested; NaN for a sample that never is.
    weights : ndarray of shape (n_items,)
        How much every sample counts; they sum to 1, and ``score`` is the weighted sum of ``per_item``.
    error_bound : float
        Certified bound of ``|score - exact value|``: the neighbors beyond ``depth`` could not change
        the score by more, and rounding is allowed for. 0 in exact mode; infinite where ``certified`` is
        False.
    n_train_sets : int
        How many different training sets are averaged; an exact integer, computed when first asked for. As
        text it is ``3.2e+6018`` where it is long; ``f"{n:d}"`` has all digits.
    log10_n_train_sets : float
        Its decimal logarithm.
    kinds : tuple of TrainingSets
        The kinds of training sets that the design has; those of `LeaveGroupsOut` count groups.
    depth : int
        How many neighbors of a sample were looked at, at most.
    tied : int
        Tested samples for which tied neighbors that matter have different labels. A group of tied neighbors
        matters if, with a probability above ``tol / 2``, too few of those before it are in the training set
        to decide. Counted among the neighbors that floating point looks at, with ``exact=True`` too; with
        ``ties="index"`` these may end within a group.
    exact : Fraction or None
        The score as a rational number, in exact mode.
    per_item_exact : tuple of (Fraction or None), or None
        ``per_item`` as rational numbers, in exact mode; None for a sample that is never tested.
    variant, design, ties, average : str
        What was asked.
    parameters : dict
        The variant's parameters.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty where there are real targets.
    labels : ndarray of shape (n_items,), or (n_items, n_outputs)
        The label of every sample, or its targets.
    seconds : float
        Wall time.
    certified : bool
        False where the neighbors are approximate: nobody knows which nearer samples they lack, so that
        nothing bounds the error.
    truncation_bound : float
        What ``error_bound`` would be if the neighbor lists were right as far as they go: rounding, and
        where lists end too early. The same as ``error_bound`` where that is certified.
    measure : str
        What the score is: "accuracy", "balanced accuracy", "expected loss", "mean squared error", …
    """

    score: float
    per_item: Array
    weights: Array
    error_bound: float
    kinds: tuple[TrainingSets, ...]
    depth: int
    tied: int
    exact: Fraction | None = None
    per_item_exact: tuple[Fraction | None, ...] | None = None
    variant: str = ""
    design: str = ""
    ties: str = "index"
    average: str = "pooled"
    parameters: dict[str, Any] = field(default_factory=dict)
    classes: Array = field(default_factory=lambda: np.empty(0))
    labels: Array = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    certified: bool = True
    truncation_bound: float = 0.0
    measure: str = "score"
    _evaluation: ClassVar[Evaluation | None] = None  # what `confusion` asks again; complete_cv sets it

    @functools.cached_property
    def n_train_sets(self) -> int:
        """How many different training sets are averaged (for a million samples this takes a second)."""
        return TrainingSetCount(sum(kind.number for kind in self.kinds))

    @property
    def log10_n_train_sets(self) -> float:
        """Decimal logarithm of `n_train_sets`, known at once for any number of samples."""
        logs = [kind.log10_number for kind in self.kinds]
        most = max(logs)
        if most < MOST_EXACT_LOG:
            return math.log10(self.n_train_sets)
        return most + math.log10(sum(10 ** (value - most) for value in logs))

    def __float__(self) -> float:
        return self.score

    def __format__(self, spec: str) -> str:
        return format(self.score, spec) if spec else repr(self)

    def __repr__(self) -> str:
        exactly = f", exactly {_short(self.exact)}" if self.exact is not None else ""
        return (
            f"<CompleteCV {self.score:.6g}{exactly}: {self.variant}{_listed(self.parameters)} over "
            f"{self.design}, {self.measure} over {self._magnitude()} training sets, "
            f"{len(self.per_item)} samples, {error_line(self)}, {self.tied} samples tied (ties={self.ties!r})>"
        )

    def _magnitude(self) -> str:
        """As `magnitude` of the number, without the number where that has too many digits."""
        log = self.log10_n_train_sets
        return magnitude(self.n_train_sets) if log < MOST_EXACT_LOG else magnitude_of_log10(log)

    def __getstate__(self) -> dict[str, Any]:
        """Without the data."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_evaluation", "_confusion")
        }

    def per_class(self) -> dict[Any, float]:
        """Mean score of the samples of every class.

        Returns
        -------
        dict
            From every label, in sorted order, to the mean of its items' scores: for accuracy its recall.
            NaN for a class that is never tested.

        Raises
        ------
        ValueError
            If there are no classes (regression).

        Examples
        --------
        >>> from knnccv import Subsample, complete_cv
        >>> from knnccv.datasets import load_wine
        >>> wine = load_wine()
        >>> result = complete_cv(wine.X, wine.y, "nn", Subsample(89))
        >>> {label: round(score, 3) for label, score in result.per_class().items()}
        {1: 0.86, 2: 0.709, 3: 0.547}
        """
        if not len(self.classes):
            msg = f"variant {self.variant!r} has real targets, no classes"
            raise ValueError(msg)
        codes = np.unique(self.labels, return_inverse=True)[1].reshape(-1)
        weights = np.bincount(codes, self.weights, len(self.classes))
        sums = np.bincount(codes, np.where(self.weights > 0, self.weights * self.per_item, 0.0))
        means = np.full(len(self.classes), np.nan)
        np.divide(sums, weights, out=means, where=weights > 0)
        dated = self.classes.dtype.kind in "mM"  # tolist() would turn nanoseconds into integers
        names = list(self.classes) if dated else self.classes.tolist()
        return dict(zip(names, means.tolist(), strict=True))

    @property
    def balanced_accuracy(self) -> float:
        """Mean of `per_class` over the classes that are tested: of accuracy, the mean recall.

        It is the score under ``average="class"``, except that where folds differ in size a sample counts in
        them as `average` says.

        Raises
        ------
        ValueError
            If the score is no plain accuracy: with a loss, for "rank", "confidence", "regression", and for
            other rules that do not say that it is one.
        """
        if self.measure not in ("accuracy", "balanced accuracy"):
            mean = (
                '; for the mean over the classes take complete_cv(..., average="class").score, or the mean '
                "of per_class()"
            )
            msg = f"there is no balanced accuracy, as the score is: {self.measure}"
            msg += mean if len(self.classes) else ""
            raise ValueError(msg)
        tested = [score for score in self.per_class().values() if not math.isnan(score)]
        return math.fsum(tested) / len(tested)

    def confusion(self, normalize: str | None = None) -> Array:
        """Expected confusion matrix: how often a class is predicted for samples of another.

        Computed when asked for, from the data, to which the result refers until it is pickled or copied;
        it takes a run of `complete_cv` with a loss per class, and with two classes none, or one where there
        is a loss. Asked again, with another `normalize` too, it is there.

        Parameters
        ----------
        normalize : {None, "true", "pred", "all"}, default None
            Scale rows ("true"), columns ("pred") or the whole matrix ("all") to sum 1, as scikit-learn's
            ``confusion_matrix`` does. A row or column without any weight is then NaN. None is not as there:
            it gives shares, no counts, and differs from "all" only where neighbor lists end too early.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
            Rows: true class, columns: predicted class, in the order of ``classes``. Without `normalize` an
            entry is the share of all weight, so that the diagonal sums to the accuracy, and the matrix
            times the loss to the expected loss. It sums to 1, less what neighbor lists that end too
            early leave open. Fractions (dtype object) in exact mode.

        Raises
        ------
        ValueError
            If the rule predicts no class (it takes no `loss`), or the result was pickled or copied.

        Examples
        --------
        >>> from knnccv import StratifiedSubsample, complete_cv
        >>> from knnccv.datasets import load_wine
        >>> wine = load_wine()
        >>> result = complete_cv(wine.X, wine.y, "knn", StratifiedSubsample(0.5))
        >>> result.confusion(normalize="true").round(3)
        array([[0.905, 0.024, 0.07 ],
               [0.071, 0.668, 0.26 ],
               [0.122, 0.39 , 0.488]])
        """
        check_normalize(normalize)
        return normalized(self._confusion, normalize)

    @functools.cached_property
    def _confusion(self) -> Array:
        return self._reference().confusion(self)

    def tie_report(self) -> TieReport:
        """How many samples have ties that matter, and how much of the score is at stake.

        Computed when asked for, from the data, to which the result refers until it is pickled or copied; it
        takes two runs of `complete_cv`.

        Returns
        -------
        TieReport

        Raises
        ------
        ValueError
            For `LeaveGroupsOut`, or if the result was pickled or copied.

        Examples
        --------
        >>> from knnccv import Subsample, complete_cv
        >>> X = [[0], [1], [1], [2], [2], [3]]
        >>> report = complete_cv(X, [0, 0, 1, 1, 1, 0], "nn", Subsample(4)).tie_report()
        >>> report.n_tied, round(report.lowest, 3), round(report.score, 3), round(report.highest, 3)
        (5, 0.3, 0.406, 0.533)
        """
        return self._reference().tie_report(self)

    @functools.cached_property
    def bias2(self) -> Array:
        """Regression: squared bias of every sample, ndarray of shape (n_items,).

        The squared difference of the mean prediction, `prediction`, and the item's targets. With `variance`
        it adds up to ``per_item``. Both are over all training sets that test the sample, which count as in
        ``per_item``: all alike, or where folds differ in size, as `average` says. Like `prediction` it is
        computed when first asked for, from the data; a copied or unpickled result leaves those behind and
        raises ValueError.
        """
        return self._part("bias2").per_item

    @functools.cached_property
    def variance(self) -> Array:
        """Regression: variance of every item's prediction, ndarray of shape (n_items,); see `bias2`."""
        return self._part("variance").per_item

    @functools.cached_property
    def prediction(self) -> Array:
        """Regression: mean prediction over the training sets; in the shape of the targets."""
        outputs = range(1 if self.labels.ndim == 1 else self.labels.shape[1])
        columns = [self._part("prediction", output).per_item for output in outputs]
        return columns[0] if self.labels.ndim == 1 else np.column_stack(columns)

    def _part(self, part: str, output: int = 0) -> CompleteCV:
        if "part" not in self.parameters:
            msg = f"variant {self.variant!r} predicts no numbers; only 'regression' has {part}"
            raise ValueError(msg)
        return self._again(part=part, output=output)

    def _again(self, **parameters: Any) -> CompleteCV:
        """The answer to the same question with other parameters."""
        return self._reference().again(**parameters)

    def _reference(self) -> Evaluation:
        """What was asked of which neighbors, to ask again; ValueError for a copy."""
        if self._evaluation is None:
            msg = (
                "this asks the neighbors once more, but the result is a copy or was pickled and leaves "
                "the data behind; call complete_cv again, or ask before"
            )
            raise ValueError(msg)
        return self._evaluation

    def to_frame(self) -> pd.DataFrame:
        """One row per sample: label, score and weight, as a pandas DataFrame.

        Several targets have a column each, label_0, label_1, …

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        labels = {"label": self.labels}
        if self.labels.ndim == 2:
            labels = {f"label_{output}": column for output, column in enumerate(self.labels.T)}
        frame = data_frame({**labels, "score": self.per_item, "weight": self.weights})
        frame.index.name = "item"
        return frame


def _short(value: Fraction) -> str:
    if value.numerator.bit_length() + value.denominator.bit_length() > 200:
        return (
            f"a fraction of {n_digits(abs(value.numerator) or 1)} by {n_digits(value.denominator)} digits"
        )
    return str(value)


@dataclass(frozen=True, eq=False)
class TieReport:
    """What ties in the similarity leave open; from `CompleteCV.tie_report`.

    Attributes
    ----------
    n_items, n_tied : int
        Samples in all, and those within whose neighbor lists equally similar samples differ in their
        labels.
    score : float
        The score, by the tie rule that was asked for.
    lowest, highest : float
        The lowest and the highest score found, for every sample by itself: with those samples first, within
        each group of equally similar ones, that score lowest or highest if they decide alone.
    exact_range : bool
        Whether no order gives less or more. True for one nearest neighbor, votes of two classes, "rank"
        and the confidence's share; for votes of several classes, other orders may go farther.
    per_item, per_item_lowest, per_item_highest : ndarray of shape (n_items,)
        The same for every sample.
    error_bound : float
        How much each of the three scores may be off, as in `CompleteCV`: neighbor lists that end too early
        leave more open than any order. Infinite for approximate neighbors.
    measure : str
        What the scores are.
    """

    n_items: int
    n_tied: int
    score: float
    lowest: float
    highest: float
    exact_range: bool
    per_item: Array = field(repr=False)
    per_item_lowest: Array = field(repr=False)
    per_item_highest: Array = field(repr=False)
    error_bound: float = 0.0
    measure: str = "score"
