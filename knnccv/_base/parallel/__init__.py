"""Parallel work: blocks of samples in threads, in any executor, or on a dask cluster.

- `pool` cuts the work into tasks and returns their results in order.
- `shipping` sends a function and its data to other processes once.
- `threads` has threads that Ctrl-C does not wait for, and limits BLAS to one thread in them.
- `bars` shows progress.
"""

from __future__ import annotations

from .bars import Bar, counted, one_bar, shared_bar
from .pool import ExecutorLike, WorkerPool, check_pool, for_each, is_client, n_workers
from .shipping import Parts, held_part
from .threads import aside, check_wanted, one_blas_thread, stop_flag
