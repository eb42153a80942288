"""The source of kernels, run by Python: on Fractions, and in place of compiling while that is faster.

Compiling takes seconds, and Python is fast enough for small tables. So a function that has no compiled
version for its arguments, in the process or on disk, is interpreted, until that has taken a share of the
time that compiling it takes, in all processes together. A call that takes too long is given up, and begins
again, compiled.

Both tiers give the same bits for the functions of the library, which the tests compare: no others are
interpreted. What Python, NumPy and compiled code compute in different ways is compiled at once, see
`_is_alike` and `_can_be_copied`. So is a call in which the source divides by zero, leaves the range of
numbers, or fails: compiled code then decides. The source gets copies of the arrays, so that threads may
write to different places of one array.

Numba's dispatcher asks ``_compile_for_args`` when it has no version that fits, so calls of compiled code do
not pass through here.
"""

from __future__ import annotations

import contextlib
import dis
import gc
import math
import os
import sys
import threading
import types as pytypes
from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from itertools import combinations, pairwise
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.sigutils import normalize_signature

from .._base.typing import Kernel

TIERS = {"": 3.5e-4, "python": 1e3, "compiled": 0.0}
"""Seconds of interpreting for each byte of bytecode, by ``KNNCCV_TIER``: a quarter of compiling it.

Half as many where intrinsics are called, which compile fast.
"""
FEW = 1.5
"""Seconds of interpreting other functions from which on each gets less: who asks much is to ask more."""
MOST_ENTRIES = 300_000
"""Entries of all arrays of a call that is interpreted."""
ALIKE = {
    np: "arange argmax bool_ empty empty_like flatnonzero float64 floor full inf int32 int64 isfinite "
    "isnan nan ones pi searchsorted uint64 zeros zeros_like",
    math: "ceil cos exp floor inf isnan log log1p nan pi sqrt",
    np.ndarray: "any astype copy ctypes data dtype fill flatten max min ndim ravel reshape shape size view",
}
"""What has the same bits in both tiers; NumPy's own exponentials and sums have others."""
OURS = ("knnccv", "knnccv_variants")
"""The packages whose functions are interpreted."""
UNLIKE = ("**", "**=", "@", "@=")
COMPARISONS = ("COMPARE_OP", "UNARY_NOT")
TRUTHS = {"isnan": "CALL", "isfinite": "CALL", "bool_": "BINARY_SUBSCR"}
"""What gives truth values in a function that has such a name."""
_DTYPES = list(map(np.dtype, ("?", "int32", "int64", "uint64", "float64")))
share = TIERS.get(os.environ.get("KNNCCV_TIER", ""))
if share is None:
    msg = f"KNNCCV_TIER must be python, compiled, or empty for both, got {os.environ['KNNCCV_TIER']!r}"
    raise ValueError(msg)


class _Here(threading.local):
    """When the interpreted call of this thread must end: by the clock, and by its processor time."""

    until: float | None = None
    most = 0.0


class _TooLong(Exception):
    """An interpreted call is given up."""


_here = _Here()
_lock = threading.RLock()  # one thread compiles
_spent = [0.0]  # seconds of interpreting in this process
_asked: dict[Any, Version] = {}  # those of all drivers, and of the kernels that drivers call


def compile_at_once() -> None:
    """Interpret nothing any more."""
    global share
    share = 0.0


def as_python(function: Kernel, done: dict[int, Kernel] | None = None, **names: Any) -> Kernel:
    """The unjitted source of a function, and of the jitted functions that it calls.

    On Fractions the source computes exact rational numbers. ``py_func`` of a kernel is not enough, since
    its globals still hold the compiled helpers. Helpers are found by their bare global names; a helper
    called as ``module.helper`` stays compiled. ``done`` has the sources found so far, by their ids; all of
    them know these ``names``.
    """
    done = {} if done is None else done
    source = getattr(function, "py_func", function)
    if id(source) in done:
        return done[id(source)]
    scope: dict[str, Any] = source.__globals__ | names
    rest = source.__name__, source.__defaults__, source.__closure__
    twin = done[id(source)] = pytypes.FunctionType(source.__code__, scope, *rest)
    for name in source.__code__.co_names:
        if isinstance(scope.get(name), Dispatcher):
            scope[name] = as_python(scope[name], done, **names)
        elif hasattr(scope.get(name), "plain"):  # an intrinsic
            scope[name] = scope[name].plain
    return twin


def _as_interpreted(array: Any) -> Any:
    """What stands for an array that may be written to, or a number of NumPy: as compiled code computes."""
    if array.dtype == np.int32:
        return array.astype(np.int64)
    return array.copy() if array.flags.writeable else array


