"""Run blocks of the coverage study and print its report; stored blocks are not computed again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .._combined import write_files
from ._blocks import run_all
from ._populations import POPULATIONS
from ._report import full_blocks, report


def main(arguments: list[str] | None = None) -> int:
    """``python -m knnccv.reproduce.coverage --sizes 50 100 --samples 1000 --out FOLDER``."""
    parser = argparse.ArgumentParser(prog="python -m knnccv.reproduce.coverage", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="FOLDER", help="blocks and report")
    add("--sizes", type=int, nargs="+", default=[50, 100, 200], help="samples each")
    add("--samples", type=int, default=500, help="data sets with intervals (default 500)")
    add("--more", type=int, default=2000, help="data sets for the true mean alone")
    add("--tests", type=int, default=1000, help="data sets of every comparison")
    add("--halvings", type=int, default=200)
    add("--populations", nargs="+", choices=POPULATIONS, default=list(POPULATIONS))
    add("--jobs", type=int, default=None, help="processes (default: all processors)")
    add("--no-nested", action="store_true", help="leave nested cross-validation out")
    args = parser.parse_args(arguments)
    blocks = full_blocks(
        *(args.sizes, args.samples, args.more, args.tests, args.halvings, args.populations),
        nested_at=None if args.no_nested else 100,
    )
    found = run_all(blocks, args.out / "blocks", args.jobs, progress=sys.stderr.isatty())
    shown = report(found)
    write_files(shown, args.out, "coverage")
    print(shown.to_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
