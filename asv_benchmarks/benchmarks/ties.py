"""Large tied groups and equal rows: identical samples, few distinct points, few distinct distances."""

from functools import cache

import numpy as np

from knnccv import KFold, Neighbors, complete_cv, surface

COUNTS = range(1, 31)
SIZES = np.linspace(0.1, 0.9, 9)


@cache
def labels(n_items, n_classes):
    return np.random.default_rng(1).integers(n_classes, size=n_items)


@cache
def bits(n_items):
    """Distinct rows whose Hamming distances take 13 values."""
    X = np.random.default_rng(2).integers(2, size=(n_items, 12))
    return Neighbors.from_data(np.column_stack([X, np.arange(n_items)]), "hamming")


def points(n_items):
    """Copies of 50 points."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 3))[rng.integers(50, size=n_items)]


class EqualRows:
    """All samples identical, or copies of 50 points."""

    params = ([1000, 8000, 50_000],)
    param_names = ("n_items",)
    warmup_time = 0
    timeout = 600

    def setup(self, n_items):
        complete_cv(np.zeros((90, 2)), labels(90, 20), "knn", 5, n_jobs=1)
        complete_cv(np.zeros((90, 2)), labels(90, 2), "knn", KFold(5), n_jobs=1)

    def time_identical_stratified(self, n_items):
        complete_cv(np.zeros((n_items, 2)), labels(n_items, 20), "knn", 5, n_jobs=1)

    def time_fifty_points(self, n_items):
        complete_cv(points(n_items), labels(n_items, 2), "knn", KFold(5), n_jobs=1)


class TiedDistances:
    """Distinct rows in a few large tied groups."""

    params = ([300, 1200], [2, 3, 20])
    param_names = ("n_items", "n_classes")
    warmup_time = 0
    timeout = 600

    def setup(self, n_items, n_classes):
        self.y = labels(n_items, n_classes)
        for few in (labels(100, n_classes), np.arange(100.0)):
            rule = "knn" if few.dtype == int else "regression"
            complete_cv(bits(100), few, rule, 5, n_jobs=1)
            surface(bits(100), few, [1, 3], [0.5], rule, n_jobs=1)

    def time_stratified(self, n_items, n_classes):
        complete_cv(bits(n_items), self.y, "knn", 5, n_jobs=1)

    def time_nearest_stratified(self, n_items, n_classes):
        complete_cv(bits(n_items), self.y, "nn", 5, n_jobs=1)

    def time_surface(self, n_items, n_classes):
        surface(bits(n_items), self.y, COUNTS, SIZES, n_jobs=1)

    def time_surface_of_regression(self, n_items, n_classes):
        surface(bits(n_items), self.y.astype(float), COUNTS, SIZES, "regression", n_jobs=1)
