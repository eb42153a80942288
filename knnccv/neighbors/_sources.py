"""Sources of neighbor orders, and the choice of the engine that searches each of them.

A source holds the data that are ordered: features under a metric, or a matrix of distances. Given lists
have sources of their own in `_list_readers`, and mixed tables in `hvdm`. `distinct_rows` finds equal
rows of a table by their bytes, without a comparison of all pairs; copies, which are tested while their
originals train, are told of.
"""

from __future__ import annotations

import warnings
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._base.parallel import Parts
from .._base.typing import Array
from .._base.validation import check, check_choice
from ._engines.brute_force import BruteForce
from ._engines.engine import Engine
from ._engines.kd_tree import KDTree
from ._engines.matrix_product import MatrixProduct
from ._engines.sparse_rows import SparseSearch
from ._metrics import Metric, PreparedMetric, name_of, ranking

ALGORITHMS = ("auto", "brute", "tree")
FEWEST_ITEMS = 1000
# Measured on two cores: in more dimensions the tree visits most of its leaves, and brute force is faster.
MOST_FEATURES = 9
WINDOW = 32  # values of every row that a checksum of wide data covers
PIECE = 4096  # rows
SAMPLED_ROWS = 4096
FEWEST_COPIES = 0.05
"""The share of rows that must repeat another; of a class with `LARGE` rows, twice the share."""
LARGE = 20
AGREEING = 0.8
"""The share of rows that repeat another in a half of the columns which must do so in all columns."""


def longest_short_list(n_items: int) -> int:
    """Depth up to which other engines are faster than brute force; 0 for few samples."""
    return n_items // 8 if n_items >= FEWEST_ITEMS else 0


class Source(ABC):
    """The order of the neighbors of N samples.

    Attributes
    ----------
    n_items : int
        N.
    max_depth : int
        Longest lists that exist.
    description : str
        Name of the metric or of the source, for `repr` and messages.
    ordered_by_index : bool
        Whether ties at the end of a cut list are known to be cut in the order of the samples.
    compares_all : bool
        Whether `compare` works.
    measured : bool
        Whether there are distances; False if only the order is known.
    parts : Parts or None
        The data in parts that travel with the tasks of a cluster.
    """

    n_items: int
    max_depth: int
    description: str
    ordered_by_index: bool = True
    compares_all: bool = True
    measured: bool = True
    parts: Parts | None = None

    @abstractmethod
    def engines(self) -> Sequence[Engine]:
        """Engines that search this source, the fastest first; the last one serves every depth."""

    def compare(self, rows: Array) -> Array:  # noqa: ARG002
        """Values that order all samples for some rows, float64 (n_rows, n_items)."""
        msg = f"{type(self).__name__} holds no data to compare"
        raise TypeError(msg)

    def to_distance(self, values: Array) -> Array:
        """Distances, from the values that order the samples."""
        return values

    def distinct_rows(self) -> Array | None:
        """The number of the distinct row of every sample, int64 (n_items,); None if few rows are equal."""
        return None

    def checksum(self) -> int:
        """A number that changes with the data in memory that the caller may still hold; 0 for a copy."""
        return 0

    def for_workers(self, *, in_parts: bool) -> Source:  # noqa: ARG002
        """The source for workers that get those parts, or do not; TypeError if they cannot read it."""
        return self


