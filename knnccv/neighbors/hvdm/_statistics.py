# mypy: allow-untyped-defs
"""Column statistics of mixed tables, and the squared distances of all pairs of rows of two tables.

The squared distance is a sum over the columns: 1 if a value is missing; ``(scale * (x - y))**2`` in a
numeric column; in a nominal column the squared Euclidean distance between the points that represent the two
values, 0 for equal values. The columns are added in their order, numeric columns first, so every function
computes the same bits. The sum is rounded to 45 bits. Sums of the same terms in different columns are equal
except for rounding, and nearly always tie after this step: two sums on both sides of a boundary do not.

A row of the fitted table can be left out of the statistics of its own distances. It then has its own
scales, and its values have their own points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._base.parallel import for_each
from ..._base.typing import Array
from ...kernel import inner, jit
from ._tables import Table

BLOCK = 2048
"""Samples of a block, whose sums fit into the first-level cache."""

ROWS = 64
"""Rows that a thread computes in one task."""

FAR = 1e140
"""The largest scaled number; its square does not overflow."""


class ColumnArrays(NamedTuple):
    """The arrays of `Statistics` for compiled code, and the layout of a row's squared distances by code.

    ``table_starts`` (n_nominal + 1,): column b has the squared distances
    ``table[table_starts[b] : table_starts[b + 1]]``, one for each code.
    """

    scales: Array
    left_out: Array
    starts: Array
    counts: Array
    totals: Array
    points: Array
    table_starts: Array


@dataclass(frozen=True)
class Statistics:
    """The statistics of a fitted table's columns that the distances of rows need.

    Attributes
    ----------
    exponents : int64 ndarray of shape (n_numeric,)
        Numbers are divided by 2**exponent.
    scales : float64 ndarray of shape (1 or n_items, n_numeric)
        Factors of the divided numbers: one row for all samples, or one row per left-out sample.
    starts : int64 ndarray of shape (n_nominal + 1,)
        The index of each column's first value in `counts`.
    counts : float64 ndarray of shape (n_values, n_classes)
        The number of samples of each class with the value; (n_values, 0) if the distance of any two values
        is 1.
    left_out : int64 ndarray of shape (n_items,) or (0,)
        The class of every sample, if its own distances exclude it from the counts; otherwise empty.
    """

    exponents: Array
    scales: Array
    starts: Array
    counts: Array
    left_out: Array

    def scaled(self, table: Table) -> Table:
        """Convert the table's numbers to the units of the scales.

        New numbers whose squares would overflow are clipped.
        """
        largest = self.scales.max(axis=0, initial=0.0)[:, None]
        limit = FAR / np.maximum(largest, 1e-100)
        with np.errstate(over="ignore"):
            numbers = np.ldexp(table.numbers, -self.exponents[:, None])
        return replace(table, numbers=np.clip(numbers, -limit, limit))

    @cached_property
    def totals(self) -> Array:
        """The number of samples with each value, shape (n_values,)."""
        return self.counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def points(self) -> Array:
        """The share of each class among the samples with a value, shape (n_values, n_classes)."""
        return self.counts / np.maximum(self.totals, 1.0)[:, None]

    def arrays(self, *tables: Table) -> ColumnArrays:
        """Return the arrays for compiled code, with room for the codes of all `tables`."""
        n_codes = np.diff(self.starts) + 1
        for table in tables:
            n_codes = np.maximum(n_codes, table.codes.max(axis=1, initial=0) + 1)
        return ColumnArrays(
            self.scales,
            self.left_out,
            self.starts,
            self.counts,
            self.totals,
            self.points,
            np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64),
        )


def squared_distances(
    statistics: Statistics,
    tested: Table,
    others: Table,
    rows: Array | None = None,
    n_jobs: int | None = 1,
) -> Array:
    """Compute squared distances, shape (n_tested, n_others).

    Parameters
    ----------
    statistics : Statistics
        Of the fitted table.
    tested, others : Table
        In the units of the scales.
    rows : int64 ndarray, optional
        The tested rows. Default: all.
    n_jobs : int, optional
        Threads.
    """
    wanted = np.arange(tested.n_items) if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
    out = np.empty((len(wanted), others.n_items))
    columns, own = statistics.arrays(tested, others), (tested.numbers, tested.codes)
    complete = ~np.isnan(others.numbers).any(axis=1)
    against = others.numbers, complete, others.codes

    def fill(start: int) -> None:
        part = slice(start, start + ROWS)
        _fill(wanted[part], own, columns, against, out[part])

    for_each(fill, range(0, len(wanted), ROWS), n_jobs)
    return out


@jit
def _fill(rows, own, columns, others, out):
    """Set ``out[r, j]`` to the squared distance of row ``rows[r]`` and other j; O(columns) per pair."""
    (numbers, codes), (other_numbers, complete, other_codes) = own, others
    n_numeric, n_others = other_numbers.shape
    n_nominal = other_codes.shape[0]
    table = np.empty(columns.table_starts[-1])
    shares = np.empty(columns.counts.shape[1])
    for r in range(len(rows)):
        row = rows[r]
        scale = prepare_row(row, codes[:, row], columns, shares, table)
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
                squares = table[columns.table_starts[b] :]
                column = other_codes[b, start:end]
                for j in range(end - start):
                    sums[j] += squares[column[j]]
            for j in range(end - start):
                sums[j] = rounded(sums[j])


@jit
def rounded(value):
    """Round a value to 45 bits."""
    wide = value * 257.0  # 2**8 + 1: the sum drops the last 8 bits
    return wide - (wide - value)


@inner
def prepare_row(row, codes, columns, shares, table):
    """Fill ``table`` with a row's squared distances to all nominal values; return the row's scales.

    Eqs. (5) and (6). ``codes`` (n_nominal,) are those of the row, ``shares`` (n_classes,) is scratch space.
    The first distance of a column belongs to missing values.
    """
    n_classes = len(shares)
    label = columns.left_out[row] if len(columns.left_out) else -1  # -1: the row is not part of the counts
    for b in range(len(codes)):
        out = table[columns.table_starts[b] : columns.table_starts[b + 1]]
        out[:] = 1.0
        code = codes[b]
        if code == 0:
            continue
        if n_classes > 0:
            before = columns.starts[b] - 1  # codes of known values are 1 and more
            n_known = columns.starts[b + 1] - columns.starts[b]
            shares[:] = 0.0  # of every class, for a value that is not in the fitted table
            if code <= n_known:
                total = columns.totals[before + code] - (1 if label >= 0 else 0)
                for c in range(n_classes):
                    if total > 0:
                        shares[c] = (columns.counts[before + code, c] - (1 if c == label else 0)) / total
            for other in range(1, len(out)):
                square = 0.0
                for c in range(n_classes):
                    gap = shares[c] - (columns.points[before + other, c] if other <= n_known else 0.0)
                    square += gap * gap
                out[other] = square
        out[code] = 0.0
    return columns.scales[row if len(columns.scales) > 1 else 0]


def statistics_of(table: Table, labels: Array, n_classes: int) -> Statistics:
    """The statistics of all samples of an unscaled table; `labels` int64 (n_items,) are class numbers."""
    exponents, divided, starts = divided_numbers(table)
    scales = np.array([_scale(column[~np.isnan(column)]) for column in divided])[None]
    counts = np.zeros((starts[-1], n_classes))
    for start, codes in zip(starts, table.codes, strict=False):
        known = codes > 0
        np.add.at(counts, (start + codes[known] - 1, labels[known]), 1)
    return Statistics(exponents, scales, starts, counts, np.zeros(0, np.int64))


def scales_left_out(numbers: Array) -> Array:
    """Compute ``1 / (4 σ)`` of a column without each sample; 0 if σ is 0 or undefined.

    Parameters
    ----------
    numbers : float64 ndarray of shape (n_items,)
        NaN is a missing value.

    Returns
    -------
    float64 ndarray of shape (n_items,)
        Leaving out a sample with a missing value changes nothing.
    """
    known = ~np.isnan(numbers)
    values = numbers[known]
    whole = _scale(values)
    without = np.full(len(numbers), whole)
    if whole > 0:
        without[known] = _without_each(values)
    return without


def shifted(values: Array) -> Array:
    """Subtract a middle value: squares of close values far from 0 would lose most of their digits."""
    return values - np.partition(values, len(values) // 2)[len(values) // 2]  # type: ignore[no-any-return]


def _scale(values: Array) -> float:
    # The mean of equal values may differ from them in the last bit.
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
    # If little remains of the sum, compute it again; there are at most three such samples.
    again = share > 0.5 * total
    scales: Array = np.zeros(n)
    scales[~again] = 1 / (4 * np.sqrt((total - share[~again]) / (n - 2)))
    for i in np.flatnonzero(again):
        scales[i] = _scale(np.delete(values, i))
    return scales


def divided_numbers(table: Table) -> tuple[Array, Array, Array]:
    """Divide each numeric column by a power of two, so that squares do not overflow.

    Returns
    -------
    exponents, numbers : ndarray of shape (n_numeric,), (n_numeric, n_items)
        The powers, and the divided numbers.
    starts : int64 ndarray of shape (n_nominal + 1,)
        As in `Statistics`.
    """
    largest = np.fmax.reduce(np.abs(table.numbers), axis=1, initial=0.0)  # ignores NaN
    exponents = np.frexp(largest)[1].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(table.codes.max(axis=1, initial=0))]).astype(np.int64)
    return exponents, np.ldexp(table.numbers, -exponents[:, None]), starts
