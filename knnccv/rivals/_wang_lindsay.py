"""The unbiased variance of a complete score from the scores of halves."""

from __future__ import annotations

from typing import Any

from .._validation import check_bool
from ._checks import as_table
from ._results import WangLindsay


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
    >>> from knnccv.rivals import wang_lindsay
    >>> found = wang_lindsay([[0.70, 0.80], [0.72, 0.80], [0.74, 0.82]])
    >>> round(found.conservative, 6), round(found.variance, 6)
    (0.0019, 0.001667)
    """
    check_bool("every_halving", every_halving)
    scores = as_table("halves", halves, None, 2)
    if len(scores) < 2:
        msg = f"halves must have at least two rows, got {len(scores)}"
        raise ValueError(msg)
    within = float(((scores[:, 0] - scores[:, 1]) ** 2).mean() / 4)
    between = float(scores.mean(axis=1).var(ddof=0 if every_halving else 1))
    return WangLindsay(within - between, within, len(scores))
