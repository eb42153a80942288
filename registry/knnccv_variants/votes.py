"""K nearest neighbours by plurality vote; a tied vote goes to the smallest label."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from knnccv._checks import check_integer
from knnccv.kernel import Array, Tables, Task, Variant, jit
from knnccv.sampling import (
    fill_binomial,
    fill_hypergeometric,
    fixed_tail,
    position_law,
    step_by_thinning,
)

from ._loss import check_loss, largest_loss, loss_table

DEEPEST_TABLE = 512
DEEPEST_COUNT = 1024
DEEPEST_STRATA = 256
NEGLIGIBLE = 1e-18  # far below the rounding of a score


@jit
def _wins(rows, most, seen, n_seen, last, winner, k, majority, product):  # type: ignore[no-untyped-def]
    """P(`winner` wins a vote of k), up to the weight that the rows carry.

    ``rows[c, b]`` is the weight of b votes for class c, 0 above ``most[c]``. If `last` is a class, the k-th
    vote is its own and its row is the last one. For every number t of votes for the winner it takes a
    coefficient of a product over the other classes, each cut where it would beat t (a tie is lost to a
    smaller label). With t > k/2 nobody can, so one product serves all those t; without `majority` they
    are left out. O(k^2) for a class seen, O(k^3) if many votes are tight.
    """
    spare = len(rows) - 1
    own = spare if winner == last else winner
    half = k // 2
    zero = rows[own, 0] * 0
    total = zero
    first = 2 if 0 <= last < winner else 1  # one vote alone would lose the tie against the last one
    while first <= half and k - first > first * (n_seen - 1):  # the others could not share the rest
        first += 1
    after = half + 1 if majority and most[own] > half else min(half, most[own])
    for t in range(first, after + 1):
        if t <= half and rows[own, t] == 0:
            continue
        top = k - t
        product[0] = zero + 1
        reached = 0
        for s in range(n_seen):
            c = seen[s]
            if c != winner:
                row = spare if c == last else c
                limit = min(most[row], top)
                if t <= half:
                    limit = min(limit, t if winner < c else t - 1)
                # Here, not in a function: a call would take longer than the work.
                none, one = rows[row, 0], rows[row, 1]
                degree = min(reached + limit, top)
                for d in range(reached + 1, degree + 1):
                    product[d] = zero
                for d in range(degree, 0, -1):
                    if limit == 1:
                        value = product[d] * none + product[d - 1] * one
                    else:
                        value = product[d] * none
                        for b in range(1, min(d, limit) + 1):
                            value += product[d - b] * rows[row, b]
                    product[d] = value
                product[0] *= none
                reached = degree
        if t > half:
            for votes in range(max(t, k - reached), min(k, most[own]) + 1):
                total += rows[own, votes] * product[k - votes]
        elif reached == top:
            total += rows[own, t] * product[top]
    return total


@jit
def _score(rows, most, seen, n_seen, last, own, table, k, product):  # type: ignore[no-untyped-def]
    """Weight of the votes that are right, or the loss of every class that may win, weighted."""
    if len(table) == 0:
        return _wins(rows, most, seen, n_seen, last, own, k, True, product)
    score = rows[own, 0] * 0
    for s in range(n_seen):
        win = _wins(rows, most, seen, n_seen, last, seen[s], k, True, product)
        score += win * table[own, seen[s]]
    return score


@jit
def knn_fixed(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """ICML eq. 9-10 for any number of classes; O(depth * cost of a vote).

    Told where the (K+1)-th nearest training item is, the K nearest are a uniform K-subset of the items
    before it, whatever the size of the training set and the class of that item: independent thinning,
    conditioned on the total. Beyond the list's end nothing is told: there exactly K are in the list.
    """
    k = constraints.integers[0]
    n_classes = constraints.integers[1]
    if constraints.integers[2] > 0:
        return _two_classes(order, labels, target, constraints)
    if constraints.integers[3] >= len(order.items):
        return _by_counting(order, labels, target, constraints)
    miss, hit = constraints.numbers[0], constraints.numbers[1]
    weights = constraints.weights
    n_available = constraints.counts[0] - constraints.held_out
    own = labels.classes[target]
    rows = np.zeros((n_classes + 2, k + 1), weights.dtype)
    others = n_classes  # all classes but the tested item's, as one
    rows[others, 0] = 1
    product = np.zeros(k + 1, weights.dtype)
    seen = np.empty(n_classes, np.int64)
    n_seen = 0
    score = constraints.unit * 0
    depth = min(len(order.items), n_available)
    most = np.zeros(n_classes + 2, np.int64)
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if most[c] == 0:
            rows[c, 0] = 1
            seen[n_seen] = c
            n_seen += 1
        if c != own:
            step_by_thinning(rows, others, k, miss, hit)
        step_by_thinning(rows, c, k, miss, hit)
        most[c] += 1
        weight = weights[i] if i < depth - 1 else weights[n_available + i]
        if weight == 0:
            continue
        if len(constraints.table) > 0:
            score += weight * _score(rows, most, seen, n_seen, -1, own, constraints.table, k, product)
        elif most[own] > 0:
            vote = constraints.unit * 0
            for votes in range(k // 2 + 1, min(k, most[own]) + 1):
                vote += rows[own, votes] * rows[others, k - votes]
            score += weight * (vote + _wins(rows, most, seen, n_seen, -1, own, k, False, product))
    return score


@jit
def _by_counting(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """As `knn_fixed`, by the number of K-subsets that vote right, an integer; O(depth * K^3).

    ``rows[c, b]`` is the number of b-subsets of class c. A row below them holds, for t votes of the tested
    item's class without a majority, how many subsets of the others do not outvote it. It is a product over
    the other classes; when an item joins one, that class is divided out and multiplied in again.
    Integers are exact, so this may subtract.
    """
    k = constraints.integers[0]
    n_classes = constraints.integers[1]
    half = k // 2
    deepest = constraints.integers[3]
    first = len(constraints.weights) - 2 * deepest  # of the weights over C(i, K)
    own = labels.classes[target]
    mine, theirs, rest = n_classes, n_classes + 1, n_classes + 2
    tight = n_classes + 2  # and t: t votes
    rows = np.zeros((n_classes + 3 + half, k + 1), labels.classes.dtype)
    for row in range(n_classes + 2):
        rows[row, 0] = 1
    n_own = 0
    score = constraints.unit * 0
    depth = len(order.items)
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if c == own:
            n_own += 1
            step_by_thinning(rows, mine, min(n_own, k), 1, 1)
            if n_own <= half:
                _start_tight(rows, n_classes, own, n_own, k)
        else:
            for votes in range(1, min(n_own, half) + 1):
                limit = votes if own < c else votes - 1
                if limit > 0:
                    _extend_tight(rows, tight + votes, c, limit, rest, k - votes)
            step_by_thinning(rows, c, half, 1, 1)
            step_by_thinning(rows, theirs, k - 1, 1, 1)
        weight = constraints.weights[first + i if i < depth - 1 else first + deepest + i]
        if n_own == 0 or weight == 0:
            continue
        right = 0
        for votes in range(half + 1, min(n_own, k) + 1):
            right += rows[mine, votes] * rows[theirs, k - votes]
        for votes in range(1, min(n_own, half) + 1):
            right += rows[mine, votes] * rows[tight + votes, k - votes]
        score += weight * right
    return score


@jit
def _start_tight(rows, n_classes, own, votes, k):  # type: ignore[no-untyped-def]
    """The product over the other classes of their rows, each cut where it would beat `votes`."""
    at = n_classes + 2 + votes
    top = k - votes
    rows[at, 0] = 1
    for c in range(n_classes):
        limit = votes if own < c else votes - 1
        if c == own or limit == 0 or rows[c, 1] == 0:
            continue
        for d in range(top, 0, -1):
            total = rows[at, d]
            for b in range(1, min(limit, d) + 1):
                total += rows[c, b] * rows[at, d - b]
            rows[at, d] = total


@jit
def _extend_tight(rows, at, c, limit, rest, top):  # type: ignore[no-untyped-def]
    """Let an item join class c: the product without the class, times what the class gains."""
    for d in range(top):
        total = rows[at, d]
        for b in range(1, min(limit, d) + 1):
            total -= rows[c, b] * rows[rest, d - b]
        rows[rest, d] = total
    for d in range(1, top + 1):
        total = rows[at, d]
        for b in range(min(limit, d)):
            total += rows[c, b] * rows[rest, d - 1 - b]
        rows[at, d] = total


@jit
def _two_classes(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """As `knn_fixed`, where all votes are in a table; O(depth).

    ``table[own * height + i, g]`` is the weight of position i times the score, if g of the i nearest items
    are of the tested item's class.
    """
    k = constraints.integers[0]
    deepest = constraints.integers[2]
    left = constraints.counts[0] - constraints.held_out
    own = labels.classes[target]
    first = own * (deepest + 1)
    depth = min(len(order.items), deepest)
    same = 0
    score = 0.0
    for i in range(1, depth):
        same += labels.classes[order.items[i - 1]] == own
        score += constraints.table[first + i, same]
    if depth > 0:
        same += labels.classes[order.items[depth - 1]] == own
        beyond = (left - depth) / (constraints.n_train[0] - k)
        score += constraints.table[first + depth, same] * beyond
    return score


@jit
def knn_stratified(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """ICML §2.5 for any number of classes; O(depth * cost of a vote)."""
    k = constraints.integers[0]
    if constraints.integers[2] >= len(order.items):
        return _two_strata(order, labels, target, constraints)
    losses = constraints.table if constraints.integers[2] < 0 else constraints.table[:0]
    own = labels.classes[target]
    n_classes = len(constraints.counts)
    unit = constraints.unit
    rows = np.full((n_classes + 2, k + 1), unit * 0)
    joint = n_classes + 1
    product = np.full(k + 1, unit * 0)
    most = np.zeros(n_classes + 2, np.int64)  # of every class that were passed
    seen = np.empty(n_classes, np.int64)
    n_seen = 0
    score = unit * 0
    for i in range(len(order.items)):
        c = labels.classes[order.items[i]]
        n_train = constraints.n_train[c]
        left = constraints.counts[c] - most[c]
        if c == own:
            left -= constraints.held_out
        if most[c] == 0:
            rows[c, 0] = unit
            seen[n_seen] = c
            n_seen += 1
        # This item is in T, and b - 1 of its class before it.
        share = unit / left
        most[joint] = min(most[c] + 1, n_train, k)
        possible = False
        for b in range(1, most[joint] + 1):
            rows[joint, b] = rows[c, b - 1] * ((n_train - b + 1) * share)
            possible = possible or rows[joint, b] > 0
        if possible and (most[own] > 0 or c == own or len(losses) > 0):
            score += _score(rows, most, seen, n_seen, c, own, losses, k, product)
        most[c] += 1
        for b in range(min(most[c], k), 0, -1):
            rows[c, b] = rows[c, b] * ((left - n_train + b) * share) + rows[c, b - 1] * (
                (n_train - b + 1) * share
            )
        rows[c, 0] = rows[c, 0] * ((left - n_train) * share)
    return score


@jit
def _two_strata(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """As `knn_stratified`, where all votes are in a table; O(depth).

    ``table[(2 * own + c) * height + n, m]`` is the probability that the next item is the K-th nearest
    training item and the vote is right, if that item is of class c and n and m items of the two classes
    are nearer.
    """
    height = constraints.integers[2] + 1
    start = 2 * labels.classes[target]
    passed_0 = 0
    passed_1 = 0
    score = 0.0
    for i in range(len(order.items)):
        c = labels.classes[order.items[i]]
        score += constraints.table[(start + c) * height + passed_0, passed_1]
        passed_1 += c
        passed_0 += 1 - c
    return score


@jit
def _fill_strata(table, k, n_train, counts):  # type: ignore[no-untyped-def]
    """The table of `_two_strata`."""
    height = len(table) // 4
    laws = np.zeros((2, height, height + 1))
    for own in range(2):
        left = counts.copy()
        left[own] -= 1
        laws[:] = 0.0
        for c in range(2):
            for passed in range(min(height, left[c] + 1)):
                fill_hypergeometric(laws[c, passed], passed, n_train[c], left[c], 1.0)
        for last in range(2):
            other = 1 - last
            for passed in range(min(height, left[last])):
                for others in range(min(height, left[other] + 1)):
                    score = 0.0
                    for votes in range(max(k - others, 1), min(passed + 1, n_train[last], k) + 1):
                        share = (n_train[last] - votes + 1) / (left[last] - passed)
                        weight = laws[last, passed, votes - 1] * share * laws[other, others, k - votes]
                        tie = 2 * votes == k  # goes to class 0
                        winner = last if 2 * votes > k or (tie and last == 0) else other
                        if winner == own:
                            score += weight
                    n, m = (passed, others) if last == 0 else (others, passed)
                    table[(2 * own + last) * height + n, m] = score


@jit
def _fill_votes(table, k, weights, losses):  # type: ignore[no-untyped-def]
    """The table of `_two_classes`; ``losses[own, predicted]``."""
    height = len(table) // 2
    law = np.zeros(k + 1)
    for i in range(k, height):
        for own in range(2):
            needed = (k + 1) // 2 if own == 0 else k // 2 + 1  # a tied vote goes to class 0
            for same in range(i + 1):
                law[:] = 0.0
                # How many of the k votes fall on the `same` items.
                fill_hypergeometric(law, same, k, i, 1.0)
                right = 0.0
                wrong = 0.0
                for votes in range(k + 1):
                    if votes >= needed:
                        right += law[votes]
                    else:
                        wrong += law[votes]
                score = right * losses[own, own] + wrong * losses[own, 1 - own]
                table[own * height + i, same] = weights[i] * score


class KNN(Variant):
    """The K nearest training items vote (ICML classifiers 4 and 5, for any number of classes).

    The most frequent class wins; a tied vote goes to the smallest label, as in scikit-learn.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    loss : None or array of shape (n_classes, n_classes)
        As for ``"nn"``.
    """

    name = "knn"
    parameters = {"n_neighbors": 5, "loss": None}  # noqa: RUF012
    fixed = knn_fixed
    stratified = knn_stratified

    def n_nearest(self, **parameters: Any) -> int:
        """K."""
        return int(parameters["n_neighbors"])

    def check(self, task: Task, **parameters: Any) -> None:
        """K must fit into every training set, the loss to the classes."""
        limit = "the size of the training set"
        check_integer("n_neighbors", parameters["n_neighbors"], 1, task.train_size, limit)
        check_loss(parameters["loss"], task.n_classes)

    def largest_score(self, **parameters: Any) -> float:
        """The largest absolute loss."""
        return largest_loss(parameters["loss"])

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """K; the laws of the neighbours' positions; the loss, or all votes between two classes."""
        k = self.n_nearest(**parameters)
        losses = loss_table(parameters["loss"], task.number)
        if task.stratified:
            votes = None
            if task.n_classes == 2 and task.number is not Fraction and task.held_out and not len(losses):
                votes = _votes_of_two_strata(task, k)
            if votes is not None:
                return Tables(integers=(k, task.n_classes, len(votes) // 4 - 1), table=votes)
            return Tables(integers=(k, task.n_classes, -1), table=losses)
        if task.n_classes == 2 and task.number is not Fraction and task.train_size > k:
            votes = _votes_of_two(task, k, losses)
            if votes is not None:
                return Tables(integers=(k, task.n_classes, len(votes) // 2 - 1, 0), table=votes)
        exact = task.number is Fraction
        counted = 0 if len(losses) else _deepest_count(task, k)
        rate = task.train_size / task.n_available
        # No list is longer than all that is available.
        thinned = _thinned_weights(task, k) if counted < task.n_available else np.empty(0)
        return Tables(
            integers=(k, task.n_classes, 0, counted),
            numbers=(1, 1) if exact else (1.0 - rate, rate),
            weights=np.concatenate([thinned, _counted_weights(task, k, counted)]),
            table=losses,
        )


def _told(task: Task, k: int, deepest: int) -> tuple[Array, Array]:
    """For i = 1 .. `deepest` the weights of the votes among the first i items.

    First P(exactly K of them are in the training set, and so is the next), then P(exactly K of them are).
    """
    law = position_law(task.n_available, task.train_size, k, task.number)[:deepest]
    i = np.arange(1, deepest + 1)
    if task.number is Fraction:
        i = np.array([int(at) for at in i], dtype=object)
    exactly = law * i / k
    left = np.maximum(task.n_available - i, 1)
    return exactly * (task.train_size - k) / left, exactly


def _deepest_count(task: Task, k: int) -> int:
    """How deep lists may be for the K-subsets to be counted by integers of 64 bits."""
    if task.number is Fraction:
        return task.n_available
    deepest = k
    while (
        deepest < min(task.n_available, DEEPEST_COUNT)
        and math.comb(deepest + 1, min(k, (deepest + 1) // 2)) < 2**62
    ):
        deepest += 1
    return deepest if math.comb(deepest, min(k, deepest // 2)) < 2**62 else 0


def _counted_weights(task: Task, k: int, deepest: int) -> Array:
    """As `_told`, over the number of K-subsets."""
    if not deepest:
        return np.empty(0)
    subsets = [math.comb(i, k) for i in range(1, deepest + 1)]
    shares = [task.number(0) if n == 0 else task.number(1) / n for n in subsets]
    weights = [told * np.array(shares) for told in _told(task, k, deepest)]
    return np.concatenate(weights)


def _thinned_weights(task: Task, k: int) -> Array:
    """As `_told` for all positions, over the weight that thinning gives to K of i items."""
    if task.number is Fraction:
        return _counted_weights(task, k, task.n_available)
    m, size = task.n_available, task.train_size
    told, exactly = np.zeros((2, m))
    if size == m:  # thinning takes every item
        told[k - 1], exactly[k - 1] = float(m > k), 1.0
        return np.concatenate([told, exactly])
    # From the likeliest position outward: elsewhere both probabilities may be too small for a double.
    middle = min(max(k * m // size, k), m)
    law = np.zeros(middle + 1)
    fill_binomial(law, size / m)
    i = np.arange(k, m, dtype=float)
    factors = np.maximum(m - i - size + k, 0.0) / (m - i) * (m / (m - size))
    at = middle - k
    exactly[middle - 1] = _told(task, k, middle)[1][-1] / law[k]
    exactly[middle:] = exactly[middle - 1] * np.cumprod(factors[at:])
    exactly[k - 1 : middle - 1] = exactly[middle - 1] * np.cumprod(1 / factors[:at][::-1])[::-1]
    told[k - 1 : -1] = exactly[k - 1 : -1] * (size - k) / (m - i)
    return np.concatenate([told, exactly])


def _votes_of_two(task: Task, k: int, losses: Array) -> Array | None:
    """The table of `_two_classes`, if one of moderate size reaches deep enough."""
    tail = fixed_tail(task.n_available, task.train_size, k)
    deepest = int(np.argmax(tail <= NEGLIGIBLE))
    deepest = min(max(deepest, k), task.n_available - 1)
    if deepest > DEEPEST_TABLE:
        return None
    weights = np.concatenate([[0.0], _told(task, k, deepest)[0]])
    votes = np.zeros((2 * (deepest + 1), deepest + 1))
    _fill_votes(votes, k, weights, losses if len(losses) else np.eye(2))
    return votes


def _votes_of_two_strata(task: Task, k: int) -> Array | None:
    """The table of `_two_strata`, somewhat deeper than lists usually are, if that is of moderate size."""
    tail = fixed_tail(task.n_available, task.train_size, k)
    deepest = min(int(np.argmax(tail <= NEGLIGIBLE)) + 8, task.n_available)
    if deepest > DEEPEST_STRATA:
        return None
    votes = np.zeros((4 * (deepest + 1), deepest + 1))
    _fill_strata(votes, k, np.array(task.n_train), np.array(task.counts))
    return votes
