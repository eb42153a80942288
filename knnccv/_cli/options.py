"""The commands and their options, as `help.toml` describes them, and the values that options take."""

from __future__ import annotations

import argparse
import ast
import importlib
import math
import re
import tomllib
from pathlib import Path
from typing import Any, NoReturn

LONGEST_RANGE = 10_000
"""More numbers than any table needs; a range is checked before it is made."""


def read_commands() -> dict[str, Any]:
    """What `help.toml` says of the commands, by name; and of ``shared`` options."""
    text = Path(__file__).with_name("help.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def add_options(parser: Any, groups: Any, shared: Any, last: Any = None) -> Any:
    """Add the options of groups, the first ones without a title to `last`; return the last group."""
    for group in groups:
        if "title" in group:
            last = parser.add_argument_group(group["title"])
        if "shared" in group:
            last = add_options(parser, shared[group["shared"]], shared, last)
        for name, given in group.get("options", {}).items():
            how = given | {"help": " ".join(given["help"].split())}
            if how.get("action") == "boolean":
                how["action"] = argparse.BooleanOptionalAction
            if "type" in how:
                how["type"] = TYPES[how["type"]]
            (last or parser).add_argument(name, **how)
    return last


def refuse(is_wrong: Any, message: str) -> None:
    """Raise ValueError with this message if something is wrong."""
    if is_wrong:
        raise ValueError(message)


def need(package: str, extra: str, what: str) -> Any:
    """The package; ImportError that says how to install it if it is missing."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        msg = f"{what}: pip install 'knnccv[{extra}]'"
        raise ImportError(msg) from error


def pairs(option: str, text: str, convert: Any) -> dict[str, Any]:
    """The values in LABEL=VALUE,..., by labels that are still text; every label once.

    Raises
    ------
    ValueError
        If it is something else.
    """
    found: dict[str, Any] = {}
    for pair in text.split(","):
        label, equals, value = (part.strip() for part in pair.rpartition("="))
        try:
            if not equals or label in found:
                raise ValueError
            found[label] = convert(value)
        except ValueError:
            kind = "a number or LABEL=NUMBER" if convert is int else "LABEL=SHARE"
            msg = f"{option} must be {kind},..., every label once, got {text!r}"
            raise ValueError(msg) from None
    return found


def parameters(args: argparse.Namespace) -> dict[str, tuple[str, Any]]:
    """The parameters of the variant: for each name the option that gave it, and its value."""
    given: dict[str, tuple[str, Any]] = {}
    for name in ("n_neighbors", "rank"):
        if getattr(args, name, None) is not None:
            given[name] = ("--" + name.replace("_", "-"), getattr(args, name))
    for pair in args.parameter:
        name, value = assigned("--parameter must be NAME=VALUE", pair, pair)
        if name in given:
            msg = f"the parameter {name} is given twice, by {given[name][0]} and by --parameter {pair}"
            raise ValueError(msg)
        given[name] = (f"--parameter {name}", value)
    return given


def other_rule(text: str) -> tuple[str, dict[str, tuple[str, Any]]]:
    """The name in NAME or NAME:PARAMETER=VALUE,..., and the parameters as those of `parameters`.

    Raises
    ------
    ValueError
        If it is neither.
    """
    variant, colon, listed = text.partition(":")
    given: dict[str, tuple[str, Any]] = {}
    for pair in re.split(r",(?=\s*[^\W\d]\w*\s*=)", listed) if colon else []:
        name, value = assigned("--compare must be NAME or NAME:PARAMETER=VALUE,...", pair, text)
        refuse(name in given, f"--compare gives the parameter {name} twice: {text!r}")
        given[name] = (f"--compare {variant}:{name}", value)
    return variant, given


def assigned(must: str, pair: str, text: str) -> tuple[str, Any]:
    """The name and the value of NAME=VALUE, as Python reads it or as text; ValueError if it is not that."""
    name, equals, value = (part.strip() for part in pair.partition("="))
    refuse(not equals or not name.isidentifier(), f"{must}, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def size(text: str) -> int | float:
    """A training size: a number of samples, or a fraction."""
    if math.isnan(value := _number(text)):
        _refuse("a number of samples or a fraction in (0, 1)", text)
    return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else value


def sizes(text: str) -> list[int | float]:
    """The training sizes of ``0.1,0.5,100``."""
    return [size(part.strip()) for part in text.split(",")]


def counts(text: str) -> list[int]:
    """The numbers of ``1,3,5``, ``1-30`` or both, ascending, each once."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        first, last = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
        if not 1 <= first <= last or last - first >= LONGEST_RANGE:
            most = f"ranges of at most {LONGEST_RANGE:,} numbers"
            _refuse(f"numbers of at least 1, such as 5, 2-10 or 1,3,5, and {most}", text)
        found.update(range(first, last + 1))
    return sorted(found)


def natural(text: str) -> int:
    """An integer of at least 0."""
    if not (text.isascii() and text.isdigit()):
        _refuse("an integer of at least 0", text)
    return int(text)


def level(text: str) -> float:
    """A confidence level in (0, 1)."""
    if not 0 < (value := _number(text)) < 1:
        hint = "; a file goes before --interval" * (math.isnan(value) and text != "nan")
        _refuse("a level in (0, 1), such as 0.95", text, hint)
    return value


def width(text: str) -> float:
    """A finite number of at least 0."""
    if not 0 <= (value := _number(text)) < math.inf:
        _refuse("a finite number of at least 0, such as 0.01", text)
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _refuse(what: str, text: str, hint: str = "") -> NoReturn:
    msg = f"must be {what}, got {text!r}{hint}"
    raise argparse.ArgumentTypeError(msg)


TYPES = {one.__name__: one for one in (int, float, size, sizes, counts, natural, level, width)}
"""Functions of the types that `help.toml` names."""
