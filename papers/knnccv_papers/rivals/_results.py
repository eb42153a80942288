"""Results of the rivals.

Intervals unpack as (low, high), tests as (statistic, pvalue).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scipy.special import ndtri


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval, which unpacks as ``low, high``.

    Attributes
    ----------
    estimate : float
        The score.
    low, high : float
        The ends of the interval.
    standard_error : float
        The standard error that the method assumes; NaN if the interval follows from no standard error.
    confidence_level : float
        The level that the interval claims.
    method : str
        The method and its source.

    Examples
    --------
    >>> from knnccv_papers.rivals import fold_clt
    >>> interval = fold_clt([0, 0, 1, 1, 2, 2], [1, 0, 1, 1, 0, 1])
    >>> interval.low < interval.estimate < interval.high
    True
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    confidence_level: float
    method: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))


@dataclass(frozen=True)
class CorrectedT(Interval):
    """The interval and the test of `corrected_t`.

    Attributes
    ----------
    statistic : float
        The estimate over its standard error.
    df : int
        Degrees of freedom, the number of splits less one.
    pvalue : float
        Two-sided, for the hypothesis that the mean is 0.

    Examples
    --------
    >>> from knnccv_papers.rivals import corrected_t
    >>> found = corrected_t([0.02, 0.05, -0.01, 0.03, 0.01], n_train=90, n_test=10)
    >>> round(found.pvalue, 4)
    0.1841
    """

    statistic: float
    df: int
    pvalue: float


@dataclass(frozen=True)
class NestedCV(Interval):
    """The interval of `nested_cv`.

    Attributes
    ----------
    nested_score : float
        The mean score of the inner cross-validations, before the correction of the bias.
    bias : float
        The correction: ``estimate = nested_score - bias``.
    inflation : float
        The standard error over the one that ignores dependence, at least 1 and at most the square root of
        the number of folds.

    Examples
    --------
    >>> from knnccv_papers.rivals import nested_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = nested_cv(wine.X, wine.y, 3, n_folds=5, n_runs=5)
    >>> found.low < found.estimate < found.high
    True
    """

    nested_score: float
    bias: float
    inflation: float


@dataclass(frozen=True)
class TestResult:
    """A test, which unpacks as ``statistic, pvalue``.

    Attributes
    ----------
    statistic : float
        The test statistic.
    pvalue : float
        Two-sided.
    method : str
        The test and its source.

    Examples
    --------
    >>> from knnccv_papers.rivals import mcnemar
    >>> found = mcnemar([1, 1, 1, 0], [0, 1, 0, 1])
    >>> round(found.pvalue, 4)
    1.0
    """

    __test__ = False  # no test of pytest's

    statistic: float
    pvalue: float
    method: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))


@dataclass(frozen=True)
class WangLindsay:
    """Variances from the scores of halves.

    Attributes
    ----------
    variance : float
        The unbiased estimate; may be negative.
    conservative : float
        The estimate that is never negative, and on average too large.
    n_halvings : int
        The number of pairs of halves.

    Examples
    --------
    >>> from knnccv_papers.rivals import wang_lindsay
    >>> found = wang_lindsay([[0.70, 0.80], [0.72, 0.80], [0.74, 0.82]])
    >>> round(found.variance, 6)
    0.001667
    """

    variance: float
    conservative: float
    n_halvings: int


def normal_reach(level: float, error: float) -> float:
    """Return half the width of a normal interval with this standard error."""
    return float(ndtri((1 + level) / 2)) * error
