"""The outcome of a weighted rule for the K nearest training samples, and where it is settled before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knnccv._typing import Array
from knnccv.kernel import jit

from ._loss import score_of
from ._weight_functions import INVERSE, RANKS, fill_weights, settle

MARGIN = 1e-12  # relative, above all roundings of a sum of votes


class Rule(NamedTuple):
    """A weighted rule, as seen from one tested sample.

    ``form``, ``scale``, ``ranks``: the weights; ``by_pair``: they depend on a sample's own distance alone,
    and ``pair_weights`` (n_cells,) are those of the cells. ``n_votes`` is K, ``own`` the place of the tested
    sample's class. ``classes`` (n_listed,) are the listed classes, ``class_weights`` (n_listed,) their
    factors and ``votes`` (n_listed,) room for their votes; for real targets they are empty, and ``values``
    and ``target`` serve. ``next_cell`` (n_listed, n_cells + 1) is the next cell of a class, and
    ``reach[j, r]`` the largest weight of r samples of the class of cell j, from j on. ``margin`` is 0 if
    all votes are whole numbers. ``near_weights`` and ``near_distances`` (n_nearest,) are room.
    """

    form: int
    scale: float
    ranks: Array
    by_pair: bool
    pair_weights: Array
    n_votes: int
    random: bool
    own: int
    classes: Array
    class_weights: Array
    losses: Array
    votes: Array
    values: Array
    target: int
    next_cell: Array
    reach: Array
    margin: float
    near_weights: Array
    near_distances: Array


@jit
def outcome_of(cells, walk, e, rule):
    """The outcome if the K nearest are the ``walk.used`` samples of the first `e` cells on the path."""
    n = _weigh(cells, walk, e, rule)
    if len(rule.classes) == 0:
        return _squared_error(cells, walk, e, rule, n)
    _count_votes(cells, walk, e, rule)
    return vote_outcome(rule.votes, rule.own, rule.classes, rule.losses, rule.random)


@jit
def _weigh(cells, walk, e, rule):
    """Fill the weights of the K nearest; returns their number, which is smaller if the others have none."""
    weights, distances = rule.near_weights, rule.near_distances
    n = 0
    for i in range(e):
        j = walk.path[i]
        for _ in range(walk.used[i]):
            weights[n] = rule.pair_weights[j] if rule.by_pair else 0.0
            distances[n] = cells.distance[j]
            n += 1
    if rule.by_pair:
        settle(weights, n)
        return n
    if len(distances) > n:  # the next neighbor has the distance of the last group
        distances[n] = cells.distance[walk.path[e - 1]]
    fill_weights(rule.form, distances, n, rule.scale, rule.ranks, weights)
    return n


@jit
def _count_votes(cells, walk, e, rule):
    rule.votes[:] = 0.0
    n = 0
    for i in range(e):
        c = cells.kind[walk.path[i]]
        for _ in range(walk.used[i]):
            rule.votes[c] += rule.near_weights[n] * rule.class_weights[c]
            n += 1


@jit
def _squared_error(cells, walk, e, rule, n):
    total = 0.0
    for t in range(n):
        total += rule.near_weights[t]
    error = 0.0
    for o in range(rule.values.shape[1]):
        shift = 0.0
        t = 0
        for i in range(e):
            gap = rule.values[cells.kind[walk.path[i]], o] - rule.values[rule.target, o]
            for _ in range(walk.used[i]):
                shift += rule.near_weights[t] * gap
                t += 1
        error += (shift / total) * (shift / total)
    return error


@jit
def vote_outcome(votes, own, classes, losses, random):
    """The score of the class with most votes; of the first of several, or their mean if `random`.

    `own` is the place of the true class in `classes`, or the true class less the number of all classes if
    it is not among them.
    """
    most = votes[0]
    for c in range(1, len(votes)):
        most = max(most, votes[c])
    total = 0.0
    n_winners = 0
    for c in range(len(votes)):
        if votes[c] == most:
            total += _score(c, own, classes, losses)
            n_winners += 1
            if not random:
                break
    return total / n_winners


@jit
def _score(c, own, classes, losses):
    if len(losses) == 0:
        return 1.0 if c == own else 0.0
    own_class = classes[own] if own >= 0 else len(losses) + own
    return score_of(losses, own_class, classes[c], 1.0)


@jit
def settled_outcome(cells, walk, j, rule):
    """The outcome where no cell from j on can change it, otherwise NaN; j starts a tied group.

    For weights of the pair alone and of ranks, the votes that are left are bounded by those of the nearest
    samples of each class (`_largest_gain`). Other weights fall with the distance: there one class outvotes
    another if it is ahead of it all along the path (`_is_ahead`).
    """
    e = walk.on_path[j]
    if e == 0:
        return np.nan
    k = walk.chosen[j]
    nearest = walk.path[0]
    for i in range(e):
        walk.used[i] = walk.taken[walk.path[i]]
    if rule.by_pair and rule.pair_weights[nearest] > 0:
        zero = rule.form == INVERSE and rule.pair_weights[nearest] == np.inf
        if (zero and rule.pair_weights[j] < np.inf) or rule.pair_weights[j] == 0:
            return outcome_of(cells, walk, e, rule)
        if zero:
            return np.nan
    if len(rule.classes) == 0:
        return np.nan
    if rule.by_pair or rule.form == RANKS:
        n = 0
        rule.votes[:] = 0.0
        for i in range(e):
            c = cells.kind[walk.path[i]]
            for _ in range(walk.used[i]):
                weight = rule.pair_weights[walk.path[i]] if rule.by_pair else rule.ranks[n]
                rule.votes[c] += weight * rule.class_weights[c]
                n += 1
    else:
        rule.votes[:] = 0.0
        for i in range(e):
            rule.votes[cells.kind[walk.path[i]]] += walk.used[i]
    leader = 0
    for c in range(1, len(rule.votes)):
        if rule.votes[c] > rule.votes[leader]:
            leader = c
    if rule.votes[leader] == 0:
        return np.nan
    safe = True
    c = 0
    while safe and c < len(rule.votes):
        safe = c == leader or _is_ahead(cells, walk, j, rule, leader, c, k)
        c += 1
    if safe:
        return _score(leader, rule.own, rule.classes, rule.losses)
    if (
        len(rule.losses) == 0
        and leader != rule.own
        and _is_ahead(cells, walk, j, rule, leader, rule.own, k)
    ):
        return 0.0
    return np.nan


@jit
def _is_ahead(cells, walk, j, rule, leader, c, k):
    """Return True if class `c` cannot win against `leader`, whichever the later neighbors are."""
    wins_ties = leader < c and not rule.random
    following = rule.next_cell[c, j]
    left = rule.n_votes - k
    if rule.by_pair or rule.form == RANKS:
        gain = 0.0
        if following < len(cells.kind):
            if rule.by_pair:
                gain = rule.reach[following, left]
            else:
                gain = rule.reach[0, k] * rule.class_weights[c]
        low, high = rule.votes[leader] * (1 - rule.margin), rule.votes[c] + gain
        return low > high or (low == high and wins_ties and rule.margin == 0)
    if rule.class_weights[leader] < rule.class_weights[c]:
        return False
    needed = 0 if wins_ties else 1
    ahead = 0
    for i in range(walk.on_path[j]):
        kind = cells.kind[walk.path[i]]
        if kind == leader:
            ahead += walk.used[i]
        elif kind == c:
            ahead -= walk.used[i]
            if ahead < needed:
                return False
    if following < len(cells.kind):
        ahead -= max(left, 0)
    return ahead >= needed


@jit
def next_cells(cells, n_classes):
    """The next cell of every class, at or after every cell; the number of cells if there is none."""
    n_cells = len(cells.kind)
    following = np.full((n_classes, n_cells + 1), n_cells)
    for j in range(n_cells - 1, -1, -1):
        for c in range(n_classes):
            following[c, j] = following[c, j + 1]
        following[cells.kind[j], j] = j
    return following


@jit
def reach_of(cells, following, pair_weights, class_weights, n_votes):
    """``reach[j, r]``: the votes of the r nearest samples of cell j's class, from cell j on."""
    n_cells = len(cells.kind)
    reach = np.zeros((n_cells, n_votes + 1))
    for j in range(n_cells - 1, -1, -1):
        c, count = cells.kind[j], cells.count[j]
        one = pair_weights[j] * class_weights[c]
        after = following[c, j + 1]
        for r in range(1, n_votes + 1):
            if r <= count:
                reach[j, r] = one * r
            else:
                reach[j, r] = one * count
                if after < n_cells:
                    reach[j, r] += reach[after, r - count]
    return reach


@jit
def reach_of_ranks(ranks, n_votes):
    """``reach[0, k]``: the weight of all ranks after the first k."""
    reach = np.zeros((1, n_votes + 1))
    for k in range(n_votes - 1, -1, -1):
        reach[0, k] = reach[0, k + 1] + ranks[k]
    return reach
