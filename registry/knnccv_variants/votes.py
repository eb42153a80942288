"""K nearest neighbors by plurality vote."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from knnccv._typing import Array, Kernel
from knnccv._validation import check_choice, check_integer
from knnccv.kernel import NOT_SERVED, Constraints, Tables, Task, Variant, jit
from knnccv.sampling import fill_hypergeometric, fixed_tail, step_by_thinning
from knnccv.voting import (
    PLURALITY,
    has_mixed_group,
    plurality_probability,
    score_fixed_size,
    score_stratified,
    tie_quadrature,
)

from ._loss import check_loss, largest_loss, loss_table
from ._position_weights import (
    counted_weights,
    deepest_count,
    position_weights,
    scaled_position_weights,
    thinning_rates,
)

DEEPEST_TABLE = 512
DEEPEST_STRATA = 256
NEGLIGIBLE = 1e-18  # far below the rounding of a score


@jit
def knn_fixed(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """ICML eq. 9-10 for any number of classes; O(depth * cost of a vote)."""
    if constraints.integers[4] > 0:
        return _two_classes(order, labels, target, constraints)
    if constraints.integers[5] >= len(order.items) and not has_mixed_group(order, labels):
        return _by_counting(order, labels, target, constraints)
    return score_fixed_size(order, labels, target, constraints, constraints.table)


@jit
def _counted(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """`knn_fixed` where it counts."""
    if constraints.integers[5] >= len(order.items) and not has_mixed_group(order, labels):
        return _by_counting(order, labels, target, constraints)
    return NOT_SERVED


@jit
def _by_counting(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """By the number of K-subsets that vote right, an integer; O(depth * K^3).

    Told where the (K+1)-th nearest training sample is, the K nearest are a uniform K-subset of the samples
    before it, whatever the size of the training set and the class of that sample. Beyond the list's end
    nothing is told: there exactly K are in the list.

    ``rows[c, b]`` is the number of b-subsets of class c. A row below them holds, for t votes of the tested
    item's class without a majority, how many subsets of the others do not outvote it. It is a product over
    the other classes; when a sample joins one, that class is divided out and multiplied in again.
    Integers are exact, so this may subtract.
    """
    k = constraints.integers[0]
    n_classes = constraints.integers[3]
    half = k // 2
    deepest = constraints.integers[5]
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
    """Let a sample join class c: the product without the class, times what the class gains."""
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
    """As `_by_counting`, where all votes are in a table; O(depth), and O(b^2) for b tied samples.

    ``table[own * height + i, g]`` is the weight of position i times the score, if g of the i nearest
    samples are of the tested item's class.
    """
    deepest = constraints.integers[4]
    table = constraints.table
    own = labels.classes[target]
    first = own * (deepest + 1)
    depth = min(len(order.items), deepest)
    # At the end nothing is told of the next training sample.
    left = constraints.counts[0] - constraints.held_out
    beyond = (left - depth) / (constraints.n_train[0] - constraints.integers[0])
    same = 0
    score = 0.0
    start = 0
    while start < depth:
        end = order.group_end[start]
        mine = 0
        for i in range(start, end):
            mine += labels.classes[order.items[i]] == own
        others = end - start - mine
        if mine == 0 or others == 0:
            for i in range(start + 1, min(end, depth) + 1):
                same += mine > 0
                score += table[first + i, same] * (beyond if i == depth else 1.0)
        else:
            # n of the own samples and m others have come: C(mine, n) C(others, m) / C(size, n + m).
            edge = 1.0
            for n in range(min(mine, depth - start) + 1):
                chance = edge
                for m in range(min(others, depth - start - n) + 1):
                    i = start + n + m
                    if i > start:
                        score += chance * table[first + i, same + n] * (beyond if i == depth else 1.0)
                    if m < others:
                        chance *= (others - m) * (n + m + 1) / ((m + 1) * (end - i))
                edge *= (mine - n) / (end - start - n)
            same += mine
        start = end
    return score


@jit
def knn_stratified(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """ICML §2.5 for any number of classes; O(depth * cost of a vote)."""
    if constraints.integers[4] >= len(order.items):
        return _two_strata(order, labels, target, constraints)
    losses = constraints.table if constraints.integers[4] < 0 else constraints.table[:0]
    plain = len(losses) == 0 and constraints.integers[2] == 0 and constraints.n_extra == 0
    if plain and not has_mixed_group(order, labels):
        return _plurality_of_strata(order, labels, target, constraints)
    return score_stratified(order, labels, target, constraints, losses)


@jit
def _two_strata_at_most(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """`knn_stratified` where the votes are in a table."""
    if constraints.integers[4] >= len(order.items):
        return _two_strata(order, labels, target, constraints)
    return NOT_SERVED


@jit
def _plurality(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """`knn_stratified` in the usual case."""
    if has_mixed_group(order, labels):
        return NOT_SERVED
    return _plurality_of_strata(order, labels, target, constraints)


@jit
def _plurality_of_strata(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """`score_stratified` in the usual case: no mixed tied groups, no losses, ties to the smallest label."""
    k = constraints.integers[0]
    own = labels.classes[target]
    n_classes = len(constraints.counts)
    unit = constraints.unit
    rows = np.full((n_classes + 2, k + 1), unit * 0)
    joint = n_classes + 1
    product = np.full(k + 1, unit * 0)
    most = np.zeros(n_classes + 2, constraints.counts.dtype)  # of every class that were passed
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
        # This sample is in T, and b - 1 of its class before it.
        share = unit / left
        most[joint] = min(most[c] + 1, n_train, k)
        possible = False
        for b in range(1, most[joint] + 1):
            rows[joint, b] = rows[c, b - 1] * ((n_train - b + 1) * share)
            possible = possible or rows[joint, b] > 0
        if possible and (most[own] > 0 or c == own):
            score += plurality_probability(rows, most, seen, n_seen, c, own, k, True, product)
        most[c] += 1
        for b in range(min(most[c], k), 0, -1):
            rows[c, b] = rows[c, b] * ((left - n_train + b) * share) + rows[c, b - 1] * (
                (n_train - b + 1) * share
            )
        rows[c, 0] = rows[c, 0] * ((left - n_train) * share)
    return score


@jit
def _two_strata(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """As `knn_stratified`, where all votes are in a table; O(depth), and O(b^2) for b tied samples.

    ``table[(2 * own + c) * height + n, m]`` is the probability that the next sample is the K-th nearest
    training sample and the vote is right, if that sample is of class c and n and m samples of the two
    classes are nearer.
    """
    height = constraints.integers[4] + 1
    first_0 = 2 * labels.classes[target] * height
    first_1 = first_0 + height
    table = constraints.table
    passed_0 = 0
    passed_1 = 0
    score = 0.0
    start = 0
    while start < len(order.items):
        end = order.group_end[start]
        members = 0
        if end > start + 1:
            for i in range(start, end):
                members += labels.classes[order.items[i]]
        if 0 < members < end - start:
            n_zeros = end - start - members
            edge = 1.0
            for n in range(n_zeros + 1):
                chance = edge
                for m in range(members + 1):
                    left = end - start - n - m
                    if left > 0:
                        row = passed_0 + n
                        next_0 = table[first_0 + row, passed_1 + m] * (n_zeros - n)
                        next_1 = table[first_1 + row, passed_1 + m] * (members - m)
                        score += chance * (next_0 + next_1) / left
                    if m < members:
                        chance *= (members - m) * (n + m + 1) / ((m + 1) * left)
                edge *= (n_zeros - n) / (end - start - n)
            passed_0 += n_zeros
            passed_1 += members
        else:
            for i in range(start, end):
                c = labels.classes[order.items[i]]
                first = first_1 if c == 1 else first_0
                score += table[first + passed_0, passed_1]
                passed_1 += c
                passed_0 += 1 - c
        start = end
    return score


@jit
def _fill_strata(table, k, n_train, counts, tie):  # type: ignore[no-untyped-def]
    """The table of `_two_strata`; class 0 has the share `tie` in a tied vote."""
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
                        joins = (n_train[last] - votes + 1) / (left[last] - passed)
                        weight = laws[last, passed, votes - 1] * joins * laws[other, others, k - votes]
                        share = 1.0 if 2 * votes > k else 0.0  # of class `last` in the win
                        if 2 * votes == k:
                            share = tie if last == 0 else 1 - tie
                        score += weight * (share if last == own else 1 - share)
                    n, m = (passed, others) if last == 0 else (others, passed)
                    table[(2 * own + last) * height + n, m] = score


@jit
def _fill_votes(table, k, weights, losses, tie):  # type: ignore[no-untyped-def]
    """The table of `_two_classes`; ``losses[own, predicted]``, class 0 having that share in a tied vote."""
    height = len(table) // 2
    law = np.zeros(k + 1)
    for i in range(k, height):
        for own in range(2):
            for same in range(i + 1):
                law[:] = 0.0
                # How many of the k votes fall on the `same` samples.
                fill_hypergeometric(law, same, k, i, 1.0)
                right = 0.0
                wrong = 0.0
                for votes in range(k + 1):
                    share = 1.0 if 2 * votes > k else 0.0
                    if 2 * votes == k:
                        share = tie if own == 0 else 1 - tie
                    right += law[votes] * share
                    wrong += law[votes] * (1 - share)
                score = right * losses[own, own] + wrong * losses[own, 1 - own]
                table[own * height + i, same] = weights[i] * score


class KNN(Variant):
    """The K nearest training samples vote (ICML classifiers 4 and 5, for any number of classes).

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    loss : None or array of shape (n_classes, n_classes)
        As for ``"nn"``.
    vote_ties : {"smallest", "random"}
        Which of the most frequent classes wins: the smallest label, as in scikit-learn, or each alike.
    """

    name = "knn"
    parameters = {"n_neighbors": 5, "loss": None, "vote_ties": "smallest"}  # noqa: RUF012
    tie_rules = ("index", "random")
    heeds_extra = True
    fixed = knn_fixed
    stratified = knn_stratified

    def profile(self, **parameters: Any) -> str:
        """`Variant.profile`."""
        return "votes" if parameters["loss"] is None and parameters["vote_ties"] == "smallest" else ""

    def n_nearest(self, **parameters: Any) -> int:
        """K."""
        return int(parameters["n_neighbors"])

    def check(self, task: Task, **parameters: Any) -> None:
        """K must fit into every training set, the loss to the classes."""
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
        """For one neighbor, or two classes."""
        return n_classes <= 2 or self.n_nearest(**parameters) == 1

    def light_kernel(self, task: Task, constraints: Constraints) -> Kernel | None:
        """The kernel for the way that the tables open."""
        width, deepest = constraints.integers[2], constraints.integers[4]
        if task.stratified:
            if deepest >= 0:
                return _two_strata_at_most
            plain = width == 0 and constraints.table.size == 0 and not task.n_extra
            return _plurality if plain else None
        if deepest > 0:
            return _two_classes
        return _counted if constraints.integers[5] > 0 else None

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """K; the laws of the neighbors' positions; the loss, or all votes between two classes."""
        k = self.n_nearest(**parameters)
        losses = loss_table(parameters["loss"], task.number)
        smallest = parameters["vote_ties"] == "smallest"
        width, nodes = tie_quadrature(k, smallest, task.number)
        common = (k, PLURALITY, width, task.n_classes)
        binary = task.n_classes == 2 and task.number is not Fraction
        tie = 1.0 if smallest else 0.5
        if task.stratified:
            votes = None
            if binary and task.held_out and not len(losses) and not task.n_extra:
                votes = _votes_of_two_strata(task, k, tie)
            numbers = (0, 0, *nodes)
            if votes is not None:  # for lists that are not deeper than it
                return Tables(integers=(*common, len(votes) // 4 - 1), numbers=numbers, table=votes)
            return Tables(integers=(*common, -1), numbers=numbers, table=losses)
        if binary and task.train_size > k:
            votes = _votes_of_two(task, k, losses, tie)
            if votes is not None:
                return Tables(integers=(*common, len(votes) // 2 - 1, 0), table=votes)
        counted = deepest_count(task, k) if smallest and not len(losses) else 0
        return Tables(
            integers=(*common, 0, counted),
            numbers=(*thinning_rates(task), *nodes),
            weights=np.concatenate([scaled_position_weights(task, k), counted_weights(task, k, counted)]),
            table=losses,
        )


def _votes_of_two(task: Task, k: int, losses: Array, tie: float) -> Array | None:
    """The table of `_two_classes`, if one of moderate size reaches deep enough."""
    tail = fixed_tail(task.n_available, task.train_size, k)
    deepest = int(np.argmax(tail <= NEGLIGIBLE))
    deepest = min(max(deepest, k), task.n_available - 1)
    if deepest > DEEPEST_TABLE:
        return None
    weights = np.concatenate([[0.0], position_weights(task, k, deepest)[0]])
    votes = np.zeros((2 * (deepest + 1), deepest + 1))
    _fill_votes(votes, k, weights, losses if len(losses) else np.eye(2), tie)
    return votes


def _votes_of_two_strata(task: Task, k: int, tie: float) -> Array | None:
    """The table of `_two_strata`, somewhat deeper than lists usually are, if that is of moderate size."""
    tail = fixed_tail(task.n_available, task.train_size, k)
    deepest = min(int(np.argmax(tail <= NEGLIGIBLE)) + 8, task.n_available)
    if deepest > DEEPEST_STRATA:
        return None
    votes = np.zeros((4 * (deepest + 1), deepest + 1))
    _fill_strata(votes, k, np.array(task.n_train), np.array(task.counts), tie)
    return votes
