"""Lists in files and in dask arrays on a cluster: what its workers see, and what happens if one dies."""

import os
import signal
from functools import cache

import numpy as np
import pytest

import knnccv._parallel.pool
from knnccv import KFold, Neighbors, StratifiedKFold, complete_cv, monte_carlo_cv, surface
from knnccv._parallel.pool import WorkerPool
from knnccv._parallel.shipping import ShippedFunction

N_ITEMS, DEPTH, CHUNK = 3000, 20, 500
da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="dask's distributed is not installed")


Y = np.random.default_rng(0).integers(0, 2, N_ITEMS)


@cache
def lists():
    """Items and distances."""
    X = (np.random.default_rng(1).normal(size=(N_ITEMS, 2)) + Y[:, None]).round(1)
    return Neighbors.from_data(X, "sqeuclidean").kneighbors(DEPTH)


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def in_dask(chunk=CHUNK):
    return Neighbors.from_lists(*(da.from_array(each, chunks=(chunk, -1)) for each in lists()))


def in_files(folder):
    items, distances = lists()
    np.save(folder / "items.npy", items)
    np.save(folder / "distances.npy", distances)
    given = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("items", "distances"))
    return Neighbors.from_lists(*given)


def assert_same(found, expected):
    assert found.per_item.tobytes() == expected.per_item.tobytes()
    assert (found.score, found.tied) == (expected.score, expected.tied)
    assert found.error_bound == expected.error_bound


@pytest.mark.slow
def test_a_task_brings_its_chunk_and_the_function_no_lists(cluster, monkeypatch):
    """The labels travel with the function; every task has rows of one chunk."""
    sizes, tasks = [], []
    packed = ShippedFunction.packed
    monkeypatch.setattr(
        ShippedFunction, "packed", lambda self: sizes.append(len(found := packed(self))) or found
    )
    submit = knnccv._parallel.pool.Cluster.submit
    monkeypatch.setattr(
        knnccv._parallel.pool.Cluster,
        "submit",
        lambda self, *task: tasks.append(task[0]) or submit(self, *task),
    )
    expected = complete_cv(Neighbors.from_lists(*lists()), Y, "knn", KFold(5))
    assert_same(complete_cv(in_dask(), Y, "knn", KFold(5), executor=cluster), expected)
    assert max(sizes) < lists()[0].nbytes / 2
    assert all(rows[0] // CHUNK == rows[-1] // CHUNK for rows in tasks)
    np.testing.assert_array_equal(np.concatenate(tasks), np.arange(N_ITEMS))


@pytest.mark.slow
def test_everything_on_a_cluster(cluster, tmp_path):
    memory = Neighbors.from_lists(*lists())
    held = Neighbors.from_lists(
        *(cluster.persist(da.from_array(each, chunks=(700, 7))) for each in lists())
    )
    score = complete_cv(memory, Y, "knn", KFold(5))
    runs = monte_carlo_cv(memory, Y, "knn", 5, n_repeats=3, random_state=0).scores
    grid = surface(memory, Y, [1, 3], [0.5, 0.8]).scores
    for near in (in_dask(), in_files(tmp_path), held):
        for executor in (cluster, None):
            assert_same(complete_cv(near, Y, "knn", KFold(5), executor=executor), score)
        found = monte_carlo_cv(near, Y, "knn", 5, n_repeats=3, random_state=0, executor=cluster).scores
        np.testing.assert_array_equal(found, runs)
        if near is not held:
            found = surface(near, Y, [1, 3], [0.5, 0.8], executor=cluster).scores
            np.testing.assert_array_equal(found, grid)
    stratified = complete_cv(in_dask(), Y, "knn", StratifiedKFold(5), executor=cluster)
    assert_same(stratified, complete_cv(memory, Y, "knn", StratifiedKFold(5)))
    with pytest.raises(TypeError, match=r"dask arrays whose chunks a cluster holds.* omit executor"):
        surface(held, Y, [1, 3], [0.5, 0.8], executor=cluster)


def test_a_cluster_in_this_process():
    items = lists()[0].copy()
    items[1234, 5] = 1234
    wrong = Neighbors.from_lists(da.from_array(items, chunks=(CHUNK, -1)))
    expected = complete_cv(Neighbors.from_lists(*lists()), Y, "knn", KFold(5))
    with distributed.Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", set_as_default=False
    ) as client:
        assert_same(complete_cv(in_dask(), Y, "knn", KFold(5), executor=client), expected)
        with pytest.raises(ValueError, match=r"indices\[1234\] holds the sample itself"):
            complete_cv(wrong, Y, "knn", KFold(5), executor=client)


@pytest.mark.slow
@pytest.mark.parametrize(("where", "n_killed"), [("dask", 1), ("dask", 2), ("files", 1)])
def test_workers_may_die(cluster, where, n_killed, tmp_path, monkeypatch):
    """By SIGKILL, half-way; their chunks are computed again."""
    near = in_dask(100) if where == "dask" else in_files(tmp_path)
    expected = complete_cv(Neighbors.from_lists(*lists()), Y, "knn", KFold(5))
    for name in ("SECONDS_AWAY", "SECONDS_WITH_PART"):
        monkeypatch.setattr(knnccv._parallel.pool, name, 0.005)
    cluster.wait_for_workers(2)
    victims = list(cluster.run(os.getpid).values())[:n_killed]
    n_done = 0
    kept = WorkerPool._results

    def results(self, task, size, done):
        nonlocal n_done
        n_done += len(task)
        while victims and n_done > N_ITEMS // 2:
            os.kill(victims.pop(), signal.SIGKILL)
        return kept(self, task, size, done)

    monkeypatch.setattr(WorkerPool, "_results", results)
    assert_same(complete_cv(near, Y, "knn", KFold(5), executor=cluster), expected)
    assert not victims
    assert n_done == N_ITEMS
