"""What is told of the data: rows that repeat others, and distances that use labels of tested samples."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.typing import Array
from .._base.validation import check
from ._sources import FeatureTable, distinct_rows

if TYPE_CHECKING:
    from ._neighbors import Neighbors

FEWEST = 0.05
"""The share of rows that must repeat another; of a class with `LARGE` rows, twice the share."""
LARGE = 20
AGREEING = 0.8
"""The share of rows that repeat another in a half of the columns which must do so in all columns."""


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
    many = np.bincount(classes[same], minlength=len(sizes)) >= 2 * FEWEST * sizes
    if same.mean() < FEWEST and not (many & (sizes >= LARGE)).any():
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


def warn_copies(neighbors: Neighbors, codes: Array, stacklevel: int) -> None:
    """Warn of copies, which are tested while their originals train, once for these neighbors.

    Warns
    -----
    CopiesWarning
    """
    source, told = neighbors._source, neighbors.copies_told
    neighbors.copies_told = True
    if not told and isinstance(source, FeatureTable) and source.metric.kind != "sparse":
        warn_of_rows(source.metric.data, codes, stacklevel + 1)


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


class SupervisedDistanceWarning(UserWarning):
    """Distances were fitted to the labels of all samples, including the labels to be predicted."""


def warn_label_leakage(neighbors: Neighbors, smallest_train: int, groups: Array | None = None) -> None:
    """Warn if the distances use more labels than the training sets, so that the score is optimistic.

    Parameters
    ----------
    neighbors : Neighbors
        Neighbors of all samples.
    smallest_train : int
        Size of the smallest training set. If it has all samples but the tested one, distances that leave
        out the label of the tested sample use exactly the labels of the training set.
    groups : int64 ndarray of shape (n_items,), optional
        The groups that are left out one by one. Distances that were fitted without each of these are exact.

    Warns
    -----
    SupervisedDistanceWarning
    """
    fitted = neighbors.fitted_to_labels
    if not fitted or (fitted == "exact" and smallest_train == neighbors.n_items - 1):
        return
    without = neighbors.fitted_without
    if groups is not None and without is not None and np.array_equal(without, groups):
        return
    what = (
        "the tested sample's own label is left out, but more labels are used than any training set has"
        if fitted == "exact"
        else "they include the labels of the tested samples, which columns of many values reveal"
    )
    msg = (
        f"the statistics of the {neighbors.metric} distance were fitted to the labels of all samples, once "
        f"for every split: {what}. The score is optimistic. Use a distance that does not use labels "
        "(knnccv.neighbors.hvdm.HEOM), or cross-validate the whole estimator (knnccv.rib.RIBClassifier)"
    )
    warnings.warn(msg, SupervisedDistanceWarning, stacklevel=3)
