"""HVDM, a distance of mixed tables that compares categories by the classes they occur with.

Column statistics that use labels are a leak: a sample's own label enters the distances by which this
label is then predicted. HVDM therefore excludes every sample from the statistics of its own distances by
default.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._labels import EncodedLabels
from .._validation import check_choice
from ._base import MixedDistance
from ._statistics import Statistics, as_statistics, exponents_of, scales_left_out
from ._tables import Table

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
        exponents = exponents_of(table.numbers)
        both = [scales_left_out(c) for c in np.ldexp(table.numbers, -exponents[:, None])]
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
        return as_statistics(
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
