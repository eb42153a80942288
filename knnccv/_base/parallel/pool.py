"""The worker pool: cuts rows into tasks, runs them in threads, executors or dask, returns results in order.

Every sample is computed independently, so the cut into tasks does not change the results. Tasks are long
enough to make their overhead small, and short enough for Ctrl-C, the progress bar and the slowest worker.
The time per sample is measured on the way.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, wait
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ..typing import Array
from ..validation import check, check_bool, check_integer
from .shipping import BlockFunction, FunctionReference, Parts, ShippedFunction, run_blocks, run_remote
from .threads import Bar, Threads, check_wanted, having, one_bar, one_blas_thread, shared_bar, tqdm

# Samples that suffice to estimate the time per sample, and the smallest share of a worker.
FIRST_TASK_ITEMS = 16
MAX_TASK_GROWTH = 16  # largest ratio of a task's length to that of a finished one
AT_ONCE = 4  # tasks per worker that are submitted at a time
SHORT = 0.005  # seconds of work for which threads do not pay
SECONDS = 0.25  # target length of a task in a thread
SECONDS_AWAY = 0.5  # target length of a task in another process
SECONDS_WITH_PART = 5.0  # the same if a part comes with it: tasks for one part may be on different workers
WHOLE = 2**62
LOSSES = 3  # number of times that a cluster may lose the function
REFRESH = 5.0  # seconds between two counts of a cluster's workers
RETURNS = 100  # number of times that workers may return a task because they do not know the function
WIDTH = 64  # assumed number of workers of an executor that does not report it


class ExecutorLike(Protocol):
    """The part of `concurrent.futures.Executor` that `executor` must have."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Start ``fn(*args, **kwargs)`` and return a future with a ``result`` method."""


def is_client(executor: Any) -> bool:
    """Return True for a `dask.distributed.Client`; dask is not imported."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(executor, distributed.Client)


def n_workers(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` stands for.

    Raises
    ------
    TypeError, ValueError
        If `n_jobs` is neither None, -1 nor a positive integer.
    """
    if n_jobs is None or (isinstance(n_jobs, (int, np.integer)) and n_jobs == -1):
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    return check_integer("n_jobs (None or -1 for all processors)", n_jobs, 1)


def check_pool(n_jobs: Any, executor: Any, progress: Any) -> None:
    """Raise TypeError, ValueError or ImportError if these arguments of a parallel run are invalid."""
    n_workers(n_jobs)
    must = (
        "executor must have a submit method, as concurrent.futures.Executor and dask's Client have "
        "(for a cluster, pass Client(cluster))"
    )
    check(executor is None or hasattr(executor, "submit"), must, executor, TypeError)
    if isinstance(executor, type):
        msg = f"executor must be an instance, got the class {executor.__name__}; call it first"
        raise TypeError(msg)
    if is_client(executor):
        _check_client(executor)
    if check_bool("progress", progress):
        tqdm()


def _check_client(client: Any) -> None:
    msg = (
        "executor must be a synchronous dask Client: create it without asynchronous=True, and call from a "
        "plain function (in a coroutine, through asyncio.to_thread)"
    )
    check(not client.asynchronous, msg, client)
    must = f"executor must be a connected dask Client, not {client.status}"
    check(client.status == "running", must, client)


