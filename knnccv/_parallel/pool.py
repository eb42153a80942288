"""Blocks of work in threads, in any executor, or on a dask cluster, handed back in order.

Every sample is computed on its own, so it does not matter how the samples are cut into tasks. Tasks are
made so long that handing them out costs little, and so short that Ctrl-C, the progress bar and the slowest
worker do not keep anybody waiting; how long a sample takes is learned on the way.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from .._typing import Array
from .._validation import check_bool, check_integer
from .blas import one_blas_thread
from .dask_backend import DaskBackend, check_client, is_client
from .shipping import BlockFunction, FunctionReference, ShippedFunction, answer, compute
from .threads import Stop, Threads, patience

FIRST_TASK_ITEMS = (
    16  # samples from which the time of a sample is known well enough, and least share of a worker
)
MAX_TASK_GROWTH = 16  # at most so much longer than a finished one is a task
AT_ONCE = 4  # tasks per worker that are handed out at a time
SHORT = 0.005  # seconds of work for which starting threads does not pay
SECONDS = 0.25  # of a task in a thread of ours
SECONDS_AWAY = 0.5  # of a task that travels
RETURNS = 100  # times that a task may come back from workers that do not know the plan
WIDTH = 64  # workers of an executor that does not tell


class ExecutorLike(Protocol):
    """What `executor` must be: `concurrent.futures.Executor`, or as much of it as is used here."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Start ``fn(*args, **kwargs)`` and return a future, with a ``result`` method at least."""


def n_workers(n_jobs: int | None) -> int:
    """How many threads `n_jobs` asks for.

    Raises
    ------
    TypeError, ValueError
        If it is neither None, -1 nor a positive integer.
    """
    if n_jobs is None or (isinstance(n_jobs, (int, np.integer)) and n_jobs == -1):
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    return check_integer("n_jobs (None or -1 for all processors)", n_jobs, 1)


def check_pool(n_jobs: Any, executor: Any, progress: Any) -> None:
    """Raise TypeError, ValueError or ImportError if the work could not be handed out so."""
    n_workers(n_jobs)
    if executor is not None and not hasattr(executor, "submit"):
        msg = (
            "executor must have a submit method, as concurrent.futures.Executor and dask's Client have "
            f"(of a cluster, pass Client(cluster)), got {executor!r}"
        )
        raise TypeError(msg)
    if isinstance(executor, type):
        msg = f"executor must be an instance, got the class {executor.__name__}; call it first"
        raise TypeError(msg)
    if is_client(executor):
        check_client(executor)
    if check_bool("progress", progress):
        _tqdm()


