"""KNN-Shapley values beside those of pyDVL and OpenDataVal, where these packages are installed.

Both follow Theorem 1 of Jia et al. (2019), which needs at least K training samples: the farthest one gets
1 / n if it is right. By the definition it is 1 / max(K, n), so with fewer samples than K both add
1 / n - 1 / K to every value whenever the farthest sample is right.
"""

import warnings

import numpy as np
import pytest

from knnccv import item_values

SEEDS = range(20)


def problem(seed):
    """Training and test samples without ties; in every fourth problem fewer than K to train."""
    rng = np.random.default_rng(seed)
    n_train, n_tests = int(rng.integers(8, 40)), int(rng.integers(1, 9))
    k = n_train + 3 if seed % 4 == 3 else int(rng.integers(1, 8))
    y = np.concatenate([np.arange(3), rng.integers(0, 3, n_train - 3)])
    return rng.normal(size=(n_train, 3)), y, rng.normal(size=(n_tests, 3)), rng.integers(0, 3, n_tests), k


def quietly_import(name):
    """The module, or skip; warnings that importing it gives are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed", exc_type=ImportError)


def of_published(X, y, tests, y_test, k):
    """Our values, plus what the theorem adds with fewer samples than K."""
    values = item_values(X, y, n_neighbors=k, X_test=tests, y_test=y_test, n_jobs=1).values
    farthest = ((tests[:, None] - X[None]) ** 2).sum(axis=-1).argmax(axis=1)
    return values + max(1 / len(y) - 1 / k, 0) * (y[farthest] == y_test).mean()


@pytest.mark.parametrize("seed", SEEDS)
def test_values_are_those_of_pydvl(seed):
    methods = quietly_import("pydvl.valuation.methods.knn_shapley")
    from pydvl.valuation.dataset import Dataset
    from sklearn.neighbors import KNeighborsClassifier

    X, y, tests, y_test, k = problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = methods.KNNShapleyValuation(
            KNeighborsClassifier(k), Dataset(tests, y_test), progress=False
        ).fit(Dataset(X, y))
    assert np.abs(of_published(X, y, tests, y_test, k) - theirs.result.values).max() < 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_values_are_those_of_opendataval(seed):
    quietly_import("opendataval.dataval")
    import torch
    from opendataval.dataval import KNNShapley

    X, y, tests, y_test, k = problem(seed)
    right = torch.eye(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = KNNShapley(k_neighbors=k)
        theirs.input_data(torch.tensor(X).float(), right[y], torch.tensor(tests).float(), right[y_test])
        values = theirs.train_data_values().evaluate_data_values()
    # It computes in single precision only.
    assert np.abs(of_published(X, y, tests, y_test, k) - values).max() < 1e-6
