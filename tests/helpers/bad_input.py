"""Values and calls for the transcripts of what `complete_cv` and `monte_carlo_cv` refuse."""

# Metrics and kernels take the arguments that they are called with, used or not.
# ruff: noqa: ARG001, ARG002, ARG005

import numpy as np
import pytest
import scipy.sparse as sp

from knnccv import Neighbors, Subsample, complete_cv, monte_carlo_cv
from knnccv.kernel import Variant, jit

NAN, INF = float("nan"), float("inf")
DATA = np.random.default_rng(0).normal(size=(12, 2))
LABELS = np.repeat([0, 1, 2], 4)
DISTANCES = np.abs(DATA[:, None] - DATA[None]).sum(axis=-1)
LOSS = np.array([[0, 1, 2], [3, 0, 1], [1, 2, 0]])
NEAR = np.argsort(DISTANCES + np.diag(np.full(12, INF)), axis=1)[:, :3]
FAR = np.take_along_axis(DISTANCES, NEAR, axis=1)


def changed(array, at, value, dtype=None):
    """A copy of the array with one other value."""
    copy = np.array(array, dtype=dtype)
    copy[at] = value
    return copy


def objects(*values):
    """One-dimensional array of any objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def masked(array, at):
    """The array with one entry masked."""
    mask = np.zeros(np.shape(array), bool)
    mask[at] = True
    return np.ma.masked_array(array, mask)


def graph(array=None):
    """Every item's three nearest, as a CSR matrix of distances."""
    rows = np.repeat(np.arange(12), 3)
    return sp.csr_matrix((FAR.ravel() if array is None else array, (rows, NEAR.ravel())), shape=(12, 12))


def returning(value):
    """A metric that always returns this."""
    return lambda tested, other: value


def raising(error):
    """A metric that always fails."""

    def metric(tested, other):
        raise error

    return metric


class NoKernel(Variant):
    name = "no-kernel"

    def n_nearest(self, **parameters):
        return 1


class SecondNN(NoKernel):
    name = "nn"
    fixed = jit(lambda order, labels, target, constraints: 0.0)


def complete(X=DATA, y=LABELS, variant="nn", cv=None, **more):
    return complete_cv(X, y, variant, cv, **more)


def sampled(X=DATA, y=LABELS, variant="nn", cv=None, **more):
    return monte_carlo_cv(X, y, variant, cv, **{"n_runs": 3, "random_state": 0, **more})


def short(**more):
    """Exact mode with three neighbors of every sample, where seven may matter."""
    return complete_cv(Neighbors.from_lists(NEAR, FAR), LABELS, "nn", Subsample(6), exact=True, **more)


def both(**arguments):
    """What `complete_cv` and `monte_carlo_cv` must refuse in the same words."""
    arguments = {"cv": Subsample(6), **arguments}
    with pytest.raises(Exception) as caught:  # noqa: PT011
        sampled(**arguments)
    try:
        complete(**arguments)
    except Exception as error:
        told = (type(error), str(error)), (caught.type, str(caught.value))
        assert told[0] == told[1], told
        raise
