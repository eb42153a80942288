"""Equal rows of a table: which rows have the same bytes, found without a comparison of all pairs."""

from __future__ import annotations

import numpy as np

from .._typing import Array

SAMPLED_ROWS = 4096


def distinct_rows(table: Array, fewest_copies: int = 4) -> Array | None:
    """The number of the distinct row of every row; None if there are too few equal rows to be of use.

    Rows are equal if their bytes are equal: 0.0 and -0.0 differ.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        Numbers or booleans.
    fewest_copies : int
        How often a row must occur, on average.

    Returns
    -------
    int64 ndarray of shape (n_rows,), or None
        0 to the number of distinct rows - 1.
    """
    n_rows = len(table)
    if n_rows > SAMPLED_ROWS:
        # With c copies of each, s sampled rows have about s^2 c / 2n pairs of equal ones, and more if some
        # have more copies. A quarter of them must be found.
        sample = np.unique(np.random.default_rng(0).integers(0, n_rows, SAMPLED_ROWS))
        most = len(sample) - fewest_copies * len(sample) ** 2 // (8 * n_rows)
        if _has_more_than(max(most, len(sample) // fewest_copies), table[sample]):
            return None
    elif _has_more_than(n_rows // fewest_copies, table):
        return None
    numbers = _numbers(table)
    return numbers if (int(numbers.max()) + 1) * fewest_copies <= n_rows else None


def _has_more_than(most: int, table: Array) -> bool:
    """Return True if there are more than `most` distinct rows; the first column often shows it."""
    return len(np.unique(table[:, 0])) > most or len(np.unique(mixed(table))) > most


def _numbers(table: Array) -> Array:
    """The number of the distinct row of every row."""
    _, first, numbers = np.unique(mixed(table), return_index=True, return_inverse=True)
    numbers = numbers.ravel().astype(np.int64)
    words = _words(table)
    if (words[first[numbers]] != words).any():  # different rows are mixed to one number
        numbers = np.unique(words, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    return numbers


def _words(table: Array) -> Array:
    """The bytes of the entries as unsigned integers."""
    return np.ascontiguousarray(table).view(f"u{table.dtype.itemsize}")


def mixed(table: Array) -> Array:
    """A number of 64 bits for every row: equal for equal rows, and nearly always different otherwise."""
    numbers = np.zeros(len(table), np.uint64)
    for column in _words(table).T:
        numbers = (numbers ^ column) * np.uint64(0x9E3779B97F4A7C15)
        numbers ^= numbers >> np.uint64(29)
    return numbers
