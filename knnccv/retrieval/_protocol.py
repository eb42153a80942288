"""Protocols: mask, draw, rank kind and AP convention in one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array


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
