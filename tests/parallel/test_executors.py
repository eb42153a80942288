"""Who computes does not matter: threads, processes, dask; what travels; Ctrl-C; workers that die."""

import asyncio
import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context

import distributed
import numpy as np
import parallel_work
import pytest
import scipy.linalg  # noqa: F401 (loads its BLAS, so that its threads are counted)
from dask import array
from parallel_work import bars
from seeds import of_today

from knnccv import (
    KFold,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    monte_carlo_cv,
    surface,
)
from knnccv._base.parallel import pool, shipping
from knnccv.kernel import Variant, jit


def problem(n_items=900, n_features=3, n_classes=3):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_items)
    return rng.normal(size=(n_items, n_features)) + 0.5 * y[:, None], y


def assert_same(found, expected):
    assert found.per_item.tobytes() == expected.per_item.tobytes()
    assert (found.score, found.n_tied) == (expected.score, expected.n_tied)
    assert found.error_bound == expected.error_bound


class CountingFunction:
    """Samples times ten; counts how often it was pickled."""

    n_pickled = 0

    def compile(self):
        pass

    def __call__(self, rows, factor=10):
        return rows * factor

    def __reduce__(self):
        CountingFunction.n_pickled += 1
        return _plan, ()


def _plan():
    return CountingFunction()


class Remote(Executor):
    """Remote workers simulated in this process: arguments and results are pickled.

    Every worker knows only the functions that were sent to it.
    """

    def __init__(self, n_workers=3, tells=False):
        self.known = [{} for _ in range(n_workers)]
        self.sent = []
        self.came_back = 0
        if tells:
            self._max_workers = n_workers

    def submit(self, fn, /, *args, **kwargs):
        here = dict(shipping._known)
        at = len(self.sent) % len(self.known)
        message = pickle.dumps((fn, args, kwargs))
        self.sent.append(len(message))
        shipping._known.clear()
        shipping._known.update(self.known[at])
        future = Future()
        try:
            fn, args, kwargs = pickle.loads(message)
            message = pickle.dumps(fn(*args, **kwargs))
            self.came_back += len(message)
            future.set_result(pickle.loads(message))
        except Exception as error:
            future.set_exception(error)
        self.known[at] = dict(shipping._known)
        shipping._known.clear()
        shipping._known.update(here)
        return future


@pytest.mark.parametrize("tells", [False, True])
def test_the_function_is_sent_about_once_per_worker(tells, monkeypatch):
    monkeypatch.setattr(pool, "FIRST_TASK_ITEMS", 3)  # tasks of three samples
    X, y = problem(300, 40)
    for call in (complete_cv, monte_carlo_cv):
        arguments = {} if call is complete_cv else {"random_state": 0}
        executor = Remote(3, tells)
        found = call(X, y, "knn", 5, executor=executor, **arguments)
        expected = call(X, y, "knn", 5, n_jobs=1, **arguments)
        assert np.array_equal(
            found.scores if arguments else found.per_item,
            expected.scores if arguments else expected.per_item,
        )
        n_full = sum(size > X.nbytes for size in executor.sent)
        assert len(executor.sent) > 15
        assert 1 <= n_full <= 10


def test_lists_are_sent_only_if_they_are_needed():
    X, y = problem(600, 12)
    n_bytes = 600 * 100 * 12  # of lists of depth 100
    deep = {"variant": "nn", "cv": Subsample(100)}
    once = Remote()
    complete_cv(X, y, **deep, executor=once)
    assert once.came_back < n_bytes / 10
    near = Neighbors.from_data(X)
    kept = Remote()
    complete_cv(near, y, **deep, executor=kept)
    assert kept.came_back > n_bytes
    again = Remote()
    complete_cv(near, y, **deep, executor=again)
    assert max(again.sent) > n_bytes, "lists that are long enough are sent, in place of a search"
    assert again.came_back < n_bytes / 10
    deeper = Remote()
    complete_cv(near, y, "nn", Subsample(20), executor=deeper)
    assert max(deeper.sent) < n_bytes, "lists that are too short are not sent"


