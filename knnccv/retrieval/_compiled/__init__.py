# mypy: allow-untyped-defs
"""The compiled code of `knnccv.retrieval`, and the arrays that it reads and fills, below.

- `laws` has laws and generating functions of the numbers of drawn items that are nearer, and rules of
  integrals with a certified error.
- `walk` scores one query after the other: what a query meets, what a right item adds, the scores that
  follow from the sums.
- `rankings` scores single rankings: whole galleries without ties, and random galleries that it draws.
"""

from __future__ import annotations

from typing import Any, NamedTuple

EVERY, FIRST, LAST = 0, 1, 2
"""Which right items have a term, in ``Plan.of``."""
RANKS, PRECISIONS, FIRSTS, EACH = 0, 1, 2, 3
"""Rows of ``Sums.laws``: of the rank of every right item; times the right items up to it; of the rank of
the first right item; of that of each, as if it were the only one."""


class Pool(NamedTuple):
    """Gallery items, their strata, and the strata's identities; arrays that all queries share."""

    stratum: Any  # of every item
    identity: Any  # of every stratum
    item_starts: Any
    items: Any
    strata_starts: Any
    strata: Any
    sizes: Any
    always: Any
    shots: Any  # 0: every item is drawn
    owner: Any  # identity of every item


class Plan(NamedTuple):
    """What is computed: scores are sums over a query's right items, one column for each form.

    The columns are those of forms that are integrals, then linear in a law of ranks, then tables; then
    those of the curves of every right item and of the first one, a column for each rank.
    """

    fair: Any  # whether ties are
    by_identity: Any  # whether the ranks of first right items count identities
    integrals: Any  # whether there are integrals
    identity_integrals: Any  # over the number of identities
    wanted: Any  # which rows of `Sums.laws`
    length: Any  # of the law of the number of wrong images, unless it follows R
    ahead: Any  # of the law of the number of identities; 0: none
    ranks: Any  # of the rows RANKS and PRECISIONS, unless it follows R
    follows: Any  # whether it does
    nodes: Any  # of the quadrature, one for each persistence, and 0
    ratios: Any  # H(g + 1) / H(g); row 0: of an item that is always drawn
    rows: Any  # of strata with this many items: the row of g = 0
    of: Any  # of each integral
    terms: Any  # of each: c, constant, slope, at_top, 1 if R divides, persistence or 0
    mass: Any  # of each: weights of the nodes
    law: Any  # of each linear form: a row of `Sums.laws`
    depths: Any  # number of its weights
    within: Any  # whether only the first R of them count
    weights: Any
    divisors: Any  # for every R
    places: Any  # of each table: start in `tables`, rows, columns
    tables: Any
    every: Any  # lengths of the curves
    first: Any


class Found(NamedTuple):
    """Results, one row for each query."""

    values: Any  # the columns of `Plan`
    relevant: Any  # number of own items that are drawn
    skipped: Any
    rounding: Any
    ties: Any  # number of items that tie with an own one
    means: Any  # mean distances of own and of wrong items
    slack: Any  # values may be wrong by so much; -1 if an item is so close to an own one


class Sums(NamedTuple):
    """Sums over a query's right items, each weighted by the probability that it is drawn.

    With A right and W wrong drawn items before it, of J other identities.
    """

    images: Any  # P(A = a) E[t^W], for every a and node
    identities: Any  # P(A = 0) E[t^J]
    laws: Any
    n_ranks: Any  # length of its rows RANKS and PRECISIONS
    pairs: Any  # P(A = a, W = b), as far as tables go


class Strata(NamedTuple):
    """The strata of one query: items that the mask leaves, and how many are drawn, nearer, and tied."""

    sizes: Any
    draws: Any
    counts: Any
    tied: Any


class Met(NamedTuple):
    """A query's right items, and the wrong items before and among them."""

    own: Any  # by distance; none: nothing is scored
    starts: Any  # of groups of tied own items, and the end
    events: Any  # items before group j, and those tied with it: ends of both in `items`
    items: Any
    tied: Any  # whether any tie matters
    family: Any  # strata of the query's identity
    strata: Any


class Room(NamedTuple):
    """Scratch for laws."""

    law: Any
    part: Any
    chosen: Any
    other: Any
    none: Any  # probabilities of 0 of indicators


class Trials(NamedTuple):
    """Results of random galleries; the first axis are trials, the second queries."""

    firsts: Any  # number of items or identities before the first right one; -1 without a right item
    values: Any  # as `Found.values`, without the curve of first right items


class Galleries(NamedTuple):
    """How the galleries of trials are drawn."""

    seeds: Any  # uint64 (n_queries, n_trials)
    shared: Any  # bool (n_trials, n_gallery); without rows, every query draws its own
    n_chosen: Any  # random identities besides the query's own; -1: all
    before: Any  # whether the mask is applied before identities are chosen
