"""How galleries are drawn: `Gallery`, and protocols by name."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_bool, check_choice, check_integer
from ._masks import CameraPairs, JunkIdentities, Mask, SameIdentityAndCamera

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


class Gallery:
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
        Identities in a gallery, drawn at random from those of the gallery items: the query's own, and
        ``n_identities - 1`` others, each set equally likely. Then items are drawn of them as above; without
        `which`, `per_identity` and `shots` all their items are in the gallery. Items that are in every
        gallery (`always`) do not depend on it. An identity that the mask removes as a whole is not drawn
        from; where one gallery serves all queries, it is, and adds nothing.

    Raises
    ------
    ValueError, TypeError
        If not exactly one of `which`, `per_identity` and `shots` is given, or one is not as above.

    Notes
    -----
    With `n_identities`, scores are means over the queries, each over the galleries that have its identity.
    For one gallery that serves all queries this is a ratio of expectations: of the sum of the scores of the
    queries whose identity is in the gallery, and of their number. The mean of the scores that random
    galleries report is another number if identities have unequal numbers of queries.

    Examples
    --------
    >>> from knnccv.retrieval import Gallery
    >>> Gallery(per_identity=1)
    Gallery(1 per identity, anew for every query)
    >>> Gallery(n_identities=100, per_identity=1)
    Gallery(100 random identities, one of them the query's, 1 per identity, anew for every query)
    """

    def __init__(
        self,
        which: str | None = None,
        *,
        per_identity: int | None = None,
        shots: int | None = None,
        strata: Any = None,
        per_query: bool | None = None,
        mask: str | None = None,
        short: str = "refuse",
        n_identities: int | None = None,
    ) -> None:
        if isinstance(which, str) and which.lower() in RETRAINED:
            msg = (
                f"{RETRAINED[which.lower()]}: the model is trained again for every split, so the mean over "
                "the splits is no expectation over galleries; only the draw within one split is, as "
                "Gallery(per_identity=1)"
            )
            raise ValueError(msg)
        n_ways = sum(value is not None for value in (which, per_identity, shots))
        if n_ways != 1 and not (n_ways == 0 and n_identities is not None):
            msg = 'Gallery takes exactly one of "all", per_identity=... and shots=...'
            raise ValueError(msg)
        if which is not None:
            check_choice("which", which, ("all",))
        if strata is not None and shots is None:
            msg = "strata needs shots=..., the number of items drawn of every stratum"
            raise ValueError(msg)
        if mask is not None:
            check_choice("mask", mask, ("before",))
        check_choice("short", short, ("refuse", "all"))
        self.per_identity = (
            None if per_identity is None else check_integer("per_identity", per_identity, 1, MOST_DRAWN)
        )
        self.shots = None if shots is None else check_integer("shots", shots, 1, MOST_DRAWN)
        self.n_identities = (
            None if n_identities is None else check_integer("n_identities", n_identities, 1, MOST_DRAWN)
        )
        self.strata = strata
        default = per_identity is not None
        self.per_query = default if per_query is None else check_bool("per_query", per_query)
        self.mask = mask
        self.short = short

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

    def with_per_query(self, per_query: bool) -> Gallery:
        """A copy that draws for every query, or once for all of them."""
        other = copy(self)
        other.per_query = per_query
        return other

    def words(self) -> str:
        """The draw in words."""
        if not self.random:
            return "whole gallery"
        of = "identity" if self.strata is None else "stratum"
        when = "anew for every query" if self.per_query else "one gallery for all queries"
        each = f"{self.n_drawn or 'all items'} per {of}"
        if self.n_identities is None:
            return f"{each}, {when}"
        ratio = " (scores: ratios of expectations)" if self.shared else ""
        return f"{self.n_identities} random identities, one of them the query's, {each}, {when}{ratio}"

    def __repr__(self) -> str:
        return f"Gallery({self.words()})"

    @staticmethod
    def market1501(ap: str = "rectangle") -> Protocol:
        """As `market1501`."""
        return market1501(ap)

    @staticmethod
    def cuhk03() -> Protocol:
        """As `cuhk03`."""
        return cuhk03()

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
