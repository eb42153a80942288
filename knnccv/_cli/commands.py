"""The commands and their options, as `help.toml` describes them, the values of options, and short commands.

Heavy packages are imported only when a command runs.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import json
import keyword
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from .._base.refusals import refuse
from .output import shows_progress

LONGEST_RANGE = 10_000
"""More numbers than any table needs; a range is checked before it is made."""
TEMPLATE = Path(__file__).with_name("rule_template")
"""The project of the rule "kth", the worked example of ``registry/README.md``."""
MARKED = "kth"
"""The name that another one replaces in files and their names; as the name of the class, in camel case."""


def add_commands(commands: Any) -> None:
    """Add all commands to the result of ``add_subparsers``."""
    described = tomllib.loads(Path(__file__).with_name("help.toml").read_text(encoding="utf-8"))
    shared = described.pop("shared")
    for name, command in described.items():
        texts = {"help": command["words"], "description": command["description"]}
        form = argparse.RawDescriptionHelpFormatter
        parser = commands.add_parser(name, **texts, epilog=command.get("epilog"), formatter_class=form)
        add_options(parser, command["groups"], shared)
        parser.set_defaults(command=name, parser=parser)


def run(args: argparse.Namespace) -> int:
    """Run a command, and return its exit status."""
    if "progress" in args:
        args.progress = shows_progress(args.progress)
    check_values(args)
    if own := {"datasets": run_datasets, "warm": run_warm, "new-rule": run_new_rule}.get(args.command):
        return own(args)
    return int(importlib.import_module(f".{args.command}", __package__).run(args))


def run_datasets(args: argparse.Namespace) -> int:
    """Print the list of data sets."""
    from ..datasets import list_datasets

    found = list_datasets()
    if args.json:
        entries = [{**vars(info), "path": str(info.path)} for info in found]
        print(json.dumps(entries, ensure_ascii=False, indent=2))
        return 0
    print(f"{'name':<17}{'samples':>8}{'features':>10}{'classes':>9}  {'cached':<8}license, address")
    for info in found:
        classes = "-" if info.n_classes is None else info.n_classes
        cached = "yes" if info.cached else "no"
        licence = info.licence.partition(";")[0]  # the first clause names the license
        print(f"{info.name:<17}{info.n_items:>8}{info.n_features:>10}{classes:>9}  {cached:<8}{licence}")
        print(f"    {info.address}")
    return 0


def run_warm(args: argparse.Namespace) -> int:
    """Compile all kernels, and print the folder of the cache."""
    from ..kernel import Compiling, cache_folder
    from .warm import warm

    what = "knnccv: compiling once all kernels (about 3 minutes of processor time)"
    with Compiling(what, 0.0) as compiling:
        warm(progress=args.progress)
    if compiling.functions:
        functions = f"{compiling.functions} function{'s' * (compiling.functions != 1)}"
        print(f"{functions} compiled in {compiling.seconds:.0f} s")
    else:
        print("nothing to compile: all kernels are in the cache")
    print(f"kept in {cache_folder()}")
    return 0


def run_new_rule(args: argparse.Namespace) -> int:
    """Write a small project with a rule to change, a plugin from the first line on; print its files."""
    name = args.name
    folder = Path(f"knnccv-{name.replace('_', '-')}")
    check_name(name)
    is_there = f"give another NAME, or remove the folder: {str(folder)!r} exists"
    refuse(folder.exists() or folder.is_symlink(), is_there)
    folder.mkdir()
    print(f"{folder}/")
    for path in sorted(TEMPLATE.iterdir()):
        if path.is_file():
            written = folder / path.name.replace(MARKED, name)
            written.write_text(renamed(path.read_text(encoding="utf-8"), name), encoding="utf-8")
            print(f"  {written.name}")
    print(f'\nnext: pip install -e "{folder}[test]" && pytest {folder}')
    return 0


def check_name(name: str) -> None:
    """Raise Refusal unless a distribution, a module, a class and a variant can have this name."""
    from .. import kernel
    from ..kernel.registry import variant_names

    letters = "lower-case letters, digits and single underscores, beginning with a letter"
    wrong = f"give NAME in {letters}, such as 'second_nearest', got {name!r}"
    refuse(not re.fullmatch(r"[a-z](_?[a-z0-9])*", name), wrong)
    is_word = keyword.iskeyword(camel(name)) or hasattr(kernel, camel(name))
    refuse(is_word, f"give another NAME: {name!r} is a word of Python or of knnccv.kernel")
    is_taken = name in variant_names() or importlib.util.find_spec(f"knnccv_{name}") is not None
    refuse(is_taken, f"give another NAME: {name!r} is an installed rule or module")


def camel(name: str) -> str:
    """The name of the rule's class."""
    return "".join(part.capitalize() for part in name.split("_"))


