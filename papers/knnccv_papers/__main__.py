"""The command line: ``python -m knnccv_papers``.

Exit status: 0 for success, 1 if data for a part of a table are missing, 2 for an error in the arguments or
the data, 130 after an interrupt.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ._catalog import REPRODUCTIONS, reproduce
from .coverage import _command

LISTED = "\n".join(f"  {name:<18}{one.title}" for name, one in REPRODUCTIONS.items())


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of both commands."""
    parser = argparse.ArgumentParser(
        prog="python -m knnccv_papers", description="The literature, recomputed."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    made = commands.add_parser(
        "reproduce",
        help="recompute a table of the literature",
        description="Recompute a table of the literature and show it beside the printed one.\n"
        "Data that are not on this disk are downloaded.",
        epilog=f"tables:\n{LISTED}\n  all               all of them",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("name", metavar="NAME", choices=[*REPRODUCTIONS, "all"], help="see below")
    made.add_argument("--quick", action="store_true", help="fewer random runs")
    made.add_argument(
        "--out",
        metavar="FOLDER",
        help="also write NAME.md, NAME.csv and pictures there; for all also report.html",
    )
    made.add_argument("--fresh", action="store_true", help="compute again even if the report is cached")
    made.add_argument(
        "--progress", action=argparse.BooleanOptionalAction, help="a bar (default: on a terminal)"
    )
    study = commands.add_parser(
        "coverage",
        help="run blocks of the coverage study of any sizes",
        description=_command.__doc__,
        argument_default=argparse.SUPPRESS,
    )
    _command.add_options(study)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    asked = vars(build_parser().parse_args(arguments))
    try:
        return _command.run(**asked) if asked.pop("command") == "coverage" else _reproduce(**asked)
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except (ValueError, OSError) as error:
        _complain(f"error: {' '.join(str(error).split())}")
        return 2


def _reproduce(name: str, quick: bool, out: str | None, fresh: bool, progress: bool | None) -> int:
    """Print a table of the literature beside its reproduction."""
    shown = sys.stderr.isatty() if progress is None else progress
    report = reproduce(name, quick=quick, folder=out, progress=shown, fresh=fresh)
    print(report.to_text())
    for failure in report.failures:
        _complain(f"error: {failure}")
    return 1 if report.failures else 0


def _complain(message: str) -> None:
    print(f"knnccv_papers: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
