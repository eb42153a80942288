"""The table that the command ``score`` takes from a file: features, a column of labels, and one of groups.

Every cell is checked, because a misread value gives a wrong score that looks plausible. An unusable cell is
reported with its line in the file and its column.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from . import cells as cell_values
from .cells import PYTHON, Cells, Marks, is_date, is_missing, looks_numeric, number, readings
from .file_format import ANY, FileFormat
from .input_file import DATES, TEXT, Rows, TypedColumns, read_records
from .table_columns import Columns, feature_notes, header_note

if TYPE_CHECKING:
    from .._typing import Array


@dataclass(frozen=True)
class Layout:
    """How a table was read from its file.

    Attributes
    ----------
    form : str
        "text", "parquet" or "Excel".
    delimiter : str
        Of text; otherwise empty.
    compression : str
        "gzip", "bz2", "xz", "zip", or empty.
    how : FileFormat
        What was asked for.
    n_columns : int
        The number of columns in the file.
    features : tuple of int, of length n_features
        Their numbers in the file.
    target : int
        The number of the target's column.
    """

    form: str
    delimiter: str
    compression: str
    how: FileFormat
    n_columns: int
    features: tuple[int, ...]
    target: int


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read and checked.

    Attributes
    ----------
    source : str
        The name of the file, or "standard input".
    X : float64 ndarray of shape (n_items, n_features)
        The features. In a mixed table NaN for missing values, and codes from 0 in categorical columns.
    y : ndarray of shape (n_items,)
        The target: int64 if every value is whole, float64 if every value is a number, otherwise text.
    feature_names : tuple of str, of length n_features
        The names of the columns, or their numbers if the file has no header.
    target_name : str
        The name of the target's column.
    has_header : bool
        Whether the first row named the columns.
    groups : ndarray of shape (n_items,), or None
        The group of every sample: numbers if all are, otherwise text; None without a column of groups.
    groups_name : str or None
        The name of their column.
    notes : tuple of str
        Remarks for the user.
    categorical : tuple of bool, of length n_features
        Which features are categorical; none unless the table is mixed.
    missing : mapping of str to int
        The number of occurrences of each mark of a missing value in the features.
    categories : tuple of (ndarray or None), of length n_features
        For a categorical feature, the category of every code; None for the others.
    layout : Layout or None
        How it was read; None for a table that was not read from a file.
    """

    source: str
    X: Array
    y: Array
    feature_names: tuple[str, ...]
    target_name: str
    has_header: bool
    groups: Array | None = None
    groups_name: str | None = None
    notes: tuple[str, ...] = ()
    categorical: tuple[bool, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    categories: tuple[Array | None, ...] = ()
    layout: Layout | None = None
    standardized: bool = False

    @property
    def categorical_names(self) -> list[str]:
        """The names of the categorical columns."""
        pairs = zip(self.feature_names, self.categorical, strict=True)
        return [name for name, one in pairs if one]

    def to_dict(self) -> dict[str, Any]:
        """What the table holds, in types that JSON has."""
        return {
            "data": self.source,
            "n_items": len(self.X),
            "n_features": self.X.shape[1],
            "categorical_features": self.categorical_names,
            "n_missing": sum(self.missing.values()),
            "standardized": self.standardized,
            "groups": self.groups_name,
        }

    def cells(self) -> Array:
        """The features with the categories themselves in place of their codes."""
        import numpy as np

        if not any(self.categorical):
            return self.X
        X = self.X.astype(object)
        for j, categories in enumerate(self.categories):
            if categories is not None:
                known = ~np.isnan(self.X[:, j])
                X[~known, j] = None
                X[known, j] = categories[self.X[known, j].astype(int)].astype(str)
        return X

    def mixed_note(self) -> list[str]:
        """What makes the table a mixed one, and how it is measured."""
        names, n_missing = self.categorical_names, sum(self.missing.values())
        more = f" and {len(names) - 4} more" * (len(names) > 4)
        columns = f"{len(names)} categorical column{'s' * (len(names) > 1)} ({', '.join(names[:4])}{more})"
        missing = f"{n_missing} missing value{'s' * (n_missing > 1)}"
        parts = [columns] * bool(names) + [missing] * bool(n_missing)
        return (
            [f"{' and '.join(parts)}: the distance is HEOM (docs/guide/mixed_tables.md)"] if parts else []
        )


def read_table(
    source: str,
    target: str | None,
    how: FileFormat = ANY,
    *,
    drop: Sequence[str] = (),
    groups: str | None = None,
    mixed: bool = False,
    categorical: Sequence[str] = (),
) -> Table:
    """Read a table.

    Parameters
    ----------
    source : str
        Path of the file, or ``"-"`` for standard input: delimited text in UTF-8 (with or without a byte
        order mark), parquet or Excel, possibly compressed.
    target : str or None
        The column of the labels: its name, or its number from 0, negative ones counted from the last.
    how : FileFormat, optional
        How the file is to be read.
    drop : sequence of str
        Columns to leave out.
    groups : str, optional
        The column of the groups; it is not a feature.
    mixed : bool, default False
        Allow missing values and categorical columns among the features.
    categorical : sequence of str
        Columns of a mixed table that are categorical although they hold numbers.

    Raises
    ------
    ValueError
        If a column does not exist, a row has too few or too many cells, a cell is missing or not a number,
        or there are fewer than two rows. The message says where.
    OSError
        If the file cannot be read.
    ImportError
        If pandas, or the package that it needs for the file's format, is missing.
    """
    records = read_records(source, how)
    columns = records.columns
    name = columns.source
    if target is None:
        msg = f"--target must name the column of {name} that holds the labels{columns.listing()}"
        raise ValueError(msg)
    label = columns.find(target)
    left_out = {columns.find(wanted) for wanted in drop}
    if label in left_out:
        msg = f"column {columns.name(label)!r} is the target; it cannot be left out with --drop"
        raise ValueError(msg)
    grouping = None if groups is None else columns.find(groups)
    if grouping == label:
        msg = f"column {columns.name(label)!r} is the target; it cannot also hold the --groups"
        raise ValueError(msg)
    features = [i for i in range(columns.width) if i not in {label, grouping} and i not in left_out]
    if not features:
        beside = "the target" if grouping is None else "the target and the groups"
        msg = f"{name} has no feature: of {columns.width} columns, none is left beside {beside}"
        raise ValueError(msg)
    named = {columns.find(wanted) for wanted in categorical}
    for i in sorted(named.difference(features)):
        msg = f"column {columns.name(i)!r} is not a feature; --categorical is for features"
        raise ValueError(msg)
    if len(records) < 2:
        below = "" if columns.names is None else " below the header"
        msg = f"{name} must have at least 2 rows{below}, got {len(records)}"
        raise ValueError(msg)
    table = _Reader(records, how.marks).table(features, label, grouping, named if mixed else None)
    if table.groups is not None and (table.groups == table.groups[0]).all():
        msg = f"{name}: column {table.groups_name!r} holds one group only; --groups needs at least 2"
        raise ValueError(msg)
    note = None
    if how.header is None and columns.names is None:
        first = [number(cell) for cell in records.first()]
        note = header_note(columns, records.place(0), first, label, table.y)
    elif how.header is None and isinstance(records, Rows) and all(table.categorical):
        note = f"no feature of {name} is a number; its first line names the columns, --no-header if not"
    layout = _layout(records, how, features, label)
    return replace(table, notes=(*table.notes, note) if note else table.notes, layout=layout)


def _layout(records: Rows | TypedColumns, how: FileFormat, features: Sequence[int], label: int) -> Layout:
    if isinstance(records, TypedColumns):
        form, mark = "parquet", ""
    else:
        form, mark = "text" if records.mark else "Excel", records.mark
    width = records.columns.width
    return Layout(form, mark, records.compression, how, width, tuple(features), label)


class _Reader:
    """Turns the cells of a file into a table."""

    def __init__(self, records: Rows | TypedColumns, marks: Marks) -> None:
        self.records = records
        self.marks = marks
        self.columns: Columns = records.columns
        self.cells: list[Cells] = records.by_column()

    def table(
        self, features: Sequence[int], label: int, grouping: int | None, named: Collection[int] | None
    ) -> Table:
        """The table; `named` are the columns declared as categorical, None if none is allowed."""
        import numpy as np

        mixed = named is not None
        if self.marks != PYTHON:
            for i in {*features, label, label if grouping is None else grouping}:
                self.cells[i] = [self._plain(at, i, mixed) for at in range(len(self.records))]
        categorical = [i for i in features if mixed and self._is_categorical(i, named or ())]
        self._check_numbers([i for i in features if i not in categorical], mixed)
        coded = {i: cell_values.categorized(self.cells[i]) for i in categorical}
        values = {i: coded[i][0] if i in coded else cell_values.numbers(self.cells[i]) for i in features}
        missing = sum((cell_values.missing_marks(self.cells[i]) for i in features), Counter[str]())
        for i, column in values.items():
            if np.isnan(column).all():
                msg = (
                    f"{self.columns.source}: column {self.columns.name(i)!r} has no value at all; "
                    f"--drop {self.columns.option(i)} leaves it out"
                )
                raise ValueError(msg)
        return Table(
            self.columns.source,
            np.column_stack(list(values.values())),
            self._labels(label, "target"),
            tuple(self.columns.name(i) for i in features),
            self.columns.name(label),
            self.columns.names is not None,
            None if grouping is None else self._labels(grouping, "group"),
            None if grouping is None else self.columns.name(grouping),
            (*self.records.notes, *feature_notes(self.columns, values, categorical)),
            tuple(i in categorical for i in features),
            dict(missing),
            tuple(coded[i][1] if i in coded else None for i in features),
        )

    def _is_categorical(self, index: int, named: Collection[int]) -> bool:
        """Return True if a feature is named as categorical, has such a type, or has no number-like cell."""
        if index in named:
            return True
        cells = self.cells[index]
        kind = self.records.kinds.get(index)
        known = [] if hasattr(cells, "dtype") else [cell for cell in cells if not is_missing(cell)]
        if kind == DATES or (known and all(map(is_date, known))):
            option = self.columns.option(index)
            msg = (
                f"{self.columns.source}: column {self.columns.name(index)!r} holds dates or times; write "
                f"numbers, such as days since the first, leave it out with --drop {option}, or treat its "
                f"values as categories with --categorical {option}"
            )
            raise ValueError(msg)
        return kind == TEXT or (bool(known) and not any(map(looks_numeric, known)))

    def _check_numbers(self, features: Sequence[int], mixed: bool) -> None:
        """Raise ValueError about the first cell of these columns, row by row, that cannot be used."""
        import numpy as np

        wrong: list[tuple[int, int]] = []
        for i in features:
            values = cell_values.numbers(self.cells[i])
            suspects = np.flatnonzero(~np.isfinite(values))
            wrong += [(int(at), i) for at in suspects if not (mixed and is_missing(self.cells[i][at]))][:1]
        if wrong:
            at, index = min(wrong)
            raise ValueError(self._complaint(at, index, mixed))

    def _plain(self, at: int, index: int, mixed: bool) -> str:
        """A cell with its number as Python writes it; ValueError about a number with other marks."""
        cell: str = self.cells[index][at]
        plain = self.marks.plain(cell)
        if plain is None and "." in cell and number(cell) is not None:
            raise ValueError(self._complaint(at, index, mixed))
        return cell if plain is None else plain

    def _labels(self, index: int, what: str) -> Array:
        """The column of the targets or of the groups, in which no value may be missing."""
        for at, cell in enumerate(self.cells[index]):
            if is_missing(cell):
                shown = f" ({cell})" if cell else ""
                msg = f"{self._place(at, index)}: the {what} is missing{shown}; every sample needs one"
                raise ValueError(msg)
        return cell_values.labels(self.cells[index])

    def _place(self, at: int, index: int) -> str:
        return f"{self.columns.source}, {self.records.place(at)}, column {self.columns.name(index)!r}"

    def _complaint(self, at: int, index: int, mixed: bool) -> str:
        cell: Any = str(self.cells[index][at])
        where = self._place(at, index)
        option = self.columns.option(index)
        is_header = at == 0 and self.columns.names is None
        if is_missing(cell):
            shown = f" ({cell})" if cell else ""
            remedy = (
                "--header if the first line names the columns"
                if is_header
                else f"--drop {option} leaves the column out, and --metric heom (in Python "
                "knnccv.hvdm.HEOM) accepts tables with missing values"
            )
            return f"{where}: the value is missing{shown}; {remedy}"
        if math.isinf(number(cell) or 0.0):
            return f"{where}: {cell} is not finite"
        category = "--categorical " + option if mixed else "--metric heom"
        hint = f"; --drop {option} if it is not a feature, {category} if it is a category"
        if found := readings(cell):
            hint = self._remedy(found) + f", {category} if it is a category" * mixed
        elif is_header:
            hint = "; --header if the first line names the columns"
        elif is_date(cell):
            hint = f"; write numbers, such as days since the first, or --drop {option}"
        elif mixed:
            hint = f", but other cells of the column are numbers{hint}"
        return f"{where}: {cell!r} is not a number{hint}"

    def _remedy(self, found: Mapping[str, Marks]) -> str:
        """How to say which number a cell means that was written with other marks."""
        if isinstance(self.records, TypedColumns):
            return f"; write {' or '.join(found)}"
        return "; " + ", ".join(
            f"{str(marks) or '--decimal .'} if it means {text}" for text, marks in found.items()
        )
