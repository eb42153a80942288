"""The data of the command ``score``: a table from a file, or the bundled wine data."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .._labels import task_of
from .._scaling import standardized
from .._typing import Array
from ..kernel import Variant
from .file_format import FileFormat
from .input_table import Table, read_table
from .options import MIXED_METRICS


@dataclass(frozen=True, eq=False)
class Data:
    """Features, targets and groups to score; attributes not listed here are those of `Table`.

    Attributes
    ----------
    source : str
        The name of the file, or a description of the bundled data.
    X : float64 ndarray of shape (n_items, n_features)
        The features, scaled if `standardized`. In a mixed table NaN for missing values, and codes from 0 in
        categorical columns.
    standardized : bool
        Whether the features have zero mean and unit standard deviation over all samples.
    categorical_names : tuple of str
        The names of the categorical columns.
    is_quantity : bool
        Whether no rule was asked for, and the target is one for regression, as it is in a report.
    """

    source: str
    X: Array
    y: Array
    notes: tuple[str, ...] = ()
    groups: Array | None = None
    groups_name: str | None = None
    standardized: bool = False
    categorical: tuple[bool, ...] = ()
    categorical_names: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    is_quantity: bool = False


def read_data(args: argparse.Namespace, rule: Variant) -> Data:
    """The table that the options name, or the bundled one.

    Raises
    ------
    ValueError
        If the table cannot be used, or the rule needs numbers and the target is text.
    """
    is_mixed = args.metric in MIXED_METRICS  # these metrics scale every column themselves
    if args.file is None:
        from ..datasets import load_wine

        wine = load_wine()
        # The raw columns differ in scale by thousands: a single one would determine the distances.
        scale = args.standardize is not False and not is_mixed
        X = standardized(wine.X) if scale else wine.X
        return Data(
            "wine (bundled; no file was given)", X, wine.y, standardized=scale, categorical=(False,) * 13
        )
    table = read_table(
        args.file,
        args.target,
        FileFormat.of(args),
        drop=args.drop,
        groups=args.groups,
        mixed=is_mixed,
        categorical=args.categorical,
    )
    y = table.y
    task, reason = task_of(y)
    is_quantity = task == "regression" and args.variant is None
    notes = table.notes
    if task == "regression" and rule.target == "classes" and (is_quantity or y.dtype.kind == "i"):
        notes = (*notes, _quantity_note(table, reason, is_quantity))
    if (
        rule.target == "values" and y.dtype.kind == "U"
    ):  # large numbers are text, so that labels do not merge
        y = _numbers(y, rule, table)
    scale = bool(args.standardize)
    X = standardized(table.X) if scale else table.X
    pairs = zip(table.feature_names, table.categorical, strict=True)
    names = tuple(name for name, is_categorical in pairs if is_categorical)
    return Data(
        table.source,
        X,
        y,
        notes,
        table.groups,
        table.groups_name,
        scale,
        table.categorical,
        names,
        table.missing,
        is_quantity,
    )


def _quantity_note(table: Table, reason: str, is_chosen: bool) -> str:
    """A note on a target that looks like a quantity, with a rule for classes or without one."""
    column = f"column {table.target_name!r}"
    if not is_chosen:
        return f"{column} may be a quantity, since {reason}; --variant regression predicts it"
    classes = "; --variant knn takes each number as a class" if table.y.dtype.kind == "i" else ""
    return f"{column} is taken as a quantity and predicted by regression, since {reason}{classes}"


def _numbers(cells: Array, rule: Variant, table: Table) -> Array:
    values = np.empty(len(cells))
    for i, cell in enumerate(cells.tolist()):
        try:
            values[i] = float(cell)
        except ValueError:
            remedy = "choose another column with --target, or a variant for classes, such as knn"
            if i == 0 and not table.has_header:
                remedy = f"--header if the first line names the columns; otherwise {remedy}"
            msg = (
                f"variant {rule.name!r} needs a number as every sample's target, but column "
                f"{table.target_name!r} holds {cell!r}; {remedy}"
            )
            raise ValueError(msg) from None
    return values
