"""Distances for tables with numeric and nominal columns and unknown values.

`HVDM`, the heterogeneous value difference metric, measures how differently two values of a nominal column
go with the classes; its statistics come from labeled samples. `HEOM` is the choice that looks at no labels.

Statistics of labels are a leak: an item's own label enters the distances by which that label is then
predicted. `HVDM` therefore removes every sample from the statistics of its own distances, unless told not
to.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import partial
from typing import Any, Self

import numpy as np

from .._labels import EncodedLabels, encode_labels
from .._parallel import check_pool, for_each
from .._typing import Array
from .._validation import check_choice, check_integer
from ..neighbors import (
    Neighbors,
    Source,
    SupervisedDistanceWarning,
    check_comparison,
    longest_short_list,
)
from ..neighbors._engines.brute_force import BruteForce, nearest_of
from ..neighbors._engines.engine import Engine
from ..neighbors._engines.matrix_product import MatrixProduct
from . import _statistics as heterogeneous
from ._embedding import embedded, measured
from ._statistics import Statistics
from ._tables import Schema, Table, learn, read

__all__ = ["HEOM", "HVDM", "IdentifierWarning", "SupervisedDistanceWarning"]

QUERY_BYTES = 2**22  # of distances that a thread holds at a time
LEAVE_ONE_OUT = ("exact", "fixed")
MOST_SINGLE = 0.2
"""A column of which more than this share of the known values occur only once is told of, ..."""

FEWEST_SINGLE = 10
"""... if there are at least so many of them."""


class IdentifierWarning(UserWarning):
    """A nominal column is nearly an identifier: it tells the rows apart, and nothing of their classes."""


class MixedTable(Source):
    """A fitted table as a source of `Neighbors`.

    Parameters
    ----------
    statistics, whole : Statistics
        With the tested sample left out where the distance does so, and of all samples.
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
        """Matrix products for short lists if the table has an embedding, and brute force."""
        brute_force = BruteForce(self.n_items, self.compare)
        short = longest_short_list(self.n_items)
        if not short:
            return (brute_force,)
        build = partial(embedded, self.statistics, self.whole, self.table)
        remeasure = partial(measured, self.statistics, self.table)
        return MatrixProduct(None, short, self.compare, build, remeasure), brute_force

    def compare(self, rows: Array) -> Array:
        """Squared distances from some rows, float64 (n_rows, n_items)."""
        values = heterogeneous.squared_distances(self.statistics, self.table, self.table, rows)
        check_comparison(values, rows, self.description)
        return values

    def to_distance(self, values: Array) -> Array:
        """Distances from their squares."""
        return np.sqrt(values)