class WorkerPool:
    """Those who compute the blocks of one question; a context.

    Leaving it, by an error or Ctrl-C too, cancels what has not begun, waits for threads of ours (for the
    sample that they are at; not for long after Ctrl-C), and gives BLAS its threads back.

    Parameters
    ----------
    plan : callable
        ``plan(rows, *arguments)``: the results of some rows. Each row must be computed on its own.
    n_jobs, executor, progress
        As `complete_cv` takes them.
    unit : str, default "item"
        What a row stands for, as the progress bar calls it. Anything but a sample is known to take long.
    """

    def __init__(
        self,
        plan: BlockFunction,
        *,
        n_jobs: int | None = None,
        executor: ExecutorLike | None = None,
        progress: bool = False,
        unit: str = "item",
    ) -> None:
        self._plan = plan
        self._unit = unit
        self._executor = executor
        self._n_threads = n_workers(n_jobs)
        target = SECONDS if executor is None else SECONDS_AWAY
        self._target = target
        self._pace = self._new_pace()
        self._apart = False
        self._threads: Threads | None = None
        self._backend: Any = None
        self._waiting: deque[tuple[Array, Any]] = deque()
        self._progress = progress
        self._bar: Any = None
        self._stack = ExitStack()
        self._blas_limited = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        with self._stack:
            if self._backend is not None:
                self._backend.close()
            if self._threads is not None:
                self._threads.close(patience(kind))

    @property
    def n_workers(self) -> int:
        """How many compute at a time; 0 where an executor does not tell."""
        return self._n_threads if self._executor is None else _told_width(self._executor)

    def stand_apart(self) -> None:
        """Compute nothing in the caller's thread from now on: one row may take long, and Ctrl-C would wait.

        What was learned of the pace no longer holds.
        """
        self._apart = True
        self._pace = self._new_pace()

    def _new_pace(self) -> TaskSizer:
        if self._unit == "item":
            return TaskSizer(self._target, FIRST_TASK_ITEMS)
        pace = TaskSizer(self._target, 1)
        pace.learn(1, SECONDS_AWAY)
        return pace

    def map(self, rows: Array, size: int, *arguments: Any) -> Iterator[tuple[Array, Any]]:
        """``plan(block, *arguments)`` for blocks of up to `size` rows, in their order.

        Yields
        ------
        block : ndarray
            Some of the rows.
        result : object
            What the plan returned for them.
        """
        self._announce(len(rows))
        if self._n_threads > 1 and len(rows) > size:
            self._limit_blas()  # before the first block: its threads spin for a while after their work
        start = 0
        while start < len(rows) and self._stays(len(rows) - start):
            task = self._pace.cut(rows[start:], size, 1)
            start += len(task)
            yield from self._results(task, size, compute(self._plan, task, size, arguments))
        while start < len(rows) or self._waiting:
            backend = self._open()
            width = backend.width
            while start < len(rows) and len(self._waiting) < AT_ONCE * width:
                task = self._pace.cut(rows[start:], size, width)
                start += len(task)
                self._waiting.append((task, backend.submit(task, size, arguments)))
            task, pending = self._waiting[0]
            done = backend.result(pending)
            self._waiting.popleft()
            yield from self._results(task, size, done)

    def _announce(self, n_items: int) -> None:
        if self._bar is not None:
            self._bar.total += n_items
            self._bar.refresh()
        elif self._progress:
            self._bar = _tqdm()(total=n_items, unit=self._unit)

    def _stays(self, n_left: int) -> bool:
        """Whether to work here and now: to learn how long a sample takes, or as handing out does not pay."""
        if self._apart:
            return False
        if not self._pace.known:
            return True
        return self._executor is None and (self._n_threads == 1 or self._pace.seconds(n_left) <= SHORT)

    def _results(self, task: Array, size: int, done: Any) -> Iterator[tuple[Array, Any]]:
        results, seconds = done
        self._pace.learn(len(task), seconds)
        results.reverse()
        for start in range(0, len(task), size):
            block = task[start : start + size]
            if self._bar is not None:
                self._bar.update(len(block))
            yield block, results.pop()  # which lets the result go once it was used

    def _limit_blas(self) -> None:
        if not self._blas_limited:
            self._blas_limited = True
            self._stack.enter_context(one_blas_thread())

    def _open(self) -> Any:
        if self._backend is None:
            self._limit_blas()
            if is_client(self._executor):
                self._backend = DaskBackend(self._executor, self._plan)
            elif self._executor is not None:
                self._backend = ExecutorBackend(self._executor, self._plan, _width(self._executor))
            else:
                self._threads = Threads(self._n_threads)
                self._backend = ExecutorBackend(self._threads, self._plan, self._n_threads)
        return self._backend


def for_each(
    work: Callable[[Any], None],
    pieces: Sequence[Any],
    n_jobs: int | None = None,
    progress: bool = False,
    *,
    unit: str = "piece",
) -> None:
    """``work(piece)`` for every piece, begun in their order, in threads of ours.

    An error ends the rest, when the threads are through with the pieces that they are at; Ctrl-C does not
    wait for long.
    """
    left = iter(pieces)
    stop = threading.Event()
    bar = _tqdm()(total=len(pieces), unit=unit) if progress else None

    def drain() -> None:
        # Taking from the iterator of a sequence is one step; no two threads take the same.
        while not stop.is_set() and (piece := next(left, stop)) is not stop:
            try:
                work(piece)
            except BaseException:
                stop.set()
                raise
            if bar is not None:
                bar.update()

    with ExitStack() as stack:
        if bar is not None:
            stack.callback(bar.close)
        if (width := min(n_workers(n_jobs), len(pieces))) <= 1:
            drain()
            return
        stack.enter_context(one_blas_thread())
        pool = Threads(width)
        stack.push(lambda kind, *_: pool.close(patience(kind)))
        stack.callback(stop.set)
        for future in [pool.submit(drain) for _ in range(width)]:
            future.result()


