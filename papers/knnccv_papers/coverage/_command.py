"""Run blocks of the coverage study and print its report; stored blocks are not computed again."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

from .._combined import write_files
from . import _scorings
from ._blocks import run_all
from ._populations import DESIGNS, POPULATIONS
from ._report import by_rule, cell_summaries, full_blocks, report


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m knnccv_papers coverage``; defaults are those of `full_blocks`."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="FOLDER", help="blocks and report")
    add("--sizes", type=int, nargs="+", help="samples each (default 50 100 200)")
    add("--samples", type=int, help="data sets with intervals (default 500)")
    add("--more", type=int, help="data sets for the true mean alone (default 2000)")
    add("--tests", type=int, help="data sets of every comparison (default 1000)")
    add("--halvings", type=int, help="default 200")
    add("--populations", nargs="+", choices=POPULATIONS, help="default: all")
    add("--designs", nargs="+", choices=DESIGNS, help="default: all")
    add("--jobs", type=int, default=None, help="processes (default: all processors)")
    add(
        "--no-nested", action="store_const", dest="nested_at", const=None, help="no nested cross-validation"
    )
    add(
        "--scorings",
        nargs="*",
        choices=_scorings.EVERY,
        help="F1, AUC, R2, … of these cells instead (default: all)",
    )
    add("--stored", action="store_true", default=False, help="only the blocks that are there")


def run(out: Path, jobs: int | None, stored: bool, **asked: Any) -> int:
    """Run the blocks, write and print their report; return the exit status."""
    if (cells := asked.pop("scorings", None)) is not None:
        _scorings.study(out, cells or _scorings.EVERY, asked.get("samples", 400), asked.get("more", 1000))
        return 0
    blocks, folder = full_blocks(**asked), out / "blocks"
    if stored:
        blocks = (block for block in blocks if (folder / block.file).exists())
    found = run_all(blocks, folder, jobs, progress=sys.stderr.isatty())
    shown = report(found)
    write_files(shown, out, "coverage")
    rows = by_rule(cell_summaries(found))
    known = [name for name in (rows or [{}])[0] if any(row[name] is not None for row in rows)]
    with (out / "by-rule.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(known)
        for row in rows:
            digits = {name: 2 if name in ("width", "variance") else 1 for name in known}
            values = ((row[name], digits[name]) for name in known)
            writer.writerow([round(of, n) if isinstance(of, float) else of for of, n in values])
    print(shown.to_text())
    return 0
