"""The data of the commands: a table and its rule, from a file or bundled."""

from __future__ import annotations

import reprlib
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.refusals import refuse
from .._base.validation import names_apart
from ..reporting import MIXED, Choice, Format, Table, remarks_of_score, table_in
from .commands import given, option, refuse_without
from .output import print_notes

if TYPE_CHECKING:
    from ..kernel import Variant

OF_SCALE = ("euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski")
"""Distances that columns of large values decide."""
BUNDLED = ("from knnccv.datasets import load_wine", "wine = load_wine()", "X, y = wine.X, wine.y")
"""Python that reads the bundled data."""
OF_A_FILE = ("target", "drop", "groups", "categorical", "test", *Format._fields)


def table_of(args: Namespace, *, mixed: bool) -> Table:
    """The table that the options name, or the bundled one.

    `mixed` allows categories and missing values among the features.
    """
    if args.file is None:
        from ..datasets import load_wine

        wine = load_wine()
        of = {"source": "wine (bundled; no file was given)", "target_name": "class", "code": BUNDLED}
        return Table.of(list(wine.X.T), wine.feature_names, [False] * len(wine.X.T), wine.y, **of)
    return table_in(args.file, _choice(args), _format(args), mixed=mixed)


def _choice(args: Namespace) -> Choice:
    """The columns and rows that the options name."""
    rows = args.keep_missing_target, args.drop_incomplete
    return Choice(args.target, args.drop, args.groups, args.categorical, *rows)


def _format(args: Namespace) -> Format:
    return Format(*(getattr(args, name) for name in Format._fields))


def test_table(args: Namespace, table: Table) -> Table:
    """The table of the option --test, with the features of the table in their order.

    Raises
    ------
    ValueError
        If it cannot be used, or has other features.
    """
    target = table.target_name if table.has_header else args.target
    choice = _choice(args)._replace(target=target, drop=table.left_out, groups=None, categorical=())
    tested = table_in(args.test, choice, _format(args), is_test=True)
    names = tested.names
    apart = names_apart(table.names, names, "among them")
    refuse(apart, f"{tested.source} must have the features of {table.source}, each name once: {apart}")
    return replace(tested, X=tested.X[:, [names.index(name) for name in table.names]])


def _for_rule(table: Table, rule: Variant) -> Table:
    """The table, with a target of numbers if the rule needs them: large ones were read as text."""
    if rule.target != "values" or table.y.dtype.kind != "U":
        return table
    try:
        return replace(table, y=np.array(table.y.tolist(), float))
    except ValueError as error:
        text = f"column {table.target_name!r} of {table.source} holds {str(error).rpartition(': ')[2]}"
        header = "--header if the first line names the columns; otherwise " * (not table.has_header)
        remedy = f"{header}choose another column with --target, or a variant for classes, such as knn"
        msg = f"variant {rule.name!r} needs a number as every sample's target, but {text}; {remedy}"
        raise ValueError(msg) from None


def check_options(args: Namespace) -> None:
    """Raise ValueError if an option describes a file and there is none, or does not suit the metric."""
    for name in given(args, OF_A_FILE):
        refuse(args.file is None, f"{option(name)} describes a file, but none was given")
    if (metric := getattr(args, "metric", None)) is None:  # the command chooses it
        return
    mixed, suits = metric in MIXED, f"not to {metric}"
    refuse(mixed and args.test, f"--test is for tables of numbers, not for --metric {metric}")
    refuse_without(mixed, f"--metric heom or hvdm, {suits}", args, "categorical")
    refuse_without(metric == "minkowski", f"--metric minkowski, {suits}", args, "p")
    scales = f"--scaling cannot be given with --metric {metric}, which scales every column itself"
    refuse(mixed and scaling_of(args), scales)


def scaling_of(args: Namespace) -> str | None:
    """How the features are scaled."""
    if args.scaling is None and args.file is None and args.metric not in MIXED:
        # The bundled columns differ in scale by thousands: a single one would determine the distances.
        return "standard"
    return None if args.scaling == "none" else args.scaling


def metric_in_words(args: Namespace) -> str:
    """The metric and its parameter."""
    return args.metric if args.p is None else f"{args.metric} (p={args.p:g})"


