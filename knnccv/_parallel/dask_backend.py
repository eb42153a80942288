"""The workers of a dask cluster: the plan is scattered once, tasks name it.

A plan that is held by one worker only, or that dask's memory manager has reduced to one copy, is lost with
that worker, and dask then cancels the tasks that need it. They are submitted again on a plan scattered
anew, from the caller's process, which holds it anyway.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .shipping import BlockFunction, ShippedFunction, answer

LOSSES = 3  # times that the plan may be lost
REFRESH = 5.0  # seconds between two looks at how many workers there are


def is_client(executor: Any) -> bool:
    """Whether it is a `dask.distributed.Client`; without importing dask for the others."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(executor, distributed.Client)


def check_client(client: Any) -> None:
    """Raise ValueError if the client cannot be waited for."""
    if client.asynchronous:
        msg = (
            f"executor must be a synchronous dask Client, got {client!r} with asynchronous=True; "
            "make it by Client(...) without, and call from a plain function (in a coroutine, through "
            "asyncio.to_thread)"
        )
        raise ValueError(msg)
    if client.status != "running":
        msg = f"executor must be a connected dask Client, got one that is {client.status}: {client!r}"
        raise ValueError(msg)


@dataclass
class Pending:
    """A task at work, what it takes to submit it again, and how many plans were lost before it."""

    task: tuple[Any, ...]
    future: Any
    losses: int


class DaskBackend:
    """Submits tasks to a `dask.distributed.Client`."""

    def __init__(self, client: Any, plan: BlockFunction) -> None:
        self._client = client
        self._parcel = ShippedFunction(plan)
        self._losses = 0
        self._n_tasks = 0
        self._width = 0
        self._looked = 0.0
        self._out: deque[Pending] = deque()
        self._scattered = self._scatter()

    def _scatter(self) -> Any:
        self._client.wait_for_workers(1)  # those of a batch system may take a while
        return self._client.scatter(self._parcel, broadcast=True, hash=False)

    @property
    def width(self) -> int:
        """How many tasks the cluster runs at a time; it may grow and shrink."""
        now = time.monotonic()
        if not self._width or now - self._looked > REFRESH:
            self._width = max(1, sum(self._client.nthreads().values()))
            self._looked = now
        return self._width

    def submit(self, *task: Any) -> Pending:
        """Hand a task out."""
        future = self._submit(task)
        pending = Pending(task, future, self._losses)
        self._out.append(pending)
        return pending

    def _submit(self, task: tuple[Any, ...]) -> Any:
        if self._scattered.status in ("lost", "cancelled"):
            self._scatter_again()
        self._n_tasks += 1
        key = f"knnccv-{self._parcel.token}-{self._n_tasks}"
        return self._client.submit(answer, self._scattered, *task, key=key, pure=False)

    def _scatter_again(self) -> None:
        self._scattered = self._scatter()
        self._losses += 1

    def result(self, pending: Pending) -> Any:
        """Wait for the oldest task; where its plan was lost, scatter it and submit the task again."""
        while True:
            try:
                done = pending.future.result()
            except CancelledError:
                if self._client.status != "running" or pending.losses >= LOSSES:
                    raise
            else:
                self._out.popleft()
                return done
            if pending.losses == self._losses:
                self._scatter_again()
            pending.future = self._submit(pending.task)
            pending.losses = self._losses

    def close(self) -> None:
        """Cancel what is waiting, and let the plan go."""
        with suppress(Exception):  # the cluster may be gone, and a more telling error under way
            if self._out:
                self._client.cancel([pending.future for pending in self._out])
            self._scattered.release()
