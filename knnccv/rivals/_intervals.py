"""Intervals from one run of k-fold, from repeated splits, and from a share of correct answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_choice, check_integer, check_real
from ..inference import check_level
from ._checks import as_labels, as_list, check_positive
from ._results import CorrectedT, Interval

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
    >>> from knnccv.rivals import fold_clt
    >>> interval = fold_clt([0, 0, 1, 1, 2, 2], [1, 0, 1, 1, 0, 1])
    >>> round(interval.estimate, 4), round(interval.low, 4), round(interval.high, 4)
    (0.6667, 0.2895, 1.0439)
    """
    check_choice("variance", variance, ("all-pairs", "within-fold"))
    level = check_level(confidence_level)
    values = as_list("scores", scores, 2)
    folds = _fold_codes(fold_of, len(values))
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
    reach = _normal_quantile(level) * error
    mean = float(values.mean())
    method = f"central limit theorem of cross-validation, {variance} variance (Bayle et al. 2020)"
    return Interval(mean, mean - reach, mean + reach, error, level, method)


def _fold_codes(fold_of: Any, n_items: int) -> Array:
    labels = as_labels("fold_of", fold_of)
    if labels.shape != (n_items,):
        msg = f"fold_of must have one label for each of the {n_items} scores, got shape {labels.shape}"
        raise ValueError(msg)
    codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
    if codes.max() == 0:
        msg = "fold_of must name at least two folds, got one"
        raise ValueError(msg)
    return codes


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
    >>> from knnccv.rivals import corrected_t
    >>> found = corrected_t([0.02, 0.05, -0.01, 0.03, 0.01], n_train=90, n_test=10)
    >>> round(found.statistic, 4), round(found.pvalue, 4)
    (1.6036, 0.1841)
    """
    from scipy.stats import t as student

    level = check_level(confidence_level)
    values = as_list("scores", scores, 2)
    ratio = check_positive("n_test", n_test) / check_positive("n_train", n_train)
    n_splits = len(values)
    mean = float(values.mean())
    spread = 0.0 if (values == values[0]).all() else float(values.var(ddof=1))
    error = math.sqrt((1 / n_splits + ratio) * spread)
    df = n_splits - 1
    reach = float(student.ppf((1 + level) / 2, df)) * error
    if error > 0:
        statistic = mean / error
        pvalue = float(2 * student.sf(abs(statistic), df))
    else:
        statistic = math.copysign(math.inf, mean) if mean else math.nan
        pvalue = 0.0 if mean else 1.0
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
    >>> from knnccv.rivals import binomial
    >>> low, high = binomial(0.9, 50)
    >>> round(low, 4), round(high, 4)
    (0.7864, 0.9565)
    """
    from scipy.stats import binomtest

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


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))
