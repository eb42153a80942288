"""One draw of one problem: its blocks of queries, in threads; and again without each group of identities.

The jackknife's standard error of other identities follows from the scores without each group.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._base.parallel import check_wanted, for_each
from .._base.typing import Array
from .._base.validation import check, check_integer
from .._core.driver import callers_level
from .._core.luck.inference import InferenceWarning
from ._compiled import Found, Plan
from ._compiled.laws import ratio_tables
from ._compiled.rankings import rank_rows
from ._compiled.walk import walk_rows
from ._forms import Score
from ._gallery import Draws, Gallery, items_left, pool_of, refuse_always, refuse_few, refuse_short
from ._problem import Problem, blocks_of, removed_by
from ._scores import ScorePlan

CUT = (
    "the mask removes a part of a stratum ({where}), but one random gallery serves all queries: the number "
    "of right items would be random, and queries would be invalid at random. Draw anew for every query, "
    'after the mask, with Gallery(..., mask="before") or per_query=True'
)
NO_VALUES = np.empty((0, 0))
ROWS = 64
"""Queries that are scored at once: the same for all problems, so that sums have the same bits."""
N_GROUPS = 50
FEWEST = 3
LARGE, MUCH = 10, 0.05


class Rows(NamedTuple):
    """What is scored of some queries: distances (none of lists), mask, positions of identities, plan."""

    values: Array
    masked: Array
    codes: Array
    plan: Plan
    slack: Any = 0.0  # of the distances, of every query
    start: int = 0  # the first query


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
    plan : ScorePlan
    open : bool ndarray of shape (n_queries,)
        Which queries have right items that are not listed.
    """

    def __init__(self, problem: Problem, gallery: Gallery, scores: tuple[Score, ...]) -> None:
        self.problem, self.gallery, self.scores = problem, gallery, scores
        self.pool = pool = pool_of(gallery, problem.items, problem.identities, problem.asked.always)
        self.open = np.zeros(problem.near.n_queries, np.bool_)
        refuse_always(problem.codes, problem.identities, pool, gallery)
        sizes = pool.sizes
        self.draws: Array = np.where(pool.always | (pool.shots == 0), sizes, np.minimum(sizes, pool.shots))
        is_random = gallery.random or problem.asked.ties == "random"  # otherwise there is one ranking
        most = int(self.draws.sum()) if is_random else -1
        self.plan = ScorePlan(scores, pool, problem.asked, most)
        self._tables: dict[int, Array] = {}  # of sizes

    def found(self, n_jobs: int | None) -> tuple[Found, Found]:
        """Score all queries: the smallest and the largest results that agree with lists of the nearest."""
        low = self.empty(self.problem.near.n_queries)
        high = self.empty(self.problem.near.n_queries) if self.problem.near.truncated else low
        for_each(lambda block: self._fill(block, low, high), blocks_of(self.problem.near), n_jobs)
        return low, high

    def empty(self, n: int) -> Found:
        """Results of n queries, all zero."""
        return Found(
            values=np.zeros((n, self.plan.n_columns)),
            relevant=np.zeros(n, np.int64),
            skipped=np.zeros(n),
            rounding=np.zeros(n),
            ties=np.zeros(n, np.int64),
            means=np.zeros((n, 2)),
            slack=np.zeros(n),
        )

    def tabulated(self, sizes: Array) -> Plan:
        """The plan with the tables for strata of these sizes; row 0 is an item that is always drawn."""
        plan, shots, length = self.plan.plan, self.gallery.n_drawn, 1
        rows = np.zeros(int(self.pool.sizes.max()) + 1, np.int64)
        parts = [plan.nodes[None]]
        for size in np.unique(sizes[sizes > shots]).tolist() if plan.integrals and shots else ():
            if size not in self._tables:
                self._tables[size] = ratio_tables(size, shots, plan.nodes)
            rows[size] = length
            length += size + 1
            parts.append(self._tables[size])
        return plan._replace(ratios=np.concatenate(parts), rows=rows)

    def block(self, start: int, stop: int) -> Rows:
        """Distances and the checked mask of some queries, and the plan with the tables that they need."""
        masked, cut = self.removed(start, stop)
        near = self.problem.near
        values, slack = (NO_VALUES, 0.0) if near.truncated else near.rough(start, stop)
        sizes = np.concatenate([self.pool.sizes[~self.pool.always], cut])
        plan = self.tabulated(sizes)
        return Rows(values, masked, self.problem.codes[start:stop], plan, slack=slack, start=start)

    def score(self, block: Rows, found: Found) -> None:
        """Fill in the results of a block of queries; those with a negative code are skipped."""
        found.slack[:] = block.slack
        self._walk(block, found)
        if (found.slack < 0).any():  # the order matters where it is doubtful
            block.values[:] = self.problem.near.block(block.start, block.start + len(block.values))
            block.slack[:] = 0.0
            for values in found:
                values[:] = 0
            self._walk(block, found)

    def _walk(self, block: Rows, found: Found) -> None:
        values, masked, codes, plan, *_ = block
        pool = self.pool
        if pool.shots:
            walk_rows(values, masked, codes, pool, plan, found)
        else:  # whole galleries, by a walk where ties matter
            left = np.zeros(len(codes), np.bool_)
            rank_rows(values, masked, codes, pool, plan, found, left)
            if left.any():
                some = values[left], masked[left], codes[left]
                _fill_some(found, left, lambda part: walk_rows(*some, pool, plan, part))

    def removed(self, start: int, stop: int) -> tuple[Array, Array]:
        """The mask of some queries, checked, and what is left of the strata that it cuts."""
        problem, near = self.problem, self.problem.near
        masked = removed_by(problem.masks, start, stop, near.n_gallery)
        queries, strata, cut = self._cut(masked)
        if len(cut) and self.gallery.shared:
            where = f"of identity {self._owner(strata[0])}, for query {start + queries[0]}"
            raise ValueError(CUT.format(where=where))
        if near.same is not None:
            rows = np.flatnonzero(near.same[start:stop] >= 0)
            masked[rows, near.same[start:stop][rows]] = True
            queries, strata, cut = self._cut(masked)
        if self.gallery.short == "refuse" and len(cut) and cut.min() < self.gallery.n_drawn:
            owner = f"{self._owner(strata[cut.argmin()])} (after the mask)"
            refuse_short(owner, int(cut.min()), self.gallery.n_drawn)
        refuse_few(start, masked, problem.codes[start:stop], self.pool, self.gallery)
        return masked, cut

    def _fill(self, rows: tuple[int, int], low: Found, high: Found) -> None:
        """Score a block; of lists of the nearest, the largest results where they differ as well."""
        block, near = self.block(*rows), self.problem.near
        part, best = (Found(*(values[slice(*rows)] for values in found)) for found in (low, high))
        if not near.truncated:
            self.score(block, part)
            return
        right = self.pool.owner == block.codes[:, None]
        listed = near.listed(*rows, fair=bool(block.plan.fair))
        nearest, some, farthest = _bracket(listed, block.masked, right)
        self.score(block._replace(values=nearest), part)
        self.open[rows[0] + some] = True
        for values, filled in zip(best, part, strict=True):
            values[:] = filled
        if len(some) and not near.approximate:
            few = block._replace(values=farthest, masked=block.masked[some], codes=block.codes[some])
            _fill_some(best, some, lambda part: self.score(few, part))

    def _cut(self, masked: Array) -> tuple[Array, Array, Array]:
        """Queries and strata of which the mask removes a part, and the numbers of items that are left."""
        if self.gallery.n_drawn == 0 or not masked.any():
            return (np.zeros(0, np.int64),) * 3
        left, pool = items_left(masked, self.pool), self.pool
        cut = (left > 0) & (left < pool.sizes) & ~pool.always  # those are drawn whole
        queries, strata = np.nonzero(cut)
        return queries, strata, left[queries, strata]

    def what_is_drawn(self) -> Draws:
        """The strata of which some items may be drawn, for the number of galleries."""
        free = ~self.pool.always
        return Draws(self.pool.sizes[free], self.draws[free])

    def _owner(self, stratum: int) -> Any:
        return self.problem.identities[self.pool.identity[stratum]]


