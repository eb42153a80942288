"""What galleries are drawn from: strata and identities of the gallery items, and random identities."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from .._validation import rectangular
from ._compiled.query import count_left
from ._compiled.tables import Plan, Pool
from ._gallery import Gallery
from ._identities import as_names

MOST_STEPS = 1e14


def pool_of(gallery: Gallery, gallery_ids: Array, identities: Array, always: Any) -> Pool:
    """Strata and identities of the gallery items.

    Parameters
    ----------
    gallery : Gallery
    gallery_ids : ndarray of shape (n_gallery,)
    identities : ndarray
        The sorted identities of the gallery.
    always : None, bool array of shape (n_gallery,), or sequence of identities
        Items that are in every gallery.
    """
    n_items = len(gallery_ids)
    codes = np.searchsorted(identities, gallery_ids).astype(np.int64)
    sure = always_drawn(always, gallery_ids)
    strata = codes
    if gallery.strata is not None:
        parts = gallery.strata if isinstance(gallery.strata, tuple) else (gallery.strata,)
        if not parts:
            msg = "strata must hold at least one array, got ()"
            raise ValueError(msg)
        names = [as_names("strata", part, n_items, "gallery item") for part in parts]
        strata = _nested(names, codes)
    _, first, stratum, sizes = np.unique(
        strata * 2 + sure, return_index=True, return_inverse=True, return_counts=True
    )
    owners = codes[first]
    if gallery.n_drawn and gallery.short == "refuse":
        few = np.flatnonzero((sizes < gallery.n_drawn) & ~sure[first])
        if len(few):
            refuse_short(identities[owners[few[0]]], int(sizes[few[0]]), gallery.n_drawn)
    by_item, by_stratum = np.argsort(codes, kind="stable"), np.argsort(owners, kind="stable")
    numbers = np.arange(len(identities) + 1)
    return Pool(
        stratum.ravel().astype(np.int32),
        owners,
        np.searchsorted(codes[by_item], numbers),
        by_item,
        np.searchsorted(owners[by_stratum], numbers),
        by_stratum,
        sizes.astype(np.int64),
        sure[first],
        np.int64(gallery.n_drawn),
        codes.astype(np.int32),
    )


def items_left(masked: Array, pool: Pool) -> Array:
    """Numbers of items that are not masked, int64 (n_queries, n_strata)."""
    left = np.empty((len(masked), len(pool.sizes)), np.int64)
    count_left(masked, pool, left)
    return left


def draws_from(left: Array, pool: Pool) -> Array:
    """How many items are drawn of strata of these sizes; strata are on the last axis."""
    draws: Array = np.where(pool.always | (pool.shots == 0), left, np.minimum(left, pool.shots))
    return draws


def refuse_short(identity: Any, size: int, drawn: int) -> None:
    """Raise ValueError: a stratum has too few items."""
    msg = (
        f"a stratum of identity {identity} has {size} items, but {drawn} are drawn; "
        'Gallery(..., short="all") takes all items of such strata'
    )
    raise ValueError(msg)


def _nested(names: list[Array], codes: Array) -> Array:
    """Codes of the strata; ValueError if one holds several identities."""
    strata = np.zeros(len(codes), np.int64)
    for part in names:
        _, at = np.unique(part, return_inverse=True)
        _, strata = np.unique(strata * (int(at.max()) + 1) + at.ravel(), return_inverse=True)
        strata = strata.ravel().astype(np.int64)
    pairs = np.unique(np.stack([strata, codes], axis=1), axis=0)
    if len(pairs) > int(strata.max()) + 1:
        msg = (
            "each stratum must lie within one identity, but a stratum of the given strata holds several; "
            "pass strata=(gallery_ids, ...)"
        )
        raise ValueError(msg)
    return strata


def always_drawn(always: Any, gallery_ids: Array) -> Array:
    """Which gallery items are in every gallery."""
    if always is None:
        return np.zeros(len(gallery_ids), np.bool_)
    must = (
        "always must be a bool array with one value for each gallery item, or different identities of the "
        "gallery"
    )
    given = np.atleast_1d(rectangular(always, must))
    if given.dtype.kind == "O" and all(isinstance(value, (bool, np.bool_)) for value in given.flat):
        given = given.astype(np.bool_)
    if given.dtype == np.bool_:
        if given.shape != gallery_ids.shape:
            msg = f"always must have shape {gallery_ids.shape}, one for each item, got {given.shape}"
            raise ValueError(msg)
        return given
    if given.ndim != 1 or isinstance(always, (dict, set, frozenset)):
        msg = f"{must}, got {always!r}"
        raise TypeError(msg)
    left = set(gallery_ids.tolist())
    for name in given.tolist():
        if name not in left:
            msg = f"{must}, got {name!r}{' twice' if (given == name).sum() > 1 else ''}"
            raise ValueError(msg)
        left.remove(name)
    return np.isin(gallery_ids, given)


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
        out = np.zeros_like(masked) if gallery.shared else masked
        if gallery.shared and without is not None:
            out |= without
        free = (items_left(out, pool) > 0) & ~pool.always
        choosable = np.logical_or.reduceat(free[:, pool.strata], pool.strata_starts[:-1], axis=1)
        others += choosable.sum(axis=1) - (choosable[np.arange(len(codes)), codes] & (codes >= 0))
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