def renamed(text: str, name: str) -> str:
    """A text of the template for the rule of another name."""
    words = {f"knnccv-{MARKED}": f"knnccv-{name.replace('_', '-')}", MARKED: name}
    words[MARKED.capitalize()] = camel(name)
    return re.sub("|".join(words), lambda found: words[found[0]], text)


def add_options(parser: Any, groups: Any, shared: Any, last: Any = None) -> Any:
    """Add the options of groups, the first ones without a title to `last`; return the last group."""
    for group in groups:
        if "title" in group:
            last = parser.add_argument_group(group["title"])
        if "shared" in group:
            last = add_options(parser, shared[group["shared"]], shared, last)
        for name, given in group.get("options", {}).items():
            words = " ".join(given["help"].split())
            # argparse asks for the identity of this constant.
            how = given | {"help": argparse.SUPPRESS if words == argparse.SUPPRESS else words}
            if how.get("action") == "boolean":
                how["action"] = argparse.BooleanOptionalAction
            if "type" in how:
                how["type"] = TYPES[how["type"]]
            (last or parser).add_argument(name, **how)
    return last


def option(name: str) -> str:
    """The option of that name among the arguments, for messages."""
    return "a file" if name == "file" else "--" + name.replace("_", "-")


def given(args: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """The names of the options that were given."""
    return [name for name in names if getattr(args, name, None) not in (None, [])]


def refuse_both(args: argparse.Namespace, what: str, *names: str) -> None:
    """Raise ValueError if several of these options, each of which chooses the same thing, were given."""
    several = " and ".join(map(option, given(args, names)))
    refuse(" and " in several, f"{several} are different {what}; give one of them")


def refuse_without(is_there: Any, to: str, args: argparse.Namespace, *names: str) -> None:
    """Raise ValueError if one of these options was given without what it belongs to."""
    for name in given(args, names):
        refuse(not is_there, f"{option(name)} belongs to {to}")


def check_values(args: argparse.Namespace) -> None:
    """Raise the library's errors for a seed, a level or a precision now, before a file is read."""
    if "seed" in args:
        from .._base.validation import check_random_state

        check_random_state(args.seed)
    if getattr(args, "interval", None) is not None:
        from .._core.luck.inference import check_level

        check_level(args.interval)
    if getattr(args, "precision", None) is not None:
        from .._core.luck.scorings import check_precision

        check_precision(args.precision, None)


def pairs(must: str, listed: Iterable[str], convert: Any) -> dict[str, Any]:
    """The converted values of ``NAME=VALUE``, by name; each name once.

    Raises
    ------
    ValueError
        If one is something else; the message begins with what they must be.
    """
    found: dict[str, Any] = {}
    for pair in listed:
        name, equals, value = (part.strip() for part in pair.rpartition("="))
        try:
            refuse(not equals or name in found, must)
            found[name] = convert(value)
        except ValueError:
            msg = f"{must}, each given once, got {pair!r}"
            raise ValueError(msg) from None
    return found


def parameters(args: argparse.Namespace, *options: str) -> dict[str, Any]:
    """The parameters of the variant, by name; some have options of their own."""
    own = [f"{name}={getattr(args, name)}" for name in given(args, options)]
    return pairs("--parameter must be NAME=VALUE", own + args.parameter, python)


def other_rule(text: str) -> tuple[str, dict[str, Any]]:
    """The name in NAME or NAME:PARAMETER=VALUE,..., and the parameters; ValueError if it is neither."""
    variant, colon, listed = text.partition(":")
    parts = re.split(r",(?=\s*[^\W\d]\w*\s*=)", listed) if colon else []
    return variant, pairs("--compare must be NAME or NAME:PARAMETER=VALUE,...", parts, python)


def python(text: str) -> Any:
    """What Python reads, or the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def size(text: str) -> int | float:
    """A training size: a number of samples, or a fraction."""
    try:
        return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else float(text)
    except ValueError:
        _refuse("a number of samples or a fraction in (0, 1)", text)


def sizes(text: str) -> list[int | float]:
    """The training sizes of ``0.1,0.5,100``."""
    return [size(part.strip()) for part in text.split(",")]


def names(text: str) -> list[str]:
    """The names of ``f1_macro,roc_auc``."""
    return [part.strip() for part in text.split(",")]


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


def _refuse(what: str, text: str) -> NoReturn:
    msg = f"must be {what}, got {text!r}"
    raise argparse.ArgumentTypeError(msg)


TYPES = {one.__name__: one for one in (int, float, size, sizes, names, counts)}
"""Functions of the types that `help.toml` names."""
