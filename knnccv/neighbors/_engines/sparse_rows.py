# mypy: allow-untyped-defs
"""Search in sparse data: shared features propose candidates, exact differences decide.

The data are kept by rows and by columns. For a tested sample one pass over the columns of its features
finds its overlap with every other sample. Together with the sums of each row this gives all distances,
up to a bound of the rounding. Samples that the bound cannot exclude are candidates. They are measured as
dense rows are, difference by difference in the order of the columns. Zeros add nothing and are skipped.
Orders, distances and ties are those of ``X.toarray()``, to the last bit.

Cost per sample: N, the lengths of the columns of its features, and the stored values of the candidates. No
more than a few rows are ever dense, and only for cosine distances, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._base.typing import Array
from ..._base.validation import check
from ...kernel import inner, jit
from .._inputs import NO_ZERO, as_csr, shifted
from .engine import Engine, NeighborLists

KINDS = ("sqeuclidean", "cityblock", "cosine", "jaccard", "tanimoto")
SQUARED, ABSOLUTE, ANGULAR, BINARY, QUOTIENT = range(5)
UNIT = 2.0**-53
DENSE_VALUES = 2**17  # 1 MB, which stays in a processor's cache


class SparseRows(NamedTuple):
    """Data of shape (n_items, n_features) by rows and by columns, without stored zeros.

    Attributes
    ----------
    starts : int64 ndarray of shape (n_items + 1,)
        Where every row begins in `columns` and `values`.
    columns : int32 ndarray of shape (n_values,)
        Ascending in every row.
    values : float64 ndarray of shape (n_values,)
    column_starts, rows, column_values : ndarray
        The same by columns.
    """

    starts: Array
    columns: Array
    values: Array
    column_starts: Array
    rows: Array
    column_values: Array

    @classmethod
    def of(cls, csr: Any) -> SparseRows:
        """From a CSR matrix in canonical form."""
        csc = csr.tocsc()
        starts, column_starts = csr.indptr.astype(np.int64), csc.indptr.astype(np.int64)
        narrow = np.int32 if max(csr.shape) < 2**31 else np.int64
        columns, rows = (one.indices.astype(narrow, copy=False) for one in (csr, csc))
        return cls(starts, columns, csr.data, column_starts, rows, csc.data)


@dataclass(frozen=True)
class SparseTable:
    """Sparse data that are ready to be searched under one metric.

    Attributes
    ----------
    rows : SparseRows
    sums : float64 ndarray of shape (n_items,)
        Sums of each row's absolute values, or of their squares.
    kind : int
        Position of the metric in `KINDS`.
    error : float
        Bound of the relative rounding error of a proposal.
    """

    rows: SparseRows
    sums: Array
    kind: int
    error: float

    def __len__(self) -> int:
        return len(self.sums)


def sparse_table(X: Any, name: str) -> tuple[SparseTable, int]:
    """The data for a search, and the power of 2 by which they were divided.

    Parameters
    ----------
    X : sparse matrix or array of shape (n_items, n_features)
    name : str
        One of `KINDS`.
    """
    csr = as_csr(X)
    kind = KINDS.index(name)
    shift = 0
    if kind == ANGULAR:
        csr.data = _of_unit_length(csr)
    elif kind == BINARY:
        if csr.nnz == csr.shape[0] * csr.shape[1] and (csr.data != 1).any():
            raise ValueError(NO_ZERO)
        csr.data = np.ones(csr.nnz)
    else:
        limit, low = (1000, -2000) if kind == ABSOLUTE else (500, -450)
        csr.data, shift, smallest = shifted(csr.data, name, limit, low)
        msg = (
            f"sparse X spans too many orders of magnitude for metric {name!r}: its smallest value is "
            f"below 2**{smallest - limit} of its largest; pass X.toarray()"
        )
        check(smallest >= low, msg)
    rows = SparseRows.of(csr)
    sums = np.zeros(csr.shape[0])
    _sum_rows(rows.starts, rows.values, kind == ABSOLUTE, sums)
    # The sums have at most twice the values of a row; some more operations and the quotient follow.
    longest = int(np.diff(rows.starts).max())
    error = 0.0 if kind == BINARY else (8 * longest + 72) * UNIT
    return SparseTable(rows, sums, kind, error), shift


def _of_unit_length(csr: Any) -> Array:
    """The stored values, scaled to rows of length 1 as `_metrics` scales dense rows.

    NumPy's order of summation depends on the zeros. A few rows at a time are therefore made dense to sum
    their squares.
    """
    lengths = np.diff(csr.indptr)
    row_of = np.repeat(np.arange(csr.shape[0]), lengths)
    largest = np.ones(csr.shape[0])
    if csr.nnz:
        held = lengths > 0
        largest[held] = np.maximum.reduceat(np.abs(csr.data), csr.indptr[:-1][held])
    values = csr.data / largest[row_of]
    squares = np.empty(csr.shape[0])
    step = max(1, DENSE_VALUES // csr.shape[1])
    dense = np.zeros((min(step, csr.shape[0]), csr.shape[1]))
    for start in range(0, csr.shape[0], step):
        end = min(start + step, csr.shape[0])
        some = slice(csr.indptr[start], csr.indptr[end])
        at = row_of[some] - start, csr.indices[some]
        dense[at] = values[some] * values[some]
        squares[start:end] = dense[: end - start].sum(axis=1)
        dense[at] = 0.0
    return np.asarray(values / np.maximum(np.sqrt(squares), 1.0)[row_of])


class SparseSearch(Engine):
    """Searches sparse data, at every depth."""

    def __init__(self, table: SparseTable) -> None:
        self.table = table
        self.max_depth = len(table) - 1

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`."""
        table = self.table
        lists = NeighborLists.empty(len(rows), depth)
        found = lists.items, lists.values, lists.may_tie_beyond
        _search(table.rows, table.sums, table.kind, table.error, rows, *found)
        return lists