def rule_of(name: str, given: Mapping[str, Any]) -> Variant:
    """The rule of that name; ValueError if there is none, TypeError if it has no such parameter."""
    from ..kernel.registry import get_variant

    rule = get_variant(name)
    rule.settings(given)
    return rule


@dataclass(frozen=True, eq=False)
class Problem:
    """What the commands ``score`` and ``curve`` ask about.

    Attributes
    ----------
    table : Table
    rule : Variant
    X : ndarray or Neighbors
        The features, or the neighbors of a mixed table.
    given : dict
        The parameters of the rule.
    how : dict
        The arguments of the functions that score it: metric, ties, average and threads.
    """

    table: Table
    rule: Variant
    X: Any
    given: Mapping[str, Any]
    how: dict[str, Any]


def read_problem(args: Namespace, given: Mapping[str, Any]) -> Problem:
    """The table that the options name, or the bundled one, and the rule; prints notes.

    The rule is regression if none was asked for and the target is a quantity, as it is in a report.

    Raises
    ------
    ValueError
        If the table cannot be used, or the rule needs numbers and the target is text.
    """
    from .._base.labels import task_of
    from .._core.luck.runs import scaled
    from ..kernel.registry import get_variant

    rule, scaling = rule_of(args.variant or "knn", given), scaling_of(args)
    table = table_of(args, mixed=args.metric in MIXED)
    task, reason = task_of(table.y)
    column, is_whole = f"column {table.target_name!r}", table.y.dtype.kind == "i"
    notes = table.notes
    if task == "regression" and args.variant is None:
        rule = get_variant("regression")
        classes = "; --variant knn takes each number as a class" * is_whole
        notes += (f"{column} is taken as a quantity and predicted by regression, since {reason}{classes}",)
    elif task == "regression" and rule.target == "classes" and is_whole:
        notes += (f"{column} may be a quantity, since {reason}; --variant regression predicts it",)
    numeric, table = rule.target == "values", _for_rule(table, rule)
    same = f"every label of {table.source} is {table.y[0]!s}: name another --target, or add other classes"
    refuse(rule.target == "classes" and args.test is None and (table.y == table.y[0]).all(), same)
    raw = table.X
    how = {"ties": args.ties, "average": args.average, "n_jobs": args.jobs}
    tested = None if args.test is None else test_table(args, table)
    both = table.X if tested is None else np.concatenate([table.X, tested.X])
    both = scaled(both, scaling) if scaling else both
    if tested is not None:
        tested = _for_rule(tested, rule)
        notes += tested.notes
        alike = not numeric and table.y.dtype.kind == tested.y.dtype.kind
        strange = [] if not alike else sorted(set(map(str, tested.y)) - set(map(str, table.y)))
        if strange:
            labels = f"the labels {reprlib.repr(strange)} of {tested.source}"
            notes += (f"no sample of {table.source} has {labels}",)
        how["test"] = both[len(table.X) :], tested.y
        table = replace(table, test=tested)
    task = "regression" if numeric else "classification"
    table = replace(table, X=both[: len(table.X)], scaling=scaling, task=task)
    print_notes(notes)
    X, measured_by = neighbors_or_features(args, table, rule)
    if args.file is not None:
        unscaled = replace(table, X=raw)
        print_notes(remarks_of_score(unscaled, args.metric in OF_SCALE and scaling is None))
    return Problem(table, rule, X, given, how | measured_by)


def neighbors_or_features(args: Namespace, table: Table, rule: Variant) -> tuple[Any, dict[str, Any]]:
    """The neighbors of a mixed table, or its features and the metric of a numeric one."""
    if args.metric not in MIXED:
        params = None if args.p is None else {"p": args.p}
        return table.X, {"metric": args.metric, "metric_params": params}
    no_classes = f"but variant {rule.name!r} has no classes; use --metric heom"
    unsuited = args.metric == "hvdm" and rule.target != "classes"
    refuse(unsuited, f"--metric hvdm compares categories by classes, {no_classes}")
    one_by_one = getattr(args, "leave_out", None) in (None, 1)
    return table.neighbors(args.metric, table.groups if one_by_one else None), {}
