"""The table of a question: features, a column of labels, and one of groups, from a file.

Every cell is checked, because a misread value gives a wrong score that looks plausible. An unusable cell is
reported with its line in the file and its column.
"""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from .columns import (
    EXACT,
    Cells,
    Marks,
    is_date,
    is_missing,
    keeping,
    kind_of,
    number,
    readings,
    thousands_note,
    without_sign,
)
from .options import refuse
from .reader import File, Format, read_file

if TYPE_CHECKING:
    import pandas as pd

ANY = Format()
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = 100
COPIES = "copies"
"""In place of a column of groups: equal rows form a group."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read and checked.

    Attributes
    ----------
    source : str
        The name of the file, "standard input", or a description of the bundled data.
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
    code : tuple of str
        Python that sets `X` and `y` to the same values, with pandas as ``pd``; empty if none does.
    standardized : bool
        Whether the features have zero mean and unit standard deviation over all samples.
    left_out : tuple of str
        The names of the columns that are neither features nor the target.
    test : Table or None
        The samples that are tested, if those of the table only train.
    lines : int ndarray of shape (n_items,), or None
        Where each sample begins in the file, as `File.lines`.
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
    code: tuple[str, ...] = ()
    standardized: bool = False
    left_out: tuple[str, ...] = ()
    test: Table | None = None
    lines: Array | None = None

    @property
    def categorical_names(self) -> list[str]:
        """The names of the categorical columns."""
        return [name for name, one in zip(self.feature_names, self.categorical, strict=True) if one]

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
            "test": self.test and self.test.source,
            "n_test": self.test and len(self.test.X),
        }

    def cells(self) -> Array:
        """The features with the categories themselves in place of their codes."""
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
        marks = ", ".join(filter(None, self.missing))
        missing = f"{n_missing} missing value{'s' * (n_missing > 1)}" + f" ({marks})" * bool(marks)
        parts = [columns] * bool(names) + [missing] * bool(n_missing)
        note = f"{' and '.join(parts)}: the distance is HEOM (docs/guide/mixed_tables.md)"
        return [note] if parts else []


def read_table(
    source: str,
    target: str | None,
    how: Format = ANY,
    *,
    drop: Sequence[str] = (),
    groups: str | None = None,
    mixed: bool = False,
    categorical: Sequence[str] = (),
    every_target: bool = False,
    drop_incomplete: bool = False,
    is_test: bool = False,
) -> Table:
    """Read a table.

    Parameters
    ----------
    source : str
        Path of the file, or ``"-"`` for standard input.
    target : str or None
        The column of the labels: its name, or its number from 0, negative ones counted from the last.
    how : Format, optional
        How the file is to be read.
    drop : sequence of str
        Columns to leave out.
    groups : str, optional
        The column of the groups; it is not a feature.
    mixed : bool, default False
        Allow missing values and categorical columns among the features.
    categorical : sequence of str
        Columns of a mixed table that are categorical although they hold numbers.
    every_target : bool, default False
        Refuse a row without a target; otherwise it is left out, and a note says so.
    drop_incomplete : bool, default False
        Leave out every row that lacks a feature or its group, which a note says.
    is_test : bool, default False
        A test set may lack columns that are left out, and have one row.

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
    file = read_file(source, how)
    columns, name = file.columns, file.columns.source
    must = f"--target must name the column of {name} that holds the labels"
    refuse(target is None, f"{must}{columns.listing()}")
    label = columns.find(str(target))
    if is_test and columns.names is not None:
        drop = [one for one in drop if one in columns.names]
    left_out = {index for wanted in drop for index in columns.find_all(wanted)}
    by_copies = groups == COPIES and COPIES not in (columns.names or ())
    grouping = None if groups is None or by_copies else columns.find(groups)
    named = {columns.find(wanted) for wanted in categorical}
    features = [i for i in range(columns.width) if i not in {label, grouping} and i not in left_out]
    beside = "the target" + " and the groups" * (grouping is not None)
    below = " below the header" * (columns.names is not None)
    is_target = f"column {columns.name(label)!r} is the target; it cannot"
    stray = min(named.difference(features), default=-1)
    refuse(label in left_out, f"{is_target} be left out with --drop")
    refuse(grouping == label, f"{is_target} also hold the --groups")
    none_left = f"of {columns.width} columns, none is left beside {beside}"
    refuse(not features, f"{name} has no feature: {none_left}")
    no_feature = f"column {columns.name(stray)!r} is not a feature; --categorical is for features"
    refuse(stray >= 0, no_feature)
    used = [*features, label, *([] if grouping is None else [grouping])]
    wrong_at = next((index for index in used if index in file.scan.wrong), None)
    if wrong_at is not None:
        raise ValueError(_Reader(file, how).complaint(*file.scan.wrong[wrong_at], wrong_at, mixed))
    before = len(file.frame)
    if not every_target:
        file = file.with_values([label], "--keep-missing-target refuses them")
    if drop_incomplete:
        file = file.with_values([one for one in used if one != label])
    n_rows = len(file.frame)
    below += " with a target" * (n_rows < before)
    least = 1 if is_test else 2
    refuse(n_rows < least, f"{name} must have at least {least} row{'s'[is_test:]}{below}, got {n_rows}")
    table = _Reader(file, how).table(features, label, grouping, named if mixed else None)
    wrong = f"{name}: column {table.groups_name!r} holds one group only; --groups needs at least 2"
    refuse(table.groups is not None and (table.groups == table.groups[0]).all(), wrong)
    note = None
    if how.header is None and columns.names is None:
        place, first = file.record(0)
        note = columns.header_note(place, list(map(number, first)), label, table.y)
    elif how.header is None and file.form != "parquet" and all(table.categorical):
        note = f"no feature of {name} is a number; its first line names the columns, --no-header if not"
    # a pipe can be read only once
    again = source != "-" and Path(source).is_file()
    code = reading_code(file, table, features, label, grouping) if again else ()
    others = tuple(columns.name(i) for i in range(columns.width) if i not in {label, *features})
    notes = (*table.notes, note) if note else table.notes
    if by_copies:
        from ..neighbors import copies

        code = (*code, "from knnccv.neighbors import copies", "groups = copies(X)") if code else code
        table = replace(table, groups=copies(table.X), groups_name=COPIES)
    return replace(table, notes=notes, code=code, left_out=others, lines=file.lines)