@jit
def _sum_rows(starts, values, absolute, sums):
    """Fill in the sums of absolute values, or of squares, in the order of the columns."""
    for r in range(len(sums)):
        for a in range(starts[r], starts[r + 1]):
            sums[r] += abs(values[a]) if absolute else values[a] * values[a]


@inner
def _share(table, absolute, x, shared):
    """Fill in the overlap of sample x with every sample: ``x.y``, or sums of ``|x| + |y| - |x - y|``."""
    starts, columns, values, column_starts, rows, column_values = table
    shared[:] = 0.0
    for a in range(starts[x], starts[x + 1]):
        value = values[a]
        first = column_starts[columns[a]]
        last = column_starts[columns[a] + 1]
        for b in range(first, last):
            other = column_values[b]
            overlap = abs(value) + abs(other) - abs(value - other) if absolute else value * other
            shared[rows[b]] += overlap


@inner
def _total_gap(starts, columns, values, absolute, x, y):
    """Sum of the differences of two samples, or of their squares, in the order of the columns."""
    a, b = starts[x], starts[y]
    last_a, last_b = starts[x + 1], starts[y + 1]
    total = 0.0
    while a < last_a or b < last_b:
        if b == last_b or (a < last_a and columns[a] < columns[b]):
            gap = values[a]
            a += 1
        elif a == last_a or columns[b] < columns[a]:
            gap = values[b]
            b += 1
        else:
            gap = values[a] - values[b]
            a += 1
            b += 1
        total += abs(gap) if absolute else gap * gap
    return total


@inner
def _proposed(kind, both, shared):
    """A distance, from the sum `both` of two samples' sums and their overlap."""
    if kind == ABSOLUTE:
        return both - shared
    if kind == BINARY:
        union = both - shared
        return (union - shared) / union if union > 0.0 else 0.0
    gap = max(both - 2.0 * shared, 0.0)
    if kind == QUOTIENT:
        return 2.0 * gap / (both + gap) if both > 0.0 else 0.0
    return gap


@jit
def _search(table, sums, kind, error, tested, items, ranked, may_tie_beyond):
    """Fill the lists of the tested samples, ascending by (value, index)."""
    starts, columns, values = table.starts, table.columns, table.values
    n_items = len(sums)
    depth = items.shape[1]
    absolute = kind == ABSOLUTE
    shared = np.empty(n_items)
    lowest = np.empty(n_items)
    highest = np.empty(n_items)
    found = np.empty(n_items, np.int64)
    exact = np.empty(n_items)
    for r in range(len(tested)):
        x = tested[r]
        _share(table, absolute, x, shared)
        for y in range(n_items):
            both = sums[x] + sums[y]
            value = _proposed(kind, both, shared[y])
            slack = error * (2.0 if kind == QUOTIENT else both)
            if kind == ANGULAR and (sums[x] == 0.0 or sums[y] == 0.0):
                value, slack = 2.0, 0.0
            lowest[y] = value - slack
            highest[y] = value + slack
        highest[x] = np.inf
        limit = np.partition(highest, depth - 1)[depth - 1]
        n_found = 0
        for y in range(n_items):
            if lowest[y] > limit or y == x:
                continue
            if kind == BINARY or (kind == ANGULAR and (sums[x] == 0.0 or sums[y] == 0.0)):
                value = lowest[y]
            else:
                value = _total_gap(starts, columns, values, absolute, x, y)
                if kind == QUOTIENT:
                    both = sums[x] + sums[y]
                    value = 2.0 * value / (both + value) if both > 0.0 else 0.0
            found[n_found] = y
            exact[n_found] = value
            n_found += 1
        order = np.argsort(exact[:n_found], kind="mergesort")
        for i in range(depth):
            items[r, i] = found[order[i]]
            ranked[r, i] = exact[order[i]]
        may_tie_beyond[r] = n_found > depth and exact[order[depth]] == exact[order[depth - 1]]


@jit
def compare_rows(table, own_sums, sums, kind, first, found):
    """Fill in values that order other samples for the samples from `first` on.

    `table` has these samples by rows and the others by columns. The values are those of products, in double
    precision. The values of equal samples have the same bits.
    """
    for r in range(len(found)):
        x = first + r
        shared = found[r]
        _share(table, kind == ABSOLUTE, x, shared)
        for y in range(len(shared)):
            if kind == ANGULAR:  # of rows of length 1; orthogonal ones tie to the last bit
                shared[y] = -shared[y]
            else:
                shared[y] = _proposed(kind, own_sums[x] + sums[y], shared[y])
