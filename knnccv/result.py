"""The answers: what complete cross-validation and its Monte Carlo twin found."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from ._count import TrainingSetCount, magnitude, magnitude_of_log10, n_digits
from .kernel import Array

if TYPE_CHECKING:
    import pandas as pd

    from ._ties import TieReport
    from .designs import TrainingSets
    from .driver import Asked

Result = TypeVar("Result")
MOST_EXACT_LOG = 1000  # decimal digits of a number of training sets that takes no time


@dataclass(frozen=True, eq=False, repr=False)
class CompleteCV:
    """The exact mean score of a nearest-neighbour rule over all admissible training sets.

    Attributes
    ----------
    score : float
        The mean score: accuracy as a share in [0, 1], or the expected loss where a loss was given.
    per_item : ndarray of shape (n_items,)
        A_x, the expected score of every item when it is tested; NaN for an item that never is.
    weights : ndarray of shape (n_items,)
        How much every item counts; they sum to 1, and ``score`` is the weighted sum of ``per_item``.
    error_bound : float
        Certified bound of ``|score - exact value|``: the neighbours beyond ``depth`` could not change
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
        How many neighbours of an item were looked at, at most.
    tied : int
        Tested items for which tied neighbors that matter have different labels. A group of tied neighbors
        matters if, with a probability above ``tol / 2``, too few of those before it are in the training set
        to decide. Counted among the neighbors that floating point looks at, with ``exact=True`` too; with
        ``ties="index"`` these may end within a group.
    exact : Fraction or None
        The score as a rational number, in exact mode.
    per_item_exact : tuple of (Fraction or None), or None
        ``per_item`` as rational numbers, in exact mode; None for an item that is never tested.
    variant, design, ties, average : str
        What was asked.
    parameters : dict
        The variant's parameters.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty where there are real targets.
    labels : ndarray of shape (n_items,), or (n_items, n_outputs)
        The label of every item, or its targets.
    seconds : float
        Wall time.
    certified : bool
        False where the neighbours are approximate: nobody knows which nearer items they lack, so that
        nothing bounds the error.
    truncation_bound : float
        What ``error_bound`` would be if the neighbour lists were right as far as they go: rounding, and
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
    _asked: ClassVar[Asked | None] = None  # what `confusion` asks again; complete_cv sets it

    @functools.cached_property
    def n_train_sets(self) -> int:
        """How many different training sets are averaged (for a million items this takes a second)."""
        return TrainingSetCount(sum(kind.number for kind in self.kinds))

    @property
    def log10_n_train_sets(self) -> float:
        """Decimal logarithm of `n_train_sets`, known at once for any number of items."""
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
            f"{len(self.per_item)} items, {error_line(self)}, {self.tied} items tied (ties={self.ties!r})>"
        )

    def _magnitude(self) -> str:
        """As `magnitude` of the number, without the number where that has too many digits."""
        log = self.log10_n_train_sets
        return magnitude(self.n_train_sets) if log < MOST_EXACT_LOG else magnitude_of_log10(log)

    def __getstate__(self) -> dict[str, Any]:
        """Without the data."""
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_asked", "_confusion")
        }

    def per_class(self) -> dict[Any, float]:
        """Mean score of the items of every class.

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

        It is the score under ``average="class"``, except that where folds differ in size an item counts in
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
        """Expected confusion matrix: how often a class is predicted for items of another.

        Computed when asked for, from the data, to which the result refers until it is pickled or copied;
        it takes a run of `complete_cv` with a loss per class, and with two classes none, or one where there
        is a loss. Asked again, with another `normalize` too, it is there.

        Parameters
        ----------
        normalize : {None, "true", "pred", "all"}, default None
            Scale rows ("true"), columns ("pred") or the whole matrix ("all") to sum 1, as scikit-learn's
            ``confusion_matrix`` does. A row or column without any weight is then NaN. None is not as there:
            it gives shares, no counts, and differs from "all" only where neighbour lists end too early.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
            Rows: true class, columns: predicted class, in the order of ``classes``. Without `normalize` an
            entry is the share of all weight, so that the diagonal sums to the accuracy, and the matrix
            times the loss to the expected loss. It sums to 1, less what neighbour lists that end too
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
        from ._confusion import check_normalize, normalized

        check_normalize(normalize)
        return normalized(self._confusion, normalize)

    @functools.cached_property
    def _confusion(self) -> Array:
        from ._confusion import expected_confusion

        return expected_confusion(self, self._reference())

    def tie_report(self) -> TieReport:
        """How many items have ties that matter, and how much of the score is at stake.

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
        from ._ties import tie_report

        return tie_report(self, self._reference())

    @functools.cached_property
    def bias2(self) -> Array:
        """Regression: squared bias of every item, ndarray of shape (n_items,).

        The squared difference of the mean prediction, `prediction`, and the item's targets. With `variance`
        it adds up to ``per_item``. Both are over all training sets that test the item, which count as in
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

    def _reference(self) -> Asked:
        """What was asked of which neighbours, to ask again; ValueError for a copy."""
        if self._asked is None:
            msg = (
                "this asks the neighbours once more, but the result is a copy or was pickled and leaves "
                "the data behind; call complete_cv again, or ask before"
            )
            raise ValueError(msg)
        return self._asked

    def to_frame(self) -> pd.DataFrame:
        """One row per item: label, score and weight, as a pandas DataFrame.

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


@dataclass(frozen=True, eq=False, repr=False)
class RandomRuns:
    """Scores of random runs, and what they say of their mean.

    Attributes
    ----------
    scores : ndarray of shape (n_repeats,)
        The score of every run.
    """

    scores: Array

    @property
    def score(self) -> float:
        """Mean of the runs."""
        return float(self.scores.mean())

    @property
    def std(self) -> float:
        """Standard deviation of one run."""
        return float(self.scores.std(ddof=1)) if len(self.scores) > 1 else float("nan")

    @property
    def standard_error(self) -> float:
        """Standard deviation of the mean."""
        return self.std / float(np.sqrt(len(self.scores)))

    def __float__(self) -> float:
        return self.score

    def __format__(self, spec: str) -> str:
        return format(self.score, spec) if spec else repr(self)

    def _spread(self) -> str:
        if len(self.scores) == 1:
            return ""
        return f" ± {self.standard_error:.2g} (standard error; one run ± {self.std:.2g})"


@dataclass(frozen=True, eq=False, repr=False)
class MonteCarloCV(RandomRuns):
    """Scores of a few random runs of a design: what people do where knnccv averages all of them.

    Attributes
    ----------
    scores : ndarray of shape (n_repeats,)
        The score of every run; a run of a k-fold design is one whole partition into folds.
    score : float
        Their mean.
    std : float
        Their standard deviation (n_repeats - 1 in the denominator): how much one run depends on luck.
        NaN for a single run.
    standard_error : float
        ``std / sqrt(n_repeats)``: the same of the mean. It measures the luck of splitting, not that of
        having drawn these items.
    error_bound : float
        How much the mean may be off because neighbour lists ended before enough training items were
        found; 0 unless the lists were given and are short. Infinite where ``certified`` is False.
    certified : bool
        False where the neighbours are approximate.
    truncation_bound : float
        What ``error_bound`` would be if the neighbour lists were right as far as they go.
    measure : str
        What the scores are.
    """

    error_bound: float = 0.0
    variant: str = ""
    design: str = ""
    ties: str = "index"
    average: str = "pooled"
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    certified: bool = True
    truncation_bound: float = 0.0
    measure: str = "score"

    def __repr__(self) -> str:
        return (
            f"<MonteCarloCV {self.score:.6g}{self._spread()}: {self.variant}{_listed(self.parameters)}, "
            f"{self.measure} of {len(self.scores)} random run{'s' if len(self.scores) > 1 else ''} of "
            f"{self.design}"
            f"{'' if self.certified else ', ' + error_line(self)}>"
        )


def data_frame(columns: dict[str, Array]) -> pd.DataFrame:
    """A pandas DataFrame of these columns; ImportError if pandas is missing."""
    try:
        import pandas as pd
    except ImportError as error:
        msg = "to_frame() needs pandas: pip install 'knnccv[pandas]'"
        raise ImportError(msg) from error
    return pd.DataFrame(columns)


def error_line(result: Any) -> str:
    """What is known of the error, for people to read."""
    bound = float(np.max(result.truncation_bound if not result.certified else result.error_bound))
    if result.certified:
        return f"error at most {bound:.1e}"
    return f"neighbours approximate: error unknown ({bound:.1e} if they were right)"


def uncertified(result: Result) -> Result:
    """A result of approximate neighbours: the same, and nothing is promised of its error."""
    given: Any = result
    none = np.full_like(given.truncation_bound, np.inf)
    marked: Result = replace(given, certified=False, error_bound=none if none.ndim else math.inf)
    return marked


def _short(value: Fraction) -> str:
    if value.numerator.bit_length() + value.denominator.bit_length() > 200:
        return (
            f"a fraction of {n_digits(abs(value.numerator) or 1)} by {n_digits(value.denominator)} digits"
        )
    return str(value)


def _listed(parameters: dict[str, Any]) -> str:
    shown = []
    for name, value in parameters.items():
        if value is None:
            continue
        shape = getattr(value, "shape", None)
        shown.append(f"{name}={'x'.join(map(str, shape)) + ' matrix' if shape else value}")
    return f"({', '.join(shown)})" if shown else ""
