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

    Raises
    ------
    ValueError
        If the neighbors are lists that do not hold all samples.
    """

    def __init__(self, neighbors: Neighbors, order: Array) -> None:
        self._neighbors = neighbors
        self._order = order
        self._products: Products | None = None
        if neighbors.approximate:
            msg = f"{neighbors!r} are approximate, but episodes need the exact order of all samples"
            raise ValueError(msg)
        if neighbors.max_depth < neighbors.n_items - 1:
            msg = (
                f"{neighbors!r} are too short: an episode may draw any sample, so lists must hold all "
                f"{neighbors.n_items - 1} others; pass features, distances or complete lists"
            )
            raise ValueError(msg)
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
        lists = self._neighbors.search(rows, self._neighbors.max_depth)
        depth = self._neighbors.max_depth
        if lists.lengths.min() < depth:
            at = int(lists.lengths.argmin())
            msg = (
                f"sample {rows[at]} has only {lists.lengths[at]} known neighbors; episodes need the order "
                f"of all {depth} other samples"
            )
            raise ValueError(msg)
        values = np.zeros((len(rows), self._neighbors.n_items))
        np.put_along_axis(values, lists.items.astype(np.int64), lists.values, axis=1)
        return np.ascontiguousarray(values[:, self._order])

    def in_order_of_rows(self, begin: int, end: int) -> Array:
        """Exact values of the rows ``order[begin:end]``, with the columns in the order of the samples."""
        values = np.empty((end - begin, self._neighbors.n_items))
        values[:, self._order] = self.exact(begin, end)
        return values