def _fill_some(found: Found, some: Array, score: Callable[[Found], None]) -> None:
    """Fill in the results of some queries of a block, which `score` fills in by themselves."""
    part = Found(*(np.zeros_like(values[some]) for values in found))
    part.slack[:] = found.slack[some]
    score(part)
    for values, filled in zip(found, part, strict=True):
        values[some] = filled


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


@dataclass(frozen=True, eq=False, repr=False)
class IdentityGroups:
    """Which identities are left out together.

    Attributes
    ----------
    identities : ndarray of shape (n_identities,)
        The identities that are left out, sorted.
    groups : int64 ndarray of shape (n_identities,)
        The group of each, from 0.
    sizes : int64 ndarray of shape (n_groups,)
        Number of identities in each group.
    n_queried : int
        How many of the identities have scored queries.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import IdentityGroups
    >>> groups = IdentityGroups(np.array([3, 5, 7]), np.array([0, 1, 2]), np.array([1, 1, 1]), n_queried=3)
    >>> groups.is_exact
    True
    """

    identities: Array
    groups: Array
    sizes: Array
    n_queried: int

    @property
    def is_exact(self) -> bool:
        """Whether every identity is left out alone."""
        return len(self.sizes) == len(self.identities)

    def same(self, other: IdentityGroups) -> bool:
        """Whether the other groups are the same."""
        return np.array_equal(self.identities, other.identities) and np.array_equal(
            self.groups, other.groups
        )

    def __repr__(self) -> str:
        low, high = int(self.sizes.min()), int(self.sizes.max())
        of = f"{low}" if low == high else f"{low} or {high}"
        how = "one by one" if self.is_exact else f"in {len(self.sizes)} random groups of {of}"
        n = len(self.identities)
        rest = f", {n - self.n_queried} of them without scored queries" if self.n_queried < n else ""
        return f"{n} identities left out {how}{rest}"


