"""One progress bar over all stages of a call: on stderr, without a change of the result."""

from __future__ import annotations

import sys
import threading
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from recorded_bars import bars
from sklearn.model_selection import GroupShuffleSplit, KFold, LeaveOneOut
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier

import knnccv._parallel.bars
from knnccv import bootstrap_score
from knnccv._parallel import counted, expect, for_each, one_bar
from knnccv.episodes import Episodes, described_episodes, expected_episodes, sampled_episodes
from knnccv.retrieval import Gallery, expected_retrieval, sampled_retrieval
from knnccv.selection import condense, condensed_cv, search_weights, select_features
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
SHUFFLED = KFold(3, shuffle=True)
DESCRIBED = [{0: 1, 1: 2}, {0: 2, 1: 1, 2: 3}]
RANDOM = {"random_state": 0}


def call(function, *arguments, **options):
    return lambda **more: function(*arguments, **options, **more)


BARS = {
    "retrieval": call(expected_retrieval, DISTANCES, Y, Y, THREE_SHOTS, exact=True, jackknife="identity"),
    "retrieval-sampled": call(sampled_retrieval, DISTANCES, Y, Y, THREE_SHOTS, n_repeats=5),
    "episodes": call(expected_episodes, X, Y, Episodes(2, 2), jackknife="class", exact=True),
    "episodes-votes": call(expected_episodes, X, Y, Episodes(2, 2), 3),
    "episodes-sampled": call(
        sampled_episodes, X, Y, Episodes(2, 2), head="prototype", control_variate=True, n_query=3, **RANDOM
    ),
    "episodes-described": call(described_episodes, X, Y, DESCRIBED),
    "condensed": call(condensed_cv, X, Y, outer=2, n_repeats=2, **RANDOM),
    "bootstrap": call(bootstrap_score, X, Y, n_neighbors=3),
    "sklearn": call(expected_score, ODD, X, Y, cv=SHUFFLED, scoring=["accuracy", "neg_brier_score"]),
    "sklearn-groups": call(expected_score, ODD, X, Y, cv=GroupShuffleSplit(1, test_size=2), groups=GROUPS),
    "sklearn-runs": call(expected_score, RADIUS, X, Y, cv=SHUFFLED, method="mc", n_repeats=3, **RANDOM),
    "sklearn-listed": call(expected_score, RADIUS, X, Y, cv=LeaveOneOut(), method="mc"),
}
COUNTERS = {
    "condense": call(condense, X, Y),
    "columns": call(select_features, X, Y, **FIXED),
    "columns-backward": call(select_features, X, Y, direction="backward", **FIXED),
    "weights": call(search_weights, X, Y, max_cycles=1, **FIXED),
}


@pytest.fixture
def shown(monkeypatch):
    """The bars shown from now on."""
    return bars(monkeypatch)


def same(a, b):
    """Whether two results have the same bits, up to their times."""
    if is_dataclass(a):
        names = [field.name for field in fields(a) if field.name not in ("seconds", "_runs", "design")]
        return type(a) is type(b) and all(same(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b) or vars(a) == vars(b)


@pytest.mark.parametrize("name", BARS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_bar_is_filled_and_the_result_is_the_same(name, n_jobs, shown):
    plain = BARS[name](n_jobs=n_jobs)
    assert not shown
    assert same(BARS[name](n_jobs=n_jobs, progress=True), plain)
    (bar,) = shown
    assert bar.n == bar.total > 0
    assert bar.disable  # closed


@pytest.mark.parametrize("name", COUNTERS)
def test_a_search_counts_without_a_total(name, shown):
    plain = COUNTERS[name]()
    assert not shown
    assert same(COUNTERS[name](progress=True), plain)
    (bar,) = shown
    assert bar.n > 1
    assert bar.total is None
    assert bar.disable


@pytest.mark.parametrize("variant", ["nn", "regression"])
def test_the_honest_score_has_a_bar_of_its_own(variant, shown):
    options = {"variant": variant, "cv": 2, "nested": 2, **({"n_neighbors": 3} if variant != "nn" else {})}
    y = Y if variant == "nn" else Y.astype(float)
    found = select_features(X, y, progress=True, **options)
    assert same(found.nested, select_features(X, y, **options).nested)
    assert [bar.unit for bar in shown] == ["step", "training set"]
    assert shown[1].n == shown[1].total == 4


@pytest.mark.parametrize("name", [*BARS, *COUNTERS])
def test_progress_is_checked_before_any_work(name, monkeypatch):
    function = {**BARS, **COUNTERS}[name]
    with pytest.raises(TypeError, match="progress must be True or False, got 1"):
        function(progress=1)
    monkeypatch.setattr("knnccv._parallel.bars.Bar.begin", None)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"a progress bar needs tqdm: pip install 'knnccv\[progress\]'"):
        function(progress=True)


def test_the_bar_goes_to_stderr(capfd):
    pytest.importorskip("tqdm")
    BARS["bootstrap"](progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "step" in err
    BARS["bootstrap"]()
    assert capfd.readouterr() == ("", "")


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


def test_expected_stages_do_not_add_to_the_total(shown):
    totals = []
    with one_bar(True):
        expect(4)
        for _ in range(2):
            for_each(lambda _: totals.append(shown[0].total), range(2), 1)
        for_each(lambda _: totals.append(shown[0].total), range(3), 1)
    assert totals == [4] * 4 + [7] * 3
    assert shown[0].n == 7


def test_an_error_or_ctrl_c_closes_the_bar(shown):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), one_bar(True):
        for_each(stop, range(3), 1)
    assert shown[0].disable
    assert knnccv._parallel.bars.shared_bar() is None


def test_a_loop_that_is_left_does_not_bring_its_bar_back(shown):
    with one_bar(True):
        loop = counted(range(3), 3)
        next(loop)
    assert knnccv._parallel.bars.shared_bar() is None
    with one_bar(True):
        loop.close()
        for_each(lambda _: None, range(2), 1)
    assert [(bar.n, bar.total) for bar in shown] == [(0, 3), (2, 2)]


def test_a_bar_with_a_delay_is_not_shown_before_its_time(shown):
    within = []
    tqdm = knnccv._parallel.bars.tqdm()
    knnccv._parallel.bars.tqdm = lambda: lambda **options: tqdm(delay=60, **options)  # undone by `shown`
    with one_bar(True):
        for _ in range(3):
            for_each(within.append, range(3), 1)
    assert shown[0].n == 9
    assert shown[0].paper.getvalue() == ""
