"""Tables of comma-separated values, as their manifests describe them."""

from __future__ import annotations

import csv

import numpy as np
from numpy.typing import NDArray

from ._download import DatasetError, file_path
from ._manifest import Manifest, Table


def parse(manifest: Manifest, blob: bytes) -> dict[str, NDArray[np.float64]]:
    """Return the columns of a file in its order, without those that the manifest omits."""
    table = manifest.table
    if table is None:
        msg = f"{manifest.name} is no table"
        raise TypeError(msg)
    path = file_path(manifest)
    # What is no text becomes a value that is no number, and is reported with its line.
    reader = csv.reader(blob.decode("utf-8", errors="replace").splitlines())
    rows = []
    for row in reader:
        if not row or (table.header and reader.line_num == 1):
            continue
        where = f"{path}, line {reader.line_num}"
        if len(row) != len(table.fields):
            msg = f"{where}: {len(table.fields)} fields expected, got {len(row)}"
            raise DatasetError(msg)
        pairs = zip(table.fields, row, strict=True)
        rows.append([_number(table, name, value, where) for name, value in pairs])
    columns = np.array(rows, dtype=np.float64).reshape(-1, len(table.fields)).T
    return {
        name: column for name, column in zip(table.fields, columns, strict=True) if name not in table.omit
    }


def _number(table: Table, name: str, value: str, where: str) -> float:
    if value == table.missing:
        return np.nan
    codes = table.codes.get(name)
    try:
        return float(value) if codes is None else codes[value]
    except (ValueError, KeyError):
        allowed = "a number" if codes is None else f"one of {', '.join(codes)}"
        msg = f"{where}: {name} must be {allowed}, got {value!r}"
        raise DatasetError(msg) from None
