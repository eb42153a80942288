"""The arrays of scores that are given as forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._typing import Array
from ._forms import OF, AtRank, First, Reciprocal, Table
from ._forms_walk import fill_relevant
from ._quadrature import Rule
from ._scores import Score, forms_in
from ._tables import Forms, Pool, TrialForms

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
        fixed = [] if self._varies else [[table.values(1) for table in self.tables]]
        values, places = _packed(len(self.tables), fixed)
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

    def pieces(self, masked: Array, codes: Array) -> Iterator[tuple[slice, Forms]]:
        """Queries of a block, and the arrays for them, with tables for the numbers of right items.

        A block is cut where its tables would have more than `MOST_NUMBERS` numbers.
        """
        if not self._varies:
            yield slice(0, len(codes)), self.forms
            return
        relevant = np.zeros(len(codes), np.int64)
        fill_relevant(masked, codes, self._pool, relevant)
        start, size = 0, 0
        tables: dict[int, list[Array]] = {}
        for q, n_right in enumerate(relevant.tolist()):
            if n_right == 0 or n_right in tables:
                continue
            more = [table.values(n_right) for table in self.tables]
            n_more = sum(values.size for values in more)
            if tables and size + n_more > MOST_NUMBERS:
                yield slice(start, q), self._with(tables)
                start, size, tables = q, 0, {}
            tables[n_right] = more
            size += n_more
        yield slice(start, len(codes)), self._with(tables)

    def _with(self, tables: dict[int, list[Array]]) -> Forms:
        values, places = _packed(len(self.tables), list(tables.values()))
        row_of = np.zeros(self._largest + 1, np.int64)
        row_of[list(tables)] = np.arange(len(tables))
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


def _packed(n_tables: int, rows: Sequence[Sequence[Array]]) -> tuple[Array, Array]:
    """All tables in one array, and their places; a row for each number of right items."""
    places = np.zeros((n_tables, max(len(rows), 1), 3), np.int64)
    parts, start = [np.zeros(0)], 0
    for row, tables in enumerate(rows):
        for f, values in enumerate(tables):
            parts.append(values.ravel())
            places[f, row] = start, *values.shape
            start += values.size
    return np.concatenate(parts), places


def _padded(forms: Sequence[Any]) -> Array:
    weights = np.zeros((len(forms), max([len(form.weights) for form in forms], default=0)))
    for f, form in enumerate(forms):
        weights[f, : len(form.weights)] = form.weights
    return weights