class _Distance(ABC):
    """What both distances share: the columns, and the way from tables to distances."""

    warns_at = 3
    """Which caller's line a warning in `fit` names."""

    def __init__(self, *, nominal: Any = None) -> None:
        self.nominal = nominal

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The parameters, as scikit-learn's ``clone`` asks for them."""
        hidden = ("_", "warns_at")
        return {name: value for name, value in vars(self).items() if not name.endswith(hidden)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by their names.

        Raises
        ------
        ValueError
            If there is no such parameter.
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
        """What the fitted table tells; its numbers are unscaled."""

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
        """Distances of all rows of X to all rows of Y, under the statistics of all fitted samples.

        None is left out, whatever `leave_one_out` says: for neighbors of the fitted samples among
        themselves, and for any score of these, take `neighbors`.

        Parameters
        ----------
        X, Y : pandas.DataFrame or array of shape (n_x, n_features), (n_y, n_features)
            Tables with the columns of the fitted one. Default of Y: X itself. Values that were not there
            when the distance was fitted are allowed.
        n_jobs : int, optional
            Threads. Default: all processors that this process may use.

        Returns
        -------
        float64 ndarray of shape (n_x, n_y)
            A row with unknown values is not at distance 0 of itself: every unknown value counts 1.

        Raises
        ------
        ValueError, TypeError
            If the columns are others, or a numeric one holds no numbers.
        """
        self._check_fitted()
        check_pool(n_jobs, None, progress=False)
        tables = read(self._schema_, X) if Y is None else read(self._schema_, X, Y)
        statistics = self._for_new_rows()
        scaled = [statistics.scaled(table) for table in tables]
        return np.sqrt(heterogeneous.squared_distances(statistics, scaled[0], scaled[-1], n_jobs=n_jobs))

    def kneighbors(self, X: Any, n_neighbors: int, *, n_jobs: int | None = None) -> tuple[Array, Array]:
        """The nearest fitted samples of new rows; for those of the fitted samples themselves see
        `neighbors`.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_rows, n_features)
            New rows, compared under the statistics of all fitted samples.
        n_neighbors : int
            1 to n_items.
        n_jobs : int, optional
            Threads. Default: all processors that this process may use.

        Returns
        -------
        indices : int32 ndarray of shape (n_rows, n_neighbors)
            Equally near samples in the order of the fitted table.
        distances : float64 ndarray of shape (n_rows, n_neighbors)
            In this order, as of `Neighbors`; scikit-learn's estimators return the distances first.

        Raises
        ------
        ValueError, TypeError
            If the columns are others, or a numeric one holds no numbers.
        """
        self._check_fitted()
        depth = check_integer("n_neighbors", n_neighbors, 1, self.n_items_)
        check_pool(n_jobs, None, progress=False)
        statistics = self._for_new_rows()
        tested = statistics.scaled(*read(self._schema_, X))
        items = np.empty((tested.n_items, depth), np.int32)
        distances = np.empty((tested.n_items, depth))
        # One more column takes the place of the sample itself, which new rows do not have.
        n_items = self.n_items_
        step = max(QUERY_BYTES // (8 * n_items), 1)

        def fill(start: int) -> None:
            rows = np.arange(start, min(start + step, tested.n_items))
            squares = np.full((len(rows), n_items + 1), np.inf)
            squares[:, :n_items] = heterogeneous.squared_distances(statistics, tested, self._table_, rows)
            found, values, _ = nearest_of(squares, np.full(len(rows), n_items), depth)
            items[rows], distances[rows] = found, np.sqrt(values)

        for_each(fill, range(0, tested.n_items, step), n_jobs)
        return items, distances

    def _for_new_rows(self) -> Statistics:
        return self._statistics_

    def neighbors(self, n_neighbors: int | None = None) -> Neighbors:
        """Neighbor orders of the fitted samples, each without itself.

        Parameters
        ----------
        n_neighbors : int, optional
            Never look deeper than this (1 to n_items - 1). Default: as deep as a question needs.

        Returns
        -------
        Neighbors
            Ties are exact: equal differences give equal distances to the last bit.
        """
        self._check_fitted()
        source = MixedTable(
            self._statistics_, self._for_new_rows(), self._table_, type(self).__name__.lower()
        )
        return Neighbors(source, n_neighbors, fitted_to_labels=self._fitted_to_labels())

    def _fitted_to_labels(self) -> str:
        return ""


class HEOM(_Distance):
    """Heterogeneous Euclidean-overlap metric: numeric columns by their range, nominal ones equal or not.

    The squared distance is the sum over the columns of 1 where a value is unknown, ``((x - y) / range)**2``
    in a numeric column, and 0 or 1 in a nominal one. It knows no labels, so that complete cross-validation
    may use it; the ranges are those of all fitted samples.

    Parameters
    ----------
    nominal : sequence of column names or numbers, or bool mask, optional
        As for `HVDM`.

    References
    ----------
    .. [1] Wilson, D. R. & Martinez, T. R. (1997). Improved heterogeneous distance functions. JAIR 6, 1-34,
       section 3.1.

    Examples
    --------
    >>> from knnccv.hvdm import HEOM
    >>> heom = HEOM(nominal=[1]).fit([[0.0, "a"], [2.0, "b"], [None, "a"]])
    >>> heom.pairwise([[1.0, "a"]], [[2.0, "a"], [2.0, "c"], [2.0, None]]) ** 2
    array([[0.25, 1.25, 1.25]])
    """

    def fit(self, X: Any, y: Any = None) -> HEOM:  # noqa: ARG002
        """Learn the columns' kinds and the ranges of the numeric ones.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_items, n_features)
            The table; see `HVDM.fit`.
        y : object, optional
            Not looked at.

        Returns
        -------
        HEOM
            Itself.
        """
        return self._fit(X, None)

    def _statistics(self, table: Table, labels: EncodedLabels | None) -> Statistics:  # noqa: ARG002
        exponents = heterogeneous.exponents_of(table.numbers)
        scales = np.zeros((1, len(exponents)))
        for a, column in enumerate(np.ldexp(table.numbers, -exponents[:, None])):
            known = column[~np.isnan(column)]
            width = float(np.ptp(known)) if len(known) else 0.0
            scales[0, a] = 1 / width if width > 0 else 0.0
        n_values = table.codes.max(axis=1, initial=0) if table.codes.size else np.zeros(len(table.codes))
        starts = np.concatenate([[0], np.cumsum(n_values)]).astype(np.int64)
        return heterogeneous.as_statistics(
            exponents=exponents,
            scales=scales,
            starts=starts,
            counts=np.zeros((starts[-1], 0)),
            left_out=np.zeros(0, np.int64),
        )


class HVDM(_Distance):
    """Heterogeneous value difference metric of labeled tables.

    ``HVDM(x, y)**2`` is the sum over the columns of 1 where a value is unknown (both are, too);
    ``((x - y) / (4 σ))**2`` in a numeric column, σ being the sample standard deviation; and in a nominal
    one the sum over the classes c of ``(P(c | x) - P(c | y))**2``, shares among the samples that have the
    value.

    Parameters
    ----------
    nominal : sequence of column names or numbers, or bool mask, optional
        Nominal columns. Those of a data frame whose dtype is categorical, object, bool or string are
        nominal in any case; columns of an array are numeric unless they are named here.
    leave_one_out : {"exact", "fixed"}, default "exact"
        What `neighbors` uses for an item's distances. "exact": the statistics of all *other* samples, as if
        the distance were fitted anew without it. "fixed": the statistics of all, the item's own label
        among them, as in [1]_; scores of the neighbors are then optimistic where a column has many
        values, up to 100 % on random labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    nominal_ : bool ndarray of shape (n_features,)
        Which columns are nominal.
    categories_ : tuple of tuple
        The known values of every nominal column.
    probabilities_ : tuple of ndarray of shape (n_values, n_classes)
        For every nominal column the share of each class among the samples with the value.
    deviations_ : ndarray of shape (n_numeric,)
        σ of the numeric columns, in their units; 0 for columns in which nothing is measured: constant
        ones, and those with fewer than two known values.
    n_items_, n_features_in_, feature_names_in_
        The fitted table's shape, and its columns' names if it had some.

    Notes
    -----
    Decisions where the papers are silent: unknown values enter no statistics; the difference of two numbers
    in a constant column is 0; a value that was not there in `fit` has no share in any class.

    The square root of the sum over the classes is squared again in the sum over the columns, so that the
    terms are plain sums of squares (erratum of March 2000 to [2]_).

    References
    ----------
    .. [1] Wilson, D. R. & Martinez, T. R. (1999). Combining cross-validation and confidence to measure
       fitness. IJCNN'99, eqs. (4) to (6).
    .. [2] Wilson, D. R. & Martinez, T. R. (1997). Improved heterogeneous distance functions. JAIR 6, 1-34.

    Examples
    --------
    >>> from knnccv.hvdm import HVDM
    >>> X = [["red", 1.0], ["red", 2.0], ["blue", 3.0], ["green", None]]
    >>> hvdm = HVDM(nominal=[0]).fit(X, ["a", "b", "b", "b"])
    >>> hvdm.pairwise([["red", 1.0]], [["blue", 1.0], ["green", 1.0], ["red", None]]) ** 2
    array([[0.5, 0.5, 1. ]])
    """

    def __init__(self, *, nominal: Any = None, leave_one_out: str = "exact") -> None:
        super().__init__(nominal=nominal)
        self.leave_one_out = leave_one_out

    def fit(self, X: Any, y: Any) -> HVDM:
        """Learn the columns' kinds and their statistics.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_items, n_features)
            At least 2 samples. None, NaN, NaT, pandas.NA and masked entries are unknown. Numbers must be
            finite. Values of nominal columns may be of any hashable types; equal ones are one (1 and 1.0).
            Dates must be turned into numbers, or named in `nominal`.
        y : array of shape (n_items,)
            Class labels.

        Returns
        -------
        HVDM
            Itself.

        Raises
        ------
        ValueError, TypeError
            If a column that is not nominal holds no numbers, `nominal` names no column, or the labels are
            none.

        Warns
        -----
        IdentifierWarning
            If in a nominal column more than a fifth of the known values, and at least ten, occur only once.
        """
        check_choice("leave_one_out", self.leave_one_out, LEAVE_ONE_OUT)
        if y is None:
            msg = "requires y to be passed, but the target y is None: HVDM compares values by their classes"
            raise ValueError(msg)
        self._fit(X, y)
        assert self._coded_ is not None
        self.classes_ = self._coded_.classes
        statistics = self._statistics_
        whole = self._for_new_rows().scales[0]
        with np.errstate(divide="ignore"):
            sigma = np.where(whole > 0, 0.25 / whole, 0.0)
        self.deviations_ = np.ldexp(sigma, statistics.exponents)
        self.probabilities_ = (
            tuple(np.split(statistics.points, statistics.starts[1:-1])) if self.categories_ else ()
        )
        self._warn_of_identifiers()
        return self

    def _statistics(self, table: Table, labels: EncodedLabels | None) -> Statistics:
        assert labels is not None
        exponents = heterogeneous.exponents_of(table.numbers)
        both = [heterogeneous.scales_left_out(c) for c in np.ldexp(table.numbers, -exponents[:, None])]
        self._scales_ = np.array([[whole for whole, _ in both]]).reshape(1, len(both))
        exact = self.leave_one_out == "exact"
        scales = (
            np.array([each for _, each in both]).reshape(len(both), table.n_items).T
            if exact
            else self._scales_
        )
        counts = [np.zeros((0, len(labels.classes)))]
        for codes in table.codes:
            found = np.zeros((int(codes.max()), len(labels.classes)))
            known = codes > 0
            np.add.at(found, (codes[known] - 1, labels.codes[known]), 1)
            counts.append(found)
        starts = np.cumsum([len(found) for found in counts])
        return heterogeneous.as_statistics(
            exponents=exponents,
            scales=scales,
            starts=starts.astype(np.int64),
            counts=np.concatenate(counts),
            left_out=labels.codes if exact else np.zeros(0, np.int64),
        )

    def _for_new_rows(self) -> Statistics:
        return self._statistics_.without_leaving_out(self._scales_)

    def _fitted_to_labels(self) -> str:
        if not self.categories_:
            return ""
        return "exact" if len(self._statistics_.left_out) else "fixed"

    def _warn_of_identifiers(self) -> None:
        totals = self._statistics_.counts.sum(axis=1)
        for b, column in enumerate(np.flatnonzero(self.nominal_)):
            sizes = totals[self._statistics_.starts[b] : self._statistics_.starts[b + 1]]
            n_single = int((sizes == 1).sum())
            single = n_single / max(sizes.sum(), 1)
            if n_single < FEWEST_SINGLE or single <= MOST_SINGLE:
                continue
            consequence = (
                "leave_one_out='fixed' scores are far too good for it"
                if self.leave_one_out == "fixed"
                else "such values tell nothing of a sample that is left out"
            )
            title = self._schema_.title(int(column))
            warnings.warn(
                f"nominal column {title} is close to an identifier: {single:.0%} of its known values occur "
                f"only once, and {consequence}; leave the column out, or make it numeric",
                IdentifierWarning,
                stacklevel=self.warns_at,
            )