class FeatureTable(Source):
    """Feature vectors under a metric.

    Parameters
    ----------
    X, metric, metric_params, algorithm
        As in `Neighbors.from_data`.
    n_searched : int, optional
        Search only the first rows of X, the gallery; the others are queries, which have numbers of their
        own. Default: all are searched.
    """

    def __init__(
        self,
        X: Any,
        metric: Metric = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        algorithm: str = "auto",
        n_searched: int = 0,
    ) -> None:
        self.metric = ranking(X, metric, metric_params)
        self.named = isinstance(metric, str)
        self.description = name_of(metric)
        self.n_items = len(self.metric.data)
        self.n_searched = n_searched
        self.max_depth = n_searched or self.n_items - 1
        self.compares_all = self.metric.kind != "sparse"
        _check_algorithm(algorithm, metric, self.metric)
        self.algorithm = algorithm

    def engines(self) -> Sequence[Engine]:
        """Engines by metric and algorithm; the first condition that holds decides."""
        kind, data, n = self.metric.kind, self.metric.data, self.n_searched
        short = longest_short_list(n or self.n_items)
        brute_force = BruteForce(self.n_items, self.compare, n)
        match kind, self.algorithm:
            case "sparse", _:
                return (SparseSearch(data),)
            case _, "tree":
                return (KDTree(data, kind, self.max_depth, n),)
            case _ if not kind or not short:
                return (brute_force,)
            case _, "auto" if data.shape[1] <= MOST_FEATURES:
                return KDTree(data, kind, short, n), brute_force
            case "sqeuclidean", _:
                return MatrixProduct(data, short, self.compare, n_searched=n), brute_force
        return (brute_force,)

    def compare(self, rows: Array) -> Array:
        """Values that order all samples, or the gallery, for some rows, float64 (n_rows, n_items).

        Raises
        ------
        ValueError
            If a distance to another sample is not finite.
        """
        data, n = self.metric.data, self.n_searched
        values = self.metric.compare(data[rows + n], data[:n] if n else data)
        check_comparison(values, rows, self.description, n)
        return values

    def to_distance(self, values: Array) -> Array:
        """Distances, from the values that order the samples."""
        return self.metric.to_distance(values)

    def distinct_rows(self) -> Array | None:
        """By the bytes of the features; None for a callable metric and for sparse data."""
        if not self.named or self.metric.kind == "sparse":
            return None
        return distinct_rows(self.metric.data)

    def checksum(self) -> int:
        """Of the prepared data, which are the caller's own array if nothing had to be converted."""
        return 0 if self.metric.kind == "sparse" else checksum_of(self.metric.data)


class DistanceMatrix(Source):
    """A square matrix of dissimilarities, from `as_matrix`."""

    description = "precomputed"

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.n_items = len(matrix)
        self.max_depth = self.n_items - 1

    def engines(self) -> Sequence[Engine]:
        """Brute force at every depth."""
        return (BruteForce(self.n_items, self.compare),)

    def compare(self, rows: Array) -> Array:
        """The distances from some rows, float64 (n_rows, n_items)."""
        return np.array(self.matrix[rows], dtype=np.float64, order="C")

    def checksum(self) -> int:
        """Of the matrix, which is the caller's."""
        return checksum_of(self.matrix)


