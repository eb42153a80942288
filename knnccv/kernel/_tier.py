"""The source of kernels, run by Python: on Fractions, and in place of compiling while that is faster.

Compiling takes seconds, and Python is fast enough for small tables. A function that has no compiled version
for its arguments, in the process or on disk, is therefore interpreted, until this has taken a share of the
time that compiling it would, all calls of all processes together. A call that takes too long is given up: the
arrays that it has written are restored, and it begins again, compiled.

Both tiers give the same bits. What Python, NumPy and compiled code compute in different ways is compiled at
once: see `_is_alike` and `_is_small`. So is a call in which the source divides by zero, leaves the range of a
number, or fails: compiled code then decides.

Numba's dispatcher asks ``_compile_for_args`` when it has no version that fits, so calls of compiled code do
not pass through here.
"""

from __future__ import annotations

import contextlib
import dis
import math
import os
import threading
import types as pytypes
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher, OmittedArg
from numba.core.sigutils import normalize_signature

from .._typing import Array, Kernel

SHARE = 1.6e-4
"""Seconds of interpreting for each byte of bytecode: a fifth of those of compiling."""
TICKS = 100.0
"""Bytes for a second, in the files that hold how long a function was interpreted."""
MOST_ENTRIES = 300_000
"""Entries of all arrays of a call that is interpreted."""
STEPS = 256
"""Steps of a loop after which the source looks at the clock."""
ALIKE = {
    np: "arange argmax bool_ empty empty_like flatnonzero float64 floor full inf int32 int64 isfinite isnan nan "
    "ones pi searchsorted uint64 zeros zeros_like",
    math: "ceil cos exp floor inf isnan log log1p nan pi sqrt",
    np.ndarray: "any astype copy ctypes data dtype fill flatten max min ndim ravel reshape shape size T view",
}
"""What both tiers compute alike; NumPy's own exponentials and sums have other bits."""
_DTYPES = set(map(np.dtype, ("?", "int32", "int64", "uint64", "float64")))
_UNLIKE = ("**", "@", "**=", "@=")


class _Here(threading.local):
    """When the interpreted call of this thread must end, as the clock and as its processor time say."""

    until: float | None = None
    most: float


class _TooLong(Exception):  # noqa: N818 (nobody sees it)
    """An interpreted call ends, to be compiled."""


_here = _Here()
_lock = threading.RLock()  # one thread compiles, ...
_forced: list[str] = []


@contextlib.contextmanager
def compiled_only() -> Iterator[None]:
    """Compile at once meanwhile, whatever ``KNNCCV_TIER`` says."""
    _forced.append("compiled")
    try:
        yield
    finally:
        _forced.pop()


def tier() -> str:
    """The tier that is forced: "python" or "compiled", or "" for none.

    Raises
    ------
    ValueError
        If ``KNNCCV_TIER`` has another value.
    """
    found = _forced[-1] if _forced else os.environ.get("KNNCCV_TIER", "")
    if found not in ("", "python", "compiled"):
        msg = f"KNNCCV_TIER must be python, compiled, or empty for both in turn, got {found!r}"
        raise ValueError(msg)
    return found


def as_python(function: Kernel) -> Kernel:
    """The unjitted source of a function, and of the jitted functions that it calls.

    On Fractions the source computes exact rational numbers. ``py_func`` of a kernel is not enough, since
    its globals still hold the compiled helpers. Helpers are found by their bare global names; a helper
    called as ``module.helper`` stays compiled.
    """
    return _as_python(function, {})


def _as_python(function: Kernel, done: dict[int, Kernel], **scope_of_all: Any) -> Kernel:
    source = getattr(function, "py_func", function)
    if id(source) in done:
        return done[id(source)]
    scope: dict[str, Any] = source.__globals__ | scope_of_all
    twin = pytypes.FunctionType(
        source.__code__, scope, source.__name__, source.__defaults__, source.__closure__
    )
    done[id(source)] = twin
    for name in source.__code__.co_names:
        value = scope.get(name)
        if isinstance(value, Dispatcher):
            scope[name] = _as_python(value, done, **scope_of_all)
        elif hasattr(value, "plain"):  # an intrinsic
            scope[name] = value.plain
    return twin


