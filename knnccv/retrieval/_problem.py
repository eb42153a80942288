"""Arguments of `expected_retrieval` and `sampled_retrieval`, checked."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from .._base.parallel import check_pool
from .._base.typing import Array
from .._base.validation import check, check_choice, check_integer, check_tol
from .._core.driver import callers_level
from ..neighbors import Between, Neighbors, between_distances
from ._forms import MOST_RANKS, Score, parse
from ._gallery import CONVENTIONS, Gallery, Protocol, always_drawn
from ._masks import SELF, Block, SameCamera, as_masks, as_names, check_alike, codes_in


class Asked(NamedTuple):
    """Arguments of `expected_retrieval`; those of a `Problem` are checked, and none is missing."""

    exclude: Any
    scores: Any
    rank: Any
    ap: Any
    max_rank: int
    ties: str
    tol: float
    always: Any
    average: str


class Problem(NamedTuple):
    """What is scored, and how.

    Attributes
    ----------
    near : Between
    query_ids, items : ndarray
        Identities of the queries and of the gallery items.
    identities : ndarray
        The sorted identities of the gallery.
    codes : int64 ndarray of shape (n_queries,)
        Positions of the queries' identities among them, or -1.
    masks : list of Block
    parts : list of (Gallery, tuple of Score)
        Scores of the drawn gallery; a protocol may take others from the whole one.
    asked : Asked
    protocol, drawn, mask : str
        What is evaluated, in words.
    """

    near: Between
    query_ids: Array
    items: Array
    identities: Array
    codes: Array
    masks: list[Block]
    parts: list[tuple[Gallery, tuple[Score, ...]]]
    asked: Asked
    protocol: str
    drawn: str
    mask: str


def check_problem(
    near: Any,
    query_ids: Any,
    gallery_ids: Any,
    gallery: Any,
    cameras: tuple[Any, Any],
    asked: Asked,
    n_jobs: int | None,
    progress: bool,
) -> Problem:
    """Check the arguments of `expected_retrieval`; errors as described there."""
    near = _as_between(near)
    queries = as_names("query_ids", query_ids, near.n_queries, "query")
    items = as_names("gallery_ids", gallery_ids, near.n_gallery, "gallery item")
    check_alike("query_ids", queries, "gallery_ids", items)
    check_tol(asked.tol)
    check_choice("ties", asked.ties, ("index", "random"))
    check_choice("average", asked.average, ("pooled", "identity"))
    check_pool(n_jobs, None, progress)
    max_rank = check_integer("max_rank", asked.max_rank, 1, MOST_RANKS)
    masks = as_masks(asked.exclude, cameras)
    rank, ap = asked.rank, asked.ap
    name, drawn = "no named protocol", ""
    whole: tuple[str, ...] = ()
    if isinstance(gallery, Protocol):
        protocol = gallery
        first, second = _cameras(protocol, *cameras, near)
        rank, ap = _settled("rank", rank, protocol.rank), _settled("ap", ap, protocol.ap)
        masks = [*protocol.exclude(first, second), *masks]
        gallery = protocol.gallery(items, second)
        name, whole, drawn = protocol.name, protocol.whole, protocol.drawn
    else:
        gallery = _as_gallery(gallery, cameras, masks)
        drawn = gallery.words()
    rank, ap = "image" if rank is None else rank, "rectangle" if ap is None else ap
    check_choice("rank", rank, ("image", "identity"))
    check_choice("ap", ap, CONVENTIONS)
    wanted = parse(asked.scores, ap)
    if SELF in masks:
        near, masks = _without_self(near), [mask for mask in masks if mask != SELF]
    parts = [
        (gallery, tuple(score for score in wanted if score.name not in whole)),
        (Gallery("all"), tuple(score for score in wanted if score.name in whole)),
    ]
    words = [*map(repr, masks), *(["the query itself"] if near.same is not None else [])]
    blocks = [mask.bind(queries, items) for mask in masks]
    if near.alike and near.same is None and len(items) > 1 and np.array_equal(queries, items):
        _warn_of_same_items(near, blocks)
    identities = np.unique(items)
    kept = int(always_drawn(asked.always, items).sum())
    if kept and gallery.random:
        drawn += f"; {kept} item{'s' * (kept > 1)} in every gallery"
    return Problem(
        near=near,
        query_ids=queries,
        items=items,
        identities=identities,
        codes=codes_in(queries, identities),
        masks=blocks,
        parts=[part for part in parts if part[1]],
        asked=asked._replace(scores=wanted, rank=rank, ap=ap, max_rank=max_rank, tol=float(asked.tol)),
        protocol=name,
        drawn=drawn,
        mask=" and ".join(words) or "none",
    )


def blocks_of(near: Between, step: int | None = None) -> list[tuple[int, int]]:
    """First query and end of every block, of `step` queries or as many as memory allows."""
    step = step or near.rows_at_once
    return [(start, min(start + step, near.n_queries)) for start in range(0, near.n_queries, step)]


def removed_by(masks: list[Block], start: int, stop: int, n_items: int) -> Array:
    """Which gallery items are removed for some queries, by any of the masks."""
    removed = np.zeros((stop - start, n_items), np.bool_)
    for mask in masks:
        removed |= mask(start, stop)
    return removed


def weights_of(codes: Array, valid: Array, average: str) -> Array:
    """Weights of the queries, which sum to 1."""
    weights = np.zeros(len(codes))
    if average == "pooled":
        weights[valid] = 1 / valid.sum()
        return weights
    _, at, counts = np.unique(codes[valid], return_inverse=True, return_counts=True)
    weights[valid] = 1 / counts[at.ravel()] / len(counts)
    return weights


def _as_between(near: Any) -> Between:
    if isinstance(near, Between):
        return near
    if isinstance(near, Neighbors):
        msg = (
            f"near is {near!r}, orders of one set of samples; pass Neighbors.between(queries, gallery), a "
            "matrix of distances, or Neighbors.from_distances(distances, queries=...)"
        )
        raise TypeError(msg)
    msg = (
        "near must be distances, got a function: scores of distances that depend on the drawn gallery, "
        "as after re-ranking, query expansion or normalization over the gallery, have no exact mean"
    )
    check(not callable(near), msg, error=TypeError)
    return between_distances(near)


def _as_gallery(given: Any, cameras: tuple[Any, Any], masks: list[Any]) -> Gallery:
    gallery: Gallery = Gallery("all") if given is None else given
    must = "gallery must be a Gallery or a Protocol such as market1501()"
    check(isinstance(gallery, Gallery), must, gallery, TypeError)
    used = any(isinstance(mask, SameCamera) and mask.query_cams is cameras[0] for mask in masks)
    msg = (
        "query_cams and gallery_cams go with a protocol such as market1501(); otherwise pass "
        'exclude="same-identity-camera" as well'
    )
    check(used or not any(side is not None for side in cameras), msg)
    return gallery


def _cameras(protocol: Protocol, query_cams: Any, gallery_cams: Any, near: Between) -> tuple[Array, Array]:
    msg = f"the protocol {protocol.name} needs query_cams and gallery_cams"
    check(query_cams is not None and gallery_cams is not None, msg)
    first = as_names("query_cams", query_cams, near.n_queries, "query")
    second = as_names("gallery_cams", gallery_cams, near.n_gallery, "gallery item")
    protocol.check_cameras(second)
    return first, second


def _settled(name: str, given: str | None, fixed: str) -> str:
    msg = f"{name} is {fixed!r} in this protocol, got {given!r}; omit it, or pass a Gallery and a mask"
    check(given is None or given == fixed, msg)
    return fixed


def _without_self(near: Between) -> Between:
    """Distances from which the query itself is removed."""
    if near.same is not None:
        return near
    msg = (
        'exclude="self" needs queries and gallery to be the same items, got '
        f"{near.n_queries} queries and {near.n_gallery} gallery items; otherwise pass "
        "Neighbors.from_distances(D, queries=<gallery index of every query, or -1>)"
    )
    check(near.n_queries == near.n_gallery, msg)
    return near.with_same(np.arange(near.n_queries))


def _warn_of_same_items(near: Between, masks: list[Block]) -> None:
    """Warn if queries and gallery are the same items, and a query may find itself."""
    itself = (removed_by(masks, *rows, near.n_gallery).diagonal(rows[0]) for rows in blocks_of(near))
    if all(removed.all() for removed in itself):
        return
    twice, zero = "", "the diagonal of the distances is 0"
    if not near.given:
        twice, zero = ", or the same array twice to Neighbors.between,", "their features are equal"
    msg = (
        f'pass exclude="self"{twice} if queries and gallery are the same {near.n_queries} items: {zero}, '
        "their identities are equal, and a query may find itself as a right item at distance 0"
    )
    warnings.warn(msg, UserWarning, stacklevel=callers_level())
