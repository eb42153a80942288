"""After Ctrl-C threads end soon, also within a long piece of work."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import knnccv
from knnccv import KFold, Neighbors, complete_cv
from knnccv._parallel import check_wanted, for_each
from knnccv.retrieval import sampled_retrieval

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are others there")
X = np.random.default_rng(0).normal(size=(320, 2))
y = np.arange(320) % 3


class Slow:
    """Counts calls, of which the first one is interrupted."""

    def __init__(self, function):
        self.function, self.calls, self.lock = function, 0, threading.Lock()

    def __call__(self, *args, **kwargs):
        with self.lock:
            self.calls += 1
            first = self.calls == 1
        time.sleep(0.05)
        if first:
            os.kill(os.getpid(), signal.SIGINT)
        return self.function(*args, **kwargs)


def slow_search():
    """Neighbors that search one sample at a time."""
    near = Neighbors.from_data(X)
    near.rows_at_once = lambda _: 1
    near.search = Slow(near.search)
    return near, near.search


def values():
    near, slow = slow_search()
    return slow, lambda: knnccv.item_values(near, y, n_jobs=2)


def nested_scores():
    near, slow = slow_search()
    score = lambda _: complete_cv(near, y, "nn", KFold(4), n_jobs=1)  # noqa: E731
    return slow, lambda: for_each(score, range(2), 2)


def nested_pieces():
    slow = Slow(lambda _: None)
    return slow, lambda: for_each(lambda _: for_each(slow, range(320), 1), range(2), 2)


def galleries(monkeypatch):
    from knnccv.retrieval import _retrieval

    slow = Slow(_retrieval.trial_rows)
    monkeypatch.setattr(_retrieval, "trial_rows", slow)
    monkeypatch.setattr(_retrieval, "AT_ONCE", 1)
    between = Neighbors.between(X[::2], X[1::2])
    ids = np.arange(160) // 4
    return slow, lambda: sampled_retrieval(between, ids, ids, n_repeats=3, n_jobs=2)


def test_an_error_ends_the_other_pieces_and_is_the_one_raised():
    until = time.monotonic() + 60

    def work(piece):
        if piece == 1:
            raise ValueError("this one")
        while time.monotonic() < until:
            check_wanted()
            time.sleep(0.01)

    with pytest.raises(ValueError, match="this one"):
        for_each(work, range(2), 2)
    assert time.monotonic() < until


@pytest.mark.parametrize("work", [values, nested_scores, nested_pieces, galleries])
def test_threads_end_within_a_piece(work, monkeypatch):
    slow, run = work(monkeypatch) if work is galleries else work()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.signal(signal.SIGINT, before)
    for thread in threading.enumerate():
        if thread.name == "knnccv":
            thread.join(5)
    assert slow.calls < 8