class WorkerPool:
    """A context whose workers compute the blocks of one problem.

    Leaving it, also by an error or Ctrl-C, cancels tasks that have not begun, waits until threads have
    finished their current samples (at most `PATIENCE` seconds after Ctrl-C), and restores BLAS's threads.

    Parameters
    ----------
    function : callable
        ``function(rows, *arguments)`` → results of some rows. Each row must be computed independently.
    n_jobs, executor, progress
        As in `complete_cv`.
    unit : str, default "item"
        The progress bar's name for a row. Rows with other names are assumed to take long.
    parts : Parts, optional
        Data that a dask cluster's workers get with each task. Then this process computes no rows, and no
        task has rows of two parts.
    """

    def __init__(
        self,
        function: BlockFunction,
        *,
        n_jobs: int | None = None,
        executor: ExecutorLike | None = None,
        progress: bool = False,
        unit: str = "item",
        parts: Parts | None = None,
    ) -> None:
        self._function = function
        self._parts = parts
        self._unit = unit
        self._executor = executor
        self._n_threads = n_workers(n_jobs)
        away = SECONDS_AWAY if parts is None else SECONDS_WITH_PART
        self._target = SECONDS if executor is None else away
        self._sizer = self._new_sizer()
        self._apart = parts is not None
        self._backend: Backend | None = None
        self._stack = ExitStack()
        own = progress and self._stack.enter_context(closing(Bar(unit)))
        self._bar = own or shared_bar()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    @property
    def n_workers(self) -> int:
        """Number of workers; 0 if an executor does not report it."""
        return self._n_threads if self._executor is None else _reported_width(self._executor)

    def stand_apart(self) -> None:
        """Compute nothing in the caller's thread from now on, since Ctrl-C would wait for a long row.

        Earlier measurements of the time per row are discarded.
        """
        self._apart = True
        self._sizer = self._new_sizer()

    def _new_sizer(self) -> TaskSizer:
        least = FIRST_TASK_ITEMS if self._unit == "item" else 1
        # Parts bound the tasks; the last ones are not cut any further.
        sizer = TaskSizer(self._target, WHOLE if self._parts is not None else least)
        if self._unit != "item":
            sizer.learn(1, SECONDS_AWAY)
        return sizer

    def map(self, rows: Array, size: int, *arguments: Any) -> Iterator[tuple[Array, Any]]:
        """``function(block, *arguments)`` for blocks of up to `size` rows, in their order.

        Yields
        ------
        block : ndarray
            Some of the rows.
        result : object
            The function's result for them.
        """
        if self._bar is not None:
            self._bar.begin(len(rows))
        if self._n_threads > 1 and len(rows) > size:
            # Before the first block: BLAS threads spin for a while after their work.
            self._stack.enter_context(one_blas_thread())
        start = 0
        while start < len(rows) and self._stays(len(rows) - start):
            task = self._sizer.cut(rows[start:], size, 1)
            start += len(task)
            yield from self._results(task, size, run_blocks(self._function, task, size, arguments))
        if start == len(rows):
            return
        backend = self._open()
        while start < len(rows) or backend.submitted:
            width = backend.width
            while start < len(rows) and len(backend.submitted) < AT_ONCE * width:
                task = self._within_part(self._sizer.cut(rows[start:], size, width))
                start += len(task)
                backend.submit(task, size, arguments)
            yield from self._results(backend.submitted[0].task[0], size, backend.result())

    def _within_part(self, task: Array) -> Array:
        """The first rows of a task, up to the end of their part."""
        if self._parts is None:
            return task
        start, end = self._parts.bounds(int(task[0]))
        outside = (task < start) | (task >= end)
        return task[: int(np.argmax(outside))] if outside.any() else task

    def _stays(self, n_left: int) -> bool:
        """Return True if the caller's thread computes: to measure the time per row, or for short work."""
        if self._apart:
            return False
        if not self._sizer.known:
            return True
        return self._executor is None and (self._n_threads == 1 or self._sizer.seconds(n_left) <= SHORT)

    def _results(self, task: Array, size: int, done: Any) -> Iterator[tuple[Array, Any]]:
        results, seconds = done
        self._sizer.learn(len(task), seconds)
        results.reverse()
        for start in range(0, len(task), size):
            block = task[start : start + size]
            if self._bar is not None:
                self._bar.update(len(block))
            yield block, results.pop()  # frees the result after use

    def _open(self) -> Backend:
        if self._backend is None:
            self._stack.enter_context(one_blas_thread())
            if is_client(self._executor):
                self._backend = Cluster(self._executor, self._function, self._parts)
            else:
                own = self._executor is None
                executor = self._stack.enter_context(Threads(self._n_threads)) if own else self._executor
                self._backend = Backend(executor, self._function)
            self._stack.callback(self._backend.close)
        return self._backend


