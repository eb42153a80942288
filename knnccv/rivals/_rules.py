"""Predictions of a rule that is trained on some samples: votes of neighbors, or any classifier."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Protocol

import numpy as np

from .._typing import Array
from .._validation import check_integer
from ..neighbors import Neighbors, as_neighbors

FIRST_DEPTH = 32


class Rule(Protocol):
    """A rule that answers after training."""

    def correct(self, training: Array, tested: Array) -> Array:
        """Whether the answers for the `tested` rows are right: bool (n_tested,).

        `training` is bool (n_items,): the samples that train.
        """


class Votes:
    """The plurality of K neighbors; the smallest label wins a tie, ties of distance go by the row."""

    def __init__(self, neighbors: Neighbors, codes: Array, n_neighbors: int) -> None:
        self._neighbors = neighbors
        self._codes = codes
        self._n_neighbors = n_neighbors
        self._lists = self._listed(FIRST_DEPTH + 2 * n_neighbors)

    def _listed(self, depth: int) -> Array:
        lists: Array = self._neighbors.kneighbors(min(depth, self._neighbors.max_depth))[0]
        return lists

    def correct(self, training: Array, tested: Array) -> Array:
        """See `Rule`; the lists are deepened until every tested sample has K training neighbors."""
        while True:
            lists = self._lists[tested]
            rank = np.cumsum(training[lists], axis=1)
            if (rank[:, -1] >= self._n_neighbors).all():
                break
            if lists.shape[1] >= self._neighbors.max_depth:
                msg = (
                    f"n_neighbors is {self._n_neighbors}, but a training set has only {rank[:, -1].min()} "
                    "of the listed neighbors of a sample; ask for fewer"
                )
                raise ValueError(msg)
            self._lists = self._listed(2 * lists.shape[1])
        voting = training[lists] & (rank <= self._n_neighbors)
        counts = np.zeros((len(tested), int(self._codes.max()) + 1), np.int64)
        rows, places = np.nonzero(voting)
        np.add.at(counts, (rows, self._codes[lists[rows, places]]), 1)
        right: Array = counts.argmax(axis=1) == self._codes[tested]
        return right


class Fitted:
    """A classifier with ``fit`` and ``predict``; every training set fits a copy."""

    def __init__(self, X: Any, y: Array, estimator: Any) -> None:
        self._X = X
        self._y = y
        self._estimator = estimator

    def correct(self, training: Array, tested: Array) -> Array:
        """See `Rule`."""
        fitted = deepcopy(self._estimator)
        fitted.fit(self._X[training], self._y[training])
        right: Array = np.asarray(fitted.predict(self._X[tested])) == self._y[tested]
        return right


def as_rule(X: Any, y: Array, rule: Any, metric: Any) -> Rule:
    """A rule from K or a classifier.

    Raises
    ------
    TypeError, ValueError
        If `rule` is neither a positive integer nor has ``fit`` and ``predict``, or X and y do not match.
    """
    has_both = callable(getattr(rule, "fit", None)) and callable(getattr(rule, "predict", None))
    if isinstance(rule, type) or (hasattr(rule, "fit") and not has_both):
        msg = f"rule must be K or a classifier with fit and predict, got {rule!r}"
        raise TypeError(msg)
    if has_both:
        if isinstance(X, Neighbors):
            msg = "a classifier needs the features, got a Neighbors object"
            raise TypeError(msg)
        table = X if hasattr(X, "tocsr") else np.asarray(X)
        table = table.tocsr() if hasattr(table, "tocsr") else table
        _check_lengths(table.shape[0], y)
        return Fitted(table, y, rule)
    n_neighbors = check_integer("rule (K, or a classifier with fit and predict)", rule, 1)
    neighbors = as_neighbors(X, metric, None)
    _check_lengths(neighbors.n_items, y)
    return Votes(neighbors, np.unique(y, return_inverse=True)[1].reshape(-1), n_neighbors)


def _check_lengths(n_items: int, y: Array) -> None:
    if y.shape != (n_items,):
        msg = f"y must have one label for each of the {n_items} samples, got shape {y.shape}"
        raise ValueError(msg)
