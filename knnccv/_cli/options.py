"""The commands and their options as the text of ``--help``, and the values that options take."""

from __future__ import annotations

import argparse
import ast
import importlib
import math
import re
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

LONGEST_RANGE = 10_000
"""More numbers than any table needs; a range is checked before it is made."""


class Command(NamedTuple):
    """What ``--help`` says of a command: in a few words, in a paragraph, on its options, and below them."""

    words: str
    description: str
    options: str
    epilog: str = ""


def read_commands() -> dict[str, Command]:
    """The commands by name, from `help.txt`, which explains itself."""
    text = Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
    _, *parts = re.split(r"^=== (\w+)\n", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))
    for name, part in sections.items():  # those that others include come first
        sections[name] = re.sub(r"^@(\w+)$", lambda found: sections[found[1]], part, flags=re.MULTILINE)
    return {name: Command(*text.split("\n---\n")) for name, text in sections.items() if name.islower()}


def add_options(parser: Any, text: str) -> None:
    """Add the options that a text describes."""
    group = parser
    for line in re.sub(r"\n +", " ", text).strip().splitlines():
        if line.startswith("["):
            group = parser.add_argument_group(line[1:-1])
            continue
        given, _, words = line.partition("  ")
        name, *parts = given.split()
        how: dict[str, Any] = {"help": words}
        if "[no-]" in name:
            name, how["action"] = name.replace("[no-]", ""), argparse.BooleanOptionalAction
        elif not parts:
            how["action"] = "store_true"
        for part in parts:
            mark, rest = part[0], part[1:]
            if mark == "{":
                how["choices"] = rest[:-1].split(",")
            elif mark == ":":
                how["type"] = TYPES[rest]
            elif mark == "=":
                how["default"] = rest  # argparse gives it to the type
            elif mark == "?":
                how |= {"nargs": "?", "const": float(rest) if rest else None}
            elif mark == "*":
                how |= {"action": "append", "default": []}
            elif mark == "+":
                how["nargs"] = int(rest) if rest else "+"
            else:
                how["metavar"] = part
        group.add_argument(name, **how)


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
"""Functions of the types in the texts."""