def _bits(array: Any) -> Any:
    return array.view(np.int64) if array.dtype == np.float64 else array


def _range(*bounds: int) -> range:
    """Python's range, which gives up a call that takes too long."""
    if perf_counter() > _here.until:  # type: ignore[operator]
        left = _here.most - thread_time()  # to ask for it takes longer
        _here.until = perf_counter() + left
        if left <= 0:
            raise _TooLong
    return range(*bounds)


def _is_alike(function: Any) -> bool:
    """Return True if Python computes the same bits as compiled code, as far as the bytecode tells.

    NumPy's sum of two truth values is one: nothing is added to comparisons, or to locals that may be such.
    """
    steps = list(pairwise(dis.get_instructions(function)))
    giving, gives, truths = {*map(TRUTHS.get, function.__code__.co_names), *COMPARISONS}, False, set()
    for _, step in steps:
        if step.opname == "STORE_FAST" and gives:
            truths.add(step.argval)
        gives = step.opname in giving or (gives and step.opname in ("SWAP", "COPY", "STORE_FAST"))
    for before, step in steps:
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            home = function.__globals__.get(before.argval) if before.opname == "LOAD_GLOBAL" else None
            kind: Any = home if home in (np, math) else np.ndarray
            if hasattr(kind, step.argval) and step.argval not in ALIKE[kind].split():
                return False
        added = step.argrepr == "+" and (before.opname in COMPARISONS or before.argval in truths)
        if added or step.argrepr in UNLIKE or (before.argrepr == "+=" and step.argval in truths):
            return False
    return True


def _is_short(function: Any) -> bool:
    """Return True if a function has no loops in loops, and calls no others of the library."""
    steps = list(dis.get_instructions(function))
    loops = [(step.argval, step.offset) for step in steps if "JUMP_BACKWARD" in step.opname]
    is_nested = any(begin < inner and own < end for begin, end in loops for inner, own in loops)
    called = map(function.__globals__.get, function.__code__.co_names)
    return not is_nested and not any(isinstance(one, pytypes.FunctionType) for one in called)


