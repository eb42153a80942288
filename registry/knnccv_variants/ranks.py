# mypy: allow-untyped-defs
"""Rank-R accuracy (CMC): correct if one of the R nearest training samples has the tested class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from knnccv._base.validation import check_integer
from knnccv.kernel import ACCURACY, NOT_SERVED, Link, Score, Tables, Task, Variant, jit
from knnccv.kernel.sampling import multiply_into, place_of, step_without_replacement, total_of
from knnccv.kernel.voting import (
    ANY_RIGHT,
    VotingRule,
    has_mixed_group,
    scaled_position_weights,
    score_fixed_size,
    score_stratified,
    thinning_rates,
)


@jit
def rank_fixed(order, labels, target, constraints):
    """ICML eq. 11 (TR eq. 6); O(depth * R) without mixed tied groups."""
    score = rank_fixed_untied(order, labels, target, constraints)
    if score != NOT_SERVED:
        return score
    rule = VotingRule(ANY_RIGHT, 0, constraints.numbers, constraints.table)
    return score_fixed_size(order, labels, target, constraints, rule)


@jit
def rank_fixed_untied(order, labels, target, constraints):
    """As `rank_fixed`, and faster to compile: no mixed tied groups.

    ``wrong[r]`` = P(no sample of the tested sample's class so far is in T, and r others are).
    """
    if has_mixed_group(order, labels):
        return NOT_SERVED
    top = constraints.n_nearest
    n_train = constraints.n_train[0]
    left = constraints.counts[0] - constraints.held_out
    own_class = labels.classes[target]
    unit = constraints.unit
    wrong = np.full(top, unit * 0)
    wrong[0] = unit
    score = unit * 0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == own_class:
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
def rank_stratified(order, labels, target, constraints):
    """TR §2.5 by generating functions; O(depth * R + samples of x's class * classes * R^2)."""
    if constraints.n_extra == 0:
        score = rank_stratified_untied(order, labels, target, constraints)
        if score != NOT_SERVED:
            return score
    rule = VotingRule(ANY_RIGHT, 0, constraints.numbers, constraints.table)
    return score_stratified(order, labels, target, constraints, rule)


@jit
def rank_stratified_untied(order, labels, target, constraints):
    """As `rank_stratified`, and faster to compile: no mixed tied groups, no ``constraints.extra``."""
    if has_mixed_group(order, labels):
        return NOT_SERVED
    top = constraints.n_nearest
    own_class = labels.classes[target]
    n_classes = len(constraints.counts)
    depth = len(order.items)
    unit = constraints.unit
    rows = np.full((min(depth, n_classes), top), unit * 0)
    product = np.full(top, unit * 0)
    passed = np.zeros(len(rows), constraints.counts.dtype)
    places = np.empty(n_classes, np.int64)
    seen_classes = np.empty(len(rows), np.int64)
    n_seen_classes = 0
    p_none = unit * 1  # P(no sample of the tested sample's class so far is in T)
    own_left = constraints.counts[own_class] - constraints.held_out
    n_own = constraints.n_train[own_class]
    score = unit * 0
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if c != own_class:
            place = place_of(c, places, seen_classes, n_seen_classes)
            if place == n_seen_classes:
                places[c] = place
                seen_classes[place] = c
                n_seen_classes += 1
                rows[place, 0] = unit
            step_without_replacement(
                rows[place], passed[place], constraints.n_train[c], constraints.counts[c]
            )
            passed[place] += 1
            continue
        product[:] = 0
        product[0] = unit
        for place in range(n_seen_classes):
            multiply_into(product, rows[place], top - 1)
        score += p_none * n_own / own_left * total_of(product)
        p_none = p_none * (own_left - n_own) / own_left
        own_left -= 1
        if p_none == 0:
            break
    return score


class Rank(Variant):
    """Correct if one of the R nearest training samples has the class (ICML classifier 6, TR 2 and 4).

    Parameters
    ----------
    rank : int
        R, at least 1. If it exceeds the size of the training set, all training samples count.
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
        """Refuse R that is not a positive integer."""
        check_integer("rank", parameters["rank"], 1)

    def score(self, **parameters: Any) -> Score:
        """The cumulative match characteristic: one right sample is enough."""
        name = f"rank-{parameters['rank']} accuracy (CMC at rank {parameters['rank']})"
        return replace(ACCURACY, name=name, monotone=math.inf)

    def chain(self, tasks: Sequence[Task], **parameters: Any) -> Sequence[Link]:
        """That for no mixed tied groups, unless classes have one more sample; then that for all."""
        links = super().chain(tasks, **parameters)
        if len(tasks) > 1 or tasks[0].n_extra:
            return links
        return (Link(rank_stratified_untied if tasks[0].stratified else rank_fixed_untied), *links)

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The numbers of `score_fixed_size`."""
        if task.stratified:
            return Tables()
        nearest = min(self.n_nearest(**parameters), task.train_size)
        weights = np.concatenate(scaled_position_weights(task, nearest))
        return Tables(numbers=thinning_rates(task), weights=weights)
