"""Intervals, variances and tests that follow from given scores or answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import binomtest, chi2
from scipy.stats import f as fisher
from scipy.stats import t as student

from .._checks import as_codes, as_reals, check_choice, check_integer, check_level, check_real
from .._work import Array
from ._results import CorrectedT, Interval, TestResult, WangLindsay, normal_reach

ROUNDING = 1e-9
"""How far a share may be beyond 0 and 1, since a mean of many ones may be rounded up."""


def fold_clt(
    fold_of: Any, scores: Any, confidence_level: float = 0.95, *, variance: str = "all-pairs"
) -> Interval:
    """Interval of one k-fold run by the central limit theorem of cross-validation. Not recommended.

    Parameters
    ----------
    fold_of : array of shape (n_items,)
        The fold that tests each sample: labels of at least two folds.
    scores : array of shape (n_items,)
        Whether each sample is classified correctly (1 or 0), or its loss.
    confidence_level : float, default 0.95
        Between 0 and 1.
    variance : {"all-pairs", "within-fold"}, default "all-pairs"
        The variance of all scores about their mean, or the mean of the folds' variances.

    Returns
    -------
    Interval
        The mean score and ``mean ± z sqrt(variance / n_items)``.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above. "within-fold" needs two samples in every fold.

    Notes
    -----
    The theorem asks that one training sample changes the loss by o(1 / n_items). K neighbors with fixed K
    do not meet this: a sample changes about K / n_items of all answers.

    Measured coverage of 95 % intervals, for one k-fold run of K = 1, 5, 15 votes (ten populations, five of
    them for 500 samples; training shares 0.5, 0.8, 0.9), mean [least, most] over populations, K and
    shares: 83.6 % [67, 95] for 50 samples, 85.7 % [71, 94] for 100, 87.6 % [82, 92] for 200, 88.7 % [78,
    96] for 500.

    Bayle, Bayle, Janson & Mackey, "Cross-validation confidence intervals for test error", NeurIPS 2020:
    the central limit theorem is theorem 1, the within-fold estimator theorem 4 (section 4.1), the all-pairs
    estimator theorem 5 (section 4.2).

    Examples
    --------
    >>> from knnccv_papers.rivals import fold_clt
    >>> interval = fold_clt([0, 0, 1, 1, 2, 2], [1, 0, 1, 1, 0, 1])
    >>> round(interval.estimate, 4), round(interval.low, 4), round(interval.high, 4)
    (0.6667, 0.2895, 1.0439)
    """
    check_choice("variance", variance, ("all-pairs", "within-fold"))
    level = check_level(confidence_level)
    values = _values("scores", scores, 2)
    folds = as_codes("fold_of", fold_of, len(values), "scores")
    if folds.max() == 0:
        msg = "fold_of must name at least two folds, got one"
        raise ValueError(msg)
    sizes = np.bincount(folds)
    if variance == "all-pairs":
        spread = float(np.mean((values - values.mean()) ** 2))
    else:
        if sizes.min() < 2:
            msg = f'variance="within-fold" needs two samples in every fold, got a fold of {sizes.min()}'
            raise ValueError(msg)
        means = np.bincount(folds, values) / sizes
        spread = float(np.mean(np.bincount(folds, (values - means[folds]) ** 2) / (sizes - 1)))
    error = math.sqrt(spread / len(values))
    reach = normal_reach(level, error)
    mean = float(values.mean())
    method = f"central limit theorem of cross-validation, {variance} variance (Bayle et al. 2020)"
    return Interval(mean, mean - reach, mean + reach, error, level, method)


def corrected_t(scores: Any, n_train: float, n_test: float, confidence_level: float = 0.95) -> CorrectedT:
    """Corrected resampled t: interval and test from the scores of repeated splits. Not recommended.

    Parameters
    ----------
    scores : array of shape (n_splits,)
        The score of every split, or for a comparison the difference of two rules' scores. At least two.
    n_train, n_test : float
        The number of training and of tested samples of a split.
    confidence_level : float, default 0.95
        Between 0 and 1.

    Returns
    -------
    CorrectedT
        The mean score, its interval, and the test of the hypothesis that the mean is 0.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    The sample variance of the J scores times ``1 / J + n_test / n_train``, and t with J - 1 degrees of
    freedom. If all scores are equal, the statistic is infinite, or NaN with a p-value of 1 for zeros.

    Measured coverage of 95 % intervals, 15 splits, K = 1, 5, 15 votes (ten populations, five of them for
    500 samples; training shares 0.5, 0.8, 0.9), mean [least, most] over populations, K and shares: 89.7 %
    [64, 100] for 50 samples, 91.9 % [82, 100] for 100, 93.1 % [86, 100] for 200, 93.7 % [87, 100] for 500.
    The variance is too large for a share of 0.5 (1.6 times on average) and too small for 0.8 and 0.9
    (0.87, 0.76). As a test at 5 % of two rules that are equally good (200 samples, share 0.9, four pairs
    of rules) it rejects in 5.0 to 9.2 % with 15 splits, in 5.8 to 13 % with 50.

    Nadeau & Bengio, "Inference for the generalization error", Machine Learning 52 (2003), section 4: the
    corrected resampled t-test.

    Examples
    --------
    >>> from knnccv_papers.rivals import corrected_t
    >>> found = corrected_t([0.02, 0.05, -0.01, 0.03, 0.01], n_train=90, n_test=10)
    >>> round(found.statistic, 4), round(found.pvalue, 4)
    (1.6036, 0.1841)
    """
    level = check_level(confidence_level)
    values = _values("scores", scores, 2)
    ratio = _positive("n_test", n_test) / _positive("n_train", n_train)
    n_splits = len(values)
    mean = float(values.mean())
    spread = 0.0 if (values == values[0]).all() else float(values.var(ddof=1))
    error = math.sqrt((1 / n_splits + ratio) * spread)
    df = n_splits - 1
    reach = float(student.ppf((1 + level) / 2, df)) * error
    statistic = _ratio(mean, error)
    pvalue = float(2 * student.sf(abs(statistic), df)) if error or mean else 1.0
    method = "corrected resampled t (Nadeau & Bengio 2003)"
    return CorrectedT(mean, mean - reach, mean + reach, error, level, method, statistic, df, pvalue)


def binomial(score: float, n: int, confidence_level: float = 0.95, *, method: str = "wilson") -> Interval:
    """Interval of a share of correct answers as if they were independent. Not recommended.

    Parameters
    ----------
    score : float
        The share of correct answers, 0 to 1. ``score * n`` is rounded to a whole number.
    n : int
        The number of tested samples.
    confidence_level : float, default 0.95
        Between 0 and 1.
    method : {"wilson", "exact"}, default "wilson"
        Wilson's score interval, or that of Clopper & Pearson.

    Returns
    -------
    Interval

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    This is right for a test set that no training used. Answers of cross-validation are not independent,
    since they share training samples.

    Measured coverage of 95 % Wilson intervals about the complete score with n = N, K = 1, 5, 15 votes (ten
    populations, five of them for 500 samples; training shares 0.5, 0.8, 0.9), mean [least, most] over
    populations, K and shares: 92.4 % [81, 100] for 50 samples, 92.7 % [83, 100] for 100, 93.3 % [85, 100]
    for 200, 92.5 % [83, 99] for 500. The variance is on average 1.12, 0.85 and 0.77 of the true one for
    the three shares. "exact" was not measured; it is never narrower than the level asks for independent
    answers.

    Wilson, JASA 22 (1927); Clopper & Pearson, Biometrika 26 (1934); computed by
    ``scipy.stats.binomtest(...).proportion_ci``.

    Examples
    --------
    >>> from knnccv_papers.rivals import binomial
    >>> low, high = binomial(0.9, 50)
    >>> round(low, 4), round(high, 4)
    (0.7864, 0.9565)
    """
    check_choice("method", method, ("wilson", "exact"))
    level = check_level(confidence_level)
    trials = check_integer("n", n, 1)
    share = check_real("score", score)
    if not -ROUNDING <= share <= 1 + ROUNDING:
        msg = f"score must be between 0 and 1, got {score}"
        raise ValueError(msg)
    share = min(max(share, 0.0), 1.0)
    found = binomtest(round(share * trials), trials).proportion_ci(level, method)
    source = {"wilson": "binomial, Wilson (1927)", "exact": "binomial, Clopper & Pearson (1934)"}[method]
    return Interval(share, float(found.low), float(found.high), math.nan, level, source)


def wang_lindsay(halves: Any, *, every_halving: bool = False) -> WangLindsay:
    """Unbiased variance from the scores of pairs of halves. Not recommended: it may be negative.

    Parameters
    ----------
    halves : array of shape (n_halvings, 2)
        The complete scores of two disjoint random halves of the samples. At least two halvings.
    every_halving : bool, default False
        Whether these are all halvings, each equally often, and not a random sample of them.

    Returns
    -------
    WangLindsay

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    With ``V = mean (U1 - U2)² / 4`` and the variance over halvings of ``(U1 + U2) / 2``, which is an
    average of squares about the mean over n_halvings (if `every_halving`) or n_halvings - 1, the result is
    V minus that variance. It is unbiased for the variance of the mean of all halves' scores, which differs
    from the score of all samples. V alone, the field `conservative`, is what knnccv uses: on average half
    the variance of a half's score, and never negative.

    The unbiased variance is noisier. In the study it was negative in 1 to 26 % of the samples whose labels
    are pure noise, and never where labels depend on features. Coverage of its intervals was not measured.

    Wang & Lindsay, "Variance estimation of a general U-statistic with application to cross-validation",
    Statistica Sinica 24 (2014): the partition-resampling scheme, within minus between partitions.

    Examples
    --------
    >>> from knnccv_papers.rivals import wang_lindsay
    >>> found = wang_lindsay([[0.70, 0.80], [0.72, 0.80], [0.74, 0.82]])
    >>> round(found.conservative, 6), round(found.variance, 6)
    (0.0019, 0.001667)
    """
    scores = _table("halves", halves, None, 2)
    if len(scores) < 2:
        msg = f"halves must have at least two rows, got {len(scores)}"
        raise ValueError(msg)
    within = float(((scores[:, 0] - scores[:, 1]) ** 2).mean() / 4)
    between = float(scores.mean(axis=1).var(ddof=0 if every_halving else 1))
    return WangLindsay(within - between, within, len(scores))


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
    >>> from knnccv_papers.rivals import mcnemar
    >>> a = [1] * 20 + [1] * 9 + [0] * 2
    >>> b = [1] * 20 + [0] * 9 + [1] * 2
    >>> round(mcnemar(a, b).pvalue, 6), round(mcnemar(a, b, method="chi2").statistic, 6)
    (0.06543, 3.272727)
    """
    check_choice("method", method, ("exact", "chi2"))
    one, other = _correct("correct_a", correct_a), _correct("correct_b", correct_b)
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
    >>> from knnccv_papers.rivals import five_by_two_cv
    >>> d = [[0.05, 0.03], [0.02, 0.04], [0.06, 0.01], [0.03, 0.03], [0.00, 0.05]]
    >>> statistic, pvalue = five_by_two_cv(d)
    >>> round(statistic, 4), round(pvalue, 4)
    (2.0761, 0.0925)
    """
    check_choice("method", method, ("t", "F"))
    table = _table("differences", differences, 5, 2)
    spread = float(((table[:, 0] - table[:, 1]) ** 2).sum() / 2)
    source = {"t": "5x2cv t (Dietterich 1998)", "F": "5x2cv F (Alpaydin 1999)"}[method]
    if method == "t":
        statistic = _ratio(float(table[0, 0]), math.sqrt(spread / 5))
        pvalue = float(2 * student.sf(abs(statistic), 5))
    else:
        statistic = _ratio(float((table**2).sum()), 2 * spread)
        pvalue = float(fisher.sf(statistic, 10, 5))
    return TestResult(statistic, 1.0 if math.isnan(statistic) else pvalue, source)


def _ratio(value: float, spread: float) -> float:
    """A statistic: infinite without a spread, or NaN if the value is 0 as well."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(value, spread))


