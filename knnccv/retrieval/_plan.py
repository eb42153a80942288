"""The arrays of scores for the compiled code: one column for each form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ._compiled.quadrature import Rule
from ._compiled.tables import EACH, EVERY, FIRST, FIRSTS, LAST, PRECISIONS, RANKS, Plan, Pool
from ._forms import AtRank, First, Form, Geometric, Reciprocal, Table, WithinR
from ._pool import draws_from, items_left
from ._scores import Score

MOST_NUMBERS = 2**23
OF = {"every": EVERY, "first": FIRST, "last": LAST}


class _Linear(NamedTuple):
    """A form that is linear in a law of ranks; if `within`, only the first R weights count."""

    law: int
    weights: Array
    divisors: Array  # for every R
    within: bool = False


class ScorePlan:
    """The plan of some scores, for every block of queries.

    Parameters
    ----------
    scores : sequence of Score
    pool : Pool
    max_rank : int
        Length of the curves.
    identities : bool
        Whether first ranks count identities.

    Attributes
    ----------
    columns : list of Form
        The form of every column.
    curves : dict of str to int
        Length of the curves "first" and "every".
    """

    def __init__(self, scores: Sequence[Score], pool: Pool, max_rank: int, identities: bool) -> None:
        forms = [form for score in scores for form in score.forms]
        self._integrals = [form for form in forms if isinstance(form, (Reciprocal, Geometric))]
        linear = [form for form in forms if isinstance(form, (AtRank, First, WithinR))]
        self._tables = [form for form in forms if isinstance(form, Table)]
        self.columns: list[Form] = [*self._integrals, *linear, *self._tables]
        asked = {score.curve for score in scores}
        self.curves = {of: max_rank if of in asked else 0 for of in ("first", "every")}
        self._pool = pool
        self._largest = int(np.diff(pool.item_starts).max())
        self._linear = [_linear(form, self._largest) for form in linear]
        self._by_identity = identities and any(score.of_first_ranks for score in scores)
        self._of_identities = self._by_identity and any(
            isinstance(form, Reciprocal) and form.of == "first" for form in forms
        )
        self._varies = any(table.varies for table in self._tables)

    @property
    def most_added(self) -> int:
        """What the degree of the integrals exceeds the number of drawn items by."""
        return max([form.c for form in self._integrals if isinstance(form, Reciprocal)], default=0)

    def nodes(self, rule: Rule) -> Array:
        """The nodes of the quadrature, one for each persistence, and 0."""
        return np.concatenate([rule.nodes, self._persistences(), [0.0]])

    def plan(self, rule: Rule, fair: bool, integrals: bool) -> Plan:
        """The plan; `integrals`: whether anything is random."""
        nodes, linear = self.nodes(rule), self._linear
        lengths = dict.fromkeys((RANKS, PRECISIONS, FIRSTS, EACH), 0)
        lengths[FIRSTS], lengths[EACH] = self.curves["first"], self.curves["every"]
        for one in linear:
            lengths[one.law] = max(lengths[one.law], 0 if one.within else len(one.weights))
        wanted = np.array([lengths[law] > 0 for law in lengths])
        for one in linear:
            wanted[one.law] = True
        ranks, firsts = max(lengths[RANKS], lengths[PRECISIONS]), max(lengths[FIRSTS], lengths[EACH])
        tables, places = _packed(self._tables, [] if self._varies else [1])
        weights = np.zeros((len(linear), max([len(one.weights) for one in linear], default=0)))
        for f, one in enumerate(linear):
            weights[f, : len(one.weights)] = one.weights
        terms, mass = self._of_integrals(rule, nodes)
        return Plan(
            fair=np.bool_(fair),
            by_identity=np.bool_(self._by_identity),
            integrals=np.bool_(integrals),
            identity_integrals=np.bool_(integrals and self._of_identities),
            wanted=wanted,
            length=np.int64(ranks if self._by_identity else max(ranks, firsts)),
            ahead=np.int64(firsts if self._by_identity else 0),
            ranks=np.int64(ranks),
            follows=np.bool_(any(one.within for one in linear)),
            nodes=nodes,
            ratios=None,
            rows=None,
            values=None,
            of=np.array([OF[getattr(form, "of", "every")] for form in self._integrals], np.int64),
            terms=terms,
            mass=mass,
            law=np.array([one.law for one in linear], np.int64),
            depths=np.array([len(one.weights) for one in linear], np.int64),
            within=np.array([one.within for one in linear], np.bool_),
            weights=weights,
            divisors=np.array([one.divisors for one in linear]).reshape(len(linear), self._largest + 1),
            places=places,
            row_of=np.zeros(self._largest + 1, np.int64),
            tables=tables,
        )

    def _persistences(self) -> list[float]:
        return [form.persistence for form in self._integrals if isinstance(form, Geometric)]

    def _of_integrals(self, rule: Rule, nodes: Array) -> tuple[Array, Array]:
        """Terms and weights of the nodes."""
        terms, mass = np.zeros((len(self._integrals), 6)), np.zeros((len(self._integrals), len(nodes)))
        at = len(rule.nodes)
        for f, form in enumerate(self._integrals):
            if isinstance(form, Geometric):
                terms[f] = 1, 1, 0, 0, 0, form.persistence
                mass[f, at] = 1 - form.persistence
                at += 1
            else:
                terms[f] = form.c, form.constant, form.slope, form.at_top, form.normalize == "R", 0
                mass[f, : len(rule.nodes)] = rule.weights * rule.nodes ** (form.c - 1)
        return terms, mass

    def rows_at_once(self, most: int, codes: Array) -> int:
        """At most this many queries of a block, so that its tables have about `MOST_NUMBERS` numbers."""
        asked = np.unique(codes[codes >= 0])
        if not self._varies or len(asked) == 0:
            return most
        largest = int(
            np.bincount(self._pool.identity, weights=draws_from(self._pool.sizes, self._pool))[asked].max()
        )
        size = sum(table.values(largest).size for table in self._tables)
        return most if largest * size <= MOST_NUMBERS else min(most, max(MOST_NUMBERS // size, 1))

    def for_block(self, plan: Plan, masked: Array, codes: Array) -> Plan:
        """The plan for some queries, with the tables of the numbers of right items that occur."""
        if not self._varies:
            return plan
        pool = self._pool
        draws = draws_from(items_left(masked, pool), pool)
        relevant = (draws * (pool.identity == codes[:, None])).sum(axis=1)
        occur = np.unique(relevant[relevant > 0])
        tables, places = _packed(self._tables, occur.tolist())
        row_of = np.zeros(self._largest + 1, np.int64)
        row_of[occur] = np.arange(len(occur))
        return plan._replace(tables=tables, places=places, row_of=row_of)


def _linear(form: AtRank | First | WithinR, largest: int) -> _Linear:
    """A form as a sum of a law of ranks times weights, for up to `largest` right items."""
    relevant = np.maximum(np.arange(largest + 1.0), 1.0)
    if isinstance(form, AtRank):
        return _Linear(RANKS, np.array(form.weights), form.divisors(largest))
    if isinstance(form, First):
        every = form.of == "every"
        divisors = relevant if every else np.ones_like(relevant)
        return _Linear(EACH if every else FIRSTS, np.array(form.weights), divisors)
    if form.precise:
        return _Linear(PRECISIONS, 1 / np.arange(1.0, largest + 1), relevant, within=True)
    return _Linear(RANKS, np.ones(largest), relevant, within=True)


def _packed(tables: Sequence[Table], occur: Sequence[int]) -> tuple[Array, Array]:
    """All tables in one array, and their places, for the numbers of right items that occur."""
    places = np.zeros((len(tables), max(len(occur), 1), 3), np.int64)
    parts, start = [np.zeros(0)], 0
    for f, table in enumerate(tables):
        for row, relevant in enumerate(occur):
            if row == 0 or table.varies:
                values = table.values(relevant)
                parts.append(values.ravel())
                places[f, row] = start, *values.shape
                start += values.size
            else:
                places[f, row] = places[f, 0]
    return np.concatenate(parts), places
