"""What is written to stderr beside an answer: notes, and progress bars."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

SECONDS_BEFORE_A_BAR = "2"


def print_notes(notes: Iterable[str]) -> None:
    """Print a line for each note."""
    for note in notes:
        print(f"knnccv: note: {note}", file=sys.stderr)


def shows_progress(asked: bool | None) -> bool:
    """Return True if a progress bar is to be shown: if asked for, or on a terminal if tqdm is installed.

    A bar that nobody asked for appears after two seconds only.
    """
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
