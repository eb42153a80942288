"""Parallel work: blocks of samples in threads, in any executor, or on a dask cluster.

- `pool` cuts the work into tasks and returns their results in order.
- `shipping` sends a function and its data to other processes once.
- `threads` has threads that Ctrl-C does not wait for, limits BLAS to one thread in them, and has the bars.
"""

from __future__ import annotations

from .pool import ExecutorLike, WorkerPool, check_pool, for_each, is_client, n_workers
from .shipping import Parts, held_part
from .threads import Bar, aside, check_wanted, counted, one_bar, one_blas_thread, shared_bar, stop_flag
