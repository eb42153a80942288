"""The arrays of scores that are given as forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Array
from ._compiled.forms import fill_relevant
from ._compiled.quadrature import Rule
from ._compiled.tables import Forms, Pool, TrialForms
from ._forms import OF, AtRank, First, Reciprocal, Table
from ._scores import Score, forms_in
from ._strata import full_draws

MOST_NUMBERS = 2**23


class FormsPlan:
    """Arrays of the forms among some scores, for every block of queries.

    Parameters
    ----------
    scores : sequence of Score
    rule : Rule
        Of the quadrature.
    n_nodes : int
        Number of nodes, those of the rule and others.
    max_rank : int
        Length of the curve over all right items, if it is asked for.
    by_identity : bool
        Whether ranks of this curve count identities.
    pool : Pool
    """

    def __init__(
        self,
        scores: Sequence[Score],
        rule: Rule,
        n_nodes: int,
        max_rank: int,
        by_identity: bool,
        pool: Pool,
    ) -> None:
        self.reciprocals: list[Reciprocal] = forms_in(scores, Reciprocal)
        self.tables: list[Table] = forms_in(scores, Table)
        firsts = forms_in(scores, First)
        whole = [len(form.weights) for form in firsts if form.of == "every"]
        self.curve = max_rank if any(score.family == "cmc_all_shots" for score in scores) else 0
        self.every = max([self.curve, *whole])
        self._varies = any(table.varies for table in self.tables)
        self._pool = pool
        self._largest = int(np.diff(pool.item_starts).max())
        terms = np.zeros((len(self.reciprocals), 5))
        mass = np.zeros((len(self.reciprocals), n_nodes))
        for f, form in enumerate(self.reciprocals):
            terms[f] = form.c, form.constant, form.slope, form.at_top, form.normalize == "R"
            mass[f, : len(rule.nodes)] = rule.weights * rule.nodes ** max(form.c - 1, 0)
        values, places = _packed(self.tables, [] if self._varies else [1])
        self.forms = Forms(
            active=np.bool_(self.n_columns > 0 or self.every > 0),
            every=np.int64(self.every),
            length=np.int64(0 if by_identity else self.every),
            of=np.array([OF.index(form.of) for form in self.reciprocals], np.int64),
            terms=terms,
            mass=mass,
            places=places,
            row_of=np.zeros(self._largest + 1, np.int64),
            values=values,
        )
        self._scores = scores

    @property
    def n_columns(self) -> int:
        """Number of columns of `Found.forms`."""
        return len(self.reciprocals) + len(self.tables)

    def rows_at_once(self, most: int, codes: Array) -> int:
        """At most this many queries of a block, so that its tables have about `MOST_NUMBERS` numbers."""
        asked = np.unique(codes[codes >= 0])
        if not self._varies or len(asked) == 0:
            return most
        largest = int(np.bincount(self._pool.identity, weights=full_draws(self._pool))[asked].max())
        size = sum(table.values(largest).size for table in self.tables)
        return most if largest * size <= MOST_NUMBERS else min(most, max(MOST_NUMBERS // size, 1))

    def for_block(self, masked: Array, codes: Array) -> Forms:
        """The arrays for some queries, with the tables of the numbers of right items that occur."""
        if not self._varies:
            return self.forms
        relevant = np.zeros(len(codes), np.int64)
        fill_relevant(masked, codes, self._pool, relevant)
        occur = np.unique(relevant[relevant > 0])
        values, places = _packed(self.tables, occur.tolist())
        row_of = np.zeros(self._largest + 1, np.int64)
        row_of[occur] = np.arange(len(occur))
        return self.forms._replace(values=values, places=places, row_of=row_of)

    def for_trials(self) -> TrialForms:
        """The arrays of the other forms, for random galleries."""
        at, first = forms_in(self._scores, AtRank), forms_in(self._scores, First)
        divisors = [form.divisors(self._largest) for form in at]
        return TrialForms(
            active=np.bool_(self.forms.active or len(at) + len(first) > 0),
            at=_padded(at),
            divisors=np.array(divisors) if at else np.zeros((0, 1)),
            first=_padded(first),
            every=np.array([form.of == "every" for form in first], np.bool_),
        )


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


def _padded(forms: Sequence[Any]) -> Array:
    weights = np.zeros((len(forms), max([len(form.weights) for form in forms], default=0)))
    for f, form in enumerate(forms):
        weights[f, : len(form.weights)] = form.weights
    return weights
