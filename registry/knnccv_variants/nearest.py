# mypy: allow-untyped-defs
"""The nearest-neighbor rule: 0/1 score or any loss matrix, averaged over the orders of tied samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from knnccv.kernel import NOT_SERVED, Link, Tables, Task, inner, jit, read_as
from knnccv.kernel.sampling import fill_hypergeometric, multiply_into, place_of, position_law
from knnccv.kernel.voting import PLURALITY, VotingRule, is_rounded, score_stratified

from ._shared import NearestVariant, RemovalNumbers, add_without_each, loss_table, score_of

LARGE_GROUP = 256
"""Tied samples from which `score_stratified` is faster."""


@jit
def nn_fixed(order, labels, target, constraints):
    """ICML eq. 4 and 6 (TR eq. 3), the mean score for a tied group; O(depth)."""
    weights = constraints.weights
    own_class = labels.classes[target]
    score = constraints.unit * 0
    start = 0
    depth = len(order.items)
    while start < depth and weights[start] > 0:
        end = order.group_end[start]
        weight = constraints.unit * 0
        total = constraints.unit * 0
        for i in range(start, end):
            weight += weights[i]
            predicted = labels.classes[order.items[i]]
            total += score_of(constraints.table, own_class, predicted, constraints.unit)
        score += weight * total / (end - start)
        start = end
    return score


@jit
def nn_stratified(order, labels, target, constraints):
    """ICML eq. 8 (TR eq. 7) with a running product; O(1) a step, O(b^2) for b tied samples."""
    if constraints.n_extra == 0:
        score = nn_strata(order, labels, target, constraints)
        if score != NOT_SERVED:
            return score
    rule = VotingRule(PLURALITY, 0, constraints.numbers, constraints.table)
    return score_stratified(order, labels, target, constraints, rule)


@jit
def nn_strata(order, labels, target, constraints):
    """As `nn_stratified`, and faster to compile: no ``constraints.extra``, no large tied groups."""
    own_class = labels.classes[target]
    depth = len(order.items)
    left = np.empty_like(constraints.counts)  # of the seen classes
    places = np.empty(len(left), np.int64)
    seen_classes = np.empty(min(depth, len(left)), np.int64)
    n_seen_classes = 0
    score = constraints.unit * 0
    p_none = constraints.unit * 1  # P(no sample so far is in T)
    start = 0
    while start < depth and p_none > 0:
        end = order.group_end[start]
        for i in range(start, end):
            c = labels.classes[order.items[i]]
            place = place_of(c, places, seen_classes, n_seen_classes)
            if place == n_seen_classes:
                places[c] = place
                seen_classes[place] = c
                n_seen_classes += 1
                left[c] = constraints.counts[c]
                if c == own_class:
                    left[c] -= constraints.held_out
        first = score_of(constraints.table, own_class, labels.classes[order.items[start]], constraints.unit)
        same = True
        for i in range(start + 1, end):
            c = labels.classes[order.items[i]]
            if score_of(constraints.table, own_class, c, constraints.unit) != first:
                same = False
        if same:
            for i in range(start, end):
                c = labels.classes[order.items[i]]
                score += p_none * constraints.n_train[c] / left[c] * first
                p_none = p_none * (left[c] - constraints.n_train[c]) / left[c]
                left[c] -= 1
        elif end - start > LARGE_GROUP and is_rounded(constraints.unit):
            return NOT_SERVED
        else:
            gain, stay = _tied_group(order.items[start:end], labels, own_class, left, constraints)
            score += p_none * gain
            p_none = p_none * stay
        start = end
    return score


@inner
def _tied_group(items, labels, own_class, left, constraints):
    """Expected score if the nearest training sample is in the group, and P(it is not).

    Given that no nearer sample is in T, H_c of the group's samples of class c are, independently of the
    other classes, and each of the H = sum H_c is nearest with probability 1/H. `counts` is the generating
    function of H, `scores` that of sum_c L_c H_c: products of dual numbers.
    """
    unit = constraints.unit
    size = len(items)
    counts = np.full(size + 1, unit * 0)
    scores = np.full(size + 1, unit * 0)
    counts[0] = unit
    done = np.zeros(size, np.bool_)
    total = 0
    for i in range(size):
        if done[i]:
            continue
        c = labels.classes[items[i]]
        members = 0
        for j in range(i, size):
            if labels.classes[items[j]] == c:
                done[j] = True
                members += 1
        chosen = np.full(members + 1, unit * 0)
        fill_hypergeometric(chosen, members, constraints.n_train[c], left[c], unit)
        left[c] -= members
        loss = score_of(constraints.table, own_class, c, unit)
        scored = np.full(members + 1, unit * 0)
        for b in range(1, members + 1):
            scored[b] = chosen[b] * b * loss
        total += members
        gained = counts[: total + 1].copy()
        multiply_into(gained, scored, members)
        multiply_into(scores[: total + 1], chosen, members)
        multiply_into(counts[: total + 1], chosen, members)
        for h in range(total + 1):
            scores[h] += gained[h]
    gain = unit * 0
    for h in range(1, size + 1):
        gain += scores[h] / h
    return gain, counts[0]


@jit
def nn_without_each(order, labels, target, constraints, out):
    """`nn_fixed` of N - 1 samples, without each position in turn; O(depth)."""
    weights = constraints.weights
    losses = constraints.table
    unit = constraints.unit
    own_class = labels.classes[target]
    depth = len(order.items)
    terms, moved = np.zeros(depth), np.zeros((depth, 1))
    start = 0
    while start < depth:
        end = order.group_end[start]
        size = end - start
        whole = shorter = nearer = total = 0.0  # weights of the group, without a sample of it, or before it
        for i in range(start, end):
            if i < len(weights):
                whole += weights[i]
            if i < end - 1:
                shorter += weights[i]
            if i > 0:
                nearer += weights[i - 1]
            total += score_of(losses, own_class, labels.classes[order.items[i]], unit)
        for i in range(start, end):
            out[i] = 0.0
            if size > 1:
                own = score_of(losses, own_class, labels.classes[order.items[i]], unit)
                out[i] = shorter * (total - own) / (size - 1)
        terms[end - 1] = whole * total / size
        moved[start, 0] = nearer * total / size
        start = end
    score = add_without_each(np.zeros(depth, np.int64), terms, moved, out)
    return score if depth <= len(weights) else 0.0


@jit
def nn_strata_without_each(order, labels, target, constraints, out):
    """`nn_strata` without each position of the class `removed` in turn; O(depth).

    Once a sample of the class is removed, the walk goes on as if the class still had it and it were passed.
    """
    losses = constraints.table
    unit = constraints.unit
    n_train = constraints.n_train
    removed = int(read_as(RemovalNumbers, constraints.numbers).removed)
    own_class = labels.classes[target]
    depth = len(order.items)
    start = 0
    while start < depth:
        end = order.group_end[start]
        first = score_of(losses, own_class, labels.classes[order.items[start]], unit)
        for i in range(start + 1, end):
            if score_of(losses, own_class, labels.classes[order.items[i]], unit) != first:
                return NOT_SERVED
        start = end
    left = constraints.counts.copy()
    left[own_class] -= constraints.held_out
    left[removed] += 1
    for i in range(depth):
        left[labels.classes[order.items[i]]] -= 1
    after = 0.0  # expected score if no sample up to the position is in T
    for i in range(depth - 1, -1, -1):
        c = labels.classes[order.items[i]]
        out[i] = after
        left[c] += 1
        score = score_of(losses, own_class, c, unit)
        if left[c] <= n_train[c]:
            after = score
        else:
            after = (n_train[c] * score + (left[c] - n_train[c]) * after) / left[c]
    left[removed] -= 1
    before = 0.0
    p_none = 1.0
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if c == removed:
            out[i] = before + p_none * out[i]
            if left[c] == 0:
                return 0.0
        before += p_none * n_train[c] / left[c] * score_of(losses, own_class, c, unit)
        p_none *= max(left[c] - n_train[c], 0) / left[c]
        left[c] -= 1
    return before


class NN(NearestVariant):
    """The nearest training sample decides (ICML classifiers 1 to 3; TR algorithms 1 and 3).

    Parameters
    ----------
    loss : None or array of shape (n_classes, n_classes)
        The cost of predicting the column's class for a sample of the row's class, in sorted label order;
        the score is then the expected loss. None scores a correct prediction 1 and a wrong one 0.
    """

    name = "nn"
    parameters = {"loss": None}  # noqa: RUF012
    heeds_extra = True
    fixed = nn_fixed
    stratified = nn_stratified

    def profile(self, **parameters: Any) -> str:
        """`Variant.profile`."""
        return "votes" if parameters["loss"] is None else ""

    def chain(self, tasks: Sequence[Task], **parameters: Any) -> Sequence[Link]:
        """`nn_strata`, unless classes have one more training sample; then the kernel that serves all."""
        links = super().chain(tasks, **parameters)
        plain = len(tasks) == 1 and tasks[0].stratified and not tasks[0].n_extra
        return (Link(nn_strata), *links) if plain else links

    def removals(self, task: Task, removed: int, **parameters: Any) -> Link | None:
        """The kernels of one walk; none for classes that get one more training sample."""
        if task.n_extra:
            return None
        if not task.stratified:
            return Link(nn_without_each, self.tables(task, **parameters))
        tables = Tables(numbers=RemovalNumbers(removed), table=loss_table(parameters["loss"], task.number))
        return Link(nn_strata_without_each, tables)

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The weights p_i of ICML eq. 4, and the loss."""
        weights: Any = ()
        if not task.stratified:
            weights = position_law(task.n_available, task.train_size, 1, task.number)
        return Tables(weights=weights, table=loss_table(parameters["loss"], task.number))
