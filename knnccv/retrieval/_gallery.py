"""How galleries are drawn: `Gallery`, protocols by name, and the strata of gallery items they draw from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._base.typing import Array
from .._base.validation import ByValue, check, check_bool, check_choice, check_integer, rectangular
from ._compiled import Pool
from ._compiled.walk import count_left
from ._masks import CameraPairs, JunkIdentities, Mask, SameIdentityAndCamera, as_names

MOST_DRAWN = 2**31 - 1
CONVENTIONS = ("rectangle", "trapezoid")
SYSU_CAMERAS = {"all-search": (1, 2, 4, 5), "indoor-search": (1, 2)}

RETRAINED = {"regdb": "RegDB", "viper": "VIPeR", "prid": "PRID", "cuhk03": "the 20 splits of CUHK03"}


@dataclass(frozen=True, repr=False)
class Protocol:
    """A published protocol, for the argument `gallery` of `expected_retrieval`. See `market1501`.

    Attributes
    ----------
    name : str
    gallery : callable
        ``gallery(gallery_ids, gallery_cams)`` → `Gallery`.
    exclude : callable
        ``exclude(query_cams, gallery_cams)`` → masks.
    drawn : str
        The draw in words.
    rank : {"image", "identity"}
        What CMC and reciprocal rank count.
    ap : {"rectangle", "trapezoid"}
        The convention of the average precision.
    whole : tuple of str
        Scores of the whole gallery, not of the drawn one.
    gallery_cameras : tuple of int
        Cameras that the gallery may have; empty: all.

    Examples
    --------
    >>> from knnccv.retrieval import cuhk03
    >>> protocol = cuhk03()
    >>> protocol.name, protocol.whole
    ('CUHK03', ('ap',))
    """

    name: str
    gallery: Callable[[Any, Any], Any]
    exclude: Callable[[Any, Any], Any]
    drawn: str
    rank: str = "image"
    ap: str = "rectangle"
    whole: tuple[str, ...] = ()
    gallery_cameras: tuple[int, ...] = ()

    def __repr__(self) -> str:
        cameras = f"; gallery cameras {self.gallery_cameras}" if self.gallery_cameras else ""
        return f"<{self.name}: {self.drawn}; {self.rank} ranks; AP {self.ap}{cameras}>"

    def check_cameras(self, gallery_cams: Array) -> None:
        """Raise ValueError if the gallery has a camera that is not in it under this protocol."""
        if not self.gallery_cameras:
            return
        other = np.unique(gallery_cams[~np.isin(gallery_cams, self.gallery_cameras)])
        if len(other):
            msg = (
                f"the gallery of {self.name} has the cameras {self.gallery_cameras}, got items of "
                f"{', '.join(map(repr, other[:5].tolist()))}; leave them out"
            )
            raise ValueError(msg)


def market1501(ap: str = "rectangle") -> Protocol:
    """The protocol of Market-1501, DukeMTMC and MSMT17: nothing is drawn.

    Gallery items of the query's identity and camera are removed, and those with the identity -1. Queries
    without a right item are left out.

    Parameters
    ----------
    ap : {"rectangle", "trapezoid"}, default "rectangle"
        "rectangle" as in torchreid and fast-reid, "trapezoid" as in the Matlab code of Market-1501.

    Returns
    -------
    Protocol
        For `expected_retrieval`.

    References
    ----------
    Zheng, Shen, Tian, Wang, Wang & Tian, Scalable Person Re-identification: A Benchmark, ICCV 2015.

    Examples
    --------
    >>> from knnccv.retrieval import expected_retrieval, market1501
    >>> distances = [[0.1, 0.2, 0.3]]
    >>> found = expected_retrieval(distances, [7], [7, 8, 7], market1501(), [1], [1, 1, 2])
    >>> found["ap"].score
    0.5
    """
    check_choice("ap", ap, CONVENTIONS)
    return Protocol("Market-1501", _whole, _same_place_or_junk, "whole gallery", ap=ap)


def cuhk03() -> Protocol:
    """The single-gallery-shot protocol of CUHK03 in torchreid and fast-reid.

    Gallery items of the query's identity and camera are removed. Then one item of every identity is drawn,
    for every query anew. As in those codes, AP (rectangle) is that of the whole gallery.

    Returns
    -------
    Protocol
        For `expected_retrieval`.

    References
    ----------
    Li, Zhao, Xiao & Wang, DeepReID: Deep Filter Pairing Neural Network for Person Re-identification,
    CVPR 2014.

    Examples
    --------
    >>> from knnccv.retrieval import cuhk03, expected_retrieval
    >>> distances = [[0.1, 0.2, 0.3]]
    >>> found = expected_retrieval(distances, [7], [7, 8, 7], cuhk03(), [1], [1, 1, 2])
    >>> found.cmc[:2].tolist()
    [0.0, 1.0]
    """
    return Protocol(
        "CUHK03",
        _one_per_identity,
        _same_place,
        "1 per identity, anew for every query; AP: whole gallery",
        whole=("ap",),
    )


@dataclass(frozen=True, repr=False, eq=False)
class Gallery(ByValue):
    """How a random gallery is drawn from the pool of gallery items.

    Parameters
    ----------
    which : "all", optional
        Every item is in the gallery; nothing is random.
    per_identity : int, optional
        Items drawn of every identity, for every query anew (`per_query`), after its mask.
    shots : int, optional
        Items drawn of every stratum, once for all queries.
    strata : array or tuple of arrays of shape (n_gallery,), optional
        With `shots`: what defines a stratum, such as ``(ids, cams)``. Each stratum must lie within one
        identity. Default: the identities.
    per_query : bool, optional
        Whether every query has a gallery of its own. The expectation is the same; a mask may then cut
        strata. Default: True for `per_identity`, False for `shots`.
    mask : "before", optional
        Allows a mask that cuts strata of a gallery shared by the queries. It is then applied before the
        draw, as if every query had a gallery of its own.
    short : {"refuse", "all"}, default "refuse"
        Strata with fewer items than are drawn, or queries with fewer identities to draw from: an error, or
        all of them are taken.
    n_identities : int, optional
        For `sampled_retrieval`: identities in a gallery, drawn at random from those of the gallery items:
        the query's own, and ``n_identities - 1`` others, each set equally likely. Then items are drawn of
        them as above; without `which`, `per_identity` and `shots` all their items are in the gallery. Items
        that are in every gallery (`always`) do not depend on it. An identity that the mask removes as a
        whole is not drawn from; where one gallery serves all queries, it is, and adds nothing.

    Raises
    ------
    ValueError, TypeError
        If not exactly one of `which`, `per_identity` and `shots` is given, or one is not as above.

    Examples
    --------
    >>> from knnccv.retrieval import Gallery
    >>> Gallery(per_identity=1)
    Gallery(1 per identity, anew for every query)
    >>> Gallery(n_identities=100, per_identity=1)
    Gallery(100 random identities, one of them the query's, 1 per identity, anew for every query)
    """

    which: str | None = None
    _: KW_ONLY
    per_identity: int | None = None
    shots: int | None = None
    strata: Any = None
    per_query: bool | None = None
    mask: str | None = None
    short: str = "refuse"
    n_identities: int | None = None
    market1501 = staticmethod(market1501)
    cuhk03 = staticmethod(cuhk03)

    def __post_init__(self) -> None:
        """Check the arguments."""
        if isinstance(self.which, str) and self.which.lower() in RETRAINED:
            msg = (
                f"{RETRAINED[self.which.lower()]}: the model is trained again for every split, so the mean "
                "over the splits is no expectation over galleries; only the draw within one split is, as "
                "Gallery(per_identity=1)"
            )
            raise ValueError(msg)
        n_ways = sum(value is not None for value in (self.which, self.per_identity, self.shots))
        msg = 'Gallery takes exactly one of "all", per_identity=... and shots=...'
        check(n_ways == 1 or (n_ways == 0 and self.n_identities is not None), msg)
        if self.which is not None:
            check_choice("which", self.which, ("all",))
        msg = "strata needs shots=..., the number of items drawn of every stratum"
        check(self.strata is None or self.shots is not None, msg)
        if self.mask is not None:
            check_choice("mask", self.mask, ("before",))
        check_choice("short", self.short, ("refuse", "all"))
        for name in ("per_identity", "shots", "n_identities"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_integer(name, getattr(self, name), 1, MOST_DRAWN))
        if self.per_query is None:
            object.__setattr__(self, "per_query", self.per_identity is not None)
        check_bool("per_query", self.per_query)

    @property
    def n_drawn(self) -> int:
        """Items drawn of every stratum; 0 if all are."""
        return self.per_identity or self.shots or 0

    @property
    def n_others(self) -> int:
        """Random identities besides the query's own; -1 if all identities are in every gallery."""
        return -1 if self.n_identities is None else self.n_identities - 1

    @property
    def random(self) -> bool:
        """Whether anything is drawn."""
        return self.n_drawn > 0 or self.n_identities is not None

    @property
    def shared(self) -> bool:
        """Whether one random gallery serves all queries."""
        return self.random and not self.per_query and self.mask is None

    def words(self) -> str:
        """The draw in words."""
        if not self.random:
            return "whole gallery"
        of = "identity" if self.strata is None else "stratum"
        when = "anew for every query" if self.per_query else "one gallery for all queries"
        each = f"{self.n_drawn or 'all items'} per {of}"
        if self.n_identities is None:
            return f"{each}, {when}"
        return f"{self.n_identities} random identities, one of them the query's, {each}, {when}"

    def __repr__(self) -> str:
        return f"Gallery({self.words()})"

    @staticmethod
    def sysu(search: str = "all-search", shots: int = 1) -> Protocol:
        """The protocol of SYSU-MM01: infrared probes, a gallery of visible images.

        `shots` images are drawn of every identity and camera, one gallery for all probes. Identities are
        ranked by their nearest drawn image in CMC and reciprocal rank; AP (rectangle) and INP rank images.
        Camera 2 is removed for probes of camera 3, which is at the same place. Cells with fewer images than
        shots give all of them.

        Parameters
        ----------
        search : {"all-search", "indoor-search"}, default "all-search"
            Gallery of the cameras 1, 2, 4 and 5, or 1 and 2.
        shots : int, default 1
            Published tables use 1 and 10.

        Returns
        -------
        Protocol
            For `expected_retrieval`.

        References
        ----------
        Wu, Zheng, Yu, Gong & Lai, RGB-Infrared Cross-Modality Person Re-Identification, ICCV 2017.
        """
        check_choice("search", search, tuple(SYSU_CAMERAS))
        return Protocol(
            f"SYSU-MM01 {search}",
            partial(_per_cell, check_integer("shots", shots, 1, MOST_DRAWN)),
            _other_place,
            f"{shots} per identity and camera, one gallery for all queries",
            rank="identity",
            gallery_cameras=SYSU_CAMERAS[search],
        )


# Plain functions: a protocol must be picklable.


def _whole(gallery_ids: Any, gallery_cams: Any) -> Gallery:  # noqa: ARG001
    return Gallery("all")


def _one_per_identity(gallery_ids: Any, gallery_cams: Any) -> Gallery:  # noqa: ARG001
    return Gallery(per_identity=1)


def _per_cell(shots: int, gallery_ids: Any, gallery_cams: Any) -> Gallery:
    return Gallery(shots=shots, strata=(gallery_ids, gallery_cams), short="all")


def _same_place(query_cams: Any, gallery_cams: Any) -> list[Mask]:
    return [SameIdentityAndCamera(query_cams, gallery_cams)]


def _same_place_or_junk(query_cams: Any, gallery_cams: Any) -> list[Mask]:
    return [*_same_place(query_cams, gallery_cams), JunkIdentities(-1, "-1")]


def _other_place(query_cams: Any, gallery_cams: Any) -> list[Mask]:
    return [CameraPairs({3: (2,)}, query_cams, gallery_cams)]


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
        check(parts, "strata must hold at least one array, got ()")
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
    msg = (
        "each stratum must lie within one identity, but a stratum of the given strata holds several; "
        "pass strata=(gallery_ids, ...)"
    )
    check(len(pairs) <= int(strata.max()) + 1, msg)
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
        msg = f"always must have shape {gallery_ids.shape}, one for each item, got {given.shape}"
        check(given.shape == gallery_ids.shape, msg)
        return given
    check(given.ndim == 1 and not isinstance(always, (dict, set, frozenset)), must, always, TypeError)
    left = set(gallery_ids.tolist())
    for name in given.tolist():
        if name not in left:
            msg = f"{must}, got {name!r}{' twice' if (given == name).sum() > 1 else ''}"
            raise ValueError(msg)
        left.remove(name)
    return np.isin(gallery_ids, given)


class Draws(NamedTuple):
    """The sizes of strata, and how many items are drawn of each."""

    sizes: Array
    drawn: Array

    def n_galleries(self) -> int:
        """Number of different galleries."""
        strata = Counter(zip(self.sizes.tolist(), self.drawn.tolist(), strict=True))
        return math.prod(math.comb(*pair) ** count for pair, count in strata.items())


def refuse_few(start: int, masked: Array, codes: Array, pool: Pool, gallery: Gallery) -> None:
    """Raise ValueError if a query has too few identities to choose from; `start` is the first query.

    Identities that the mask removes cannot be chosen, unless one gallery serves all queries.
    """
    if gallery.n_identities is None or gallery.short == "all":
        return
    out = np.zeros_like(masked) if gallery.shared else masked
    free = (items_left(out, pool) > 0) & ~pool.always
    choosable = np.logical_or.reduceat(free[:, pool.strata], pool.strata_starts[:-1], axis=1)
    choosable[np.arange(len(codes)), codes] = True
    most = choosable.sum(axis=1)
    few = np.flatnonzero((most < gallery.n_identities) & (codes >= 0))
    if len(few):
        after = " after the mask" * bool(masked[few[0]].any())
        msg = (
            f"n_identities={gallery.n_identities}: query {start + few[0]} can have at most {most[few[0]]} "
            f'identities in its gallery{after}; Gallery(..., short="all") takes all of them'
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
