"""K nearest neighbours by plurality vote; a tied vote goes to the smallest label."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from knnccv._checks import check_integer
from knnccv.kernel import Tables, Task, Variant, jit
from knnccv.sampling import (
    multiply_into,
    position_law,
    step_by_thinning,
    step_without_replacement,
)

from ._loss import check_loss, largest_loss, loss_table


@jit
def _wins(rows, seen, n_seen, last, joint, winner, k, free, work):  # type: ignore[no-untyped-def]
    """P(`winner` wins the vote), with the K-th nearest training item of class `last`.

    ``rows[c, b]`` is the weight of b votes for class c from the nearer items and ``joint[b]`` that of b
    nearer votes for `last` besides the K-th neighbour's own. For every number t of votes for the winner
    it takes a coefficient of a product over the other classes. With t > K/2 nobody
    can outvote it, so one product serves all those t. O(K) for two classes, O(K^2) for three, else
    O(C K^3).
    """
    own = joint if winner == last else rows[winner]
    bonus = 1 if winner == last else 0
    half = (k + 1) // 2
    free[:half] = 0
    free[0] = 1
    alone = True
    for s in range(n_seen):
        c = seen[s]
        if c == winner:
            continue
        row = joint if c == last else rows[c]
        if alone:
            free[:half] = row[:half]
            alone = False
        else:
            multiply_into(free[:half], row, half - 1)
    total = joint[0] * 0
    for votes in range(1, k + 1):
        chosen = votes - bonus
        if chosen > k - 1 or own[chosen] == 0:
            continue
        rest = k - 1 - chosen
        if 2 * votes > k:
            total += own[chosen] * free[rest]
        elif rest <= votes * n_seen:
            total += own[chosen] * _others(rows, seen, n_seen, last, joint, winner, votes, rest, work)
    return total


@jit
def _others(rows, seen, n_seen, last, joint, winner, votes, rest, work):  # type: ignore[no-untyped-def]
    """Weight of `rest` nearer votes for the other classes, none of which beats the winner's `votes`.

    A tie is lost to a smaller label. Of the product only one coefficient is wanted, so the last class
    enters by a scalar product: it is held back until it is known to be the last.
    """
    zero = joint[0] * 0
    work[: rest + 1] = 0
    work[0] = 1
    held = -1
    held_limit = 0
    for s in range(n_seen):
        c = seen[s]
        if c == winner:
            continue
        limit = votes if winner < c else votes - 1
        if c == last:
            limit -= 1
        if limit < 0:
            return zero
        if held >= 0:
            row = joint if held == last else rows[held]
            multiply_into(work[: rest + 1], row, held_limit)
        held, held_limit = c, limit
    if held < 0:
        return zero + work[rest]
    total = zero
    row = joint if held == last else rows[held]
    for b in range(min(held_limit, rest) + 1):
        total += row[b] * work[rest - b]
    return total


@jit
def _vote_score(rows, seen, n_seen, last, joint, own, table, k, free, work):  # type: ignore[no-untyped-def]
    """Weight of the votes that are right, or the loss of every class that may win, weighted."""
    if len(table) == 0:
        if rows[own, 0] == -1:
            return joint[0] * 0
        return _wins(rows, seen, n_seen, last, joint, own, k, free, work)
    score = joint[0] * 0
    for s in range(n_seen):
        win = _wins(rows, seen, n_seen, last, joint, seen[s], k, free, work)
        score += win * table[own, seen[s]]
    return score


@jit
def knn_fixed(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """ICML eq. 9-10 for any number of classes; O(depth * cost of a vote).

    Given the K-th nearest training item, the nearer ones are a uniform (K-1)-subset of the items before
    it, whatever the size of the training set: independent thinning, conditioned on the total.
    """
    k = constraints.integers[0]
    miss, hit = constraints.numbers[0], constraints.numbers[1]
    weights = constraints.weights
    own = labels.classes[target]
    n_classes = constraints.integers[1]
    rows = np.zeros((n_classes, k), weights.dtype)
    rows[:, 0] = -1  # not seen yet
    everyone = np.zeros(k, weights.dtype)
    everyone[0] = 1
    free = np.zeros(k, weights.dtype)
    work = np.zeros(k, weights.dtype)
    seen = np.empty(n_classes, np.int64)
    n_seen = 0
    score = constraints.unit * 0
    for i in range(min(len(order.items), len(weights))):
        c = labels.classes[order.items[i]]
        if rows[c, 0] == -1:
            rows[c, 0] = 1
            seen[n_seen] = c
            n_seen += 1
        if weights[i] > 0 and everyone[k - 1] > 0:
            vote = _vote_score(rows, seen, n_seen, c, rows[c], own, constraints.table, k, free, work)
            score += weights[i] * vote / everyone[k - 1]
        step_by_thinning(rows[c], miss, hit)
        step_by_thinning(everyone, miss, hit)
    return score


@jit
def knn_stratified(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """ICML §2.5 for any number of classes; O(depth * cost of a vote)."""
    k = constraints.integers[0]
    own = labels.classes[target]
    n_classes = len(constraints.counts)
    unit = constraints.unit
    rows = np.full((n_classes, k), unit * 0)
    rows[:, 0] = -1  # not seen yet
    joint = np.full(k, unit * 0)
    free = np.full(k, unit * 0)
    work = np.full(k, unit * 0)
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
        if rows[c, 0] == -1:
            rows[c, 0] = unit
            seen[n_seen] = c
            n_seen += 1
        possible = False
        for b in range(k):
            joint[b] = unit * 0
            if b < n_train and rows[c, b] > 0:
                joint[b] = rows[c, b] * (n_train - b) / (available - passed[c])
                possible = True
        if possible:
            score += _vote_score(rows, seen, n_seen, c, joint, own, constraints.table, k, free, work)
        step_without_replacement(rows[c], passed[c], n_train, available)
        passed[c] += 1
    return score


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
        """K, the law of the K-th neighbour's position, and the thinning that keeps numbers near 1."""
        k = self.n_nearest(**parameters)
        weights: Any = ()
        numbers: Any = ()
        if not task.stratified:
            weights = position_law(task.n_available, task.train_size, k, task.number)
            rate = task.train_size / task.n_available
            numbers = (1, 1) if task.number is Fraction else (1.0 - rate, rate)
        return Tables(
            integers=(k, task.n_classes),
            numbers=numbers,
            weights=weights,
            table=loss_table(parameters["loss"], task.number),
        )
