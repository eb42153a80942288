"""The arrays that the compiled walk reads and fills."""

from __future__ import annotations

from typing import Any, NamedTuple

AP, TRAPEZOID, RECIPROCAL, INVERSE, R_PRECISION, MAP_R, BIASED = 0, 1, 2, 3, 4, 5, 6
"""Columns of ``Found.single``; rank-biased precision has one column for each persistence."""


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
    """What is computed: the nodes, the lengths of laws, and which families of scores."""

    fair: Any
    by_identity: Any  # reciprocal rank and CMC count identities
    integrals: Any
    identity_integrals: Any  # over the number of identities
    max_rank: Any  # length of the CMC; 0: none
    length: Any  # length of the law of the rank; 0: none
    ranks: Any  # number of ranks of which the law is kept
    map_r: Any
    nodes: Any  # of the quadrature, one for each persistence, and 0
    weights: Any
    ratios: Any  # H(g + 1) / H(g); row 0: of an item that is always drawn
    rows: Any  # of strata with this many items: the row of g = 0
    values: Any  # H(g), in the same rows
    trapezoid: Any  # whether average precision is the trapezoid


class Found(NamedTuple):
    """Results, one row for each query."""

    single: Any
    cmc: Any
    ranks: Any
    relevant: Any  # number of own items that are drawn
    skipped: Any
    rounding: Any
    ties: Any  # number of items that tie with an own one
    means: Any  # mean distances of own and of wrong items
    forms: Any  # one column for each Reciprocal, then for each Table
    shots: Any  # like the CMC, the mean over all right items


class Scratch(NamedTuple):
    """Arrays that the evaluation of an item may overwrite; each law has two."""

    length: Any  # of the law of the rank
    law: Any
    part: Any
    chosen: Any
    mine: Any
    mine_too: Any
    others: Any
    others_too: Any
    ahead: Any
    ahead_too: Any
    mass: Any  # weights times the generating function of W
    last: Any  # t^(R - 1)
    outer: Any
    inner: Any
    inverse: Any  # t^(1 - length)
    inverse_ahead: Any  # t^(1 - ranks of the CMC)
    kept: Any  # laws of own strata, and the numbers of nearer items for which they hold
    known: Any


class Nearer(NamedTuple):
    """The strata of one query, and what the items that are nearer than its next own item change."""

    family: Any  # strata of the query's identity
    sizes: Any  # of every stratum
    draws: Any
    counts: Any  # nearer items of every stratum
    tied: Any
    none: Any  # of every identity: probability that no drawn item is nearer
    means: Any  # expected numbers of nearer drawn items, and of identities ahead
    images: Any  # generating function of the number of nearer drawn items, at the nodes
    ahead: Any  # of the number of identities ahead
    strata: Any  # those of which a wrong item is nearer or tied
    identities: Any
    lengths: Any  # numbers of these strata and identities
    starts: Any  # rows of g = 0; 0: the whole stratum is drawn
    shares: Any  # probabilities that an item is drawn
    seen: Any  # whether a stratum is listed in `strata`
    seen_ahead: Any  # whether an identity is listed in `identities`
    rows: Any  # of the items of one step
    before: Any  # nearer items of their strata
    steps: Any  # these strata
    settled: Any  # `none` when the generating function of the identities ahead was last computed


class Forms(NamedTuple):
    """Scores that are given as forms, for `forms`; `AtRank` and `First` need no more than `Found`."""

    active: Any
    every: Any  # length of `Found.shots`
    length: Any  # of the law of the number of wrong images before an item
    of: Any  # of each Reciprocal: 0 for every, 1 for the first, 2 for the last right item
    terms: Any  # c, constant, slope, at_top, and 1 if R divides
    mass: Any  # weights of the quadrature times t^(c - 1)
    places: Any  # of each Table and row: start in `values`, rows, columns
    row_of: Any  # row in `places` of R
    values: Any


class TrialForms(NamedTuple):
    """What random galleries need besides, in the columns after those of the forms."""

    active: Any
    at: Any  # weights of each AtRank, filled up with zeros
    divisors: Any  # of each AtRank, for every R
    first: Any  # weights of each First
    every: Any  # whether it is of every right item


class Trials(NamedTuple):
    """Results of random galleries; the first axis are trials, the second queries."""

    firsts: Any  # number of items or identities before the first right one; -1 without a right item
    singles: Any  # as `Found.single`
    columns: Any  # forms: those of `Found.forms`, then those of `TrialForms`
    curves: Any  # the CMC of all shots, if it is asked for
