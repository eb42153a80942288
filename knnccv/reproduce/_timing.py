"""The median time of a call."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any


def median_seconds(ask: Callable[[], Any], n_calls: int) -> float:
    """Median wall time of `n_calls` calls, after a first one that may compile."""
    ask()
    seconds = []
    for _ in range(n_calls):
        started = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)
