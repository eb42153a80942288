"""Plurality votes over folds of one size or two: many neighbors and classes, neighbors found beforehand."""

from functools import cache, partial
from typing import ClassVar

from knnccv import KFold, Neighbors, complete_cv

from .problems import gaussian

N_ITEMS, N_FEATURES = 2000, 8
COUNTS, CLASSES = [1, 5, 15, 51], [2, 10, 100]


@cache
def neighbors(n_classes):
    """Return the neighbors, which keep the lists of the first score, and the labels."""
    X, y = gaussian(N_ITEMS, N_FEATURES, n_classes)
    return Neighbors.from_data(X), y


@cache
def prepared(n_neighbors, n_classes, cv, **options):
    """Return a call that was made once: kernels are compiled, neighbors found."""
    near, y = neighbors(n_classes)
    call = partial(complete_cv, near, y, "knn", cv, n_neighbors=n_neighbors, n_jobs=1, **options)
    call()
    return call


class _Votes:
    """A score over the design `cv`."""

    params = (COUNTS, CLASSES)
    param_names = ("n_neighbors", "n_classes")
    warmup_time = 0
    repeat = (2, 7, 2.0)
    timeout = 120
    options: ClassVar = {}

    def setup(self, n_neighbors, n_classes):
        self.call = prepared(n_neighbors, n_classes, self.cv, **self.options)

    def time_score(self, n_neighbors, n_classes):
        self.call()


class Votes(_Votes):
    cv = KFold(5)


class TiedVotes(_Votes):
    """Votes that end in a tie are decided at random."""

    params = ([5, 15], [2, 10])
    cv = KFold(5)
    options: ClassVar = {"vote_ties": "random"}
