"""The registry of variants: names from entry points, and registration at run time.

All variants, built in or from plugins, are found by the entry-point group ``knnccv.variants``. An entry
point names a `knnccv.kernel.Variant` subclass or an instance. It is imported when its name is first used,
so that a broken plugin affects only calls that name it.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .._base.validation import check
from . import Variant, check_kernel, compile_kernel

GROUP = "knnccv.variants"


class _Registry(Mapping[str, Variant]):
    """Names and variants, from `register` and from the installed entry points; read-only from outside."""

    def __init__(self) -> None:
        self._loaded: dict[str, Variant] = {}
        self._clashes: dict[str, str] = {}
        self._lock = threading.RLock()

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=GROUP):
            other = found.setdefault(point.name, point)
            if other.value != point.value:
                self._clashes[point.name] = (
                    f"two installed packages offer a variant named {point.name!r}: "
                    f"{_owner(other)} and {_owner(point)}; uninstall one of them"
                )
        return found

    def __getitem__(self, name: str) -> Variant:
        with self._lock:
            if name not in self._loaded:
                point = self._entry_points[name]
                if name in self._clashes:
                    raise ValueError(self._clashes[name])
                self._loaded[name] = _load(point)
            return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._loaded, *self._entry_points}))

    def __len__(self) -> int:
        return len({*self._loaded, *self._entry_points})

    def __contains__(self, name: object) -> bool:
        # Without importing it, as Mapping would.
        return name in self._loaded or name in self._entry_points

    def __repr__(self) -> str:
        return f"<knnccv variants: {', '.join(self)}>"

    def _add(self, variant: Variant) -> None:
        with self._lock:
            name = variant.name
            if name in self and not self._is_same(name, variant):
                msg = (
                    f"the name {name!r} is taken by {self._holder(name)}; "
                    f"{_describe(variant)} needs another name"
                )
                if name not in self._entry_points:  # unregistering would restore the entry point
                    msg += f", or call knnccv.unregister({name!r}) before"
                raise ValueError(msg)
            self._loaded[name] = variant

    def _discard(self, name: str) -> None:
        with self._lock:
            self._loaded.pop(name, None)

    def _is_same(self, name: str, variant: Variant) -> bool:
        """Return True if the name belongs to a class of the same name and module, in any version."""
        if name in self._loaded:
            return _describe(self._loaded[name]) == _describe(variant)
        return self._entry_points[name].value.replace(":", ".") == _describe(variant)

    def _holder(self, name: str) -> str:
        if name in self._loaded:
            return _describe(self._loaded[name])
        return _owner(self._entry_points[name])


_registry = _Registry()


def register(variant: Variant | type[Variant]) -> Variant:
    """Make a variant available by its name, in this process.

    A class of the same name and module replaces the one registered before, so that a notebook cell can be
    run again. Earlier results keep the variant that computed them.

    Parameters
    ----------
    variant : Variant or subclass of it
        A class is instantiated without arguments. Its kernels are compiled now.

    Returns
    -------
    Variant
        The registered object.

    Raises
    ------
    TypeError
        If the argument is not a variant, or a kernel does not fit the signature; the message names it.
    ValueError
        If the name is taken by another class; the message names both sides. `unregister` frees a name.

    Examples
    --------
    >>> from knnccv import register, unregister
    >>> from knnccv_variants.nearest import NN
    >>> class Mine(NN):
    ...     name = "mine"
    ...
    >>> register(Mine).name
    'mine'
    >>> unregister("mine")
    """
    found = _instance(variant, "register()")
    owner = f"variant {found.name!r}"
    for function, form in found.compiled_functions():
        compile_kernel(function, owner, form)
    _registry._add(found)
    return found


def unregister(name: str) -> None:
    """Remove a variant that was registered at run time; an entry point of its name is found again.

    Raises
    ------
    KeyError
        If no variant has that name.

    Examples
    --------
    >>> from knnccv import register, unregister, variant_names
    >>> from knnccv_variants.nearest import NN
    >>> class Mine(NN):
    ...     name = "mine"
    ...
    >>> found = register(Mine)
    >>> unregister("mine")
    >>> "mine" in variant_names()
    False
    """
    if name not in _registry:
        raise KeyError(_unknown(name))
    _registry._discard(name)


def get_variant(name_or_object: str | Variant | type[Variant]) -> Variant:
    """The variant of a name; a variant object is returned as it is.

    Raises
    ------
    ValueError
        If no variant has that name (the message lists the names and the closest one), or two installed
        packages use it.
    TypeError
        If the argument, or the object that a plugin offers under the name, is not a variant.
    ImportError
        If the plugin that offers the name cannot be imported.

    Examples
    --------
    >>> from knnccv import get_variant
    >>> get_variant("knn").name
    'knn'
    """
    if isinstance(name_or_object, str):
        try:
            return _registry[name_or_object]
        except KeyError as error:
            raise ValueError(_unknown(name_or_object)) from error
    if not isinstance(name_or_object, (Variant, type)):
        names = ", ".join(map(repr, variant_names()))
        shown = repr(name_or_object)
        if len(shown) > 200:
            shown = shown[:200] + "…"
        hint = "; a function that scores one training set is the member decide of a Variant class"
        msg = f"variant expects a knnccv.kernel.Variant or a name ({names}), got {shown}"
        msg += hint if callable(name_or_object) else ""
        raise TypeError(msg)
    return _instance(name_or_object, "get_variant()")


def variant_names() -> list[str]:
    """Names of all variants, sorted: those installed and those registered in this process.

    Examples
    --------
    >>> from knnccv import variant_names
    >>> "knn" in variant_names()
    True
    """
    return list(_registry)


def registered_variants() -> Mapping[str, Variant]:
    """A read-only view from names to variants; a variant is imported when it is looked up.

    Examples
    --------
    >>> from knnccv import registered_variants
    >>> registered_variants()["nn"].name
    'nn'
    """
    return _registry


def _unknown(name: str) -> str:
    names = variant_names()
    closest = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f"; did you mean {closest[0]!r}?" if closest else ""
    return f"there is no variant {name!r}; choose from: {', '.join(names)}{hint}"


def _load(point: EntryPoint) -> Variant:
    try:
        found = point.load()
    except Exception as error:
        msg = f"the variant {point.name!r} of {_owner(point)} cannot be imported: {error}"
        raise ImportError(msg) from error
    variant = _instance(found, _owner(point))
    msg = f"{_owner(point)} offers {point.name!r}, but that variant calls itself {variant.name!r}"
    check(variant.name == point.name, msg, error=TypeError)
    return variant


def _instance(candidate: Any, source: str) -> Variant:
    if isinstance(candidate, type) and issubclass(candidate, Variant):
        incomplete = f"the variant class {candidate.__qualname__} of {source} is incomplete"
        if missing := sorted(candidate.__abstractmethods__):
            msg = f"{incomplete}: define {', '.join(missing)}"
            raise TypeError(msg)
        try:
            candidate = candidate()
        except TypeError as error:
            msg = f"{incomplete}: {error}"
            raise TypeError(msg) from error
    if not isinstance(candidate, Variant):
        msg = f"{source} expects a knnccv.kernel.Variant (or a subclass), got {candidate!r}"
        raise TypeError(msg)
    msg = f"the variant {candidate!r} of {source} needs a non-empty string as its name"
    check(isinstance(getattr(candidate, "name", None), str) and candidate.name, msg, error=TypeError)
    _check_functions(candidate, source)
    msg = (
        f"the fields of variant {candidate.name!r} of {source} must be a NamedTuple class or None, got "
        f"{candidate.fields!r}"
    )
    check(candidate.fields is None or hasattr(candidate.fields, "_fields"), msg, error=TypeError)
    return candidate


def _check_functions(candidate: Variant, source: str) -> None:
    """Raise TypeError unless the variant has kernels, or a function `decide`, with the right arguments."""
    msg = (
        f"variant {candidate.name!r} of {source} has neither a fixed nor a stratified kernel, and no "
        "function decide"
    )
    check(candidate.compiled_functions(), msg, error=TypeError)
    owner = f"variant {candidate.name!r} ({source})"
    for function, form in candidate.compiled_functions():
        check_kernel(function, owner, form)


def _describe(variant: Variant) -> str:
    return f"{type(variant).__module__}.{type(variant).__qualname__}"


def _owner(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unnamed package"
    return f"{point.value} (package {package})"
