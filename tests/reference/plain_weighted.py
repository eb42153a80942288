"""Scores of many splits of a nearest-neighbor rule with weights, as scikit-learn computes them, in NumPy.

The neighbors of every sample are sorted once; a split only looks up which of them train. One split of 178
samples takes about 0.1 ms, where ``cross_val_score`` takes 3 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

DEPTH = 48  # of the lists that are looked at first


def inverse(distances):
    """scikit-learn's weights="distance": 1/d; those at distance 0 alone, if there are any."""
    with np.errstate(divide="ignore"):
        weights = 1.0 / distances
    infinite = np.isinf(weights)
    some = infinite.any(axis=1)
    weights[some] = infinite[some]
    return weights


def uniform(distances):
    return np.ones_like(distances)


@dataclass
class Sorted:
    """The other samples of each sample by distance, then by row: both of shape (n_items, n_items - 1)."""

    items: np.ndarray
    distances: np.ndarray

    @classmethod
    def from_data(cls, X, metric="euclidean"):
        return cls.from_distances(cdist(X, X, metric))

    @classmethod
    def from_distances(cls, D):
        n_items = len(D)
        others = ~np.eye(n_items, dtype=bool)
        items = np.tile(np.arange(n_items), (n_items, 1))[others].reshape(n_items, -1)
        D = D[others].reshape(n_items, -1)
        order = np.argsort(D, axis=1, kind="stable")
        return cls(np.take_along_axis(items, order, 1), np.take_along_axis(D, order, 1))

    def nearest(self, train, test, k, depth=DEPTH):
        """The k nearest of `train` for each of `test`, tied ones as in `train`, with distances."""
        depth = min(depth, self.items.shape[1])
        place = np.full(len(self.items), -1)
        place[train] = np.arange(len(train))
        items, distances = self.items[test, :depth], self.distances[test, :depth]
        places = place[items]
        inside = places >= 0
        counts = inside.cumsum(axis=1)
        if depth < self.items.shape[1] and counts[:, -1].min() < k:
            return self.nearest(train, test, k, 4 * depth)
        columns = np.nonzero(inside & (counts <= k))[1].reshape(len(test), k)
        if (np.diff(train) < 0).any():  # not in the order of the rows
            last = np.take_along_axis(distances, columns[:, -1:], 1)
            if depth < self.items.shape[1] and (distances[:, -1:] == last).any():
                return self.nearest(train, test, k, 4 * depth)
            tied = (np.diff(distances, axis=1) == 0).any(axis=1)
            if tied.any():
                far = np.where(inside[tied], distances[tied], np.inf)
                columns[tied] = np.lexsort((places[tied], far), axis=1)[:, :k]
        return np.take_along_axis(items, columns, 1), np.take_along_axis(distances, columns, 1)


def classify(labels, weights, n_classes):
    """The class with the largest sum of weights, the smallest of equal ones; like ``weighted_mode``."""
    votes = np.stack([np.where(labels == c, weights, 0.0).sum(axis=1) for c in range(n_classes)], axis=1)
    return votes.argmax(axis=1)


def accuracy(true, predicted):
    return (true == predicted).mean()


def balanced_accuracy(true, predicted):
    return np.mean([(predicted[true == c] == c).mean() for c in np.unique(true)])


def neg_mean_squared_error(true, predicted):
    return -((true - predicted) ** 2).mean()


def split_scores(near, y, splits, k, weigh, score=accuracy):
    """The score of every split; class codes 0 .. C-1, or real targets with `neg_mean_squared_error`."""
    regression = score is neg_mean_squared_error
    n_classes = 0 if regression else int(y.max()) + 1
    scores = []
    for train, test in splits:
        items, distances = near.nearest(train, test, k)
        weights = weigh(distances)
        if regression:
            predicted = (y[items] * weights).sum(axis=1) / weights.sum(axis=1)
        else:
            predicted = classify(y[items], weights, n_classes)
        scores.append(score(y[test], predicted))
    return np.array(scores)


def mean_and_error(scores, per_run):
    """The mean score and its standard error; the splits of one run depend on each other."""
    means = scores.reshape(-1, per_run).mean(axis=1)
    return means.mean(), means.std(ddof=1) / np.sqrt(len(means))
