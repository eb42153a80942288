"""One draw of one problem: its blocks of queries, in threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._parallel import for_each
from .._typing import Array
from ._choice import most_drawn, others_of, refuse_always, refuse_few, refuse_long
from ._compiled.identity_draw import score_rows_of_chosen
from ._compiled.quadrature import Rule, rule
from ._compiled.ratios import Ratios, survey
from ._compiled.tables import BIASED, Found, Plan
from ._compiled.walk import rank_rows, score_rows, walk_rows
from ._forms import First, Reciprocal
from ._forms_plan import FormsPlan
from ._gallery import Gallery
from ._problem import Problem
from ._scores import Score, forms_in, persistences
from ._strata import full_draws, pool_of, refuse_short
from ._truncated import bracket

CUT = (
    "the mask removes a part of a stratum ({where}), but one random gallery serves all queries: the number "
    "of right items would be random, and queries would be invalid at random. Draw anew for every query, "
    'after the mask, with Gallery(..., mask="before") or per_query=True'
)
NO_VALUES = np.empty((0, 0))
OF_IMAGES = {"ap", "inp", "rbp", "r_precision", "map@r", "precision", "recall", "ndcg"}
"""Scores that rank images, whatever the others count."""
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
        self.pool = pool = pool_of(gallery, problem.items, problem.identities, problem.always)
        self.open = np.zeros(problem.near.n_queries, np.bool_)
        self._highest: list[tuple[Array, Found]] = []
        refuse_always(problem.codes, problem.identities, pool, gallery)
        self.draws = full_draws(pool)
        families = {score.family for score in scores}
        random = gallery.random or problem.ties == "random"  # otherwise there is one ranking
        integrals = random and any(score.integral for score in scores)
        reciprocals = forms_in(scores, Reciprocal)
        degree = most_drawn(self.draws, pool, gallery.n_others) + max(
            [form.c for form in reciprocals], default=0
        )
        self.rule = rule(_rounded_up(degree), problem.tol) if integrals else NO_RULE
        nodes = np.concatenate([self.rule.nodes, persistences(scores), [0.0]])
        whole = [len(form.weights) for form in forms_in(scores, First) if form.of == "first"]
        self._max_rank = max([problem.max_rank if "cmc" in families else 0, *whole])
        by_identity = problem.rank == "identity" and not families <= OF_IMAGES
        self._depth = max([score.depth for score in scores], default=0)
        largest = int(pool.sizes.max())
        self.forms = FormsPlan(scores, self.rule, len(nodes), problem.max_rank, by_identity, pool)
        of_identities = "rr" in families or any(form.of == "first" for form in reciprocals)
        self._ratios = Ratios(nodes, gallery.n_drawn if integrals else 0, largest)
        self.plan = Plan(
            fair=np.bool_(problem.ties == "random"),
            by_identity=np.bool_(by_identity),
            integrals=np.bool_(integrals),
            identity_integrals=np.bool_(by_identity and of_identities),
            max_rank=np.int64(self._max_rank),
            length=np.int64(max(self._depth, 0 if by_identity else self._max_rank)),
            ranks=np.int64(self._depth),
            map_r=np.bool_(bool(families & {"r_precision", "map@r"})),
            nodes=nodes,
            weights=self.rule.weights,
            ratios=None,
            rows=None,
            values=None,
            trapezoid=np.bool_(problem.ap == "trapezoid"),
        )
        needed = np.zeros(largest + 1, np.bool_)
        needed[pool.sizes[~pool.always]] = True
        self._ratios.for_sizes(needed)

    def ceiling(self, found: Found) -> Found:
        """The largest results that agree with lists of the nearest; `found` has the smallest."""
        result = Found(*(values.copy() for values in found))
        for rows, best in self._highest:
            for values, part in zip(result, best, strict=True):
                values[rows] = part
        return result

    @property
    def n_single(self) -> int:
        """Number of columns of `Found.single`."""
        return len(self.plan.nodes) - len(self.plan.weights) - 1 + BIASED

    def found(self, n_jobs: int | None) -> Found:
        """Score all queries."""
        refuse_long(self.problem.codes, self.pool, self.gallery, self.plan)
        result = self.empty(self.problem.near.n_queries)
        for_each(lambda block: self._fill(block[0], block[1], result), self.blocks(), n_jobs)
        return result

    def blocks(self, step: int | None = None) -> list[tuple[int, int]]:
        """First query and end of every block, of `step` queries or as many as memory allows."""
        near = self.problem.near
        step = step or self.forms.rows_at_once(near.rows_at_once, self.problem.codes)
        return [(start, min(start + step, near.n_queries)) for start in range(0, near.n_queries, step)]

    def empty(self, n: int) -> Found:
        """Results of n queries, all zero."""
        return Found(
            np.zeros((n, self.n_single)),
            np.zeros((n, self._max_rank)),
            np.zeros((n, self._depth)),
            np.zeros(n, np.int64),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n, np.int64),
            np.zeros((n, 2)),
            np.zeros((n, self.forms.n_columns)),
            np.zeros((n, self.forms.every)),
        )

    def block(self, start: int, stop: int) -> Rows:
        """Distances and the checked mask of some queries, and the plan with the tables that they need."""
        needed = np.zeros(self._ratios.largest + 1, np.bool_)
        masked = self.removed(start, stop, needed)
        ratios, rows, table = self._ratios.for_sizes(needed)
        plan = self.plan._replace(ratios=ratios, rows=rows, values=table)
        values = NO_VALUES if self.problem.near.truncated else self.problem.near.block(start, stop)
        return Rows(values, masked, self.problem.codes[start:stop], plan)

    def score(self, block: Rows, found: Found) -> None:
        """Fill in the results of a block of queries; those with a negative code are skipped."""
        values, masked, codes, plan, without = block
        forms = self.forms.for_block(masked, codes)
        if self.gallery.n_identities is None:
            if plan.fair or forms.active:
                score_rows(values, masked, codes, self.pool, plan, forms, found)
            else:
                score = walk_rows if self.pool.shots else rank_rows
                score(values, masked, codes, self.pool, plan, found)
            return
        if without is not None:
            refuse_few(None, masked, codes, self.pool, self.gallery, without)
        others = others_of(masked, codes, self.pool, self.gallery, without)
        n_others = np.int64(self.gallery.n_others)
        score_rows_of_chosen(values, masked, codes, n_others, others, self.pool, plan, forms, found)

    def removed(self, start: int, stop: int, needed: Array | None = None) -> Array:
        """The mask of some queries, checked; the sizes of strata that occur become True in `needed`."""
        if needed is None:
            needed = np.zeros(self._ratios.largest + 1, np.bool_)
        problem, pool = self.problem, self.pool
        near = problem.near
        masked = np.zeros((stop - start, near.n_gallery), np.bool_)
        for mask in problem.masks:
            masked |= mask(start, stop)
        random = self.gallery.n_drawn > 0
        if random and problem.masks:
            cut = self._survey(masked, needed)
            if cut[0] >= 0 and self.gallery.shared:
                identity = problem.identities[pool.identity[cut[1]]]
                where = f"of identity {identity}, for query {start + cut[0]}"
                raise ValueError(CUT.format(where=where))
        if near.same is not None:
            rows = np.flatnonzero(near.same[start:stop] >= 0)
            masked[rows, near.same[start:stop][rows]] = True
        if random and (near.same is not None or problem.masks):
            cut = self._survey(masked, needed)
            if self.gallery.short == "refuse" and cut[2] >= 0 and cut[3] < self.gallery.n_drawn:
                owner = problem.identities[pool.identity[cut[2]]]
                refuse_short(f"{owner} (after the mask)", int(cut[3]), self.gallery.n_drawn)
        refuse_few(start, masked, problem.codes[start:stop], pool, self.gallery)
        return masked

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
        low, rows, high = bracket(listed, masked, right)
        self.score(block._replace(values=low), part)
        self.open[start + rows] = True
        if len(rows) and not self.problem.near.approximate:
            best = Found(*(np.zeros_like(values[rows]) for values in part))
            self.score(block._replace(values=high, masked=masked[rows], codes=codes[rows]), best)
            self._highest.append((start + rows, best))

    def _survey(self, masked: Array, needed: Array) -> Array:
        cut = np.full(4, -1, np.int64)
        sizes = np.where(self.pool.always, 0, self.pool.sizes)  # those are drawn whole, cut or not
        survey(masked, self.pool.stratum, sizes, needed, cut)
        return cut


def _rounded_up(degree: int) -> int:
    """The degree, or a little more, so that similar problems share a rule."""
    step = 1 << max(degree.bit_length() - 4, 0)
    return -(-degree // step) * step
