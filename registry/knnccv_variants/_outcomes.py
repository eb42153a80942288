"""A weighted rule, its outcome for the K nearest, and where it is settled before they are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knnccv._typing import Array
from knnccv.kernel import ZERO, inner, jit, read_as

from ._weights import (
    MAX_EXPONENT,
    RANKS,
    SOFTMAX,
    WeightNumbers,
    base_of,
    depends_on_pair,
    fill_weights,
    pair_weight,
    settle,
)

MARGIN = 1e-12
"""Relative, above all roundings of a sum of votes."""
UNSETTLED, LOST = -1, -2


class Rule(NamedTuple):
    """A weighted rule, as seen from one tested sample.

    ``form``, ``scale``, ``ranks``: the weights; ``by_pair``: they depend on a sample's own distance alone,
    and ``pair_weights`` (n_cells,) are those of the cells; ``far``: they change with the nearest sample of
    the training set. ``n_votes`` is K. ``near_weights`` and ``near_distances`` (n_nearest,) are room.

    For votes: ``scores``, ``factors`` and ``votes`` (n_listed,) are, for every class of the list, the score
    if it wins, the factor of its votes, and room for them; ``own`` is the tested sample's class, or
    negative if a loss makes a difference between the others. ``random`` shares a tied vote out.
    ``following[c, j]`` is the next cell of class c at or after cell j, or the number of cells.
    ``reach[j, r]`` are the votes of the r nearest samples of cell j's class, from cell j on; for weights of
    the ranks ``reach[0, k]`` is the weight of all ranks after the first k. ``margin`` is 0 if all votes are
    whole numbers.

    For real targets, ``gaps`` (depth, n_outputs) are the differences from the tested sample's, and the
    arrays of votes are empty.
    """

    form: int
    scale: float
    ranks: Array
    by_pair: bool
    pair_weights: Array
    far: bool
    n_votes: int
    near_weights: Array
    near_distances: Array
    scores: Array
    factors: Array
    votes: Array
    own: int
    random: bool
    following: Array
    reach: Array
    margin: float
    gaps: Array


@inner
def new_rule(fields, constraints, cells, scores, factors, own, gaps):
    """The `Rule` for these cells."""
    form, k, n_cells = fields.form, fields.n_votes, len(cells.kind)
    scale = read_as(WeightNumbers, constraints.numbers).scale
    ranks = constraints.weights
    by_pair = depends_on_pair(form, scale)
    far = form == SOFTMAX and not cells.distance[n_cells - 1] - cells.distance[0] <= MAX_EXPONENT * scale
    pair_weights = np.zeros(n_cells)
    following = np.full((len(scores), n_cells + 1), n_cells)
    reach = np.zeros((n_cells if by_pair else 1, k + 1))
    if len(scores) > 0:
        for j in range(n_cells - 1, -1, -1):
            for c in range(len(scores)):
                following[c, j] = following[c, j + 1]
            following[cells.kind[j], j] = j
    if by_pair:
        base = base_of(form, cells.distance, n_cells)
        for j in range(n_cells):
            pair_weights[j] = pair_weight(form, cells.distance[j], base, scale)
    elif form == RANKS:
        for r in range(k - 1, -1, -1):
            reach[0, r] = reach[0, r + 1] + ranks[r]
    whole = not far and _whole(pair_weights) and _whole(ranks) and _whole(factors)
    rule = Rule(
        form, scale, ranks, by_pair, pair_weights, far, k,
        np.zeros(constraints.n_nearest), np.zeros(constraints.n_nearest),
        scores, factors, np.zeros(len(scores)), own, fields.random == 1, following, reach,
        0.0 if whole else MARGIN, gaps,
    )  # fmt: skip
    if by_pair:
        fill_reach(cells, rule, ZERO)
    return rule


@jit
def _whole(numbers):
    n_whole = 0
    for number in numbers:
        n_whole += abs(number) < 1e9 and number == np.floor(number)
    return n_whole == len(numbers)


@inner
def fill_reach(cells, rule, start):
    """Fill ``rule.reach`` from the cell `start` on."""
    reach, n_cells = rule.reach, len(cells.kind)
    if len(rule.scores) == 0:
        return
    for j in range(n_cells - 1, start - 1, -1):
        c, count = cells.kind[j], cells.size[j]
        one = rule.pair_weights[j] * rule.factors[c]
        after = rule.following[c, j + 1]
        for r in range(1, reach.shape[1]):
            reach[j, r] = one * min(r, count)
            if r > count and after < n_cells:
                reach[j, r] += reach[after, r - count]


@jit
def outcome_of(kind, distance, path, used, e, rule):
    """The outcome if the K nearest are ``used[i]`` samples of the cell ``path[i]``, for i < e.

    There may be fewer than K if the others have no weight.
    """
    n = fill_near(
        distance, path, used, e, rule.by_pair, rule.pair_weights, rule.form, rule.scale, rule.ranks,
        rule.near_weights, rule.near_distances,
    )  # fmt: skip
    if len(rule.scores) == 0:
        return squared_error(kind, path, used, e, n, rule.near_weights, rule.gaps)
    return score_near(
        kind, path, used, e, rule.near_weights, rule.factors, rule.votes, rule.scores, rule.random
    )


@inner
def fill_near(distance, path, used, e, by_pair, pair_weights, form, scale, ranks, weights, distances):
    """Fill the weights of the nearest samples on the path; return how many they are."""
    n = 0
    for i in range(e):
        for _ in range(used[i]):
            weights[n] = pair_weights[path[i]]
            distances[n] = distance[path[i]]
            n += 1
    if by_pair:
        settle(weights, n)
        return n
    if len(distances) > n:  # the next neighbor has the distance of the last group
        distances[n] = distance[path[e - 1]]
    fill_weights(form, distances, n, scale, ranks, weights)
    return n


@inner
def score_near(kind, path, used, e, weights, factors, votes, scores, random):
    """The score of the votes of the nearest samples on the path."""
    for c in range(len(votes)):
        votes[c] = 0.0
    n = 0
    for i in range(e):
        c = kind[path[i]]
        for _ in range(used[i]):
            votes[c] += weights[n] * factors[c]
            n += 1
    return vote_outcome(votes, scores, random)


@jit
def squared_error(kind, path, used, e, n, weights, gaps):
    """The squared error of the weighted mean of the `n` nearest samples on the path."""
    total = 0.0
    for t in range(n):
        total += weights[t]
    error = 0.0
    for o in range(gaps.shape[1]):
        shift = 0.0
        t = 0
        for i in range(e):
            gap = gaps[kind[path[i]], o]
            for _ in range(used[i]):
                shift += weights[t] * gap
                t += 1
        error += (shift / total) * (shift / total)
    return error


@inner
def vote_outcome(votes, scores, random):
    """The score of the class with most votes; of the first of several, or their mean if `random`."""
    most = votes[0]
    for c in range(1, len(votes)):
        most = max(most, votes[c])
    total = 0.0
    n_winners = 0
    for c in range(len(votes)):
        if votes[c] == most:
            total += scores[c]
            n_winners += 1
            if not random:
                break
    return total / n_winners


@inner
def settled_votes(
    kind, path, taken, e, j, k, by_pair, pair_weights, ranks, factors, votes, following, reach, n_votes,
    own, random, margin,
):  # fmt: skip
    """The class that wins whichever the neighbors from cell j on are; LOST if it is not ``own``.

    For weights of the pair alone and of ranks. `e` cells are on the path, with k samples. The votes that
    are left for a class are bounded by those of its nearest samples. UNSETTLED if there is no such class.
    """
    for c in range(len(votes)):
        votes[c] = 0.0
    n = 0
    for i in range(e):
        c = kind[path[i]]
        for _ in range(taken[path[i]]):
            votes[c] += (pair_weights[path[i]] if by_pair else ranks[n]) * factors[c]
            n += 1
    leader = 0
    for c in range(1, len(votes)):
        if votes[c] > votes[leader]:
            leader = c
    if votes[leader] == 0:
        return UNSETTLED
    low = votes[leader] * (1 - margin)
    only_own = own >= 0 and leader != own
    for c in range(len(votes)):
        if c == leader or (only_own and c != own):
            continue
        high = votes[c]
        at = following[c, j]
        if at < len(kind):
            high += reach[at, n_votes - k] if by_pair else reach[0, k] * factors[c]
        if low < high or (low == high and (random or leader > c or margin > 0)):
            return UNSETTLED
    return LOST if only_own else leader


@inner
def settled_order(kind, path, taken, e, j, k, factors, votes, following, n_votes, own, random):
    """The same for all weights that fall with the distance.

    A class outvotes another one, whatever the weights are, if it is ahead of it all along the path, and by
    more samples than are left.
    """
    for c in range(len(votes)):
        votes[c] = 0.0
    for i in range(e):
        votes[kind[path[i]]] += taken[path[i]]
    leader = 0
    for c in range(1, len(votes)):
        if votes[c] > votes[leader]:
            leader = c
    only_own = own >= 0 and leader != own
    for c in range(len(votes)):
        if c == leader or (only_own and c != own):
            continue
        if factors[leader] < factors[c]:
            return UNSETTLED
        needed = 1 if random or leader > c else 0
        ahead = 0
        for i in range(e):
            if kind[path[i]] == leader:
                ahead += taken[path[i]]
            elif kind[path[i]] == c:
                ahead -= taken[path[i]]
                if ahead < needed:
                    return UNSETTLED
        if following[c, j] < len(kind):
            ahead -= max(n_votes - k, 0)
        if ahead < needed:
            return UNSETTLED
    return LOST if only_own else leader
