"""BLAS on one thread while threads of ours are at work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_users: list[threadpool_limits] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread, restored when the last of several callers has left.

    A metric may call BLAS; its threads times ours would fight for the processors. The limit holds for the
    whole process: overlapping limits would restore one another's.
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
