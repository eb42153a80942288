"""HEOM and HVDM, distances of tables with numeric, categorical and missing values.

The base class has parameters, the fitted table, distances and neighbors; `HEOM` and `HVDM` compute the
column statistics. Statistics that use labels are a leak: a sample's own label enters the distances by which
this label is then predicted. HVDM therefore excludes every sample from the statistics of its own distances
by default.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ..._base.labels import EncodedLabels, encode_labels
from ..._base.parallel import check_pool, for_each
from ..._base.typing import Array
from ..._base.validation import check, check_choice, check_integer
from ...designs import encode_groups
from .. import Neighbors, nearest_of
from ._search import MixedTable, TableOfGroups
from ._statistics import Statistics, divided_numbers, scales_left_out, squared_distances, statistics_of
from ._tables import Schema, Table, learn, read

QUERY_BYTES = 2**22
"""Bytes of distances that a thread holds at a time."""


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
            msg = f"{type(self).__name__} has the parameters {', '.join(known)}, not {name!r}"
            check(name in known, msg)
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
        check(table.n_items >= 2, f"X must have at least 2 samples, got n_samples={table.n_items}")
        coded = None if labels is None else encode_labels(labels, table.n_items)
        self._schema_: Schema = schema
        self._statistics_ = self._statistics(table, coded)
        self._table_ = self._statistics_.scaled(table)
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
        msg = f"this {type(self).__name__} is not fitted yet: call fit first"
        check(hasattr(self, "_statistics_"), msg)

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
        step = max(QUERY_BYTES // (8 * self.n_items_), 1)

        def fill(start: int) -> None:
            rows = np.arange(start, min(start + step, tested.n_items))
            squares = squared_distances(statistics, tested, self._table_, rows)
            found, values, _ = nearest_of(squares, None, depth)
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


class HEOM(MixedDistance):
    """Heterogeneous Euclidean-overlap metric of tables with numeric, categorical and missing values.

    The squared distance is a sum over the columns: 1 if a value is missing, ``((x - y) / range)**2`` in
    a numeric column, and 0 (equal) or 1 (different) in a nominal, i.e. categorical, column. HEOM ignores
    the labels, so complete cross-validation may use it. The ranges are those of all fitted samples.

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
    >>> from knnccv.neighbors.hvdm import HEOM
    >>> heom = HEOM(nominal=[1]).fit([[0.0, "a"], [2.0, "b"], [None, "a"]])
    >>> heom.pairwise([[1.0, "a"]], [[2.0, "a"], [2.0, "c"], [2.0, None]]) ** 2
    array([[0.25, 1.25, 1.25]])
    """

    def fit(self, X: Any, y: Any = None) -> HEOM:  # noqa: ARG002
        """Determine the type of every column and the ranges of the numeric columns.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_items, n_features)
            The table; see `HVDM.fit`.
        y : object, optional
            Ignored.

        Returns
        -------
        HEOM
            The fitted distance.
        """
        return self._fit(X, None)

    def _statistics(self, table: Table, labels: EncodedLabels | None) -> Statistics:  # noqa: ARG002
        exponents, divided, starts = divided_numbers(table)
        scales = np.zeros((1, len(exponents)))
        for a, column in enumerate(divided):
            known = column[~np.isnan(column)]
            if len(known) and np.ptp(known) > 0:
                scales[0, a] = 1 / float(np.ptp(known))
        return Statistics(exponents, scales, starts, np.zeros((starts[-1], 0)), np.zeros(0, np.int64))


LEAVE_ONE_OUT = ("exact", "fixed")
MAX_SINGLE = 0.2
"""A column is reported if more than this share of its known values occur only once, ..."""

MIN_SINGLE = 10
"""... and at least this number of values do."""


class IdentifierWarning(UserWarning):
    """A nominal column is almost an identifier: its values distinguish rows, but not classes."""


class HVDM(MixedDistance):
    """Heterogeneous value difference metric of labeled tables.

    ``HVDM(x, y)**2`` is a sum over the columns: 1 if one or both values are missing;
    ``((x - y) / (4 σ))**2`` in a numeric column, with σ the sample standard deviation; and in a nominal,
    i.e. categorical, column the sum over the classes c of ``(P(c | x) - P(c | y))**2``, where ``P(c | x)``
    is the share of class c among the samples with value x.

    Parameters
    ----------
    nominal : sequence of column names or numbers, or bool mask, optional
        Nominal columns. Columns of a data frame with a categorical, object, bool or string dtype are
        always nominal. Columns of an array are numeric unless they are listed here.
    leave_one_out : {"exact", "fixed"}, default "exact"
        The statistics that `neighbors` uses for the distances of a sample. "exact": those of all *other*
        samples, as if the distance were fitted again without it. "fixed": those of all samples,
        including the label of the sample itself, as in [1]_. Scores of the neighbors are then optimistic
        if a column has many values: up to 100 % for random labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    nominal_ : bool ndarray of shape (n_features,)
        Which columns are nominal.
    categories_ : tuple of tuple
        The values of every nominal column that occur in the fitted table.
    probabilities_ : tuple of ndarray of shape (n_values, n_classes)
        The share of each class among the samples with a value, for every nominal column.
    deviations_ : ndarray of shape (n_numeric,)
        σ of the numeric columns, in their units; 0 for columns without information: constant columns, and
        columns with fewer than two known values.
    n_items_, n_features_in_, feature_names_in_
        The shape of the fitted table, and its column names if it has any.

    Notes
    -----
    The papers leave three cases open. Here, missing values are excluded from the statistics; the difference
    of two numbers in a constant column is 0; the class shares of a value that does not occur in the fitted
    table are all 0.

    The square root of the sum over the classes is squared again in the sum over the columns, so the terms
    are plain sums of squares (erratum of March 2000 to [2]_).

    References
    ----------
    .. [1] Wilson, D. R. & Martinez, T. R. (1999). Combining cross-validation and confidence to measure
       fitness. IJCNN'99, eqs. (4) to (6).
    .. [2] Wilson, D. R. & Martinez, T. R. (1997). Improved heterogeneous distance functions. JAIR 6, 1-34.

    Examples
    --------
    >>> from knnccv.neighbors.hvdm import HVDM
    >>> X = [["red", 1.0], ["red", 2.0], ["blue", 3.0], ["green", None]]
    >>> hvdm = HVDM(nominal=[0]).fit(X, ["a", "b", "b", "b"])
    >>> hvdm.pairwise([["red", 1.0]], [["blue", 1.0], ["green", 1.0], ["red", None]]) ** 2
    array([[0.5, 0.5, 1. ]])
    """

    def __init__(self, *, nominal: Any = None, leave_one_out: str = "exact") -> None:
        super().__init__(nominal=nominal)
        self.leave_one_out = leave_one_out

    def fit(self, X: Any, y: Any) -> HVDM:
        """Determine the type of every column and compute the column statistics.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_items, n_features)
            At least 2 samples. None, NaN, NaT, pandas.NA and masked entries are missing values. Numbers
            must be finite. Values of nominal columns may have any hashable types; equal values, such as 1
            and 1.0, are the same value. Dates must be converted to numbers, or their columns listed in
            `nominal`.
        y : array of shape (n_items,)
            Class labels.

        Returns
        -------
        HVDM
            The fitted distance.

        Raises
        ------
        ValueError, TypeError
            If a numeric column holds other values than numbers, an entry of `nominal` matches no column,
            or the labels are not class labels.

        Warns
        -----
        IdentifierWarning
            If more than a fifth of the known values of a nominal column, and at least ten, occur only once.
        """
        check_choice("leave_one_out", self.leave_one_out, LEAVE_ONE_OUT)
        msg = "requires y to be passed, but the target y is None: HVDM compares values by their classes"
        check(y is not None, msg)
        self._fit(X, y)
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
        self.classes_, self._codes_ = labels.classes, labels.codes
        whole = statistics_of(table, labels.codes, len(labels.classes))
        self._scales_ = whole.scales
        if self.leave_one_out == "fixed":
            return whole
        each = [scales_left_out(column) for column in divided_numbers(table)[1]]
        scales = np.ascontiguousarray(np.reshape(each, (len(each), table.n_items)).T)
        return replace(whole, scales=scales, left_out=labels.codes)

    def _for_new_rows(self) -> Statistics:
        return replace(self._statistics_, scales=self._scales_, left_out=np.zeros(0, np.int64))

    def neighbors(self, n_neighbors: int | None = None, groups: Any = None) -> Neighbors:
        """Return the neighbor orders of the fitted samples; no sample is its own neighbor.

        Parameters
        ----------
        n_neighbors : int, optional
            The largest depth of the lists, 1 to n_items - 1. Default: as deep as a score needs.
        groups : array of shape (n_items,), optional
            The group of every sample, such as its patient. The distances of a sample are then those of a
            fit to the samples of all other groups: exactly the training set of ``LeaveGroupsOut(groups)``,
            whatever `leave_one_out` is. Default: see `leave_one_out`.

        Returns
        -------
        Neighbors
            Ties are exact: equal differences give distances that are equal to the last bit.

        Raises
        ------
        ValueError, TypeError
            If an argument is not as above.
        """
        if groups is None:
            return super().neighbors(n_neighbors)
        self._check_fitted()
        codes = encode_groups(groups, n_items=self.n_items_)[1]
        msg = "groups must have at least two labels: each is left out of the fit of its samples"
        check(codes.max(initial=0) != 0, msg)
        table = TableOfGroups(self._table_, self._codes_, codes)
        return Neighbors(table, n_neighbors, fitted_to_labels="exact" if self.categories_ else "")

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
            if n_single < MIN_SINGLE or single <= MAX_SINGLE:
                continue
            consequence = (
                "leave_one_out='fixed' scores are far too good for it"
                if self.leave_one_out == "fixed"
                else "such values do not predict the class of a sample that is left out"
            )
            title = self._schema_.title(int(column))
            warnings.warn(
                f"nominal column {title} is close to an identifier: {single:.0%} of its known values occur "
                f"only once, and {consequence}; leave the column out, or make it numeric",
                IdentifierWarning,
                stacklevel=self.warns_at,
            )
