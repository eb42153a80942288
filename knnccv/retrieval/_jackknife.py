"""Scores without each group of identities."""

from __future__ import annotations

import numpy as np

from .._parallel import for_each
from .._typing import Array
from ._blocks import Draw
from ._identity_groups import IdentityGroups, draw_groups
from ._problem import Problem
from ._scores import Score, values_of
from ._tables import Pool

ROWS = 64
"""Queries that are scored at once: the same for all problems, so that sums have the same bits."""


def groups_of(problem: Problem, draw: Draw, pool: Pool, valid: Array, n_groups: int) -> IdentityGroups:
    """The groups of identities of a problem.

    Identities are left out if they have scored queries, or gallery items that a scored query may find and
    that are not in every gallery anyway.
    """
    n_queries, n_gallery = problem.near.n_queries, problem.near.n_gallery
    found = np.zeros(n_gallery, np.bool_)
    if problem.masks or problem.near.same is not None:
        nothing = np.zeros(int(pool.sizes.max()) + 1, np.bool_)
        for start in range(0, n_queries, ROWS):
            rows = slice(start, min(start + ROWS, n_queries))
            masked = draw.removed(rows.start, rows.stop, nothing)
            found |= ~masked[valid[rows]].all(axis=0)
    else:
        found[:] = True
    n = len(problem.identities)
    owner = pool.identity[pool.stratum]
    counts = np.bincount(owner[found], minlength=n)
    sure = np.bincount(owner[found & pool.always[pool.stratum]], minlength=n)
    queried = np.bincount(problem.codes[valid], minlength=n) > 0
    return draw_groups(problem.identities, queried, counts, sure == counts, n_groups)


def scores_without(
    problem: Problem,
    draw: Draw,
    pool: Pool,
    scores: tuple[Score, ...],
    weights: Array,
    groups: IdentityGroups,
    n_jobs: int | None,
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
    n_groups, n_queries = len(groups.sizes), problem.near.n_queries
    of = np.full(len(problem.identities), -1, np.int64)
    of[np.searchsorted(problem.identities, groups.identities)] = groups.groups
    of_items = of[pool.identity[pool.stratum]]
    of_queries = np.where(problem.codes >= 0, of[problem.codes], -1)
    widths = [problem.max_rank if score.curve else 1 for score in scores]
    starts = np.concatenate([[0], np.cumsum(widths)])
    tiles = range(0, n_queries, ROWS)
    sums = np.zeros((len(tiles), n_groups, int(starts[-1])))

    def fill(start: int) -> None:
        rows = slice(start, min(start + ROWS, n_queries))
        block = draw.block(rows.start, rows.stop)
        for g in range(n_groups):
            shares = np.where(of_queries[rows] == g, 0.0, weights[rows])
            found = draw.empty(len(shares))
            codes = np.where(shares > 0, block.codes, -1)
            draw.score(block._replace(masked=block.masked | (of_items == g), codes=codes), found)
            for c, score in enumerate(scores):
                values = values_of(score, found, scores, problem.ap, problem.max_rank)
                kept = np.where(shares[:, None] > 0, values.reshape(len(shares), -1), 0.0)
                sums[start // ROWS, g, starts[c] : starts[c + 1]] = (shares[:, None] * kept).sum(axis=0)

    for_each(fill, list(tiles), n_jobs)
    left = np.array([weights[of_queries != g].sum() for g in range(n_groups)])
    without = sums.sum(axis=0) / left[:, None]
    result = {}
    for c, score in enumerate(scores):
        part = without[:, starts[c] : starts[c + 1]]
        result[score.name] = part if score.curve else part[:, 0]
    return result
