# mypy: allow-untyped-defs
"""Searches of mixed tables: matrix products, counts of differing columns, and brute force.

Without missing values, the squared distances of `_statistics` are squared distances of points. With F the
points, 0 for missing values, and K = 1 for known values and 0 for missing ones, a column
contributes

    |F_x|^2 K_y + K_x |F_y|^2 - 2 F_x F_y + 1 - K_x K_y,

which is an inner product again. It proposes candidates, whose distances are then computed as in
`_statistics`.

The distances of a left-out sample differ: its scales shrink by at most a factor, and its points move by
at most a length. The triangle inequality gives a lower bound of its distance to every sample that is not
proposed.

In tables of nominal columns alone, HEOM's squared distance is the number of columns that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..._base.typing import Array
from ...kernel import jit
from .. import (
    BLOCK_BYTES,
    UNIT,
    BruteForce,
    Engine,
    MatrixProduct,
    NeighborLists,
    Neighbors,
    ProductSearch,
    Source,
    check_comparison,
    longest_short_list,
    shuffled,
)
from ._statistics import Statistics, prepare_row, rounded, shifted, squared_distances, statistics_of
from ._tables import Table

MAX_FACTORS = 512
"""With more factors, products are slower than the direct comparison of 20 columns."""

MISSING = 0
LARGEST_CODE = 2**8 - 1
MOST_COLUMNS = 2**8 - 2  # so that no count is that of the tested sample
TESTED = np.uint8(2**8 - 1)


class MixedTable(Source):
    """A fitted table as a source of `Neighbors`.

    Parameters
    ----------
    statistics, whole : Statistics
        With the tested sample left out if the distance does so, and of all samples.
    table : Table
        The samples, in the units of the scales.
    description : str
        Name of the distance.
    """

    def __init__(self, statistics: Statistics, whole: Statistics, table: Table, description: str) -> None:
        self.statistics, self.whole, self.table = statistics, whole, table
        self.n_items = table.n_items
        self.max_depth = table.n_items - 1
        self.description = description

    def engines(self) -> tuple[Engine, ...]:
        """Matrix products for short lists if the table has an embedding, and brute force.

        Counts of differing columns serve purely nominal tables whose distance looks at no classes.
        """
        codes = self.table.codes
        if (
            not len(self.table.numbers)
            and not self.statistics.counts.size
            and OverlapSearch.serves_codes(codes)
        ):
            return (OverlapSearch(codes),)
        brute_force = BruteForce(self.n_items, self.compare)
        short = longest_short_list(self.n_items)
        if not short:
            return (brute_force,)
        build = partial(embedded, self.statistics, self.whole, self.table)
        remeasure = partial(measured, self.statistics, self.table)
        return MatrixProduct(None, short, self.compare, build, remeasure), brute_force

    def compare(self, rows: Array) -> Array:
        """Squared distances from some rows, float64 (n_rows, n_items)."""
        values = squared_distances(self.statistics, self.table, self.table, rows)
        check_comparison(values, rows, self.description)
        return values

    def to_distance(self, values: Array) -> Array:
        """Distances from their squares."""
        return np.sqrt(values)


class SearchOfGroups(BruteForce):
    """Compares tested samples with all samples, those of one group together."""

    def __init__(self, n_items: int, compare: Callable[[Array], Array], groups: Array) -> None:
        super().__init__(n_items, compare)
        self.groups = groups

    def visiting_order(self, rows: Array) -> Array:
        """The rows, all different, by their groups."""
        return rows[np.argsort(self.groups[rows], kind="stable")]


class TableOfGroups(MixedTable):
    """A table whose distances, for each tested sample, are fitted to the samples of other groups.

    Parameters
    ----------
    table : Table
        The samples.
    labels, groups : int64 ndarray of shape (n_items,)
        Numbers of their classes and groups.
    without : int, optional
        A group that is always left out.
    """

    description = "hvdm"

    def __init__(self, table: Table, labels: Array, groups: Array, without: int = -1) -> None:
        self.table, self.labels, self.groups, self.without = table, labels, groups, without
        self.n_items = table.n_items
        self.max_depth = table.n_items - 1

    def engines(self) -> tuple[Engine, ...]:
        """Brute force, group by group."""
        return (SearchOfGroups(self.n_items, self.compare, self.groups),)

    def refitted(self, group: int) -> Neighbors:
        """The neighbors if the statistics leave out another group as well."""
        return Neighbors(TableOfGroups(self.table, self.labels, self.groups, group))

    def compare(self, rows: Array) -> Array:
        """Squared distances from some rows, float64 (n_rows, n_items)."""
        values, groups = np.empty((len(rows), self.n_items)), self.groups[rows]
        for group in np.unique(groups):
            at, known = groups == group, (self.groups != group) & (self.groups != self.without)
            part = Table(self.table.numbers[:, known], self.table.codes[:, known])
            statistics = statistics_of(part, self.labels[known], int(self.labels.max()) + 1)
            scaled = statistics.scaled(self.table)
            values[at] = squared_distances(statistics, scaled, scaled, rows[at])
        check_comparison(values, rows, self.description)
        return values


@dataclass(frozen=True)
class EmbeddedSearch(ProductSearch):
    """Matrix-product search for a mixed table.

    Attributes
    ----------
    n_known : int
        The number of columns with missing values. The last columns of `factors` are: `n_known` indicators
        of known values, `n_known` squares, 1, and the squared length in the columns without missing
        values.
    shrink, moved : float64 ndarray of shape (n_items,)
        For a left-out sample, the smallest factor of its distances, and the largest length to subtract.
    longest : float
        The largest length of a sample's point.
    """

    n_known: int
    shrink: Array
    moved: Array
    longest: float

    def right_factors(self, rows: Array | slice) -> Array:
        """Return the right-hand factors of these rows' squared distances."""
        factors = self.factors[rows]
        n = self.n_known
        right = -2 * factors
        known, squares = slice(-2 - 2 * n, -2 - n), slice(-2 - n, -2)
        right[:, known] = factors[:, squares] - factors[:, known]
        right[:, squares] = factors[:, known]
        right[:, -2] = factors[:, -1] + n
        right[:, -1] = 1
        return right

    def certain_below(self, rows: Array, proposed: Array) -> Array:
        """Return a lower bound of the exact value for every proposed value of at least `proposed`."""
        error = 1.1 * UNIT * (self.factors.shape[1] + 4)
        lower = proposed.astype(np.float64) - error * (2 * self.longest) ** 2
        distance = self.shrink[rows] * np.sqrt(np.maximum(lower, 0.0)) - self.moved[rows]
        return np.maximum(distance, 0.0) ** 2 * (1 - 1e-9)  # type: ignore[no-any-return]


