"""HEOM, a distance of mixed tables that ignores the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._labels import EncodedLabels
from ._base import MixedDistance
from ._statistics import Statistics, as_statistics, exponents_of
from ._tables import Table


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
    >>> from knnccv.hvdm import HEOM
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
        exponents = exponents_of(table.numbers)
        scales = np.zeros((1, len(exponents)))
        for a, column in enumerate(np.ldexp(table.numbers, -exponents[:, None])):
            known = column[~np.isnan(column)]
            width = float(np.ptp(known)) if len(known) else 0.0
            scales[0, a] = 1 / width if width > 0 else 0.0
        n_values = table.codes.max(axis=1, initial=0) if table.codes.size else np.zeros(len(table.codes))
        starts = np.concatenate([[0], np.cumsum(n_values)]).astype(np.int64)
        return as_statistics(
            exponents=exponents,
            scales=scales,
            starts=starts,
            counts=np.zeros((starts[-1], 0)),
            left_out=np.zeros(0, np.int64),
        )
