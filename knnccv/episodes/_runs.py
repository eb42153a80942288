"""Random episodes: compiled. Every episode has random numbers of its own, so threads do not matter."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernel import jit


@jit
def next_random(state):
    """A 64-bit random number by SplitMix64 (Steele, Lea and Flood 2014); advances ``state[0]``."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def below(n, state):
    """A random integer from 0 to n - 1; for n < 2**31 no value is off by more than 2**-22 of its share."""
    return np.int64((next_random(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0) * n)


@jit
def draw(pool, n_drawn, state):
    """Bring a random choice of `n_drawn` entries, in random order, to the front of `pool`."""
    for i in range(n_drawn):
        j = i + below(len(pool) - i, state)
        pool[i], pool[j] = pool[j], pool[i]


class Draws(NamedTuple):
    """What every episode draws, and which heads answer its queries."""

    X: Any  # float64 (n_items, n_features)
    members: Any  # the samples class by class
    bounds: Any  # where each class begins
    ways: Any  # numbers that are drawn with equal probability
    shots: Any
    n_query: Any  # queries of every class
    prototypes: Any  # whether the nearest mean of a class's supports answers
    supports: Any  # whether the nearest support does


@jit
def run_episodes(draws, seeds, accuracies, stop):
    """Run an episode for every seed, until ``stop[0]``.

    ``accuracies[0]`` (n_episodes,) are those of the nearest prototype, ``accuracies[1]`` those of the
    nearest support.
    """
    X, bounds, ways, shots, n_query = draws.X, draws.bounds, draws.ways, draws.shots, draws.n_query
    n_classes, n_features = len(bounds) - 1, X.shape[1]
    state = np.empty(1, np.uint64)
    classes = np.arange(n_classes)
    pool = np.empty((bounds[1:] - bounds[:-1]).max(), np.int64)
    n_most = ways.max()
    drawn = np.empty((n_most, shots.max() + n_query), np.int64)
    means, mean_of = np.empty((n_most, n_features)), np.arange(n_most).reshape(-1, 1)
    one = shots[0] * 0 + 1
    for e in range(len(seeds)):
        if stop[0]:
            return
        state[0] = seeds[e]
        way = ways[below(len(ways), state)]
        shot = shots[below(len(shots), state)]
        for c in range(n_classes):
            classes[c] = c
        draw(classes, way, state)
        for w in range(way):
            begin, end = bounds[classes[w]], bounds[classes[w] + 1]
            for i in range(begin, end):
                pool[i - begin] = draws.members[i]
            draw(pool[: end - begin], shot + n_query, state)
            for i in range(shot + n_query):
                drawn[w, i] = pool[i]
            if draws.prototypes:
                for f in range(n_features):
                    total = 0.0
                    for k in range(shot):
                        total += X[drawn[w, k], f]
                    means[w, f] = total / shot
        by_prototypes, by_supports = 0, 0
        for w in range(way):
            for q in range(shot, shot + n_query):
                query = X[drawn[w, q]]
                if draws.prototypes:
                    by_prototypes += nearest_class(query, means, mean_of, way, one, state) == w
                if draws.supports:
                    by_supports += nearest_class(query, X, drawn, way, shot, state) == w
        accuracies[0, e] = by_prototypes / (way * n_query)
        accuracies[1, e] = by_supports / (way * n_query)


@jit
def nearest_class(query, rows, supports, way, shot, state):
    """The class, as its place in the episode, of the support nearest to the query; ties at random."""
    best, least, n_tied = 0, np.inf, 0
    for w in range(way):
        for k in range(shot):
            support = rows[supports[w, k]]
            distance = 0.0
            for f in range(len(query)):
                distance += (query[f] - support[f]) ** 2
            if distance < least:
                best, least, n_tied = w, distance, 1
            elif distance == least:
                n_tied += 1
                if below(n_tied, state) == 0:
                    best = w
    return best
