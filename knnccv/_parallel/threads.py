"""Daemon threads, and a flag that stops compiled loops.

Compiled code cannot be interrupted. After Ctrl-C a thread finishes its current sample; its loop reads the
flag before the next one. The caller waits for `PATIENCE` seconds and then leaves the thread behind. The
threads are daemons, so an interrupted program can continue without them. At exit the interpreter waits for
their current samples, since compiled code must not be unloaded while it runs.
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

PATIENCE = 1.0  # seconds that an interrupted caller waits for its threads

_here = threading.local()
_left_behind: list[threading.Thread] = []
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


class Threads:
    """A pool of daemon threads, started on demand, with the ``submit`` method of an executor.

    Parameters
    ----------
    n_threads : int
        Largest number of threads.
    """

    def __init__(self, n_threads: int) -> None:
        self._max_workers = n_threads
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run ``fn(*args)`` when a thread is free; return its future."""
        future: Future[Any] = Future()
        self._tasks.put((future, fn, args))
        if len(self._threads) < self._max_workers:
            thread = threading.Thread(target=_work, args=(self._tasks,), name="knnccv", daemon=True)
            thread.start()
            self._threads.append(thread)
        return future

    def close(self, patience: float | None = None) -> None:
        """End the threads after the submitted work.

        Parameters
        ----------
        patience : float, optional
            Seconds to wait for running threads before they are left behind. Default: no limit.
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
            except BaseException as error:  # raised again by `result`
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
        del task, future, fn, args  # not kept alive while waiting for the next task


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
