"""What is written to stderr beside an answer: notes, and progress bars."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import Any

SECONDS_BEFORE_A_BAR = "2"


def print_notes(notes: Iterable[str]) -> None:
    """Print a line for each note."""
    for note in notes:
        print(f"knnccv: note: {note}", file=sys.stderr)


def add_progress(group: Any) -> None:
    """Add the option that `shows_progress` reads."""
    group.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="a progress bar over all stages (default: on a terminal, after two seconds, if tqdm is "
        "installed)",
    )


def shows_progress(asked: bool | None) -> bool:
    """Return True if a progress bar is to be shown: if asked for, or on a terminal if tqdm is installed.

    A bar that nobody asked for appears after two seconds only.

    Raises
    ------
    ImportError
        If it is asked for, and tqdm is missing.
    """
    if asked:
        from .._parallel import check_pool

        check_pool(None, None, progress=True)
    if asked is not None:
        return asked
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    os.environ.setdefault("TQDM_DELAY", SECONDS_BEFORE_A_BAR)  # tqdm reads it when it is imported
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return False
    return True
