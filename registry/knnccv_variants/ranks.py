"""Rank scoring: right if one of the R nearest training samples has the item's class."""

from __future__ import annotations

from typing import Any

import numpy as np

from knnccv._typing import Kernel
from knnccv._validation import check_integer
from knnccv.kernel import NOT_SERVED, Constraints, Tables, Task, Variant, jit
from knnccv.sampling import multiply_into, place_of, step_without_replacement
from knnccv.voting import ANY_RIGHT, has_mixed_group, score_fixed_size, score_stratified

from ._position_weights import scaled_position_weights, thinning_rates


@jit
def rank_fixed(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """ICML eq. 11 (TR eq. 6), as a walk along the order; O(depth * R) without mixed tied groups.

    ``wrong[r]`` = P(no own sample so far is in T, and r others are).
    """
    if has_mixed_group(order, labels):
        return score_fixed_size(order, labels, target, constraints, constraints.table)
    return _walk(order, labels, target, constraints)


@jit
def _fixed_without_ties(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """`rank_fixed` without mixed tied groups."""
    if has_mixed_group(order, labels):
        return NOT_SERVED
    return _walk(order, labels, target, constraints)


@jit
def _walk(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """`rank_fixed` in the order given."""
    top = constraints.integers[0]
    n_train = constraints.n_train[0]
    left = constraints.counts[0] - constraints.held_out
    own = labels.classes[target]
    unit = constraints.unit
    wrong = np.full(top, unit * 0)
    wrong[0] = unit
    score = unit * 0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == own:
            alive = False
            for r in range(min(top, n_train + 1)):
                score += wrong[r] * (n_train - r) / left
                wrong[r] = wrong[r] * (left - n_train + r) / left
                alive = alive or wrong[r] > 0
            if not alive:
                break
        else:
            step_without_replacement(wrong, 0, n_train, left)
        left -= 1
    return score


@jit
def rank_stratified(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """TR §2.5 by generating functions; O(depth * R + own samples * classes * R^2)."""
    if constraints.n_extra > 0 or has_mixed_group(order, labels):
        return score_stratified(order, labels, target, constraints, constraints.table)
    return _walk_of_strata(order, labels, target, constraints)


@jit
def _stratified_without_ties(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """`rank_stratified` without mixed tied groups."""
    if has_mixed_group(order, labels):
        return NOT_SERVED
    return _walk_of_strata(order, labels, target, constraints)


@jit
def _walk_of_strata(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """`rank_stratified` in the order given, without ``constraints.extra``."""
    top = constraints.integers[0]
    own = labels.classes[target]
    n_classes = len(constraints.counts)
    depth = len(order.items)
    unit = constraints.unit
    rows = np.full((min(depth, n_classes), top), unit * 0)
    product = np.full(top, unit * 0)
    passed = np.zeros(len(rows), constraints.counts.dtype)
    places = np.empty(n_classes, np.int64)
    seen = np.empty(len(rows), np.int64)
    n_seen = 0
    none = unit * 1  # P(no own sample so far is in T)
    own_left = constraints.counts[own] - constraints.held_out
    n_own = constraints.n_train[own]
    score = unit * 0
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if c != own:
            place = place_of(c, places, seen, n_seen)
            if place == n_seen:
                places[c] = place
                seen[place] = c
                n_seen += 1
                rows[place, 0] = unit
            step_without_replacement(
                rows[place], passed[place], constraints.n_train[c], constraints.counts[c]
            )
            passed[place] += 1
            continue
        product[:] = 0
        product[0] = unit
        for place in range(n_seen):
            multiply_into(product, rows[place], top - 1)
        score += none * n_own / own_left * product.sum()
        none = none * (own_left - n_own) / own_left
        own_left -= 1
        if none == 0:
            break
    return score


class Rank(Variant):
    """Right if one of the R nearest training samples has the item's class (ICML classifier 6, TR 2 and 4).

    Parameters
    ----------
    rank : int
        R, at least 1. If it exceeds the size of the training set, all its samples are looked at.
    """

    name = "rank"
    parameters = {"rank": 5}  # noqa: RUF012
    tie_rules = ("index", "random")
    heeds_extra = True
    fixed = rank_fixed
    stratified = rank_stratified

    def profile(self, **parameters: Any) -> str:
        """`Variant.profile`."""
        return "rank"

    def n_nearest(self, **parameters: Any) -> int:
        """R."""
        return int(parameters["rank"])

    def check(self, task: Task, **parameters: Any) -> None:
        """R must be a positive integer."""
        check_integer("rank", parameters["rank"], 1)

    def measure(self, **parameters: Any) -> str:
        """The cumulative match characteristic."""
        rank = parameters["rank"]
        return f"rank-{rank} accuracy (CMC at rank {rank})"

    def range_is_exact(self, n_classes: int, **parameters: Any) -> bool:
        """Always: one right sample is enough."""
        return True

    def light_kernel(self, task: Task, constraints: Constraints) -> Kernel | None:
        """A walk without ties, unless classes may have one more training sample."""
        if task.n_extra:
            return None
        return _stratified_without_ties if task.stratified else _fixed_without_ties

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """R, cut at the size of the training set, beyond which nothing changes; what `_walks` need."""
        nearest = min(self.n_nearest(**parameters), task.train_size)
        integers = (nearest, ANY_RIGHT, 0, task.n_classes)
        if task.stratified:
            return Tables(integers=integers)
        return Tables(integers, thinning_rates(task), scaled_position_weights(task, nearest))