def test_threads_get_the_function_itself():
    CountingFunction.n_pickled = 0
    with (
        ThreadPoolExecutor(2) as threads,
        pool.WorkerPool(CountingFunction(), executor=threads) as computing,
    ):
        found = list(computing.map(np.arange(1000), 10, 3))
    assert max(len(block) for block, _ in found) == 10
    assert np.array_equal(np.concatenate([values for _, values in found]), 3 * np.arange(1000))
    assert CountingFunction.n_pickled == 0


def test_the_function_is_pickled_once_and_a_worker_keeps_few():
    CountingFunction.n_pickled = 0
    with pool.WorkerPool(CountingFunction(), executor=Remote()) as computing:
        for _ in range(3):
            assert sum(len(block) for block, _ in computing.map(np.arange(1000), 7)) == 1000
    assert CountingFunction.n_pickled == 1
    shipping._known.clear()
    for _ in range(2 * shipping.KEPT_FUNCTIONS):
        shipped = shipping.ShippedFunction(CountingFunction())
        pickle.loads(pickle.dumps(shipping.FunctionReference(shipped, True, np.zeros(1, bool))))
    assert len(shipping._known) == shipping.KEPT_FUNCTIONS
    assert shipping._receive("nobody's", None) is None
    shipping._known.clear()


def local_variant():
    """A rule that workers cannot import, as if it were typed into a notebook."""

    @jit
    def agrees(one, other):
        return 1.0 if one == other else 0.0

    @jit
    def own_class(order, labels, target, constraints):  # noqa: ARG001
        return agrees(labels.classes[order.items[0]], labels.classes[target])

    class Local(Variant):
        name = "local"
        fixed = own_class

        def n_nearest(self, **_):
            return 1

    return Local()


CASES = [
    ("nn", Subsample(0.5), "random"),
    ("knn", StratifiedSubsample(0.5), "index"),
    ("rank", StratifiedKFold(4), "index"),
    (local_variant(), KFold(4), "index"),
]


def check_everything(executor):
    X, y = problem(900, 12)
    for variant, design, ties in CASES:
        expected = complete_cv(X, y, variant, design, ties=ties, n_jobs=1)
        assert_same(complete_cv(X, y, variant, design, ties=ties, executor=executor), expected)
    tied = X[:150].round()
    expected = complete_cv(tied, y[:150], "knn", 5, metric="manhattan")
    found = complete_cv(tied, y[:150], "knn", 5, metric=lambda a, b: abs(a - b).sum(), executor=executor)
    assert_same(found, expected)
    one = monte_carlo_cv(X, y, "nn", 5, n_runs=7, random_state=3, n_jobs=1)
    two = monte_carlo_cv(X, y, "nn", 5, n_runs=7, random_state=3, executor=executor)
    assert one.scores.tobytes() == two.scores.tobytes()
    near, other = Neighbors.from_data(X), Neighbors.from_data(X)
    for design in (KFold(5), Subsample(20)):  # the second one asks deeper than what is kept
        assert_same(
            complete_cv(near, y, "nn", design, executor=executor), complete_cv(other, y, "nn", design)
        )
    assert np.array_equal(near.kneighbors(9)[0], other.kneighbors(9)[0])


def test_threads_of_the_caller():
    before = parallel_work.blas_threads()
    with ThreadPoolExecutor(3) as threads:
        check_everything(threads)
    assert parallel_work.blas_threads() == before


@pytest.mark.slow
def test_processes():
    before = parallel_work.blas_threads()
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        check_everything(processes)
        infos = [processes.submit(parallel_work.blas_threads).result() for _ in range(2)]
    for info in infos:
        assert all(n_threads == before.get(path, n_threads) for path, n_threads in info.items())
    assert parallel_work.blas_threads() == before


N_LISTED, DEPTH, CHUNK = 3000, 20, 500


@cache
def listed():
    """Items and distances of neighbors with ties, labels, and the expected result."""
    y = np.random.default_rng(0).integers(0, 2, N_LISTED)
    X = (np.random.default_rng(1).normal(size=(N_LISTED, 2)) + y[:, None]).round(1)
    lists = Neighbors.from_data(X, "sqeuclidean").kneighbors(DEPTH)
    return lists, y, complete_cv(Neighbors.from_lists(*lists), y, "knn", KFold(5))


