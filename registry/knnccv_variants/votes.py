# mypy: allow-untyped-defs
"""K nearest neighbors by plurality vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from knnccv._base.typing import Kernel
from knnccv.kernel import JOINT, NOT_SERVED, Link, Score, Tables, Task, inner, jit, read_as, read_rest
from knnccv.kernel.voting import (
    PLURALITY,
    ThinningRates,
    VotingRule,
    counted_weights,
    has_mixed_group,
    position_weights,
    scaled_position_weights,
    score_fixed_size,
    score_stratified,
    thinning_rates,
    tie_quadrature,
)

from ._shared import NO_TABLE, NearestVariant, RemovalNumbers, VoteFields, loss_table, losses_of
from ._stratified_lanes import lane_tables, votes_in_lanes
from ._two_class_votes import (
    table_of_strata,
    table_of_votes,
    two_class_strata,
    two_class_strata_without_each,
    two_class_votes,
    two_class_votes_without_each,
    wide_votes,
)
from ._untied_votes import (
    contested_table,
    contested_votes,
    counted_votes,
    counted_votes_without_each,
    max_counted_depth,
)

MAX_COUNTED_NEIGHBORS = 15
"""For more neighbors, counting contenders is faster than counting all subsets."""
MAX_MARKED_NEIGHBORS = 256
"""For more neighbors, two classes are faster position by position than all of a tied group at once."""


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
    return score_fixed_size(order, labels, target, constraints, _plurality(constraints))


@jit
def knn_stratified(order, labels, target, constraints):
    """ICML §2.5 for any number of classes; O(depth * cost of a vote)."""
    if read_as(VoteFields, constraints.integers).table_depth != NO_TABLE:
        score = two_class_strata(order, labels, target, constraints)
        if score != NOT_SERVED:
            return score
    return strata_votes(order, labels, target, constraints)


@jit
def strata_votes(order, labels, target, constraints):
    """The general case of `knn_stratified`, tied groups of several classes included."""
    return score_stratified(order, labels, target, constraints, _plurality(constraints))


@jit
def untied_strata_votes(order, labels, target, constraints):
    """As `strata_votes`, and faster to compile: no mixed tied groups."""
    if has_mixed_group(order, labels):
        return NOT_SERVED
    return score_stratified(order, labels, target, constraints, _plurality(constraints), None)


@inner
def _plurality(constraints):
    """The rule of `score_fixed_size` and `score_stratified`; the tie nodes follow the thinning rates."""
    fields = read_as(VoteFields, constraints.integers)
    rates = read_rest(ThinningRates, constraints.numbers)
    return VotingRule(PLURALITY, fields.n_tie_nodes, rates, losses_of(constraints))


def _kernels_for(task: Task, fields: VoteFields, *, plain: bool) -> list[Kernel]:
    """The kernels of a chain for one kind of training sets, by its tables."""
    has_table = fields.table_depth != NO_TABLE
    if task.stratified:
        untied = [untied_strata_votes] if plain and not task.n_extra else []
        return [*([two_class_strata] if has_table else []), *untied, strata_votes]
    if has_table:
        return [two_class_votes]
    if fields.contested_depth > 0:
        return [contested_votes, fixed_votes]
    return [counted_votes, fixed_votes] if fields.counted_depth > 0 else [fixed_votes]


class KNN(NearestVariant):
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
    heeds_extra = True
    fields = VoteFields
    fixed = knn_fixed
    stratified = knn_stratified

    def profile(self, **parameters: Any) -> str:
        """`Variant.profile`."""
        return "votes" if parameters["loss"] is None and parameters["vote_ties"] == "smallest" else ""

    def score(self, **parameters: Any) -> Score:
        """The accuracy or the expected loss; of two classes, a right vote never makes it worse."""
        return replace(super().score(**parameters), monotone=2)

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
        kernels = _kernels_for(tasks[0], tables.integers, plain=plain)
        links += [Link(kernel, tables) for kernel in kernels]
        k = self.n_nearest(**parameters)
        if kernels[-1] is fixed_votes and tasks[0].n_classes == 2 and k > MAX_MARKED_NEIGHBORS:
            losses = np.eye(2) if parameters["loss"] is None else loss_table(parameters["loss"], float)
            weights = np.concatenate(position_weights(tasks[0], k, tasks[0].n_available))
            links[-1] = Link(wide_votes, replace(tables, weights=weights, table=losses))
        return links

    def removals(
        self, tasks: Sequence[Task], shares: Sequence[float], removed: int, **parameters: Any
    ) -> Link | None:
        """The kernels for counted votes, linear in the weights of the positions, and for two classes."""
        tables = [self.tables(task, **parameters) for task in tasks]
        counted = [each.integers.counted_depth > 0 and not each.integers.contested_depth for each in tables]
        if all(counted) and parameters["loss"] is None:
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
        rates = ThinningRates(0, 0) if task.stratified else thinning_rates(task)
        fields, numbers = VoteFields(n_tie_nodes), (*rates, *tie_nodes)
        table = None
        if task.n_classes == 2 and task.number is not Fraction:
            if task.stratified and task.held_out and not len(losses) and not task.n_extra:
                table = table_of_strata(task, k, smallest)
            elif not task.stratified and task.train_size > k:
                table = table_of_votes(task, k, losses, smallest)
        if table is not None:
            return Tables(fields._replace(table_depth=table.shape[1] - 1), numbers, table=table)
        if task.stratified:
            return Tables(fields, numbers, table=losses)
        plain = smallest and not len(losses)
        counted_depth = max_counted_depth(task, k) if smallest else 0
        contested = contested_table(task, k) if plain and k > MAX_COUNTED_NEIGHBORS else None
        weights = (*scaled_position_weights(task, k), *counted_weights(task, k, counted_depth))
        if contested is not None:
            fields = fields._replace(contested_depth=contested.shape[1] - 1)
        return Tables(
            fields._replace(counted_depth=counted_depth),
            numbers,
            np.concatenate(weights),
            losses if contested is None else contested,
        )
