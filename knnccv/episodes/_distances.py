"""Distances of blocks of rows to all samples, class by class, with a bound of their rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..neighbors import Neighbors

BLOCK_BYTES = 2**24
FEWEST_ROWS, MOST_ROWS = 16, 512


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
