"""The data and the rule of the commands ``score`` and ``curve``: a table from a file, or the wine data."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .options import refuse
from .reader import Format
from .table import Table, read_table

if TYPE_CHECKING:
    from ..kernel import Variant

MIXED_METRICS = ("heom", "hvdm")
"""Distances that measure categorical and missing values; the others measure numbers."""
OF_A_FILE = ("target", "drop", "groups", "categorical", *Format._fields)


def table_of(args: argparse.Namespace, *, mixed: bool) -> Table:
    """The table that the options name; `mixed` allows categories and missing values among its features."""
    return read_table(
        args.file,
        args.target,
        Format(*(getattr(args, name) for name in Format._fields)),
        drop=args.drop,
        groups=getattr(args, "groups", None),
        mixed=mixed,
        categorical=args.categorical,
    )


def check_options(args: argparse.Namespace) -> None:
    """Raise ValueError if an option describes a file and there is none, or does not suit the metric."""
    given = [name for name in OF_A_FILE if getattr(args, name, None) not in (None, [])]
    refuse(args.file is None and given, f"--{''.join(given[:1])} describes a file, but none was given")
    if (metric := getattr(args, "metric", None)) is None:  # the command chooses it
        return
    mixed, suits = metric in MIXED_METRICS, f"not to {metric}"
    refuse(args.categorical and not mixed, f"--categorical belongs to --metric heom or hvdm, {suits}")
    refuse(args.p is not None and metric != "minkowski", f"--p belongs to --metric minkowski, {suits}")
    scales = f"--standardize cannot be given with --metric {metric}, which scales every column itself"
    refuse(mixed and args.standardize, scales)


def metric_in_words(args: argparse.Namespace) -> str:
    """The metric and its parameter."""
    return args.metric if args.p is None else f"{args.metric} (p={args.p:g})"


def rule_of(name: str, given: dict[str, tuple[str, Any]]) -> Variant:
    """The rule of that name; ValueError if there is none, or if an option is not for it."""
    from ..variants import get_variant

    rule = get_variant(name)
    for parameter, (option, _) in given.items():
        allowed = f"its parameters: {', '.join(rule.parameters) or 'none'}"
        unknown = f"{option} is not a parameter of variant {rule.name!r}; {allowed}"
        refuse(parameter not in rule.parameters, unknown)
    return rule


def read_data(args: argparse.Namespace, rule: Variant) -> tuple[Table, Variant]:
    """The table that the options name, or the bundled one, and the rule.

    The rule is regression if none was asked for and the target is a quantity, as it is in a report.

    Raises
    ------
    ValueError
        If the table cannot be used, or the rule needs numbers and the target is text.
    """
    from .._labels import task_of
    from ..tuning import standardized
    from ..variants import get_variant

    mixed = args.metric in MIXED_METRICS  # these metrics scale every column themselves
    if args.file is None:
        from ..datasets import load_wine

        wine = load_wine()
        table = Table(
            "wine (bundled; no file was given)", wine.X, wine.y, wine.feature_names, "class", True
        )
        table = replace(table, categorical=(False,) * len(wine.feature_names))
        # The raw columns differ in scale by thousands: a single one would determine the distances.
        scale = args.standardize is not False and not mixed
    else:
        table, scale = table_of(args, mixed=mixed), bool(args.standardize)
    task, reason = task_of(table.y)
    column, is_whole = f"column {table.target_name!r}", table.y.dtype.kind == "i"
    notes = table.notes
    if task == "regression" and args.variant is None:
        rule = get_variant("regression")
        classes = "; --variant knn takes each number as a class" * is_whole
        notes += (f"{column} is taken as a quantity and predicted by regression, since {reason}{classes}",)
    elif task == "regression" and rule.target == "classes" and is_whole:
        notes += (f"{column} may be a quantity, since {reason}; --variant regression predicts it",)
    if rule.target == "values" and table.y.dtype.kind == "U":  # large numbers are text: labels do not merge
        table = replace(table, y=_numbers(table, rule))
    X = standardized(table.X) if scale else table.X
    return replace(table, X=X, notes=notes, standardized=scale), rule


def _numbers(table: Table, rule: Variant) -> Any:
    import numpy as np

    try:
        return np.array(table.y.tolist(), float)
    except ValueError as error:
        header = "--header if the first line names the columns; otherwise " * (not table.has_header)
        msg = (
            f"variant {rule.name!r} needs a number as every sample's target, but column "
            f"{table.target_name!r} holds {str(error).rpartition(': ')[2]}; {header}choose another column "
            "with --target, or a variant for classes, such as knn"
        )
        raise ValueError(msg) from None


def neighbors_or_features(
    args: argparse.Namespace, table: Table, rule: Variant
) -> tuple[Any, dict[str, Any]]:
    """The neighbors of a mixed table, or its features and the metric of a numeric one."""
    if args.metric not in MIXED_METRICS:
        params = None if args.p is None else {"p": args.p}
        return table.X, {"metric": args.metric, "metric_params": params}
    from ..hvdm import HEOM, HVDM, IdentifierWarning

    if args.metric == "heom":
        return HEOM(nominal=table.categorical).fit(table.X).neighbors(), {}
    no_classes = f"but variant {rule.name!r} has no classes; use --metric heom"
    refuse(rule.target != "classes", f"--metric hvdm compares categories by classes, {no_classes}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)  # a note on the column reports it
        return HVDM(nominal=table.categorical).fit(table.X, table.y).neighbors(), {}
