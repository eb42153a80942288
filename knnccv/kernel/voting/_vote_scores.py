# mypy: allow-untyped-defs
"""The score of a vote of the K nearest training samples, from the distributions of the votes.

The distributions of the votes for the classes are polynomials, one row of coefficients for every class:
at b the weight of b votes. The rows may carry a *mark*, a second exponent: ``rows[c, h, b]`` is the weight
of b votes of class c and mark h. In fixed-size designs the mark counts the votes that come from a tied
group. A result is the coefficient of K votes in a product of rows, mark h weighted by ``marks[h]``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from ..._base.typing import Array
from .. import inner, jit
from ..sampling import tie_times

PLURALITY, ANY_RIGHT, VOTE_SHARE, BRIER = range(4)
UNKNOWN = -1
"""In place of the class of the K-th vote."""


class VotingRule(NamedTuple):
    """The rule by which votes are scored.

    ``kind``
        PLURALITY: the most frequent class wins. ANY_RIGHT: one correct vote is enough. VOTE_SHARE: the
        share of correct votes, or another function of their number. BRIER: the Brier score of the shares.
    ``n_tie_nodes``, ``tie_nodes``
        For PLURALITY: `tie_quadrature`, which breaks a tied vote at random; with 0 nodes the smallest
        label wins.
    ``losses``
        For PLURALITY: empty, or the cost of predicting the column's class for one of the row's. For
        VOTE_SHARE: empty, or one row, the score of every number of correct votes.
    """

    kind: int
    n_tie_nodes: int
    tie_nodes: Array
    losses: Array


class VoteDistributions(NamedTuple):
    """The distributions of the votes for all classes, and the scratch memory to multiply them.

    ``rows``
        (n_classes + 2, marks, K + 1). If the class of the K-th vote is known, its row is the last one.
    ``max_marks``, ``max_votes``
        int64 (n_classes + 2,): the highest mark and the number of votes beyond which a row holds zeros.
    ``seen_classes``
        int64 (any,): the classes that may have votes; the tested sample's class is one of them.
    ``marks``
        (marks,): the weight of every mark.
    ``product``
        (2 * marks, K + 1): scratch.
    """

    rows: Array
    max_marks: Array
    max_votes: Array
    seen_classes: Array
    marks: Array
    product: Array


class Span(NamedTuple):
    """The highest mark and the number of votes of a product, before and after the next factor."""

    mark: int
    reached: int
    high: int
    degree: int


@jit
def score_votes(distributions, n_seen_classes, last_class, own_class, k, rule):
    """The score of K votes, weighted as the rows and marks are.

    `last_class` is the class of the K-th vote, or `UNKNOWN`. The first `n_seen_classes` of
    ``distributions.seen_classes`` take part.
    """
    if rule.kind != PLURALITY:
        return _moments(distributions, n_seen_classes, last_class, own_class, k, rule)
    if len(rule.losses) == 0:
        return win_probability(distributions, n_seen_classes, last_class, own_class, k, rule)
    score = distributions.rows[own_class, 0, 0] * 0
    for s in range(n_seen_classes):
        predicted = distributions.seen_classes[s]
        win = win_probability(distributions, n_seen_classes, last_class, predicted, k, rule)
        score += win * rule.losses[own_class, predicted]
    return score


@inner
def win_probability(distributions, n_seen_classes, last_class, winner, k, rule):
    """P(`winner` wins a vote of K), weighted as the rows and marks are.

    For every number t of votes for the winner it takes a coefficient of a product over the other classes,
    each cut before it beats t. A tied vote goes to the smallest label. With `n_tie_nodes` > 0 it goes
    to each of the m + 1 tied classes with equal probability: a class with t votes gets a factor x, and the
    integral of x^m over [0, 1] is taken, exactly, as a weighted sum over nodes. With t > K/2 no other
    class can reach t, so one product serves all those t. O(K^2) per class, O(K^3) if many votes are tight.
    """
    rows, max_marks, max_votes, seen_classes, marks, product = distributions
    last_row = len(rows) - 1
    winner_row = last_row if winner == last_class else winner
    half = k // 2
    share_tied_votes = rule.n_tie_nodes > 0
    max_mark = len(marks) - 1
    zero = rows[winner_row, 0, 0] * 0
    total = zero
    # One vote alone would lose the tie to the last class.
    first = 2 if 0 <= last_class < winner and not share_tied_votes else 1
    while first <= half and k - first > first * (n_seen_classes - 1):  # the others could not share the rest
        first += 1
    after = half + 1 if max_votes[winner_row] > half else min(half, max_votes[winner_row])
    for t in range(first, after + 1):
        tight = t <= half
        if tight and max_marks[winner_row] == 0 and rows[winner_row, 0, t] == 0:
            continue
        top = k - t
        for node in range(rule.n_tie_nodes if share_tied_votes and tight else 1):
            factor = zero + 1
            weight = zero + 1
            if share_tied_votes and tight:
                at = 2 * (rule.n_tie_nodes * (t - 1) + node)
                factor = rule.tie_nodes[at]
                weight = rule.tie_nodes[at + 1]
                if weight == 0:
                    break
            product[0, 0] = weight
            reached, mark = 0, 0
            for s in range(n_seen_classes):
                c = seen_classes[s]
                if c == winner:
                    continue
                row = last_row if c == last_class else c
                limit = min(max_votes[row], top)
                tie = False
                if tight:
                    if share_tied_votes:
                        tie = limit >= t
                        limit = min(limit, t)
                    else:
                        limit = min(limit, t if winner < c else t - 1)
                # Inline: a call would take longer than the work.
                degree = min(reached + limit, top)
                high = min(mark + max_marks[row], max_mark)
                if high == 0 and not tie:
                    no_vote, one_vote = rows[row, 0, 0], rows[row, 0, 1]
                    for d in range(reached + 1, degree + 1):
                        product[0, d] = zero
                    for d in range(degree, 0, -1):
                        if limit == 1:
                            value = product[0, d] * no_vote + product[0, d - 1] * one_vote
                        else:
                            value = product[0, d] * no_vote
                            for b in range(1, min(d, limit) + 1):
                                value += product[0, d - b] * rows[row, 0, b]
                        product[0, d] = value
                    product[0, 0] *= no_vote
                else:
                    last_factor = factor if tie else zero + 1
                    span = Span(mark, reached, high, degree)
                    _multiply(distributions, row, span, limit, last_factor, 0)
                    mark = high
                reached = degree
            for votes in range(max(t, k - reached), (t if tight else min(k, max_votes[winner_row])) + 1):
                if max_mark == 0:
                    total += rows[winner_row, 0, votes] * product[0, k - votes]
                else:
                    total += _coefficient(
                        rows, winner_row, max_marks[winner_row], votes, product, mark, k - votes, marks
                    )
    return total * marks[0] if max_mark == 0 else total


@inner
def _multiply(distributions, row, span, limit, last_factor, squares):
    """Multiply ``product`` by a row cut at `limit` votes, whose last coefficients get a factor.

    With ``squares > 0`` the rows of ``product`` from there on hold the sum over the classes so far of their
    votes squared.
    """
    rows, product, max_mark = distributions.rows, distributions.product, distributions.max_marks[row]
    zero = last_factor * 0
    for h in range(span.high + 1):
        for d in range(span.reached + 1 if h <= span.mark else 0, span.degree + 1):
            product[h, d] = zero
            if squares > 0:
                product[squares + h, d] = zero
    for h in range(span.high, -1, -1):
        for d in range(span.degree, -1, -1):
            value, squared = zero, zero
            for g in range(min(h, max_mark) + 1):
                for b in range(min(d, limit) + 1):
                    term = product[h - g, d - b] * rows[row, g, b]
                    value += term * last_factor if b == limit else term
                    if squares > 0:
                        more = product[squares + h - g, d - b] + product[h - g, d - b] * (b * b)
                        squared += more * rows[row, g, b]
            product[h, d] = value
            if squares > 0:
                product[squares + h, d] = squared


@inner
def _coefficient(rows, row, max_mark, votes, product, mark, degree, marks):
    """The weight of `votes` votes of the row's class and `degree` votes of the others.

    It takes arrays: in this innermost call a NamedTuple of them was measurably slower.
    """
    if mark == 0 and max_mark == 0:
        return marks[0] * rows[row, 0, votes] * product[0, degree]
    total = marks[0] * 0
    for g in range(min(max_mark, len(marks) - 1) + 1):
        for h in range(min(mark, len(marks) - 1 - g) + 1):
            total += marks[g + h] * rows[row, g, votes] * product[h, degree]
    return total


@inner
def _moments(distributions, n_seen_classes, last_class, own_class, k, rule):
    """P(some vote is correct), the score of the number of correct votes, or the Brier score of the shares.

    For the Brier score a second polynomial carries the sum over the other classes of their votes squared.
    """
    rows, max_marks, max_votes, seen_classes, marks, product = distributions
    last_row = len(rows) - 1
    own_row = last_row if own_class == last_class else own_class
    max_mark = len(marks) - 1
    zero, kind = rows[own_row, 0, 0] * 0, rule.kind
    squares = len(marks) if kind == BRIER else 0  # first row of the sum of squares in `product`
    product[squares, 0] = zero
    product[0, 0] = zero + 1
    reached, mark = 0, 0
    for s in range(n_seen_classes):
        c = seen_classes[s]
        if c == own_class:
            continue
        row = last_row if c == last_class else c
        limit = min(max_votes[row], k)
        degree, high = min(reached + limit, k), min(mark + max_marks[row], max_mark)
        _multiply(distributions, row, Span(mark, reached, high, degree), limit, zero + 1, squares)
        reached, mark = degree, high
    total = zero
    for votes in range(max(0, k - reached), min(k, max_votes[own_row]) + 1):
        right = _coefficient(rows, own_row, max_marks[own_row], votes, product, mark, k - votes, marks)
        if kind == ANY_RIGHT:
            if votes > 0:
                total += right
        elif kind == VOTE_SHARE:
            total += right * rule.losses[0, votes] if len(rule.losses) else right * votes / k
        else:
            wrong = _coefficient(
                rows, own_row, max_marks[own_row], votes, product[squares:], mark, k - votes, marks
            )
            total += (right * ((k - votes) * (k - votes)) + wrong) / (k * k)
    return total


def tie_quadrature(k: int, smallest: bool, number: type) -> tuple[int, list[Any]]:
    """The quadrature that breaks tied votes at random, for t = 1 .. K // 2 votes each.

    With t votes each, at most K // t - 1 other classes tie with the winner: the degree to be integrated.

    Parameters
    ----------
    k : int
        The number of votes.
    smallest : bool
        True if the smallest label wins a tied vote: no quadrature is needed.
    number : type
        float or Fraction.

    Returns
    -------
    n_tie_nodes : int
        The largest number of nodes of any t; 0 if no quadrature is needed.
    tie_nodes : list
        For every t, `n_tie_nodes` pairs of a node and its weight, filled up with zeros.
    """
    if smallest or k == 1:
        return 0, []
    unit: Any = Fraction(1) if number is Fraction else 1.0
    rules = [tie_times(k // t, unit) for t in range(1, k // 2 + 1)]
    n_tie_nodes = max(len(nodes) for nodes, _ in rules)
    flat: list[Any] = []
    for nodes, weights in rules:
        pairs = [value for pair in zip(nodes, weights, strict=True) for value in pair]
        flat += pairs + [number(0)] * (2 * n_tie_nodes - len(pairs))
    return n_tie_nodes, flat
