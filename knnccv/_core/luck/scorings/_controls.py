"""Means of scores of runs, with statistics of known expectation as control variates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...._base.typing import Array

MOST_FULL = 12
"""The number of classes up to which every cell of the confusion table is a control."""
RUNS_PER_DIRECTION = 4
"""At least as many runs stand behind every coefficient."""
ROUNDING = 1e-9
"""The spread of a control, relative to its size, below which it is a constant and rounding."""
COLLINEAR = 1e-8
"""The share of the largest variance below which a direction of the controls is rounding."""
EXACT = 1e-12
"""The error of exact means, relative to the scores: no standard error is smaller."""

RANGES = 6
"""How far beyond the others a value may be that no run has, in their ranges. Fewer than 3 of 10,000 errors
of small problems are then beyond four standard errors."""
UNIT = 1.0
"""What an event may change in the score of a run where all scores are equal."""
STEP = 1e-4
"""The smallest change of a control where none varies: a share of one of 10,000 samples."""


class ControlledMean(NamedTuple):
    """A mean over runs.

    ``mean``, ``std_error``
        The estimate, and its standard error.
    ``variance_ratio``
        How many times more runs the plain mean needs for this standard error.
    ``unseen``
        The part of the standard error, in squares, that is of what no run shows. It falls with the number
        of runs, the rest with its root.
    """

    mean: float
    std_error: float
    variance_ratio: float
    unseen: float


def controlled_mean(
    values: Any, controls: Any = None, expected: Any = (), *, is_linear: bool = False
) -> ControlledMean:
    """Estimate the expectation of the score of a run.

    The score of each run is corrected by a linear function of its controls, less the exact expectation of
    that function. Two halves of the runs (every other run) fit the coefficients for each other, by least
    squares on the leading principal components of the controls. So the corrected scores have no bias, and
    their spread includes the error of the coefficients, however many there are.

    Parameters
    ----------
    values : array-like of shape (n_runs,)
        Scores of independent runs.
    controls : array-like of shape (n_runs, n_controls), optional
        Statistics of the same runs; constant and collinear ones do no harm. Default: none.
    expected : array-like of shape (n_controls,), optional
        The exact expectation of the statistics.
    is_linear : bool, default False
        Whether the score is a linear function of the controls, so that nothing happens but what these show,
        if there are enough runs to find that function.

    Returns
    -------
    ControlledMean
        The standard error is NaN for a single run. It holds what few runs, or none of them, show: see the
        notes. It is 0 only if all values are equal and nothing else can happen. All is NaN if a value is.

    Notes
    -----
    Given the coefficients of one half, the corrected scores of the other are independent. The number of
    components is chosen within each half by generalized cross-validation [1]_, none included. The two means
    are uncorrelated but for products of two errors of coefficients.

    The scores of runs may have few values, some of them rare, and their standard deviation is too small
    where these are missing. So two errors are added, each of an event in one of n runs, see `unseen_error`:

    - one more run at the other end of the range of the corrected scores;
    - a run with a value beyond all others, as far as their largest and their range together, and at most
      six ranges. The more values are known, the less likely: with d of them this is divided by d - 1, times
      the share of the runs that repeat a value.

    Good controls may explain all that these runs show, and yet not a run that differs from the others as
    much as usual, the standard deviation of the scores: no error is smaller than that of one such run. It
    is larger, as that of a new value, where controls move the mean far. If all that can happen shows in the
    controls, both have no more than the probability that their expectation leaves to them. And where all
    scores are equal, the error is at least what the controls of these runs lack of their expectation.

    References
    ----------
    .. [1] G. Golub, M. Heath and G. Wahba (1979). "Generalized cross-validation as a method for choosing a
       good ridge parameter". Technometrics 21, 215-223.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> known = rng.random((1000, 1))  # of expectation 1/2
    >>> found = controlled_mean(known[:, 0] + 0.1 * rng.random(1000), known, [0.5])
    >>> found.variance_ratio > 50, abs(found.mean - 0.55) < 4 * found.std_error
    (True, True)
    """
    scores, exact = np.asarray(values, float), np.asarray(expected, float)
    known = np.empty((len(scores), 0)) if controls is None else np.asarray(controls, float)
    off = known - exact
    rounding = ROUNDING * np.maximum(np.abs(known).max(axis=0), np.abs(exact))
    n_runs = len(scores)
    if not np.isfinite(scores).all():
        return ControlledMean(np.nan, np.nan, np.nan, np.nan)
    odd = (np.arange(n_runs) % 2 == 1) & (known.shape[1] > 0)  # without controls, nothing is fitted
    corrected = np.empty(n_runs)
    for half in (odd, ~odd):
        corrected[~half] = scores[~half] - off[~half] @ _coefficients(scores[half], off[half], rounding)
    mean, error = _mean_of_halves(corrected, odd)
    average, plain = _mean_of_halves(scores, odd)
    are_equal = n_runs > 1 and scores.min() == scores.max()
    size = float(np.abs(scores).max() + np.ptp(scores)) or UNIT
    n_values = len(np.unique(((scores - scores.min()) / (np.ptp(scores) or UNIT)).round(9)))
    repeated = max(n_runs - n_values, 0) / max(n_runs - 1, 1)
    farther = min(size, RANGES * float(np.ptp(scores)))
    effect = max(UNIT, size) if are_equal else farther * repeated / max(n_values - 1, 1)
    # An event far from all others changes the coefficients, too.
    moved = float(np.hypot(1.0, (average - mean) / plain)) if plain > 0 else 1.0
    moves = (np.ptp(known, axis=0) > rounding).any()
    is_known = (is_linear and error <= ROUNDING * size) or (are_equal and len(exact) and not moves)
    gap, step = _unseen(known, exact, rounding) if is_known or are_equal else (np.empty(0), STEP)
    chance = gap.sum() / step if is_known else 1.0
    unseen = unseen_error(effect * moved, n_runs, chance)
    if are_equal:
        unseen = max(unseen, float(gap.max(initial=0.0)))
        return ControlledMean(float(scores[0]), unseen, 1.0, unseen)
    usual = unseen_error(plain * float(np.sqrt(n_runs)) * moved, n_runs, chance)
    shown = max(float(np.hypot(error, unseen)), EXACT * float(np.abs(scores).max()))
    error = max(shown, usual)
    return ControlledMean(mean, error, (plain / error) ** 2, usual if usual > shown else unseen)


def unseen_error(effect: float, number: int, share: float = 1.0) -> float:
    """The standard error of a mean because of an event that happened in none of the trials.

    Parameters
    ----------
    effect : float
        What the event changes in a single trial.
    number : int
        The number of independent trials. An event that none of them shows is unlikely to happen in more
        than one of so many.
    share : float, default 1
        A bound of the probability of the event.

    Returns
    -------
    float
    """
    return effect * min(share, 1 / number)


def _unseen(known: Array, exact: Array, rounding: Array) -> tuple[Array, float]:
    """How far the expectation of controls is from what the runs show, and the least change of a control.

    Where it is no weighted mean of the runs, not even with negative weights, events have not happened. Such
    an event moves a control by at least the smallest step of the others, which bounds its probability.
    """
    if known.shape[1] == 0:
        return np.empty(0), STEP
    moves = np.abs(known - known[0])
    varying = np.where(moves.max(axis=0) > rounding, known - known.mean(axis=0), 0.0)
    gap = exact - known.mean(axis=0)
    gap -= varying.T @ np.linalg.lstsq(varying.T, gap, rcond=COLLINEAR**0.5)[0]
    step = moves[moves > rounding].min(initial=np.inf)
    return np.where(np.abs(gap) > rounding, np.abs(gap), 0.0), float(step if step < np.inf else STEP)


def _coefficients(scores: Array, controls: Array, rounding: Array) -> Array:
    """Coefficients (n_controls,) of the least squares on the leading principal components.

    A control that varies by no more than `rounding` here has the coefficient 0.
    """
    n_runs, n_controls = controls.shape
    most = n_runs // RUNS_PER_DIRECTION
    if most == 0 or n_controls == 0:
        return np.zeros(n_controls)
    centered = controls - controls.mean(axis=0)
    scale = np.sqrt((centered**2).sum(axis=0))
    scale[scale <= np.sqrt(n_runs) * rounding] = np.inf
    units = centered / scale
    values, vectors = np.linalg.eigh(units.T @ units)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = min(int((values > COLLINEAR * values[0]).sum()), most)
    vectors = vectors[:, :rank]
    explained = vectors.T @ (units.T @ (scores - scores.mean())) / np.sqrt(values[:rank])
    left = ((scores - scores.mean()) ** 2).sum() - np.r_[0.0, np.cumsum(explained**2)]
    number = int(np.argmin(np.maximum(left, 0.0) / (n_runs - 1.0 - np.arange(rank + 1)) ** 2))
    return vectors[:, :number] @ (explained[:number] / np.sqrt(values[:number])) / scale  # type: ignore[no-any-return]


def _mean_of_halves(scores: Array, odd: Array) -> tuple[float, float]:
    """The mean, and its standard error from the deviations of the runs from the mean of their half.

    Of two runs, or without halves, from their common mean: no coefficient is fitted. Another run may lie at
    the other end of the range.
    """
    deviations, n_runs = np.zeros(len(scores)), len(scores)
    halves = (odd, ~odd) if n_runs > 2 and odd.any() else (odd | True,)
    for half in halves:
        deviations[half] = scores[half] - scores[half].mean()
    degrees = len(halves)
    if n_runs <= degrees:
        return float(scores.mean()), np.nan
    squares = (deviations**2).sum() * n_runs / (n_runs - degrees) + np.ptp(deviations) ** 2
    return float(scores.mean()), float(np.sqrt(squares) / n_runs)


def confusion_controls(tables: Array, n_tested: Any, expected: Any) -> tuple[Array, Array]:
    """Return the controls of confusion tables, and their expectation.

    Parameters
    ----------
    tables : int ndarray of shape (n_runs, n_folds, n_classes, n_classes)
        Counts of true (rows) and predicted classes.
    n_tested : array-like of shape (n_folds,) or (n_runs, n_folds)
        The number of tested samples of every fold.
    expected : array-like of shape (n_classes, n_classes)
        The expected share of the tested samples in every cell: `knnccv.CompleteCV.confusion` of a result
        with ``average="pooled"``.

    Returns
    -------
    controls : float64 ndarray of shape (n_runs, n_controls)
        The mean over folds of the share of every cell; with more than 12 classes, of the correct
        predictions of every class.
    expected : float64 ndarray of shape (n_controls,)

    Examples
    --------
    >>> import numpy as np
    >>> tables = np.array([[[[3, 1], [0, 4]]]])
    >>> confusion_controls(tables, [8], [[0.4, 0.1], [0.1, 0.4]])[0]
    array([[0.375, 0.125, 0.   , 0.5  ]])
    """
    n_classes = tables.shape[-1]
    weights = np.broadcast_to(1.0 / np.asarray(n_tested), tables.shape[:2]) / tables.shape[1]
    shares, known = np.einsum("rf,rfcp->rcp", weights, tables), np.asarray(expected, float)
    if n_classes > MOST_FULL:
        return np.einsum("rcc->rc", shares), np.diagonal(known)
    return shares.reshape(len(tables), -1), known.ravel()
