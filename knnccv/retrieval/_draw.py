"""One draw of one problem: its blocks of queries, in threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._parallel import for_each
from .._typing import Array
from ._compiled.identity_walk import score_rows_of_chosen
from ._compiled.quadrature import Rule, ratio_tables, rule
from ._compiled.tables import Found, Plan
from ._compiled.walk import rank_rows, walk_rows
from ._gallery import Gallery
from ._plan import ScorePlan
from ._pool import (
    draws_from,
    items_left,
    most_drawn,
    others_of,
    pool_of,
    refuse_always,
    refuse_few,
    refuse_long,
    refuse_short,
)
from ._problem import Problem
from ._scores import Score

CUT = (
    "the mask removes a part of a stratum ({where}), but one random gallery serves all queries: the number "
    "of right items would be random, and queries would be invalid at random. Draw anew for every query, "
    'after the mask, with Gallery(..., mask="before") or per_query=True'
)
NO_VALUES = np.empty((0, 0))
NO_RULE = Rule(np.empty(0), np.empty(0), 0.0)


class Rows(NamedTuple):
    """What is scored of some queries: distances (none of lists), mask, positions of identities, plan."""

    values: Array
    masked: Array
    codes: Array
    plan: Plan
    without: Array | None = None  # items that are taken out before any gallery is drawn


class Draw:
    """The walk of all queries for one `Gallery`.

    Parameters
    ----------
    problem : Problem
    gallery : Gallery
    scores : tuple of Score
        Some of the problem's, those of this gallery.

    Attributes
    ----------
    pool : Pool
        The gallery's strata and identities.
    draws : int64 ndarray of shape (n_strata,)
        Number of items that are drawn.
    rule : Rule
        Of the quadrature.
    open : bool ndarray of shape (n_queries,)
        Which queries have right items that are not listed.
    """

    def __init__(self, problem: Problem, gallery: Gallery, scores: tuple[Score, ...]) -> None:
        self.problem, self.gallery, self.scores = problem, gallery, scores
        self.pool = pool = pool_of(gallery, problem.items, problem.identities, problem.asked.always)
        self.open = np.zeros(problem.near.n_queries, np.bool_)
        self._highest: list[tuple[Array, Found]] = []
        refuse_always(problem.codes, problem.identities, pool, gallery)
        self.draws = draws_from(pool.sizes, pool)
        random = gallery.random or problem.asked.ties == "random"  # otherwise there is one ranking
        integrals = random and any(score.integral for score in scores)
        self.score_plan = ScorePlan(scores, pool, problem.asked.max_rank, problem.asked.rank == "identity")
        self.columns = self.score_plan.columns
        degree = most_drawn(self.draws, pool, gallery.n_others) + self.score_plan.most_added
        self.rule = rule(_rounded_up(degree), problem.asked.tol) if integrals else NO_RULE
        self.plan = self.score_plan.plan(self.rule, problem.asked.ties == "random", integrals)
        self._tables: dict[int, tuple[Array, Array]] = {}  # of sizes

    def ceiling(self, found: Found) -> Found:
        """The largest results that agree with lists of the nearest; `found` has the smallest."""
        result = Found(*(values.copy() for values in found))
        for rows, best in self._highest:
            for values, part in zip(result, best, strict=True):
                values[rows] = part
        return result

    def found(self, n_jobs: int | None) -> Found:
        """Score all queries."""
        refuse_long(self.problem.codes, self.pool, self.gallery, self.plan)
        result = self.empty(self.problem.near.n_queries)
        for_each(lambda block: self._fill(block[0], block[1], result), self.blocks(), n_jobs)
        return result

    def blocks(self, step: int | None = None) -> list[tuple[int, int]]:
        """First query and end of every block, of `step` queries or as many as memory allows."""
        near = self.problem.near
        step = step or self.score_plan.rows_at_once(near.rows_at_once, self.problem.codes)
        return [(start, min(start + step, near.n_queries)) for start in range(0, near.n_queries, step)]

    def empty(self, n: int) -> Found:
        """Results of n queries, all zero."""
        first, every = self.score_plan.curves["first"], self.score_plan.curves["every"]
        return Found(
            np.zeros((n, len(self.columns))),
            np.zeros((n, first)),
            np.zeros((n, every)),
            np.zeros(n, np.int64),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n, np.int64),
            np.zeros((n, 2)),
        )

    def tabulated(self, sizes: Array) -> Plan:
        """The plan with the tables for strata of these sizes; row 0 is an item that is always drawn."""
        shots, nodes, length = self.gallery.n_drawn, self.plan.nodes, 1
        rows = np.zeros(int(self.pool.sizes.max()) + 1, np.int64)
        parts = [(nodes[None], nodes[None])]
        for size in np.unique(sizes[sizes > shots]).tolist() if self.plan.integrals and shots else ():
            if size not in self._tables:
                self._tables[size] = ratio_tables(size, shots, nodes)
            rows[size] = length
            length += size + 1
            parts.append(self._tables[size])
        ratios, values = map(np.concatenate, zip(*parts, strict=True))
        return self.plan._replace(ratios=ratios, rows=rows, values=values)

    def block(self, start: int, stop: int) -> Rows:
        """Distances and the checked mask of some queries, and the plan with the tables that they need."""
        masked, cut = self._removed(start, stop)
        values = NO_VALUES if self.problem.near.truncated else self.problem.near.block(start, stop)
        sizes = np.concatenate([self.pool.sizes[~self.pool.always], cut])
        return Rows(values, masked, self.problem.codes[start:stop], self.tabulated(sizes))

    def score(self, block: Rows, found: Found) -> None:
        """Fill in the results of a block of queries; those with a negative code are skipped."""
        values, masked, codes, plan, without = block
        pool, plan = self.pool, self.score_plan.for_block(plan, masked, codes)
        if self.gallery.n_identities is not None:
            if without is not None:
                refuse_few(None, masked, codes, pool, self.gallery, without)
            others, n_others = others_of(masked, codes, pool, self.gallery, without), self.gallery.n_others
            score_rows_of_chosen(values, masked, codes, np.int64(n_others), others, pool, plan, found)
        elif pool.shots:
            walk_rows(values, masked, codes, pool, plan, found)
        else:
            self._rank(block._replace(plan=plan), found)

    def _rank(self, block: Rows, found: Found) -> None:
        """Score whole galleries: queries of which ties matter by a walk."""
        left = np.zeros(len(block.codes), np.bool_)
        rank_rows(block.values, block.masked, block.codes, self.pool, block.plan, found, left)
        if not left.any():
            return
        some = Found(*(values[left] for values in found))
        rows = block.values[left], block.masked[left], block.codes[left]
        walk_rows(*rows, self.pool, block.plan, some)
        for values, part in zip(found, some, strict=True):
            values[left] = part

    def removed(self, start: int, stop: int) -> Array:
        """The mask of some queries, checked."""
        return self._removed(start, stop)[0]

    def _removed(self, start: int, stop: int) -> tuple[Array, Array]:
        """The mask, and what is left of the strata that it cuts."""
        problem, pool = self.problem, self.pool
        near = problem.near
        masked = np.zeros((stop - start, near.n_gallery), np.bool_)
        for mask in problem.masks:
            masked |= mask(start, stop)
        random, cut = self.gallery.n_drawn > 0, np.zeros(0, np.int64)
        if random and problem.masks:
            queries, strata, cut = self._cut(masked)
            if len(cut) and self.gallery.shared:
                identity = problem.identities[pool.identity[strata[0]]]
                where = f"of identity {identity}, for query {start + queries[0]}"
                raise ValueError(CUT.format(where=where))
        if near.same is not None:
            rows = np.flatnonzero(near.same[start:stop] >= 0)
            masked[rows, near.same[start:stop][rows]] = True
            if random:
                _, strata, cut = self._cut(masked)
        if self.gallery.short == "refuse" and len(cut) and cut.min() < self.gallery.n_drawn:
            owner = problem.identities[pool.identity[strata[cut.argmin()]]]
            refuse_short(f"{owner} (after the mask)", int(cut.min()), self.gallery.n_drawn)
        refuse_few(start, masked, problem.codes[start:stop], pool, self.gallery)
        return masked, cut

    def _fill(self, start: int, stop: int, result: Found) -> None:
        block = self.block(start, stop)
        part = Found(*(values[start:stop] for values in result))
        if self.problem.near.truncated:
            self._fill_bracket(start, stop, block, part)
            return
        self.score(block, part)

    def _fill_bracket(self, start: int, stop: int, block: Rows, part: Found) -> None:
        """Score lists of the nearest: the smallest results, and the largest where they differ."""
        masked, codes = block.masked, block.codes
        right = self.pool.identity[self.pool.stratum] == codes[:, None]
        listed = self.problem.near.listed(start, stop, fair=bool(block.plan.fair))
        low, rows, high = _bracket(listed, masked, right)
        self.score(block._replace(values=low), part)
        self.open[start + rows] = True
        if len(rows) and not self.problem.near.approximate:
            best = Found(*(np.zeros_like(values[rows]) for values in part))
            self.score(block._replace(values=high, masked=masked[rows], codes=codes[rows]), best)
            self._highest.append((start + rows, best))

    def _cut(self, masked: Array) -> tuple[Array, Array, Array]:
        """Queries and strata of which the mask removes a part, and the numbers of items that are left."""
        left, pool = items_left(masked, self.pool), self.pool
        cut = (left > 0) & (left < pool.sizes) & ~pool.always  # those are drawn whole
        queries, strata = np.nonzero(cut)
        return queries, strata, left[queries, strata]


def _rounded_up(degree: int) -> int:
    """The degree, or a little more, so that similar problems share a rule."""
    step = 1 << max(degree.bit_length() - 4, 0)
    return -(-degree // step) * step


def _bracket(listed: Array, masked: Array, right: Array) -> tuple[Array, Array, Array]:
    """The rankings of the smallest and the largest scores of some queries.

    Parameters
    ----------
    listed : float64 ndarray of shape (n, n_gallery)
        Integers from 0 to n_gallery - 1 that order the listed items, and infinity for the others;
        overwritten.
    masked : bool ndarray of shape (n, n_gallery)
        Items that are removed.
    right : bool ndarray of shape (n, n_gallery)
        Items of the query's identity.

    Returns
    -------
    low : float64 ndarray of shape (n, n_gallery)
        Values that order all items, right ones that are not listed behind all others.
    rows : int64 ndarray of shape (m,)
        Queries with right items that are not listed.
    high : float64 ndarray of shape (m, n_gallery)
        Values for these, right items directly after the list.
    """
    n_items = listed.shape[1]
    missing = np.isinf(listed)
    last = missing & right
    low = listed
    np.copyto(low, 2.0 * n_items, where=missing)
    apart = np.arange(n_items, dtype=np.float64)  # they must not tie, which would cost time
    np.copyto(low, 3 * n_items + apart, where=last)
    rows = np.flatnonzero((last & ~masked).any(axis=1))
    high = low[rows]
    np.copyto(high, n_items + apart, where=last[rows])
    return low, rows, high