def embedded(statistics: Statistics, whole: Statistics, table: Table) -> EmbeddedSearch | None:
    """Create the search over the points of all samples; None if the points have too many coordinates.

    Parameters
    ----------
    statistics : Statistics
        For the distances of the fitted samples, which may leave out the tested sample.
    whole : Statistics
        For new rows.
    table : Table
        In the units of the scales.
    """
    missing = np.concatenate([np.isnan(table.numbers), table.codes == 0])
    partial = missing.any(axis=1)
    values = [_coordinates(whole, b) for b in range(len(table.codes))]
    width = len(table.numbers) + sum(one.shape[1] for one in values) + 2 * int(partial.sum()) + 2
    if width > MAX_FACTORS:
        return None
    columns = [_of_numbers(*pair) for pair in zip(table.numbers, whole.scales[0], strict=True)]
    columns += [one[codes] for one, codes in zip(values, table.codes, strict=True)]
    items, rows = shuffled(table.n_items)
    factors = np.ones((table.n_items, width), np.float32)
    at = 0
    square = np.zeros(table.n_items)
    squares = []
    for column, hidden in zip(columns, missing, strict=True):
        centered = column - column[~hidden].mean(axis=0) if not hidden.all() else column
        centered[hidden] = 0.0
        factors[:, at : at + column.shape[1]] = centered[items]
        at += column.shape[1]
        squares.append(np.einsum("ij,ij->i", centered, centered))
    n_known = int(partial.sum())
    for a, b in enumerate(np.flatnonzero(partial)):
        factors[:, at + a] = ~missing[b, items]
        factors[:, at + n_known + a] = squares[b][items]
    for b in np.flatnonzero(~partial):
        square += squares[b]
    factors[:, -1] = square[items]
    total = np.sum(squares, axis=0) if squares else square
    shrink, moved = _left_out(statistics, whole, table)
    return EmbeddedSearch(
        factors=factors,
        items=items,
        rows=rows,
        shift=0,
        exact=False,
        n_searched=table.n_items,
        n_known=n_known,
        shrink=shrink[items],
        moved=moved[items],
        longest=float(np.sqrt(total.max() + n_known + 1)),
    )


def _of_numbers(column: Array, scale: float) -> Array:
    known = ~np.isnan(column)
    points = np.full((len(column), 1), np.nan)
    if known.any():
        points[known, 0] = shifted(column[known]) * scale
    return points


def _coordinates(whole: Statistics, column: int) -> Array:
    """Compute points of a nominal column's values, (1 + n_values, n_coordinates), in the fewest dimensions.

    The first point is that of missing values. More than `MAX_FACTORS` coordinates are not computed.
    """
    start, end = whole.starts[column], whole.starts[column + 1]
    n_values = end - start
    if min(n_values, whole.counts.shape[1] or n_values) > MAX_FACTORS:
        return np.zeros((1, MAX_FACTORS + 1))
    points = whole.points[start:end] if whole.counts.shape[1] else np.eye(n_values) / np.sqrt(2)
    if n_values > 1:
        left, sizes, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
        points = (left * sizes)[:, sizes > 1e-12 * max(sizes[0], 1e-300)]
    return np.concatenate([np.zeros((1, points.shape[1])), points])


