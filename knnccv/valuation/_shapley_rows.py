"""The compiled pass of KNN-Shapley values over a block of tested samples."""

from __future__ import annotations

import numpy as np

from ..kernel import jit


@jit
def step(position, n_neighbors):
    """1 / max(position, K): what a right sample at this position is worth, less all that is behind it."""
    return 1.0 / max(position, n_neighbors)


@jit
def group_value(right, n_right, size, mean, last):
    """Expected value of one of `size` samples in random order, less all behind the group.

    Parameters
    ----------
    right : 0 or 1
        Whether the sample has the tested class; `n_right` of the group have.
    mean, last : float
        The mean of `step` over the group's positions, and its value at the last one.

    Notes
    -----
    A sample at position t is worth ``right * step(t)`` less mu * (step(t) - last), where mu is the share of
    right ones among the others of the group.
    """
    if size == 1:
        return right * last
    share = (n_right - right) / (size - 1)
    return mean * (right - share) + share * last


@jit
def add_values(
    items, values, lengths, targets, itself, codes, class_sizes, harmonic, n_neighbors, average_ties,
    sums, own_beyond, other_beyond,
):  # fmt: skip
    """Add the values of all training samples for each tested sample, and return the sum of the bounds.

    The samples beyond a list count as one group in random order, and the values of those are added by
    class, so that the pass takes O(depth) for each tested sample.

    Parameters
    ----------
    items, values, lengths
        Neighbor lists, the nearest first.
    targets : int64 ndarray of shape (n_rows,)
        Classes of the tested samples.
    itself : int64 ndarray of shape (n_rows,)
        The tested sample among the training samples, which is not in its own training set, or -1.
    codes : int64 ndarray of shape (n_items,)
        Classes of the training samples; ``class_sizes`` counts them.
    harmonic : float64 ndarray of shape (n_items + 1,)
        Sums of `step` over the first positions.
    sums : float64 ndarray of shape (n_items,)
        Values of the listed samples are added, less those of an unlisted one of the same class.
    own_beyond, other_beyond : float64 ndarray of shape (n_classes,)
        By the class of the tested sample: values of an unlisted sample of this class, and of another one.
    """
    total_bound = 0.0
    for r in range(len(targets)):
        c, length = targets[r], lengths[r]
        n, n_own = len(codes), class_sizes[c]
        if itself[r] >= 0:
            n -= 1
            n_own -= codes[itself[r]] == c
        left = n_own
        for i in range(length):
            left -= codes[items[r, i]] == c
        beyond = n - length
        behind, own, other = 0.0, 0.0, 0.0
        if beyond > 0:
            here, last = step(length, n_neighbors), step(n, n_neighbors)
            mean = (harmonic[n] - harmonic[length]) / beyond
            if left > 0:
                own = group_value(1, left, beyond, mean, last)
            if left < beyond:
                other = group_value(0, left, beyond, mean, last)
            behind = left / beyond * (here - last)
            if 0 < left < beyond:
                most = here - step(length + left, n_neighbors)
                least = step(n - left, n_neighbors) - last
                listed = max(most - behind, behind - least)
                nearest = step(length + 1, n_neighbors)
                farthest = nearest - step(length + 1 + left, n_neighbors)
                total_bound += max(listed, nearest - own, own - last, -other, other + farthest)
        own_beyond[c] += own
        other_beyond[c] += other
        if itself[r] >= 0:
            sums[itself[r]] -= own if codes[itself[r]] == c else other
        end = length
        while end > 0:
            start = end - 1
            n_right = 1 if codes[items[r, start]] == c else 0
            while average_ties and start > 0 and values[r, start - 1] == values[r, start]:
                start -= 1
                n_right += codes[items[r, start]] == c
            size, last = end - start, step(end, n_neighbors)
            mean = (harmonic[end] - harmonic[start]) / size
            for i in range(start, end):
                j = items[r, i]
                if codes[j] == c:
                    sums[j] += group_value(1, n_right, size, mean, last) - behind - own
                else:
                    sums[j] += group_value(0, n_right, size, mean, last) - behind - other
            behind += n_right / size * (step(start, n_neighbors) - last)
            end = start
    return total_bound


@jit
def fill_harmonic(harmonic, n_neighbors):
    """``harmonic[t]`` = sum of `step` over the positions 1 .. t."""
    harmonic[0] = 0.0
    for t in range(1, len(harmonic)):
        harmonic[t] = harmonic[t - 1] + step(t, n_neighbors)


@jit
def add_beyond(own_beyond, other_beyond, worth):
    """``worth[c]`` = value of a sample of class c that is in no list."""
    n_classes = len(worth)
    before = 0.0
    for c in range(n_classes):
        worth[c] = own_beyond[c] + before
        before += other_beyond[c]
    after = 0.0
    for c in range(n_classes - 1, -1, -1):
        worth[c] += after
        after += other_beyond[c]


def harmonic_sums(n_items: int, n_neighbors: int) -> np.ndarray:
    """Sums of `step`, float64 (n_items + 1,)."""
    harmonic = np.empty(n_items + 1)
    fill_harmonic(harmonic, n_neighbors)
    return harmonic
