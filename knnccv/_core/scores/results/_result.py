"""The results of complete cross-validation: `CompleteCV`, and `SampledCV` of drawn training sets."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from ...._base.formatting import Numeric, item_frame, magnitude, magnitude_of_log10
from ...._base.typing import Array
from ...._base.validation import check
from ...driver import Evaluation, Jobs, Scored, ScoringProblem, with_parameters
from ...driver.influence import Influence, influence
from ...luck.halves import HalvesRequest, check_finite, check_request, halves_of, terms_of
from ...luck.inference import HalfScores, ScoredHalves, Terms
from ...luck.runs import RandomSplits
from ._scored import (
    Estimated,
    TieReport,
    again,
    check_normalize,
    expected_confusion,
    matthews,
    normalized,
    scored_alike,
    share_right,
    tie_report,
)

if TYPE_CHECKING:
    import pandas as pd

    from ....neighbors import Neighbors


MAX_EXACT_LOG = 1000  # decimal digits up to which the number of training sets is computed for display


@dataclass(frozen=True, eq=False, repr=False)
class CompleteCV(Numeric, ScoredHalves, RandomSplits):
    """The exact mean score of a nearest-neighbor rule over all admissible training sets.

    Attributes
    ----------
    score : float
        The mean score: accuracy as a share in [0, 1], or the expected loss if a loss was given.
    per_item : ndarray of shape (n_items,)
        A_x, the expected score of every sample when it is tested; NaN for a sample that is never tested.
    weights : ndarray of shape (n_items,)
        The weights of the samples; they sum to 1, and ``score`` is the weighted sum of ``per_item``.
    error_bound : float
        Certified bound of ``|score - exact value|``: the neighbors beyond ``depth`` cannot change the score
        by more, rounding errors included. 0 in exact mode; infinite if ``certified`` is False.
    n_train_sets : int
        Number of different training sets; an exact integer, computed at the first access.
    log10_n_train_sets : float
        Its decimal logarithm, for numbers that Python refuses to print: those of more than 4300 digits.
    kinds : tuple of TrainingSets
        The kinds of training sets of the design; those of `LeaveGroupsOut` count groups.
    depth : int
        The largest number of neighbors used for a sample.
    n_tied : int
        Number of tested samples for which tied neighbors that matter have different labels. A tied group
        matters if, with a probability above ``tol / 2``, too few of the neighbors before it are in the
        training set to decide. Counted in the lists of the floating-point mode, with ``exact=True`` as
        well; with ``ties="index"`` these may end within a group.
    is_exact : bool
        True: the score is the mean over all training sets, up to ``error_bound``.
    fraction : Fraction or None
        The score as a rational number, in exact mode.
    per_item_fraction : tuple of (Fraction or None), or None
        ``per_item`` as rational numbers, in exact mode; None for a sample that is never tested.
    variant, design, ties : str
        The arguments, as text.
    average : str or dict
        The argument.
    parameters : dict
        The variant's parameters.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty if there are real targets.
    labels : ndarray of shape (n_items,), or (n_items, n_outputs)
        The label of every sample, or its targets.
    seconds : float
        Wall time.
    certified : bool
        False for approximate neighbors: nearer samples may be missing, so the error has no bound.
    truncation_bound : float
        ``error_bound`` under the assumption that the listed neighbors are correct: rounding, and lists that
        end too early. Equal to ``error_bound`` where ``certified`` is True.
    measure : str
        The name of the score: "accuracy", "balanced accuracy", "expected loss", "mean squared error", …

    Examples
    --------
    >>> from knnccv import complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = complete_cv(wine.X, wine.y, "nn")
    >>> round(result.score, 4), result.per_item.shape
    (0.7523, (178,))
    """

    _json = (
        "variant parameters design ties average measure score error_bound is_exact fraction n_train_sets "
        "log10_n_train_sets depth n_tied seconds"
    )
    _shown = "score measure variant design n_train_sets error_bound fraction n_tied ties"

    variant: str = ""
    design: str = ""
    ties: str = "index"
    average: Any = "pooled"
    parameters: dict[str, Any] = field(default_factory=dict)
    classes: Array = field(default_factory=lambda: np.empty(0))
    labels: Array = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    certified: bool = True
    measure: str = "score"
    is_exact: ClassVar[bool] = True
    _evaluation: Evaluation | None = None  # copies have none
    _missing: ClassVar[str] = (
        "this needs the data, which a copied or pickled result does not contain; compute this before "
        "copying, or copy result.with_data(), or call complete_cv again"
    )

    @functools.cached_property
    def n_train_sets(self) -> int:
        """Number of different training sets (takes a second for a million samples)."""
        return sum(kind.number for kind in self.kinds)

    @property
    def log10_n_train_sets(self) -> float:
        """Decimal logarithm of `n_train_sets`; fast for any number of samples."""
        logs = [kind.log10_number for kind in self.kinds]
        largest = max(logs)
        if largest < MAX_EXACT_LOG:
            return math.log10(self.n_train_sets)
        return largest + math.log10(sum(10 ** (value - largest) for value in logs))

    def _words(self, name: str) -> str:
        """A number of training sets of too many digits is not computed."""
        if name != "n_train_sets":
            return super()._words(name)
        log = self.log10_n_train_sets
        return magnitude(self.n_train_sets) if log < MAX_EXACT_LOG else magnitude_of_log10(log)

    def per_class(self) -> dict[Any, float]:
        """Mean score of the samples of every class.

        Returns
        -------
        dict
            Every label, in sorted order, with the mean score of its samples; for accuracy this is the
            recall. NaN for a class that is never tested.

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
        check(len(self.classes), f"variant {self.variant!r} has real targets, no classes")
        classes = np.unique(np.concatenate([self.classes, self.labels]))  # those of a test set as well
        codes, known = np.searchsorted(classes, self.labels), len(classes)
        weights = np.bincount(codes, self.weights, known)
        sums = np.bincount(codes, np.where(self.weights > 0, self.weights * self.per_item, 0.0), known)
        means = np.full(known, np.nan)
        np.divide(sums, weights, out=means, where=weights > 0)
        is_date = classes.dtype.kind in "mM"  # tolist() would turn nanoseconds into integers
        names = list(classes) if is_date else classes.tolist()
        return dict(zip(names, means.tolist(), strict=True))

    @property
    def balanced_accuracy(self) -> float:
        """Mean of `per_class` over the classes that are tested: the mean recall.

        It equals the score under ``average="class"``, unless folds differ in size: samples are then
        weighted over the folds as `average` says.

        Raises
        ------
        ValueError
            If the score is not an accuracy: with a loss, for "rank", "confidence", "regression", and for
            other rules whose measure is not accuracy.
        """
        if self.measure not in ("accuracy", "balanced accuracy", "accuracy at given class shares"):
            mean = (
                '; for the mean over the classes take complete_cv(..., average="class").score, or the mean '
                "of per_class()"
            )
            msg = f"there is no balanced accuracy, since the score is: {self.measure}"
            msg += mean if len(self.classes) else ""
            raise ValueError(msg)
        tested = [score for score in self.per_class().values() if not math.isnan(score)]
        return math.fsum(tested) / len(tested)

    def confusion(self, normalize: str | None = None) -> Array:
        """Expected confusion matrix: how often each class is predicted for the samples of each class.

        Computed at the first call, from the data, to which the result refers until it is pickled or copied.
        This takes a run of `complete_cv` for each class; with two classes none, or one if there is a loss.
        Later calls, with another `normalize` as well, use the same matrix.

        Parameters
        ----------
        normalize : {None, "true", "pred", "all"}, default None
            Scale rows ("true"), columns ("pred") or the whole matrix ("all") to sum 1, as scikit-learn's
            ``confusion_matrix`` does. A row or column without any weight is then NaN. Unlike there, None
            gives shares, not counts; it differs from "all" only if neighbor lists end too early.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
            Rows: true class, columns: predicted class, in the order of ``classes``. Without `normalize` an
            entry is the share of all weight, so that the diagonal sums to the accuracy, and the matrix
            times the loss to the expected loss. The sum is 1, or less if neighbor lists end too early.
            Fractions (dtype object) in exact mode.

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

    def f1(self, average: str = "macro", pos_label: Any = 1) -> float:
        """F1 of the expected confusion table, which is not the mean of the folds' F1.

        ``2 TP / (true + predicted)``, from the entries of `confusion`: F1 of the answers of all splits,
        pooled. A ratio of means is not the mean of the ratios. The two differ most where test sets are
        small or classes rare. For the mean of the folds' values take
        ``knnccv.sklearn.expected_score(estimator, X, y, cv=cv, scoring="f1_macro")``.

        Parameters
        ----------
        average : {"macro", "binary", "micro", "weighted"}, default "macro"
            As in scikit-learn: the plain mean over the classes; the value of `pos_label` alone, for two
            classes; of the sums over the classes (which is the accuracy); the mean weighted by the classes'
            shares of the tested samples.
        pos_label : label, default 1
            The positive class for "binary".

        Returns
        -------
        float
            An undefined value, such as the precision of a class that is never predicted, counts as 0.

        Raises
        ------
        ValueError
            If the rule predicts no class (regression, "rank", "confidence"), `average` is none of the above
            or does not suit the classes, or the result was pickled or copied.

        References
        ----------
        G. Forman & M. Scholz, Apples-to-Apples in Cross-Validation Studies: Pitfalls in Classifier
        Performance Measurement, SIGKDD Explorations 12, 2010.

        Examples
        --------
        >>> from knnccv import StratifiedSubsample, complete_cv
        >>> from knnccv.datasets import load_wine
        >>> wine = load_wine()
        >>> result = complete_cv(wine.X, wine.y, "knn", StratifiedSubsample(0.5))
        >>> round(result.f1(), 3), round(result.precision(), 3), round(result.recall(), 3)
        (0.683, 0.68, 0.687)
        >>> round(result.mcc(), 3)
        0.544
        """
        return self._share_right(0.5, average, pos_label)

    def precision(self, average: str = "macro", pos_label: Any = 1) -> float:
        """Precision of the expected confusion table, ``TP / predicted``; all else as for `f1`."""
        return self._share_right(0, average, pos_label)

    def recall(self, average: str = "macro", pos_label: Any = 1) -> float:
        """Recall of the expected confusion table, ``TP / true``; all else as for `f1`."""
        return self._share_right(1, average, pos_label)

    def mcc(self) -> float:
        """Matthews' correlation of the expected confusion table, not the mean of the folds'; see `f1`."""
        return matthews(self._confusion.astype(float))

    def _share_right(self, of_true: float, average: str, pos_label: Any) -> float:
        return share_right(self._confusion.astype(float), self.classes, of_true, average, pos_label)

    @functools.cached_property
    def _confusion(self) -> Array:
        return expected_confusion(self, self._reference())

    def tie_report(self) -> TieReport:
        """Number of samples with ties that matter, and the range of scores that they allow.

        Computed at every call, from the data, to which the result refers until it is pickled or copied.
        This takes two runs of `complete_cv`.

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
        return tie_report(self, self._reference())

    @functools.cached_property
    def bias2(self) -> Array:
        """Regression: squared bias of every sample, ndarray of shape (n_items,).

        The squared difference of the mean prediction, `prediction`, and the sample's targets. The sum of
        `bias2` and `variance` is ``per_item``. All three are means over the training sets that test the
        sample, with equal weights, or where folds differ in size, weighted as `average` says. Computed at
        the first access, from the data; a copied or unpickled result has no data and raises ValueError.
        """
        return self._part("bias2").per_item

    @functools.cached_property
    def variance(self) -> Array:
        """Regression: variance of every sample's prediction, ndarray of shape (n_items,); see `bias2`."""
        return self._part("variance").per_item

    @functools.cached_property
    def prediction(self) -> Array:
        """Regression: mean prediction over the training sets; in the shape of the targets."""
        outputs = range(1 if self.labels.ndim == 1 else self.labels.shape[1])
        columns = [self._part("prediction", output).per_item for output in outputs]
        return columns[0] if self.labels.ndim == 1 else np.column_stack(columns)

    def influence(self, n_jobs: int | None = None) -> Influence:
        """How the score changes without each sample: an `Influence`, computed at every call.

        Parameters
        ----------
        n_jobs : int, optional
            Number of threads, -1 for all processors; by default that of `complete_cv`.

        Raises
        ------
        ValueError
            If the design or the rule is impossible without some sample, or a class with target priors is
            then not tested; if several groups are left out, the score is no mean (regression's variance),
            or the result was pickled or copied.

        Examples
        --------
        >>> from knnccv import Subsample, complete_cv
        >>> from knnccv.datasets import load_wine
        >>> wine = load_wine()
        >>> complete_cv(wine.X, wine.y, "nn", Subsample(89)).influence().most_harmful(3)
        array([110,  98, 112])
        """
        problem, near, jobs = self._given(n_jobs)
        return influence(self, problem, near, self._reference().tol, jobs)

    def _given(self, n_jobs: int | None = None) -> tuple[ScoringProblem, Neighbors, int | None]:
        given: Evaluation = self._reference()
        check_finite(self)
        given.neighbors.check_unchanged()
        return given.problem, given.neighbors, given.n_jobs if n_jobs is None else n_jobs

    def _halves_request(self, n_halvings: Any, groups: Any, random_state: Any) -> HalvesRequest:
        check_finite(self)
        return check_request(self._reference().problem, n_halvings, groups, random_state)

    def _score_halves(self, request: HalvesRequest) -> HalfScores:
        problem, near, n_jobs = self._given()
        return halves_of(problem, near, self, request, n_jobs)

    @functools.cached_property
    def _told(self) -> Terms:
        return terms_of(self._reference().problem, self)

    def _part(self, part: str, output: int = 0) -> Scored:
        msg = f"variant {self.variant!r} does not predict numbers; only 'regression' has {part}"
        check("part" in self.parameters, msg)
        return again(self._reference(), part=part, output=output)

    def to_dict(self) -> dict[str, Any]:
        return {"std_error": None, **super().to_dict()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sample: label, score and weight, as a pandas DataFrame.

        Several targets have a column each: label_0, label_1, …

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        return item_frame(self.labels, score=self.per_item, weight=self.weights)


@dataclass(frozen=True, eq=False, repr=False)
class SampledCV(CompleteCV):
    """An estimate of the mean score of a rule over all admissible training sets.

    For each sample, random training sets were drawn for this sample alone (decoupled sampling). The
    estimate has no bias. Each draw looks at the nearest samples only, and the draws of a sample are spread
    evenly over their possible choices, so that the standard error is smaller than that of as many splits of
    all samples: half as large for 100 draws, a third for 1,000, in the examples measured. All else is
    as in `CompleteCV`.

    Attributes
    ----------
    std_error : float
        Standard error of ``score``: the luck of the draws. It does not contain the luck of the data. It
        is itself a rough estimate if there are few draws, or if the draws of few samples disagree, and so
        contains what a single other draw would change. It is 0 only if no sample has a choice.
    per_item_std_error : ndarray of shape (n_items,)
        Standard errors of ``per_item``, estimated from the same draws: 0 if all of them agree, and for a
        sample whose score is exact.
    n_draws : int
        The training sets that were drawn for each sample that is sampled.
    n_sampled : int
        The number of samples that were sampled; the scores of the others are exact.
    is_exact : bool
        False.
    certified : bool
        False, and ``error_bound`` is infinite.
    n_tied : int
        Number of samples for which some draw met a group of tied neighbors with different labels.
    truncation_bound : float
        Bound of the error because of draws that went on beyond lists of limited depth; they score 0.

    Examples
    --------
    >>> from knnccv import KFold, complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = complete_cv(wine.X, wine.y, "nn", KFold(5), method="sampled", n_draws=100)
    >>> exact = complete_cv(wine.X, wine.y, "nn", KFold(5))
    >>> abs(found.score - exact.score) < 4 * found.std_error
    True
    """

    _json = CompleteCV._json + " std_error n_draws n_sampled"
    _shown = (
        "score std_error measure variant design n_train_sets n_draws n_sampled truncation_bound n_tied ties"
    )

    is_exact: ClassVar[bool] = False
    certified: bool = False
    std_error: float = 0.0
    per_item_std_error: Array = field(default_factory=lambda: np.empty(0))
    n_draws: int = 0
    n_sampled: int = 0

    def _reference(self) -> Any:
        """Nothing more can be computed from drawn training sets."""
        msg = (
            "this needs an exact score, but this one is estimated from random training sets (SampledCV); "
            "std_error has the luck of the draws"
        )
        raise ValueError(msg)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sample: label, score, weight and standard error; see `CompleteCV.to_frame`."""
        frame = super().to_frame()
        frame["std_error"] = self.per_item_std_error
        return frame


def result_of(given: Evaluation, found: Scored, started: float) -> CompleteCV:
    """The result of a problem, whose seconds count from `started`."""
    problem, estimated = given.problem, isinstance(found, Estimated)
    return (SampledCV if estimated else CompleteCV)(
        **vars(found),
        **problem.described(),
        design=repr(problem.design),
        classes=problem.labels.classes if problem.variant.target == "classes" else np.empty(0),
        labels=problem.targets,
        seconds=time.perf_counter() - started,
        certified=not (estimated or given.neighbors.approximate),
        _evaluation=given,
    )


def with_each(result: CompleteCV, parameters: Iterable[Mapping[str, Any]]) -> list[CompleteCV]:
    """The results with other parameters, from the same drawn training sets; the first needs the most."""
    started, given = time.perf_counter(), cast(Evaluation, result._evaluation)
    given.neighbors.check_unchanged()
    them = [replace(given, problem=with_parameters(given.problem, **other)) for other in parameters]
    found = scored_alike(them, Jobs(given.n_jobs), keep=True)
    return [result_of(one, each, started) for one, each in zip(them, found, strict=True)]
