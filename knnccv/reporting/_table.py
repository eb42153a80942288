"""The table of a question: columns as numbers or codes, the target, and the cells as text."""

from __future__ import annotations

import datetime
import reprlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from .._base.labels import as_targets, encode_labels, is_missing, of_one_kind, single_class, task_of
from .._base.typing import Array
from .._base.validation import check, check_choice
from ..designs import LeaveGroupsOut
from ..neighbors import Neighbors, hvdm

MIXED: dict[str, type[hvdm.HEOM] | type[hvdm.HVDM]] = {"heom": hvdm.HEOM, "hvdm": hvdm.HVDM}
"""Metrics of mixed tables, which scale by themselves; the others measure numbers."""
TASKS = ("classification", "regression")
NEITHER: dict[str, tuple[type, ...]] = {
    "dates or times": (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64),
    "complex numbers": (complex, np.complexfloating),
}
"""What is neither a number nor a name of a category."""
FEWEST_ROWS = 5
COPIES = "copies"
"""In place of a column of groups: equal rows form a group."""
TIMES_LARGER = 2
"""Classes are unequal if the largest has more than so many times the samples of the others on average."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read and checked: from a file, the arguments of `report`, or bundled.

    Attributes
    ----------
    X : float64 ndarray of shape (n_items, n_features)
        The features. In a mixed table NaN for missing values, and codes from 0 in categorical columns.
    y : ndarray of shape (n_items,)
        The target; of a file int64 if every value is whole, float64 if every value is a number, otherwise
        text. With the task "regression" float64.
    names : tuple of str, of length n_features
        The names of the columns, or their numbers if a file has no header.
    categorical : bool ndarray of shape (n_features,)
        Which columns hold categories.
    columns : tuple of length n_features
        The columns as they were given, with all rows; of a file floats, or texts and None.
    indices : int ndarray of shape (n_items,)
        The numbers of the rows in `columns`.
    source : str
        The name of the file, "standard input", or a description of the bundled data.
    target_name : str or None
        The name of the target.
    has_header : bool
        Whether the first row of the file named the columns.
    groups : ndarray of shape (n_items,), or None
        The group of every sample, as it was given: samples of one group train or are tested together.
    groups_name : str or None
        The name of their column; "copies" if equal rows are a group.
    group_codes : int64 ndarray of shape (n_items,), or None
        Their numbers, once the table has a task.
    task, task_reason : str
        "classification" or "regression", and why if it was not given; empty before `with_task`.
    notes : tuple of str
        Remarks for the user.
    missing : mapping of str to int
        The number of occurrences of each mark of a missing value in the features of a file.
    code : tuple of str
        Python that sets `X` and `y` to the same values; empty if a file cannot be read again.
    labels : tuple, or None
        The labels of the columns of a data frame of pandas.
    converting : tuple of str
        Lines of Python that make a data frame of pandas of `X`, if it is a table of another library.
    scaling : {None, "standard", "minmax", "maxabs", "robust"}
        How the features are scaled, by all samples.
    left_out : tuple of str
        The names of the columns that are neither features nor the target.
    set_aside : tuple of (str, Cells)
        Those that the user left out, without dates; none of a part of the rows.
    test : Table or None
        The samples that are tested, if those of the table only train.
    lines : int ndarray, or None
        Where each row of `columns` begins in the file, as `File.lines`; None of parquet.
    """

    X: Array
    y: Array
    names: tuple[str, ...]
    categorical: Array
    columns: tuple[Array, ...]
    indices: Array
    source: str = ""
    target_name: str | None = None
    has_header: bool = True
    groups: Array | None = None
    groups_name: str | None = None
    group_codes: Array | None = None
    task: str = ""
    task_reason: str = ""
    notes: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    code: tuple[str, ...] = ()
    labels: tuple[Any, ...] | None = None
    converting: tuple[str, ...] = ()
    scaling: str | None = None
    left_out: tuple[str, ...] = ()
    set_aside: tuple[tuple[str, Any], ...] = ()
    test: Table | None = None
    lines: Array | None = None

    @classmethod
    def of(
        cls, columns: Sequence[Array], names: Sequence[str], is_category: Any, y: Array, **more: Any
    ) -> Table:
        """The table of these columns; categories get codes in the order in which they occur.

        Raises
        ------
        TypeError, ValueError
            If a column that does not hold categories holds something else than finite numbers.
        """
        X = np.empty((len(columns[0]), len(columns)))
        for j, (column, name, category) in enumerate(zip(columns, names, is_category, strict=True)):
            if category:
                codes, _ = hvdm.factorized(column, f"column {name!r}")
                X[:, j] = np.where(codes < 0, np.nan, codes)
            else:
                X[:, j] = hvdm.as_numbers(column, f"column {name!r}")
                hvdm.check_bounded(X[:, j], column, f"column {name!r}")
        mask = np.array(is_category, bool)
        return cls(X, y, tuple(names), mask, tuple(columns), np.arange(len(X)), **more)

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def groups_in_words(self) -> str:
        """Where the groups come from."""
        by_copies = self.groups_name == COPIES and COPIES not in self.left_out
        return "equal rows" if by_copies else f"column {self.groups_name!r}"

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        return int(np.isnan(self.X).sum())

    @property
    def is_mixed(self) -> bool:
        """Whether there are categories or missing values."""
        return bool(self.categorical.any()) or bool(np.isnan(self.X).any())

    @property
    def is_unequal(self) -> bool:
        """Whether one class is so large that a rule which knows little else can have a high accuracy."""
        if self.task == "regression":
            return False
        counts = np.unique(self.y, return_counts=True)[1]
        largest = int(counts.max())
        return largest * (len(counts) - 1) > TIMES_LARGER * (len(self.y) - largest)

    @property
    def categorical_names(self) -> list[str]:
        """The names of the categorical columns."""
        return [name for name, one in zip(self.names, self.categorical, strict=True) if one]

    @property
    def constant(self) -> Array:
        """Which columns have at most one value, missing ones aside."""
        low = np.min(self.X, axis=0, initial=np.inf, where=~np.isnan(self.X))
        high = np.max(self.X, axis=0, initial=-np.inf, where=~np.isnan(self.X))
        return np.asarray(low >= high)

    def neighbors(self, metric: str, groups: Array | None = None) -> Neighbors:
        """The neighbors by one of the distances `MIXED`; HVDM is fitted without each of the groups."""
        # A note on the column reports it.
        with warnings.catch_warnings(action="ignore", category=hvdm.IdentifierWarning):
            fitted = MIXED[metric](nominal=self.categorical).fit(self.X, self.y)
        if isinstance(fitted, hvdm.HVDM) and groups is not None:
            return fitted.neighbors(groups=groups)
        return fitted.neighbors()

    def rows(self, index: int) -> list[str]:
        """The cells of a row as text; a missing value is empty."""
        row = int(self.indices[index])
        return [_text(column[row]) for column in self.columns]

    def take(self, places: Array) -> Table:
        """The table of some rows only."""
        groups, codes = (one if one is None else one[places] for one in (self.groups, self.group_codes))
        X, y, indices = self.X[places], self.y[places], self.indices[places]
        return replace(self, X=X, y=y, indices=indices, groups=groups, group_codes=codes, set_aside=())

    def to_dict(self) -> dict[str, Any]:
        """What the table holds, in types that JSON has."""
        return {
            "data": self.source,
            "n_items": self.n_items,
            "n_features": len(self.names),
            "categorical_features": self.categorical_names,
            "n_missing": self.n_missing,
            "scaling": self.scaling,
            "groups": self.groups_name,
            "test": self.test and self.test.source,
            "n_test": self.test and self.test.n_items,
        }

    def mixed_note(self) -> list[str]:
        """What makes the table a mixed one, and how it is measured."""
        names, n_missing = self.categorical_names, self.n_missing
        more = f" and {len(names) - 4} more" * (len(names) > 4)
        columns = f"{len(names)} categorical column{'s' * (len(names) > 1)} ({', '.join(names[:4])}{more})"
        marks = ", ".join(filter(None, self.missing))
        missing = f"{n_missing} missing value{'s' * (n_missing > 1)}" + f" ({marks})" * bool(marks)
        parts = [columns] * bool(names) + [missing] * bool(n_missing)
        note = f"{' and '.join(parts)}: the distance is HEOM (docs/guide/mixed_tables.md)"
        return [note] if parts else []

    def with_task(self, task: str | None) -> Table:
        """The table with a task, by default the one that the target suggests, and with codes of the groups.

        Raises
        ------
        ValueError, TypeError
            If there are too few rows, classes or groups, or the target does not suit the task.
        """
        if task is not None:
            check_choice("task", task, TASKS)
        msg = f"add samples: X must have at least {FEWEST_ROWS} rows, got {self.n_items}"
        check(self.n_items >= FEWEST_ROWS, msg)
        chosen, reason = (task, "") if task is not None else task_of(self.y)
        found = replace(self, task=chosen, task_reason=reason)
        if chosen == "regression":
            msg = f"task='regression' needs numbers as targets, but y[0] is {shown(self.y[0])}"
            check(self.y.dtype.kind in "biuf", msg)
            found = replace(found, y=as_targets(self.y, self.n_items)[1])
        else:
            must = "y must have at least 2 classes, but every label is"
            msg = f"name another target, or add samples of other classes: {must} {shown(self.y[0])}"
            check(len(encode_labels(self.y, self.n_items).classes) > 1, msg)
        if self.groups is not None:
            kept = LeaveGroupsOut(self.groups)
            kept.training_sets(single_class(self.n_items))
            found = replace(found, groups=kept.groups, group_codes=kept.codes)
        return found