def checksum_of(table: Array) -> int:
    """A CRC of all values of a table; of a wide one, of some in every row and in every column.

    Of more than 2 `WINDOW` columns, at least `WINDOW` values of each row are read, at places that move on
    from row to row, so that a checksum costs little beside a score. A change of single values between them
    stays unnoticed, a change of a whole row or column does not.
    """
    if not table.flags.c_contiguous and table.flags.f_contiguous:
        table = table.T
    n_rows, n_columns = table.shape
    crc = zlib.crc32(np.ascontiguousarray(table[-1]).data)  # windows may end before the last row
    window = max(WINDOW, -(-n_columns // n_rows))
    if n_columns > 2 * window and table.flags.c_contiguous:
        step = n_columns - window
        table = table.reshape(-1)[: table.size // step * step].reshape(-1, step)[:, :window]
    for start in range(0, len(table), PIECE):
        crc = zlib.crc32(np.ascontiguousarray(table[start : start + PIECE]).data, crc)
    return crc


def check_comparison(values: Array, rows: Array, metric: str, n_searched: int = 0) -> None:
    """Raise ValueError if the distance of a row to another sample is not finite."""
    bad = ~np.isfinite(values)
    if not n_searched:
        bad[np.arange(len(rows)), rows] = False
    if bad.any():
        r, j = (int(at) for at in np.argwhere(bad)[0])
        pair = f"samples {rows[r]} and {j}"
        if n_searched:
            pair = f"query {rows[r]} and gallery item {j}"
        msg = f"the distance of {pair} under {metric} is {values[r, j]}; it must be finite"
        raise ValueError(msg)


def _check_algorithm(algorithm: Any, metric: Metric, prepared: PreparedMetric) -> None:
    check_choice("algorithm", algorithm, ALGORITHMS)
    msg = "sparse X has its own engine: omit algorithm, or pass X.toarray()"
    check(prepared.kind != "sparse" or algorithm != "tree", msg)
    if algorithm == "tree" and (not prepared.kind or metric in ("cosine", "correlation")):
        served = "euclidean, manhattan, chebyshev and haversine"
        msg = f"algorithm 'tree' serves the {served} metrics, not {metric!r}"
        raise ValueError(msg)


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
        if len(np.unique(mixed(table[sample]))) > max(most, len(sample) // fewest_copies):
            return None
    numbers = _numbers(table)
    return numbers if (int(numbers.max()) + 1) * fewest_copies <= n_rows else None


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


class CopiesWarning(UserWarning):
    """Rows repeat others with the same label, more often than chance explains."""


def copies(X: Any) -> Array:
    """Number the rows so that equal ones have one number: the groups that keep copies together.

    Parameters
    ----------
    X : array_like of shape (n_items, n_features)
        Numbers, or cells of a mixed table. NaN equals NaN.

    Returns
    -------
    int64 ndarray of shape (n_items,)
        Pass it as the groups of `LeaveGroupsOut`, or to `report`.

    Raises
    ------
    ValueError
        If X has another number of dimensions, or no row.

    Examples
    --------
    >>> from knnccv.neighbors import copies
    >>> copies([[0.5, 2], [1.5, 3], [0.5, 2]]).tolist()
    [0, 1, 0]
    """
    table = np.asarray(X)
    msg = f"X must have shape (n_items, n_features), with at least one row, got shape {table.shape}"
    check(table.ndim == 2 and table.size, msg)
    if table.dtype.kind not in "biuf":
        table = np.column_stack([np.unique(one.astype(str), return_inverse=True)[1] for one in table.T])
    _, first, found = np.unique(_numbered(table), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[found]


def n_copies(table: Array, codes: Array) -> int:
    """The number of rows that repeat one before them with the same code; 0 if chance may explain them.

    Columns of few values repeat by chance. But then rows agree in a half of the columns far more often than
    in all of them, whereas a copy agrees in any. So two halves are asked, of about as many values; and a
    table with four rows for each different one has few values whatever the halves say.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_features)
    codes : ndarray of shape (n_items,)
        Codes of the classes, or targets.
    """
    n_items, n_columns = table.shape
    rows = _numbered(table)
    n_distinct = int(rows.max()) + 1
    n_repeated = n_items - n_distinct
    if n_columns < 2 or n_repeated == 0 or 4 * n_distinct < n_items:
        return 0
    classes = np.unique(codes, return_inverse=True)[1]
    labeled = _numbered(np.column_stack([rows, classes]))
    same = np.ones(n_items, bool)
    same[np.unique(labeled, return_index=True)[1]] = False
    sizes = np.bincount(classes)
    many = np.bincount(classes[same], minlength=len(sizes)) >= 2 * FEWEST_COPIES * sizes
    if same.mean() < FEWEST_COPIES and not (many & (sizes >= LARGE)).any():
        return 0
    order = np.argsort([len(np.unique(column)) for column in table.T], kind="stable")
    halves = (_numbered(table[:, half]).max() + 1 for half in (order[::2], order[1::2]))
    by_chance = any(n_repeated < AGREEING * (n_items - n_values) for n_values in halves)
    return 0 if by_chance else int(same.sum())


def copies_text(table: Array, codes: Array) -> str:
    """What is said of copies; empty if there are none."""
    n_repeated = n_copies(table, codes)
    if not n_repeated:
        return ""
    return (
        f"{n_repeated:,} of {len(table):,} rows repeat another row with the same label: if they are "
        "copies, pass groups (--groups copies, in Python knnccv.neighbors.copies(X)), as a copy is "
        "predicted from its original"
    )


def warn_of_rows(X: Any, codes: Array, stacklevel: int = 3) -> None:
    """As `warn_copies`, of a table of numbers; others are not looked at."""
    table = np.asarray(X)
    is_table = table.ndim == 2 and table.dtype.kind in "biuf" and np.shape(codes) == table.shape[:1]
    if is_table and (text := copies_text(table, codes)):
        warnings.warn(text, CopiesWarning, stacklevel=stacklevel)


def _numbered(table: Array) -> Array:
    if table.dtype.kind == "f":
        table = table.astype(np.float64, copy=False)
        table = np.where(np.isnan(table), np.nan, table + 0.0)  # one NaN, and no -0.0
    found = distinct_rows(table, fewest_copies=1)
    assert found is not None  # one row of each is enough
    return found
