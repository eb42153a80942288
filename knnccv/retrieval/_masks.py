"""Gallery items that do not count for a query: they are removed from its pool before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from .._typing import Array
from ._identities import as_names, check_alike, shared_codes

Block = Callable[[int, int], Array]


class Mask:
    """Base class: ``bind`` checks the mask against a problem and returns a function of blocks."""

    def bind(self, query_ids: Array, gallery_ids: Array) -> Block:
        """Return ``block(start, stop)`` → bool array of shape (stop - start, n_gallery), True = removed."""
        raise NotImplementedError


class SameCamera(Mask):
    """Remove all gallery items of the query's camera.

    Parameters
    ----------
    query_cams, gallery_cams : array of shape (n_queries,) and (n_gallery,)
        Integers or text.

    Examples
    --------
    >>> from knnccv.retrieval import SameCamera, expected_retrieval
    >>> mask = SameCamera([1], [1, 1, 2])
    >>> expected_retrieval([[0.1, 0.2, 0.3]], [7], [7, 8, 7], exclude=mask)["ap"].score
    1.0
    """

    def __init__(self, query_cams: Any, gallery_cams: Any) -> None:
        self.query_cams = query_cams
        self.gallery_cams = gallery_cams

    def __repr__(self) -> str:
        return "same camera"

    def _cameras(self, n_queries: int, n_gallery: int) -> tuple[Array, Array]:
        first = as_names("query_cams", self.query_cams, n_queries, "query")
        second = as_names("gallery_cams", self.gallery_cams, n_gallery, "gallery item")
        check_alike("query_cams", first, "gallery_cams", second)
        return first, second

    def bind(self, query_ids: Array, gallery_ids: Array) -> Block:
        """Compare the cameras."""
        first, second = shared_codes(*self._cameras(len(query_ids), len(gallery_ids)))
        return lambda start, stop: first[start:stop, None] == second


class SameIdentityAndCamera(SameCamera):
    """Remove the gallery items of the query's identity that its camera took, as Market-1501 does.

    Parameters
    ----------
    query_cams, gallery_cams : array of shape (n_queries,) and (n_gallery,)
        Integers or text.

    Examples
    --------
    >>> from knnccv.retrieval import SameIdentityAndCamera, expected_retrieval
    >>> mask = SameIdentityAndCamera([1], [1, 1, 2])
    >>> expected_retrieval([[0.1, 0.2, 0.3]], [7], [7, 8, 7], exclude=mask)["ap"].score
    0.5
    """

    def __repr__(self) -> str:
        return "same identity and camera"

    def bind(self, query_ids: Array, gallery_ids: Array) -> Block:
        """Compare identity and camera at once."""
        cameras = shared_codes(*self._cameras(len(query_ids), len(gallery_ids)))
        n_cameras = max(int(part.max()) for part in cameras) + 1
        identities = shared_codes(query_ids, gallery_ids)
        first, second = (ids * n_cameras + cams for ids, cams in zip(identities, cameras, strict=True))
        return lambda start, stop: first[start:stop, None] == second


class CameraPairs(SameCamera):
    """Remove the gallery items of some cameras, depending on the query's camera.

    Parameters
    ----------
    pairs : mapping
        The query's camera → gallery cameras that are removed, such as ``{3: (2,)}``.
    query_cams, gallery_cams : array of shape (n_queries,) and (n_gallery,)
        Integers or text.

    Examples
    --------
    >>> from knnccv.retrieval import CameraPairs, expected_retrieval
    >>> mask = CameraPairs({3: (2,)}, [3], [1, 2, 1])
    >>> expected_retrieval([[0.1, 0.2, 0.3]], [7], [8, 8, 7], exclude=mask)["ap"].score
    0.5
    """

    def __init__(self, pairs: Mapping[Any, Any], query_cams: Any, gallery_cams: Any) -> None:
        super().__init__(query_cams, gallery_cams)
        if not isinstance(pairs, Mapping):
            msg = f"pairs must map a query's camera to gallery cameras, such as {{3: (2,)}}, got {pairs!r}"
            raise TypeError(msg)
        self.pairs = {
            key: tuple(value) if np.iterable(value) and not isinstance(value, str) else (value,)
            for key, value in pairs.items()
        }

    def __repr__(self) -> str:
        return f"camera pairs {self.pairs}"

    def bind(self, query_ids: Array, gallery_ids: Array) -> Block:
        """Look the query's camera up."""
        first, second = self._cameras(len(query_ids), len(gallery_ids))
        for camera in (camera for key, value in self.pairs.items() for camera in (key, *value)):
            if _kind(camera) != first.dtype.kind.replace("u", "i"):
                msg = f"cameras in pairs must be like query_cams, {first.dtype}, got {camera!r}"
                raise TypeError(msg)

        def block(start: int, stop: int) -> Array:
            out = np.zeros((stop - start, len(second)), np.bool_)
            for camera, removed in self.pairs.items():
                out[np.ix_(first[start:stop] == camera, np.isin(second, removed))] = True
            return out

        return block


