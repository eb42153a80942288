"""Tests of two rules on the same samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._validation import check_choice
from ._checks import as_correct, as_table
from ._results import TestResult


def mcnemar(correct_a: Any, correct_b: Any, *, method: str = "exact") -> TestResult:
    """McNemar's test of two rules that answered for the same samples. Not recommended.

    Parameters
    ----------
    correct_a, correct_b : array of shape (n_items,)
        Whether each rule classified each sample correctly.
    method : {"exact", "chi2"}, default "exact"
        The binomial test of the samples on which exactly one rule is correct, or the chi-square with
        continuity correction.

    Returns
    -------
    TestResult
        For "exact" the statistic is the number of samples on which only rule A is correct. Without a sample
        on which the rules differ the p-value is 1.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    ``(|n01 - n10| - 1)² / (n01 + n10)``, with one degree of freedom; without the correction where
    n01 = n10, whose statistic is 0.

    The test is right for one training set and independent tested samples. It asks whether *these* trained
    rules differ. Measured rejections at 5 % of two rules that are equally good (200 samples, four pairs of
    rules): on one split of share 0.9, 0.3 to 1.5 %, and at most 0.5 % where one rule is better (1-NN with
    accuracy 0.77, 5-NN with 0.82); on the pooled answers of 10-fold cross-validation 7.2 to 11 %.

    Dietterich, "Approximate statistical tests for comparing supervised classification learning algorithms",
    Neural Computation 10 (1998), section 3.1.

    Examples
    --------
    >>> from knnccv.rivals import mcnemar
    >>> a = [1] * 20 + [1] * 9 + [0] * 2
    >>> b = [1] * 20 + [0] * 9 + [1] * 2
    >>> round(mcnemar(a, b).pvalue, 6), round(mcnemar(a, b, method="chi2").statistic, 6)
    (0.06543, 3.272727)
    """
    from scipy.stats import binomtest, chi2

    check_choice("method", method, ("exact", "chi2"))
    one, other = as_correct("correct_a", correct_a), as_correct("correct_b", correct_b)
    if len(one) != len(other):
        msg = f"correct_a and correct_b must have equal lengths, got {len(one)} and {len(other)}"
        raise ValueError(msg)
    only_a, only_b = int((one & ~other).sum()), int((other & ~one).sum())
    n_different = only_a + only_b
    if method == "exact":
        pvalue = float(binomtest(only_a, n_different).pvalue) if n_different else 1.0
        return TestResult(float(only_a), pvalue, "McNemar's test, exact (Dietterich 1998)")
    statistic = max(abs(only_a - only_b) - 1, 0) ** 2 / n_different if n_different else 0.0
    return TestResult(
        statistic, float(chi2.sf(statistic, 1)), "McNemar's test, chi-square (Dietterich 1998)"
    )


def five_by_two_cv(differences: Any, *, method: str = "t") -> TestResult:
    """Test of five runs of two-fold cross-validation. Not recommended.

    Parameters
    ----------
    differences : array of shape (5, 2)
        The difference of two rules' scores on both folds of five random halvings.
    method : {"t", "F"}, default "t"
        Dietterich's t with 5 degrees of freedom, or Alpaydin's F with 10 and 5.

    Returns
    -------
    TestResult
        If both folds agree in every run, the statistic is infinite, or NaN with a p-value of 1 for zeros.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    With d the differences and s² the squared deviations of both folds from their mean, summed:
    ``t = d[0, 0] / sqrt(sum of s² / 5)``, ``F = sum of d² / (2 sum of s²)``.

    Both train on half of the samples, whatever the training size in question. Measured rejections at 5 % of
    two rules that are equally good (200 samples, four pairs of rules): t 4.3 to 12 %, F 4.0 to 13 %; where
    one rule is better (1-NN with accuracy 0.77, 5-NN with 0.82) 18 %.

    Dietterich, Neural Computation 10 (1998), section 3.5; Alpaydin, "Combined 5x2 cv F test for comparing
    supervised classification learning algorithms", Neural Computation 11 (1999).

    Examples
    --------
    >>> from knnccv.rivals import five_by_two_cv
    >>> d = [[0.05, 0.03], [0.02, 0.04], [0.06, 0.01], [0.03, 0.03], [0.00, 0.05]]
    >>> statistic, pvalue = five_by_two_cv(d)
    >>> round(statistic, 4), round(pvalue, 4)
    (2.0761, 0.0925)
    """
    from scipy.stats import f as fisher
    from scipy.stats import t as student

    check_choice("method", method, ("t", "F"))
    table = as_table("differences", differences, 5, 2)
    spread = float(((table[:, 0] - table[:, 1]) ** 2).sum() / 2)
    first = float(table[0, 0])
    source = {"t": "5x2cv t (Dietterich 1998)", "F": "5x2cv F (Alpaydin 1999)"}[method]
    if spread == 0:
        size = first if method == "t" else float(np.abs(table).max())
        if size == 0:
            return TestResult(math.nan, 1.0, source)
        return TestResult(math.copysign(math.inf, size), 0.0, source)
    if method == "t":
        statistic = first / math.sqrt(spread / 5)
        return TestResult(statistic, float(2 * student.sf(abs(statistic), 5)), source)
    statistic = float((table**2).sum()) / (2 * spread)
    return TestResult(statistic, float(fisher.sf(statistic, 10, 5)), source)