class _Reader:
    """Turns the columns of a file into a table."""

    def __init__(self, file: File, how: Format) -> None:
        self.file, self.columns, self.marks, self.gaps = file, file.columns, how.marks, how.gaps
        self.cells: dict[int, Cells] = {}

    def table(
        self, features: Sequence[int], label: int, grouping: int | None, named: Collection[int] | None
    ) -> Table:
        """The table; `named` are the columns declared as categorical, None if none is allowed."""
        mixed, columns = named is not None, self.columns
        for i in dict.fromkeys([*features, label, label if grouping is None else grouping]):
            self.cells[i] = self._column(i)
        categorical = [i for i in features if mixed and self._is_categorical(i, named or ())]
        self._check_numbers([i for i in features if i not in categorical], mixed)
        coded = {i: self.cells[i].categorized() for i in categorical}
        values = {i: coded[i][0] if i in coded else self.cells[i].numbers for i in features}
        missing = Counter[str]()
        for i, column in values.items():
            gaps, without = int(np.isnan(column).sum()), f"--drop {columns.option(i)} leaves it out"
            wrong = f"{columns.source}: column {columns.name(i)!r} has no value at all; {without}"
            refuse(gaps == len(column), wrong)
            marks = Counter(mark for _, j, mark in self.file.scan.gaps if j == i and mark)
            texts = filter(None, self.cells[i].texts or ())
            marks |= Counter(cell for cell in texts if is_missing(cell, self.gaps))
            missing += marks + Counter({"": gaps - marks.total()})
        y, notes = self._labels(label, "target"), columns.feature_notes(values, categorical)
        if y.dtype.kind == "f":
            notes = (*filter(None, [thousands_note(f"the target {columns.name(label)!r}", y)]), *notes)
        return Table(
            columns.source,
            np.column_stack(list(values.values())),
            y,
            tuple(columns.name(i) for i in features),
            columns.name(label),
            columns.names is not None,
            None if grouping is None else self._labels(grouping, "group"),
            None if grouping is None else columns.name(grouping),
            (*self.file.notes, *notes),
            tuple(i in categorical for i in features),
            dict(missing),
            tuple(coded[i][1] if i in coded else None for i in features),
        )

    def _column(self, index: int) -> Cells:
        series = self.file.frame.iloc[:, index]
        code = getattr(series.dtype, "kind", "O")
        if code in "iuf":
            numbers = series.to_numpy(np.float64, na_value=np.nan)
            if code == "f" or not (np.abs(numbers) >= EXACT).any():
                return Cells(numbers, np.isnan(numbers))
        gaps = series.isna().to_numpy()
        values = series.astype(object).to_numpy()
        texts = ["" if gap else self._text(value) for value, gap in zip(values, gaps, strict=True)]
        if self.marks != Marks():
            texts = [self.marks.plain(text) or text for text in texts]
        kind = kind_of({type(value) for value in values[~gaps]})
        if code in "mM" or (kind == "dates" and self.file.form != "text"):
            return Cells.of(texts, "dates", self.gaps)
        typed = self.file.form == "parquet" or (self.file.form == "Excel" and self.marks == Marks())
        return Cells.of(texts, kind if typed or hasattr(series.dtype, "categories") else "", self.gaps)

    def _text(self, value: object) -> str:
        """A cell as one would type it: a number with the decimal mark that texts beside it have."""
        text = str(value).strip()
        return text.replace(".", self.marks.decimal) if isinstance(value, float) else text

    def _is_categorical(self, index: int, named: Collection[int]) -> bool:
        """Return True if a feature is named as categorical, has such a type, or has no number-like cell."""
        if index in named:
            return True
        name, option = self.columns.name(index), self.columns.option(index)
        wrong = f"{self.columns.source}: column {name!r} holds dates or times"
        numbers = f"write numbers, such as days since the first, leave it out with --drop {option}"
        categories = f"treat its values as categories with --categorical {option}"
        refuse(self.cells[index].are_dates(), f"{wrong}; {numbers}, or {categories}")
        return self.cells[index].are_names()

    def _check_numbers(self, features: Sequence[int], mixed: bool) -> None:
        """Raise ValueError about the first cell of these columns, row by row, that cannot be used."""
        wrong: list[tuple[int, int]] = []
        for i in features:
            cells = self.cells[i]
            suspects = np.flatnonzero(~np.isfinite(cells.numbers) & ~(mixed & cells.missing))
            wrong += [(at, i) for at in suspects[:1].tolist()]
        if wrong:
            at, index = min(wrong)
            raise ValueError(self.complaint(at, self._shown(at, index), index, mixed))

    def _shown(self, at: int, index: int) -> str:
        """A cell for messages; of a missing value its mark."""
        texts = self.cells[index].texts
        return (texts and texts[at]) or self.file.record(at)[1][index]

    def _labels(self, index: int, what: str) -> Array:
        """The column of the targets or of the groups, in which no value may be missing."""
        for at in self.cells[index].missing.nonzero()[0][:1].tolist():
            shown = f" ({mark})" if (mark := self._shown(at, index)) else ""
            remedies = ["--drop-incomplete leaves out such rows"] * (what == "group") + keeping(mark)
            needed = "; ".join([f"the {what} is missing{shown}", "every sample needs one", *remedies])
            msg = f"{self._place(at, index)}: {needed}"
            raise ValueError(msg)
        texts = self.cells[index].texts or [""]
        other = next((at for at, text in enumerate(texts) if math.isnan(number(text))), None)
        if what == "target" and other is not None and all(map(readings, texts)):
            where, remedy = self._place(other, index), self._remedy(readings(texts[other]))
            shown = _SHOWN.repr(texts[other])
            msg = f"{where}: {shown} is written like a number but read as a name{remedy}"
            raise ValueError(msg)
        return self.cells[index].labels()

    def _place(self, at: int, index: int) -> str:
        column = _SHOWN.repr(self.columns.name(index))
        return f"{self.columns.source}, {self.file.record(at)[0]}, column {column}"

    def complaint(self, at: int, cell: str, index: int, mixed: bool) -> str:
        where, option = self._place(at, index), self.columns.option(index)
        header = "--header if the first line names the columns"
        is_header = at == 0 and self.columns.names is None
        if is_missing(cell, self.gaps):
            accepts = "--metric heom (in Python knnccv.hvdm.HEOM) accepts tables with missing values"
            remedy = f"--drop-incomplete leaves out such rows, --drop {option} the column, and {accepts}"
            remedy = header if is_header else remedy
            return f"{where}: the value is missing{f' ({cell})' if cell else ''}; {remedy}"
        if math.isinf(number(cell)):
            return f"{where}: {cell} is not finite"
        category = "--categorical " + option if mixed else "--metric heom"
        hint = f"; --drop {option} if it is not a feature, {category} if it is a category"
        if alone := without_sign(cell):
            hint = f"; write numbers alone, such as {alone}"
            hint += f", {category} if it is a category" * mixed
        elif found := readings(cell):
            hint = self._remedy(found) + f", {category} if it is a category" * mixed
        elif is_header:
            hint = f"; {header}"
        elif is_date(cell):
            hint = f"; write numbers, such as days since the first, or --drop {option}"
        elif mixed:
            hint = f", but other cells of the column are numbers{hint}"
        return f"{where}: {_SHOWN.repr(cell)} is not a number{hint}"

    def _remedy(self, found: Mapping[str, Marks]) -> str:
        """How to say which number a cell means that was written with other marks."""
        if self.file.form == "parquet":
            return f"; write {' or '.join(found)}"
        meant = (f"{str(marks) or '--decimal .'} if it means {text}" for text, marks in found.items())
        return "; " + ", ".join(meant)


