"""Results of the rivals: intervals unpack as (low, high), tests as (statistic, pvalue)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


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
    """

    variance: float
    conservative: float
    n_halvings: int
