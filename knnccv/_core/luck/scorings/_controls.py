# mypy: allow-untyped-defs
"""Means of scores of runs, with statistics of known expectation as control variates.

Of votes of two classes the expectation is known from the law of the votes of one sample over all training
sets. The walk along the neighbor list of a sample keeps the probabilities of (t0, t1), the numbers of
training samples of both classes so far. The next sample trains with probability (n - t) / (left in the
data), for n to be drawn in all and t drawn so far: of its class if the design stratifies, else of both.
Where t0 + t1 reaches K, t1 is the number of votes for class 1. O(depth * K^2) a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...._base.parallel import for_each
from ...._base.typing import Array
from ....designs import TrainingSets
from ....kernel import Labels, jit
from ....neighbors import NeighborLists
from ...driver import mixed_groups

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
    """

    mean: float
    std_error: float
    variance_ratio: float


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
    controls, both have no more than the probability that their expectation leaves to them.

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
        return ControlledMean(np.nan, np.nan, np.nan)
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
    chance = _unseen(known, exact, rounding) if is_known else 1.0
    unseen = unseen_error(effect * moved, n_runs, chance)
    if are_equal:
        return ControlledMean(float(scores[0]), unseen, 1.0)
    usual = unseen_error(plain * float(np.sqrt(n_runs)) * moved, n_runs, chance)
    error = max(float(np.hypot(error, unseen)), usual, EXACT * float(np.abs(scores).max()))
    return ControlledMean(mean, error, (plain / error) ** 2)


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


def _unseen(known: Array, exact: Array, rounding: Array) -> float:
    """A bound of the probability of what shows in the controls, but in no run.

    Where their expectation is no weighted mean of the runs, not even with negative weights, events have not
    happened. Such an event moves a control by at least the smallest step of the others.
    """
    moves = np.abs(known - known[0])
    varying = np.where(moves.max(axis=0) > rounding, known - known.mean(axis=0), 0.0)
    gap = exact - known.mean(axis=0)
    gap -= varying.T @ np.linalg.lstsq(varying.T, gap, rcond=COLLINEAR**0.5)[0]
    step = moves[moves > rounding].min(initial=np.inf)
    return float(np.abs(gap)[np.abs(gap) > rounding].sum() / (step if step < np.inf else STEP))


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


RESOLVED = 1 - 1e-15
"""The probability at which a walk along a list stops."""
BLOCK = 256
"""Samples of one piece of work."""


class VoteLaws(NamedTuple):
    """Laws of the votes for class 1 among the K nearest training samples, over training sets of one kind.

    ``laws``
        float64 array of shape (n_items, K + 1): the probability of every number of votes, given that the
        sample is tested.
    ``tails``
        float64 array of shape (n_items,): the probability that the list of the sample is too short.
    ``codes``
        int64 array of shape (n_items,): the class of every sample, 0 or 1.
    ``n_tested``
        float64 array of shape (2,): the expected number of tested samples of both classes.
    """

    laws: Array
    tails: Array
    codes: Array
    n_tested: Array


@jit
def fill_vote_laws(items, lengths, rows, codes, sizes, held_out, laws, tails):
    """Fill ``laws[r]`` and ``tails[r]`` for some rows r.

    `sizes` (2, 1 or 2) has the samples that train and all samples, of each class if the design stratifies.
    """
    n_train, counts = sizes
    n_nearest, stratified = laws.shape[1] - 1, len(n_train) > 1
    state, passed = np.zeros((n_nearest, n_nearest)), np.zeros(2, np.int64)
    for r in rows:
        state[:] = 0.0
        state[0, 0] = 1.0
        passed[:] = 0
        own = codes[r]
        resolved = 0.0
        for position in range(lengths[r]):
            c = codes[items[r, position]]
            if stratified:
                drawn, left = n_train[c], counts[c] - passed[c] - held_out * (c == own)
            else:
                drawn, left = n_train[0], counts[0] - position - held_out
            passed[c] += 1
            for t0 in range(min(n_nearest - 1, passed[0]), -1, -1):
                for t1 in range(min(n_nearest - 1 - t0, passed[1]), -1, -1):
                    weight = state[t0, t1]
                    if weight == 0.0:
                        continue
                    done = t0 + t1
                    if stratified:
                        done = t1 if c == 1 else t0
                    hit = weight * (drawn - done) / left
                    state[t0, t1] = weight * (left - drawn + done) / left
                    if t0 + t1 + 1 == n_nearest:
                        laws[r, t1 + c] += hit
                        resolved += hit
                    else:
                        state[t0 + 1 - c, t1 + c] += hit
            if resolved >= RESOLVED:
                break
        tails[r] = state.sum()