def in_dask(chunk=CHUNK, depth=-1, keep=lambda array: array):
    return Neighbors.from_lists(
        *(keep(array.from_array(each, chunks=(chunk, depth))) for each in listed()[0])
    )


def in_files(folder):
    for name, each in zip(("items", "distances"), listed()[0], strict=True):
        np.save(folder / f"{name}.npy", each)
    return Neighbors.from_lists(
        *(np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("items", "distances"))
    )


@pytest.fixture(scope="module")
def client():
    options = {"processes": False, "dashboard_address": ":0", "set_as_default": False}
    with distributed.Client(n_workers=1, threads_per_worker=2, **options) as client:
        yield client


class TestInThisProcess:
    def test_an_error_reaches_the_caller_and_leaves_nothing(self, client):
        X, y = problem(200)

        def metric(one, other):
            if one[0] == X[150, 0]:
                raise ValueError("not this one")
            return abs(one - other).sum()

        with pytest.raises(ValueError, match="not this one"):
            complete_cv(X, y, "knn", 5, metric=metric, executor=client)
        assert_same(complete_cv(X, y, "knn", 5, executor=client), complete_cv(X, y, "knn", 5))

    def test_lists_in_chunks(self, client):
        (items, _), y, expected = listed()
        assert_same(complete_cv(in_dask(), y, "knn", KFold(5), executor=client), expected)
        items = items.copy()
        items[1234, 5] = 1234
        wrong = Neighbors.from_lists(array.from_array(items, chunks=(CHUNK, -1)))
        with pytest.raises(ValueError, match=r"indices\[1234\] holds the sample itself"):
            complete_cv(wrong, y, "knn", KFold(5), executor=client)

    def test_clients_that_cannot_be_asked_are_refused(self, client):
        X, y = problem(60)
        address = client.scheduler.address

        async def ask():
            async with distributed.Client(address, asynchronous=True, set_as_default=False) as other:
                with pytest.raises(
                    ValueError, match=r"must be a synchronous dask Client.*asyncio\.to_thread"
                ):
                    complete_cv(X, y, "knn", 5, executor=other)

        asyncio.run(ask())
        closed = distributed.Client(address, set_as_default=False)
        closed.close()
        with pytest.raises(ValueError, match="must be a connected dask Client, not closed"):
            complete_cv(X, y, "knn", 5, executor=closed)


@contextlib.contextmanager
def two_workers():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as client:
        yield client


@pytest.fixture
def own_cluster():
    """A cluster whose workers may be killed: on a busy machine it may give up starting one again."""
    with two_workers() as client:
        yield client


