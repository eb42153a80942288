"""Random episodes: compiled. Every episode has random numbers of its own, so threads do not matter."""

from __future__ import annotations

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


@jit
def run_episodes(
    X, members, bounds, ways, shots, n_query, seeds, prototypes, both, accuracy, nearest_accuracy, stop
):
    """Run an episode for every seed.

    Parameters
    ----------
    X : float64 (n_items, n_features)
    members, bounds : int64
        The samples class by class, and where each class begins.
    ways, shots : int64 arrays
        Numbers that are drawn with equal probability.
    n_query : int
        Queries of every class.
    seeds : uint64 (n_episodes,)
    prototypes : bool
        Whether `accuracy` is that of the nearest prototype, the mean of a class's supports; else that of
        the nearest support.
    both : bool
        Whether `nearest_accuracy` is filled in as well, with that of the nearest support.
    accuracy, nearest_accuracy : float64 (n_episodes,)
    stop : bool (1,)
        True if the computation is to end.
    """
    n_classes, n_features = len(bounds) - 1, X.shape[1]
    state = np.empty(1, np.uint64)
    classes = np.arange(n_classes)
    largest = 0
    for c in range(n_classes):
        largest = max(largest, bounds[c + 1] - bounds[c])
    pool = np.empty(largest, np.int64)
    n_most = ways.max()
    drawn = np.empty((n_most, shots.max() + n_query), np.int64)
    means, mean_of = np.empty((n_most, n_features)), np.arange(n_most).reshape(-1, 1)
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
            pool[: end - begin] = members[begin:end]
            draw(pool[: end - begin], shot + n_query, state)
            drawn[w, : shot + n_query] = pool[: shot + n_query]
            if prototypes:
                means[w] = 0.0
                for k in range(shot):
                    means[w] += X[drawn[w, k]]
                means[w] /= shot
        right, nearest_right = 0, 0
        for w in range(way):
            for q in range(shot, shot + n_query):
                query = X[drawn[w, q]]
                if prototypes:
                    right += nearest_class(query, means, mean_of, way, 1, state) == w
                if both or not prototypes:
                    found = nearest_class(query, X, drawn, way, shot, state) == w
                    if prototypes:
                        nearest_right += found
                    else:
                        right += found
        accuracy[e] = right / (way * n_query)
        nearest_accuracy[e] = nearest_right / (way * n_query)


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
