"""Times that are measured in turn in one process, so that they can be compared."""

import os
from statistics import median
from time import perf_counter, sleep

import numpy as np
from threadpoolctl import threadpool_limits

N_ROUNDS = 5
# After a call the threads of some libraries spin for a while, which delays the next call.
PAUSE = 0.05
LARGE = "KNNCCV_BENCH_LARGE"


def seconds(call):
    start = perf_counter()
    call()
    return perf_counter() - start


def ratio(ours, theirs):
    """Return the median ratio of successive runs, each on one thread; the first pair is not counted."""
    with threadpool_limits(1):
        ours()
        theirs()
        return median(seconds(ours) / seconds(theirs) for _ in range(N_ROUNDS))


def in_turn(calls, n_rounds=N_ROUNDS):
    """Return seconds of shape (n_rounds, n_calls); calls may use all threads, and have no warm-up."""
    taken = np.empty((n_rounds, len(calls)))
    for row in taken:
        for j, call in enumerate(calls):
            sleep(PAUSE)
            row[j] = seconds(call)
    return taken


def exponent(sizes, taken):
    """Return the e of time = c * size**e, from seconds of shape (n_rounds, n_sizes)."""
    return float(np.polyfit(np.log(sizes), np.log(np.median(taken, axis=0)), 1)[0])


def large():
    """Return True if benchmarks that take minutes are requested."""
    return os.environ.get(LARGE, "0") not in ("", "0")


def skip_large():
    """Skip a benchmark that takes minutes, unless it is requested."""
    if not large():
        msg = f"takes minutes: set {LARGE}=1"
        raise NotImplementedError(msg)