def _positive(name: str, value: Any) -> float:
    """Return the number; ValueError unless it is finite and positive."""
    number = check_real(name, value)
    if not 0 < number < np.inf:
        msg = f"{name} must be positive and finite, got {value}"
        raise ValueError(msg)
    return number


def _values(name: str, values: Any, least: int) -> Array:
    """Return finite real numbers as float64 (n,); ValueError if they are not one-dimensional or too few."""
    data = as_reals(name, values)
    if data.ndim != 1:
        msg = f"{name} must have one dimension, got shape {data.shape}"
        raise ValueError(msg)
    if len(data) < least:
        msg = f"{name} must have at least {least} values, got {len(data)}"
        raise ValueError(msg)
    return data


def _table(name: str, values: Any, n_rows: int | None, n_columns: int) -> Array:
    """Return finite real numbers as float64 (n_rows, n_columns); ValueError for another shape."""
    data = as_reals(name, values)
    if data.ndim != 2 or data.shape[1] != n_columns or (n_rows is not None and len(data) != n_rows):
        shape = f"({'n' if n_rows is None else n_rows}, {n_columns})"
        msg = f"{name} must have shape {shape}, got {data.shape}"
        raise ValueError(msg)
    return data


def _correct(name: str, values: Any) -> Array:
    """Return bool (n,) from booleans or numbers 0 and 1."""
    data = _values(name, values, 1)
    wrong = (data != 0) & (data != 1)
    if wrong.any():
        at = int(np.argmax(wrong))
        msg = f"{name} must be True or False for every sample, got {name}[{at}] = {data[at]:g}"
        raise ValueError(msg)
    return data == 1  # type: ignore[no-any-return]
