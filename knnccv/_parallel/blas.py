"""A limit of BLAS to one thread while knnccv's worker threads run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_users: list[Any] = []  # the limits, once for every caller


@lru_cache(1)
def _controller(n_modules: int) -> ThreadpoolController:  # noqa: ARG001
    """The libraries with threads. They are looked for again, which takes 2 ms, after further imports."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the last of several concurrent callers restores its threads.

    A metric may call BLAS, whose threads would compete with the worker threads for processors. The limit
    belongs to the process, so separate limits of concurrent callers would restore one another's values.
    """
    with _lock:
        limits = _users[0] if _users else _controller(len(sys.modules)).limit(limits=1)
        _users.append(limits)
    try:
        yield
    finally:
        with _lock:
            _users.pop()
            if not _users:
                limits.restore_original_limits()