def vote_laws(lists: NeighborLists, codes: Array, kind: TrainingSets, n_neighbors: int) -> VoteLaws:
    """Return the law of the votes of every sample, for two classes.

    The order of the lists decides among tied samples, as under ``ties="index"``; see `mixed_ties`.

    Parameters
    ----------
    lists : NeighborLists
        The lists of all samples, of any depth.
    codes : int64 ndarray of shape (n_items,)
        The class of every sample, 0 or 1; those that are tested are the first, one for each list.
    kind : TrainingSets
        The training sets, of one size or stratified by class.
    n_neighbors : int
        K, at most the size of the training sets.
    n_jobs : int, optional
        The number of threads.

    Raises
    ------
    ValueError
        If the training sets are of several sizes, are smaller than K, or have other strata.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv import Neighbors
    >>> from knnccv.designs import Subsample
    >>> from knnccv._base.labels import encode_labels
    >>> y = encode_labels([0, 0, 1, 1])
    >>> lists = Neighbors.from_data(np.array([[0.0], [1.0], [3.0], [7.0]])).search(np.arange(4), 3)
    >>> (kind,) = Subsample(2).training_sets(y)
    >>> vote_laws(lists, y.codes, kind, 1).laws.round(4)  # the nearest of two training samples
    array([[0.6667, 0.3333],
           [0.6667, 0.3333],
           [1.    , 0.    ],
           [0.3333, 0.6667]])
    """
    if kind.n_extra or len(kind.counts) != (2 if kind.stratified else 1):
        msg = f"kind must have one size, or one for each of two classes, got {kind}"
        raise ValueError(msg)
    if not 1 <= n_neighbors <= kind.least_train:
        msg = (
            f"n_neighbors must be between 1 and {kind.least_train}, the size of the training sets, "
            f"got {n_neighbors}"
        )
        raise ValueError(msg)
    n_items = len(lists.items)
    laws, tails = np.zeros((n_items, n_neighbors + 1)), np.empty(n_items)
    sizes = np.array([kind.n_train, kind.counts], np.int64)

    def one(first: int) -> None:
        rows = np.arange(first, min(first + BLOCK, n_items))
        fill_vote_laws(lists.items, lists.lengths, rows, codes, sizes, kind.held_out, laws, tails)

    for_each(one, range(0, n_items, BLOCK))
    tested = codes[:n_items]
    n_tested = np.bincount(tested, minlength=2) * np.array(kind.tested_share(2), float)
    return VoteLaws(laws, tails, tested, n_tested)


def mixed_ties(lists: NeighborLists, codes: Array) -> Array:
    """Tell for every list whether tied samples in it have different classes, bool (n_rows,).

    Then the laws hold for ``ties="index"`` alone. Ties of the last sample with samples beyond count.
    """
    labels = Labels(codes, np.empty((0, 0)))
    found: Array = (mixed_groups(lists, lists.lengths, labels) >= 0) | lists.may_tie_beyond
    return found


def vote_controls(tables: Array, laws: Sequence[VoteLaws], kinds: Array) -> tuple[Array, Array]:
    """Return controls for any score of votes, the histograms, and their expectation.

    Parameters
    ----------
    tables : int ndarray of shape (n_runs, n_folds, 2, 2, K + 1)
        Histograms of votes, as for `TableScorer`.
    laws : sequence of VoteLaws
        By kind of training sets.
    kinds : int ndarray of shape (n_folds,)
        The kind of every fold.

    Returns
    -------
    controls : float64 ndarray of shape (n_runs, 2 * (K + 1))
        The mean, over the folds that test a class, of the number of tested samples of the class with so
        many votes for class 1, over the expected number of its tested samples.
    expected : float64 ndarray of shape (2 * (K + 1),)
    """
    n_tested = np.array([laws[kind].n_tested for kind in kinds])
    weights = np.divide(1.0, n_tested, out=np.zeros(n_tested.shape), where=n_tested > 0)
    number = np.maximum((n_tested > 0).sum(axis=0), 1)[:, None]
    shares = np.einsum("rfcv,fc->rcv", tables[:, :, :, 1], weights) / number
    known = np.array([_by_class(laws[kind]) for kind in kinds])
    expected = (known * (n_tested > 0)[:, :, None]).sum(axis=0) / number
    return shares.reshape(len(tables), -1), expected.ravel()


def _by_class(law: VoteLaws) -> Array:
    """The mean law of the samples of each class, (2, K + 1)."""
    return np.array([law.laws[law.codes == c].mean(axis=0) for c in (0, 1)])
