"""A message while kernels are compiled, and the time that compiling takes."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from types import TracebackType

from numba.core import event

from ._cache import KernelCache

COMPILES = "numba:compile"  # functions loaded from a cache do not raise this event
LONG = 3.0
"""Seconds of compiling after which a call of the library says so."""


class Compiling(event.Listener):
    """While entered, writes `message` to stderr when kernels are compiled for more than `after` seconds.

    Attributes
    ----------
    seconds : float
        Wall time of compiling so far.
    functions : int
        Number of compiled functions, including those that others call.
    """

    def __init__(self, message: str, after: float = 0.0) -> None:
        self.message: str | None = message
        self.after = after
        self.seconds = 0.0
        self.functions = 0
        self._depth = 0  # functions are compiled within others, by one thread at a time
        self._started = 0.0

    def __enter__(self) -> Compiling:
        event.register(COMPILES, self)
        _note.message = None  # this message is enough
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        event.unregister(COMPILES, self)

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (Numba passes it)
        """Start the clock, and print the message once."""
        if self._depth == 0:
            self._started = time.perf_counter()
        self._depth += 1
        self.functions += 1
        self._tell()

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002 (Numba passes it)
        """Add the time of the outermost function."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._started

    def _tell(self) -> None:
        if self.message is None or self.seconds + time.perf_counter() - self._started < self.after:
            return
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):  # stderr is closed
                _print_above_bars(self.message)
        self.message = None


class _Note(Compiling):
    """The message of the library, which counts its own functions alone, and all that they call."""

    def on_start(self, event: event.Event) -> None:
        if self._depth or isinstance(event.data["dispatcher"]._cache, KernelCache):
            super().on_start(event)

    def on_end(self, event: event.Event) -> None:
        if self._depth:
            super().on_end(event)


_note = _Note(
    "knnccv compiles its kernels when they are first needed, and keeps them on disk: later calls and "
    "processes do not wait. knnccv.warm() compiles all of them ahead; KNNCCV_COMPILE_NOTE=0 hides this.",
    LONG,
)


def note_long_compiling() -> None:
    """Say once in a process that kernels are compiled, if somebody looks at it and that takes long.

    Somebody looks at a terminal or a notebook. ``KNNCCV_COMPILE_NOTE=0`` hides the note.
    """
    looks = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if looks and os.environ.get("KNNCCV_COMPILE_NOTE") != "0":
        event.register(COMPILES, _note)


def _print_above_bars(message: str) -> None:
    """Print a line to stderr; a progress bar that is shown there moves below it."""
    bars = sys.modules.get("tqdm")
    if bars is None:
        print(message, file=sys.stderr, flush=True)
    else:
        bars.tqdm.write(message, file=sys.stderr)
        sys.stderr.flush()
