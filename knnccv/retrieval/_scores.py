"""Scores as arrays for the compiled code, and how they and their errors follow from its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._base.typing import Array
from .._base.validation import check
from ._compiled import EACH, EVERY, FIRST, FIRSTS, LAST, PRECISIONS, RANKS, Found, Plan, Pool
from ._compiled.laws import NO_RULE, rule
from ._forms import AtRank, First, Form, Geometric, Reciprocal, Score, Table, Within

EPS = 2.3e-16
OF = {"every": EVERY, "first": FIRST, "last": LAST}


class Ranked(NamedTuple):
    """A form that is linear in a law of ranks; if `within`, only the first R weights count."""

    law: int
    weights: Array
    divisors: Array  # for every R
    within: bool


def ranked(form: AtRank | First | Within, largest: int) -> Ranked:
    """A form as a law of ranks times weights, for up to `largest` right items."""
    relevant = np.maximum(np.arange(largest + 1), 1)
    normalize, law, within = "R", RANKS, False
    if isinstance(form, Within):
        ranks = range(1, (form.depth or largest) + 1)
        weights = [1 / r if form.precise else 1.0 for r in ranks]
        normalize, law, within = form.normalize, PRECISIONS if form.precise else RANKS, not form.depth
    else:
        weights = [float(weight) for weight in form.weights]
        if isinstance(form, AtRank):
            normalize = form.normalize
        else:
            normalize, law = ("R", EACH) if form.of == "every" else ("1", FIRSTS)
    values = np.array(weights)
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
    n_columns : int
    """

    def __init__(self, scores: Sequence[Score], pool: Pool, asked: Any, most_drawn: int) -> None:
        forms = [form for score in scores for form in score.forms]
        self._integrals = [form for form in forms if isinstance(form, (Reciprocal, Geometric))]
        some = [form for form in forms if isinstance(form, (AtRank, First, Within))]
        self._tables = [form for form in forms if isinstance(form, Table)]
        self._forms: list[Form] = [*self._integrals, *some, *self._tables]
        self._largest = int(np.diff(pool.item_starts).max())
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
        tables, places = _packed(self._tables)
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

    def values_of(self, score: Score, values: Array) -> Array:
        """One score from all columns, the last axis of `values`; that of a curve are its ranks."""
        if score.curve:
            return np.asarray(np.minimum(values[..., self._curves[score.curve]], 1.0))
        columns = [values[..., self._forms.index(form)] for form in score.forms]
        return np.asarray(np.mean(columns, axis=0))

    def errors_of(self, score: Score, found: Found) -> Array:
        """Bound of the error of every query's score: quadrature, rounding and terms left out."""
        if score.curve:
            return np.asarray(found.rounding + found.skipped)
        return np.asarray(np.mean([self._error_of(form, found) for form in score.forms], axis=0))

    def _error_of(self, form: Form, found: Found) -> Array:
        """By the largest number that a right item adds, and that all add where some are negative."""
        values, relevant = found.values[:, self._forms.index(form)], np.maximum(found.relevant, 1)
        rounding, peaks, most = found.rounding, np.zeros(len(values)), np.zeros(len(values))
        if isinstance(form, (Reciprocal, Geometric)):
            rounding = rounding + self.rule.error
        elif isinstance(form, Table):
            peaks += np.abs(form.phi).max()
            most += len(form.phi) * (form.phi < 0).any()
        elif isinstance(form, (AtRank, First, Within)):
            one = ranked(form, self._largest)
            rounding = rounding + EPS * (0 if one.within else len(one.weights))
            peaks = np.abs(one.weights).max() / one.divisors[relevant]
            most += (1 if one.law == FIRSTS else len(one.weights)) * (one.weights.min() < 0)
        size = np.where(most > 0, peaks * np.minimum(most, relevant), values)
        return np.asarray(rounding * size + found.skipped * peaks)


def _rounded_up(degree: int) -> int:
    """The degree, or a little more, so that similar problems share a rule."""
    step = 1 << max(degree.bit_length() - 4, 0)
    return -(-degree // step) * step


def _packed(tables: Sequence[Table]) -> tuple[Array, Array]:
    """All tables in one array, and their places."""
    places, parts, start = np.zeros((len(tables), 3), np.int64), [np.zeros(0)], 0
    for f, table in enumerate(tables):
        parts.append(table.phi.ravel())
        places[f] = start, *table.phi.shape
        start += table.phi.size
    return np.concatenate(parts), places


def check_bracketed(score: Score) -> None:
    """Raise ValueError if a right item that moves forward may lower a score of the user's own."""
    for form in score.forms:
        table = np.zeros((1, 1))
        if isinstance(form, (AtRank, First)):
            table = np.array([form.weights])
        elif isinstance(form, Table):
            table = form.phi
        msg = (
            f"the score {score.name!r} is not bracketed by lists of the nearest: it may rise when a "
            "right item moves back. Take lists that have all right items, or distances to the whole "
            "gallery"
        )
        check(not (np.diff(table, axis=1, append=0.0) > 0).any(), msg)
