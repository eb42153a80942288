"""The nearest neighbor: 0/1 match or any loss matrix, with fair ties."""

from __future__ import annotations

from typing import Any

import numpy as np

from knnccv._typing import Kernel
from knnccv.kernel import Constraints, Tables, Task, Variant, jit
from knnccv.sampling import fill_hypergeometric, multiply_into, place_of, position_law
from knnccv.voting import PLURALITY, score_stratified

from ._loss import check_loss, largest_loss, loss_table, score_of


@jit
def nn_fixed(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """ICML eq. 4 and 6 (TR eq. 3), tied groups by their mean score; O(depth)."""
    weights = constraints.weights
    own = labels.classes[target]
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
            total += score_of(constraints.table, own, predicted, constraints.unit)
        score += weight * total / (end - start)
        start = end
    return score


@jit
def nn_stratified(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """ICML eq. 8 (TR eq. 7) with a running product; O(1) a step, O(b^2) for b tied samples."""
    if constraints.n_extra > 0:
        return score_stratified(order, labels, target, constraints, constraints.table)
    return _walk_of_strata(order, labels, target, constraints)


@jit
def _walk_of_strata(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """`nn_stratified` without ``constraints.extra``."""
    own = labels.classes[target]
    depth = len(order.items)
    left = np.empty_like(constraints.counts)  # of the classes seen
    places = np.empty(len(left), np.int64)
    seen = np.empty(min(depth, len(left)), np.int64)
    n_seen = 0
    score = constraints.unit * 0
    none = constraints.unit * 1  # P(no sample so far is in T)
    start = 0
    while start < depth and none > 0:
        end = order.group_end[start]
        for i in range(start, end):
            c = labels.classes[order.items[i]]
            place = place_of(c, places, seen, n_seen)
            if place == n_seen:
                places[c] = place
                seen[place] = c
                n_seen += 1
                left[c] = constraints.counts[c]
                if c == own:
                    left[c] -= constraints.held_out
        first = score_of(constraints.table, own, labels.classes[order.items[start]], constraints.unit)
        same = True
        for i in range(start + 1, end):
            c = labels.classes[order.items[i]]
            if score_of(constraints.table, own, c, constraints.unit) != first:
                same = False
        if same:
            for i in range(start, end):
                c = labels.classes[order.items[i]]
                score += none * constraints.n_train[c] / left[c] * first
                none = none * (left[c] - constraints.n_train[c]) / left[c]
                left[c] -= 1
        else:
            gain, stay = _tied_group(order.items[start:end], labels, own, left, constraints)
            score += none * gain
            none = none * stay
        start = end
    return score


@jit
def _tied_group(items, labels, own, left, constraints):  # type: ignore[no-untyped-def]
    """Expected score if the nearest training sample is in the group, and P(it is not).

    Given none nearer is in T, H_c of the group's samples of class c are, independently of the other
    classes, and each of the H = sum H_c is nearest with probability 1/H. `counts` is
    the generating function of H, `scores` that of sum_c L_c H_c: products of dual numbers.
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
        loss = score_of(constraints.table, own, c, unit)
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


class NN(Variant):
    """The nearest training sample decides (ICML classifiers 1 to 3; TR algorithms 1 and 3).

    Parameters
    ----------
    loss : None or array of shape (n_classes, n_classes)
        What it costs to predict the column's class for a sample of the row's class, in sorted label
        order; the score is then the expected loss. None scores a match 1 and a mismatch 0.
    """

    name = "nn"
    parameters = {"loss": None}  # noqa: RUF012
    tie_rules = ("index", "random")
    heeds_extra = True
    fixed = nn_fixed
    stratified = nn_stratified

    def profile(self, **parameters: Any) -> str:
        """`Variant.profile`."""
        return "votes" if parameters["loss"] is None else ""

    def n_nearest(self, **parameters: Any) -> int:
        """One."""
        return 1

    def check(self, task: Task, **parameters: Any) -> None:
        """The loss must be a finite square matrix of the right size."""
        check_loss(parameters["loss"], task.n_classes)

    def measure(self, **parameters: Any) -> str:
        """Accuracy, or the expected loss."""
        return "accuracy" if parameters.get("loss") is None else "expected loss"

    def largest_score(self, **parameters: Any) -> float:
        """The largest absolute loss."""
        return largest_loss(parameters["loss"])

    def light_kernel(self, task: Task, constraints: Constraints) -> Kernel | None:
        """A walk, unless classes may have one more training sample."""
        return _walk_of_strata if task.stratified and not task.n_extra else None

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The weights p_i of ICML eq. 4, and the loss."""
        weights: Any = ()
        if not task.stratified:
            weights = position_law(task.n_available, task.train_size, 1, task.number)
        return Tables(
            integers=(1, PLURALITY, 0, task.n_classes),
            weights=weights,
            table=loss_table(parameters["loss"], task.number),
        )