def _bytes_of(function: Any) -> float:
    """The size of its bytecode, as far as it takes time to compile."""
    home = sys.modules.get(function.__module__)
    called = [getattr(home, name, None) for name in function.__code__.co_names]
    return len(function.__code__.co_code) / (2 if any(hasattr(one, "plain") for one in called) else 1)


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    """A value, or a tuple of such, with all parts changed."""
    if isinstance(value, tuple):
        parts = [_each(change, one) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return change(value)


def _arrays_of(arguments: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    _each(found.append, arguments)
    return [one for one in found if isinstance(one, (np.ndarray, np.generic))]


def _can_be_copied(arguments: tuple[Any, ...]) -> bool:
    """Return True if there are few numbers, of types whose arithmetic is the same, and no arrays overlap.

    An array that is given twice has one copy.
    """
    arrays = list({id(one): one for one in _arrays_of(arguments)}.values())
    if sum(one.size for one in arrays) >= MOST_ENTRIES or any(one.dtype not in _DTYPES for one in arrays):
        return False
    return not any(
        np.may_share_memory(one, other)
        for one, other in combinations([one for one in arrays if isinstance(one, np.ndarray)], 2)
        if one.flags.writeable or other.flags.writeable
    )


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """Compile without the garbage collector.

    The compiler makes millions of objects that live long. To look at them again and again would take up to
    a quarter of the time. No lock is held meanwhile: code of users may compile within Numba's own. Of
    threads at once the one that found the collector on turns it on again.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Version:
    """A function for some types of arguments, and how long it was interpreted: in all processes.

    A file has a byte for each of these milliseconds.
    """

    def __init__(self, tier: Tier, signature: Any, finish: Callable[[], object] | None = None) -> None:
        self.tier, self.finish, self.seconds, self.path, self.known = tier, finish, 0.0, None, False
        self.arguments = tuple(normalize_signature(signature)[0])
        with contextlib.suppress(OSError, RuntimeError, AttributeError):  # Numba's own cache has no paths
            path = tier.function._cache.path_of(signature, tier.function.targetctx.codegen())
            self.path = path.with_suffix(".seconds")
            self.seconds = math.inf if path.exists() else self.path.stat().st_size / 1000

    @property
    def is_compiled(self) -> bool:
        """Return True if the process has it, which is for good."""
        self.known = self.known or self.arguments in self.tier.function.overloads
        return self.known

    def compile(self) -> None:
        """Compile it, or load it from disk."""
        with _lock, _no_collector():
            if self.finish and not self.is_compiled:
                self.finish()
            _let_drivers_ask()

    @property
    def share(self) -> float:
        """Seconds for which it may be interpreted in all."""
        return share * self.tier.source[1]  # type: ignore[operator]

    def add(self, seconds: float) -> None:
        """Count seconds, for later processes as well."""
        self.seconds += seconds
        _spent[0] += seconds
        if self.path is not None and (noted := round(1000 * seconds)):
            with contextlib.suppress(OSError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("ab") as file:
                    file.write(bytes(noted))


def _left(versions: list[Version]) -> float:
    """Seconds for which they may be interpreted together; fewer if the process interpreted much else."""
    seconds = sum(one.seconds for one in versions)
    others = max(_spent[0] - seconds, 0)
    return sum(one.share for one in versions) / max(others / FEW, 1) - seconds


class Tier:
    """What Numba asks for a function where it has compiled none."""

    def __init__(self, function: Any) -> None:
        self.function, self.version_of = function, cache(partial(Version, self))

    @cached_property
    def source(self) -> tuple[Kernel, float]:
        """The source that can be given up, and the size of its bytecode; 0 if its bits may be others."""
        done: dict[int, Kernel] = {}
        source = as_python(self.function, done, range=_range)
        for one in done.values():
            if _is_short(one):  # whoever calls it can be given up
                one.__globals__["range"] = range
        size = sum(map(_bytes_of, done.values()))
        ours = all(one.__globals__.get("__name__", "").split(".")[0] in OURS for one in done.values())
        return source, size * (ours and all(map(_is_alike, done.values())))

    def __call__(self, *arguments: Any) -> Kernel:
        """The compiled function, or one that interprets the source."""
        if _here.until is not None:  # called by what is interpreted
            if not self.source[1]:
                raise _TooLong
            return self.source[0]
        own = _asked.get(self.function) or self.version_of(
            tuple(map(self.function.typeof_pyval, arguments))
        )
        kernels = [_asked[one] for one in arguments if isinstance(one, Dispatcher) and one in _asked]
        missing = [one for one in (own, *kernels) if not one.is_compiled]
        is_alike = all(one.share > 0 for one in missing)
        if missing and is_alike and _left(missing) > 0 and _can_be_copied(arguments):
            return partial(self._interpret, missing)
        return self._compiled(missing, arguments)

    def _compiled(self, missing: list[Version], arguments: tuple[Any, ...]) -> Kernel:
        if self.function not in _asked:
            with _no_collector():
                return Dispatcher._compile_for_args(self.function, *arguments)  # type: ignore[attr-defined,no-any-return]
        for one in missing:
            one.compile()
        return self.function.overloads[_asked[self.function].arguments].entry_point  # type: ignore[no-any-return]

    def _interpret(self, missing: list[Version], *arguments: Any) -> Any:
        arrays = _arrays_of(arguments)
        copies = {id(one): _as_interpreted(one) for one in arrays}
        other = copies | {id(one.tier.function): one.tier.source[0] for one in missing}
        before = [(one, copies[id(one)], copies[id(one)].copy()) for one in arrays if one.flags.writeable]
        started, left, shares = thread_time(), _left(missing), [one.share for one in missing]
        _here.most, _here.until = started + left, perf_counter() + left
        try:
            with np.errstate(all="ignore", divide="raise"):
                result = self.source[0](*_each(lambda one: other.get(id(one), one), arguments))
            for one, now, then in before:  # other threads may write to other places of the array
                changed = _bits(now) != _bits(then)
                one[changed] = now[changed]
            # Compiled code returns Python's numbers.
            return _each(lambda one: one.item() if isinstance(one, np.generic) else one, result)
        except Exception:
            pass  # compiled code decides
        finally:
            _here.until = None
            for version, part in zip(missing, shares, strict=True):
                version.add((thread_time() - started) * part / sum(shares))
        return self._compiled(missing, arguments)(*arguments)


def compile_or_wait(function: Any, signature: Any, finish: Callable[[], object], now: bool = False) -> None:
    """Compile a driver or a kernel by `finish`, unless it is to be interpreted first."""
    if function not in _asked:
        tier = vars(function).setdefault("_compile_for_args", Tier(function))
        _asked.setdefault(function, Version(tier, signature, finish))
    version = _asked[function]
    if now or _left([version]) <= 0:
        version.compile()
    _let_drivers_ask()


def _let_drivers_ask() -> None:
    """Let compiled drivers ask for their code while there are kernels that are not compiled."""
    found = list(_asked.values())
    ready = all(one.is_compiled for one in found)
    for one in found:
        if one.is_compiled and any(isinstance(kind, types.FunctionType) for kind in one.arguments):
            one.tier.function.disable_compile(ready)
