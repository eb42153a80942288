# mypy: allow-untyped-defs
"""K nearest neighbors by plurality vote: list by list, or all kinds of strata at once in lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from knnccv._base.typing import Array, Kernel
from knnccv.kernel import JOINT, NOT_SERVED, Link, Score, Tables, Task, inner, jit, read_as, read_rest
from knnccv.kernel.simd import (
    LANES,
    add_product,
    everywhere,
    largest,
    load,
    product,
    raw_rows,
    store,
    subtract_product,
)
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
NEGLIGIBLE = 1e-20
"""Probabilities of t own votes below this are left out.

Together they are below 1e-20 K for each position, far less than what the bound grants it for rounding.
"""


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


def lane_tables(tasks: Sequence[Task]) -> Tables:
    """The tables of `votes_in_lanes` for up to 8 kinds of training sets.

    The training samples of every class, (n_classes, LANES); spare lanes repeat the last kind.
    """
    n_train = np.array([task.n_train for task in tasks], float)
    return Tables(table=n_train[np.minimum(np.arange(LANES), len(tasks) - 1)].T)


class _Others(NamedTuple):
    """The other classes so far, and the products of their votes.

    A class is known by its *slot*, its number in the order of appearance; the tested class is slot 0.

    Attributes
    ----------
    by_size : int64 ndarray of shape (n_slots,)
        The slots, the class with the smallest size first.
    sizes : int64 ndarray of shape (n_slots,)
        By slot: samples so far, and one more if the class wins ties. It can outvote fewer votes than that.
    wins : int64 ndarray of shape (n_slots,)
        By slot: 1 if the class wins ties, else 0.
    degrees : int64 ndarray of shape (n_slots,)
        The degrees of the products of the first classes of `by_size`, by their number.
    known : int64 ndarray of shape (1,)
        The largest number of classes whose product is known.
    """

    by_size: Array
    sizes: Array
    wins: Array
    degrees: Array
    known: Array


@jit
def votes_in_lanes(order, labels, target, constraints, scores, tails):
    """A joint kernel of "knn": as `untied_strata_votes`, with one lane for each kind of training sets.

    For t votes of the tested class, the smallest classes cannot outvote it. Their product serves all larger
    t as well, and the next positions, until one of them gets a sample. The other classes are cut before
    they outvote t.

    All vectors are in one array, in parts of K + 1: the votes of every slot; those of the class of the last
    sample, given that the sample is in the training set; the product of the m smallest classes, for every
    m; and the product that is cut.
    """
    if has_mixed_group(order, labels):
        for kind in range(len(scores)):
            scores[kind] = NOT_SERVED
        return
    k = constraints.n_nearest
    classes, items, counts = labels.classes, order.items, constraints.counts
    own_class = classes[target]
    slot = np.full(constraints.n_classes, -1)
    slot[own_class] = 0
    n_slots = 1
    for i in range(len(items)):
        c = classes[items[i]]
        if slot[c] < 0:
            slot[c] = n_slots
            n_slots += 1
    by_size, sizes, wins, degrees, passed = np.zeros((5, n_slots), np.int64)
    others = _Others(by_size, sizes, wins, degrees, np.zeros(1, np.int64))
    n_others = 0
    width = k + 1
    last, products, cut = n_slots * width, (n_slots + 1) * width, (2 * n_slots + 1) * width
    rows = raw_rows(cut + width)
    zero, unit = everywhere(0.0), everywhere(1.0)
    for m in range(n_slots):
        store(rows, m * width, unit)
    store(rows, products, unit)
    score = zero
    for i in range(len(items)):
        c = classes[items[i]]
        m = slot[c]
        g = passed[m]
        left = counts[c] - g - (constraints.held_out if m == 0 else 0)
        share, chosen = everywhere(1.0 / left), load(constraints.table, c)
        # This sample is in the training set, with b - 1 of its class before it.
        store(rows, last, zero)
        for b in range(1, min(g + 1, k) + 1):
            chance = product(subtract_product(chosen, everywhere(b - 1.0), unit), share)
            store(rows, last + b, product(load(rows, m * width + b - 1), chance))
        place = 0
        if m > 0:
            if g == 0:
                wins[m] = sizes[m] = int(c < own_class)
                n_others += 1
            place = _move_up(others, n_others, m, g == 0)
        passed[m] += 1
        if i + 1 >= k and passed[0] > 0:
            score = _add_wins(score, rows, others, n_others, min(passed[0], k), m, k)
        if m > 0:  # the product had the last sample in the training set
            others.known[0] = min(others.known[0], place)
        pass_sample(rows, m * width, g, k, left, chosen)
    store(rows, cut, unit)
    degree = 0
    for m in range(n_slots):
        degree = multiply_votes(rows, cut, cut, degree, m * width, passed[m], k - 1, 0)
    fewer = zero
    for votes in range(degree + 1):
        fewer = add_product(fewer, load(rows, cut + votes), unit)
    store(rows, cut, score)
    store(rows, cut + 1, fewer)
    for kind in range(len(scores)):
        scores[kind] = rows[cut, kind]
        tails[kind] = min(rows[cut + 1, kind], 1.0)


@inner
def _move_up(others, n_others, m, is_new):
    """Let the class of slot m have one more sample; its new place among the sizes."""
    by_size, sizes = others.by_size, others.sizes
    place = 0
    if is_new:
        for e in range(n_others - 1, 0, -1):
            by_size[e] = by_size[e - 1]
    else:
        while by_size[place] != m:
            place += 1
    others.known[0] = min(others.known[0], place)
    sizes[m] += 1
    while place + 1 < n_others and sizes[by_size[place + 1]] < sizes[m]:
        by_size[place] = by_size[place + 1]
        place += 1
    by_size[place] = m
    return place


@inner
def _add_wins(score, rows, others, n_others, n_own, last_slot, k):
    """Add the probabilities that the tested class wins with t votes, over all t."""
    by_size, sizes, wins, degrees, known = others
    width, half = k + 1, k // 2
    last, products, cut = len(sizes) * width, (len(sizes) + 1) * width, (2 * len(sizes) + 1) * width
    own = last if last_slot == 0 else 0
    n_uncut = 0  # classes that cannot outvote t
    n_wins = 0  # of the classes that can
    for e in range(n_others):
        n_wins += wins[by_size[e]]
    for t in range(1, n_own + 1):
        while n_uncut < n_others and (t > half or sizes[by_size[n_uncut]] <= t):
            m = by_size[n_uncut]
            if known[0] == n_uncut:
                of = products + n_uncut * width
                first = last if m == last_slot else m * width
                degrees[n_uncut + 1] = multiply_votes(
                    rows, of + width, of, degrees[n_uncut], first, sizes[m] - wins[m], k - 1, 0
                )
                known[0] += 1
            n_wins -= wins[m]
            n_uncut += 1
        top = k - t
        to_come = (n_others - n_uncut) * t - n_wins  # the most votes of the classes that are cut
        reached = min(degrees[n_uncut], top)
        chance = load(rows, own + t)
        if reached + to_come < top or largest(chance) < NEGLIGIBLE:
            continue
        of = products + n_uncut * width
        for e in range(n_uncut, n_others):
            m = by_size[e]
            most = t - wins[m]
            to_come -= most
            first = last if m == last_slot else m * width
            reached = multiply_votes(rows, cut, of, reached, first, most, top, max(0, top - to_come))
            of = cut
        score = add_product(score, chance, load(rows, of + top))
    return score


@inner
def multiply_votes(rows, to, of, degree, first, limit, top, lowest):
    """Multiply the votes at `of`, of this degree, by those of a class at `first`, up to `limit` of it.

    The product is stored at `to`, which may be `of`: votes `lowest` to `top` of it. Returns its degree.
    """
    reached = min(degree + limit, top)
    d = reached
    while d >= lowest:
        if d <= degree and d - 3 >= max(lowest, limit):  # four at a time, which do not wait for each other
            x0, x1, x2, x3 = everywhere(0.0), everywhere(0.0), everywhere(0.0), everywhere(0.0)
            for a in range(limit + 1):
                chance = load(rows, first + a)
                x0 = add_product(x0, chance, load(rows, of + d - a))
                x1 = add_product(x1, chance, load(rows, of + d - 1 - a))
                x2 = add_product(x2, chance, load(rows, of + d - 2 - a))
                x3 = add_product(x3, chance, load(rows, of + d - 3 - a))
            store(rows, to + d, x0)
            store(rows, to + d - 1, x1)
            store(rows, to + d - 2, x2)
            store(rows, to + d - 3, x3)
            d -= 4
        else:
            total = everywhere(0.0)
            for a in range(max(0, d - degree), min(limit, d) + 1):
                total = add_product(total, load(rows, first + a), load(rows, of + d - a))
            store(rows, to + d, total)
            d -= 1
    return reached


@inner
def pass_sample(laws, first, g, k, left, n_train):
    """Advance the votes of a class, g of whose samples have been passed and `left` are left."""
    unit = everywhere(1.0)
    share = everywhere(1.0 / left)
    miss = product(subtract_product(everywhere(float(left)), n_train, unit), share)
    hit = product(n_train, share)
    if g + 1 <= k:
        store(laws, first + g + 1, everywhere(0.0))
    top = min(g + 1, k)
    here = load(laws, first + top)
    for b in range(top, 0, -1):
        below = load(laws, first + b - 1)
        stays = product(here, add_product(miss, everywhere(float(b)), share))
        joins = subtract_product(hit, everywhere(b - 1.0), share)
        store(laws, first + b, add_product(stays, below, joins))
        here = below
    store(laws, first, product(here, miss))


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

    def removals(self, task: Task, removed: int, **parameters: Any) -> Link | None:
        """The kernels for counted votes, linear in the weights of the positions, and for two classes."""
        tables = self.tables(task, **parameters)
        fields = tables.integers
        if fields.counted_depth > 0 and not fields.contested_depth and parameters["loss"] is None:
            return Link(counted_votes_without_each, tables)
        if fields.table_depth == NO_TABLE:
            return None
        if not task.stratified:
            return Link(two_class_votes_without_each, tables)
        return Link(two_class_strata_without_each, replace(tables, numbers=RemovalNumbers(removed)))

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
