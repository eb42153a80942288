"""Random identities of a gallery: how many there are to choose from, and how many galleries that makes."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ._compiled.query import count_others
from ._compiled.tables import Plan, Pool
from ._gallery import Gallery

MOST_STEPS = 1e14


class Choice(NamedTuple):
    """The number of random identities, and (galleries of an identity, number of such identities)."""

    n_identities: int
    sizes: tuple[tuple[int, int], ...]

    def n_galleries(self) -> int:
        """Number of different galleries, the elementary symmetric polynomial of the identities' numbers."""
        most = min(self.n_identities, sum(count for _, count in self.sizes))
        sums = [1, *([0] * most)]
        for ways, count in self.sizes:
            terms = [math.comb(count, j) * ways**j for j in range(min(count, most) + 1)]
            sums = [
                sum(sums[k - j] * term for j, term in enumerate(terms[: k + 1])) for k in range(most + 1)
            ]
        return sums[most]


def draws_of(gallery: Gallery, pool: Pool, draws: Array) -> tuple[tuple[int, int, int], ...] | Choice:
    """(size, drawn items, number) of the strata, or the choice of identities."""
    if gallery.n_identities is None:
        pairs, counts = np.unique(np.stack([pool.sizes, draws], axis=1), axis=0, return_counts=True)
        return tuple((int(n), int(a), int(c)) for (n, a), c in zip(pairs, counts, strict=True))
    ways: dict[int, int] = {}
    free = np.flatnonzero(~pool.always)
    for j, n, drawn in zip(pool.identity[free], pool.sizes[free], draws[free], strict=True):
        ways[int(j)] = ways.get(int(j), 1) * math.comb(int(n), int(drawn))
    return Choice(gallery.n_identities, tuple(Counter(ways.values()).items()))


def most_drawn(drawn: Array, pool: Pool, n_chosen: int) -> int:
    """The largest number of items in a gallery with `n_chosen` identities besides the query's; -1: all."""
    if n_chosen < 0:
        return int(drawn.sum())
    each = np.bincount(pool.identity, np.where(pool.always, 0, drawn), minlength=len(pool.item_starts) - 1)
    return int(drawn[pool.always].sum() + np.sort(each)[::-1][: n_chosen + 1].sum())


def others_of(
    masked: Array, codes: Array, pool: Pool, gallery: Gallery, without: Array | None = None
) -> Array:
    """For every query, the number of identities besides its own that can be chosen.

    Items in `without` are taken out before any gallery is drawn. Masked items are, too, unless one gallery
    serves all queries.
    """
    others = np.zeros(len(codes), np.int64)
    if gallery.n_identities is not None:
        out = masked
        if gallery.shared:
            out = np.zeros_like(masked)
            if without is not None:
                out |= without
        count_others(out, codes, pool, others)
    return others


def refuse_few(
    start: int | None,
    masked: Array,
    codes: Array,
    pool: Pool,
    gallery: Gallery,
    without: Array | None = None,
) -> None:
    """Raise ValueError if a query has too few identities to choose from; `start` is the first query."""
    if gallery.n_identities is None or gallery.short == "all":
        return
    most = others_of(masked, codes, pool, gallery, without) + 1
    few = np.flatnonzero((most < gallery.n_identities) & (codes >= 0))
    if len(few):
        who = "without a group of the jackknife, a query" if start is None else f"query {start + few[0]}"
        after = " after the mask" * bool(start is not None and masked[few[0]].any())
        msg = (
            f"n_identities={gallery.n_identities}: {who} can have at most {most[few[0]]} identities in its "
            f'gallery{after}; Gallery(..., short="all") takes all of them'
        )
        raise ValueError(msg)


def refuse_always(codes: Array, identities: Array, pool: Pool, gallery: Gallery) -> None:
    """Raise ValueError if shared galleries that are drawn without a query's identity have its items."""
    if gallery.n_identities is None or not gallery.shared:
        return
    sure = np.zeros(len(identities), np.bool_)
    sure[pool.identity[pool.always]] = True
    at = np.flatnonzero((codes >= 0) & sure[codes])
    if len(at):
        msg = (
            f"identity {identities[codes[at[0]]]} of query {at[0]} has items in always: it would have "
            "right items in galleries that are drawn without its identity, unlike other queries. Draw "
            "anew for every query, Gallery(..., per_query=True)"
        )
        raise ValueError(msg)


def refuse_long(codes: Array, pool: Pool, gallery: Gallery, plan: Plan) -> None:
    """Raise ValueError if the walk takes too many steps."""
    if gallery.n_identities is None:
        return
    own = np.diff(pool.item_starts)
    columns = len(plan.nodes) + int(plan.length) + int(plan.ahead)
    states = min(gallery.n_identities, len(own))
    steps = float(own[codes[codes >= 0]].sum()) * len(own) * states * columns
    if steps > MOST_STEPS:
        msg = (
            f"n_identities={gallery.n_identities} of {len(own)} needs about {steps:.1g} steps for "
            f"{len(codes)} queries, more than the {MOST_STEPS:.0g} that are allowed; take fewer identities "
            "or queries, or sampled_retrieval"
        )
        raise ValueError(msg)
