"""K nearest neighbours by plurality vote; a tied vote goes to the smallest label."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from knnccv._checks import check_integer
from knnccv.kernel import Array, Tables, Task, Variant, jit
from knnccv.sampling import (
    fill_hypergeometric,
    fixed_tail,
    position_law,
    step_without_replacement,
)

from ._loss import check_loss, largest_loss, loss_table

DEEPEST_TABLE = 512
NEGLIGIBLE = 1e-18  # far below the rounding of a score


@jit
def _times_row(product, top, rows, row, limit):  # type: ignore[no-untyped-def]
    """Multiply a polynomial of degree `top` at most by ``rows[row, :limit + 1]``, cut above `top`."""
    for degree in range(top, -1, -1):
        coefficient = product[degree] * rows[row, 0]
        for b in range(1, min(degree, limit) + 1):
            coefficient += product[degree - b] * rows[row, b]
        product[degree] = coefficient


@jit
def _coefficient(rows, seen, n_seen, last, winner, votes, rest, product):  # type: ignore[no-untyped-def]
    """Weight of `rest` votes for the other classes, none of which beats the winner's `votes`.

    A tie is lost to a smaller label. Of the product only one coefficient is wanted, so the last class
    enters by a scalar product: it is held back until it is known to be the last.
    """
    n_classes = len(rows) - 2
    zero = rows[winner, 0] * 0
    for b in range(1, rest + 1):
        product[b] = zero
    product[0] = zero + 1
    held = -1
    held_limit = 0
    reached = 0  # degree of the product so far
    for s in range(n_seen):
        c = seen[s]
        if c == winner:
            continue
        limit = votes if winner < c else votes - 1
        if limit == 0 and c == last:
            return zero
        if held >= 0:
            reached = min(reached + held_limit, rest)
            _times_row(product, reached, rows, held, held_limit)
        held, held_limit = (n_classes + 1 if c == last else c), limit
    if held < 0:
        return product[rest]
    total = zero
    for b in range(max(rest - reached, 0), min(held_limit, rest) + 1):
        total += rows[held, b] * product[rest - b]
    return total


@jit
def _wins(rows, seen, n_seen, last, winner, k, product):  # type: ignore[no-untyped-def]
    """P(`winner` wins a vote of k), up to the weight that the rows carry.

    ``rows[c, b]`` is the weight of b votes for class c. If `last` is a class, the k-th vote is its own
    and its row is the last one. For every number t of votes for the winner it takes a coefficient of
    a product over the other classes. With t > k/2 nobody can outvote it, so one product serves all those
    t. O(k^2) for a class seen, O(k^3) if many votes are tight.
    """
    n_classes = len(rows) - 2
    own = n_classes + 1 if winner == last else winner
    half = k // 2
    total = rows[own, 0] * 0
    top = k - half - 1
    for b in range(1, top + 1):
        product[b] = total
    product[0] = total + 1
    for s in range(n_seen):
        c = seen[s]
        if c != winner:
            _times_row(product, top, rows, n_classes + 1 if c == last else c, top)
    for votes in range(half + 1, k + 1):
        total += rows[own, votes] * product[k - votes]
    return total + _tight_wins(rows, seen, n_seen, last, winner, k, product)


@jit
def _tight_wins(rows, seen, n_seen, last, winner, k, product):  # type: ignore[no-untyped-def]
    """The part of `_wins` in which the winner has no majority."""
    own = len(rows) - 1 if winner == last else winner
    total = rows[own, 0] * 0
    for votes in range(1, k // 2 + 1):
        rest = k - votes
        if rest <= votes * (n_seen - 1) and rows[own, votes] > 0:
            weight = _coefficient(rows, seen, n_seen, last, winner, votes, rest, product)
            total += rows[own, votes] * weight
    return total


@jit
def _score(rows, seen, n_seen, last, own, table, k, product):  # type: ignore[no-untyped-def]
    """Weight of the votes that are right, or the loss of every class that may win, weighted."""
    if len(table) == 0:
        return _wins(rows, seen, n_seen, last, own, k, product)
    score = rows[own, 0] * 0
    for s in range(n_seen):
        win = _wins(rows, seen, n_seen, last, seen[s], k, product)
        score += win * table[own, seen[s]]
    return score


@jit
def _thin(rows, row, k, miss, hit):  # type: ignore[no-untyped-def]
    """One more item of the class (`sampling.step_by_thinning`, without a slice)."""
    for b in range(k, 0, -1):
        rows[row, b] = rows[row, b] * miss + rows[row, b - 1] * hit
    rows[row, 0] = rows[row, 0] * miss


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
    miss, hit = constraints.numbers[0], constraints.numbers[1]
    weights = constraints.weights
    n_available = len(weights) // 2
    own = labels.classes[target]
    rows = np.zeros((n_classes + 2, k + 1), weights.dtype)
    others = n_classes  # all classes but the tested item's, as one
    rows[others, 0] = 1
    product = np.zeros(k + 1, weights.dtype)
    seen = np.empty(n_classes, np.int64)
    n_seen = 0
    score = constraints.unit * 0
    depth = min(len(order.items), n_available)
    met = np.zeros(n_classes, np.bool_)
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if not met[c]:
            met[c] = True
            rows[c, 0] = 1
            seen[n_seen] = c
            n_seen += 1
        if c != own:
            _thin(rows, others, k, miss, hit)
        _thin(rows, c, k, miss, hit)
        weight = weights[i] if i < depth - 1 else weights[n_available + i]
        if weight == 0:
            continue
        if len(constraints.table) > 0:
            score += weight * _score(rows, seen, n_seen, -1, own, constraints.table, k, product)
        elif met[own]:
            vote = constraints.unit * 0
            for votes in range(k // 2 + 1, k + 1):
                vote += rows[own, votes] * rows[others, k - votes]
            score += weight * (vote + _tight_wins(rows, seen, n_seen, -1, own, k, product))
    return score


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
    own = labels.classes[target]
    n_classes = len(constraints.counts)
    unit = constraints.unit
    rows = np.full((n_classes + 2, k + 1), unit * 0)
    joint = n_classes + 1
    product = np.full(k + 1, unit * 0)
    passed = np.zeros(n_classes, np.int64)
    seen = np.empty(n_classes, np.int64)
    n_seen = 0
    score = unit * 0
    for i in range(len(order.items)):
        c = labels.classes[order.items[i]]
        available = constraints.counts[c]
        if c == own:
            available -= constraints.held_out
        n_train = constraints.n_train[c]
        if passed[c] == 0:
            rows[c, 0] = unit
            seen[n_seen] = c
            n_seen += 1
        # This item is in T, and b - 1 of its class before it.
        possible = False
        for b in range(1, k + 1):
            rows[joint, b] = unit * 0
            if b <= n_train and rows[c, b - 1] > 0:
                rows[joint, b] = rows[c, b - 1] * (n_train - b + 1) / (available - passed[c])
                possible = True
        if possible and (passed[own] > 0 or c == own or len(constraints.table) > 0):
            score += _score(rows, seen, n_seen, c, own, constraints.table, k, product)
        step_without_replacement(rows[c], passed[c], n_train, available)
        passed[c] += 1
    return score


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
            return Tables(integers=(k, task.n_classes, 0), table=losses)
        if task.n_classes == 2 and task.number is not Fraction and task.train_size > k:
            votes = _votes_of_two(task, k, losses)
            if votes is not None:
                return Tables(integers=(k, task.n_classes, len(votes) // 2 - 1), table=votes)
        rate = task.train_size / task.n_available
        return Tables(
            integers=(k, task.n_classes, 0),
            numbers=(1, 1) if task.number is Fraction else (1.0 - rate, rate),
            weights=_weights(task, k),
            table=losses,
        )


def _weights(task: Task, k: int) -> Array:
    """Weights of the votes among the first i items, for i = 1 .. M, twice.

    First P(the (K+1)-th nearest training item is the next one), then P(exactly K of the i are in the
    training set), both over the weight that thinning gives to K of i items.
    """
    m, size = task.n_available, task.train_size
    if task.number is Fraction:
        law = position_law(m, size, k, Fraction)
        exactly = [law[i - 1] * i / k / _binomial(i, k) if i >= k else Fraction(0) for i in range(1, m + 1)]
        told = [e * (size - k) / (m - i) if i < m else Fraction(0) for i, e in enumerate(exactly, 1)]
        return np.array(told + exactly, dtype=object)
    weights = np.zeros((2, m))
    drawn = np.arange(k)
    start = np.prod((size - drawn) / (m - drawn) * (m / size))
    i = np.arange(k, m, dtype=float)
    factors = np.maximum(m - i - size + k, 0.0) / (m - i) * (m / max(m - size, 1))
    weights[1, k - 1 :] = start * np.cumprod(np.concatenate([[1.0], factors]))
    weights[0, k - 1 : -1] = weights[1, k - 1 : -1] * (size - k) / (m - i)
    return weights.ravel()


def _binomial(n: int, k: int) -> int:
    import math

    return math.comb(n, k)


def _votes_of_two(task: Task, k: int, losses: Array) -> Array | None:
    """The table of `_two_classes`, if one of moderate size reaches deep enough."""
    m, size = task.n_available, task.train_size
    tail = fixed_tail(m, size, k)
    deepest = int(np.argmax(tail <= NEGLIGIBLE))
    deepest = min(max(deepest, k), m - 1)
    if deepest > DEEPEST_TABLE:
        return None
    law = position_law(m, size, k)[:deepest]
    i = np.arange(1, deepest + 1)
    weights = np.concatenate([[0.0], law * i / k * (size - k) / (m - i)])
    votes = np.zeros((2 * (deepest + 1), deepest + 1))
    _fill_votes(votes, k, weights, losses if len(losses) else np.eye(2))
    return votes
