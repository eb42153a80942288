"""Threads that may be left behind, what belongs to a thread, and a limit of BLAS while threads work.

Compiled code cannot be interrupted. After Ctrl-C a thread finishes its current sample; its loop reads the
flag before the next one. The caller waits for `PATIENCE` seconds and then leaves the thread behind. At exit
the interpreter waits for the current samples, since compiled code must not be unloaded while it runs.

Progress bars of tqdm, on stderr, are for a stage, or one that all stages of a call share. A shared bar
belongs to the thread that opened it. Stages that this thread begins add their tasks to it, so that no
function has to pass it on; stages within a task are a part of the task, and are not counted.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any, Self, TypeVar
from weakref import WeakSet

import numpy as np
from threadpoolctl import ThreadpoolController

from ..refusals import need
from ..typing import Array

PATIENCE = 1.0  # seconds that an interrupted caller waits for its threads

_lock = threading.Lock()
_users: list[Any] = []  # the limits of BLAS, once for every caller
_kept: dict[int, list[ThreadPoolExecutor]] = {}  # threads that wait for work, by their number
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.clear)  # a child has none of them


class Here(threading.local):
    """What this thread has: a flag that stops its loops, a shared bar, the data that came with its task."""

    flag: Array = np.zeros(1, np.bool_)  # never set
    bar: Any = None
    part: Any = None


here = Here()


@contextmanager
def having(**values: Any) -> Iterator[None]:
    """Let this thread have other values of `Here`."""
    before = {name: getattr(here, name) for name in values}
    vars(here).update(values)
    try:
        yield
    finally:
        vars(here).update(before)


def stop_flag() -> Array:
    """The flag that compiled loops read before every sample; once set, their results are not used."""
    return here.flag


def check_wanted() -> None:
    """Raise KeyboardInterrupt in a thread whose results are no longer needed; call it between blocks."""
    if stop_flag()[0]:
        raise KeyboardInterrupt


class Threads:
    """Some threads, started on demand, which find their `stop_flag` set once the context is left.

    Leaving it waits for running threads; after Ctrl-C for `PATIENCE` seconds, and they are left behind.
    Other threads are kept for the next use: to start some takes several milliseconds.
    """

    def __init__(self, n_threads: int) -> None:
        self._max_workers = n_threads
        self.flag: Array = np.zeros(1, np.bool_)
        self._started: WeakSet[Future[Any]] = WeakSet()  # results are freed once the caller drops them
        with _lock:
            kept = _kept.get(n_threads)
            self._pool = kept.pop() if kept else ThreadPoolExecutor(n_threads)

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Start ``fn(*args)``."""
        future = self._pool.submit(having(flag=self.flag)(fn), *args)
        self._started.add(future)
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.flag[0] = True
        running = [future for future in self._started if not future.cancel()]
        if kind is None or issubclass(kind, Exception):
            wait(running)
            with _lock:
                _kept.setdefault(self._max_workers, []).append(self._pool)
        else:
            self._pool.shutdown(wait=False, cancel_futures=True)
            wait(running, PATIENCE)


def aside(fn: Callable[..., Any], *args: Any) -> Any:
    """``fn(*args)``, computed in a separate thread, so that Ctrl-C does not wait for it."""
    with Threads(1) as threads:
        return threads.submit(fn, *args).result()


@lru_cache(1)
def _controller(n_modules: int) -> ThreadpoolController:  # noqa: ARG001
    """The libraries with threads. They are looked for again, which takes 2 ms, after further imports."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the last of several concurrent callers restores its threads.

    A metric may call BLAS, whose threads would compete with the worker threads for processors. The limit
    belongs to the process, so separate limits of concurrent callers would restore one another's values.
    """
    with _lock:
        limits = _users[0] if _users else _controller(len(sys.modules)).limit(limits=1)
        _users.append(limits)
    try:
        yield
    finally:
        with _lock:
            _users.pop()
            if not _users:
                limits.restore_original_limits()


_T = TypeVar("_T")


class Bar:
    """A bar whose total grows when a stage begins.

    Parameters
    ----------
    unit : str
        The name of a task.
    known : bool, default True
        Whether stages know their number of tasks in advance; otherwise tasks are counted without a total.

    Raises
    ------
    ImportError
        If tqdm is missing.
    """

    def __init__(self, unit: str, known: bool = True) -> None:
        self._unit, self._known = unit, known
        self._tqdm = tqdm()
        self._bar: Any = None
        self._lock = threading.Lock()

    def begin(self, n_tasks: int) -> None:
        """Add the tasks of a stage."""
        with self._lock:
            self._grow(n_tasks)

    def _grow(self, n_tasks: int) -> None:
        if self._bar is None:
            self._bar = self._tqdm(total=n_tasks if self._known else None, unit=self._unit)
        elif self._known and n_tasks:
            self._bar.total += n_tasks
            if getattr(self._bar, "last_print_n", 0):  # one with a delay is not shown before its time
                self._bar.refresh()

    def update(self, n_tasks: int = 1) -> None:
        """Count finished tasks of a stage that has begun."""
        with self._lock:
            self._bar.update(n_tasks)

    def describe(self, text: str) -> None:
        """Write a text before the bar."""
        with self._lock:
            self._grow(0)
            self._bar.set_description(text)

    def close(self) -> None:
        """End the line."""
        if self._bar is not None:
            self._bar.close()


def shared_bar() -> Bar | None:
    """The bar that this thread's stages share; None if there is none."""
    bar: Bar | None = here.bar
    return bar


@contextmanager
def one_bar(progress: bool, unit: str = "step", *, known: bool = True) -> Iterator[None]:
    """One bar over all stages that this thread begins, if `progress`; see `Bar` for the other arguments.

    Raises
    ------
    ImportError
        If tqdm is missing.
    """
    if not progress:
        yield
        return
    with closing(Bar(unit, known)) as bar, having(bar=bar):
        yield


def counted(tasks: Iterable[_T], n_tasks: int) -> Iterator[_T]:
    """The tasks of a loop; if there is a shared bar, it counts each of them when it is done."""
    bar = shared_bar()
    if bar is None:
        yield from tasks
        return
    bar.begin(n_tasks)
    for task in tasks:
        here.bar = None
        yield task  # after an error this generator ends at any time, and `having` has restored the bar
        here.bar = bar
        bar.update()


def tqdm() -> Callable[..., Any]:
    """The class of tqdm's bars; ImportError with the command that installs it."""
    bars: Callable[..., Any] = need("tqdm.auto", "progress", "a progress bar needs tqdm").tqdm
    return bars
