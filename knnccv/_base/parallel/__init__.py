"""Parallel work: blocks of samples in threads, in any executor, or on a dask cluster.

- `pool` cuts the work into tasks and returns their results in order.
- `shipping` sends a function and its data to other processes once.
- `threads` has threads that Ctrl-C does not wait for, and limits BLAS to one thread in them.
- `bars` shows progress.
"""

from __future__ import annotations

from .bars import Bar as Bar
from .bars import counted as counted
from .bars import one_bar as one_bar
from .bars import shared_bar as shared_bar
from .pool import ExecutorLike as ExecutorLike
from .pool import WorkerPool as WorkerPool
from .pool import check_pool as check_pool
from .pool import for_each as for_each
from .pool import is_client as is_client
from .pool import n_workers as n_workers
from .shipping import Parts as Parts
from .shipping import held_part as held_part
from .threads import aside as aside
from .threads import check_wanted as check_wanted
from .threads import one_blas_thread as one_blas_thread
from .threads import stop_flag as stop_flag