class JunkIdentities(Mask):
    """Remove the gallery items of some identities for all queries, such as -1 of Market-1501.

    Parameters
    ----------
    *identities : int or str
        Of the kind of the gallery's identities; others of another kind may be among them.

    Raises
    ------
    ValueError, TypeError
        If there is none, or one is neither an integer nor text.

    Examples
    --------
    >>> from knnccv.retrieval import JunkIdentities, expected_retrieval
    >>> expected_retrieval([[0.1, 0.2]], [7], [-1, 7], exclude=JunkIdentities(-1))["ap"].score
    1.0
    """

    def __init__(self, *identities: Any) -> None:
        if not identities:
            msg = "JunkIdentities needs at least one identity, such as JunkIdentities(-1)"
            raise ValueError(msg)
        for identity in identities:
            if not _kind(identity):
                msg = f"JunkIdentities takes integers or text one by one, got {identity!r}"
                raise TypeError(msg)
        self.identities = identities

    def __repr__(self) -> str:
        names = dict.fromkeys(map(str, self.identities))  # -1 and "-1" are the same in words
        return f"{'junk identity' if len(names) == 1 else 'junk identities'} {', '.join(names)}"

    def bind(self, query_ids: Array, gallery_ids: Array) -> Block:  # noqa: ARG002
        """Find the identities."""
        if gallery_ids.dtype.kind.replace("u", "i") not in map(_kind, self.identities):
            msg = f"junk identities must be like gallery_ids, {gallery_ids.dtype}, got {self.identities!r}"
            raise TypeError(msg)
        junk = np.array([identity in self.identities for identity in gallery_ids.tolist()], np.bool_)
        return lambda start, stop: np.broadcast_to(junk, (stop - start, len(junk)))


class _Function(Mask):
    """A function of an int64 array of queries."""

    def __init__(self, function: Callable[[Array], Any]) -> None:
        self._function = function

    def __repr__(self) -> str:
        return str(getattr(self._function, "__name__", "a function"))

    def bind(self, query_ids: Array, gallery_ids: Array) -> Block:  # noqa: ARG002
        """Check what the function returns."""

        def block(start: int, stop: int) -> Array:
            out = np.asarray(self._function(np.arange(start, stop)))
            shape = (stop - start, len(gallery_ids))
            if out.shape != shape or out.dtype != np.bool_:
                msg = (
                    f"the function exclude must return a bool array of shape {shape} (queries of the "
                    f"block, gallery items), got dtype {out.dtype} and shape {out.shape}"
                )
                raise ValueError(msg)
            return out

        return block


def _kind(name: Any) -> str:
    """The kind of an identity or a camera as NumPy calls it; empty if it is neither integer nor text."""
    if isinstance(name, (bool, np.bool_)):
        return "b"
    kinds = {"i": Integral, "U": str, "S": bytes}
    return next((kind for kind, known in kinds.items() if isinstance(name, known)), "")


def as_masks(exclude: Any) -> list[Mask]:
    """The masks of the argument `exclude`, without "self".

    Raises
    ------
    TypeError
        If it is no mask.
    """
    if exclude is None or (isinstance(exclude, str) and exclude == "self"):
        return []
    if isinstance(exclude, (list, tuple)):
        return [mask for one in exclude for mask in as_masks(one)]
    if isinstance(exclude, Mask):
        return [exclude]
    if callable(exclude) and not isinstance(exclude, type):
        return [_Function(exclude)]
    hint = ""
    if isinstance(exclude, Mapping):
        hint = "; pairs of cameras are CameraPairs(pairs, query_cams, gallery_cams)"
    msg = (
        'exclude must be None, "self", a mask such as SameIdentityAndCamera(query_cams, gallery_cams), a '
        f"function of a block of queries, or a list of these, got {exclude!r}{hint}"
    )
    raise TypeError(msg)


def excludes_self(exclude: Any) -> bool:
    """Return True if `exclude` is or contains "self"."""
    if isinstance(exclude, (list, tuple)):
        return any(excludes_self(one) for one in exclude)
    return isinstance(exclude, str) and exclude == "self"
