"""What the command ``score`` scores: a table that the options name, or the bundled one."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..kernel import Variant
from .input_table import Table, read_table


@dataclass(frozen=True, eq=False)
class Data:
    """What is scored.

    Attributes
    ----------
    source : str
        Where it came from.
    X : float64 ndarray of shape (n_items, n_features)
        The features, scaled where `standardized`.
    y : ndarray of shape (n_items,)
        The targets.
    notes : tuple of str
        What the user should know.
    groups : ndarray of shape (n_items,), or None
        The group of every sample, where a column of groups was named.
    groups_name : str or None
        The name of that column.
    standardized : bool
        Whether the features have zero mean and unit standard deviation over all samples.
    """

    source: str
    X: Array
    y: Array
    notes: tuple[str, ...] = ()
    groups: Array | None = None
    groups_name: str | None = None
    standardized: bool = False


def read_data(args: argparse.Namespace, rule: Variant) -> Data:
    """The table that the options name, or the bundled one.

    Raises
    ------
    ValueError
        If the table cannot be used, or the rule wants numbers for a target that is text.
    """
    if args.file is None:
        from ..datasets import load_wine

        wine = load_wine()
        # The raw columns differ in scale by thousands: one of them alone would decide who is near.
        scale = args.standardize is not False
        X = standardized(wine.X) if scale else wine.X
        return Data("wine (bundled; no file was given)", X, wine.y, standardized=scale)
    table = read_table(
        args.file,
        args.target,
        delimiter=args.delimiter,
        header=args.header,
        drop=args.drop,
        groups=args.groups,
    )
    y = table.y
    if rule.target == "values" and y.dtype.kind == "U":  # large numbers are kept as text, lest labels merge
        y = _numbers(y, rule, table)
    scale = bool(args.standardize)
    X = standardized(table.X) if scale else table.X
    return Data(table.source, X, y, table.notes, table.groups, table.groups_name, scale)


def standardized(X: Array) -> Array:
    """The columns with zero mean and unit standard deviation (that of all samples); constant ones are 0.

    Parameters
    ----------
    X : float64 ndarray of shape (n_items, n_features)
        Finite values of any magnitude.

    Returns
    -------
    float64 ndarray of shape (n_items, n_features)
    """
    # Powers of two change no digit, and keep the squares of large and small values within range.
    exponents = np.frexp(np.abs(X).max(axis=0))[1]
    scaled = np.ldexp(X, -exponents)
    centered = scaled - scaled.mean(axis=0)
    varies = X.max(axis=0) > X.min(axis=0)  # a mean is rounded, so that constants may seem to deviate
    out: Array = np.zeros_like(X)
    np.divide(centered, scaled.std(axis=0), out=out, where=varies)
    return out


def _numbers(cells: Array, rule: Variant, table: Table) -> Array:
    values = np.empty(len(cells))
    for i, cell in enumerate(cells.tolist()):
        try:
            values[i] = float(cell)
        except ValueError:
            remedy = "choose another by --target, or a variant for classes, such as knn"
            if i == 0 and not table.has_header:
                remedy = f"--header if the first line names the columns; else {remedy}"
            msg = (
                f"variant {rule.name!r} needs a number as every item's target, but column "
                f"{table.target_name!r} holds {cell!r}; {remedy}"
            )
            raise ValueError(msg) from None
    return values
