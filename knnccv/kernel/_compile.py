"""Compile and check kernels and drivers, and run their source without compilation."""

from __future__ import annotations

import inspect
import threading
import types as pytypes
from functools import partial
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from .._typing import Kernel
from ._cache import KernelCache
from ._compiling import note_long_compiling
from ._signature import (
    ARGUMENTS,
    DECIDE_ARGUMENTS,
    DECIDE_SIGNATURE,
    DISTANCE_ARGUMENTS,
    DISTANCE_SIGNATURE,
    JOINT_SIGNATURE,
    REMOVAL_SIGNATURE,
    SIGNATURE,
)

ZERO: Any = np.int64(0)
"""A start value for jitted code. Numba compiles a function that is called with a variable that starts as a
literal 0 twice: for the literal, and for any integer."""
TRUE: Any = np.bool_(True)
FALSE: Any = np.bool_(False)
"""Arguments for jitted code: Numba compiles a function once more for a literal True or False."""
_compiling = threading.Lock()
note_long_compiling()


def jit(function: Kernel, **options: Any) -> Kernel:
    """Compile a kernel or its helper: serial, without the GIL, cached, strict IEEE arithmetic.

    The cache knows everything that the function contains (`_cache`); Numba's own knows its file only.
    """
    compiled: Kernel = numba.njit(nogil=True, **options)(function)
    if isinstance(compiled, Dispatcher):  # not while NUMBA_DISABLE_JIT is set
        compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
    return compiled


def inner(function: Kernel) -> Kernel:
    """Compile a helper as `jit` does, for calls from compiled code alone: a sixth of the time is saved.

    Calls from Python, for which such a helper has no wrapper, run its source.
    """
    compiled = jit(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    if isinstance(compiled, Dispatcher):
        vars(compiled).update(_insert=lambda *_, **__: None, _compile_for_args=lambda *_, **__: function)
    return compiled


def as_python(function: Kernel) -> Kernel:
    """The unjitted source of a function, and of the jitted functions that it calls.

    On Fractions the source computes exact rational numbers. ``py_func`` of a kernel is not enough, since
    its globals still hold the compiled helpers. Helpers are found by their bare global names; a helper
    called as ``module.helper`` stays compiled.
    """
    return _as_python(function, {})


def _as_python(function: Kernel, done: dict[int, Kernel]) -> Kernel:
    source = getattr(function, "py_func", function)
    if id(source) in done:
        return done[id(source)]
    scope: dict[str, Any] = dict(source.__globals__)
    twin = pytypes.FunctionType(
        source.__code__, scope, source.__name__, source.__defaults__, source.__closure__
    )
    done[id(source)] = twin
    for name in source.__code__.co_names:
        if isinstance(scope.get(name), Dispatcher):
            scope[name] = _as_python(scope[name], done)
    return twin


def is_compiled(kernel: object) -> bool:
    """Return True for a jitted function, and for any function while NUMBA_DISABLE_JIT is set."""
    return isinstance(kernel, Dispatcher) or bool(
        getattr(numba.config, "DISABLE_JIT", False) and callable(kernel)
    )


def compile_kernel(
    kernel: Kernel,
    owner: str,
    what: str = "kernel",
    arguments: tuple[str, ...] = ARGUMENTS,
    signature: Any = SIGNATURE,
) -> Kernel:
    """Compile `kernel` for the one signature, in the calling thread.

    Raises
    ------
    TypeError
        If `kernel` is not jitted or does not fit the signature; the message names `owner`.
    """
    check_kernel(kernel, owner, what, arguments)
    try:
        return _compiled(kernel, signature)
    except Exception as error:
        reason = str(error).strip().splitlines()
        msg = (
            f"the {what} {_describe(kernel)} of {owner} does not fit the signature "
            f"({', '.join(arguments)}) -> float64 of knnccv.kernel: {_shorten(reason)}"
        )
        raise TypeError(msg) from error


def _compiled(kernel: Kernel, signature: Any) -> Kernel:
    if isinstance(kernel, Dispatcher):
        with _compiling:
            kernel.compile(signature)
            if "get_compile_result" not in vars(kernel):
                vars(kernel)["get_compile_result"] = _by_identity(kernel.get_compile_result)
    return kernel


def _by_identity(look_up: Kernel) -> Kernel:
    """The same function of a signature, fast for an object that it has seen.

    A compiled pass asks twice for the compiled kernel, its argument, each time with the same objects.
    Numba's own answer hashes all types in the signature, which takes as long as ten samples.
    """
    known: dict[int, tuple[Any, Any]] = {}

    def result(signature: Any) -> Any:
        if id(signature) not in known:
            known[id(signature)] = signature, look_up(signature)  # kept, so that no address is used twice
        return known[id(signature)][1]

    return result


compile_distance_kernel = partial(
    compile_kernel, arguments=DISTANCE_ARGUMENTS, signature=DISTANCE_SIGNATURE
)
"""Compile a kernel that sees distances, such as `Variant.fixed_by_distance`."""
compile_decide = partial(
    compile_kernel, what="function", arguments=DECIDE_ARGUMENTS, signature=DECIDE_SIGNATURE
)
"""Compile `Variant.decide`."""
compile_joint_kernel = partial(_compiled, signature=JOINT_SIGNATURE)
"""Compile a kernel of the form `JOINT`, see `Link`."""
compile_removal_kernel = partial(_compiled, signature=REMOVAL_SIGNATURE)
"""Compile a kernel of `Variant.removals`."""


def compile_driver(function: Kernel, signature: Any) -> Kernel:
    """Compile a driver for its one signature, on first use, in the calling thread.

    No other signature is allowed afterwards. Otherwise Numba would specialize the driver on the kernel
    that is its argument, again in every process, and would never find the result in the cache.
    """
    with _compiling:
        if isinstance(function, Dispatcher) and not function.signatures:
            function.compile(signature)
            function.disable_compile()
    return function


def check_kernel(
    kernel: object, owner: str, what: str = "kernel", expected: tuple[str, ...] = ARGUMENTS
) -> None:
    """Check, without compiling, that `kernel` is a jitted function of the `expected` arguments.

    Raises
    ------
    TypeError
        If it is not; the message names `owner`.
    """
    if not is_compiled(kernel):
        msg = f"the {what} of {owner} must be a function decorated with knnccv.kernel.jit, got {kernel!r}"
        raise TypeError(msg)
    arguments = inspect.signature(getattr(kernel, "py_func", kernel)).parameters  # type: ignore[arg-type]
    if len(arguments) != len(expected):
        msg = (
            f"the {what} {_describe(kernel)} of {owner} must take {len(expected)} arguments "
            f"({', '.join(expected)}), got {len(arguments)} ({', '.join(arguments)})"
        )
        raise TypeError(msg)


def _describe(kernel: object) -> str:
    source: Any = getattr(kernel, "py_func", kernel)
    return f"{source.__module__}.{source.__qualname__}"


def _shorten(reason: list[str]) -> str:
    lines = [line for line in reason if line.strip()]
    return " ".join(lines[:4]) if lines else "no reason given"
