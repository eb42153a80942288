"""A limit of BLAS to one thread while knnccv's worker threads run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_users: list[threadpool_limits] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the last of several concurrent callers restores its threads.

    A metric may call BLAS, whose threads would compete with the worker threads for processors. The limit
    belongs to the process, so separate limits of concurrent callers would restore one another's values.
    """
    with _lock:
        limits = _users[0] if _users else threadpool_limits(1)
        _users.append(limits)
    try:
        yield
    finally:
        with _lock:
            _users.pop()
            if not _users:
                limits.restore_original_limits()
