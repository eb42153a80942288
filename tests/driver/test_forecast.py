"""Questions that take long: they are announced beforehand, and Ctrl-C ends them soon."""

import gc
import json
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from knnccv import KFold, Neighbors, StratifiedSubsample, complete_cv, monte_carlo_cv, surface
from knnccv._parallel.threads import Threads, aside, having, stop_flag
from knnccv.driver import _forecast
from knnccv.driver._forecast import SlowComputationWarning, in_words

# Samples that all tie: one of them takes about a second, all of them an hour.
TIED = """
import json, os, signal, sys, threading, time, warnings
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from knnccv import KFold, Neighbors, StratifiedKFold, complete_cv, monte_carlo_cv, surface

warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in what a shell runs behind
what, n_jobs = sys.argv[1], int(sys.argv[2])
n_items, n_classes = (4000, 20) if what != "surface" else (2000, 40)
X, y = np.arange(n_items)[:, None], np.arange(n_items) % n_classes  # equal rows would share a score
arguments = {"executor": ThreadPoolExecutor(2)} if n_jobs == 0 else {"n_jobs": n_jobs}

def ask(X, y, **arguments):
    if what == "surface":
        return surface(X, y, range(1, 31), [0.5], **arguments).scores
    if what == "monte carlo":
        return monte_carlo_cv(X, y, "knn", 5, n_repeats=20, random_state=0, **arguments).scores
    return complete_cv(X, y, "knn", 5, **arguments).per_item

# Compiled first: the compiler's callbacks swallow a signal.
few = np.random.default_rng(0).integers(0, 3, (120, 2)).astype(float), np.arange(120) % 3
expected = ask(*few)
Neighbors.from_data(X, "hamming").kneighbors(2)  # by the engine for many items
near = Neighbors.from_data(X, "hamming")
pressed = []

def press():
    pressed.append(time.time())
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(2.5, press).start()
try:
    ask(near, y, **arguments)
    raised = False
except KeyboardInterrupt:
    raised = True
answered = time.time() - pressed[0]
right = ask(*few).tobytes() == expected.tobytes()
print(json.dumps({"raised": raised, "right": right, "answered": answered, "at": time.time()}), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "n_jobs"),
    [("complete", 2), ("complete", 0), ("surface", 1), ("monte carlo", 1)],
)
def test_ctrl_c_ends_a_long_question(what, n_jobs):
    """Within a second or two; the limit here is for a machine that does much else."""
    done = subprocess.run(
        [sys.executable, "-c", TIED, what, str(n_jobs)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["raised"]
    assert told["right"]
    assert time.time() - told["at"] < 10  # no thread is waited for at the end
    assert told["answered"] < 10


@pytest.fixture
def impatient(monkeypatch):
    """Call a little work long, and keep the garbage collector out of the times that are compared."""
    monkeypatch.setattr(_forecast, "LONG", 1e-5)
    gc.disable()
    yield
    gc.enable()


def tied(n_items=200, n_classes=4, n_points=1):
    """Distinct rows that tie, as equal rows would share a score."""
    X = np.column_stack([np.repeat(np.arange(n_points), n_items // n_points), np.arange(n_items)])
    y = np.random.default_rng(0).permutation(np.arange(n_items) % n_classes)
    return Neighbors.from_data(X, "hamming"), y


def told_by(ask, way_out=""):
    """The only warning, and the answer; asked again if other work disturbs the times compared."""
    for _ in range(5):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = ask()
        if caught and way_out in str(caught[0].message):
            break
    assert [each.category for each in caught] == [SlowComputationWarning]
    assert caught[0].filename == __file__
    return str(caught[0].message), answer


@pytest.mark.usefixtures("impatient")
def test_a_long_question_is_announced_once_with_ways_out(monkeypatch):
    X, y = tied()
    told, answer = told_by(lambda: complete_cv(X, y, "knn", 5, n_jobs=2), "ties='index'")
    assert "with 2 workers: some 200 samples have up to 199 tied neighbors" in told
    assert "ties='index'" in told
    assert "cv=KFold(5) or Subsample(160) fixes" in told
    assert "tol=" not in told  # the group must be seen to its end in any case
    monkeypatch.setattr(_forecast, "LONG", 60.0)
    quiet = complete_cv(X, y, "knn", 5, n_jobs=1)
    assert answer.per_item.tobytes() == quiet.per_item.tobytes()
    assert answer.error_bound == quiet.error_bound


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_only_ways_out_that_help_are_named():
    X, y = tied(4000, 2, 4)
    told, _ = told_by(lambda: complete_cv(X, y, "knn", KFold(5), n_jobs=1), "ties='index'")
    assert "with 1 worker:" in told
    assert "up to 999 tied neighbors" in told
    assert "ties='index'" in told
    assert "cv=" not in told  # what takes the time is to list the group


@pytest.mark.usefixtures("impatient")
def test_a_larger_tol_is_named_where_it_ends_before_the_group():
    n_items = 900
    D = 1.0 - np.eye(n_items)
    for x in range(n_items):
        D[x, (x + np.arange(1, 16)) % n_items] = np.arange(1, 16) / 100
    near = Neighbors.from_distances(D)
    told, _ = told_by(lambda: complete_cv(near, np.arange(n_items) % 3, "nn", 5), "tol=1e-06")
    assert "tol=1e-06 reads fewer neighbors" in told


@pytest.mark.usefixtures("impatient")
def test_who_computes_is_told():
    class Shy:
        """An executor that does not tell how many workers it has."""

        def __init__(self, pool):
            self.submit = pool.submit

    X, y = tied()
    with ThreadPoolExecutor(3) as pool:
        told, one = told_by(lambda: complete_cv(X, y, "knn", 5, executor=pool))
        assert "with 3 workers" in told
        told, other = told_by(lambda: complete_cv(X, y, "knn", 5, executor=Shy(pool)))
        assert "of processor time" in told
    assert one.per_item.tobytes() == other.per_item.tobytes()


@pytest.mark.usefixtures("impatient")
def test_random_runs_and_many_cells_are_announced_once():
    X, y = tied()
    told_by(lambda: monte_carlo_cv(X, y, "knn", 5, n_repeats=2, random_state=0))
    told, _ = told_by(lambda: surface(X, y, [1, 3], [0.3, 0.5], stratified=True))
    assert "at most about" in told
    told_by(lambda: surface(X, y, [1, 3], [0.3, 0.5]))


@pytest.mark.usefixtures("impatient")
def test_nothing_is_announced_where_ties_cost_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 2)), np.arange(600) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete_cv(X, y, "knn", StratifiedSubsample(0.05))
        complete_cv(*tied(), "knn", 5, ties="index")


def test_times_in_words():
    seconds = [61, 400, 3300, 50_000, 10**6]
    assert [in_words(s) for s in seconds] == ["1 minute", "7 minutes", "55 minutes", "14 hours", "12 days"]


def test_threads_hand_back_results_and_errors():
    with Threads(2) as threads:
        futures = [threads.submit(divmod, 7, n) for n in (2, 0, 3)]
        assert futures[0].result() == (3, 1)
        assert futures[2].result() == (2, 1)
        with pytest.raises(ZeroDivisionError):
            futures[1].result()
    with pytest.raises(ZeroDivisionError):
        aside(divmod, 1, 0)


def test_a_stop_is_seen_only_where_it_is_heeded():
    with having(flag=np.ones(1, bool)):
        assert stop_flag()[0]
    assert not stop_flag()[0]
    assert not aside(lambda: stop_flag().any())


def test_the_compiler_is_not_timed(monkeypatch):
    """A kernel that is compiled in a trial would make the forecast of all samples one of compilations."""
    kernel = SimpleNamespace(signatures=[])
    now = [0.0]

    def scores(*_):
        now[0] += 0.01
        if not kernel.signatures:
            kernel.signatures.append("compiled")
            now[0] += 20.0

    monkeypatch.setattr(_forecast.time, "thread_time", lambda: now[0])
    part = SimpleNamespace(steps=(SimpleNamespace(kernel=kernel),))
    plan = SimpleNamespace(parts=(part,), scores_and_tails=scores)
    assert _forecast._time_kernel(plan, None, 100, np.array([0]), 0) == pytest.approx(0.01)
