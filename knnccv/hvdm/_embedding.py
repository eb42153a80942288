"""Mixed tables in the engine of matrix products.

Squared distances of `_heterogeneous` are those of points, but for unknown values: with F the points, 0
where a value is unknown, and K telling where it is known, column by column

    |F_x|^2 K_y + K_x |F_y|^2 - 2 F_x F_y + 1 - K_x K_y,

one inner product again. It proposes; the proposals are measured as `_heterogeneous` measures.

Where a tested sample is left out of the statistics, its own distances are others: its scales shrink by no
more than a factor, its points move by no more than some length, and the triangle inequality then tells
below what distance no sample can lie that was not proposed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..kernel import jit
from ..neighbors._engines.matrix_product import UNIT, ProductSearch, shuffled
from ._statistics import Statistics, by_code, code_tables, rounded, shifted
from ._tables import Table

MOST_FACTORS = 512
"""Beyond this width products cost more than the direct comparison of 20 columns."""


@dataclass(frozen=True)
class EmbeddedSearch(ProductSearch):
    """As its base, for a mixed table.

    Attributes
    ----------
    n_known : int
        Of the last columns of `factors`, how many tell whether a value is known; as many squares follow,
        then 1, and the squared length in the columns without unknown values.
    shrink, moved : float64 ndarray of shape (n_items,)
        By what factor an item's distances may be smaller when it is left out, and by what length beyond.
    longest : float
        The largest length of a sample.
    """

    n_known: int
    shrink: Array
    moved: Array
    longest: float

    def right_factors(self, rows: Array | slice) -> Array:
        """Right factors of the rows' squared distances."""
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
        """Lower bounds of the exact values of samples whose proposals are at least `proposed`."""
        error = 1.1 * UNIT * (self.factors.shape[1] + 4)
        lower = proposed.astype(np.float64) - error * (2 * self.longest) ** 2
        distance = self.shrink[rows] * np.sqrt(np.maximum(lower, 0.0)) - self.moved[rows]
        return np.maximum(distance, 0.0) ** 2 * (1 - 1e-9)  # type: ignore[no-any-return]


def embedded(statistics: Statistics, whole: Statistics, table: Table) -> EmbeddedSearch | None:
    """Points of all samples; None where they would have too many coordinates.

    Parameters
    ----------
    statistics : Statistics
        As the distances use them, perhaps leaving out the tested sample.
    whole : Statistics
        The same for new rows.
    table : Table
        In the units of the scales.
    """
    unknown = np.concatenate([np.isnan(table.numbers), table.codes == 0])
    partial = unknown.any(axis=1)
    values = [_coordinates(whole, b) for b in range(len(table.codes))]
    width = len(table.numbers) + sum(one.shape[1] for one in values) + 2 * int(partial.sum()) + 2
    if width > MOST_FACTORS:
        return None
    columns = [_of_numbers(*pair) for pair in zip(table.numbers, whole.scales[0], strict=True)]
    columns += [one[codes] for one, codes in zip(values, table.codes, strict=True)]
    items, rows = shuffled(table.n_items)
    factors = np.ones((table.n_items, width), np.float32)
    at = 0
    square = np.zeros(table.n_items)
    squares = []
    for column, hidden in zip(columns, unknown, strict=True):
        centered = column - column[~hidden].mean(axis=0) if not hidden.all() else column
        centered[hidden] = 0.0
        factors[:, at : at + column.shape[1]] = centered[items]
        at += column.shape[1]
        squares.append(np.einsum("ij,ij->i", centered, centered))
    n_known = int(partial.sum())
    for a, b in enumerate(np.flatnonzero(partial)):
        factors[:, at + a] = ~unknown[b, items]
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
    """Points of the values of a nominal column, (1 + n_values, n_coordinates), as few as they can do with.

    The first is that of unknown values. More than `MOST_FACTORS` coordinates are not worked out.
    """
    start, end = whole.starts[column], whole.starts[column + 1]
    n_values = end - start
    if min(n_values, whole.counts.shape[1] or n_values) > MOST_FACTORS:
        return np.zeros((1, MOST_FACTORS + 1))
    points = whole.points[start:end] if whole.counts.shape[1] else np.eye(n_values) / np.sqrt(2)
    if n_values > 1:
        left, sizes, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
        points = (left * sizes)[:, sizes > 1e-12 * max(sizes[0], 1e-300)]
    return np.concatenate([np.zeros((1, points.shape[1])), points])


def _left_out(statistics: Statistics, whole: Statistics, table: Table) -> tuple[Array, Array]:
    """By what factor at most an item's scales shrink, and how far its points move, when it is left out."""
    n_items = table.n_items
    shrink = np.ones(n_items)
    squares = np.zeros(n_items)
    if not len(statistics.left_out):
        return shrink, squares
    for a, scale in enumerate(whole.scales[0]):
        if scale > 0:
            ratio = statistics.scales[:, a] / scale
            shrink = np.where(np.isnan(table.numbers[a]), shrink, np.minimum(shrink, ratio))
    for codes, start in zip(table.codes, whole.starts, strict=False):
        known = np.flatnonzero(codes)
        values = start + codes[known] - 1
        squares[known] += _moved_squares(whole, values, statistics.left_out[known])
    return shrink, np.sqrt(squares) * (1 + 1e-9)


def _moved_squares(whole: Statistics, values: Array, labels: Array) -> Array:
    """How far, squared, values' points move when a sample of the label is taken away.

    From N_c / N to (N_c - 1) / (N - 1) for its own class, to N_c / (N - 1) for the others; the point of a
    value that nobody else has moves to 0.
    """
    totals = whole.totals[values]
    own = whole.points[values, labels]
    squares = (whole.points**2).sum(axis=1)[values]
    rest = np.maximum(totals - 1, 1)
    moved = (squares - 2 * own + 1) / rest**2
    return np.where(totals > 1, np.maximum(moved, 0.0), squares)  # type: ignore[no-any-return]


def measured(statistics: Statistics, table: Table, rows: Array, found: Array) -> Array:
    """Squared distances (n_rows, n_found) of samples to some others, as the direct comparison has them."""
    values = np.empty(found.shape)
    starts, n_codes = code_tables(statistics)
    _measure(
        rows,
        found,
        *table.by_rows,
        statistics.scales,
        statistics.left_out,
        statistics.starts,
        statistics.counts,
        statistics.totals,
        statistics.points,
        starts,
        n_codes,
        values,
    )
    return values


@jit
def _measure(  # type: ignore[no-untyped-def]
    rows,
    found,
    numbers,
    codes,
    scales,
    left_out,
    starts,
    counts,
    totals,
    points,
    table_starts,
    n_codes,
    values,
):
    """The sums of `_heterogeneous`, in the same order, for some pairs; O(columns) a pair."""
    n_numeric = numbers.shape[1]
    table = np.empty(table_starts[-1])
    own = np.empty(counts.shape[1])
    for r in range(len(rows)):
        row = rows[r]
        label = left_out[row] if len(left_out) else -1
        scale = scales[row if len(scales) > 1 else 0]
        by_code(codes[row], label, starts, counts, totals, points, own, table_starts, n_codes, table)
        for i in range(found.shape[1]):
            other = found[r, i]
            total = 0.0
            for a in range(n_numeric):
                value = numbers[row, a]
                against = numbers[other, a]
                gap = (value - against) * scale[a]
                total += gap * gap if value == value and against == against else 1.0
            for b in range(codes.shape[1]):
                total += table[table_starts[b] + codes[other, b]]
            values[r, i] = rounded(total)
