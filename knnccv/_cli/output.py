"""What a command writes: its answer as text or JSON, notes and progress bars beside it, and files."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._base.refusals import refuse

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
