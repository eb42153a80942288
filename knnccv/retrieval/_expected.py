"""`expected_retrieval`: exact means of retrieval scores over all random galleries."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._parallel import check_pool
from .._typing import Array
from .._validation import check_choice, check_integer, check_tol
from ..neighbors import Between, Neighbors, between_distances
from ._blocks import Draw
from ._gallery import CONVENTIONS, Gallery
from ._identities import as_names, check_alike, codes_in
from ._masks import Mask, as_masks, excludes_self
from ._protocol import Protocol
from ._result import Retrieval, RetrievalScore
from ._scores import Score, parse, values_of
from ._strata import pool_of
from ._tables import Found

FEWEST_CHECKED = 20
SHARE_OF_SIMILARITIES = 0.95


def expected_retrieval(
    near: Any,
    query_ids: Any,
    gallery_ids: Any,
    gallery: Any = None,
    query_cams: Any = None,
    gallery_cams: Any = None,
    *,
    exclude: Any = None,
    scores: Any = ("cmc", "ap"),
    rank: str | None = None,
    ap: str | None = None,
    max_rank: int = 50,
    ties: str = "index",
    tol: float = 1e-12,
    always: Any = None,
    average: str = "query",
    n_jobs: int | None = None,
) -> Retrieval:
    """Exact means of retrieval scores over all galleries that may be drawn.

    Parameters
    ----------
    near : Between, or array of shape (n_queries, n_gallery)
        Distances, small = near: from `Neighbors.between`, or a matrix (in memory or memory-mapped).
    query_ids, gallery_ids : array of shape (n_queries,) and (n_gallery,)
        Identities, integers or text. A gallery item of the query's identity is right.
    gallery : Gallery or Protocol, optional
        How the gallery is drawn. Default: ``Gallery("all")``. A `Protocol` such as ``market1501()`` also
        sets the mask, `rank` and `ap`.
    query_cams, gallery_cams : array of shape (n_queries,) and (n_gallery,), optional
        Cameras, required by a `Protocol` and not used without one: masks have their own.
    exclude : mask, "self", callable or list of these, optional
        Gallery items that are removed for a query before anything is drawn: `SameIdentityAndCamera`,
        `SameCamera`, `CameraPairs`, `JunkIdentities`; a function of an int64 array of queries that returns
        a bool array (n, n_gallery), True = removed; "self": queries and gallery are the same items in the
        same order.
    scores : tuple of str, default ("cmc", "ap")
        "cmc"; "ap", the average precision; "rr", the reciprocal rank of the first right item; "inp", the
        number of right items divided by the rank of the last one; "precision@k", "recall@k", "ndcg@k"
        (binary relevance); "r_precision"; "map@r"; "rbp" or "rbp@p", rank-biased precision with the
        persistence p (default 0.8).
    rank : {"image", "identity"}, optional
        What "cmc" and "rr" count: every drawn image, or every identity once, at its nearest drawn image.
        Default: "image".
    ap : {"rectangle", "trapezoid"}, optional
        Average precision: the precision at each right item, or its mean with the precision just before.
        Default: "rectangle".
    max_rank : int, default 50
        Length of the CMC curve.
    ties : {"index", "random"}, default "index"
        Equally near gallery items: in the order of the gallery, or in random order, all equally likely.
    tol : float, default 1e-12
        Relative error that the quadrature may have. It is measured, and is part of `error_bound`.
    always : bool array of shape (n_gallery,), or identities, optional
        Items that are in every gallery, such as distractors under one identity.
    average : {"query", "identity"}, default "query"
        Mean over queries, or over the queries' identities of the mean of their queries.
    n_jobs : int, optional
        Threads. Default: all processors. Results are the same to the last bit for any number.

    Returns
    -------
    Retrieval
        Queries without a right item are left out and counted.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above; the mask cuts a stratum of a gallery that all queries share; a
        stratum has fewer items than are drawn; a distance is not finite; no query has a right item; or the
        matrix seems to hold similarities.

    Notes
    -----
    Averaged over: the galleries drawn from these items. Not averaged over: the identities and queries that
    happen to be in the data.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import Gallery, expected_retrieval
    >>> distances = np.array([[0.1, 0.4, 0.2, 0.9]])
    >>> r = expected_retrieval(distances, [7], [7, 7, 8, 8], Gallery(per_identity=1))
    >>> float(r.cmc[0]), round(float(r["ap"]), 12)
    (0.75, 0.875)
    """
    near = _as_between(near)
    queries = as_names("query_ids", query_ids, near.n_queries, "query")
    items = as_names("gallery_ids", gallery_ids, near.n_gallery, "gallery item")
    check_alike("query_ids", queries, "gallery_ids", items)
    wanted = parse(scores)
    check_tol(tol)
    check_choice("ties", ties, ("index", "random"))
    check_choice("average", average, ("query", "identity"))
    check_pool(n_jobs, None, progress=False)
    options = {"max_rank": check_integer("max_rank", max_rank, 1), "ties": ties, "tol": float(tol)}
    masks = as_masks(exclude)
    name = "no named protocol"
    whole: tuple[str, ...] = ()
    if isinstance(gallery, Protocol):
        protocol = gallery
        first, second = _cameras(protocol, query_cams, gallery_cams, near)
        rank, ap = _settled("rank", rank, protocol.rank), _settled("ap", ap, protocol.ap)
        masks = [*protocol.exclude(first, second), *masks]
        gallery = protocol.gallery(items, second)
        name, whole, drawn = protocol.name, protocol.whole, protocol.drawn
    else:
        if query_cams is not None or gallery_cams is not None:
            msg = (
                "query_cams and gallery_cams go with a protocol such as market1501(); otherwise pass a "
                "mask, exclude=SameIdentityAndCamera(query_cams, gallery_cams)"
            )
            raise ValueError(msg)
        gallery = Gallery("all") if gallery is None else gallery
        if not isinstance(gallery, Gallery):
            msg = f"gallery must be a Gallery or a Protocol such as market1501(), got {gallery!r}"
            raise TypeError(msg)
        drawn = gallery.words()
    rank, ap = "image" if rank is None else rank, "rectangle" if ap is None else ap
    check_choice("rank", rank, ("image", "identity"))
    check_choice("ap", ap, CONVENTIONS)
    near = _without_self(near, exclude)
    problem = _Problem(near, queries, items, masks, always, {"rank": rank, **options}, n_jobs)
    parts = [(gallery, tuple(score for score in wanted if score.family not in whole))]
    if len(parts[0][1]) < len(wanted):
        parts.append((Gallery("all"), tuple(score for score in wanted if score.family in whole)))
    parts = [part for part in parts if part[1]]
    found: dict[str, RetrievalScore] = {}
    for draw, some in reversed(parts):  # the words describe the first
        values, valid, counts, tied = problem.scored(draw, some, ap, average)
        found.update(values)
    words = [*(map(repr, masks)), *(["the query itself"] if near.same is not None else [])]
    return Retrieval(
        scores={score.name: found[score.name] for score in wanted},
        valid=valid,
        query_ids=queries,
        protocol=name,
        gallery=drawn,
        mask=" and ".join(words) or "none",
        rank=rank,
        ap=ap,
        ties=ties,
        average="queries" if average == "query" else "identities of their queries' means",
        tied=tied,
        per_query=parts[0][0].n_drawn > 0 and parts[0][0].per_query,
        draws=counts,
    )


class _Problem:
    """What all draws of one call share."""

    def __init__(
        self,
        near: Between,
        queries: Array,
        items: Array,
        masks: list[Mask],
        always: Any,
        options: dict[str, Any],
        n_jobs: int | None,
    ) -> None:
        self._near = near
        self._queries = queries
        self._items = items
        self._identities = np.unique(items)
        self._codes = codes_in(queries, self._identities)
        self._blocks = [mask.bind(queries, items) for mask in masks]
        self._always = always
        self._options = options
        self._n_jobs = n_jobs

    def scored(
        self, gallery: Gallery, scores: tuple[Score, ...], ap: str, average: str
    ) -> tuple[dict[str, RetrievalScore], Array, Any, int]:
        """Scores of one draw, valid queries, (size, drawn items, number) of strata, queries with ties."""
        pool = pool_of(gallery, self._items, self._identities, self._always)
        draw = Draw(
            self._near, self._codes, self._identities, gallery, pool, self._blocks, scores, self._options
        )
        found = draw.found(self._n_jobs)
        valid = found.relevant > 0
        if not valid.any():
            msg = (
                "no query has a right item in the gallery: no identity occurs in both, or the mask removes "
                "all right items"
            )
            raise ValueError(msg)
        if self._near.given:
            _refuse_similarities(found, valid)
        weights = _weights(self._codes, valid, average)
        result = {}
        for score in scores:
            values = values_of(score, found, scores, ap)
            relative = found.rounding + (draw.rule.error if score.integral else 0.0)
            errors = relative * (values if values.ndim == 1 else 1.0) + found.skipped * (not score.integral)
            per_item = values.copy()
            per_item[~valid] = np.nan
            mean = weights @ np.where(valid if values.ndim == 1 else valid[:, None], values, 0.0)
            result[score.name] = RetrievalScore(
                score.name,
                float(mean) if values.ndim == 1 else mean,
                per_item,
                weights,
                float(weights @ errors) + 4e-16,
            )
        sizes = np.stack([pool.sizes, draw.draws], axis=1)
        pairs, counts = np.unique(sizes, axis=0, return_counts=True)
        drawn = tuple((int(n), int(a), int(c)) for (n, a), c in zip(pairs, counts, strict=True))
        return result, valid, drawn, int((found.ties > 0).sum())


def _as_between(near: Any) -> Between:
    if isinstance(near, Between):
        return near
    if isinstance(near, Neighbors):
        msg = (
            f"near is {near!r}, orders of one set of samples; pass Neighbors.between(queries, gallery), a "
            "matrix of distances, or Neighbors.from_distances(distances, queries=...)"
        )
        raise TypeError(msg)
    if callable(near):
        msg = (
            "near must be distances, got a function: scores of distances that depend on the drawn gallery, "
            "as after re-ranking, query expansion or normalization over the gallery, have no exact mean"
        )
        raise TypeError(msg)
    return between_distances(near)


def _cameras(protocol: Protocol, query_cams: Any, gallery_cams: Any, near: Between) -> tuple[Array, Array]:
    if query_cams is None or gallery_cams is None:
        msg = f"the protocol {protocol.name} needs query_cams and gallery_cams"
        raise ValueError(msg)
    first = as_names("query_cams", query_cams, near.n_queries, "query")
    second = as_names("gallery_cams", gallery_cams, near.n_gallery, "gallery item")
    protocol.check_cameras(second)
    return first, second


def _settled(name: str, given: str | None, fixed: str) -> str:
    if given is not None and given != fixed:
        msg = f"{name} is {fixed!r} in this protocol, got {given!r}; omit it, or pass a Gallery and a mask"
        raise ValueError(msg)
    return fixed


def _without_self(near: Between, exclude: Any) -> Between:
    """Distances from which the query itself is removed, if `exclude` says so."""
    if not excludes_self(exclude) or near.same is not None:
        return near
    if near.n_queries != near.n_gallery:
        msg = (
            'exclude="self" needs queries and gallery to be the same items, got '
            f"{near.n_queries} queries and {near.n_gallery} gallery items; otherwise pass "
            "Neighbors.from_distances(D, queries=<gallery index of every query, or -1>)"
        )
        raise ValueError(msg)
    return near.with_same(np.arange(near.n_queries))


def _weights(codes: Array, valid: Array, average: str) -> Array:
    """Weights of the queries, which sum to 1."""
    weights = np.zeros(len(codes))
    if average == "query":
        weights[valid] = 1 / valid.sum()
        return weights
    _, at, counts = np.unique(codes[valid], return_inverse=True, return_counts=True)
    weights[valid] = 1 / counts[at.ravel()] / len(counts)
    return weights


def _refuse_similarities(found: Found, valid: Array) -> None:
    """Raise ValueError if right items are farther than wrong ones nearly everywhere."""
    both = valid & (found.means[:, 1] != 0)
    own, wrong = found.means[both].T
    if len(own) >= FEWEST_CHECKED and (own > wrong).mean() >= SHARE_OF_SIMILARITIES:
        farther = int((own > wrong).sum())
        msg = (
            f"right items are farther than wrong ones for {farther} of {len(own)} queries, "
            "as if these were similarities; pass distances, such as 1 - S"
        )
        raise ValueError(msg)