@pytest.mark.slow
class TestCluster:
    def test_everything(self, cluster):
        check_everything(cluster)
        for _ in range(100):  # the scheduler is told, not asked
            left = [key for key in cluster.who_has() if "ShippedFunction" in str(key)]
            if not left:
                break
            time.sleep(0.1)
        assert not left, "the plan stayed on the cluster"

    def test_a_task_brings_its_chunk_and_the_function_no_lists(self, cluster, monkeypatch):
        """The labels travel with the function; every task has rows of one chunk."""
        sizes, tasks = [], []
        packed, submit = shipping.ShippedFunction.packed, pool.Cluster.submit
        monkeypatch.setattr(
            shipping.ShippedFunction,
            "packed",
            lambda self: sizes.append(len(found := packed(self))) or found,
        )
        monkeypatch.setattr(
            pool.Cluster, "submit", lambda self, *task: tasks.append(task[0]) or submit(self, *task)
        )
        (items, _), y, expected = listed()
        assert_same(complete_cv(in_dask(), y, "knn", KFold(5), executor=cluster), expected)
        assert max(sizes) < items.nbytes / 2
        assert all(rows[0] // CHUNK == rows[-1] // CHUNK for rows in tasks)
        np.testing.assert_array_equal(np.concatenate(tasks), np.arange(N_LISTED))

    @pytest.mark.filterwarnings("ignore:give longer neighbor lists")
    def test_all_lists(self, cluster, tmp_path):
        lists, y, expected = listed()
        memory, held = Neighbors.from_lists(*lists), in_dask(700, 7, cluster.persist)
        questions = [
            lambda near, **more: monte_carlo_cv(near, y, "knn", 5, n_runs=3, random_state=0, **more).scores,
            lambda near, **more: complete_cv(near, y, "knn", StratifiedKFold(5), **more).per_item,
            lambda near, **more: surface(near, y, [1, 3], [0.5, 0.8], **more).scores,
        ]
        answers = [ask(memory) for ask in questions]
        for near in (in_dask(), in_files(tmp_path), held):
            for executor in (cluster, None):
                assert_same(complete_cv(near, y, "knn", KFold(5), executor=executor), expected)
            for ask, answer in list(zip(questions, answers, strict=True))[: 2 if near is held else 3]:
                np.testing.assert_array_equal(ask(near, executor=cluster), answer)
        with pytest.raises(TypeError, match=r"dask arrays whose chunks a cluster holds.* omit executor"):
            surface(held, y, [1, 3], [0.5, 0.8], executor=cluster)

    @pytest.mark.parametrize(
        ("where", "n_killed"), of_today([("metric", 2), ("dask", 1), ("files", 1), ("dask", 2)], 2)
    )
    def test_workers_may_die(self, own_cluster, where, n_killed, tmp_path, monkeypatch):
        """By SIGKILL, half-way: chunks are computed again; if both die, the scattered data are lost."""
        options = {}
        if where == "metric":
            near, y = problem(400)
            expected = complete_cv(near, y, "knn", KFold(5), metric="manhattan")
            options = {"metric": lambda one, other: max(abs(one - other).sum() for _ in range(6))}
        else:
            near, (_, y, expected) = in_dask(100) if where == "dask" else in_files(tmp_path), listed()
        for name in ("SECONDS_AWAY", "SECONDS_WITH_PART"):
            monkeypatch.setattr(pool, name, 0.05 if where == "metric" else 0.005)
        victims = list(own_cluster.run(os.getpid).values())[:n_killed]
        n_done = 0
        kept, scatter, scattered = pool.WorkerPool._results, own_cluster.scatter, []

        def results(self, task, size, done):
            nonlocal n_done
            n_done += len(task)
            while victims and n_done > len(y) // (4 if where == "metric" else 2):
                os.kill(victims.pop(), signal.SIGKILL)
            return kept(self, task, size, done)

        monkeypatch.setattr(
            own_cluster, "scatter", lambda *args, **more: scattered.append(1) or scatter(*args, **more)
        )
        monkeypatch.setattr(pool.WorkerPool, "_results", results)
        assert_same(complete_cv(near, y, "knn", KFold(5), executor=own_cluster, **options), expected)
        assert not victims
        assert where != "metric" or len(scattered) >= n_killed
        assert n_done == len(y)


INTERRUPTED = """
import os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from threadpoolctl import threadpool_info
from knnccv import KFold, complete_cv
from knnccv.kernel import Variant, jit

@jit
def slow(order, labels, target, constraints):
    total = 0.0
    for _ in range(3_000_000):  # some 30 ms, which no signal interrupts
        total = (total + 1.5) % 1.3
    return total * 1e-9

class Slow(Variant):
    name = "slow"
    fixed = slow
    def n_nearest(self, **parameters):
        return 1

def metric(one, other):
    calls.append(1)
    return float(abs(one - other).sum())

def limits():
    return {info["filepath"]: info["num_threads"] for info in threadpool_info()}

def score(**more):
    return complete_cv(X[:300], y[:300], "knn", 5, **more).per_item.tolist()

how, where = sys.argv[1:]
rng = np.random.default_rng(0)
X, y, calls = rng.normal(size=(3000, 20)), rng.integers(0, 3, 3000), []
expected, arguments = score(), {}
if where == "executor":
    arguments["executor"] = ThreadPoolExecutor(2)
elif where == "dask":
    from distributed import Client, LocalCluster
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0")
    arguments["executor"] = Client(cluster)
else:
    arguments["n_jobs"] = int(where)
n_threads = threading.active_count()
# What is yet to be compiled, the search and the rule: the compiler's callbacks swallow a signal.
complete_cv(X, y, "nn", KFold(5), **arguments)
rule = Slow if how == "kernel" else "nn"
complete_cv(X[:10], y[:10], rule, KFold(5), n_jobs=1)
before = limits()
most = threading.active_count() - (where == "2")  # some wait for the next work; after Ctrl-C fewer
# When the work is well under way.
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in what a shell runs behind
begun = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
begun.start()
try:
    complete_cv(X, y, rule, KFold(5), **arguments, **({"metric": metric} if how == "metric" else {}))
    sys.exit("not interrupted")
except KeyboardInterrupt:
    pass
begun.join()
if where == "executor":
    arguments["executor"].shutdown(wait=True)
if where == "dask":  # which starts threads when it likes
    assert score(**arguments) == expected
    arguments["executor"].close()
    cluster.close()
else:
    assert threading.active_count() <= (most if where == "2" else n_threads), "threads left"
seen = len(calls)
time.sleep(0.3)
assert len(calls) == seen, "calls after the end"
assert limits() == before
assert score() == expected
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "where"),
    [
        ("kernel", "2"),
        *of_today([("kernel", "1"), ("kernel", "executor"), ("kernel", "dask"), ("metric", "2")], 2),
    ],
)
def test_ctrl_c_leaves_the_process_healthy(how, where):
    """The whole would take a minute; an early end shows that the work was stopped."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, how, where],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr


FORKED = """
import os, sys
import numpy as np
from knnccv import KFold, complete_cv

rng = np.random.default_rng(0)
X, y = rng.normal(size=(1500, 30)), rng.integers(0, 3, 1500)

def score():
    return complete_cv(X, y, "knn", KFold(5), n_jobs=2).score

expected = score()
child = os.fork()
if child == 0:
    os._exit(score() != expected)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_threads_of_its_own():
    """Those that wait for work in the parent do not exist in it."""
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=180)


@pytest.mark.parametrize("where", [{"n_jobs": 1}, {"n_jobs": 3}, {"executor": Remote()}])
def test_the_bar_counts_samples(where, monkeypatch, capfd):
    shown = bars(monkeypatch)
    X, y = problem(700)
    complete_cv(X, y, "knn", KFold(5), **where)
    assert not shown
    complete_cv(X, y, "knn", KFold(5), progress=True, **where)
    monte_carlo_cv(X, y, "confidence", KFold(5), n_runs=2, progress=True, **where)
    assert [(bar.n, bar.total, bar.disable) for bar in shown] == [(700, 700, True)] * 2  # closed
    assert "700/700" in shown[0].paper.getvalue()
    assert "item" in shown[0].paper.getvalue()
    assert capfd.readouterr() == ("", "")


def test_the_bar_counts_those_asked_again(monkeypatch):
    """Class 0 is seldom trained on, and far from the other one."""
    shown = bars(monkeypatch)
    _, y = problem(600, n_classes=2)
    X = y[:, None] + np.linspace(0, 0.1, 600)[:, None]
    design = StratifiedSubsample(per_class={0: 1, 1: 200})
    result = complete_cv(X, y, "nn", design, progress=True)
    assert result.error_bound <= 1e-12
    (bar,) = shown
    assert bar.n == bar.total > 600


@pytest.mark.parametrize("where", [{"n_jobs": 1}, {"n_jobs": 4}, {"executor": Remote()}])
def test_blocks_come_in_order_and_whole(where):
    with pool.WorkerPool(CountingFunction(), **where) as computing:
        for n_rows in (1, 31, 32, 33, 1000, 4097):
            for size in (1, 7, 512):
                parts = list(computing.map(np.arange(n_rows), size))
                assert np.array_equal(np.concatenate([block for block, _ in parts]), np.arange(n_rows))
                assert all(len(block) <= size for block, _ in parts)
                assert all(np.array_equal(found, 10 * block) for block, found in parts)
