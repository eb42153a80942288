"""Threads that may be left behind, and a flag that stops compiled loops.

Compiled code cannot be interrupted. After Ctrl-C a thread finishes its current sample; its loop reads the
flag before the next one. The caller waits for `PATIENCE` seconds and then leaves the thread behind. At exit
the interpreter waits for the current samples, since compiled code must not be unloaded while it runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._typing import Array

PATIENCE = 1.0  # seconds that an interrupted caller waits for its threads

_here = threading.local()
_NEVER = np.zeros(1, np.bool_)


class Stop(threading.Event):
    """An event that compiled loops can read: ``flag`` is a bool array of shape (1,)."""

    def __init__(self) -> None:
        super().__init__()
        self.flag = np.zeros(1, np.bool_)

    def set(self) -> None:
        """Stop the loops; their results are no longer needed."""
        self.flag[0] = True
        super().set()


@contextmanager
def heeding(stop: Stop) -> Iterator[None]:
    """Make `stop_flag` return the flag of `stop` in this thread."""
    before = stop_flag()
    _here.flag = stop.flag
    try:
        yield
    finally:
        _here.flag = before


def stop_flag() -> Array:
    """The flag that compiled loops read before every sample; once set, their results are not used."""
    flag: Array = getattr(_here, "flag", _NEVER)
    return flag


def check_wanted() -> None:
    """Raise KeyboardInterrupt in a thread whose results are no longer needed; call it between blocks."""
    if stop_flag()[0]:
        raise KeyboardInterrupt


class Threads(ThreadPoolExecutor):
    """A pool of threads, started on demand."""

    def close(self, patience: float | None = None) -> None:
        """End the threads after the submitted work.

        Parameters
        ----------
        patience : float, optional
            Seconds to wait for running threads before they are left behind. Default: no limit.
        """
        self.shutdown(wait=patience is None)
        until = time.monotonic() + (patience or 0.0)
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0.0))


def patience(kind: type[BaseException] | None) -> float | None:
    """Seconds to wait for threads after this exception: no limit for errors, `PATIENCE` for Ctrl-C."""
    return None if kind is None or issubclass(kind, Exception) else PATIENCE


def aside(fn: Callable[..., Any], *args: Any) -> Any:
    """``fn(*args)``, computed in a separate thread, so that Ctrl-C does not wait for it."""
    threads, stop = Threads(1), Stop()
    try:
        found = threads.submit(heeding(stop)(fn), *args).result()
    except BaseException as error:
        stop.set()
        threads.close(patience(type(error)))
        raise
    threads.close()
    return found
