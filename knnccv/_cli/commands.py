"""The commands and their options, as `help.toml` describes them, the values of options, and short commands.

And what a command writes: its answer as text or JSON, notes and progress bars beside it, and files. Heavy
packages are imported only when a command runs.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import json
import keyword
import os
import re
import sys
import tomllib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from .._base.refusals import refuse

LONGEST_RANGE = 10_000
"""More numbers than any table needs; a range is checked before it is made."""
TEMPLATE = Path(__file__).with_name("rule_template")
"""The project of the rule "kth", the worked example of ``registry/README.md``."""
MARKED = "kth"
"""The name that another one replaces in files and their names; as the name of the class, in camel case."""


def add_commands(commands: Any) -> None:
    """Add all commands to the result of ``add_subparsers``."""
    described = read_commands()
    shared = described.pop("shared")
    for name, command in described.items():
        parser = commands.add_parser(
            name,
            help=command["words"],
            description=command["description"],
            epilog=command.get("epilog"),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
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

    with Compiling(
        "knnccv: compiling once all kernels (about 3 minutes of processor time)", 0.0
    ) as compiling:
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
    refuse(
        folder.exists() or folder.is_symlink(),
        f"give another NAME, or remove the folder: {str(folder)!r} exists",
    )
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

    refuse(
        not re.fullmatch(r"[a-z](_?[a-z0-9])*", name),
        "give NAME in lower-case letters, digits and single underscores, beginning with a letter, such as "
        f"'second_nearest', got {name!r}",
    )
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


def read_commands() -> dict[str, Any]:
    """What `help.toml` says of the commands, by name; and of ``shared`` options."""
    return tomllib.loads(Path(__file__).with_name("help.toml").read_text(encoding="utf-8"))


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
    """Raise the library's errors for a seed or a level now, before a file is read."""
    if "seed" in args:
        from .._base.validation import check_random_state

        check_random_state(args.seed)
    if getattr(args, "interval", None) is not None:
        from .._core.luck.inference import check_level

        check_level(args.interval)


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


TYPES = {one.__name__: one for one in (int, float, size, sizes, counts)}
"""Functions of the types that `help.toml` names."""


Lines = Iterator[tuple[str, str]]
"""The lines of an answer: a title and a text each, which may be several lines."""
TIES = {"index": "in the order of the rows", "random": "averaged over all orders"}
"""What happens to tied samples."""
SECONDS_BEFORE_A_BAR = "2"
WIDTH = 100
"""Characters of a line of a table; more columns go on below."""


def show(args: argparse.Namespace, found: Any, lines: Iterable[tuple[str, str]], margin: int = 15) -> int:
    """Print the answer as JSON if that is asked for, otherwise as lines of a title and a text each.

    Results within the answer are written by their ``to_dict``.
    """
    if args.json:
        from .._base.formatting import plain

        print(json.dumps(plain(found), allow_nan=False))
        return 0
    for title, text in lines:
        for line in text.split("\n"):
            print(f"{title:<{margin}}{line}".rstrip())
            title = ""
    return 0


def as_text(cell: Any) -> Any:
    """The cell, with an apostrophe before a text that spreadsheets would take for a formula."""
    is_formula = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if is_formula else cell


def table_lines(first: list[str], columns: list[list[str]]) -> Iterator[str]:
    """The lines of a table, whose columns go on below where they are too wide."""
    margin = max(map(len, first))
    widths = [max(map(len, column)) + 2 for column in columns]
    start = 0
    while start < len(columns):
        stop = start + 1
        while stop < len(columns) and margin + sum(widths[start : stop + 1]) <= WIDTH:
            stop += 1
        if start:
            yield ""
        for i, title in enumerate(first):
            row = (columns[j][i].rjust(widths[j]) for j in range(start, stop))
            yield title.rjust(margin) + "".join(row)
        start = stop


def span(sizes: Any) -> str:
    """The smallest and the largest of the sizes, in words."""
    low, high = min(sizes), max(sizes)
    return f"{low}" if low == high else f"{low} to {high}"


def print_notes(notes: Iterable[str]) -> None:
    """Print a line for each note, once."""
    for note in dict.fromkeys(notes):
        print(f"knnccv: note: {note}", file=sys.stderr)


@contextmanager
def computing(progress: bool, what: str, *kinds: type[Warning]) -> Iterator[Any]:
    """One bar, a message if `what` is compiled, and notes of the warnings.

    Yields the compilation and the list of the warnings.
    """
    from .._base.parallel import one_bar
    from ..kernel import Compiling
    from ..neighbors import CopiesWarning

    with (
        Compiling(f"knnccv: compiling once {what}") as compiling,
        warnings.catch_warnings(record=True) as warned,
        one_bar(progress),
    ):
        for kind in kinds:
            warnings.simplefilter("always", kind)
        warnings.simplefilter("ignore", CopiesWarning)  # a note, or the page, says it
        yield compiling, warned
    print_notes(str(one.message) for one in warned)


def shows_progress(asked: bool | None) -> bool:
    """Return True if a progress bar is to be shown: if asked for, or on a terminal if tqdm is installed.

    A bar that nobody asked for appears after two seconds only.

    Raises
    ------
    ImportError
        If it is asked for, and tqdm is missing.
    """
    if asked:
        from .._base.parallel import check_pool

        check_pool(None, None, progress=True)
    if asked is None and sys.stderr is not None and sys.stderr.isatty():
        os.environ.setdefault("TQDM_DELAY", SECONDS_BEFORE_A_BAR)  # tqdm reads it when it is imported
        asked = importlib.util.find_spec("tqdm") is not None
    return bool(asked)


def output_path(option: str, name: str, table: str | None) -> Path:
    """The path of a file to write, checked before anything is computed; a file that is there is replaced.

    Parameters
    ----------
    option : str
        The option that names the file, for messages.
    name : str
        Its argument.
    table : str or None
        The file of the data, which must not be overwritten.

    Raises
    ------
    ValueError
        If it is not the name of a file, or is the file of the data.
    OSError
        If it cannot be written.
    """
    from .._base.files import check_writable

    wrong = f"{option} needs the name of a file, got {name!r}: standard output has the answer"
    refuse(name in ("", "-"), wrong)
    path = Path(name)
    exist = table not in (None, "-") and path.exists() and Path(str(table)).exists()
    wrong = f"{option} would overwrite the table {table}; name another file"
    refuse(exist and path.samefile(str(table)), wrong)
    check_writable(path)
    return path
