"""The command ``report``: everything about a table on one page."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import textwrap
import warnings
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .notes import add_progress, print_notes, shows_progress
from .options import check_file_options, counts, natural, size
from .table_options import add_average, add_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._typing import Array
    from ..reporting import Report
    from .input_table import Table

DEFAULT_OUT = "report.html"
NARROWEST, WIDEST = 40, 100
"""Columns of the conclusions on the terminal."""
BUNDLED = ("from knnccv.datasets import load_wine", "wine = load_wine()", "X, y = wine.X, wine.y")
"""Python that reads the bundled data."""
NEEDED = {"jinja2": "jinja2", "altair": "altair", "vl_convert": "vl-convert-python"}
"""Modules that the page needs, and the names of their packages."""

SECTIONS = {
    "data": "Data",
    "scores": "Scores",
    "settings": "Settings",
    "tuned": "Tuned",
    "learning": "More data",
    "classes": "Classes",
    "items": "Samples",
    "ties": "Ties",
    "regression": "Regression",
}
"""The sections of the page with a conclusion, and their names on the terminal."""

EPILOG = """\
examples:
  knnccv report
  knnccv report iris.csv --target species
  knnccv report patients.xlsx --target outcome --drop patient --out patients.html --open
  knnccv report homes.csv --target price --train-size 0.5 --json

