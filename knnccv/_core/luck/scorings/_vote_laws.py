# mypy: allow-untyped-defs
"""The law of the votes of a sample of two classes, and its histograms as control variates.

The walk along the neighbor list of a sample keeps the probabilities of (t0, t1), the numbers of training
samples of both classes so far. The next sample trains with probability (n - t) / (left in the data), for
n to be drawn in all and t drawn so far: of its class if the design stratifies, else of both. Where t0 +
t1 reaches K, t1 is the number of votes for class 1. O(depth * K^2) a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...._base.parallel import for_each
from ...._base.typing import Array
from ....designs import TrainingSets
from ....kernel import Labels, jit
from ....neighbors import NeighborLists
from ...driver import mixed_groups

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
    of_kinds = (laws[kind] for kind in kinds)
    known = np.array([[law.laws[law.codes == c].mean(axis=0) for c in (0, 1)] for law in of_kinds])
    expected = (known * (n_tested > 0)[:, :, None]).sum(axis=0) / number
    return shares.reshape(len(tables), -1), expected.ravel()
