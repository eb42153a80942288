"""Strata and identities of the gallery items of one problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .._validation import rectangular
from ._compiled.tables import Pool
from ._gallery import Gallery
from ._identities import as_names


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


def full_draws(pool: Pool) -> Array:
    """How many items of every stratum are drawn if no item is masked."""
    if pool.shots == 0:
        return np.asarray(pool.sizes)
    draws: Array = np.where(pool.always, pool.sizes, np.minimum(pool.sizes, pool.shots))
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
