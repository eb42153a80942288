"""One draw of one problem: its blocks of queries, in threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._parallel import for_each
from .._typing import Array
from ._choice import most_drawn, others_of, refuse_always, refuse_few, refuse_long
from ._forms import First, Reciprocal
from ._forms_plan import FormsPlan
from ._gallery import Gallery
from ._identity_draw import score_rows_of_chosen
from ._problem import Problem
from ._quadrature import Rule, rule
from ._ratios import Ratios, survey
from ._scores import Score, forms_in, persistences
from ._strata import refuse_short
from ._tables import BIASED, Found, Plan, Pool
from ._truncated import bracket
from ._walk import score_rows

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
    pool : Pool
    scores : tuple of Score
    """

    def __init__(self, problem: Problem, gallery: Gallery, pool: Pool, scores: tuple[Score, ...]) -> None:
        self._near = problem.near
        self._codes = problem.codes
        self._identities = problem.identities
        self._gallery = gallery
        self._pool = pool
        self._masks = problem.masks
        self.open = np.zeros(problem.near.n_queries, np.bool_)  # with right items that are not listed
        self.highest: list[tuple[Array, Found]] = []
        refuse_always(problem.codes, problem.identities, pool, gallery)
        shots = gallery.n_drawn
        drawn = np.where(pool.always | (shots == 0), pool.sizes, np.minimum(pool.sizes, shots or 1))
        self.draws = drawn
        families = {score.family for score in scores}
        random = gallery.random or problem.ties == "random"  # otherwise there is one ranking
        integrals = random and any(score.integral for score in scores)
        reciprocals = forms_in(scores, Reciprocal)
        degree = most_drawn(drawn, pool, gallery.n_others) + max(
            [form.c for form in reciprocals], default=0
        )
        self.rule = rule(_rounded_up(degree), problem.tol) if integrals else NO_RULE
        nodes = np.concatenate([self.rule.nodes, persistences(scores), [0.0]])
        whole = [len(form.weights) for form in forms_in(scores, First) if form.of == "first"]
        self._max_rank = max([problem.max_rank if "cmc" in families else 0, *whole])
        by_identity = problem.rank == "identity" and not families <= OF_IMAGES
        depth = max([score.depth for score in scores], default=0)
        self._depth = depth
        largest = int(pool.sizes.max())
        self.forms = FormsPlan(scores, self.rule, len(nodes), problem.max_rank, by_identity, pool)
        of_identities = "rr" in families or any(form.of == "first" for form in reciprocals)
        self._ratios = Ratios(nodes, shots if integrals else 0, largest)
        self.plan = Plan(
            fair=np.bool_(problem.ties == "random"),
            by_identity=np.bool_(by_identity),
            integrals=np.bool_(integrals),
            identity_integrals=np.bool_(by_identity and of_identities),
            max_rank=np.int64(self._max_rank),
            length=np.int64(max(depth, 0 if by_identity else self._max_rank)),
            ranks=np.int64(depth),
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
        for rows, best in self.highest:
            for values, part in zip(result, best, strict=True):
                values[rows] = part
        return result

    @property
    def n_single(self) -> int:
        """Number of columns of `Found.single`."""
        return len(self.plan.nodes) - len(self.plan.weights) - 1 + BIASED

    def found(self, n_jobs: int | None, block_rows: int | None = None) -> Found:
        """Score all queries."""
        n = self._near.n_queries
        refuse_long(self._codes, self._pool, self._gallery, self.plan)
        result = self.empty(n)
        step = block_rows or self.forms.rows_at_once(self._near.rows_at_once, self._codes)
        blocks = [(start, min(start + step, n)) for start in range(0, n, step)]
        for_each(lambda block: self._fill(block[0], block[1], result), blocks, n_jobs)
        return result

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
        values = NO_VALUES if self._near.truncated else self._near.block(start, stop)
        return Rows(values, masked, self._codes[start:stop], plan)

    def score(self, block: Rows, found: Found) -> None:
        """Fill in the results of a block of queries; those with a negative code are skipped."""
        values, masked, codes, plan, without = block
        forms = self.forms.for_block(masked, codes)
        if self._gallery.n_identities is None:
            score_rows(values, masked, codes, self._pool, plan, forms, found)
            return
        if without is not None:
            refuse_few(None, masked, codes, self._pool, self._gallery, without)
        others = others_of(masked, codes, self._pool, self._gallery, without)
        n_others = np.int64(self._gallery.n_others)
        score_rows_of_chosen(values, masked, codes, n_others, others, self._pool, plan, forms, found)

    def removed(self, start: int, stop: int, needed: Array) -> Array:
        """The mask of some queries, checked; the sizes of strata that occur become True in `needed`."""
        near, pool = self._near, self._pool
        masked = np.zeros((stop - start, near.n_gallery), np.bool_)
        for mask in self._masks:
            masked |= mask(start, stop)
        random = self._gallery.n_drawn > 0
        if random and self._masks:
            cut = self._survey(masked, needed)
            if cut[0] >= 0 and self._gallery.shared:
                identity = self._identities[pool.identity[cut[1]]]
                where = f"of identity {identity}, for query {start + cut[0]}"
                raise ValueError(CUT.format(where=where))
        if near.same is not None:
            rows = np.flatnonzero(near.same[start:stop] >= 0)
            masked[rows, near.same[start:stop][rows]] = True
        if random and (near.same is not None or self._masks):
            cut = self._survey(masked, needed)
            if self._gallery.short == "refuse" and cut[2] >= 0 and cut[3] < self._gallery.n_drawn:
                owner = self._identities[pool.identity[cut[2]]]
                refuse_short(f"{owner} (after the mask)", int(cut[3]), self._gallery.n_drawn)
        refuse_few(start, masked, self._codes[start:stop], pool, self._gallery)
        return masked

    def _fill(self, start: int, stop: int, result: Found) -> None:
        block = self.block(start, stop)
        part = Found(*(values[start:stop] for values in result))
        if self._near.truncated:
            self._fill_bracket(start, stop, block, part)
            return
        self.score(block, part)

    def _fill_bracket(self, start: int, stop: int, block: Rows, part: Found) -> None:
        """Score lists of the nearest: the smallest results, and the largest where they differ."""
        masked, codes = block.masked, block.codes
        right = self._pool.identity[self._pool.stratum] == codes[:, None]
        listed = self._near.listed(start, stop, fair=bool(block.plan.fair))
        low, rows, high = bracket(listed, masked, right)
        self.score(block._replace(values=low), part)
        self.open[start + rows] = True
        if len(rows) and not self._near.approximate:
            best = Found(*(np.zeros_like(values[rows]) for values in part))
            self.score(block._replace(values=high, masked=masked[rows], codes=codes[rows]), best)
            self.highest.append((start + rows, best))

    def _survey(self, masked: Array, needed: Array) -> Array:
        cut = np.full(4, -1, np.int64)
        sizes = np.where(self._pool.always, 0, self._pool.sizes)  # those are drawn whole, cut or not
        survey(masked, self._pool.stratum, sizes, needed, cut)
        return cut


def _rounded_up(degree: int) -> int:
    """The degree, or a little more, so that similar problems share a rule."""
    step = 1 << max(degree.bit_length() - 4, 0)
    return -(-degree // step) * step
