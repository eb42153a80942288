"""The search of `condense`: the least valuable samples are removed while the score does not fall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import types

from .._typing import Array
from ..kernel import compile_driver, jit
from ._condense_scores import PoolScore, PoolScorer

SAME = 1e-10
"""Scores that differ by less are equal, since rounding and the ends of lists change them."""
APART = 3
"""No sample of a batch is among that many nearest candidates of another one."""


@dataclass(frozen=True)
class Limits:
    """When the search ends: `tol` below the best score, `n_prototypes`, and `min_per_class` samples."""

    tol: float
    n_prototypes: int
    min_per_class: int


@dataclass(frozen=True)
class Path:
    """What the search did.

    ``removed`` (n_removed,) are the samples in the order of their removal, ``n_kept`` and ``scores``
    (n_steps,) the pools after each batch, the first of all samples. ``last`` is the score of the last pool.
    """

    removed: Array
    n_kept: Array
    scores: Array
    last: PoolScore


@jit
def choose_batch(by_value, gains, near, codes, room, codes_room, budget, size, batch):
    """Fill `batch` with the first samples that may be removed together, and return their number.

    ``by_value`` are samples, the least valuable first; ``near`` (n_items, any) the nearest candidates of
    each, -1 for none. At most `room` samples go, and at most ``codes_room[c]`` of class c. Their gains may
    not sum to less than ``-budget``.
    """
    n_items = len(codes)
    chosen = np.zeros(n_items, np.bool_)
    shut = np.zeros(n_items, np.bool_)
    left = codes_room.copy()
    n_chosen = 0
    total = 0.0
    for j in by_value:
        if n_chosen == min(size, room):
            break
        if left[codes[j]] < 1 or (n_chosen > 0 and shut[j]):
            continue
        apart = True
        for i in near[j]:
            if i >= 0 and chosen[i]:
                apart = False
        if not apart:
            continue
        if total + gains[j] < -budget:
            break
        total += gains[j]
        chosen[j] = True
        left[codes[j]] -= 1
        batch[n_chosen] = j
        n_chosen += 1
        for i in near[j]:
            if i >= 0:
                shut[i] = True
    return n_chosen


_INTEGERS, _FLOATS = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")
CHOOSE_BATCH = types.int64(
    _INTEGERS, _FLOATS, types.Array(types.int32, 2, "C"), _INTEGERS, types.int64, _INTEGERS, types.float64,
    types.int64, _INTEGERS,
)  # fmt: skip


def remove_while_score_holds(
    scorer: PoolScorer, codes: Array, sign: float, limits: Limits, batch_share: float
) -> Path:
    """Remove samples from the pool of all samples.

    Parameters
    ----------
    scorer : PoolScorer
    codes : int64 ndarray of shape (n_items,)
        Classes.
    sign : float
        1 if a larger score is better, -1 if a smaller one is.
    limits : Limits
    batch_share : float
        The largest share of the pool that is removed at once.
    """
    kept = np.ones(len(codes), bool)
    now = scorer.score(kept)
    removed: list[Array] = []
    n_kept, scores = [len(codes)], [now.score]
    best = sign * now.score
    size = most = max(1, int(batch_share * len(codes)))
    batch = np.empty(len(codes), np.int64)
    while True:
        gains = sign * (now.without - now.score)
        allowed = np.flatnonzero(kept & ~np.isnan(gains))
        by_value = allowed[np.argsort(-np.round(gains[allowed] / SAME), kind="stable")]
        left = np.bincount(codes[kept]) - limits.min_per_class
        room = int(kept.sum()) - limits.n_prototypes
        budget = sign * now.score - best + limits.tol + SAME
        near = scorer.nearest(kept, APART)
        choose = compile_driver(choose_batch, CHOOSE_BATCH)
        n = choose(by_value, gains, near, codes, room, left, budget, size, batch)
        if n == 0:
            break
        chosen = batch[:n].copy()
        kept[chosen] = False
        trial = scorer.score(kept) if scorer.allows(kept) else None
        if trial is None or sign * trial.score < best - limits.tol - SAME:
            kept[chosen] = True
            if n == 1:
                break
            size = max(1, n // 2)
            continue
        removed.append(chosen)
        now = trial
        best = max(best, sign * now.score)
        n_kept.append(int(kept.sum()))
        scores.append(now.score)
        scorer.shrink_to(kept.copy())
        most = max(1, int(batch_share * n_kept[-1]))
        size = min(2 * size, most)
    order = np.concatenate(removed) if removed else np.empty(0, np.int64)
    return Path(order, np.array(n_kept), np.array(scores), now)
