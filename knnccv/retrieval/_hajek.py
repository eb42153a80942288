"""Hájek's first-order variance of the scores over random galleries that all queries share.

The best prediction of a score S by a sum over the drawn items is the sum over strata and drawn items j of
``(n - 1) / (n - a) h_j``, with ``h_j = E[S | j is drawn] - E[S]``. Where a of n items are drawn without
replacement, the variance of this sum is ``a (n - 1) / (n (n - a))`` times the sum of ``h_j^2``. Strata are
independent, so that their variances add up; the rest of the variance of S is not negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._parallel import expect, for_each, n_workers
from .._typing import Array
from ._compiled.hajek_tables import MAP_R, NDCG, PRECISION, R_PRECISION, RECALL, Wanted, tables_of
from ._compiled.hajek_walk import effect_rows
from ._compiled.tables import RECIPROCAL
from ._draw import Draw
from ._jackknife import ROWS
from ._problem import Problem
from ._scores import column_of

AT_RANKS = {
    "precision": PRECISION,
    "recall": RECALL,
    "ndcg": NDCG,
    "r_precision": R_PRECISION,
    "map@r": MAP_R,
}
INTEGRALS = ("ap", "rr", "inp", "rbp")
INSTEAD = "sampled_retrieval estimates the standard deviation by random galleries"


def check_hajek(problem: Problem) -> None:
    """Raise ValueError if the variance of this problem cannot be computed, with the reason."""
    reason = ""
    for gallery, _ in problem.parts:
        if not gallery.n_drawn:
            reason = reason or "the whole gallery is taken, so that nothing is random"
        elif not gallery.shared:
            reason = (
                "every query has a gallery of its own; the standard deviation of the CMC is then exact, "
                "cmc_std of the result"
            )
    if problem.near.same is not None:
        reason = "queries that are gallery items are removed from it, so that each has another gallery"
    if reason:
        msg = f"hajek=True needs one random gallery that all queries share, but {reason}; {INSTEAD}"
        raise ValueError(msg)
    if problem.ties != "index":
        msg = f'hajek=True: the order of ties must be fixed, ties="index", got {problem.ties!r}; {INSTEAD}'
        raise ValueError(msg)
    for score in problem.scores:
        if score.family not in (*AT_RANKS, *INTEGRALS, "cmc"):
            msg = f"hajek=True: the score {score.name!r} has no formula yet; {INSTEAD}"
            raise ValueError(msg)


def hajek_variances(draw: Draw, weights: Array, n_jobs: int | None) -> dict[str, Any]:
    """The first-order variance of every score of one gallery; an array for "cmc"."""
    effects, columns = item_effects(draw, weights, n_jobs)
    pool = draw.pool
    n, a = pool.sizes.astype(float), draw.draws.astype(float)
    factor = a * (n - 1) / (n * np.where(n > a, n - a, np.inf))
    variances = factor[pool.stratum] @ effects**2
    return {
        score.name: variances[columns[score.name]]
        if score.family == "cmc"
        else float(variances[columns[score.name]][0])
        for score in draw.scores
    }


def item_effects(draw: Draw, weights: Array, n_jobs: int | None) -> tuple[Array, dict[str, slice]]:
    """What every gallery item adds to the expected scores if it is drawn.

    Returns
    -------
    effects : ndarray of shape (n_gallery, n_columns)
        ``E[score | item is drawn] - E[score]``; 0 for items that always are.
    columns : dict of str to slice
        The columns of every score.
    """
    problem, pool, scores = draw.problem, draw.pool, draw.scores
    integrals = [score for score in scores if score.integral]
    ranked = [score for score in scores if score.family in AT_RANKS]
    columns = {score.name: slice(c, c + 1) for c, score in enumerate([*integrals, *ranked])}
    start = len(columns)
    max_rank = 0
    for score in scores:
        if score.family == "cmc":
            max_rank = problem.max_rank
            columns[score.name] = slice(start, start + max_rank)
    kinds = [column_of(score, scores, problem.ap) for score in integrals]
    by_identity = problem.rank == "identity" and (max_rank > 0 or RECIPROCAL in kinds)
    most = int(np.bincount(pool.identity, weights=draw.draws).max())
    depths = [score.depth or most for score in ranked]
    wanted = Wanted(
        integrals=np.array(kinds, np.int64),
        at_ranks=np.array([AT_RANKS[score.family] for score in ranked], np.int64),
        depths=np.array(depths, np.int64),
        max_rank=np.int64(max_rank),
        length=np.int64(max([0, *depths, 0 if by_identity else max_rank])),
        by_identity=np.bool_(by_identity),
        identity_integral=np.int64(kinds.index(RECIPROCAL) if by_identity and RECIPROCAL in kinds else -1),
        nodes=draw.plan.nodes,
        weights=draw.plan.weights,
    )
    random = draw.draws < pool.sizes
    tables = tables_of(pool.sizes[random], int(pool.shots), wanted.nodes)
    shape = (problem.near.n_gallery, start + max_rank)
    effects = np.zeros(shape)
    blocks = draw.blocks(ROWS)
    at_once = n_workers(n_jobs)
    expect(len(blocks))
    for first in range(0, len(blocks), at_once):
        some = blocks[first : first + at_once]
        parts = {rows: np.zeros(shape) for rows in some}

        def fill(rows: tuple[int, int], parts: dict[tuple[int, int], Array] = parts) -> None:
            block, of = draw.block(*rows), weights[slice(*rows)]
            effect_rows(block.values, block.masked, block.codes, of, pool, tables, wanted, parts[rows])

        for_each(fill, some, n_jobs)
        for rows in some:  # in their order, whatever the number of threads
            effects += parts[rows]
    return effects, columns