def check_groups(problem: Problem, jackknife: Any, n_groups: Any) -> int:
    """The largest number of groups; 0 without a jackknife.

    Raises
    ------
    ValueError, TypeError
        If `jackknife` is neither None nor "identity", or `n_groups` is no integer of at least 3, or is
        given without a jackknife; or distances are missing.
    """
    if jackknife is None:
        check(n_groups is None, f'n_groups={n_groups!r} needs jackknife="identity"')
        return 0
    must = 'jackknife must be None or "identity"'
    check(isinstance(jackknife, str) and jackknife == "identity", must, jackknife)
    most = N_GROUPS if n_groups is None else check_integer("n_groups", n_groups, FEWEST)
    msg = (
        'jackknife="identity" needs the distances of all gallery items, got lists of the nearest: '
        f"{problem.near!r}"
    )
    check(not problem.near.truncated, msg)
    return most


def groups_of(draw: Draw, valid: Array, n_groups: int) -> IdentityGroups:
    """Groups of identities, random but always the same; one identity each if there are few.

    Identities are left out if they have scored queries, or gallery items that a scored query may find and
    that are not in every gallery anyway. Those with scored queries are dealt first, the others after them,
    so that every group has its share of both.

    Raises
    ------
    ValueError
        If fewer than 3 identities have scored queries.
    """
    problem, pool, identities = draw.problem, draw.pool, draw.problem.identities
    found = np.ones(problem.near.n_gallery, np.bool_)
    if problem.masks or problem.near.same is not None:
        found[:] = False
        for rows in blocks_of(problem.near, ROWS):
            found |= ~draw.removed(*rows)[0][valid[slice(*rows)]].all(axis=0)
    n = len(identities)
    counts = np.bincount(pool.owner[found], minlength=n)
    sure = np.bincount(pool.owner[found & pool.always[pool.stratum]], minlength=n)
    queried = np.bincount(problem.codes[valid], minlength=n) > 0
    msg = (
        f'jackknife="identity" needs scored queries of at least {FEWEST} identities, got '
        f"{int(queried.sum())}"
    )
    check(queried.sum() >= FEWEST, msg)
    only_found = ~queried & (counts > sure)
    _warn_of_distractors(identities, counts, only_found)
    kept, rng = queried | only_found, np.random.default_rng(0)
    order = np.concatenate([rng.permutation(np.flatnonzero(some)) for some in (queried, only_found)])
    of = np.full(n, -1, np.int64)
    of[order] = np.arange(len(order)) % min(n_groups, len(order))
    if len(order) <= n_groups:
        of[kept] = np.arange(len(order))
    return IdentityGroups(identities[kept], of[kept], np.bincount(of[kept]), int(queried.sum()))


def _warn_of_distractors(identities: Array, counts: Array, only: Array) -> None:
    """Warn of an identity without queries that has so many items that it may stand for many."""
    if not only.any():
        return
    largest = int(np.argmax(np.where(only, counts, 0)))
    n, total = int(counts[largest]), int(counts.sum())
    others = (total - n) / max((counts > 0).sum() - 1, 1)
    if n > LARGE * others and n > MUCH * total:
        name = identities[largest]
        msg = (
            f"identity {name} has {n} of {total} gallery items and no scored query, and is left out as one "
            f"identity; if these are distractors of many identities, pass always=[{name.item()!r}], which "
            "keeps them in every gallery"
        )
        warnings.warn(msg, InferenceWarning, stacklevel=callers_level())


def scores_without(
    draw: Draw, weights: Array, groups: IdentityGroups, n_jobs: int | None
) -> dict[str, Array]:
    """The scores without each group: its queries are left out, and its gallery items before the draw.

    Each block of distances is computed once and walked once for every group.

    Parameters
    ----------
    weights : ndarray of shape (n_queries,)
        Of the queries, in the score of all; 0 for those without a right item.

    Returns
    -------
    dict of str to ndarray of shape (n_groups,), or (n_groups, max_rank) for "cmc"
    """
    problem, pool = draw.problem, draw.pool
    n_groups = len(groups.sizes)
    of = np.full(len(problem.identities), -1, np.int64)
    of[np.searchsorted(problem.identities, groups.identities)] = groups.groups
    of_items = of[pool.owner]
    of_queries = np.where(problem.codes >= 0, of[problem.codes], -1)
    blocks = blocks_of(problem.near, ROWS)
    sums = np.zeros((len(blocks), n_groups, draw.plan.n_columns))

    def fill(b: int) -> None:
        rows = slice(*blocks[b])
        block = draw.block(*blocks[b])
        for g in range(n_groups):
            check_wanted()
            shares = np.where(of_queries[rows] == g, 0.0, weights[rows])
            found = draw.empty(len(shares))
            codes = np.where(shares > 0, block.codes, -1)
            draw.score(block._replace(masked=block.masked | (of_items == g), codes=codes), found)
            sums[b, g] = (shares[:, None] * found.values).sum(axis=0)

    for_each(fill, list(range(len(blocks))), n_jobs)
    left = np.array([weights[of_queries != g].sum() for g in range(n_groups)])
    without = sums.sum(axis=0) / left[:, None]
    return {score.name: draw.plan.values_of(score, without) for score in draw.scores}