def read_input(
    X: Any, y: Any, feature_names: Sequence[str] | None, categorical: Any, groups: Any = None
) -> Table:
    """Check the table that is given to `report`.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed.
    """
    if isinstance(X, (str, PathLike)):
        msg = f"X must be a table of shape (n_items, n_features), got the text {X!r}; read the file first"
        raise TypeError(msg)
    known, columns = hvdm.columns_of(X)
    names = _names(feature_names, known, len(columns))
    mask = hvdm.chosen_columns("categorical", categorical, names, len(columns))
    for j, (column, name) in enumerate(zip(columns, names, strict=True)):
        mask[j] = mask[j] or column.is_category or _holds_names(column.values, name)
    return Table.of(
        [column.values for column in columns],
        names,
        mask,
        _labels(y, len(columns[0].values)),
        target_name=getattr(y, "name", None),
        groups=groups.to_numpy() if hasattr(groups, "to_numpy") else groups,
        labels=tuple(X.columns) if hvdm.is_frame(X) else None,
        converting=("X = X.to_pandas()",) if hasattr(X, "to_pandas") and not hvdm.is_frame(X) else (),
    )


def _names(feature_names: Sequence[str] | None, known: Any, n_columns: int) -> tuple[str, ...]:
    if feature_names is None:
        return tuple(map(str, known or (f"x{j}" for j in range(n_columns))))
    must = "feature_names must be a sequence of names"
    check(not isinstance(feature_names, str), must, feature_names, TypeError)
    names = tuple(map(str, feature_names))
    must = f"feature_names must have {n_columns} names, one for each column"
    check(len(names) == n_columns, must, len(names))
    return names