def reading_code(
    file: File, table: Table, features: Sequence[int], label: int, grouping: int | None = None
) -> tuple[str, ...]:
    """Python that reads the file by the same call, and sets `X` and `y` to the values of the table.

    Columns that pandas leaves as text, such as decimals, are converted. The lines are none if the values
    would be others even so.
    """
    import pandas as pd

    labels = file.frame.columns.tolist()
    if not file.call or not all(isinstance(one, (str, int, float)) for one in labels):
        return ()  # such as dates
    frame = file.frame.iloc[:, list(features)]
    numeric = [j for j, one in enumerate(table.categories) if one is None]
    nominal = [j for j, one in enumerate(table.categories) if one is not None]
    try:
        numbers = frame.iloc[:, numeric].astype(np.float64).to_numpy(na_value=np.nan)
        groups = [pd.factorize(one)[0] for j in nominal for one in (frame.iloc[:, j], table.X[:, j])]
    except (TypeError, ValueError):  # lists, say
        return ()
    same = all(np.array_equal(*pair) for pair in zip(groups[::2], groups[1::2], strict=True))
    if not same or not np.array_equal(numbers, table.X[:, numeric], equal_nan=True):
        return ()
    converted = [labels[features[j]] for j in numeric if not _is_numeric(frame.iloc[:, j])]
    target = _target_type(file.frame.iloc[:, label], table.y)
    if target is None:
        return ()
    names = [labels[place] for place in features]
    others = [one for place, one in enumerate(labels) if place not in features]
    dropped = f"data.drop(columns={others if len(others) > 1 else others[0]!r})"
    X = min(f"data[{names!r}]", dropped, key=len)
    if converted:
        types = ", ".join(f"{name!r}: float" for name in converted)
        X += ".astype(float)" if len(converted) == len(names) else f".astype({{{types}}})"
    from ..reporting import has_misleading_labels

    if any(table.categorical) and has_misleading_labels(names):
        X += f".set_axis(range({len(names)}), axis=1)"
    y = f"data[{labels[label]!r}]" + (f".astype({target})" if target else "")
    code = f"data = {file.call}", f"X, y = {X}, {y}"
    if grouping is None:
        return code
    held = file.frame.iloc[:, grouping]
    codes = pd.factorize(held)[0], pd.factorize(pd.Series(table.groups))[0]
    if codes[0].min() < 0 or not np.array_equal(*codes):
        return ()
    return *code, f"groups = data[{labels[grouping]!r}]"


def _is_numeric(column: pd.Series[Any]) -> bool:
    kind = column.dtype.kind
    return kind == "f" or (kind in "iu" and bool(abs(column).max() < EXACT))


def _target_type(column: pd.Series[Any], y: Array) -> str | None:
    """The type that the code must convert the target to; empty if it need not, None if none helps.

    The same values as numbers, or names in the same order: their order settles tied votes.
    """
    from .._labels import encode_labels

    for name in ("", "float", "str"):
        try:
            found: Any = (column.astype(name) if name else column).to_numpy()  # type: ignore[call-overload]
            if y.dtype.kind in "iuf":
                same = found.dtype.kind in "iuf" and np.array_equal(found, y)
            else:
                same = np.array_equal(encode_labels(found).codes, encode_labels(y).codes)
        except (TypeError, ValueError):
            continue
        if same:
            return name
    return None
