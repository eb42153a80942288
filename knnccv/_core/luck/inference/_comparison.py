"""`compare`: whether one rule is better than another, judged on the same halves of the same samples.

Another classifier has no halves: `_predictions` scores what it predicted.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...._base.formatting import Result, plain, plain_fields
from ...._base.typing import Array
from ...._base.validation import check_integer, check_real, fixed_seed
from ._halvings import HalfScores, InferenceWarning, degrees_of_freedom, difference_of, mean_of_defined
from ._interval import ConfidenceInterval, Terms, student_interval, unit_deviations
from ._kept_halves import ScoredHalves
from ._predictions import PredictionScores

ALIKE = 1.1
"""The ratio up to which sizes of training sets are alike."""
HALVES_AGREE = (
    "the halves of both results score the same although the scores differ: halves say nothing about this "
    "difference"
)


class Probabilities(NamedTuple):
    """Probabilities that the first rule is better, that both are equivalent, that the second is better."""

    first: float
    equivalent: float
    second: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """The difference of two scores, and how far it can be trusted.

    Attributes
    ----------
    difference : float
        Score of the first minus score of the second.
    degrees_of_freedom : float
        Those of the t distribution.
    names : (str, str)
        The two rules.
    scores : (float, float)
        Their scores.
    measure : str
        The name of the scores.
    is_loss : bool
        Whether smaller scores are better.
    half_difference : float
        The mean difference of the halves' scores. If it differs much from `difference`, the rules profit
        differently from more data. NaN beside predictions.
    half_scores : ndarray of shape (n_halvings, 2)
        The difference in each half.
    error_bound : float
        Bound of the error of `difference`; a difference within it counts as 0.

    Examples
    --------
    >>> from knnccv import compare, complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> one, five = (complete_cv(wine.X, wine.y, "knn", n_neighbors=k) for k in (1, 5))
    >>> found = compare(one, five, n_halvings=50, random_state=0)
    >>> round(found.difference, 4)
    0.0567
    """

    _shown = "names measure scores difference standard_error pvalue error_bound"

    difference: float
    _standard_error: float
    degrees_of_freedom: float
    names: tuple[str, str]
    scores: tuple[float, float]
    measure: str
    is_loss: bool
    half_difference: float
    half_scores: Array = field(default_factory=lambda: np.empty((0, 2)))
    error_bound: float = 0.0
    _results: ClassVar[tuple[Any, Any] | None] = None  # for `misranked`; set by compare

    def standard_error(self) -> float:
        """The standard deviation of the difference over samples of the population: the luck of the data.

        Returns
        -------
        float
            In the unit of the scores.
        """
        return self._standard_error

    def __str__(self) -> str:
        """The scores, their difference, and the luck of the data."""
        both = " and ".join(f"{score:.4g}" for score in self.scores)
        low, high = self.confidence_interval()
        sure = f"95 % interval {low:+.4g} to {high:+.4g} (of the data), p-value {self.pvalue:.2g}"
        return f"{self.measure} {both}, difference {self.difference:+.4g}; {sure}"

    @property
    def pvalue(self) -> float:
        """Two-sided p-value of the hypothesis that both are equally good in the population.

        NaN if the halves of both score the same although the scores differ, as with two numbers of folds
        that become one in the halves.
        """
        from scipy.special import stdtr

        return 2 * float(stdtr(self.degrees_of_freedom, -abs(self._t(0.0))))

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Interval of the difference.

        Parameters
        ----------
        confidence_level : float, default 0.95
            In (0, 1).
        """
        error = math.nan if math.isnan(self._t(0.0)) else self._standard_error
        target = f"difference in {self.measure}: {self.names[0]} minus {self.names[1]}"
        return student_interval(
            self.difference, error, self.degrees_of_freedom, confidence_level, target, self.half_difference
        )

    def misranked(self, n_runs: int = 1_000, random_state: Any = 0) -> float:
        """How often one random run, on the same splits for both, ranks the two wrongly.

        The share of runs in which the rule with the worse score has the better score; runs in which
        both score the same count half. 0.5 means that one run is no better than a coin.

        Parameters
        ----------
        n_runs : int, default 1_000
            Number of random runs.
        random_state : int, numpy Generator or None, default 0
            Seed of the runs; the same for both.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If a result has no runs, or the comparison was pickled or copied.
        """
        if self._results is None:
            msg = "misranked() needs the results, in a comparison that was not pickled or copied"
            raise ValueError(msg)
        check_integer("n_runs", n_runs, 1)
        seed = fixed_seed(random_state)
        a, b = (result._scores_of_runs(n_runs, seed) for result in self._results)
        gaps = np.sign((a - b).round(12)) * np.sign(self.difference)  # sums in another order are equal
        return float(np.mean((1 - gaps) / 2))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without the data."""
        return {name: value for name, value in self.__dict__.items() if name != "_results"}

    def probability(self, rope: float = 0.01) -> Probabilities:
        """Probabilities that one rule is better by more than `rope`, read from the t distribution.

        Parameters
        ----------
        rope : float, default 0.01
            The largest difference that does not matter (region of practical equivalence), at least 0.

        Returns
        -------
        Probabilities
            ``first`` better, ``equivalent``, ``second`` better; they sum to 1. With a flat prior these are
            posterior probabilities.
        """
        from scipy.special import stdtr

        width = check_real("rope", rope)
        if not 0 <= width < math.inf:
            msg = f"rope must be a finite number of at least 0, got {rope!r}"
            raise ValueError(msg)
        if self._standard_error == 0 and abs(self.difference) <= width + self.error_bound:
            return Probabilities(0.0, 1.0, 0.0)
        below = float(stdtr(self.degrees_of_freedom, -self._t(-width)))
        above = float(stdtr(self.degrees_of_freedom, self._t(width)))
        first, second = (below, above) if self.is_loss else (above, below)
        return Probabilities(first, max(0.0, 1 - below - above), second)

    def to_dict(self, confidence_level: float = 0.95, rope: float | None = None) -> dict[str, Any]:
        """Return the comparison in types that JSON has.

        Numbers that are not finite are None, whole numbers beyond 2**53 and fractions are text.

        Parameters
        ----------
        confidence_level : float, default 0.95
            As for `confidence_interval`.
        rope : float, optional
            As for `probability`; without it there are no probabilities.
        """
        is_defined = not math.isnan(self.pvalue)
        likely = self.probability(rope) if is_defined and rope is not None else None
        return {
            "with": self.names[1],
            **plain_fields(self, "scores", "difference", "standard_error"),
            "interval": self.confidence_interval(confidence_level).to_dict() if is_defined else None,
            "pvalue": plain(self.pvalue),
            "rope": rope,
            "probability": likely
            and {"better": likely.first, "equivalent": likely.equivalent, "worse": likely.second},
        }

    def _t(self, at: float) -> float:
        """(difference - at) / standard error, where differences within the error bound are 0."""
        distance = self.difference - at
        if abs(distance) <= self.error_bound:
            return 0.0
        return distance / self._standard_error if self._standard_error > 0 else math.nan


def compare(
    a: ScoredHalves | PredictionScores,
    b: ScoredHalves | PredictionScores,
    *,
    n_halvings: int | None = None,
    groups: Any = None,
    random_state: Any = 0,
) -> Comparison:
    """Compare two scores of the same samples, or an exact score with another classifier's.

    The same random halves are scored for both rules, so what the samples do to both cancels. If one of them
    is a mean of random runs, both are scored on the same splits of the halves. Predictions of another
    classifier (`predictions_on`) cannot be made again for halves: see the notes.

    Parameters
    ----------
    a, b : CompleteCV, ExpectedScore or TunedScore
        Results for the same samples and scoring, with the same weights and the same kind of design. Rules,
        parameters, pipelines, metrics and training sizes may differ. Beside a mean of random runs take an
        exact `ExpectedScore` for a `CompleteCV`. One of them may be `predictions_on` beside a `CompleteCV`;
        its splits should train on as many samples.
    n_halvings, groups, random_state
        As for `CompleteCV.standard_error`.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError, TypeError
        If the results are not comparable, or were pickled or copied.

    Warns
    -----
    InferenceWarning
        As `CompleteCV.standard_error`; if the halves of both results score the same although the scores
        differ: p-value and interval are then NaN.

    Notes
    -----
    The test kept its level of 5 % within 3.5 to 6.5 % in simulations of four pairs of equally good rules
    (200 samples, 90 % of them training) and found 1-NN worse than 5-NN (0.77, 0.82) in 43 % of the data
    sets. One failure is known: nearly identical rules at half training size (100 samples, 50 % training,
    two noisy versions of the features) were declared different in 10 % of the data sets, as halves reveal
    too little of a difference that exists only on the scale of the neighbor distances.

    With skewed squared errors it called equally good rules different in 4.7 to 8 % of the data sets
    (exponential and t(3) errors, lognormal target; 100 samples). There the interval of a large difference
    is too close to 0: that of 1 and 5 neighbors covered 63 to 91 %.

    Predictions are compared sample by sample: the exact mean score with the mean over the splits that test
    the sample; samples that no split tests are left out. The variance has three parts. That of the mean of
    these differences is the luck of the tested samples. It counts twice, since all differences depend on
    the same training samples, which they do not show: this allowance is that of Nadeau and Bengio's
    correction if half of the samples train, a convention, as there is no unbiased estimate (Bengio and
    Grandvalet). The third part is the luck of the other's training sets, `PredictionScores.std_error`. In
    simulations the standard error was 1.0 to 1.6 times the true one: see the guide.

    References
    ----------
    C. Nadeau & Y. Bengio, Inference for the Generalization Error, Machine Learning 52, 2003.
    Y. Bengio & Y. Grandvalet, No Unbiased Estimator of the Variance of K-Fold Cross-Validation, Journal of
    Machine Learning Research 5, 2004.

    Examples
    --------
    >>> from knnccv import KFold, compare, complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> one = complete_cv(wine.X, wine.y, "nn", KFold(10))
    >>> five = complete_cv(wine.X, wine.y, "knn", KFold(10), n_neighbors=5)
    >>> found = compare(one, five)
    >>> round(found.difference, 3), found.pvalue < 0.05
    (0.068, False)
    """
    if isinstance(b, PredictionScores):
        return _with_predictions(a, b, groups, 1)
    if isinstance(a, PredictionScores):
        return _with_predictions(b, a, groups, -1)
    both = on_same_runs((a, b), "compare")
    terms = comparable_terms(both)
    halves = halves_of_all(both, n_halvings, groups, random_state)
    found = comparison_of(both, terms, halves)
    object.__setattr__(found, "_results", both)
    warn_of_halves(halves, [found])
    return found


def _with_predictions(result: Any, other: PredictionScores, groups: Any, sign: int) -> Comparison:
    """The comparison of a result with predictions; sign -1 if these are the first."""
    if not isinstance(result, ScoredHalves) or not hasattr(result, "per_item"):
        msg = (
            "compare takes predictions beside a result of complete_cv, which expected_score keeps as "
            f"`result`, got {result!r}"
        )
        raise TypeError(msg)
    terms = result.inference_terms()
    measure, loss = other.measure, None if other.loss is None else other.loss.tobytes()
    if result.measure.replace(measure, "") in ("", "balanced ", "class-mean ", " at given class shares"):
        measure = result.measure  # the same scores, weighted by class
    theirs = terms._replace(labels=other.labels, scale=(loss, *terms.scale[1:]))
    _check_comparable(result, replace(other, measure=measure), terms, theirs)
    tested = (terms.weights > 0) & (other.n_tested > 0)
    codes = terms.groups
    if result._evaluation is not None or groups is not None:
        codes = result._halves_request(2, groups, 0).groups
    n_units = int(tested.sum()) if codes is None else len(np.unique(codes[tested]))
    if n_units < 2:
        msg = f"predictions must test at least 2 samples, or groups, that the result tests, got {n_units}"
        raise ValueError(msg)
    if not tested.all():
        warnings.warn(
            f"the scores are those of {tested.sum()} samples only, which the splits test, of {len(tested)}",
            InferenceWarning,
            stacklevel=3,
        )
    low, high = terms.train_sizes or (other.train_size, other.train_size)
    if other.train_size < low / ALIKE - 1 or other.train_size > high * ALIKE + 1:
        warnings.warn(
            "score both on training sets of one size: the difference is also that of the sizes, "
            f"{other.train_size:g} samples of {other.name} and {low} of {terms.rule}",
            InferenceWarning,
            stacklevel=3,
        )
    weights = np.where(tested, terms.weights, 0.0)
    weights /= math.fsum(weights)
    ours, others = (np.where(tested, each.per_item, 0.0) for each in (result, other))
    scores = math.fsum(weights * ours), math.fsum(weights * others)
    variance = math.fsum(unit_deviations(ours - others, weights, codes) ** 2) * n_units / (n_units - 1)
    return Comparison(
        difference=sign * (scores[0] - scores[1]),
        _standard_error=math.sqrt(2 * variance + other.std_error**2),
        degrees_of_freedom=n_units - 1,
        names=(terms.rule, other.name) if sign > 0 else (other.name, terms.rule),
        scores=scores if sign > 0 else (scores[1], scores[0]),
        measure=result.measure,
        is_loss=bool(terms.is_loss),
        half_difference=math.nan,
        error_bound=terms.error_bound,
    )


def on_same_runs(results: Sequence[Any], caller: str) -> list[ScoredHalves]:
    """The results; if halves of one can only be scored by random runs, so are those of all.

    Raises
    ------
    TypeError
        If one is no result with halves, or cannot be scored by random runs.
    """
    for result in results:
        if not isinstance(result, ScoredHalves):
            msg = f"{caller} takes results of complete_cv or expected_score, got "
            if isinstance(result, dict):
                one = f"take one scoring at a time, such as [{next(iter(result))!r}]"
                msg = f"{one}: {msg}several scorings"
            else:
                msg += repr(result)
            if hasattr(result, "paired_by"):
                msg = f'x.difference(y, "ap") compares retrieval scores, not {caller}, got {type(result)}'
            raise TypeError(msg)
    if all(result._is_in_closed_form for result in results):
        return list(results)
    return [result._by_runs() for result in results]


def comparable_terms(results: Sequence[ScoredHalves]) -> list[Terms]:
    """The terms of results that can be compared with each other; ValueError if they cannot."""
    terms = [result.inference_terms() for result in results]
    for result, term in zip(results[1:], terms[1:], strict=True):
        _check_comparable(results[0], result, terms[0], term)
    return terms


def warn_of_halves(halves: Sequence[HalfScores], found: Iterable[Comparison]) -> None:
    """Warn of what the halves of all results say, and of differences that they say nothing about."""
    texts = [text for each in halves for text in each.warnings]
    if any(math.isnan(one.pvalue) for one in found):
        texts.append(HALVES_AGREE)
    for text in dict.fromkeys(texts):
        warnings.warn(text, InferenceWarning, stacklevel=3)


def halves_of_all(
    results: Sequence[ScoredHalves], n_halvings: int | None, groups: Any, random_state: Any
) -> list[HalfScores]:
    """The scores of the same halves for all results.

    Raises
    ------
    ValueError
        If the results draw different halves.
    """
    seed, number = fixed_seed(random_state), n_halvings
    if number is None:
        number = min(result._usual_halvings() for result in results)
    halves = [result.half_scores(number, groups, seed) for result in results]
    if len({each.drawn for each in halves}) > 1:
        msg = (
            "results can be compared if they are scored on the same halves, but their designs draw halves "
            "of other groups, or one of them is stratified"
        )
        raise ValueError(msg)
    return halves


def comparison_of(
    results: Sequence[ScoredHalves], terms: Sequence[Terms], halves_of: Sequence[HalfScores]
) -> Comparison:
    """The comparison of two results whose halves have been scored."""
    (a, b), (first, second), (of_a, of_b) = results, terms, halves_of
    names = first.rule, second.rule
    if first.rule == second.rule and a.design != b.design:
        names = f"{first.rule} over {a.design}", f"{second.rule} over {b.design}"
    halves, error = difference_of(of_a, of_b)
    return Comparison(
        difference=a.score - b.score,
        _standard_error=error,
        degrees_of_freedom=degrees_of_freedom(of_a.n_units, len(halves)),
        names=names,
        scores=(a.score, b.score),
        measure=a.measure,
        is_loss=bool(first.is_loss),
        half_difference=mean_of_defined(halves),
        half_scores=halves,
        error_bound=first.error_bound + second.error_bound,
    )


def _check_comparable(a: Any, b: Any, first: Terms, second: Terms) -> None:
    n_first, n_second = len(first.labels), len(second.labels)
    reason = ""
    if n_first != n_second:
        reason = f"if they are for the same samples, got {n_first} and {n_second} samples"
    elif not np.array_equal(first.labels, second.labels):
        different = "targets" if first.labels.dtype.kind == "f" else "labels"
        reason = f"if they are for the same samples, but their {different} differ"
    elif a.measure != b.measure:
        reason = f"if their scores are of one kind, got {a.measure} and {b.measure}"
    elif first.is_loss is None:
        reason = f"if one score is better than another, but the score is: {a.measure}"
    elif first.scale != second.scale:
        reason = "if their scores mean the same, but their losses or outputs differ"
    elif first.design != second.design:
        reason = f"under one kind of design, got {first.design} and {second.design}"
    elif not np.allclose(first.weights, second.weights, rtol=1e-9, atol=0):
        reason = "if they weight the samples alike, but their weights differ (by average= or the design)"
    if reason:
        msg = f"results can be compared {reason}"
        raise ValueError(msg)
