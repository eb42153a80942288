"""The workers of a dask cluster: the function is scattered once, and tasks refer to it.

A function that only one worker holds, or that dask's memory manager has reduced to one copy, is lost with
that worker. Dask then cancels the tasks that need it. They are submitted again with the function, which is
scattered again from the caller's process.

Data in parts are not scattered. A part is computed on the cluster for the tasks that need it, is freed
after the last of them, and is computed again if its worker dies.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from .parts import Parts
from .shipping import BlockFunction, Pending, ShippedFunction, run_remote

LOSSES = 3  # number of times that the function may be lost
REFRESH = 5.0  # seconds between two counts of the workers


def is_client(executor: Any) -> bool:
    """Return True for a `dask.distributed.Client`; dask is not imported."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(executor, distributed.Client)


def check_client(client: Any) -> None:
    """Raise ValueError if the client is asynchronous or not running."""
    if client.asynchronous:
        msg = (
            f"executor must be a synchronous dask Client, got {client!r} with asynchronous=True; "
            "create it without that argument, and call from a plain function (in a coroutine, through "
            "asyncio.to_thread)"
        )
        raise ValueError(msg)
    if client.status != "running":
        msg = f"executor must be a connected dask Client, got one that is {client.status}: {client!r}"
        raise ValueError(msg)


class DaskBackend:
    """Submits tasks to a `dask.distributed.Client`."""

    def __init__(self, client: Any, function: BlockFunction, parts: Parts | None = None) -> None:
        self._client = client
        self._parts = parts
        self._bounds = (0, 0)  # of the last part
        self._part: Any = None
        self._shipped = ShippedFunction(function)
        self._losses = 0
        self._n_tasks = 0
        self._width = 0
        self._counted_at = 0.0
        self._submitted: deque[Pending] = deque()
        self._scattered = self._scatter()

    def _scatter(self) -> Any:
        self._client.wait_for_workers(1)  # workers of a batch system may start late
        return self._client.scatter(self._shipped, broadcast=True, hash=False)

    @property
    def width(self) -> int:
        """Number of tasks that the cluster runs at a time, which may change."""
        now = time.monotonic()
        if not self._width or now - self._counted_at > REFRESH:
            self._width = max(1, sum(self._client.nthreads().values()))
            self._counted_at = now
        return self._width

    def submit(self, *task: Any) -> Pending:
        """Submit a task, with the part that its rows belong to."""
        if self._parts is not None:
            task = (*task, self._part_of(int(task[0][0])))
        future = self._submit(task)
        pending = Pending(task, future, self._losses)
        self._submitted.append(pending)
        return pending

    def _part_of(self, row: int) -> Any:
        assert self._parts is not None
        if not self._bounds[0] <= row < self._bounds[1]:
            self._bounds = self._parts.bounds(row)
            self._part = self._client.compute(self._parts.part(row))
        return self._part

    def _submit(self, task: tuple[Any, ...]) -> Any:
        if self._scattered.status in ("lost", "cancelled"):
            self._scatter_again()
        self._n_tasks += 1
        key = f"knnccv-{self._shipped.token}-{self._n_tasks}"
        return self._client.submit(run_remote, self._scattered, *task, key=key, pure=False)

    def _scatter_again(self) -> None:
        self._scattered = self._scatter()
        self._losses += 1

    def result(self, pending: Pending) -> Any:
        """Wait for the oldest task; if its function was lost, scatter it and submit the task again."""
        while True:
            try:
                done = pending.future.result()
            except CancelledError:
                if self._client.status != "running" or pending.version >= LOSSES:
                    raise
            else:
                self._submitted.popleft()
                return done
            if pending.version == self._losses:
                self._scatter_again()
            pending.future = self._submit(pending.task)
            pending.version = self._losses

    def close(self) -> None:
        """Cancel waiting tasks and release the function."""
        with suppress(Exception):  # a lost cluster must not hide the original error
            if self._submitted:
                self._client.cancel([pending.future for pending in self._submitted])
            self._part = None
            self._scattered.release()
