"""Threads that need not be waited for, and the flag that tells compiled loops to give up.

Nothing interrupts compiled code. A thread that is at a sample when Ctrl-C is pressed finishes that sample:
its loop looks at the flag before the next one. The caller waits for `PATIENCE` seconds and then leaves the
thread behind. The threads are daemons, which an interrupted program need not wait for before its last line;
at the very end it waits for their samples all the same, since compiled code must not vanish under them.
"""

from __future__ import annotations

import atexit
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._typing import Array

PATIENCE = 1.0  # seconds that an interrupted caller waits for threads that are at a sample

_here = threading.local()
_left_behind: list[threading.Thread] = []
_NEVER = np.zeros(1, np.bool_)


class Stop(threading.Event):
    """An event that compiled loops can see: ``flag`` is a bool array of shape (1,)."""

    def __init__(self) -> None:
        super().__init__()
        self.flag = np.zeros(1, np.bool_)

    def set(self) -> None:
        """Nobody wants the results any more."""
        self.flag[0] = True
        super().set()


@contextmanager
def heeding(stop: Stop) -> Iterator[None]:
    """Let `stop_flag` be that of `stop`, in this thread."""
    before = stop_flag()
    _here.flag = stop.flag
    try:
        yield
    finally:
        _here.flag = before


def stop_flag() -> Array:
    """What compiled loops look at before every sample; results are of no use once it is set."""
    flag: Array = getattr(_here, "flag", _NEVER)
    return flag


class Threads:
    """A pool of daemon threads, started as they are needed; it has the ``submit`` of an executor.

    Parameters
    ----------
    n_threads : int
        How many at most.
    """

    def __init__(self, n_threads: int) -> None:
        self._max_workers = n_threads
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Start ``fn(*args)`` as soon as a thread is free."""
        future: Future[Any] = Future()
        self._tasks.put((future, fn, args))
        if len(self._threads) < self._max_workers:
            thread = threading.Thread(target=_work, args=(self._tasks,), name="knnccv", daemon=True)
            thread.start()
            self._threads.append(thread)
        return future

    def close(self, patience: float | None = None) -> None:
        """Let the threads end, when they are through with what was submitted.

        Parameters
        ----------
        patience : float, optional
            Seconds after which threads still at work are left behind. Default: never.
        """
        for _ in self._threads:
            self._tasks.put(None)
        until = None if patience is None else time.monotonic() + patience
        for thread in self._threads:
            thread.join(None if until is None else max(until - time.monotonic(), 0.0))
        _left_behind.extend(thread for thread in self._threads if thread.is_alive())


@atexit.register
def _wait_for_items() -> None:
    for thread in _left_behind:
        thread.join()


def _work(tasks: queue.SimpleQueue[Any]) -> None:
    while (task := tasks.get()) is not None:
        future, fn, args = task
        if future.set_running_or_notify_cancel():
            try:
                result = fn(*args)
            except BaseException as error:  # raised again where the result is asked for
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
        del task, future, fn, args  # the next one may be long in coming


def patience(kind: type[BaseException] | None) -> float | None:
    """How long to wait for threads when leaving by such an exception: errors wait, Ctrl-C does not."""
    return None if kind is None or issubclass(kind, Exception) else PATIENCE


def aside(fn: Callable[..., Any], *args: Any) -> Any:
    """``fn(*args)``, computed in a thread of its own, so that Ctrl-C need not wait for it."""
    threads, stop = Threads(1), Stop()

    def work() -> Any:
        with heeding(stop):
            return fn(*args)

    try:
        found = threads.submit(work).result()
    except BaseException as error:
        stop.set()
        threads.close(patience(type(error)))
        raise
    threads.close()
    return found
