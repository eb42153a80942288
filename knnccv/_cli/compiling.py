"""A message while kernels are compiled, and the time that compiling takes."""

from __future__ import annotations

import contextlib
import sys
import time
from types import TracebackType

from numba.core import event

COMPILES = "numba:compile"  # functions loaded from a cache do not raise this event


class Compiling(event.Listener):
    """While entered, writes `message` to stderr when the first function is compiled.

    Attributes
    ----------
    seconds : float
        Wall time of compiling so far.
    functions : int
        Number of compiled functions, including those that others call.
    """

    def __init__(self, message: str) -> None:
        self.message = message
        self.seconds = 0.0
        self.functions = 0
        self._depth = 0  # functions are compiled within others, by one thread at a time
        self._started = 0.0

    def __enter__(self) -> Compiling:
        event.register(COMPILES, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        event.unregister(COMPILES, self)

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (Numba passes it)
        """Start the clock, and print the message the first time."""
        if self._depth == 0:
            self._started = time.perf_counter()
        if self.functions == 0 and sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):  # stderr is closed
                _print_above_bars(self.message)
        self._depth += 1
        self.functions += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        """Add the time of the outermost function."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._started


def _print_above_bars(message: str) -> None:
    """Print a line to stderr; a progress bar that is shown there moves below it."""
    bars = sys.modules.get("tqdm")
    if bars is None:
        print(message, file=sys.stderr, flush=True)
    else:
        bars.tqdm.write(message, file=sys.stderr)
        sys.stderr.flush()
