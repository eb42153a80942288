"""The options of the command ``score``: those of the design, and what all of them mean together.

Everything is checked before a file is read. ``--help`` imports nothing heavy.
"""

from __future__ import annotations

import argparse
import ast
import math
import re
from typing import Any

MIXED_METRICS = ("heom", "hvdm")
"""Distances that measure categorical and missing values; the others measure numbers."""
LONGEST_RANGE = 10_000
"""More numbers than any table needs; a range is checked before it is made."""

DESIGNS = """\
designs (give one; the answer is the mean over all splits that the design admits):
  --cv K                       k-fold, stratified unless --no-stratify (never for regression, which has no
                               classes); the default, with K = 5
  --train-size 100             all training sets of 100 samples
  --train-size 0.5             all training sets of half of the samples
  --train-size 0.5 --stratify  ... of half of every class
  --per-class 3                ... of 3 samples of every class
  --per-class a=3,b=5          ... of 3 samples of class a and 5 of class b
  --leave-out P                all test sets of P samples
  --leave-out 1 --stratify     ... of one sample of every class
  --groups patient             all test sets of one patient's samples: leave one group out
  --groups patient --leave-out P
                               ... of P patients
"""
"""What ``--help`` says of the designs."""


def add_design(parser: argparse.ArgumentParser) -> Any:
    """Add the options of the design, and return their group."""
    design = parser.add_argument_group("the design (see below)")
    design.add_argument("--cv", type=int, metavar="K", help="k-fold cross-validation (default: 5)")
    design.add_argument("--train-size", type=size, metavar="SIZE", help="samples, or a fraction of them")
    design.add_argument("--per-class", metavar="N", help="training samples of every class")
    design.add_argument(
        "--leave-out", type=int, metavar="P", help="leave P samples out, or P groups with --groups"
    )
    design.add_argument(
        "--groups",
        metavar="COLUMN",
        help="leave whole groups out: samples with the same text or number in this column, which is then "
        "no feature, are tested together or train together",
    )
    design.add_argument(
        "--stratify",
        action=argparse.BooleanOptionalAction,
        help="the same share of every class (default: with --cv, if there are classes)",
    )
    return design


def choose_design(args: argparse.Namespace) -> Any:
    """The design that the options describe; class labels of --per-class are still text.

    With --groups it is a LeaveOut with the number of groups, as the groups themselves are not read yet.

    Raises
    ------
    ValueError, TypeError
        If the options contradict each other, or a size is not allowed.
    """
    given = [
        option
        for option in ("cv", "train_size", "per_class", "leave_out")
        if getattr(args, option) is not None
    ]
    if len(given) > 1:
        named = ["--" + option.replace("_", "-") for option in given]
        msg = f"{' and '.join(named)} are different designs; give one of them"
        raise ValueError(msg)
    chosen = given[0] if given else "cv"
    if args.groups is not None:
        return _groups_out(chosen if given else "leave_out", args)
    _check_stratify(chosen, args)
    from ..designs import (
        KFold,
        LeaveOut,
        RebalancedLeaveOneOut,
        StratifiedKFold,
        StratifiedSubsample,
        Subsample,
    )

    if chosen == "leave_out" and args.stratify:
        return RebalancedLeaveOneOut()
    if chosen == "train_size":
        size = args.train_size
        return StratifiedSubsample(size) if args.stratify else Subsample(size)
    if chosen == "per_class":
        return StratifiedSubsample(per_class=_per_class(args.per_class))
    if chosen == "leave_out":
        return LeaveOut(args.leave_out)
    n_splits = 5 if args.cv is None else args.cv
    if args.stratify is None:  # complete_cv knows which rules are stratified by default
        StratifiedKFold(n_splits)  # checks the number before any file is read
        return n_splits
    return StratifiedKFold(n_splits) if args.stratify else KFold(n_splits)


def _groups_out(chosen: str, args: argparse.Namespace) -> Any:
    if chosen != "leave_out":
        msg = f"--groups is a design of its own; it cannot be given with --{chosen.replace('_', '-')}"
        raise ValueError(msg)
    if args.stratify:
        msg = "--groups cannot be stratified"
        raise ValueError(msg)
    from .._validation import check_integer
    from ..designs import LeaveOut

    return LeaveOut(check_integer("--leave-out", 1 if args.leave_out is None else args.leave_out, 1))


def _check_stratify(chosen: str, args: argparse.Namespace) -> None:
    if chosen == "per_class" and args.stratify is False:
        msg = "--per-class is stratified; it cannot be given with --no-stratify"
        raise ValueError(msg)
    if chosen == "leave_out" and args.stratify and args.leave_out != 1:
        msg = (
            f"--leave-out {args.leave_out} cannot be stratified, only --leave-out 1 (one sample of every "
            "class together); use --per-class or --train-size with --stratify"
        )
        raise ValueError(msg)
    if chosen == "train_size" and args.stratify and isinstance(args.train_size, int):
        msg = (
            f"--train-size with --stratify must be a fraction of every class, got {args.train_size}; "
            "for a number of samples of every class use --per-class"
        )
        raise ValueError(msg)


