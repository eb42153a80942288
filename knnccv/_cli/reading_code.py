"""Python that reads a table from its file as the command did, for the code on the page of a report.

The command splits and checks files by itself. Whether pandas reads the same values is not guessed: the file
is read by pandas, and what differs decides which options are added.
"""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from .._typing import Array
    from .input_table import Layout, Table

READERS = {"text": "read_csv", "parquet": "read_parquet", "Excel": "read_excel"}
KNOWN_ENDINGS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
"""From which pandas infers the compression."""
KNOWN_MARKS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"})
"""Marks of missing values that pandas and the command share."""
_EXACT = 2**53  # larger whole numbers are refused, since float64 rounds them

SAME, ROUNDED, MISSING, OTHER = "same", "rounded", "missing", "other"
"""How a column of pandas differs: in last bits, in values missing for pandas alone, in other ways."""


def reading_lines(file: str, table: Table) -> tuple[str, ...]:
    """Return lines that set `X` and `y`, with pandas as ``pd``.

    Parameters
    ----------
    file : str
        The path as it was given; ``"-"`` is standard input.
    table : Table
        What was read from it.

    Returns
    -------
    tuple of str
        Empty for standard input and pipes, without pandas, and if pandas reads other values.
    """
    layout = table.layout
    if layout is None or file == "-" or not Path(file).is_file():  # a pipe can be read only once
        return ()
    if importlib.util.find_spec("pandas") is None:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _lines(file, table, layout)
    except Exception:  # whatever stops pandas here would stop the page's code
        return ()


def _lines(file: str, table: Table, layout: Layout) -> tuple[str, ...]:
    import pandas as pd

    function, options = READERS[layout.form], _options(file, table, layout)
    frame = getattr(pd, function)(file, **options)
    while faults := _faults(frame, table, layout):
        more = _remedy(faults, table, layout)
        if not more.keys() - options.keys():  # nothing that was not tried
            return ()
        options |= more
        frame = getattr(pd, function)(file, **options)
    if not all(isinstance(label, (str, int, float)) for label in frame.columns.tolist()):
        return ()  # such as dates
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    X, y = _selected(frame, table, layout)
    return f"data = pd.{function}({file!r}{given})", f"X, y = {X}, {y}"


def _options(file: str, table: Table, layout: Layout) -> dict[str, Any]:
    """The arguments of pandas that say how the command read the file."""
    if layout.form == "parquet":
        return {}
    options: dict[str, Any] = {}
    if layout.form == "Excel":
        if layout.how.sheet is not None:
            options["sheet_name"] = layout.how.sheet
    else:
        if layout.delimiter != ",":
            options["sep"] = r"\s+" if layout.delimiter == " " else layout.delimiter
        inferred = KNOWN_ENDINGS.get(Path(file).suffix.lower(), "")
        if layout.compression != inferred:
            options["compression"] = layout.compression or None
    options |= {name: mark for name in ("decimal", "thousands") if (mark := getattr(layout.how, name))}
    if not table.has_header:
        options["header"] = None
    if marks := sorted(set(table.missing) - KNOWN_MARKS):
        options["na_values"] = marks
    return options


def _remedy(faults: set[str], table: Table, layout: Layout) -> dict[str, Any]:
    """More arguments, against the worst that differs; the rest may follow from it."""
    if layout.form == "text":
        if OTHER in faults:
            return {"skipinitialspace": True}
        if MISSING not in faults:
            return {"float_precision": "round_trip"}  # the default before pandas 3.1 rounds
    if layout.form == "parquet" or MISSING not in faults:
        return {}
    marks = {"na_values": sorted(table.missing)} if table.missing else {}
    return {"keep_default_na": False, **marks}


def _faults(frame: pd.DataFrame, table: Table, layout: Layout) -> set[str]:
    """In which ways a data frame differs from the table; empty if the same score comes from both."""
    if frame.shape != (len(table.y), layout.n_columns):
        return {OTHER}
    faults = {_target_fault(frame.iloc[:, layout.target], table.y)}
    for j, place in enumerate(layout.features):
        check = _number_fault if table.categories[j] is None else _category_fault
        faults.add(check(frame.iloc[:, place], table.X[:, j]))
    return faults - {SAME}


def _number_fault(column: pd.Series[Any], values: Array) -> str:
    """How a feature of numbers differs after `_as_float`."""
    import numpy as np

    try:
        found = column.astype(np.float64) if _as_float(column) else column
        numbers = found.to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return OTHER
    if not np.array_equal(np.isnan(numbers), np.isnan(values)):
        return OTHER
    return SAME if np.array_equal(numbers, values, equal_nan=True) else ROUNDED


def _as_float(column: pd.Series[Any]) -> bool:
    """Whether the code must convert a column of numbers: decimals, texts, or large whole numbers."""
    kind = column.dtype.kind
    if kind in "iu":
        return bool(((column > _EXACT) | (column < -_EXACT)).any())
    return kind != "f"


def _category_fault(column: pd.Series[Any], codes: Array) -> str:
    """How a categorical feature differs; only which values are equal matters."""
    import numpy as np
    import pandas as pd

    found, expected = pd.factorize(column)[0], pd.factorize(codes)[0]  # -1 for missing values
    if ((found < 0) & (expected >= 0)).any():
        return MISSING
    return SAME if np.array_equal(found, expected) else OTHER


def _target_fault(column: pd.Series[Any], y: Array) -> str:
    """How the target differs after `_target_type`."""
    if column.isna().any():
        return MISSING
    return OTHER if _target_type(column, y) is None else SAME


def _target_type(column: Any, y: Array) -> str | None:
    """The type that the code must convert the target to; empty if it need not, None if none helps.

    The same values as numbers, or names in the same order: their order settles tied votes.
    """
    import numpy as np

    from .._labels import encode_labels

    for name in ("", "float", "str"):
        try:
            found = (column.astype(name) if name else column).to_numpy()
            if y.dtype.kind in "iuf":
                same = found.dtype.kind in "iuf" and np.array_equal(found, y)
            else:
                same = np.array_equal(encode_labels(found).codes, encode_labels(y).codes)
        except (TypeError, ValueError):
            continue
        if same:
            return name
    return None


def _selected(frame: pd.DataFrame, table: Table, layout: Layout) -> tuple[str, str]:
    """Python that selects the features and the target of ``data``."""
    from ..reporting import has_misleading_labels

    labels = frame.columns.tolist()
    names = [labels[place] for place in layout.features]
    others = [labels[place] for place in range(layout.n_columns) if place not in layout.features]
    dropped = f"data.drop(columns={others if len(others) > 1 else others[0]!r})"
    X = min(f"data[{names!r}]", dropped, key=len)
    converted = [
        labels[place]
        for j, place in enumerate(layout.features)
        if table.categories[j] is None and _as_float(frame.iloc[:, place])
    ]
    if converted:
        types = "float" if len(converted) == len(names) else _typed(converted)
        X += f".astype({types})"
    if any(table.categorical) and has_misleading_labels(names):
        X += f".set_axis(range({len(names)}), axis=1)"
    y = f"data[{labels[layout.target]!r}]"
    name = _target_type(frame.iloc[:, layout.target], table.y)
    return X, f"{y}.astype({name})" if name else y


def _typed(names: list[Any]) -> str:
    return "{" + ", ".join(f"{name!r}: float" for name in names) + "}"