def _look_at_the_clock() -> None:
    if perf_counter() > _here.until:  # type: ignore[operator]
        left = _here.most - thread_time()  # to ask for it takes longer
        if left <= 0:
            raise _TooLong
        _here.until = perf_counter() + left


def _range(*bounds: Any) -> Any:
    """Python's range, which ends a call that takes too long."""
    _look_at_the_clock()
    whole = range(*bounds)
    return whole if len(whole) <= STEPS else chain.from_iterable(_pieces(whole))


def _pieces(whole: range) -> Iterator[range]:
    for start in range(0, len(whole), STEPS):
        _look_at_the_clock()
        yield whole[start : start + STEPS]


def _is_alike(function: Any) -> bool:
    """Return True if Python computes the same bits as compiled code."""
    home: Any = None
    before = ""
    for step in dis.get_instructions(function):
        if step.opname == "LOAD_GLOBAL":
            home = function.__globals__.get(step.argval)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            kind = home if home in (np, math) else np.ndarray
            if (hasattr(kind, step.argval) or kind is not np.ndarray) and step.argval not in ALIKE[kind].split():
                return False
            home = None
        else:
            home = None
            compared = before == "COMPARE_OP" and step.argrepr == "+"  # NumPy's sum of truth values is one
            if step.opname == "BINARY_OP" and (step.argrepr in _UNLIKE or compared):
                return False
        before = step.opname
    return True


