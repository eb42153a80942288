"""Blocks of work in threads, in any executor, or on a dask cluster, in their order.

- `pool` cuts the work into tasks and collects their results.
- `shipping` sends a function and its data to other processes once.
- `dask_backend` serves dask clusters; `blas` limits BLAS to one thread inside worker threads.
"""

from __future__ import annotations

from .blas import one_blas_thread
from .pool import ExecutorLike, WorkerPool, check_pool, for_each, n_workers
from .threads import aside, stop_flag

__all__ = [
    "ExecutorLike",
    "WorkerPool",
    "aside",
    "check_pool",
    "for_each",
    "n_workers",
    "one_blas_thread",
    "stop_flag",
]
