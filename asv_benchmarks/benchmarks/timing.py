"""Times that are taken in turn, in one process, so that they can be compared."""

import os
from statistics import median
from time import perf_counter, sleep

import numpy as np
from threadpoolctl import threadpool_limits

N_ROUNDS = 5
# After a call the threads of some libraries spin for a while, in the way of whoever comes next.
PAUSE = 0.05
LARGE = "KNNCCV_BENCH_LARGE"


def seconds(call):
    start = perf_counter()
    call()
    return perf_counter() - start


def ratio(ours, theirs):
    """Median ratio of two neighboring runs, each on one thread; a first pair is not counted."""
    with threadpool_limits(1):
        ours()
        theirs()
        return median(seconds(ours) / seconds(theirs) for _ in range(N_ROUNDS))


def in_turn(calls, n_rounds=N_ROUNDS):
    """Seconds of shape (n_rounds, n_calls); all threads that the calls want, nothing is run beforehand."""
    taken = np.empty((n_rounds, len(calls)))
    for row in taken:
        for j, call in enumerate(calls):
            sleep(PAUSE)
            row[j] = seconds(call)
    return taken


def exponent(sizes, taken):
    """The e of time = c * size**e, from seconds of shape (n_rounds, n_sizes)."""
    return float(np.polyfit(np.log(sizes), np.log(np.median(taken, axis=0)), 1)[0])


def large():
    """Return True if the benchmarks that take minutes were asked for."""
    return os.environ.get(LARGE, "0") not in ("", "0")


def skip_large():
    """Skip a benchmark that takes minutes, unless it was asked for."""
    if not large():
        msg = f"takes minutes: set {LARGE}=1"
        raise NotImplementedError(msg)
