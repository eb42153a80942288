"""The base class of `HEOM` and `HVDM`: parameters, fitted tables, distances and neighbors.

A subclass computes the column statistics of a fitted table; this class does the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, Self

import numpy as np

from .._labels import EncodedLabels, encode_labels
from .._parallel import check_pool, for_each
from .._typing import Array
from .._validation import check_integer
from ..neighbors import (
    BruteForce,
    Engine,
    MatrixProduct,
    Neighbors,
    Source,
    check_comparison,
    longest_short_list,
    nearest_of,
)
from ._embedding import embedded, measured
from ._overlap_search import OverlapSearch
from ._statistics import Statistics, squared_distances
from ._tables import Schema, Table, learn, read

QUERY_BYTES = 2**22
"""Bytes of distances that a thread holds at a time."""


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


class MixedDistance(ABC):
    """Base of the distances of tables with numeric, categorical and missing values."""

    warns_at = 3
    """The stack level of warnings in `fit`: they name the line of the caller."""

    def __init__(self, *, nominal: Any = None) -> None:
        self.nominal = nominal

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters by name, as scikit-learn's ``clone`` needs them."""
        hidden = ("_", "warns_at")
        return {name: value for name, value in vars(self).items() if not name.endswith(hidden)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Raises
        ------
        ValueError
            If a parameter does not exist.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                msg = f"{type(self).__name__} has the parameters {', '.join(known)}, not {name!r}"
                raise ValueError(msg)
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({given})"

    @abstractmethod
    def _statistics(self, table: Table, labels: EncodedLabels | None) -> Statistics:
        """Compute the column statistics of the fitted table, whose numbers are unscaled."""

    def _fit(self, X: Any, labels: Any) -> Self:
        schema, table = learn(X, self.nominal)
        if table.n_items < 2:
            msg = f"X must have at least 2 samples, got n_samples={table.n_items}"
            raise ValueError(msg)
        coded = None if labels is None else encode_labels(labels, table.n_items)
        statistics = self._statistics(table, coded)
        self._schema_: Schema = schema
        self._statistics_ = statistics
        self._table_ = statistics.scaled(table)
        self._coded_ = coded
        self.nominal_ = schema.nominal
        self.categories_ = tuple(tuple(known) for known in schema.categories)
        self.n_items_ = table.n_items
        self.n_features_in_ = len(schema.nominal)
        if schema.names is not None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _check_fitted(self) -> None:
        if not hasattr(self, "_statistics_"):
            msg = f"this {type(self).__name__} is not fitted yet: call fit first"
            raise ValueError(msg)

    def pairwise(self, X: Any, Y: Any = None, *, n_jobs: int | None = None) -> Array:
        """Compute the distances of all rows of X to all rows of Y, by the statistics of all samples.

        No sample is left out of the statistics, whatever `leave_one_out` is. Use `neighbors` for the
        neighbors of the fitted samples, and for every score of these samples.

        Parameters
        ----------
        X, Y : pandas.DataFrame or array of shape (n_x, n_features), (n_y, n_features)
            Tables with the columns of the fitted table. Default of Y: X itself. Values that did not occur
            in the fitted table are allowed.
        n_jobs : int, optional
            Threads. Default: all processors that this process may use.

        Returns
        -------
        float64 ndarray of shape (n_x, n_y)
            A row with missing values is not at distance 0 from itself: every missing value adds 1 to the
            squared distance.

        Raises
        ------
        ValueError, TypeError
            If the columns differ from the fitted ones, or a numeric column holds no numbers.
        """
        self._check_fitted()
        check_pool(n_jobs, None, progress=False)
        tables = read(self._schema_, X) if Y is None else read(self._schema_, X, Y)
        statistics = self._for_new_rows()
        scaled = [statistics.scaled(table) for table in tables]
        return np.sqrt(squared_distances(statistics, scaled[0], scaled[-1], n_jobs=n_jobs))

    def kneighbors(self, X: Any, n_neighbors: int, *, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Find the nearest fitted samples of new rows; see `neighbors` for those of the fitted samples.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_rows, n_features)
            New rows, compared with the statistics of all fitted samples.
        n_neighbors : int
            1 to n_items.
        n_jobs : int, optional
            Threads. Default: all processors that this process may use.

        Returns
        -------
        indices : int32 ndarray of shape (n_rows, n_neighbors)
            Tied samples are in the order of the fitted table.
        distances : float64 ndarray of shape (n_rows, n_neighbors)
            The indices are first, as in `Neighbors`; scikit-learn's estimators return the distances first.

        Raises
        ------
        ValueError, TypeError
            If the columns differ from the fitted ones, or a numeric column holds no numbers.
        """
        self._check_fitted()
        depth = check_integer("n_neighbors", n_neighbors, 1, self.n_items_)
        check_pool(n_jobs, None, progress=False)
        statistics = self._for_new_rows()
        tested = statistics.scaled(*read(self._schema_, X))
        items = np.empty((tested.n_items, depth), np.int32)
        distances = np.empty((tested.n_items, depth))
        # `nearest_of` leaves a row's own column out. New rows have none: it gets an additional column.
        n_items = self.n_items_
        step = max(QUERY_BYTES // (8 * n_items), 1)

        def fill(start: int) -> None:
            rows = np.arange(start, min(start + step, tested.n_items))
            squares = np.full((len(rows), n_items + 1), np.inf)
            squares[:, :n_items] = squared_distances(statistics, tested, self._table_, rows)
            found, values, _ = nearest_of(squares, np.full(len(rows), n_items), depth)
            items[rows], distances[rows] = found, np.sqrt(values)

        for_each(fill, range(0, tested.n_items, step), n_jobs)
        return items, distances

    def _for_new_rows(self) -> Statistics:
        return self._statistics_

    def neighbors(self, n_neighbors: int | None = None) -> Neighbors:
        """Return the neighbor orders of the fitted samples; no sample is its own neighbor.

        Parameters
        ----------
        n_neighbors : int, optional
            The largest depth of the lists, 1 to n_items - 1. Default: as deep as a score needs.

        Returns
        -------
        Neighbors
            Ties are exact: equal differences give distances that are equal to the last bit.
        """
        self._check_fitted()
        source = MixedTable(
            self._statistics_, self._for_new_rows(), self._table_, type(self).__name__.lower()
        )
        return Neighbors(source, n_neighbors, fitted_to_labels=self._fitted_to_labels())

    def _fitted_to_labels(self) -> str:
        return ""