def check_file_options(args: argparse.Namespace) -> None:
    """Raise ValueError if an option describes a file and there is none."""
    if args.file is not None:
        return
    needless = {
        "--target": args.target is not None,
        "--drop": bool(args.drop),
        "--delimiter": args.delimiter is not None,
        "--header/--no-header": args.header is not None,
        "--groups": args.groups is not None,
        "--sheet": args.sheet is not None,
        "--decimal": args.decimal is not None,
        "--thousands": args.thousands is not None,
        "--categorical": bool(args.categorical),
    }
    for option, present in needless.items():
        if present:
            msg = f"{option} describes a file, but none was given"
            raise ValueError(msg)


def check_metric_options(args: argparse.Namespace) -> None:
    """Raise ValueError if an option does not suit the metric."""
    if args.p is not None and args.metric != "minkowski":
        msg = f"--p belongs to --metric minkowski, not to {args.metric}"
        raise ValueError(msg)
    if args.categorical and args.metric not in MIXED_METRICS:
        msg = f"--categorical belongs to --metric heom or hvdm, not to {args.metric}"
        raise ValueError(msg)
    if args.standardize and args.metric in MIXED_METRICS:
        msg = f"--standardize cannot be given with --metric {args.metric}, which scales every column itself"
        raise ValueError(msg)


def check_rope(args: argparse.Namespace) -> None:
    """Raise ValueError if --rope has nothing to compare."""
    if args.rope is not None and args.compare is None:
        msg = "--rope belongs to --compare"
        raise ValueError(msg)


def parameters(args: argparse.Namespace) -> dict[str, tuple[str, Any]]:
    """The parameters of the variant: for each name the option that gave it, and its value."""
    given: dict[str, tuple[str, Any]] = {}
    for name in ("n_neighbors", "rank"):
        value = getattr(args, name)
        if value is not None:
            given[name] = ("--" + name.replace("_", "-"), value)
    for pair in args.parameter:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            msg = f"--parameter must be NAME=VALUE, got {pair!r}"
            raise ValueError(msg)
        if name in given:
            msg = f"the parameter {name} is given twice, by {given[name][0]} and by --parameter {pair}"
            raise ValueError(msg)
        given[name] = (f"--parameter {name}", _literal(text))
    return given


def other_rule(text: str) -> tuple[str, dict[str, tuple[str, Any]]]:
    """The name in NAME or NAME:PARAMETER=VALUE,..., and the parameters as those of `parameters`.

    Raises
    ------
    ValueError
        If it is neither.
    """
    variant, colon, listed = text.partition(":")
    pairs = re.split(r",(?=\s*[^\W\d]\w*\s*=)", listed) if colon else []
    given: dict[str, tuple[str, Any]] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name.isidentifier():
            msg = f"--compare must be NAME or NAME:PARAMETER=VALUE,..., got {text!r}"
            raise ValueError(msg)
        if name in given:
            msg = f"--compare gives the parameter {name} twice: {text!r}"
            raise ValueError(msg)
        given[name] = (f"--compare {variant}:{name}", _literal(value))
    return variant, given


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _per_class(text: str) -> int | dict[str, int]:
    if "=" not in text:
        return _count(text, text)
    counts: dict[str, int] = {}
    for pair in text.split(","):
        label, equals, count = pair.rpartition("=")
        label = label.strip()
        if not equals:
            msg = f"--per-class must be a number or LABEL=NUMBER,..., got {text!r}"
            raise ValueError(msg)
        if label in counts:
            msg = f"--per-class names class {label!r} twice: {text!r}"
            raise ValueError(msg)
        counts[label] = _count(count, text)
    return counts


def _count(number: str, text: str) -> int:
    try:
        return int(number)
    except ValueError:
        msg = f"--per-class must be a number or LABEL=NUMBER,..., got {text!r}"
        raise ValueError(msg) from None


def priors(text: str | None) -> dict[str, float] | None:
    """The shares in LABEL=SHARE,..., by labels that are still text.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if text is None:
        return None
    shares: dict[str, float] = {}
    for pair in text.split(","):
        label, equals, share = pair.rpartition("=")
        try:
            value = float(share)
        except ValueError:
            equals = ""
        if not equals or label.strip() in shares:
            msg = f"--priors must be LABEL=SHARE,..., every label once, got {text!r}"
            raise ValueError(msg)
        shares[label.strip()] = value
    return shares


def size(text: str) -> int | float:
    """A training size: a number of samples, or a fraction."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        msg = f"must be a number of samples or a fraction in (0, 1), got {text!r}"
        raise argparse.ArgumentTypeError(msg) from None


def counts(text: str) -> list[int]:
    """The numbers of ``1,3,5``, ``1-30`` or both, ascending, each once."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        first, last = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
        if not 1 <= first <= last or last - first >= LONGEST_RANGE:
            msg = (
                "must be numbers of at least 1, such as 5, 2-10 or 1,3,5, and ranges of at most "
                f"{LONGEST_RANGE:,} numbers, got {text!r}"
            )
            raise argparse.ArgumentTypeError(msg)
        found.update(range(first, last + 1))
    return sorted(found)


def natural(text: str) -> int:
    """An integer of at least 0."""
    number = int(text) if text.isascii() and text.isdigit() else -1
    if number < 0:
        msg = f"must be an integer of at least 0, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return number


def level(text: str) -> float:
    """A confidence level in (0, 1)."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        msg = f"must be a level in (0, 1), such as 0.95, got {text!r}"
        if value == -1.0:
            msg += "; a file goes before --interval"
        raise argparse.ArgumentTypeError(msg)
    return value


def width(text: str) -> float:
    """A finite number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        msg = f"must be a finite number of at least 0, such as 0.01, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return value
