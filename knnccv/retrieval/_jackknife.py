"""Scores without each group of identities."""

from __future__ import annotations

import numpy as np

from .._parallel import check_wanted, for_each
from .._typing import Array
from ._draw import Draw
from ._identity_groups import IdentityGroups, draw_groups
from ._scores import values_of

ROWS = 64
"""Queries that are scored at once: the same for all problems, so that sums have the same bits."""


def groups_of(draw: Draw, valid: Array, n_groups: int) -> IdentityGroups:
    """The groups of identities of a problem.

    Identities are left out if they have scored queries, or gallery items that a scored query may find and
    that are not in every gallery anyway.
    """
    problem, pool = draw.problem, draw.pool
    found = np.ones(problem.near.n_gallery, np.bool_)
    if problem.masks or problem.near.same is not None:
        found[:] = False
        for rows in draw.blocks(ROWS):
            found |= ~draw.removed(*rows)[valid[slice(*rows)]].all(axis=0)
    n = len(problem.identities)
    owner = pool.identity[pool.stratum]
    counts = np.bincount(owner[found], minlength=n)
    sure = np.bincount(owner[found & pool.always[pool.stratum]], minlength=n)
    queried = np.bincount(problem.codes[valid], minlength=n) > 0
    return draw_groups(problem.identities, queried, counts, sure == counts, n_groups)


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
    problem, pool, scores = draw.problem, draw.pool, draw.scores
    n_groups = len(groups.sizes)
    of = np.full(len(problem.identities), -1, np.int64)
    of[np.searchsorted(problem.identities, groups.identities)] = groups.groups
    of_items = of[pool.identity[pool.stratum]]
    of_queries = np.where(problem.codes >= 0, of[problem.codes], -1)
    widths = [problem.max_rank if score.curve else 1 for score in scores]
    starts = np.concatenate([[0], np.cumsum(widths)])
    blocks = draw.blocks(ROWS)
    sums = np.zeros((len(blocks), n_groups, int(starts[-1])))

    def fill(b: int) -> None:
        rows = slice(*blocks[b])
        block = draw.block(*blocks[b])
        for g in range(n_groups):
            check_wanted()
            shares = np.where(of_queries[rows] == g, 0.0, weights[rows])
            found = draw.empty(len(shares))
            codes = np.where(shares > 0, block.codes, -1)
            draw.score(
                block._replace(masked=block.masked | (of_items == g), codes=codes, without=of_items == g),
                found,
            )
            for c, score in enumerate(scores):
                values = values_of(score, found, scores, problem.ap, problem.max_rank)
                kept = np.where(shares[:, None] > 0, values.reshape(len(shares), -1), 0.0)
                sums[b, g, starts[c] : starts[c + 1]] = (shares[:, None] * kept).sum(axis=0)

    for_each(fill, list(range(len(blocks))), n_jobs)
    left = np.array([weights[of_queries != g].sum() for g in range(n_groups)])
    without = sums.sum(axis=0) / left[:, None]
    result = {}
    for c, score in enumerate(scores):
        part = without[:, starts[c] : starts[c + 1]]
        result[score.name] = part if score.curve else part[:, 0]
    return result