The page is one file that needs no network. Tables with categories (columns without any number) or missing
values are measured by HEOM and HVDM, and the page says so: the command chooses the distance itself.
The page of the guide, docs/guide/report.md, explains every section."""


def add_report(commands: Any) -> None:
    """Add ``report``."""
    parser = commands.add_parser(
        "report",
        help="one page about a table: score, setting, more data, samples to look at",
        description="Write one page (HTML) about how well nearest neighbors predict a table: the exact "
        "score, which setting is best, whether more data would help, which samples are trouble, and how "
        "far to trust all this. Without a file: the bundled wine data. Needs: pip install 'knnccv[report]'",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_table(
        parser, categorical="a column whose numbers are names of categories (repeatable)", standardize=False
    )
    asked = parser.add_argument_group("the question")
    asked.add_argument(
        "--task",
        choices=("classification", "regression"),
        help="default: regression if the target holds numbers that are not whole, or more than 50 "
        "different numbers; otherwise classification",
    )
    asked.add_argument(
        "--train-size",
        type=size,
        default=0.8,
        metavar="SIZE",
        help="training samples of the score, or their fraction (default: 0.8)",
    )
    asked.add_argument(
        "--n-neighbors",
        type=counts,
        metavar="K",
        help="the K to compare: 1,3,5 or ranges such as 1-30 (default: 1 to 15, and 21 and 31 "
        "where they are at most a tenth of the training samples)",
    )
    add_average(
        asked,
        None,
        "what has equal weight in the score that chooses: the samples (pooled and item, accuracy) or the "
        "classes (class, balanced accuracy); default: the classes if the largest has more than twice as "
        "many samples as the others on average",
    )
    asked.add_argument(
        "--max-items",
        type=natural,
        default=100_000,
        metavar="N",
        help="of more samples a random subsample of N is reported on, which the page says "
        "(default: 100000)",
    )
    answer = parser.add_argument_group("the answer")
    answer.add_argument(
        "--out",
        metavar="FILE",
        help="the page (.html), or its numbers (.json); a file that is there is replaced (default: "
        f"{DEFAULT_OUT} in the current folder; with --json none)",
    )
    answer.add_argument("--open", action="store_true", help="open the page in the browser")
    answer.add_argument(
        "--json", action="store_true", help="print all numbers of the page as one JSON object instead"
    )
    answer.add_argument(
        "--seed", type=natural, default=0, help="of subsamples and of the halves of intervals (default: 0)"
    )
    answer.add_argument("--jobs", type=int, metavar="N", help="threads (default: all processors)")
    add_progress(answer)
    parser.set_defaults(run=run_report)


def run_report(args: argparse.Namespace) -> int:
    """Write the page, and print its conclusions."""
    args.groups = None
    check_file_options(args)
    out = _out(args)
    if args.open and (out is None or out.suffix.lower() == ".json"):
        msg = "--open shows a page; it needs --out FILE.html, or no --json"
        raise ValueError(msg)
    args.progress = shows_progress(args.progress)
    report, notes = _compute(args)
    print_notes(notes)
    if out is not None:
        report.save(out)
    found = report.to_dict()
    print(json.dumps(found, allow_nan=False) if args.json else as_text(found, out))
    if args.open and out is not None and not webbrowser.open(out.resolve().as_uri()):
        print_notes([f"no browser was found; open {out} yourself"])
    return 0


def _out(args: argparse.Namespace) -> Path | None:
    """The checked path of the page; None with ``--json`` alone.

    Raises
    ------
    ValueError
        If it is no page.
    ImportError
        If a package that pages need is missing.
    OSError
        If it cannot be written.
    """
    if args.out is None and args.json:
        return None
    from ..reporting import check_ending
    from .output_file import output_path

    path = output_path("--out", DEFAULT_OUT if args.out is None else args.out, args.file)
    check_ending("--out", path)
    missing = [name for module, name in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing and path.suffix.lower() != ".json":
        msg = f"the page needs {', '.join(missing)}: pip install 'knnccv[report]'; --json needs none"
        raise ImportError(msg)
    return path


def _compute(args: argparse.Namespace) -> tuple[Report, list[str]]:
    """The report, and notes on the table and on the computation."""
    from ..kernel import Compiling
    from ..reporting import report_on

    how: dict[str, Any]
    if args.file is None:
        from ..datasets import load_wine

        wine = load_wine()
        X, y, notes = wine.X, wine.y, []
        reading: tuple[str, ...] = BUNDLED
        how = {"feature_names": wine.feature_names, "categorical": None, "name": "wine"}
    else:
        from .reading_code import reading_lines

        table = _read(args)
        X, y, notes = features(table), table.y, [*table.notes, *_mixed_note(table)]
        reading = reading_lines(args.file, table)
        categorical = [j for j, one in enumerate(table.categorical) if one]
        name = Path(table.source).name
        how = {"feature_names": table.feature_names, "categorical": categorical, "name": name}
    print_notes(notes)
    with (
        Compiling("knnccv: compiling once the kernels of this page (about a minute)"),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        found = report_on(
            X,
            y,
            reading,
            task=args.task,
            train_size=args.train_size,
            n_neighbors=args.n_neighbors,
            average=args.average,
            max_items=args.max_items,
            n_jobs=args.jobs,
            progress=args.progress,
            random_state=args.seed,
            **how,
        )
    return found, list(dict.fromkeys(str(one.message) for one in warned))


def _read(args: argparse.Namespace) -> Table:
    from .file_format import FileFormat
    from .input_table import read_table

    return read_table(
        args.file,
        args.target,
        FileFormat.of(args),
        drop=args.drop,
        mixed=True,
        categorical=args.categorical,
    )


def features(table: Table) -> Array:
    """The features of a table, with the categories themselves in place of their codes."""
    import numpy as np

    if not any(table.categorical):
        return table.X
    X = table.X.astype(object)
    for j, categories in enumerate(table.categories):
        if categories is not None:
            codes = table.X[:, j]
            known = ~np.isnan(codes)
            X[~known, j] = None
            X[known, j] = [str(categories[int(code)]) for code in codes[known]]
    return X


def _mixed_note(table: Table) -> list[str]:
    """What makes the table a mixed one, and how it is measured."""
    names = [name for name, one in zip(table.feature_names, table.categorical, strict=True) if one]
    n_missing = sum(table.missing.values())
    parts = []
    if names:
        listed = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        parts.append(f"{len(names)} categorical column{'s' * (len(names) > 1)} ({listed})")
    if n_missing:
        parts.append(f"{n_missing} missing value{'s' * (n_missing > 1)}")
    return [f"{' and '.join(parts)}: the distance is HEOM (docs/guide/mixed_tables.md)"] if parts else []


def as_text(found: dict[str, Any], out: Path | None) -> str:
    """The name of the file and the conclusions, one after the other."""
    entries = [("Report", str(out))] if out is not None else []
    for section, title in SECTIONS.items():
        if found[section] is not None and found[section]["conclusion"]:
            entries.append((title, found[section]["conclusion"]))
    return "\n".join(line for title, text in entries for line in _entry(title, text))


def _entry(title: str, text: str) -> Sequence[str]:
    if title == "Report":
        return [f"{title:<12}{text}"]
    width = max(NARROWEST, min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST))
    wrapped = textwrap.wrap(text, width, initial_indent=f"{title:<12}", subsequent_indent=" " * 12)
    return wrapped or [title]
