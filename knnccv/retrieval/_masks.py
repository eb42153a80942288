"""Masks: gallery items that are removed for a query before anything is drawn; identities and cameras."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from .._base.labels import of_one_kind
from .._base.typing import Array
from .._base.validation import ByValue, check, rectangular

Block = Callable[[int, int], Array]
KINDS, SELF = "biuUS", "self"


class Mask(ByValue):
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

    by_identity = False

    def _cameras(self, n_queries: int, n_gallery: int) -> tuple[Array, Array]:
        first = as_names("query_cams", self.query_cams, n_queries, "query")
        second = as_names("gallery_cams", self.gallery_cams, n_gallery, "gallery item")
        check_alike("query_cams", first, "gallery_cams", second)
        return first, second

    def bind(self, query_ids: Array, gallery_ids: Array) -> Block:
        """Compare the cameras, or identity and camera at once."""
        first, second = shared_codes(*self._cameras(len(query_ids), len(gallery_ids)))
        if self.by_identity:
            n_cameras = max(int(first.max()), int(second.max())) + 1
            ids = shared_codes(query_ids, gallery_ids)
            first, second = ids[0] * n_cameras + first, ids[1] * n_cameras + second
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

    by_identity = True

    def __repr__(self) -> str:
        return "same identity and camera"


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
        must = "pairs must map a query's camera to gallery cameras, such as {3: (2,)}"
        check(isinstance(pairs, Mapping), must, pairs, TypeError)
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
            must = f"cameras in pairs must be like query_cams, {first.dtype}"
            check(_kind(camera) == first.dtype.kind.replace("u", "i"), must, camera, TypeError)

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
        check(identities, "JunkIdentities needs at least one identity, such as JunkIdentities(-1)")
        for identity in identities:
            check(_kind(identity), "JunkIdentities takes integers or text one by one", identity, TypeError)
        self.identities = identities

    def __repr__(self) -> str:
        names = dict.fromkeys(map(str, self.identities))  # -1 and "-1" are the same in words
        return f"{'junk identity' if len(names) == 1 else 'junk identities'} {', '.join(names)}"

    def bind(self, query_ids: Array, gallery_ids: Array) -> Block:  # noqa: ARG002
        """Find the identities."""
        msg = f"junk identities must be like gallery_ids, {gallery_ids.dtype}, got {self.identities!r}"
        check(gallery_ids.dtype.kind.replace("u", "i") in map(_kind, self.identities), msg, error=TypeError)
        junk = np.array([identity in self.identities for identity in gallery_ids.tolist()], np.bool_)
        return lambda start, stop: np.broadcast_to(junk, (stop - start, len(junk)))


class _Function(Mask):
    """A function of an int64 array of queries."""

    def __init__(self, function: Callable[[Array], Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return str(getattr(self.function, "__name__", "a function"))

    def bind(self, query_ids: Array, gallery_ids: Array) -> Block:  # noqa: ARG002
        """Check what the function returns."""

        def block(start: int, stop: int) -> Array:
            out = np.asarray(self.function(np.arange(start, stop)))
            shape = (stop - start, len(gallery_ids))
            msg = (
                f"the function exclude must return a bool array of shape {shape} (queries of the "
                f"block, gallery items), got dtype {out.dtype} and shape {out.shape}"
            )
            check(out.shape == shape and out.dtype == np.bool_, msg)
            return out

        return block


def _kind(name: Any) -> str:
    """The kind of an identity or a camera as NumPy calls it; empty if it is neither integer nor text."""
    if isinstance(name, (bool, np.bool_)):
        return "b"
    kinds = {"i": Integral, "U": str, "S": bytes}
    return next((kind for kind, known in kinds.items() if isinstance(name, known)), "")


NAMED = {"same-identity-camera": SameIdentityAndCamera, "same-camera": SameCamera}
"""Masks that take the cameras from the arguments `query_cams` and `gallery_cams`."""


def as_masks(exclude: Any, cameras: tuple[Any, Any] = (None, None)) -> list[Any]:
    """The masks of the argument `exclude`; "self" stays.

    Raises
    ------
    ValueError, TypeError
        If it is no mask, or the name of one without cameras.
    """
    if exclude is None:
        return []
    if isinstance(exclude, (list, tuple)):
        return [mask for one in exclude for mask in as_masks(one, cameras)]
    if isinstance(exclude, Mask) or (isinstance(exclude, str) and exclude == SELF):
        return [exclude]
    if isinstance(exclude, str) and exclude in NAMED:
        msg = f'exclude="{exclude}" needs query_cams and gallery_cams'
        check(not any(side is None for side in cameras), msg)
        return [NAMED[exclude](*cameras)]
    if callable(exclude) and not isinstance(exclude, type):
        return [_Function(exclude)]
    hint = ""
    if isinstance(exclude, Mapping):
        hint = "; pairs of cameras are CameraPairs(pairs, query_cams, gallery_cams)"
    msg = (
        'exclude must be None, "self", "same-identity-camera", "same-camera", a mask such as '
        "SameIdentityAndCamera(query_cams, gallery_cams), a function of a block of queries, or a list of "
        f"these, got {exclude!r}{hint}"
    )
    raise TypeError(msg)


def as_names(name: str, values: Any, n_items: int, of: str) -> Array:
    """Identities or cameras: a one-dimensional array of integers or text, one for each item.

    Integers are int64 if they fit, or uint64.

    Raises
    ------
    ValueError, TypeError
        If the number of values is another, or they are neither integers nor text.
    """
    must = f"{name} must be integers or text"
    found = rectangular(values, must)
    if found.ndim == 2 and name.endswith("ids") and found.shape[0] == n_items and found.shape[1] > 1:
        msg = f"{name} must have shape ({n_items},), got {found.shape}: graded relevance is not supported"
        raise ValueError(msg)
    if found.shape != (n_items,):
        hint = "; several arrays go in a tuple" if name == "strata" and n_items in found.shape else ""
        if name == "gallery_ids" and found.size > 2 * n_items:
            hint = "; the first argument is a matrix of distances, (n_queries, n_gallery), not of features"
        msg = f"{name} must have shape ({n_items},), one for each {of}, got {found.shape}{hint}"
        raise ValueError(msg)
    check(not np.ma.is_masked(values), f"{must}, none missing, got masked entries", error=TypeError)
    if found.dtype.kind in "OUST":  # NumPy turns NaN and numbers into text
        found = of_one_kind(values, name)
    if found.dtype.kind == "f" and np.isfinite(found).all() and (found == np.floor(found)).all():
        digits = min(np.finfo(found.dtype).nmant + 1, 53)
        if float(np.abs(found).max()) > 2.0**digits:
            msg = f"{must}: floats beyond 2**{digits} are not exact, got {found[np.abs(found).argmax()]}"
            raise ValueError(msg)
        return found.astype(np.int64)
    if found.dtype.kind not in KINDS:
        beyond = ", or integers beyond 64 bits" if found.dtype == object else ""
        msg = f"{must}, none missing, got dtype {found.dtype}{beyond}"
        raise TypeError(msg)
    if found.dtype.kind in "iu" and (found.dtype != np.uint64 or int(found.max()) < 2**63):
        return found.astype(np.int64, copy=False)
    return found


def check_alike(name: str, first: Array, other: str, second: Array) -> None:
    """Raise TypeError if values of the two arrays cannot be compared: integers, bool, text, bytes."""
    if first.dtype.kind == second.dtype.kind:
        return
    numbers = "bool or both integers of less than 64 bits"
    n_texts = sum(values.dtype.kind in "US" for values in (first, second))
    allowed = (numbers, "integers or both text", "text (str) or both bytes")[n_texts]
    msg = f"{name} and {other} must be both {allowed}, got {first.dtype} and {second.dtype}"
    raise TypeError(msg)


def codes_in(values: Array, known: Array) -> Array:
    """The position of every value among the sorted `known` ones, or -1."""
    at = np.searchsorted(known, values)
    at[at == len(known)] = 0
    return np.asarray(np.where(known[at] == values, at, -1).astype(np.int64))


def shared_codes(first: Array, second: Array) -> tuple[Array, Array]:
    """Codes of two arrays, equal for equal values."""
    _, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    codes = codes.ravel().astype(np.int64)
    return codes[: len(first)], codes[len(first) :]
