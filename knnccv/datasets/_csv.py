"""Data sets whose file is a table of comma-separated values, read as their manifests describe it."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _download
from ._dataset import Dataset
from ._download import DatasetError, file_path
from ._manifest import Manifest, Table, load_manifest

Columns = dict[str, NDArray[np.float64]]


def read_columns(name: str) -> tuple[Manifest, Columns]:
    """The manifest of a data set, and the columns of its table; fetched unless it is bundled."""
    manifest = load_manifest(name)
    if manifest.bundled:
        return manifest, parse(manifest, file_path(manifest).read_bytes())
    (blob,) = _download.fetch(manifest).values()
    return manifest, parse(manifest, blob)


def classification(manifest: Manifest, columns: Columns, note: str = "") -> Dataset:
    """The data set of these columns, among which are the class labels."""
    labels = columns.pop(table_of(manifest).target).astype(np.int64)
    return as_dataset(manifest, columns, labels, manifest.target_names, note)


def as_dataset(
    manifest: Manifest, features: Columns, y: NDArray[Any], target_names: tuple[str, ...], note: str = ""
) -> Dataset:
    """The data set of these features and targets; `note` describes how they were coded."""
    return Dataset(
        X=np.stack(list(features.values()), axis=1),
        y=np.ascontiguousarray(y),
        feature_names=tuple(features),
        target_names=target_names,
        description=manifest.describe(note),
        citation=manifest.citation,
    )


def table_of(manifest: Manifest) -> Table:
    """The manifest's description of the table; TypeError if the file is not a table."""
    if manifest.table is None:
        msg = f"{manifest.name} is not a table"
        raise TypeError(msg)
    return manifest.table


def parse(manifest: Manifest, blob: bytes) -> Columns:
    """The columns of a file in its order, without those that the manifest omits."""
    table = table_of(manifest)
    path = file_path(manifest)
    # Bytes that are not text become a value that is not a number, which is reported with its line.
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
