# mypy: allow-untyped-defs
"""`item_values`: what each sample is worth to a nearest-neighbor rule.

KNN-Shapley values come from neighbor lists, by a compiled pass over blocks of tested samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._base.formatting import Result, item_frame
from ..._base.labels import EncodedLabels, encode_labels, encode_together
from ..._base.parallel import check_wanted, for_each
from ..._base.typing import Array
from ..._base.validation import check, check_choice, check_integer, lowest
from ...kernel import inner, jit
from ...neighbors import Neighbors
from ..driver import TIES, usable_lengths
from .results import complete_cv, with_test_set

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("shapley", "influence")
FULL_DEPTH = 20_000
DEPTH = 1000


@dataclass(frozen=True, eq=False, repr=False)
class ItemValues(Result):
    """What every training sample is worth; a positive value helps.

    Attributes
    ----------
    per_item : ndarray of shape (n_items,)
        The value of every sample.
    kind : {"shapley", "influence"}
    labels : ndarray of shape (n_items,)
        The label of every sample.
    rule : str
        The rule and what it is tested on, in words.
    error_bound : float
        Bound of the error of every value: samples beyond the lists count as if they were in random order,
        and rounding.
    certified : bool
        False for approximate neighbors, whose error has no bound.

    Examples
    --------
    >>> from knnccv import item_values
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> values = item_values(wine.X, wine.y, n_neighbors=5)
    >>> values.per_item.shape
    (178,)
    """

    _json = "kind rule per_item error_bound"

    per_item: Array
    kind: str
    labels: Array
    rule: str
    error_bound: float
    certified: bool = True

    def __len__(self) -> int:
        return len(self.per_item)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.per_item, dtype=dtype, copy=copy)

    def least_valuable(self, n: int = 10) -> Array:
        """Return the samples of the lowest values, the lowest first: candidates for wrong labels.

        Parameters
        ----------
        n : int, default 10
            Number of samples, at least 1; all samples if there are fewer.

        Returns
        -------
        int64 ndarray of shape (min(n, n_items),)
            Indices of samples; equal values in the order of the samples.

        Raises
        ------
        TypeError, ValueError
            If n is not a positive integer.
        """
        return lowest(self.per_item, n)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sample: label and value, as a pandas DataFrame.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        return item_frame(self.labels, value=self.per_item)


def item_values(
    X: Any,
    y: Any,
    kind: str = "shapley",
    *,
    n_neighbors: int = 5,
    test: Any = None,
    cv: Any = None,
    depth: int | None = None,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str = "random",
    n_jobs: int | None = None,
) -> ItemValues:
    """What every sample is worth to the K-nearest-neighbor rule.

    Parameters
    ----------
    X : array of shape (n_items, n_features), or Neighbors
        Samples, or their neighbors.
    y : array of shape (n_items,)
        Class labels.
    kind : {"shapley", "influence"}, default "shapley"
        "shapley": the mean, over all orders in which samples may join the training set, of what a sample
        adds to the share of right ones among the K nearest. "influence": the change of the exact
        cross-validation score of the vote without the sample (`CompleteCV.influence`).
    n_neighbors : int, default 5
        K.
    test : pair (X_test, y_test), optional
        Samples that are tested, and their labels, as for `complete_cv`; "shapley" only. Default: every
        sample of X is tested on all others.
    cv : Design, int or scikit-learn splitter, optional
        With "influence": as for `complete_cv`.
    depth : int, optional
        With "shapley" and without `test`: the number of nearest samples that are ordered; those behind
        count as if they were in random order, which `error_bound` covers. Default: all for up to 20,000
        samples, then 1,000. Given lists are used as far as they go.
    metric, metric_params
        As for `complete_cv`.
    ties : {"random", "index"}, default "random"
        Equally distant samples: the mean over all their orders, or in the order of the rows.
    n_jobs : int, optional
        Threads. Default: all processors. Results are the same to the last bit for any number.

    Returns
    -------
    ItemValues

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    KNN-Shapley values: Jia et al. 2019, "Efficient Task-Specific Data Valuation for Nearest Neighbor
    Algorithms", Theorem 1, as a sum: with f(t) = 1 / max(t, K) and m_t = 1 if the sample at position t has
    the tested class, the one at position t is worth f(t) m_t - sum over s > t of m_s (f(s - 1) - f(s)). The
    values of one tested sample's training set sum to the share of right ones among its K nearest.

    Other values are not computed here: of weighted votes (J. T. Wang, Mittal & Jia, "Efficient Data Shapley
    for Weighted Nearest Neighbor Algorithms", AISTATS 2024), of neighbors within a radius (J. T. Wang et
    al., "A Privacy-Friendly Approach to Data Valuation", NeurIPS 2023), and Banzhaf's average over all
    subsets (J. T. Wang & Jia, "Data Banzhaf", AISTATS 2023).

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> values = knnccv.item_values(wine.X, wine.y, n_neighbors=5)
    >>> len(values), values.least_valuable(3).shape
    (178, (3,))
    """
    check_choice("kind", kind, KINDS)
    check_choice("ties", ties, TIES)
    k = check_integer("n_neighbors", n_neighbors, 1)
    known = {"metric": metric, "metric_params": metric_params}
    if kind == "influence":
        _refuse(kind, test=test, depth=depth)
        design = {} if cv is None else {"cv": cv}
        result = complete_cv(X, y, "knn", n_neighbors=k, ties=ties, n_jobs=n_jobs, **known, **design)
        influence = result.influence(n_jobs=n_jobs)
        certified = bool(np.isfinite(influence.error_bound))
        rule = f"K = {k}, {result.design}"
        return ItemValues(
            influence.per_item, kind, influence.labels, rule, influence.error_bound, certified
        )
    _refuse(kind, cv=cv)
    near, tested, pool = with_test_set(X, y, test, metric, metric_params)
    if pool is None:
        labels, targets = encode_labels(y, near.n_items), None
        rule = f"K = {k}, every sample tested on all others"
    else:
        _refuse("shapley, with test", depth=depth)
        trained = encode_labels(pool.y, pool.n_items)
        labels, tests = encode_together(trained, encode_labels(tested, near.n_items, "_test"))
        targets, rule = tests.codes, f"K = {k}, {near.n_items} other samples tested"
    wanted = near.max_depth
    if depth is not None:
        wanted = min(check_integer("depth", depth, 1, near.n_items - 1), wanted)
    elif pool is None and near.n_items > FULL_DEPTH:
        wanted = min(DEPTH, wanted)
    values, bound = shapley_values(near, labels, targets, k, wanted, ties, n_jobs)
    if near.approximate:
        bound = np.inf
    return ItemValues(values, kind, labels.classes[labels.codes], rule, bound, not near.approximate)


def _refuse(kind: str, **arguments: Any) -> None:
    for name, value in arguments.items():
        check(value is None, f"kind {kind} does not use {name}", value)


@jit
def step(position, n_neighbors):
    """1 / max(position, K): what a right sample at this position is worth, less all that is behind it."""
    return 1.0 / max(position, n_neighbors)


@inner
def group_value(right, n_right, size, mean, last):
    """Expected value of one of `size` samples in random order, less all behind the group.

    Parameters
    ----------
    right : 0 or 1
        Whether the sample has the tested class; `n_right` of the group have.
    mean, last : float
        The mean of `step` over the group's positions, and its value at the last one.

    Notes
    -----
    A sample at position t is worth ``right * step(t)`` less mu * (step(t) - last), where mu is the share of
    right ones among the others of the group.
    """
    if size == 1:
        return right * last
    share = (n_right - right) / (size - 1)
    return mean * (right - share) + share * last


class Block(NamedTuple):
    """Tested samples and their neighbor lists, the nearest first."""

    items: Any
    values: Any
    lengths: Any
    targets: Any  # classes of the tested samples
    itself: Any  # the tested one among the training samples, not in its own training set; or -1


class Training(NamedTuple):
    """The training samples and the rule."""

    codes: Any  # classes (n_items,)
    class_sizes: Any
    harmonic: Any  # sums of `step` over the first positions (n_items + 1,)
    n_neighbors: Any
    average_ties: Any


class Sums(NamedTuple):
    """Sums over the tested samples."""

    listed: Any  # values (n_items,), less those of an unlisted one of the same class
    own_beyond: Any  # by the class of the tested sample: values of an unlisted sample of this class
    other_beyond: Any  # and of another one


@jit
def add_values(block, training, sums):
    """Add the values of all training samples for each tested sample, and return the sum of the bounds.

    The samples beyond a list count as one group in random order, and the values of those are added by
    class, so that the pass takes O(depth) for each tested sample.
    """
    items, values, itself, listed = block.items, block.values, block.itself, sums.listed
    codes, harmonic, n_neighbors = training.codes, training.harmonic, training.n_neighbors
    total_bound = 0.0
    for r in range(len(items)):
        c, length = block.targets[r], block.lengths[r]
        n, n_own = len(codes), training.class_sizes[c]
        if itself[r] >= 0:
            n -= 1
            n_own -= codes[itself[r]] == c
        left = n_own
        for i in range(length):
            left -= codes[items[r, i]] == c
        beyond = n - length
        behind, own, other = 0.0, 0.0, 0.0
        if beyond > 0:
            here, last = step(length, n_neighbors), step(n, n_neighbors)
            mean = (harmonic[n] - harmonic[length]) / beyond
            if left > 0:
                own = group_value(1, left, beyond, mean, last)
            if left < beyond:
                other = group_value(0, left, beyond, mean, last)
            behind = left / beyond * (here - last)
            if 0 < left < beyond:
                most = here - step(length + left, n_neighbors)
                least = step(n - left, n_neighbors) - last
                of_listed = max(most - behind, behind - least)
                nearest = step(length + 1, n_neighbors)
                farthest = nearest - step(length + 1 + left, n_neighbors)
                total_bound += max(of_listed, nearest - own, own - last, -other, other + farthest)
        sums.own_beyond[c] += own
        sums.other_beyond[c] += other
        if itself[r] >= 0:
            listed[itself[r]] -= own if codes[itself[r]] == c else other
        end = length
        while end > 0:
            start = end - 1
            n_right = 1 if codes[items[r, start]] == c else 0
            while training.average_ties and start > 0 and values[r, start - 1] == values[r, start]:
                start -= 1
                n_right += codes[items[r, start]] == c
            size, last = end - start, step(end, n_neighbors)
            mean = (harmonic[end] - harmonic[start]) / size
            for i in range(start, end):
                j = items[r, i]
                if codes[j] == c:
                    listed[j] += group_value(1, n_right, size, mean, last) - behind - own
                else:
                    listed[j] += group_value(0, n_right, size, mean, last) - behind - other
            behind += n_right / size * (step(start, n_neighbors) - last)
            end = start
    return total_bound


ROUNDING = 1e-13
STRIPES = 16
"""Sums that are made apart, so that they do not depend on the number of threads."""


def shapley_values(
    near: Neighbors,
    labels: EncodedLabels,
    targets: Array | None,
    n_neighbors: int,
    depth: int,
    ties: str,
    n_jobs: int | None,
) -> tuple[Array, float]:
    """Mean values of the training samples over the tested ones, and a bound of their errors.

    With `targets` (n_tests,), the classes of tested samples, these find the training samples, which are
    listed after them. Without, every sample is tested on all others.
    """
    average_ties = ties == "random"
    codes, counts = labels.codes, labels.counts
    n_train, n_rows = len(codes), len(codes) if targets is None else len(targets)
    harmonic = np.append(0.0, np.cumsum(1.0 / np.maximum(np.arange(1, n_train + 1), n_neighbors)))
    training = Training(codes, counts, harmonic, n_neighbors, average_ties)
    near.search_all(depth, n_jobs=n_jobs)
    size = near.rows_at_once(depth)
    blocks = [np.arange(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
    n_stripes = min(STRIPES, len(blocks))
    listed, beyond = np.zeros((n_stripes, n_train)), np.zeros((n_stripes, 2, len(counts)))
    bounds = np.zeros(n_stripes)

    def block_of(rows: Array) -> Block:
        lists = near.search(rows, depth)
        lengths = usable_lengths(lists, near, average_ties)
        if targets is None:
            return Block(lists.items, lists.values, lengths, codes[rows], rows)
        return Block(lists.items - n_rows, lists.values, lengths, targets[rows], np.full(len(rows), -1))

    def fill(stripe: int) -> None:
        sums = Sums(listed[stripe], beyond[stripe, 0], beyond[stripe, 1])
        for rows in blocks[stripe::n_stripes]:
            check_wanted()
            bounds[stripe] += add_values(block_of(rows), training, sums)

    for_each(fill, range(n_stripes), n_jobs)
    # A sample in no list is worth the own sum of its class, and the other sums of all other classes.
    own, other = beyond[:, 0].sum(axis=0), beyond[:, 1].sum(axis=0)
    before, after = np.append(0.0, np.cumsum(other[:-1])), np.append(np.cumsum(other[:0:-1])[::-1], 0.0)
    worth = own + before + after
    means = (listed.sum(axis=0) + worth[codes]) / n_rows
    return means, float(bounds.sum()) / n_rows + ROUNDING