class TaskSizer:
    """How many samples make a task of about so many seconds, as learned from finished ones."""

    def __init__(self, target: float, least: int = FIRST_TASK_ITEMS) -> None:
        self._target = target
        self._least = least
        self._length = 1
        self._per_item = 0.0
        self.known = False  # is how long a sample takes; a first sample pays for what comes once

    def learn(self, n_items: int, seconds: float) -> None:
        """Take note of a finished task."""
        self._per_item = max(seconds / n_items, 1e-9)
        longest = max(self._length, MAX_TASK_GROWTH * n_items)  # short tasks come in when long ones are out
        self._length = max(1, int(min(longest, self._target / self._per_item)))
        self.known = self.known or n_items >= FIRST_TASK_ITEMS or seconds > SHORT

    def seconds(self, n_items: int) -> float:
        """How long so many samples will take."""
        return n_items * self._per_item

    def cut(self, rows: Array, size: int, width: int) -> Array:
        """The next task: the first of the rows left, for `width` workers who work in blocks of `size`."""
        share = max(self._least, len(rows) // (2 * width)) if width > 1 else len(rows)
        length = min(self._length, share)
        return rows[: length - length % size if length > size else length]


@dataclass
class Pending:
    """A task at work, and how many times the plan had traveled when it was sent."""

    task: tuple[Any, ...]
    future: Any
    n_sent: int


class ExecutorBackend:
    """Submits tasks to anything with the interface of `concurrent.futures`."""

    def __init__(self, executor: Any, plan: BlockFunction, width: int) -> None:
        self.width = width
        self._executor = executor
        self._parcel = ShippedFunction(plan)
        self._stop = Stop()
        self._first = _told_width(executor) or 1  # tasks that take the plan along from the beginning
        self._n_sent = 0
        self._out: deque[Pending] = deque()

    def submit(self, *task: Any) -> Pending:
        """Hand a task out."""
        pending = Pending(task, None, 0)
        self._send(pending, full=self._n_sent < self._first)
        self._out.append(pending)
        return pending

    def _send(self, pending: Pending, full: bool) -> None:
        self._n_sent += full
        pending.n_sent = self._n_sent
        ticket = FunctionReference(self._parcel, full, self._stop)
        pending.future = self._executor.submit(answer, ticket, *pending.task)

    def result(self, pending: Pending) -> Any:
        """Wait for the oldest task.

        A worker that did not know the plan has come back at once, and is sent the plan, unless it has
        been on its way since.
        """
        returned = 0
        while (done := pending.future.result()) is None:
            returned += 1
            if returned > RETURNS:
                msg = f"the executor {self._executor!r} keeps returning None for tasks, not their results"
                raise RuntimeError(msg)
            self._send(pending, full=pending.n_sent == self._n_sent)
            for other in self._out:
                if other is not pending and _came_back(other.future):
                    self._send(other, full=False)
        self._out.popleft()
        return done

    def close(self) -> None:
        """Cancel what is waiting; threads stop after the sample that they are at."""
        self._stop.set()
        for pending in self._out:
            with suppress(AttributeError):  # not everybody's futures can be cancelled
                pending.future.cancel()


def _came_back(future: Any) -> bool:
    return hasattr(future, "done") and future.done() and not future.exception() and future.result() is None


def _told_width(executor: Any) -> int:
    """How many workers an executor says it has (as the standard library's or mpi4py's do); else 0."""
    told = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
    return told if isinstance(told, int) else 0


def _width(executor: Any) -> int:
    return _told_width(executor) or WIDTH


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        msg = "progress=True needs tqdm: pip install 'knnccv[progress]'"
        raise ImportError(msg) from error
    return tqdm