def _left_out(statistics: Statistics, whole: Statistics, table: Table) -> tuple[Array, Array]:
    """Bound how far the scales of each left-out sample shrink, and how far its points move."""
    n_items = table.n_items
    shrink = np.ones(n_items)
    squares = np.zeros(n_items)
    if not len(statistics.left_out):
        return shrink, squares
    for a, scale in enumerate(whole.scales[0]):
        if scale > 0:
            ratio = statistics.scales[:, a] / scale
            shrink = np.where(np.isnan(table.numbers[a]), shrink, np.minimum(shrink, ratio))
    # When a sample is left out, the share of its class moves from N_c / N to (N_c - 1) / (N - 1), the
    # others to N_c / (N - 1). The point of a value that no other sample has moves to 0.
    lengths = (whole.points**2).sum(axis=1)
    for codes, start in zip(table.codes, whole.starts, strict=False):
        known = np.flatnonzero(codes)
        values = start + codes[known] - 1
        totals, length = whole.totals[values], lengths[values]
        moved = length - 2 * whole.points[values, statistics.left_out[known]] + 1
        moved = np.maximum(moved / np.maximum(totals - 1, 1) ** 2, 0.0)
        squares[known] += np.where(totals > 1, moved, length)
    return shrink, np.sqrt(squares) * (1 + 1e-9)


def measured(statistics: Statistics, table: Table, rows: Array, found: Array) -> Array:
    """Compute squared distances (n_rows, n_found) of given pairs, bit for bit as `squared_distances`."""
    values = np.empty(found.shape)
    _measure(rows, found, *table.by_rows, statistics.arrays(), values)
    return values


@jit
def _measure(rows, found, numbers, codes, columns, values):
    """Compute the sums of `_statistics`, in the same order, for some pairs; O(columns) per pair."""
    n_numeric = numbers.shape[1]
    table = np.empty(columns.table_starts[-1])
    shares = np.empty(columns.counts.shape[1])
    for r in range(len(rows)):
        row = rows[r]
        scale = prepare_row(row, codes[row], columns, shares, table)
        for i in range(found.shape[1]):
            other = found[r, i]
            total = 0.0
            for a in range(n_numeric):
                value = numbers[row, a]
                against = numbers[other, a]
                gap = (value - against) * scale[a]
                total += gap * gap if value == value and against == against else 1.0
            for b in range(codes.shape[1]):
                total += table[columns.table_starts[b] + codes[other, b]]
            values[r, i] = rounded(total)


@jit
def _fill_lists(codes, rows, items, values, may_tie_beyond):
    """Fill in the lists of the rows, ties in the order of the samples; O(n_columns * n_items) per row.

    Loops over single bytes are vectorized: 64 comparisons take one instruction if the processor has it.
    """
    n_columns, n_items = codes.shape
    depth = items.shape[1]
    counts = np.empty(n_items, np.uint8)  # of columns that differ
    places = np.empty(n_columns + 1, np.int64)  # of the next sample with a count
    for r in range(len(rows)):
        row = rows[r]
        counts[:] = 0
        for b in range(n_columns):
            own = codes[b, row]
            column = codes[b]
            if own == MISSING:
                for j in range(n_items):
                    counts[j] += np.uint8(1)
            else:
                for j in range(n_items):
                    counts[j] += np.uint8(column[j] != own)
        counts[row] = TESTED
        last = -1  # the largest count in the list
        n_found = 0
        while n_found < depth:
            last += 1
            places[last] = n_found
            equal = 0
            for j in range(n_items):
                equal += counts[j] == last
            n_found += equal
        for j in range(n_items):
            count = counts[j]
            if count <= last and places[count] < depth:
                items[r, places[count]] = j
                values[r, places[count]] = count
                places[count] += 1
        may_tie_beyond[r] = n_found > depth


class OverlapSearch(Engine):
    """Counts the columns in which samples differ; a missing value differs from every value.

    Parameters
    ----------
    codes : int32 ndarray of shape (n_columns, n_items)
        The values of the columns, 0 for missing ones. See `serves_codes`.
    """

    def __init__(self, codes: Array) -> None:
        self.codes = np.ascontiguousarray(codes, dtype=np.uint8)
        self.max_depth = codes.shape[1] - 1

    @staticmethod
    def serves_codes(codes: Array) -> bool:
        """Return True if the values of the columns, and their number, are small enough."""
        return 0 < len(codes) <= MOST_COLUMNS and int(codes.max(initial=0)) <= LARGEST_CODE

    def rows_at_once(self) -> int:
        """Number of rows whose lists fit into some megabytes, even if they contain all samples."""
        row = 12 * self.codes.shape[1]
        return int(np.clip(BLOCK_BYTES // row, 16, 512))

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`."""
        lists = NeighborLists.empty(len(rows), depth)
        _fill_lists(self.codes, rows, lists.items, lists.values, lists.may_tie_beyond)
        return lists
