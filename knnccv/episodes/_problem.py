"""What is computed for every query: classes, tables and the weights of the polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from .._labels import EncodedLabels
from .._typing import Array
from ._episodes import Episodes
from ._rows import Plan
from ._symmetric import binomials, fill_none_nearer

MANY_CLASSES = 100
"""All numbers of ways cost (n_classes - 1)^2 per pair of samples of a class, so by default not beyond."""
MOST_CLASSES = 1000
"""Beyond, a binomial coefficient of all ways overflows."""
MOST_SETS = 10**300
"""Beyond, numbers of sets of classes overflow double precision."""


@dataclass(frozen=True)
class Problem:
    """Episodes of some classes, as the compiled functions take them.

    Attributes
    ----------
    labels : EncodedLabels
    episodes : Episodes
    order : int64 ndarray of shape (n_items,)
        The samples class by class, in the order of their numbers.
    bounds : int64 ndarray of shape (n_classes + 1,)
        Where every class begins in `order`.
    starts : int64 ndarray of shape (n_classes,)
        Where every class begins in `tables`.
    shots : int64 ndarray of shape (n_shots, n_classes)
        The number of supports of every class, for every number of shots that is asked for.
    tables : float64 ndarray of shape (n_shots, n_items + n_classes)
        See `fill_none_nearer`.
    n_terms : int
        Polynomials, of degree 0 to n_terms - 1.
    jackknife : bool
        Whether each class is left out.
    """

    labels: EncodedLabels
    episodes: Episodes
    order: Array
    bounds: Array
    starts: Array
    shots: Array
    tables: Array
    n_terms: int
    jackknife: bool

    @classmethod
    def of(cls, labels: EncodedLabels, episodes: Episodes, *, all_ways: bool, jackknife: bool) -> Problem:
        """Sort the samples by class and fill the tables.

        Raises
        ------
        ValueError
            If the sets of classes are too many for double precision.
        """
        counts = labels.counts
        n_classes = len(counts)
        n_terms = n_classes if all_ways else episodes.ways[-1]
        _check_sets(n_classes, n_terms)
        order = np.argsort(labels.codes, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(counts)])
        starts = bounds[:-1] + np.arange(n_classes)
        shots = episodes.shots_of(labels)
        tables = np.empty((len(shots), len(labels.codes) + n_classes))
        for row, table in zip(shots, tables, strict=True):
            fill_none_nearer(counts, starts, row, table)
        return cls(labels, episodes, order, bounds, starts, shots, tables, n_terms, jackknife)

    def own_weights(self, own_class: int) -> Array:
        """The probability that own sample i is drawn and the nearest of the drawn, (n_shots, n_own)."""
        n_own = int(self.labels.counts[own_class]) - 1
        weights = np.empty((len(self.shots), n_own))
        nearest_first = np.arange(n_own)
        for row, n_shot in zip(weights, self.shots[:, own_class].tolist(), strict=True):
            row[:] = n_shot / n_own
            for k in range(n_shot - 1):
                row *= np.maximum(n_own - 1 - nearest_first - k, 0) / (n_own - 1 - k)
        return weights

    def functional(self) -> Array:
        """The weights of the polynomials in the score without a class, for the mean over the ways."""
        if not self.jackknife:
            return np.zeros(1)
        weights = np.zeros(self.episodes.ways[-1])
        sets = binomials(len(self.labels.counts) - 2, len(weights))
        for way in self.episodes.ways:
            weights[way - 1] = 1 / (len(self.episodes.ways) * sets[way - 1])
        return weights

    def plan(self) -> Plan:
        """What the compiled functions need for every row."""
        return Plan(
            self.bounds,
            self.starts,
            self.tables,
            self.shots,
            self.n_terms,
            self.functional(),
            self.jackknife,
        )

    def ways(self) -> tuple[int, ...]:
        """The numbers of ways that have a score."""
        return tuple(range(2, self.n_terms + 1))


def check_ties(ties: Any) -> None:
    """Raise ValueError if `ties` is neither "random" nor "index"."""
    if not isinstance(ties, str) or ties not in ("random", "index"):
        msg = f"ties must be 'random' or 'index', got {ties!r}"
        raise ValueError(msg)


def choose_all_ways(all_ways: Any, n_classes: int, *, by_default: bool) -> bool:
    """Whether all ways are computed; `by_default` only where there are few classes.

    Raises
    ------
    TypeError, ValueError
        If `all_ways` is neither None nor a bool, or is True for too many classes.
    """
    if all_ways is None:
        return by_default and n_classes <= MANY_CLASSES
    if not isinstance(all_ways, (bool, np.bool_)):
        msg = f"all_ways must be True, False or None, got {all_ways!r}"
        raise TypeError(msg)
    if all_ways and n_classes > MOST_CLASSES:
        msg = f"all_ways=True serves up to {MOST_CLASSES} classes, got {n_classes}; give all_ways=False"
        raise ValueError(msg)
    return bool(all_ways)


def _check_sets(n_classes: int, n_way: int) -> None:
    """Raise ValueError if a query's class can be drawn with too many sets of other classes."""
    others = n_classes - 1
    if comb(others, min(n_way - 1, others // 2)) > MOST_SETS:
        most = next(k for k in range(others) if comb(others, k) > MOST_SETS)
        msg = (
            f"n_way must be at most {most} for {n_classes} classes, since the numbers of sets of classes "
            f"overflow double precision beyond, got {n_way}"
        )
        raise ValueError(msg)