def _leaves(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


def _is_small(arguments: tuple[Any, ...]) -> bool:
    """Return True if the arguments are few numbers, of types whose arithmetic is the same."""
    n_entries = 0
    for value in _leaves(arguments):
        if isinstance(value, np.ndarray):
            n_entries += value.size
        if not isinstance(value, (bool, int, float, str, type, type(None), Dispatcher)) and (
            getattr(value, "dtype", None) not in _DTYPES
        ):
            return False
    return n_entries <= MOST_ENTRIES


def _as_compiled(value: Any) -> Any:
    """A result with Python's numbers, as compiled code returns them."""
    if isinstance(value, tuple):
        inner = map(_as_compiled, value)
        return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
    return value.item() if isinstance(value, np.generic) else value


class Version:
    """A function for some types of arguments, and how long it has been interpreted.

    ``finish`` compiles it, or loads it from disk.
    """

    def __init__(self, owner: Tier, signature: Any, finish: Callable[[], object]) -> None:
        self.owner, self.finish = owner, finish
        self.arguments = normalize_signature(signature)[0]
        self.limit = owner.limit
        self.seconds = self.noted = 0.0
        self.path: Path | None = None
        with contextlib.suppress(OSError, RuntimeError):
            path = owner.function._cache.path_of(signature, owner.function.targetctx)
            self.limit = 0.0 if path.exists() else self.limit
            self.path = path.with_suffix(".seconds")
            self.seconds = self.noted = self.path.stat().st_size / TICKS

    @property
    def is_compiled(self) -> bool:
        """Return True if the process has it."""
        return tuple(self.arguments) in self.owner.function.overloads

    @property
    def left(self) -> float:
        """Seconds for which it can still be interpreted."""
        forced = tier()
        if forced == "compiled" or not self.owner.limit:
            return 0.0
        return math.inf if forced == "python" else self.limit - self.seconds

    def add(self, seconds: float) -> None:
        """Count seconds, also for later processes."""
        self.seconds += seconds
        n_ticks = int((self.seconds - self.noted) * TICKS)
        if n_ticks and self.path is not None:
            self.noted += n_ticks / TICKS
            with contextlib.suppress(OSError), self.path.open("ab") as file:
                file.write(b"." * n_ticks)

    def compile(self) -> None:
        """Compile it, or load it; no seconds are noted any more."""
        with _lock:
            if not self.is_compiled:
                self.finish()
        if self.path is not None and self.noted:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
        _let_drivers_ask()


class Tier:
    """What a dispatcher asks for the function that serves its arguments."""

    asked: Version | None = None
    """The only version of a driver, or that of a kernel which drivers call."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self._versions: dict[Any, Version] = {}

    @cached_property
    def source(self) -> tuple[Kernel, float]:
        """The source that ends at the limit, and this limit in seconds; 0 if it is not to be interpreted."""
        done: dict[int, Kernel] = {}
        source = _as_python(self.function, done, range=_range)
        size = sum(len(one.__code__.co_code) for one in done.values())
        return source, SHARE * size * all(map(_is_alike, done.values()))

    @property
    def limit(self) -> float:
        return self.source[1]

    def __call__(self, *arguments: Any) -> Kernel:
        """The compiled function, or one that interprets the source."""
        if _here.until is not None:  # called by what is interpreted
            if not self.limit:
                raise _TooLong
            return lambda *given: self.source[0](*map(_value, given))
        version = self.asked or self._version(arguments)
        missing = [one for one in (version, *map(_asked_of, arguments)) if one and not one.is_compiled]
        if missing and all(one.left > 0 for one in missing) and _is_small(tuple(map(_value, arguments))):
            return partial(self._interpret, version, missing)
        return self._compile(version, missing, arguments)

    def _version(self, arguments: tuple[Any, ...]) -> Version:
        kinds = tuple(
            types.Omitted(given.value) if isinstance(given, OmittedArg) else self.function.typeof_pyval(given)
            for given in arguments
        )
        if kinds not in self._versions:
            self._versions[kinds] = Version(self, kinds, partial(Dispatcher._compile_for_args, self.function, *arguments))
        return self._versions[kinds]

    def _compile(self, version: Version, missing: list[Version], arguments: tuple[Any, ...]) -> Kernel:
        for one in missing:
            one.compile()
        if self.asked:
            return self.function.overloads[tuple(version.arguments)].entry_point  # type: ignore[no-any-return]
        return Dispatcher._compile_for_args(self.function, *arguments)  # type: ignore[no-any-return]

    def _interpret(self, version: Version, missing: list[Version], *arguments: Any) -> Any:
        given = tuple(
            asked.owner.source[0] if (asked := _asked_of(one)) in missing else _value(one) for one in arguments
        )
        arrays = [one for one in _leaves(given) if isinstance(one, np.ndarray) and one.flags.writeable]
        before = [one.copy() for one in arrays]
        started, left = thread_time(), sum(one.left for one in missing)
        _here.most, _here.until = started + left, perf_counter() + left
        try:
            with np.errstate(all="ignore", divide="raise", over="raise"):
                return _as_compiled(self.source[0](*given))
        except Exception as error:
            if os.environ.get("DBG"): import traceback; print(self.function.__name__, self.limit, thread_time()-started); traceback.print_exc()
            for one, copy in zip(arrays, before, strict=True):
                one[...] = copy
            if not isinstance(error, _TooLong):
                version.limit = 0.0
        finally:
            _here.until = None
            for each in missing:
                each.add((thread_time() - started) * (each.left / left if left < math.inf else 1))
        return self._compile(version, missing, arguments)(*arguments)


def _value(given: Any) -> Any:
    return given.value if isinstance(given, OmittedArg) else given


def _asked_of(kernel: Any) -> Version | None:
    return getattr(getattr(kernel, "_compile_for_args", None), "asked", None)


_asked: list[Version] = []
"""Those of all drivers and kernels."""


def waits(function: Any, signature: Any, finish: Callable[[], object]) -> bool:
    """Return True if a driver or a kernel is interpreted first; `finish` compiles it later."""
    own = function._compile_for_args
    if not isinstance(own, Tier):
        return False
    if own.asked is None:
        own.asked = Version(own, signature, finish)
        _asked.append(own.asked)
    _let_drivers_ask()
    return not own.asked.is_compiled and own.asked.left > 0


def _let_drivers_ask() -> None:
    """Compiled drivers can call compiled kernels only, so that they ask while there are others."""
    some = any(not one.is_compiled for one in _asked)
    for one in _asked:
        if one.is_compiled and any(isinstance(kind, types.FunctionType) for kind in one.arguments):
            one.owner.function.disable_compile(not some)
