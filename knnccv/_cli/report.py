"""The command ``report``: everything about a table on one page."""

from __future__ import annotations

import argparse
import shutil
import textwrap
import webbrowser
from pathlib import Path
from typing import Any

from .. import reporting
from .._base.refusals import refuse
from .commands import refuse_both
from .data import check_options, scaling_of, table_of
from .output import Lines, computing, output_path, print_notes, show

NARROWEST, WIDEST = 40, 100
"""Columns of the conclusions on the terminal."""
TITLES = {"learning": "More data", "items": "Samples"}
"""Their names on the terminal, where they are others."""


def run(args: argparse.Namespace) -> int:
    """Write the page, and print its conclusions."""
    check_options(args)
    out = _out(args)
    is_page = out is not None and out.suffix.lower() != ".json"
    refuse(args.open and not is_page, "--open shows a page; it needs --out FILE.html, or no --json")
    refuse_both(args, "designs", "train_size", "groups")
    table = table_of(args, mixed=True)
    print_notes([*table.notes, *table.mixed_note()])
    asked = reporting.Question(
        *(args.task, args.train_size, args.n_neighbors, args.average, args.scoring, args.precision),
        *(args.max_items, args.jobs, args.seed),
        *("all" if args.scaling is None else scaling_of(args), args.interval or 0.95),
    )
    name = "wine" if args.file is None else Path(table.source).name
    with computing(False, "the kernels of this page (half a minute)", Warning):
        report = reporting.report_on(table, name, asked, args.progress)
    if out is not None:
        report.save(out)
    found = report.to_dict()
    undefined = (found["scores"] or {}).get("undefined", ())
    print_notes([f"there is no {one['name']}: {one['reason']}" for one in undefined])
    show(args, found, lines(found, out), 12)
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
    path = output_path("--out", "report.html" if args.out is None else args.out, args.file)
    reporting.check_ending("--out", path)
    if path.suffix.lower() != ".json":
        reporting.need_page()
    return path


def lines(found: dict[str, Any], out: Path | None) -> Lines:
    """The name of the file and the conclusions, one after the other."""
    if out is not None:
        yield "Report", str(out)
    width = max(NARROWEST, min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST)) - 12
    for section in reporting.SECTIONS[:-1]:  # without the method
        title = TITLES.get(section, section.capitalize())
        if found[section] is not None and found[section]["conclusion"]:
            texts = [found[section]["conclusion"], *found[section].get("warnings", ())]
            yield title, "\n".join(line for text in texts for line in textwrap.wrap(text, width))
