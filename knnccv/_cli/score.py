"""The command ``score``: the exact score of a table, and random runs of the same experiment."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._parallel import one_bar
from .._typing import Array
from .._validation import check_integer
from ..designs import Design, LeaveGroupsOut, as_design
from ..inference import InferenceWarning
from ..kernel import Compiling, Variant
from ..montecarlo import MonteCarloCV, monte_carlo_cv
from ..neighbors import Neighbors, SupervisedDistanceWarning
from ..results import CompleteCV, complete_cv
from ..variants import get_variant
from .certainty import Certainty
from .options import MIXED_METRICS
from .score_answer import Answer
from .score_data import Data

COMPILES_ONCE = (
    "knnccv: compiling once the kernels of this rule (about 10 s, or 30 s if different labels tie)"
)
"""The message when a kernel is not in the cache; the seconds are those of a machine with two processors."""


def rule_for(name: str, given: Mapping[str, tuple[str, Any]]) -> Variant:
    """The variant of that name, checked to take the parameters that the options give.

    Raises
    ------
    ValueError
        If there is no such variant, or an option is not for it.
    """
    rule = get_variant(name)
    for parameter, (option, _) in given.items():
        if parameter not in rule.parameters:
            allowed = ", ".join(rule.parameters) or "none"
            msg = f"{option} is not a parameter of variant {rule.name!r}; its parameters: {allowed}"
            raise ValueError(msg)
    return rule


def compute(
    args: argparse.Namespace,
    data: Data,
    rule: Variant,
    parameters: dict[str, Any],
    cv: Any,
    against: tuple[Variant, dict[str, Any]] | None = None,
) -> Answer:
    """Compute the exact score, those of the random runs, and how far it can be trusted.

    `against` is another rule to compare with, and its parameters.

    Raises
    ------
    ValueError, TypeError
        If the design or a parameter does not suit the table.
    """
    if data.groups is not None:
        n_groups = len(set(data.groups.tolist()))
        check_integer("--leave-out", cv.p, 1, max(n_groups - 1, 1), f"as there are {n_groups} groups")
        cv = LeaveGroupsOut(data.groups, cv.p)
    elif rule.target == "classes":
        cv = _with_labels(cv, data.y)
    X, measured_by = neighbors_or_features(args, data, rule)
    asked: dict[str, Any] = {
        **measured_by,
        "ties": args.ties,
        "average": _average(args, data, rule),
        "n_jobs": args.jobs,
    }
    with Compiling(COMPILES_ONCE) as compiling, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", SupervisedDistanceWarning)
        warnings.simplefilter("always", InferenceWarning)
        _compile(rule, cv, args)
        how = {**asked, **parameters, "random_state": args.seed}
        with one_bar(args.progress):
            before = compiling.seconds
            complete = complete_cv(X, data.y, rule, cv, exact=args.exact, **how)
            _leave_out(compiling.seconds - before, complete)
            confusion = complete.confusion(normalize="true") if args.confusion else None
            runs = None
            if args.repeats:
                before = compiling.seconds
                runs = monte_carlo_cv(X, data.y, rule, cv, n_repeats=args.repeats, **how)
                _leave_out(compiling.seconds - before, runs)
            other = None
            if against is not None:
                other = complete_cv(X, data.y, against[0], cv, **asked, **against[1])
            certainty = Certainty.of(complete, other, args.interval, args.rope, args.seed)
    notes = tuple(dict.fromkeys(str(warning.message) for warning in warned))
    metric = args.metric if args.p is None else f"{args.metric} (p={args.p:g})"
    is_optimistic = any(issubclass(warning.category, SupervisedDistanceWarning) for warning in warned)
    return Answer(
        data,
        complete,
        runs,
        rule,
        cv,
        metric,
        args.seed,
        certainty,
        confusion,
        args.per_item,
        notes,
        is_optimistic,
    )


def neighbors_or_features(
    args: argparse.Namespace, data: Data, rule: Variant
) -> tuple[Neighbors | Array, dict[str, Any]]:
    """The neighbors of a mixed table, or its features and the metric of a numeric one."""
    if args.metric not in MIXED_METRICS:
        return data.X, {"metric": args.metric, "metric_params": None if args.p is None else {"p": args.p}}
    from ..hvdm import HEOM, HVDM, IdentifierWarning

    if args.metric == "heom":
        return HEOM(nominal=data.categorical).fit(data.X).neighbors(), {}
    if rule.target != "classes":
        msg = (
            f"--metric hvdm compares categories by classes, but variant {rule.name!r} has no classes; "
            "use --metric heom"
        )
        raise ValueError(msg)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)  # a note on the column reports it
        return HVDM(nominal=data.categorical).fit(data.X, data.y).neighbors(), {}


def _leave_out(seconds: float, found: CompleteCV | MonteCarloCV) -> None:
    """Subtract the time of compilation from the time of a result that is not shared yet."""
    object.__setattr__(found, "seconds", max(found.seconds - seconds, 0.0))


def _compile(rule: Variant, cv: Any, args: argparse.Namespace) -> None:
    """Score a few made-up samples by the same rule, so that the answer's time contains no loading.

    No samples tie. The kernels for ties are compiled later, if the table has some.
    """
    y = np.arange(32) % 2
    X: Any = np.arange(32.0)[:, None] ** 1.5
    tiny: Any = 2
    if isinstance(cv, Design):
        tiny = as_design(2, stratified=cv.stratifies)
    if isinstance(cv, LeaveGroupsOut):
        tiny = LeaveGroupsOut(np.arange(32) // 8, min(cv.p, 2))
    # A rule that these defaults do not suit is compiled later, and raises its errors then.
    with contextlib.suppress(ValueError, TypeError), warnings.catch_warnings():
        warnings.simplefilter("ignore", SupervisedDistanceWarning)
        if args.metric in MIXED_METRICS:
            mixed = Data("", np.column_stack([X, y]), y, categorical=(False, True))
            X, _ = neighbors_or_features(args, mixed, rule)
        complete_cv(X, y, rule, tiny, ties=args.ties)
        monte_carlo_cv(X, y, rule, tiny, ties=args.ties, n_repeats=1)


def _with_labels(cv: Any, y: Array) -> Any:
    """Replace the typed labels of --per-class by the labels of the table."""
    per_class = getattr(cv, "per_class", None)
    if not isinstance(per_class, Mapping):
        return cv
    return replace(cv, per_class=_by_label("--per-class", per_class, y))


def _average(args: argparse.Namespace, data: Data, rule: Variant) -> Any:
    """The average that the options ask for.

    Raises
    ------
    ValueError
        If --priors does not suit the rule or the labels, or --average is given as well.
    """
    if args.priors is None:
        return args.average
    if args.average != "pooled":
        msg = f"--priors takes the place of --average {args.average}; give one of them"
        raise ValueError(msg)
    if rule.target != "classes":
        msg = f"--priors needs classes, but variant {rule.name!r} has none"
        raise ValueError(msg)
    return _by_label("--priors", args.priors, data.y)


def _by_label(option: str, typed_values: Mapping[str, Any], y: Array) -> dict[Any, Any]:
    """The values of typed labels, by the labels of the table; every label must be named."""
    labels = {str(label): label for label in np.unique(y).tolist()}
    for typed in typed_values:
        if typed not in labels:
            closest = difflib.get_close_matches(typed, labels, n=1, cutoff=0.5)
            hint = f"; did you mean {closest[0]!r}?" if closest else ""
            msg = f"{option} names an unknown class {typed!r}; choose from: {', '.join(labels)}{hint}"
            raise ValueError(msg)
    missing = [label for label in labels if label not in typed_values]
    if missing:
        msg = f"{option} must name every class; missing: {', '.join(missing)}"
        raise ValueError(msg)
    return {labels[typed]: value for typed, value in typed_values.items()}
