"""Parts of data that travel with the tasks which need them, in place of all data with the function."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

_here = threading.local()


class Parts(Protocol):
    """Data in parts, each of which belongs to consecutive rows."""

    def bounds(self, row: int) -> tuple[int, int]:
        """The first row of the part that a row belongs to, and the one past its last row."""

    def part(self, row: int) -> Any:
        """The part, as a dask object that is not computed yet."""


@contextmanager
def holding(part: Any) -> Iterator[None]:
    """Make `held_part` return `part` in this thread."""
    before = held_part()
    _here.part = part
    try:
        yield
    finally:
        _here.part = before


def held_part() -> Any:
    """The part that came with the task of this thread, or None."""
    return getattr(_here, "part", None)
