"""Scores as arrays for the compiled code, and how they and their errors follow from its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from ._compiled import EACH, EVERY, FIRST, FIRSTS, LAST, PRECISIONS, RANKS, Found, Plan, Pool
from ._compiled.laws import Rule, rule
from ._forms import AtRank, First, Form, Geometric, Reciprocal, Score, Table, Within
from ._gallery import draws_from, items_left

EPS = 2.3e-16
MOST_NUMBERS = 2**23
OF = {"every": EVERY, "first": FIRST, "last": LAST}
NO_RULE = Rule(np.empty(0), np.empty(0), 0.0)


class Ranked(NamedTuple):
    """A form that is linear in a law of ranks; if `within`, only the first R weights count."""

    law: int
    weights: Array
    divisors: Array  # for every R
    within: bool


def ranked(form: AtRank | First | Within, largest: int, number: Callable[[Any], Any] = float) -> Ranked:
    """A form as a law of ranks times weights, for up to `largest` right items, in floats or Fractions."""
    relevant = np.maximum(np.arange(largest + 1), 1)
    normalize, law, within = "R", RANKS, False
    if isinstance(form, Within):
        ranks = range(1, (form.depth or largest) + 1)
        weights = [1 / number(r) if form.precise else number(1) for r in ranks]
        normalize, law, within = form.normalize, PRECISIONS if form.precise else RANKS, not form.depth
    else:
        weights = [number(weight) for weight in form.weights]
        if isinstance(form, AtRank):
            normalize = form.normalize
        else:
            normalize, law = ("R", EACH) if form.of == "every" else ("1", FIRSTS)
    values = np.array(weights, object if number is Fraction else float)
    some = np.minimum(relevant, len(weights))
    divisors = {"1": np.ones_like(relevant), "k": np.full_like(relevant, len(weights)), "R": relevant}
    ideal = np.cumsum(values)[some - 1] if normalize == "ideal" else some  # else "min(k,R)"
    return Ranked(law, values, divisors.get(normalize, ideal), within)


class ScorePlan:
    """The plan of some scores, for every block of queries.

    The columns of results are those of forms that are integrals, then linear in a law of ranks, then
    tables, then the values of the curves of every right item, and of the first one.

    Parameters
    ----------
    scores : sequence of Score
    pool : Pool
    asked : Asked
    most_drawn : int
        The largest number of items of a gallery; -1 if there is only one ranking.

    Attributes
    ----------
    rule : Rule
        Of the quadrature.
    plan : Plan
        Without the tables that depend on a block.
    n_columns : int
    """

    def __init__(self, scores: Sequence[Score], pool: Pool, asked: Any, most_drawn: int) -> None:
        forms = [form for score in scores for form in score.forms]
        self._integrals = [form for form in forms if isinstance(form, (Reciprocal, Geometric))]
        some = [form for form in forms if isinstance(form, (AtRank, First, Within))]
        self._tables = [form for form in forms if isinstance(form, Table)]
        self._forms: list[Form] = [*self._integrals, *some, *self._tables]
        self._varies = any(table.varies for table in self._tables)
        self._pool, self._largest = pool, int(np.diff(pool.item_starts).max())
        self._curves, self.n_columns = {}, len(self._forms)
        for of in ("every", "first"):
            length = asked.max_rank if of in {score.curve for score in scores} else 0
            self._curves[of] = slice(self.n_columns, self.n_columns + length)
            self.n_columns += length
        self.rule = NO_RULE
        if most_drawn >= 0 and self._integrals:
            added = [form.c for form in self._integrals if isinstance(form, Reciprocal)]
            self.rule = rule(_rounded_up(most_drawn + max(added, default=0)), asked.tol)
        self.plan = self._plan([ranked(form, self._largest) for form in some], asked, most_drawn >= 0)

    def _plan(self, linear: list[Ranked], asked: Any, random: bool) -> Plan:
        lengths = dict.fromkeys((RANKS, PRECISIONS, FIRSTS, EACH), 0)
        every, first = (part.stop - part.start for part in self._curves.values())
        lengths[FIRSTS], lengths[EACH] = first, every
        for one in linear:
            lengths[one.law] = max(lengths[one.law], 0 if one.within else len(one.weights))
        wanted = np.array([lengths[law] > 0 for law in lengths])
        for one in linear:
            wanted[one.law] = True
        ranks, firsts = max(lengths[RANKS], lengths[PRECISIONS]), max(lengths[FIRSTS], lengths[EACH])
        of_first = any(isinstance(form, Reciprocal) and form.of == "first" for form in self._integrals)
        by_identity = asked.rank == "identity" and bool(of_first or wanted[FIRSTS] or wanted[EACH])
        tables, places = _packed(self._tables, [] if self._varies else [1])
        weights = np.zeros((len(linear), max([len(one.weights) for one in linear], default=0)))
        for f, one in enumerate(linear):
            weights[f, : len(one.weights)] = one.weights
        nodes, terms, mass = self._of_integrals()
        integrals = random and len(self._integrals) > 0
        return Plan(
            fair=np.bool_(asked.ties == "random"),
            by_identity=np.bool_(by_identity),
            integrals=np.bool_(integrals),
            identity_integrals=np.bool_(integrals and by_identity and of_first),
            wanted=wanted,
            length=np.int64(ranks if by_identity else max(ranks, firsts)),
            ahead=np.int64(firsts if by_identity else 0),
            ranks=np.int64(ranks),
            follows=np.bool_(any(one.within for one in linear)),
            nodes=nodes,
            ratios=None,
            rows=None,
            of=np.array([OF[getattr(form, "of", "every")] for form in self._integrals], np.int64),
            terms=terms,
            mass=mass,
            law=np.array([one.law for one in linear], np.int64),
            depths=np.array([len(one.weights) for one in linear], np.int64),
            within=np.array([one.within for one in linear], np.bool_),
            weights=weights,
            divisors=np.array([one.divisors for one in linear], float).reshape(-1, self._largest + 1),
            places=places,
            row_of=np.zeros(self._largest + 1, np.int64),
            tables=tables,
            every=np.int64(every),
            first=np.int64(first),
        )

    def _of_integrals(self) -> tuple[Array, Array, Array]:
        """Nodes, one for each persistence, and 0; the terms; and the weights of the nodes."""
        ps = [form.persistence for form in self._integrals if isinstance(form, Geometric)]
        nodes = np.concatenate([self.rule.nodes, ps, [0.0]])
        terms, mass = np.zeros((len(self._integrals), 6)), np.zeros((len(self._integrals), len(nodes)))
        at = len(self.rule.nodes)
        for f, form in enumerate(self._integrals):
            if isinstance(form, Geometric):
                terms[f] = 1, 1, 0, 0, 0, form.persistence
                mass[f, at] = 1 - form.persistence
                at += 1
            else:
                terms[f] = form.c, form.constant, form.slope, form.at_top, form.normalize == "R", 0
                mass[f, : len(self.rule.nodes)] = self.rule.weights * self.rule.nodes ** (form.c - 1)
        return nodes, terms, mass

    def rows_at_once(self, most: int, codes: Array) -> int:
        """At most this many queries of a block, so that its tables have about `MOST_NUMBERS` numbers."""
        asked = np.unique(codes[codes >= 0])
        if not self._varies or len(asked) == 0:
            return most
        drawn = draws_from(self._pool.sizes, self._pool)
        largest = int(np.bincount(self._pool.identity, weights=drawn)[asked].max())
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

    def values_of(self, score: Score, values: Array) -> Array:
        """One score from all columns, the last axis of `values`; that of a curve are its ranks."""
        if score.curve:
            curve: Array = np.minimum(values[..., self._curves[score.curve]], 1.0)
            return curve
        columns = [values[..., self._forms.index(form)] for form in score.forms]
        mean: Array = np.mean(columns, axis=0)
        return mean

    def errors_of(self, score: Score, found: Found) -> Array:
        """Bound of the error of every query's score: quadrature, rounding and terms left out."""
        if score.curve:
            curve: Array = found.rounding + found.skipped
            return curve
        errors: Array = np.mean([self._error_of(form, found) for form in score.forms], axis=0)
        return errors

    def _error_of(self, form: Form, found: Found) -> Array:
        """By the largest number that a right item adds, and that all add where some are negative."""
        values, relevant = found.values[:, self._forms.index(form)], np.maximum(found.relevant, 1)
        rounding, peaks, most = found.rounding, np.zeros(len(values)), np.zeros(len(values))
        if isinstance(form, (Reciprocal, Geometric)):
            rounding = rounding + self.rule.error
        elif isinstance(form, Table):
            numbers, at = np.unique(relevant, return_inverse=True)
            tables = [form.values(number) for number in numbers.tolist()]
            peaks = np.array([np.abs(table).max() for table in tables])[at.ravel()]
            most = np.array([len(table) * (table < 0).any() for table in tables])[at.ravel()]
        elif isinstance(form, (AtRank, First, Within)):
            one = ranked(form, self._largest)
            rounding = rounding + EPS * (0 if one.within else len(one.weights))
            peaks = np.abs(one.weights).max() / one.divisors[relevant]
            most += (1 if one.law == FIRSTS else len(one.weights)) * (one.weights.min() < 0)
        size = np.where(most > 0, peaks * np.minimum(most, relevant), values)
        errors: Array = rounding * size + found.skipped * peaks
        return errors


def _rounded_up(degree: int) -> int:
    """The degree, or a little more, so that similar problems share a rule."""
    step = 1 << max(degree.bit_length() - 4, 0)
    return -(-degree // step) * step


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


def check_bracketed(score: Score, numbers: Array) -> None:
    """Raise ValueError if a right item that moves forward may lower a score of the user's own.

    Parameters
    ----------
    score : Score
    numbers : int64 ndarray
        The numbers of drawn right items that occur.
    """
    for form in score.forms:
        tables: Iterable[Array] = ()
        if isinstance(form, (AtRank, First)):
            tables = [np.array([form.weights])]
        elif isinstance(form, Table):
            tables = [form.values(max(int(relevant), 1)) for relevant in np.unique(numbers)]
        if any((np.diff(table, axis=1, append=0.0) > 0).any() for table in tables):
            msg = (
                f"the score {score.name!r} is not bracketed by lists of the nearest: it may rise when a "
                "right item moves back. Take lists that have all right items, or distances to the whole "
                "gallery"
            )
            raise ValueError(msg)
