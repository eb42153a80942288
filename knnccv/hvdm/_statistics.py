"""Distances of rows with numeric and nominal columns and unknown values, all pairs of two tables.

The squared distance is a sum over the columns: 1 where a value is unknown; ``(scale * (x - y))**2`` in a
numeric column; in a nominal one the squared Euclidean distance of the points that stand for two values (no
distance for the same value). The sum is made in the order of the columns, numeric ones first, so that
whoever computes it finds the same bits. It is rounded to 45 bits, so that sums of the same terms in other
columns, which are equal but for rounding, tie.

A row of a fitted table may be left out of the statistics that its own distances use: its own scales, and
its values' own points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._parallel import for_each
from .._typing import Array
from ..kernel import jit
from ._tables import Table

BLOCK = 2048  # samples: the sums of a block stay in the first cache
FAR = 1e140  # scaled; so that squares do not overflow


@dataclass(frozen=True)
class Statistics:
    """What a table tells about the distances of its columns' values.

    Attributes
    ----------
    exponents : int64 ndarray of shape (n_numeric,)
        Numbers are divided by 2**exponent.
    scales : float64 ndarray of shape (1 or n_items, n_numeric)
        Of these; one row for all, or one for every sample of the table when it is left out.
    starts : int64 ndarray of shape (n_nominal + 1,)
        Where a column's values begin in `counts`.
    counts : float64 ndarray of shape (n_values, n_classes)
        How many samples of a class have the value; (n_values, 0) where any two values are at distance 1.
    left_out : int64 ndarray of shape (n_items,) or (0,)
        The items' classes, where their own distances are to leave them out of the counts.
    """

    exponents: Array
    scales: Array
    starts: Array
    counts: Array
    left_out: Array

    def scaled(self, table: Table) -> Table:
        """The table's numbers in the units of the scales.

        New numbers so far off that squares would overflow are taken for somewhat nearer ones.
        """
        largest = self.scales.max(axis=0, initial=0.0)[:, None]
        limit = FAR / np.maximum(largest, 1e-100)
        with np.errstate(over="ignore"):
            numbers = np.ldexp(table.numbers, -self.exponents[:, None])
        return replace(table, numbers=np.clip(numbers, -limit, limit))

    @cached_property
    def totals(self) -> Array:
        """How many samples have a value, (n_values,)."""
        return self.counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def points(self) -> Array:
        """The classes' shares of these, (n_values, n_classes)."""
        return self.counts / np.maximum(self.totals, 1.0)[:, None]

    def without_leaving_out(self, scales: Array) -> Statistics:
        """The same for new rows, of which none is part of the counts."""
        return replace(self, scales=scales, left_out=np.zeros(0, np.int64))


def squared_distances(
    statistics: Statistics,
    tested: Table,
    others: Table,
    rows: Array | None = None,
    n_jobs: int | None = 1,
) -> Array:
    """Squared distances of shape (n_tested, n_others).

    Parameters
    ----------
    statistics : Statistics
        Of the fitted table.
    tested, others : Table
        In the units of the scales.
    rows : int64 ndarray, optional
        Only these of the tested.
    n_jobs : int, optional
        Threads.
    """
    wanted = np.arange(tested.n_items) if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
    out = np.empty((len(wanted), others.n_items))
    complete = ~np.isnan(others.numbers).any(axis=1)
    numbers, codes = tested.numbers, tested.codes
    starts, n_codes = code_tables(statistics, tested, others)

    def fill(start: int) -> None:
        end = min(start + 64, len(wanted))
        _fill(
            wanted[start:end],
            numbers,
            codes,
            statistics.scales,
            statistics.left_out,
            others.numbers,
            complete,
            others.codes,
            statistics.starts,
            statistics.counts,
            statistics.totals,
            statistics.points,
            starts,
            n_codes,
            out[start:end],
        )

    for_each(fill, range(0, len(wanted), 64), n_jobs)
    return out


def code_tables(statistics: Statistics, *tables: Table) -> tuple[Array, Array]:
    """Where the columns' tables of distances by code begin, and how long they are."""
    n_codes = np.diff(statistics.starts) + 1
    for table in tables:
        if table.codes.size:
            n_codes = np.maximum(n_codes, table.codes.max(axis=1) + 1)
    starts = np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64)
    return starts, n_codes.astype(np.int64)


