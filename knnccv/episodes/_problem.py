"""One problem: classes, tables and the weights of the polynomials, and distances of blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from .._labels import EncodedLabels
from .._typing import Array
from ..neighbors import Neighbors
from ._episodes import Episodes
from ._rows import Plan, fill_none_nearer

BLOCK_BYTES = 2**24
FEWEST_ROWS, MOST_ROWS = 16, 512
MANY_CLASSES = 100
"""All numbers of ways cost (n_classes - 1)^2 per pair of samples of a class, so by default not beyond."""
MOST_CLASSES = 1000
"""Beyond, a binomial coefficient of all ways overflows."""
MOST_SETS = 10**300
"""Beyond, numbers of sets of classes overflow double precision."""


@dataclass(frozen=True)
class Problem:
    """Episodes of some classes, as the compiled functions take them.

    Attributes
    ----------
    labels : EncodedLabels
    episodes : Episodes
    order : int64 ndarray of shape (n_items,)
        The samples class by class, in the order of their numbers.
    bounds : int64 ndarray of shape (n_classes + 1,)
        Where every class begins in `order`.
    starts : int64 ndarray of shape (n_classes,)
        Where every class begins in `tables`.
    shots : int64 ndarray of shape (n_shots, n_classes)
        The number of supports of every class, for every number of shots that is asked for.
    tables : float64 ndarray of shape (n_shots, n_items + n_classes)
        See `fill_none_nearer`.
    n_terms : int
        Polynomials, of degree 0 to n_terms - 1.
    jackknife : bool
        Whether each class is left out.
    """

    labels: EncodedLabels
    episodes: Episodes
    order: Array
    bounds: Array
    starts: Array
    shots: Array
    tables: Array
    n_terms: int
    jackknife: bool

    @classmethod
    def of(cls, labels: EncodedLabels, episodes: Episodes, *, all_ways: bool, jackknife: bool) -> Problem:
        """Sort the samples by class and fill the tables.

        Raises
        ------
        ValueError
            If the sets of classes are too many for double precision.
        """
        counts = labels.counts
        n_classes = len(counts)
        n_terms = n_classes if all_ways else episodes.ways[-1]
        _check_sets(n_classes, n_terms)
        order = np.argsort(labels.codes, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(counts)])
        starts = bounds[:-1] + np.arange(n_classes)
        shots = episodes.shots_of(labels)
        tables = np.empty((len(shots), len(labels.codes) + n_classes))
        for row, table in zip(shots, tables, strict=True):
            fill_none_nearer(counts, starts, row, table)
        return cls(labels, episodes, order, bounds, starts, shots, tables, n_terms, jackknife)

    def own_weights(self, own_class: int) -> Array:
        """The probability that own sample i is drawn and the nearest of the drawn, (n_shots, n_own)."""
        n_own = int(self.labels.counts[own_class]) - 1
        weights = np.empty((len(self.shots), n_own))
        nearest_first = np.arange(n_own)
        for row, n_shot in zip(weights, self.shots[:, own_class].tolist(), strict=True):
            row[:] = n_shot / n_own
            for k in range(n_shot - 1):
                row *= np.maximum(n_own - 1 - nearest_first - k, 0) / (n_own - 1 - k)
        return weights

    def functional(self) -> Array:
        """The weights of the polynomials in the score without a class, for the mean over the ways."""
        if not self.jackknife:
            return np.zeros(1)
        weights = np.zeros(self.episodes.ways[-1])
        sets = binomials(len(self.labels.counts) - 2, len(weights))
        for way in self.episodes.ways:
            weights[way - 1] = 1 / (len(self.episodes.ways) * sets[way - 1])
        return weights

    def plan(self, ties: str) -> Plan:
        """What the compiled functions need for every row."""
        return Plan(
            self.order, self.bounds, self.starts, self.tables, self.shots, self.n_terms, self.functional(),
            self.jackknife, ties == "random",
        )  # fmt: skip


def binomials(n: int, n_terms: int) -> Array:
    """C(n, k) for k < n_terms, as floats."""
    values = np.ones(n_terms)
    for k in range(1, n_terms):
        values[k] = values[k - 1] * (n - k + 1) / k
    return values


def check_ties(ties: Any) -> None:
    """Raise ValueError if `ties` is neither "random" nor "index"."""
    if not isinstance(ties, str) or ties not in ("random", "index"):
        msg = f"ties must be 'random' or 'index', got {ties!r}"
        raise ValueError(msg)


def choose_all_ways(all_ways: Any, n_classes: int, *, by_default: bool) -> bool:
    """Whether all ways are computed; `by_default` only where there are few classes.

    Raises
    ------
    TypeError, ValueError
        If `all_ways` is neither None nor a bool, or is True for too many classes.
    """
    if all_ways is None:
        return by_default and n_classes <= MANY_CLASSES
    if not isinstance(all_ways, (bool, np.bool_)):
        msg = f"all_ways must be True, False or None, got {all_ways!r}"
        raise TypeError(msg)
    if all_ways and n_classes > MOST_CLASSES:
        msg = f"all_ways=True serves up to {MOST_CLASSES} classes, got {n_classes}; give all_ways=False"
        raise ValueError(msg)
    return bool(all_ways)


def _check_sets(n_classes: int, n_way: int) -> None:
    """Raise ValueError if a query's class can be drawn with too many sets of other classes."""
    others = n_classes - 1
    if comb(others, min(n_way - 1, others // 2)) > MOST_SETS:
        most = next(k for k in range(others) if comb(others, k) > MOST_SETS)
        msg = (
            f"n_way must be at most {most} for {n_classes} classes, since the numbers of sets of classes "
            f"overflow double precision beyond, got {n_way}"
        )
        raise ValueError(msg)


@dataclass(frozen=True)
class Products:
    """Factors whose products order all samples for every row, as squared euclidean distances do.

    ``|y|^2 - 2 x.y`` differs from the squared distance by a constant of the row. It is computed in double
    precision, from centered data. Distances whose products differ by more than `slack` are in the same
    order as those of `Neighbors.values`.

    Attributes
    ----------
    left, right : float64 ndarray of shape (n_items, n_features + 1)
        ``left[x] @ right[y]`` is the product.
    slack : float64 ndarray of shape (n_items,)
        For every row.
    """

    left: Array
    right: Array
    slack: Array

    @classmethod
    def of(cls, data: Array, order: Array) -> Products:
        """The factors of the samples in this order."""
        center = data.mean(axis=0, dtype=np.float64)
        integers = bool((np.rint(data) == data).all())
        if integers:
            center = np.rint(center)
        centered = data[order] - center
        shift = int(np.frexp(np.abs(centered).max())[1])
        centered = np.ldexp(centered, -shift)
        squares = np.einsum("ij,ij->i", centered, centered)
        left = np.column_stack([centered, np.ones(len(data))])
        right = np.column_stack([-2 * centered, squares])
        longest = float(squares.max())
        if integers and shift <= 24 and 8 * longest * 4.0**shift < 2**53:
            return cls(
                left, right, np.zeros(len(data))
            )  # integers times a power of two: nothing is rounded
        # Rounding of the centered data, of the sums of n_features + 1 products in any order, and of the
        # distances as differences; all of it for both of the distances that are compared.
        unit = 2.0**-53 * (4 * data.shape[1] + 40)
        slack = unit * (np.sqrt(squares) + np.sqrt(longest)) ** 2 + 1e-300
        return cls(left, right, slack)


class Distances:
    """Values that order all samples for blocks of rows.

    Parameters
    ----------
    neighbors : Neighbors
    order : int64 ndarray of shape (n_items,)
        The samples class by class: the order of the columns.

    Attributes
    ----------
    by_lists : bool
        Whether the values come from neighbor lists. Those of samples beyond a list are infinite.

    Raises
    ------
    ValueError
        If the neighbors are approximate.
    """

    def __init__(self, neighbors: Neighbors, order: Array) -> None:
        self._neighbors = neighbors
        self._order = order
        self._products: Products | None = None
        if neighbors.approximate:
            msg = f"{neighbors!r} are approximate, but episodes need the exact order of the samples"
            raise ValueError(msg)
        self.by_lists = not neighbors.sees_all
        proposer = neighbors.proposer() if neighbors.sees_all else None
        if proposer is not None:
            self._products = Products.of(proposer[1], order)

    def rows_at_once(self) -> int:
        """Number of rows in a block."""
        return min(max(BLOCK_BYTES // (8 * self._neighbors.n_items), FEWEST_ROWS), MOST_ROWS)

    def block(self, begin: int, end: int) -> tuple[Array, Array]:
        """Values of the rows ``order[begin:end]``, in the order of the columns, and their slack."""
        if self._products is None:
            return self.exact(begin, end), np.zeros(end - begin)
        products = self._products
        return products.left[begin:end] @ products.right.T, products.slack[begin:end]

    def exact(self, begin: int, end: int) -> Array:
        """Exact values of the rows ``order[begin:end]``, in the order of the columns."""
        rows = self._order[begin:end]
        if self._neighbors.sees_all:
            return np.ascontiguousarray(self._neighbors.values(rows)[:, self._order])
        depth = self._neighbors.max_depth
        lists = self._neighbors.search(rows, depth)
        values = np.full((len(rows), self._neighbors.n_items), np.inf)
        for row, items, found, length, open_end in zip(
            values, lists.items, lists.values, lists.lengths, lists.may_tie_beyond, strict=True
        ):
            known = found[:length]
            if open_end and length:  # the last tied group may go on beyond the list
                known = np.where(known == known[-1], np.inf, known)
            row[items[:length]] = known
        return np.ascontiguousarray(values[:, self._order])

    def in_order_of_rows(self, begin: int, end: int) -> Array:
        """Exact values of the rows ``order[begin:end]``, with the columns in the order of the samples.

        Raises
        ------
        ValueError
            If a list does not hold all samples.
        """
        values = np.empty((end - begin, self._neighbors.n_items))
        values[:, self._order] = self.exact(begin, end)
        if self.by_lists and (np.isinf(values).sum(axis=1) > 1).any():
            raise ValueError(too_short(self._neighbors))
        return values


def too_short(neighbors: Neighbors) -> str:
    """The message where lists of the nearest samples do not suffice."""
    return (
        f"the lists of {neighbors!r} are too short: jackknife, exact=True and votes need the order of all "
        f"{neighbors.n_items - 1} other samples; pass complete lists, features or distances"
    )
