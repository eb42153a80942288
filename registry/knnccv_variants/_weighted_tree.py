# mypy: allow-untyped-defs
"""Exact scores of weighted rules, by a walk over the sets of the K nearest training samples.

The neighbor list is cut into cells: tied samples that count the same are one cell (`Cells`). The walk is a
tree. At every cell it branches by the number of samples of the cell that are in the training set; the
probability of a branch is a product of hypergeometric factors. A branch ends where the K nearest are known
(`outcome_of`), and before if no later sample can change the outcome (`settled`), so that few branches are
left where the classes are well separated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knnccv._base.typing import Array
from knnccv.kernel import inner, jit, read_as
from knnccv.kernel.sampling import fill_hypergeometric

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

NEGLIGIBLE = 1e-14
"""The total probability of the branches that a walk leaves out. `rounding_allowance` covers it: for two
neighbors or more it is at least 2e-14, of which roundings take less than a fifth."""
MARGIN = 1e-12
"""Relative, above all roundings of a sum of votes."""
UNSETTLED, LOST = -1, -2


class Cells(NamedTuple):
    """Arrays of shape (n_cells,), nearest first.

    ``kind`` is what the samples vote for (a place in the sorted classes of the list) or, for real targets,
    the sample's place in the list; ``size`` is the number of samples. ``first`` and ``end`` are the first
    cell of the tied group and one past its last. ``before`` is the number of samples of the same
    ``stratum`` in the cells before.
    """

    kind: Array
    size: Array
    first: Array
    end: Array
    stratum: Array
    before: Array
    distance: Array


@inner
def cells_by_class(order, distances, kinds, n_kinds, stratified):
    """One cell for every class of a tied group; `kinds` (depth,) are the classes of the listed samples."""
    depth = len(kinds)
    kind, size, first = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64)
    end, stratum, before = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64)
    distance = np.empty(depth)
    counts = np.zeros(n_kinds, np.int64)
    passed = np.zeros(n_kinds, np.int64)
    n = 0
    start = 0
    while start < depth:
        for i in range(start, order.group_end[start]):
            counts[kinds[i]] += 1
        first_cell = n
        for c in range(n_kinds):
            if counts[c] > 0:
                s = c if stratified else 0
                kind[n], size[n], stratum[n], before[n] = c, counts[c], s, passed[s]
                first[n], distance[n] = first_cell, distances[start]
                passed[s] += counts[c]
                counts[c] = 0
                n += 1
        for j in range(first_cell, n):
            end[j] = n
        start = order.group_end[start]
    return Cells(kind[:n], size[:n], first[:n], end[:n], stratum[:n], before[:n], distance[:n])


@inner
def cells_of_samples(order, distances):
    """One cell for every sample."""
    depth = len(order.items)
    places, ones, zeros = np.arange(depth), np.ones(depth, np.int64), np.zeros(depth, np.int64)
    first, distance = np.arange(depth), distances.copy()
    for i in range(1, depth):
        if order.group_end[i - 1] > i:
            first[i], distance[i] = first[i - 1], distance[i - 1]
    return Cells(places, ones, first, order.group_end, zeros, places, distance)


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

    For real targets, ``gaps`` (depth, n_outputs) are the differences from the tested sample's, whose errors
    are squared unless they are ``absolute``, and the arrays of votes are empty.
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
    absolute: bool


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
        0.0 if whole else MARGIN, gaps, fields.absolute == 1,
    )  # fmt: skip
    if by_pair:
        fill_reach(cells, rule, 0)
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
        return error_of_mean(kind, path, used, e, n, rule.near_weights, rule.gaps, rule.absolute)
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
def error_of_mean(kind, path, used, e, n, weights, gaps, absolute):
    """The squared or absolute error of the weighted mean of the `n` nearest samples on the path."""
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
        error += abs(shift / total) if absolute else (shift / total) * (shift / total)
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
def settled(
    kind, path, taken, e, j, k, by_bound, by_pair, pair_weights, ranks, factors, votes, following, reach,
    n_votes, own, random, margin,
):  # fmt: skip
    """The class that wins whichever the neighbors from cell j on are; LOST if it is not ``own``.

    `e` cells are on the path, with k samples. For weights of the pair alone and of ranks (`by_bound`) the
    votes that are left for a class are bounded by those of its nearest samples. For all other weights that
    fall with the distance, a class outvotes another one, whatever the weights are, if it is ahead of it all
    along the path, and by more samples than are left. UNSETTLED if there is no such class.
    """
    for c in range(len(votes)):
        votes[c] = 0.0
    n = 0
    for i in range(e):
        c = kind[path[i]]
        if by_bound:
            for _ in range(taken[path[i]]):
                votes[c] += (pair_weights[path[i]] if by_pair else ranks[n]) * factors[c]
                n += 1
        else:
            votes[c] += taken[path[i]]
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
        if by_bound:
            high = votes[c]
            at = following[c, j]
            if at < len(kind):
                high += reach[at, n_votes - k] if by_pair else reach[0, k] * factors[c]
            if low < high or (low == high and (random or leader > c or margin > 0)):
                return UNSETTLED
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


@inner
def _weigh_again(cells, rule, base):
    """Make the weights of the cells from `base` on relative to this cell."""
    for j in range(base, len(cells.kind)):
        rule.pair_weights[j] = pair_weight(rule.form, cells.distance[j], cells.distance[base], rule.scale)
    fill_reach(cells, rule, base)


class Walk(NamedTuple):
    """The state of a walk, and room for its outcomes.

    ``taken``, ``chosen`` and ``probability`` belong to the cells: the number of the cell's samples in the
    training set, the number of the samples before that are, and the probability of that. ``path`` holds the
    cells with ``taken > 0``; ``on_path`` is their number before the cell. ``used`` are the samples of the
    cells on the path that count.
    """

    taken: Array
    chosen: Array
    probability: Array
    path: Array
    on_path: Array
    used: Array


@inner
def tree_score(cells, available, n_train, rule, n_nearest, max_steps):
    """The expected outcome over all training sets; NaN if it would take more than `max_steps`.

    A step looks at one neighbor of one training set. `available` and `n_train` are, for every stratum, the
    numbers of samples and of training samples. Branches with many of the nearest samples come first. They
    have large probabilities and few branches of their own, so that the share that is done bounds the time
    that is needed, roughly: hopeless walks end early.

    Softmax weights that would be 0 for lack of smaller numbers are relative to the nearest sample of the
    training set: they change whenever the path starts at another cell.
    """
    n_cells = len(cells.kind)
    taken, chosen = np.zeros(n_cells + 1, np.int64), np.zeros(n_cells + 1, np.int64)
    path, on_path = np.zeros(n_cells + 1, np.int64), np.zeros(n_cells + 1, np.int64)
    used = np.zeros(n_cells + 1, np.int64)
    probability = np.ones(n_cells + 1)
    walk = Walk(taken, chosen, probability, path, on_path, used)
    kind, first, stratum = cells.kind, cells.first, cells.stratum
    # A call with a named tuple costs more than the arithmetic of a step.
    form, by_pair, pair_weights, ranks = rule.form, rule.by_pair, rule.pair_weights, rule.ranks
    near_weights, scores, factors, votes = rule.near_weights, rule.scores, rule.factors, rule.votes
    following, reach, n_votes, own, random = (
        rule.following, rule.reach, rule.n_votes, rule.own, rule.random,
    )  # fmt: skip
    by_bound = by_pair or form == RANKS
    for_votes = len(rule.scores) > 0
    base = 0  # the cell that has the weight 1
    least = np.zeros(n_cells, np.int64)
    drawn = np.zeros(len(n_train), np.int64)
    start_of_law = np.zeros(n_cells + 1, np.int64)
    for j in range(n_cells):
        start_of_law[j + 1] = start_of_law[j] + cells.size[j] + 1
    laws = np.zeros(start_of_law[n_cells])
    slack = NEGLIGIBLE
    total = lost = done = 0.0  # total and lost: Neumaier's summation
    steps = 0
    checkpoint = max_steps // 32
    j = 0
    while True:
        steps += 1
        if steps > checkpoint:
            if steps > max_steps or 0.0 < done * max_steps < steps:
                return np.nan
            checkpoint *= 2
        ended = j == n_cells
        if ended or first[j] == j:
            share = probability[j]
            outcome = 0.0
            group = wanted = 0
            e = on_path[j]
            leaf = chosen[j] >= n_nearest
            cut = False
            if leaf:
                group = first[path[e - 1]]
                wanted = rule.n_votes - chosen[group]
                cut = e > on_path[group] + 1 and chosen[j] - chosen[group] > wanted
            elif ended:
                pass
            elif share <= slack:
                slack -= share
                ended = True
            elif e > 0 and share < 1.0:  # a walk that has not branched yet costs little
                leaf = rule.by_pair and _others_have_no_weight(pair_weights, path[0], j)
                if not leaf and for_votes and pair_weights[path[0]] < np.inf:
                    steps += chosen[j]
                    winner = settled(
                        kind, path, taken, e, j, chosen[j], by_bound, by_pair, pair_weights, ranks,
                        factors, votes, following, reach, n_votes, own, random, rule.margin,
                    )  # fmt: skip
                    ended = winner != UNSETTLED
                    if winner >= 0:
                        outcome = rule.scores[winner]
            if cut:
                outcome, more = _mean_outcome(cells, walk, j, rule, max_steps - steps)
                steps += more
                if outcome != outcome:
                    return np.nan
            elif leaf:
                steps += chosen[j]
                for i in range(e):
                    used[i] = taken[path[i]]
                if chosen[j] >= n_nearest and e == on_path[group] + 1:
                    used[e - 1] = wanted
                n = fill_near(
                    cells.distance, path, used, e, by_pair, pair_weights, form, rule.scale, ranks,
                    near_weights, rule.near_distances,
                )  # fmt: skip
                if for_votes:
                    outcome = score_near(kind, path, used, e, near_weights, factors, votes, scores, random)
                else:
                    outcome = error_of_mean(kind, path, used, e, n, near_weights, rule.gaps, rule.absolute)
            ended = ended or leaf
            if ended:
                done += share
                part = share * outcome
                new = total + part
                lost += (total - new) + part if abs(total) >= abs(part) else (part - new) + total
                total = new
        if ended:
            j -= 1
            while j >= 0 and taken[j] == least[j]:
                drawn[stratum[j]] -= taken[j]
                taken[j] = 0
                j -= 1
            if j < 0:
                return total + lost
            taken[j] -= 1
            drawn[stratum[j]] -= 1
        else:
            s = stratum[j]
            count = cells.size[j]
            limit = n_nearest - chosen[j] if cells.end[j] == first[j] + 1 else count
            left = available[s] - cells.before[j]
            least[j], most = _fill_law(laws, start_of_law[j], count, n_train[s] - drawn[s], left, limit)
            taken[j] = most
            drawn[s] += most
        on_path[j + 1] = on_path[j]
        if taken[j] > 0:
            path[on_path[j]] = j
            on_path[j + 1] += 1
            if rule.far and on_path[j] == 0 and j > base:
                base = j
                steps += n_cells - j
                _weigh_again(cells, rule, base)
        chosen[j + 1] = chosen[j] + taken[j]
        probability[j + 1] = probability[j] * laws[start_of_law[j] + taken[j]]
        j += 1


@inner
def _others_have_no_weight(pair_weights, nearest, j):
    """Return True if no sample from cell j on has a weight; `nearest` is the first cell on the path."""
    return pair_weights[nearest] > 0 and (
        pair_weights[j] == 0 or pair_weights[nearest] == np.inf > pair_weights[j]
    )


@inner
def _fill_law(laws, start, count, n_train, available, limit):
    """P(b of the cell's `count` samples are in T), from ``laws[start]`` on; the least and the largest b.

    `n_train` of the `available` samples are drawn. More than `limit` are as good as `limit`.
    """
    least, most = max(0, count - (available - n_train)), min(count, n_train)
    if count == 1:
        laws[start] = (available - n_train) / available
        laws[start + 1] = n_train / available
    else:
        fill_hypergeometric(laws[start : start + count + 1], count, n_train, available, 1.0)
    if most > limit:
        beyond = 0.0
        for b in range(max(least, limit), most + 1):
            beyond += laws[start + b]
        laws[start + limit] = beyond
        least, most = min(least, limit), limit
    return least, most


@inner
def _mean_outcome(cells, walk, j, rule, max_steps):
    """The mean outcome over the orders of the last tied group, and the number of steps that it took.

    The walk has chosen K samples or more before cell j. Of those in the last group, a random subset is
    among the K nearest: the numbers of its samples of every cell are multivariate hypergeometric.
    """
    e = walk.on_path[j]
    group = cells.first[walk.path[e - 1]]
    q = walk.on_path[group]
    wanted = rule.n_votes - walk.chosen[group]
    marked = walk.chosen[j] - walk.chosen[group]
    for i in range(e):
        walk.used[i] = walk.taken[walk.path[i]]
    # An odometer over the cells of the group; the last one takes what is left.
    marked_left = np.empty(e - q, np.int64)
    wanted_left = np.empty(e - q, np.int64)
    weight = np.empty(e - q)
    marked_left[0], wanted_left[0], weight[0] = marked, wanted, 1.0
    total = 0.0
    steps = 0
    i = q
    fresh = True
    while i >= q:
        steps += 1
        if steps > max_steps:
            return np.nan, steps
        size = walk.taken[walk.path[i]]
        rest = marked_left[i - q] - size
        if fresh:
            walk.used[i] = max(0, wanted_left[i - q] - rest)
        else:
            walk.used[i] += 1
        if walk.used[i] > min(size, wanted_left[i - q]):
            i -= 1
            fresh = False
            continue
        ways = weight[i - q] * _choose(size, walk.used[i])
        if i == e - 1:
            total += ways * outcome_of(cells.kind, cells.distance, walk.path, walk.used, e, rule)
            i -= 1
            fresh = False
            continue
        marked_left[i + 1 - q] = rest
        wanted_left[i + 1 - q] = wanted_left[i - q] - walk.used[i]
        weight[i + 1 - q] = ways
        i += 1
        fresh = True
    return total / _choose(marked, wanted), steps


@inner
def _choose(n, k):
    """The binomial coefficient as a float."""
    product = 1.0
    for i in range(min(k, n - k)):
        product = product * (n - i) / (i + 1)
    return product