@jit
def _fill(  # type: ignore[no-untyped-def]
    rows,
    numbers,
    codes,
    scales,
    left_out,
    other_numbers,
    complete,
    other_codes,
    starts,
    counts,
    totals,
    points,
    table_starts,
    n_codes,
    out,
):
    """``out[r, j]`` = squared distance of row ``rows[r]`` and other j; O(columns) a pair."""
    n_numeric, n_others = other_numbers.shape
    n_nominal = other_codes.shape[0]
    table = np.empty(table_starts[-1])
    own = np.empty(counts.shape[1])
    for r in range(len(rows)):
        row = rows[r]
        label = left_out[row] if len(left_out) else -1
        scale = scales[row if len(scales) > 1 else 0]
        by_code(codes[:, row], label, starts, counts, totals, points, own, table_starts, n_codes, table)
        for start in range(0, n_others, BLOCK):
            end = min(start + BLOCK, n_others)
            sums = out[r, start:end]
            sums[:] = 0.0
            for a in range(n_numeric):
                value = numbers[a, row]
                column = other_numbers[a, start:end]
                factor = scale[a]
                if value != value:
                    for j in range(end - start):
                        sums[j] += 1.0
                elif complete[a]:
                    for j in range(end - start):
                        gap = (value - column[j]) * factor
                        sums[j] += gap * gap
                else:
                    for j in range(end - start):
                        gap = (value - column[j]) * factor
                        sums[j] += gap * gap if column[j] == column[j] else 1.0
            for b in range(n_nominal):
                squares = table[table_starts[b] :]
                column = other_codes[b, start:end]
                for j in range(end - start):
                    sums[j] += squares[column[j]]
            for j in range(end - start):
                sums[j] = rounded(sums[j])


@jit
def rounded(value):  # type: ignore[no-untyped-def]
    """The value in 45 bits."""
    wide = value * 257.0  # 2**8 + 1: the sum leaves no room for the last 8 bits
    return wide - (wide - value)


@jit
def by_code(codes, label, starts, counts, totals, points, own, table_starts, n_codes, table):  # type: ignore[no-untyped-def]
    """For every nominal column a row's squared distances to all values, in ``table[table_starts[b] :]``.

    ``codes`` (n_nominal,) and ``label`` are the row's, the label -1 where it is not part of the counts.
    """
    for b in range(len(codes)):
        _distances_by_code(
            codes[b],
            label,
            counts[starts[b] : starts[b + 1]],
            totals[starts[b] : starts[b + 1]],
            points[starts[b] : starts[b + 1]],
            own,
            table[table_starts[b] : table_starts[b] + n_codes[b]],
        )


@jit
def _distances_by_code(code, label, counts, totals, points, own, out):  # type: ignore[no-untyped-def]
    """Squared distances of a value to all values of its column, eqs. (5), (6); ``out[0]``: to unknown."""
    n_known, n_classes = counts.shape
    out[:] = 1.0
    if code == 0:
        return
    if n_classes > 0:
        own[:] = 0.0  # no class is likely, given a value that was never seen
        if code <= n_known:
            total = totals[code - 1] - (1 if label >= 0 else 0)
            for c in range(n_classes):
                if total > 0:
                    own[c] = (counts[code - 1, c] - (1 if c == label else 0)) / total
        for other in range(1, len(out)):
            square = 0.0
            for c in range(n_classes):
                gap = own[c] - (points[other - 1, c] if other <= n_known else 0.0)
                square += gap * gap
            out[other] = square
    out[code] = 0.0


def scales_left_out(numbers: Array) -> tuple[Array, Array]:
    """``1 / (4 σ)`` of one column, of all samples and without each sample; 0 where σ is 0 or not known.

    Parameters
    ----------
    numbers : float64 ndarray of shape (n_items,)
        NaN is unknown.

    Returns
    -------
    float64 ndarray of shape ()
    float64 ndarray of shape (n_items,)
        Without a sample of unknown value nothing changes.
    """
    known = ~np.isnan(numbers)
    values = numbers[known]
    whole = _scale(values)
    without = np.full(len(numbers), whole)
    if whole > 0:
        without[known] = _without_each(values)
    return np.array(whole), without


def shifted(values: Array) -> Array:
    """Values less one in their middle: of close values far from 0 little would be left in a square."""
    return values - np.partition(values, len(values) // 2)[len(values) // 2]  # type: ignore[no-any-return]


def _scale(values: Array) -> float:
    # A mean may differ from equal values in its last bit.
    if len(values) < 2 or values.min() == values.max():
        return 0.0
    gaps = shifted(values)
    exponent = int(np.frexp(np.abs(gaps).max())[1])
    sigma = np.ldexp(np.ldexp(gaps, -exponent).std(ddof=1), exponent)
    return float(min(0.25 / sigma, FAR)) if sigma > 0.25 / FAR else FAR


def _without_each(values: Array) -> Array:
    n = len(values)
    if n < 3:
        return np.zeros(n)
    near = shifted(values)
    gaps = near - near.mean()
    total = float((gaps * gaps).sum())
    share = gaps * gaps * (n / (n - 1))
    # Where little is left of the sum it is made anew; there are at most three such samples.
    anew = share > 0.5 * total
    scales: Array = np.zeros(n)
    scales[~anew] = 1 / (4 * np.sqrt((total - share[~anew]) / (n - 2)))
    for i in np.flatnonzero(anew):
        scales[i] = _scale(np.delete(values, i))
    return scales


def exponents_of(numbers: Array) -> Array:
    """For every numeric column the power of two by which it is divided, so that squares do not overflow."""
    largest = np.fmax.reduce(np.abs(numbers), axis=1, initial=0.0)  # of numbers and NaN the number
    exponents: Array = np.frexp(largest)[1].astype(np.int64)
    return exponents


def as_statistics(**fields: Any) -> Statistics:
    """Statistics of C-contiguous arrays, as the compiled functions take them."""
    return Statistics(**{name: np.ascontiguousarray(value) for name, value in fields.items()})