class TaskSizer:
    """Chooses the number of samples in a task, to last about `target` seconds, from finished tasks."""

    def __init__(self, target: float, least: int = FIRST_TASK_ITEMS) -> None:
        self._target = target
        self._least = least
        self._length = 1
        self._per_item = 0.0
        self.known = False  # whether the time per sample is known; the first sample includes one-time costs

    def learn(self, n_items: int, seconds: float) -> None:
        """Record a finished task."""
        self._per_item = max(seconds / n_items, 1e-9)
        # Short tasks may finish after longer ones were submitted.
        longest = max(self._length, MAX_TASK_GROWTH * n_items)
        self._length = max(1, int(min(longest, self._target / self._per_item)))
        self.known = self.known or n_items >= FIRST_TASK_ITEMS or seconds > SHORT

    def seconds(self, n_items: int) -> float:
        """Expected seconds for `n_items` samples."""
        return n_items * self._per_item

    def cut(self, rows: Array, size: int, width: int) -> Array:
        """The next task: the first remaining rows, for `width` workers with blocks of `size` rows."""
        share = max(self._least, len(rows) // (2 * width)) if width > 1 else len(rows)
        length = min(self._length, share)
        return rows[: length - length % size if length > size else length]


@dataclass
class Pending:
    """A submitted task, and how often the function had been sent at that time."""

    task: tuple[Any, ...]
    future: Any = None
    version: int = 0


class Backend:
    """Submits tasks to anything with the interface of `concurrent.futures`, and keeps them in order."""

    def __init__(self, executor: Any, function: BlockFunction) -> None:
        self.submitted: deque[Pending] = deque()
        self._executor = executor
        self._shipped = ShippedFunction(function)
        self._flag: Array = np.zeros(1, np.bool_)
        self._first = _reported_width(executor) or 1  # first tasks, which carry the function
        self._n_sent = 0

    @property
    def width(self) -> int:
        """Number of tasks that run at a time."""
        return _reported_width(self._executor) or WIDTH

    def submit(self, *task: Any) -> None:
        """Submit a task."""
        pending = Pending(task)
        self._send(pending, full=self._n_sent < self._first)
        self.submitted.append(pending)

    def _send(self, pending: Pending, full: bool) -> None:
        self._n_sent += full
        pending.version = self._n_sent
        reference = FunctionReference(self._shipped, full, self._flag)
        pending.future = self._executor.submit(run_remote, reference, *pending.task)

    def result(self) -> Any:
        """Wait for the oldest task.

        A worker that does not know the function returns None at once. The task is then sent again, with
        the function unless that has been sent since.
        """
        pending = self.submitted[0]
        for _ in range(RETURNS):
            done = self._outcome(pending)
            if done is not None:
                self.submitted.popleft()
                return done
            self._send(pending, full=pending.version == self._n_sent)
            for other in self.submitted:
                if other is not pending and self._came_back(other):
                    self._send(other, full=False)
        msg = f"the executor {self._executor!r} keeps returning None for tasks, not their results"
        raise RuntimeError(msg)

    def _outcome(self, pending: Pending) -> Any:
        """The result of a task; None if it is to be sent again."""
        return pending.future.result()

    def _came_back(self, pending: Pending) -> bool:
        future = pending.future
        ended = hasattr(future, "done") and future.done() and not future.exception()
        return ended and self._outcome(pending) is None

    def close(self) -> None:
        """Cancel waiting tasks; threads stop after their current sample."""
        self._flag[0] = True
        with suppress(Exception):  # futures without `cancel`, or those of a lost cluster
            for pending in self.submitted:
                pending.future.cancel()


class Cluster(Backend):
    """Submits tasks to a `dask.distributed.Client`, with the part of the data that their rows belong to.

    The function is scattered once. It is lost if a single worker holds it, as at the beginning or after
    dask's memory manager has reduced the copies to one, and dies. Dask then cancels the tasks that need it,
    and they are sent again. Parts are not scattered, but computed on the cluster for the tasks that need
    them, freed after the last of them, and computed again if their workers die.
    """

    def __init__(self, client: Any, function: BlockFunction, parts: Parts | None) -> None:
        super().__init__(client, function)
        self._parts = parts
        self._bounds = (0, 0)  # of the last part
        self._part: Any = None
        self._width = 0
        self._counted_at = 0.0
        self._scatter()

    def _scatter(self) -> None:
        self._executor.wait_for_workers(1)  # workers of a batch system may start late
        self._scattered = self._executor.scatter(self._shipped, broadcast=True, hash=False)
        self._n_sent += 1

    @property
    def width(self) -> int:
        """Number of tasks that the cluster runs at a time, which may change."""
        now = time.monotonic()
        if not self._width or now - self._counted_at > REFRESH:
            self._width = max(1, sum(self._executor.nthreads().values()))
            self._counted_at = now
        return self._width

    def _send(self, pending: Pending, full: bool) -> None:
        if full or self._scattered.status in ("lost", "cancelled"):
            self._scatter()
        pending.version = self._n_sent
        rows, *_ = pending.task
        if self._parts is not None and not self._bounds[0] <= rows[0] < self._bounds[1]:
            self._bounds = self._parts.bounds(int(rows[0]))
            self._part = self._executor.compute(self._parts.part(int(rows[0])))
        task = (run_remote, self._scattered, *pending.task, self._part)
        pending.future = self._executor.submit(*task, pure=False)

    def _outcome(self, pending: Pending) -> Any:
        try:
            return pending.future.result()
        except CancelledError:
            if self._executor.status != "running" or pending.version > LOSSES:
                raise
            return None

    def close(self) -> None:
        """Cancel waiting tasks, and release the function and the part."""
        super().close()
        self._scattered = self._part = None  # dask frees what no variable refers to


def _reported_width(executor: Any) -> int:
    """Number of workers that an executor reports, as the standard library's and mpi4py's do, or 0."""
    width = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
    return width if isinstance(width, int) else 0


def for_each(
    work: Callable[[Any], None],
    pieces: Sequence[Any],
    n_jobs: int | None = None,
    progress: bool = False,
    *,
    unit: str = "piece",
) -> None:
    """Call ``work(piece)`` for every piece in threads, started in their order.

    After an error or Ctrl-C threads find their `stop_flag` set, and begin no other piece. The caller waits
    for them, after Ctrl-C for at most `PATIENCE` seconds. Without `progress` the pieces are counted by the
    bar of `one_bar`, if there is one.
    """
    left = iter(pieces)

    def drain() -> None:
        for piece in left:  # an iterator of a sequence gives no two threads the same piece
            check_wanted()
            work(piece)
            if bar is not None:
                bar.update()

    with one_bar(progress, unit):
        bar = shared_bar()
        if bar is not None:
            bar.begin(len(pieces))
        if (width := min(n_workers(n_jobs), len(pieces))) <= 1:
            with having(bar=None):
                drain()
            return
        with one_blas_thread(), Threads(width) as threads:
            # Only what ended before the flag is set: who heeds it might hide the error of another piece.
            ended, _ = wait([threads.submit(drain) for _ in range(width)], return_when=FIRST_EXCEPTION)
            for future in ended:
                future.result()
