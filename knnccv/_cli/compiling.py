"""Saying that kernels are being compiled, where somebody waits at a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from types import TracebackType

from numba.core import event

COMPILES = "numba:compile"  # what a cache holds is loaded without this event


class Compiling(event.Listener):
    """While entered, writes `message` to stderr when the first function is compiled.

    Attributes
    ----------
    seconds : float
        What compiling has taken so far, by the clock.
    functions : int
        How many functions were compiled, those that others call included.
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

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (Numba gives it)
        """Note when it began, and say so the first time."""
        if self._depth == 0:
            self._started = time.perf_counter()
        if self.functions == 0 and sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):  # nobody reads
                print(self.message, file=sys.stderr, flush=True)
        self._depth += 1
        self.functions += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        """Add what the outermost function took."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._started
