"""Episodes drawn by public packages: their mean accuracy is the exact one, within the sampling error.

Skipped where the packages are missing; `tests/retrieval/test_packages.py` says how to install them. Run
with easyfsl 1.5.0 and learn2learn 0.2.0 (torch 2.15.0, torchvision 0.29.2, gym 0.26.2). learn2learn does
not build on Python 3.11 as it is, since the C files of its source archive are too old: delete them and run
``cython -3`` on its ``data/*.pyx`` before ``pip install .``
"""

import math
import random

import numpy as np
import pytest

from knnccv.episodes import Episodes, expected_episodes

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

N_EPISODES, N_QUERY = 3000, 3


def features(seed):
    """Samples of unequal classes with overlapping normal laws."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(7), rng.integers(9, 16, 7))
    return rng.normal(size=(7, 4))[y] + rng.normal(size=(len(y), 4)), y


def accuracies(X, y, episodes, n_shot):
    """The accuracy of the nearest support in each episode: items of one class after the other."""
    for items in episodes:
        cells = np.asarray(items).reshape(-1, n_shot + N_QUERY)
        supports, queries = cells[:, :n_shot].ravel(), cells[:, n_shot:].ravel()
        gaps = ((X[queries][:, None] - X[supports]) ** 2).sum(axis=-1)
        yield (y[supports][gaps.argmin(axis=1)] == y[queries]).mean()


def compare(X, y, n_way, n_shot, episodes):
    found = np.array(list(accuracies(X, y, episodes, n_shot)))
    assert len(found) == N_EPISODES
    exact = expected_episodes(X, y, Episodes(n_way, n_shot), n_jobs=1).score
    error = found.std(ddof=1) / math.sqrt(N_EPISODES)
    assert error < 0.01
    assert abs(found.mean() - exact) < 4 * error


@pytest.mark.parametrize(("n_way", "n_shot"), [(5, 1), (3, 4)])
def test_easyfsl(n_way, n_shot):
    samplers = pytest.importorskip("easyfsl.samplers", exc_type=ImportError)
    X, y = features(n_shot)
    sampler = samplers.TaskSampler.__new__(samplers.TaskSampler)  # its __init__ fails with torch 2.15
    sampler.n_way, sampler.n_shot, sampler.n_query, sampler.n_tasks = n_way, n_shot, N_QUERY, N_EPISODES
    sampler.items_per_label = {c: np.flatnonzero(y == c).tolist() for c in range(7)}
    random.seed(n_way)
    compare(X, y, n_way, n_shot, sampler)


@pytest.mark.parametrize(("n_way", "n_shot"), [(5, 1), (3, 4)])
def test_learn2learn(n_way, n_shot):
    torch = pytest.importorskip("torch")
    pytest.importorskip("learn2learn", exc_type=ImportError)
    from learn2learn.data import MetaDataset
    from learn2learn.data.transforms import FusedNWaysKShots
    from torch.utils.data import TensorDataset

    X, y = features(n_shot)
    data = MetaDataset(TensorDataset(torch.as_tensor(X), torch.as_tensor(y)))
    draw = FusedNWaysKShots(data, n=n_way, k=n_shot + N_QUERY)
    random.seed(n_way)
    compare(X, y, n_way, n_shot, ([one.index for one in draw(None)] for _ in range(N_EPISODES)))
