"""K nearest neighbors by plurality vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from knnccv._typing import Kernel
from knnccv._validation import check_choice, check_integer
from knnccv.kernel import JOINT, NOT_SERVED, Link, Tables, Task, Variant, inner, jit, read_as, read_rest
from knnccv.voting import (
    PLURALITY,
    ThinningRates,
    VoteDistributions,
    VotingRule,
    counted_weights,
    has_mixed_group,
    scaled_position_weights,
    score_fixed_size,
    score_stratified,
    score_votes,
    thinning_rates,
    tie_quadrature,
)

from ._contested_votes import contested_table, contested_votes
from ._counted_votes import counted_votes, counted_votes_without_each, max_counted_depth
from ._loss import check_loss, largest_loss, loss_table
from ._removals import RemovalNumbers, two_class_strata_without_each, two_class_votes_without_each
from ._stratified_lanes import lane_tables, votes_in_lanes
from ._two_class_votes import table_of_strata, table_of_votes, two_class_strata, two_class_votes
from ._vote_fields import NO_TABLE, VoteFields

MAX_COUNTED_NEIGHBORS = 15
"""For more neighbors, counting contenders is faster than counting all subsets."""


@jit
def knn_fixed(order, labels, target, constraints):
    """ICML eq. 9-10 for any number of classes; O(depth * cost of a vote)."""
    if read_as(VoteFields, constraints.integers).table_depth != NO_TABLE:
        return two_class_votes(order, labels, target, constraints)
    score = contested_votes(order, labels, target, constraints)
    if score != NOT_SERVED:
        return score
    score = counted_votes(order, labels, target, constraints)
    if score != NOT_SERVED:
        return score
    return fixed_votes(order, labels, target, constraints)


@jit
def fixed_votes(order, labels, target, constraints):
    """The general case of `knn_fixed`, tied groups of several classes included."""
    losses = constraints.table
    if read_as(VoteFields, constraints.integers).contested_depth > 0:
        losses = losses[:0]
    return score_fixed_size(order, labels, target, constraints, _plurality(constraints, losses))


@jit
def knn_stratified(order, labels, target, constraints):
    """ICML §2.5 for any number of classes; O(depth * cost of a vote)."""
    fields = read_as(VoteFields, constraints.integers)
    if fields.table_depth != NO_TABLE:
        score = two_class_strata(order, labels, target, constraints)
        if score != NOT_SERVED:
            return score
    plain = fields.table_depth != NO_TABLE or len(constraints.table) == 0
    if plain and fields.n_tie_nodes == 0 and constraints.n_extra == 0:
        score = knn_stratified_untied(order, labels, target, constraints)
        if score != NOT_SERVED:
            return score
    return strata_votes(order, labels, target, constraints)


@jit
def strata_votes(order, labels, target, constraints):
    """The general case of `knn_stratified`, tied groups of several classes included."""
    losses = constraints.table
    if read_as(VoteFields, constraints.integers).table_depth != NO_TABLE:
        losses = losses[:0]
    return score_stratified(order, labels, target, constraints, _plurality(constraints, losses))


@jit
def knn_stratified_untied(order, labels, target, constraints):
    """As `knn_stratified`, if no mixed groups tie, without losses, ties to the smallest label."""
    if has_mixed_group(order, labels):
        return NOT_SERVED
    k = constraints.n_nearest
    own_class = labels.classes[target]
    n_classes = len(constraints.counts)
    unit = constraints.unit
    marked = np.full((n_classes + 2, 1, k + 1), unit * 0)
    rows, last_row = marked.reshape(n_classes + 2, k + 1), n_classes + 1
    no_marks = np.zeros(n_classes + 2, constraints.counts.dtype)
    passed = np.zeros(n_classes + 2, constraints.counts.dtype)
    seen_classes = np.empty(n_classes, np.int64)
    votes = VoteDistributions(
        marked, no_marks, passed, seen_classes, np.full(1, unit), np.full((2, k + 1), unit * 0)
    )
    rule = _plurality(constraints, constraints.table[:0])  # there may be a table of votes
    n_seen_classes = 0
    score = unit * 0
    for i in range(len(order.items)):
        c = labels.classes[order.items[i]]
        n_train = constraints.n_train[c]
        left = constraints.counts[c] - passed[c]
        if c == own_class:
            left -= constraints.held_out
        if passed[c] == 0:
            rows[c, 0] = unit
            seen_classes[n_seen_classes] = c
            n_seen_classes += 1
        # The last row: this sample is in T, with b - 1 of its class before it.
        share = unit / left
        passed[last_row] = min(passed[c] + 1, n_train, k)
        possible = False
        for b in range(1, passed[last_row] + 1):
            rows[last_row, b] = rows[c, b - 1] * ((n_train - b + 1) * share)
            possible = possible or rows[last_row, b] > 0
        if possible and (passed[own_class] > 0 or c == own_class):
            score += score_votes(votes, n_seen_classes, c, own_class, k, rule)
        passed[c] += 1
        for b in range(min(passed[c], k), 0, -1):
            rows[c, b] = rows[c, b] * ((left - n_train + b) * share) + rows[c, b - 1] * (
                (n_train - b + 1) * share
            )
        rows[c, 0] = rows[c, 0] * ((left - n_train) * share)
    return score


@inner
def _plurality(constraints, losses):
    """The rule of `score_fixed_size` and `score_stratified`; the tie nodes follow the thinning rates."""
    fields = read_as(VoteFields, constraints.integers)
    tie_nodes = read_rest(ThinningRates, constraints.numbers)
    return VotingRule(PLURALITY, fields.n_tie_nodes, tie_nodes, losses)


def _kernels_for(task: Task, tables: Tables) -> list[Kernel]:
    """The kernels of a chain for one kind of training sets, by its tables."""
    fields = tables.integers
    has_table = fields.table_depth != NO_TABLE
    if task.stratified:
        losses = not has_table and len(tables.table)
        untied = [] if losses or fields.n_tie_nodes or task.n_extra else [knn_stratified_untied]
        return [*([two_class_strata] if has_table else []), *untied, strata_votes]
    if has_table:
        return [two_class_votes]
    if fields.contested_depth > 0:
        return [contested_votes, fixed_votes]
    return [counted_votes, fixed_votes] if fields.counted_depth > 0 else [fixed_votes]


class KNN(Variant):
    """The K nearest training samples vote (ICML classifiers 4 and 5, for any number of classes).

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    loss : None or array of shape (n_classes, n_classes)
        As for ``"nn"``.
    vote_ties : {"smallest", "random"}
        The winner of a tied vote: the class with the smallest label, as in scikit-learn, or one of the tied
        classes at random.
    """

    name = "knn"
    parameters = {"n_neighbors": 5, "loss": None, "vote_ties": "smallest"}  # noqa: RUF012
    tie_rules = ("index", "random")
    heeds_extra = True
    fields = VoteFields
    fixed = knn_fixed
    stratified = knn_stratified

    def profile(self, **parameters: Any) -> str:
        """`Variant.profile`."""
        return "votes" if parameters["loss"] is None and parameters["vote_ties"] == "smallest" else ""

    def n_nearest(self, **parameters: Any) -> int:
        """K."""
        return int(parameters["n_neighbors"])

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse K larger than a training set, and a loss that does not fit the classes."""
        limit = "the size of the training set"
        check_integer("n_neighbors", parameters["n_neighbors"], 1, task.train_size, limit)
        check_loss(parameters["loss"], task.n_classes)
        check_choice("vote_ties", parameters["vote_ties"], ("smallest", "random"))

    def measure(self, **parameters: Any) -> str:
        """Accuracy, or the expected loss."""
        return "accuracy" if parameters.get("loss") is None else "expected loss"

    def largest_score(self, **parameters: Any) -> float:
        """The largest absolute loss."""
        return largest_loss(parameters["loss"])

    def range_is_exact(self, n_classes: int, **parameters: Any) -> bool:
        """True for one neighbor, and for two classes."""
        return n_classes <= 2 or self.n_nearest(**parameters) == 1

    def chain(self, tasks: Sequence[Task], **parameters: Any) -> Sequence[Link]:
        """Votes in lanes for three classes or more; then the kernels for the available tables.

        Where samples are scored list by list, these links take the place of `knn_fixed` and
        `knn_stratified`, so that only kernels that serve a sample are compiled. Those two try the same
        kernels in one, for what asks for a single kernel: exact fractions, and known training sets.
        """
        plain = parameters["vote_ties"] == "smallest" and parameters["loss"] is None
        served = all(task.stratified and task.held_out and not task.n_extra for task in tasks)
        in_lanes = plain and served and tasks[0].n_classes > 2
        links = [Link(votes_in_lanes, lane_tables(tasks), JOINT)] if in_lanes else []
        if len(tasks) > 1:
            return links
        tables = self.tables(tasks[0], **parameters)
        return [*links, *(Link(kernel, tables) for kernel in _kernels_for(tasks[0], tables))]

    def removals(
        self, tasks: Sequence[Task], shares: Sequence[float], removed: int, **parameters: Any
    ) -> Link | None:
        """The kernels for counted votes, linear in the weights of the positions, and for two classes."""
        tables = [self.tables(task, **parameters) for task in tasks]
        if all(each.integers.counted_depth > 0 and not each.integers.contested_depth for each in tables):
            mean = sum(share * each.weights for share, each in zip(shares, tables, strict=True))
            return Link(counted_votes_without_each, replace(tables[0], weights=mean))
        if len(tasks) > 1 or tables[0].integers.table_depth == NO_TABLE:
            return None
        if not tasks[0].stratified:
            return Link(two_class_votes_without_each, tables[0])
        return Link(two_class_strata_without_each, replace(tables[0], numbers=RemovalNumbers(removed)))

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """A table of all votes between two classes; otherwise weights of the positions, and the losses."""
        k = self.n_nearest(**parameters)
        losses = loss_table(parameters["loss"], task.number)
        smallest = parameters["vote_ties"] == "smallest"
        n_tie_nodes, tie_nodes = tie_quadrature(k, smallest, task.number)
        binary = task.n_classes == 2 and task.number is not Fraction
        if task.stratified:
            table = None
            if binary and task.held_out and not len(losses) and not task.n_extra:
                table = table_of_strata(task, k, smallest)
            numbers = (*ThinningRates(0, 0), *tie_nodes)  # the rates serve designs of one size
            if table is None:
                return Tables(VoteFields(n_tie_nodes), numbers, table=losses)
            return Tables(VoteFields(n_tie_nodes, table_depth=table.shape[1] - 1), numbers, table=table)
        if binary and task.train_size > k:
            table = table_of_votes(task, k, losses, smallest)
            if table is not None:
                return Tables(VoteFields(n_tie_nodes, table_depth=table.shape[1] - 1), table=table)
        plain = smallest and not len(losses)
        counted_depth = max_counted_depth(task, k) if plain else 0
        contested = contested_table(task, k) if plain and k > MAX_COUNTED_NEIGHBORS else None
        weights = (*scaled_position_weights(task, k), *counted_weights(task, k, counted_depth))
        return Tables(
            integers=VoteFields(
                n_tie_nodes,
                counted_depth=counted_depth,
                contested_depth=0 if contested is None else contested.shape[1] - 1,
            ),
            numbers=(*thinning_rates(task), *tie_nodes),
            weights=np.concatenate(weights),
            table=losses if contested is None else contested,
        )