def _holds_names(column: Array, name: str) -> bool:
    """Whether a column that is not said to hold categories does."""
    if column.dtype.kind in "biuf":
        return False
    known = [value for value in column if not is_missing(value)]
    for kind, types in NEITHER.items():
        if any(isinstance(value, types) for value in known):
            remedy = "convert it to numbers, leave it out, or name it in categorical="
            msg = f"column {name!r} holds {kind}; {remedy}"
            raise TypeError(msg)
    return not all(isinstance(value, hvdm.NUMBERS) for value in known)


def _labels(y: Any, n_items: int) -> Array:
    """The target as an array, without missing values."""
    values = hvdm.as_array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    check(values.ndim == 1, f"y must have shape (n_items,), got shape {values.shape}")
    check(len(values) == n_items, f"X has {n_items} rows, but y has {len(values)} values")
    missing = values != values
    if values.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in values])
    if missing.any():
        first = f"y[{int(np.argmax(missing))}] is missing ({missing.sum()} of {n_items} values are)"
        msg = f"{first}; leave such rows out, since they cannot be scored"
        raise ValueError(msg)
    return of_one_kind(values)


def _text(cell: Any) -> str:
    if is_missing(cell):
        return ""
    if isinstance(cell, (float, np.floating)):
        value = float(cell)
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return str(cell)


def shown(value: Any) -> str:
    """A value in an error message."""
    return reprlib.repr(value.item() if isinstance(value, np.generic) else value)
