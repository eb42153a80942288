"""Pieces of work in threads: one progress bar over all stages of a call, an early end after Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import fields, is_dataclass
from functools import partial

import numpy as np
import pytest
from parallel_work import bars
from sklearn.model_selection import GroupShuffleSplit, LeaveOneOut
from sklearn.model_selection import KFold as Folds
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier

from knnccv import KFold, Neighbors, bootstrap_score, complete_cv, item_values
from knnccv._base.parallel import check_wanted, counted, for_each, one_bar, shared_bar
from knnccv._base.parallel import threads as showing
from knnccv.episodes import Episodes, expected_episodes, sampled_episodes
from knnccv.retrieval import Gallery, _retrieval, expected_retrieval, sampled_retrieval
from knnccv.selection import condense, search_weights, select_features
from knnccv.sklearn import expected_score

RNG = np.random.default_rng(0)
Y = np.arange(36) % 3
X = RNG.normal(size=(36, 4)) + Y[:, None]
GROUPS = np.arange(36) // 6
DISTANCES = RNG.normal(size=(36, 36)) ** 2 + (Y[:, None] != Y)
THREE_SHOTS = Gallery(shots=3)
ODD = KNeighborsClassifier(3)
RADIUS = RadiusNeighborsClassifier(9.0)
FIXED = {"n_neighbors": 3, "cv": 3}
SHUFFLED = Folds(3, shuffle=True)
RANDOM = {"random_state": 0}


BARS = {
    "retrieval": partial(expected_retrieval, DISTANCES, Y, Y, THREE_SHOTS, jackknife="identity"),
    "retrieval-sampled": partial(sampled_retrieval, DISTANCES, Y, Y, THREE_SHOTS, n_runs=5),
    "episodes": partial(expected_episodes, X, Y, Episodes(2, 2), jackknife="class"),
    "episodes-votes": partial(expected_episodes, X, Y, Episodes(2, 2), 3),
    "episodes-sampled": partial(
        sampled_episodes, X, Y, Episodes(2, 2), head="prototype", control_variate=True, n_query=3, **RANDOM
    ),
    "bootstrap": partial(bootstrap_score, X, Y, n_neighbors=3),
    "sklearn": partial(expected_score, ODD, X, Y, cv=SHUFFLED, scoring=["accuracy", "neg_brier_score"]),
    "sklearn-groups": partial(
        expected_score, ODD, X, Y, cv=GroupShuffleSplit(1, test_size=2), groups=GROUPS
    ),
    "sklearn-runs": partial(
        expected_score, RADIUS, X, Y, cv=SHUFFLED, method="sampled", n_runs=3, **RANDOM
    ),
    "sklearn-listed": partial(expected_score, RADIUS, X, Y, cv=LeaveOneOut(), method="sampled"),
}
COUNTERS = {
    "condense": partial(condense, X, Y),
    "columns": partial(select_features, X, Y, **FIXED),
    "columns-backward": partial(select_features, X, Y, direction="backward", **FIXED),
    "weights": partial(search_weights, X, Y, max_cycles=1, **FIXED),
}


@pytest.fixture
def shown(monkeypatch):
    """The bars shown from now on."""
    return bars(monkeypatch)


def same(a, b):
    """Whether two results have the same bits, up to their times."""
    if is_dataclass(a):
        names = [
            field.name for field in fields(a) if field.name not in ("seconds", "_evaluation", "design")
        ]
        return type(a) is type(b) and all(same(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b) or vars(a) == vars(b)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BARS, *COUNTERS])
def test_one_bar_is_filled_and_the_result_is_the_same(name, shown, monkeypatch):
    function = {**BARS, **COUNTERS}[name]
    for options in [{"n_jobs": 1}, {"n_jobs": 2}] if name in BARS else [{}]:
        shown.clear()
        plain = function(**options)
        assert not shown
        assert same(function(progress=True, **options), plain)
        (bar,) = shown
        assert bar.disable  # closed
        if name in BARS:
            assert bar.n == bar.total > 0
        else:  # a search
            assert bar.n > 1
            assert bar.total is None
    # What is refused, is refused before any work.
    monkeypatch.undo()
    monkeypatch.setattr(showing.Bar, "begin", None)
    with pytest.raises(TypeError, match="progress must be True or False, got 1"):
        function(progress=1)


def test_stages_within_tasks_and_in_other_threads_are_not_counted(shown):
    def work(_):
        for_each(lambda _: None, range(5), 1)

    with one_bar(True):
        for_each(work, range(3), 1)
        for_each(work, range(3), 2)
        for task in counted(range(2), 2):
            work(task)
        other = threading.Thread(target=work, args=(0,))
        other.start()
        other.join()
    (bar,) = shown
    assert bar.n == bar.total == 8
    work(0)  # the bar is closed
    assert bar.n == 8


def test_an_error_or_ctrl_c_closes_the_bar(shown):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), one_bar(True):
        for_each(stop, range(3), 1)
    assert shown[0].disable
    assert shared_bar() is None


def test_a_loop_that_is_left_does_not_bring_its_bar_back(shown):
    with one_bar(True):
        loop = counted(range(3), 3)
        next(loop)
    assert shared_bar() is None
    with one_bar(True):
        loop.close()
        for_each(lambda _: None, range(2), 1)
    assert [(bar.n, bar.total) for bar in shown] == [(0, 3), (2, 2)]


MANY = np.random.default_rng(0).normal(size=(320, 2))
MARKS = np.arange(320) % 3


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
    near = Neighbors.from_data(MANY)
    near.rows_at_once = lambda _: 1
    near.search = Slow(near.search)
    return near, near.search


def values():
    near, slow = slow_search()
    return slow, lambda: item_values(near, MARKS, n_jobs=2)


def nested_scores():
    near, slow = slow_search()
    score = lambda _: complete_cv(near, MARKS, "nn", KFold(4), n_jobs=1)  # noqa: E731
    return slow, lambda: for_each(score, range(2), 2)


def nested_pieces():
    slow = Slow(lambda _: None)
    return slow, lambda: for_each(lambda _: for_each(slow, range(320), 1), range(2), 2)


def galleries(monkeypatch):
    slow = Slow(_retrieval.trial_rows)
    monkeypatch.setattr(_retrieval, "trial_rows", slow)
    monkeypatch.setattr(_retrieval, "AT_ONCE", 1)
    between = Neighbors.between(MANY[::2], MANY[1::2])
    ids = np.arange(160) // 4
    return slow, lambda: sampled_retrieval(between, ids, ids, n_runs=3, n_jobs=2)


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


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
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
