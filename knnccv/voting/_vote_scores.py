"""Votes of the K nearest training samples: their laws, and what a rule makes of them.

The laws of the votes for the classes are polynomials, one row of coefficients for every class: at b the
weight of b votes. The rows may carry a *mark*, a second exponent: ``rows[c, h, b]`` is the weight of b
votes of class c and mark h. In fixed-size designs the mark counts the votes that come from a tied group.
A result is the coefficient of K votes in a product of rows, mark h weighted by ``marks[h]``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..kernel import jit
from ..sampling import tie_times

# What a rule makes of the votes.
PLURALITY, ANY_RIGHT, VOTE_SHARE, BRIER = range(4)
# The first entries of `Constraints.integers` for the walks of `_walks`: K, one of these, and how many nodes
# a tied vote takes (0: it goes to the smallest label); the nodes are in `Constraints.numbers` from here on.
N_INTEGERS = 3
FIRST_NODE = 2


@jit
def score_votes(rows, tops, most, seen, n_seen, last, own, k, rule, width, nodes, losses, marks, product):  # type: ignore[no-untyped-def]
    """The score of the votes, weighted as the rows and marks are.

    It is called for every position, so it is given arrays and numbers: an array taken out of a tuple costs
    a counted reference, for which threads would contend.

    Parameters
    ----------
    rows : (n_classes + 2, marks, K + 1)
        If `last` is a class, the K-th vote is its own, and its row is the last one.
    tops, most : int64 (n_classes + 2,)
        The highest mark, and the number of votes, beyond which a row holds zeros.
    seen : int64 (any,)
        The classes that may have votes, in ``seen[:n_seen]``; the own one among them.
    rule : int
        MATCH, SOME, SHARE or BRIER.
    losses : (n_classes, n_classes)
        For MATCH: empty, or what it costs to predict the column's class for one of the row's.
    product : (2 * marks, K + 1)
        Scratch.
    """
    if rule != PLURALITY:
        return _moments(rows, tops, most, seen, n_seen, last, own, k, rule, marks, product)
    if len(losses) == 0:
        return win_probability(
            rows, tops, most, seen, n_seen, last, own, k, True, width, nodes, marks, product
        )
    score = rows[own, 0, 0] * 0
    for s in range(n_seen):
        win = win_probability(
            rows, tops, most, seen, n_seen, last, seen[s], k, True, width, nodes, marks, product
        )
        score += win * losses[own, seen[s]]
    return score


@jit
def win_probability(rows, tops, most, seen, n_seen, last, winner, k, often, width, nodes, marks, product):  # type: ignore[no-untyped-def]
    """P(`winner` wins a vote of K), weighted as the rows and marks are.

    For every number t of votes for the winner it takes a coefficient of a product over the other classes,
    each cut where it would beat t. A tied vote goes to the smallest label; or, with `width` > 0, to each of
    the m + 1 tied classes alike: a class with t votes is given a factor x, and the integral of x^m over
    [0, 1] is taken, exactly, as a weighted sum over nodes. With t > K/2 nobody can reach t, so one product
    serves all those t. O(K^2) for a class seen, O(K^3) if many votes are tight.
    """
    spare = len(rows) - 1
    own = spare if winner == last else winner
    half = k // 2
    average_ties = width > 0
    highest = len(marks) - 1
    zero = rows[own, 0, 0] * 0
    total = zero
    first = (
        2 if 0 <= last < winner and not average_ties else 1
    )  # one vote alone would lose the tie to the last one
    while first <= half and k - first > first * (n_seen - 1):  # the others could not share the rest
        first += 1
    after = half + 1 if often and most[own] > half else min(half, most[own])
    for t in range(first, after + 1):
        tight = t <= half
        if tight and tops[own] == 0 and rows[own, 0, t] == 0:
            continue
        top = k - t
        for node in range(width if average_ties and tight else 1):
            factor = zero + 1
            weight = zero + 1
            if average_ties and tight:
                at = FIRST_NODE + 2 * (width * (t - 1) + node)
                factor = nodes[at]
                weight = nodes[at + 1]
                if weight == 0:
                    break
            product[0, 0] = weight
            reached = 0
            mark = 0
            for s in range(n_seen):
                c = seen[s]
                if c == winner:
                    continue
                row = spare if c == last else c
                limit = min(most[row], top)
                tie = False
                if tight:
                    if average_ties:
                        tie = limit >= t
                        limit = min(limit, t)
                    else:
                        limit = min(limit, t if winner < c else t - 1)
                # Here, not in a function: a call would take longer than the work.
                degree = min(reached + limit, top)
                high = min(mark + tops[row], highest)
                if high == 0 and not tie:
                    none, one = rows[row, 0, 0], rows[row, 0, 1]
                    for d in range(reached + 1, degree + 1):
                        product[0, d] = zero
                    for d in range(degree, 0, -1):
                        if limit == 1:
                            value = product[0, d] * none + product[0, d - 1] * one
                        else:
                            value = product[0, d] * none
                            for b in range(1, min(d, limit) + 1):
                                value += product[0, d - b] * rows[row, 0, b]
                        product[0, d] = value
                    product[0, 0] *= none
                else:
                    last_factor = factor if tie else zero + 1
                    _multiply(
                        product, mark, reached, rows, row, high, degree, tops[row], limit, last_factor
                    )
                    mark = high
                reached = degree
            if highest == 0:
                if not tight:
                    for votes in range(max(t, k - reached), min(k, most[own]) + 1):
                        total += rows[own, 0, votes] * product[0, k - votes]
                elif reached == top:
                    total += rows[own, 0, t] * product[0, top]
            elif not tight:
                for votes in range(max(t, k - reached), min(k, most[own]) + 1):
                    total += _coefficient(rows, own, tops[own], votes, product, mark, k - votes, marks)
            elif reached == top:
                total += _coefficient(rows, own, tops[own], t, product, mark, top, marks)
    return total * marks[0] if highest == 0 else total


@jit
def plurality_probability(rows, most, seen, n_seen, last, winner, k, often, product):  # type: ignore[no-untyped-def]
    """`win_probability` without marks, a tied vote going to the smallest label: several times faster."""
    spare = len(rows) - 1
    own = spare if winner == last else winner
    half = k // 2
    zero = rows[own, 0] * 0
    total = zero
    first = 2 if 0 <= last < winner else 1  # one vote alone would lose the tie against the last one
    while first <= half and k - first > first * (n_seen - 1):  # the others could not share the rest
        first += 1
    after = half + 1 if often and most[own] > half else min(half, most[own])
    for t in range(first, after + 1):
        if t <= half and rows[own, t] == 0:
            continue
        top = k - t
        product[0] = zero + 1
        reached = 0
        for s in range(n_seen):
            c = seen[s]
            if c != winner:
                row = spare if c == last else c
                limit = min(most[row], top)
                if t <= half:
                    limit = min(limit, t if winner < c else t - 1)
                # Here, not in a function: a call would take longer than the work.
                none, one = rows[row, 0], rows[row, 1]
                degree = min(reached + limit, top)
                for d in range(reached + 1, degree + 1):
                    product[d] = zero
                for d in range(degree, 0, -1):
                    if limit == 1:
                        value = product[d] * none + product[d - 1] * one
                    else:
                        value = product[d] * none
                        for b in range(1, min(d, limit) + 1):
                            value += product[d - b] * rows[row, b]
                    product[d] = value
                product[0] *= none
                reached = degree
        if t > half:
            for votes in range(max(t, k - reached), min(k, most[own]) + 1):
                total += rows[own, votes] * product[k - votes]
        elif reached == top:
            total += rows[own, t] * product[top]
    return total


@jit
def _multiply(product, mark, reached, rows, row, high, degree, top, limit, factor):  # type: ignore[no-untyped-def]
    """Multiply by a row cut at `limit` votes, whose last coefficients get a factor."""
    for h in range(high + 1):
        for d in range(reached + 1 if h <= mark else 0, degree + 1):
            product[h, d] = factor * 0
    for h in range(high, -1, -1):
        for d in range(degree, -1, -1):
            value = factor * 0
            for g in range(min(h, top) + 1):
                for b in range(min(d, limit) + 1):
                    term = product[h - g, d - b] * rows[row, g, b]
                    value += term * factor if b == limit else term
            product[h, d] = value


@jit
def _coefficient(rows, own, top, votes, product, mark, degree, marks):  # type: ignore[no-untyped-def]
    """Weight of so many own votes and so many others."""
    if mark == 0 and top == 0:
        return marks[0] * rows[own, 0, votes] * product[0, degree]
    total = marks[0] * 0
    for g in range(min(top, len(marks) - 1) + 1):
        for h in range(min(mark, len(marks) - 1 - g) + 1):
            total += marks[g + h] * rows[own, g, votes] * product[h, degree]
    return total


@jit
def _moments(rows, tops, most, seen, n_seen, last, own, k, rule, marks, product):  # type: ignore[no-untyped-def]
    """Whether some vote is right, the share of those, or the Brier score of the shares.

    For the Brier score a second polynomial carries the sum over the other classes of their votes squared.
    """
    spare = len(rows) - 1
    mine = spare if own == last else own
    highest = len(marks) - 1
    zero = rows[mine, 0, 0] * 0
    squares = len(marks)  # first row of the second polynomial in `product`
    product[0, 0] = zero + 1
    product[squares, 0] = zero
    reached = 0
    mark = 0
    for s in range(n_seen):
        c = seen[s]
        if c == own:
            continue
        row = spare if c == last else c
        limit = min(most[row], k)
        degree = min(reached + limit, k)
        high = min(mark + tops[row], highest)
        for h in range(high + 1):
            for d in range(reached + 1 if h <= mark else 0, degree + 1):
                product[h, d] = zero
                product[squares + h, d] = zero
        for h in range(high, -1, -1):
            for d in range(degree, -1, -1):
                value = zero
                squared = zero
                for g in range(min(h, tops[row]) + 1):
                    for b in range(min(d, limit) + 1):
                        factor = rows[row, g, b]
                        value += product[h - g, d - b] * factor
                        if rule == BRIER:
                            more = product[squares + h - g, d - b] + product[h - g, d - b] * (b * b)
                            squared += more * factor
                product[h, d] = value
                product[squares + h, d] = squared
        reached = degree
        mark = high
    total = zero
    for votes in range(max(0, k - reached), min(k, most[mine]) + 1):
        right = _coefficient(rows, mine, tops[mine], votes, product, mark, k - votes, marks)
        if rule == ANY_RIGHT:
            if votes > 0:
                total += right
        elif rule == VOTE_SHARE:
            total += right * votes / k
        else:
            wrong = _coefficient(rows, mine, tops[mine], votes, product[squares:], mark, k - votes, marks)
            total += (right * ((k - votes) * (k - votes)) + wrong) / (k * k)
    return total


def tie_quadrature(k: int, smallest: bool, number: type) -> tuple[int, list[Any]]:
    """How many nodes a tied vote takes at most, and the nodes with their weights, t = 1 .. K // 2.

    With t votes each, at most K // t - 1 others are tied with the winner: the degree to be integrated.
    """
    if smallest or k == 1:
        return 0, []
    unit: Any = Fraction(1) if number is Fraction else 1.0
    rules = [tie_times(k // t, unit) for t in range(1, k // 2 + 1)]
    width = max(len(nodes) for nodes, _ in rules)
    flat: list[Any] = []
    for nodes, weights in rules:
        pairs = [value for pair in zip(nodes, weights, strict=True) for value in pair]
        flat += pairs + [number(0)] * (2 * width - len(pairs))
    return width, flat
