"""Blocks of work in threads, or in any other executor, handed back in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from ._checks import check_bool, check_integer

T = TypeVar("T")


def n_workers(n_jobs: int | None) -> int:
    """How many threads `n_jobs` asks for.

    Raises
    ------
    TypeError, ValueError
        If it is neither None, -1 nor a positive integer.
    """
    if n_jobs is None or (isinstance(n_jobs, int) and n_jobs == -1):
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    return check_integer("n_jobs (None or -1 for all processors)", n_jobs, 1)


def check_pool(n_jobs: Any, executor: Any, progress: Any) -> None:
    """Raise TypeError, ValueError or ImportError if the work could not be handed out so."""
    n_workers(n_jobs)
    if executor is not None and not hasattr(executor, "submit"):
        msg = f"executor must have a submit method, as concurrent.futures.Executor has, got {executor!r}"
        raise TypeError(msg)
    if check_bool("progress", progress):
        _tqdm()


def map_blocks(
    work: Callable[..., T],
    calls: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
) -> Iterator[T]:
    """``work(*call)`` for every call, in order; the first error ends the rest and is raised."""
    workers = min(n_workers(n_jobs), len(calls))
    bar = _tqdm()(total=len(calls), unit="block") if progress else None
    try:
        if executor is not None:
            results = _submitted(executor, work, calls)
        elif workers <= 1:
            results = (work(*call) for call in calls)
        else:
            results = _threaded(workers, work, calls)
        for result in results:
            if bar is not None:
                bar.update()
            yield result
    finally:
        if bar is not None:
            bar.close()


def _threaded(workers: int, work: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    # A metric may call BLAS; its threads times ours would fight for the processors.
    with _one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        yield from _submitted(pool, work, calls)


_blas_lock = threading.Lock()
_blas_users: list[threadpool_limits] = []


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """BLAS on one thread, restored when the last of several callers has left.

    The limit holds for the whole process: overlapping limits would restore one another's.
    """
    with _blas_lock:
        limits = _blas_users[0] if _blas_users else threadpool_limits(1)
        _blas_users.append(limits)
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users.pop()
            if not _blas_users:
                limits.restore_original_limits()


def _submitted(executor: Executor, work: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    futures = [executor.submit(work, *call) for call in calls]
    try:
        for i, future in enumerate(futures):
            yield future.result()
            futures[i] = None  # type: ignore[call-overload]  # let the result go once it was used
    finally:
        for future in futures:
            if future is not None:
                future.cancel()


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        msg = "progress=True needs tqdm: pip install 'knnccv[progress]'"
        raise ImportError(msg) from error
    return tqdm
