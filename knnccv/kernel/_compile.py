"""Compile and check kernels and drivers, and tell that this takes time."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import time
from functools import partial
from types import TracebackType
from typing import Any

import numba
from numba.core import event, types
from numba.core.dispatcher import Dispatcher

from .._base.typing import Kernel
from .._base.validation import check
from ._cache import KernelCache
from ._signature import FORMS
from ._tier import Tier, compile_or_wait

COMPILES = "numba:compile"  # functions loaded from a cache do not raise this event
LONG = 3.0
"""Seconds of compiling after which a call of the library says so."""


def jit(function: Kernel, **options: Any) -> Kernel:
    """Compile a kernel or its helper: serial, without the GIL, cached, strict IEEE arithmetic.

    The cache knows everything that the function contains (`_cache`); Numba's own knows its file only.
    """
    compiled: Kernel = numba.njit(nogil=True, **options)(function)
    if isinstance(compiled, Dispatcher):  # not while NUMBA_DISABLE_JIT is set
        for_any_number = partial(_without_literals, compiled.get_call_template)
        vars(compiled).update(
            _cache=KernelCache(function), _compile_for_args=Tier(compiled), get_call_template=for_any_number
        )
    return compiled


def _without_literals(resolve: Any, arguments: Any, named: Any) -> Any:
    """What compiled code calls: Numba compiles a function once more for each number that a call names."""
    plain = [types.unliteral(one) for one in arguments]
    return resolve(plain, {name: types.unliteral(one) for name, one in named.items()})


def inner(function: Kernel) -> Kernel:
    """Compile a helper as `jit` does, for calls from compiled code alone: a sixth of the time is saved.

    Calls from Python, for which such a helper has no wrapper, run its source.
    """
    compiled = jit(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    if isinstance(compiled, Dispatcher):
        vars(compiled).update(_insert=lambda *_, **__: None, _compile_for_args=lambda *_, **__: function)
    return compiled


def is_compiled(kernel: object) -> bool:
    """Return True for a jitted function, and for any function while NUMBA_DISABLE_JIT is set."""
    return isinstance(kernel, Dispatcher) or bool(
        getattr(numba.config, "DISABLE_JIT", False) and callable(kernel)
    )


def compile_kernel(kernel: Kernel, owner: str, form: str = "", *, now: bool = True) -> Kernel:
    """Compile `kernel` for the one signature of its form, one of `FORMS`, in the calling thread.

    Unless it has to be `now`, its source may be interpreted first.

    Raises
    ------
    TypeError
        If `kernel` is not jitted or does not fit the signature; the message names `owner`.
    """
    check_kernel(kernel, owner, form)
    what, arguments, signature = FORMS[form]
    if not isinstance(kernel, Dispatcher):
        return kernel
    if "get_compile_result" not in vars(kernel):
        vars(kernel)["get_compile_result"] = _by_identity(kernel.get_compile_result)

    def compile_it() -> None:
        try:
            kernel.compile(signature)
        except Exception as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            reason = " ".join(lines[:4]) or "no reason given"
            msg = (
                f"the {what} {_describe(kernel)} of {owner} does not fit the signature "
                f"({', '.join(arguments)}) -> {signature.return_type} of knnccv.kernel: {reason}"
            )
            raise TypeError(msg) from error

    compile_or_wait(kernel, signature, compile_it, now)
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


def compile_driver(function: Kernel, signature: Any) -> Kernel:
    """Compile a driver for its one signature, on first use, in the calling thread.

    No other signature is allowed afterwards. Otherwise Numba would specialize the driver on the kernel
    that is its argument, again in every process, and would never find the result in the cache. The source
    may be interpreted first.
    """
    if isinstance(function, Dispatcher) and not function.signatures:
        compile_or_wait(function, signature, partial(function.compile, signature))
    return function


def check_kernel(kernel: object, owner: str, form: str = "") -> None:
    """Check, without compiling, that `kernel` is a jitted function of the arguments of its form.

    Raises
    ------
    TypeError
        If it is not; the message names `owner`.
    """
    what, expected, _ = FORMS[form]
    msg = f"the {what} of {owner} must be a function decorated with knnccv.kernel.jit, got {kernel!r}"
    check(is_compiled(kernel), msg, error=TypeError)
    arguments = inspect.signature(getattr(kernel, "py_func", kernel)).parameters  # type: ignore[arg-type]
    msg = (
        f"the {what} {_describe(kernel)} of {owner} must take {len(expected)} arguments "
        f"({', '.join(expected)}), got {len(arguments)} ({', '.join(arguments)})"
    )
    check(len(arguments) == len(expected), msg, error=TypeError)


def _describe(kernel: object) -> str:
    source: Any = getattr(kernel, "py_func", kernel)
    return f"{source.__module__}.{source.__qualname__}"


class Compiling(event.Listener):
    """While entered, writes `message` to stderr when kernels are compiled for more than `after` seconds.

    Attributes
    ----------
    seconds : float
        Wall time of compiling so far.
    functions : int
        Number of compiled functions, including those that others call.
    """

    def __init__(self, message: str, after: float = LONG) -> None:
        self.message: str | None = message
        self.after = after
        self.seconds = 0.0
        self.functions = 0
        self._depth = 0  # functions are compiled within others, by one thread at a time
        self._started = 0.0

    def __enter__(self) -> Compiling:
        event.register(COMPILES, self)
        _note.message = None  # this message is enough
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        event.unregister(COMPILES, self)

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (Numba passes it)
        """Start the clock, and print the message once."""
        if self._depth == 0:
            self._started = time.perf_counter()
        self._depth += 1
        self.functions += 1
        self._tell()

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002 (Numba passes it)
        """Add the time of the outermost function."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._started

    def _tell(self) -> None:
        if self.message is None or self.seconds + time.perf_counter() - self._started < self.after:
            return
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):  # stderr is closed
                _print_above_bars(self.message)
        self.message = None


class _Note(Compiling):
    """The message of the library, which counts its own functions alone, and all that they call."""

    def on_start(self, event: event.Event) -> None:
        if self._depth or isinstance(event.data["dispatcher"]._cache, KernelCache):
            super().on_start(event)

    def on_end(self, event: event.Event) -> None:
        if self._depth:
            super().on_end(event)


_note = _Note(
    "knnccv compiles kernels that it needs for long, and keeps them on disk: later calls and "
    "processes do not wait. knnccv.warm() compiles all of them ahead; KNNCCV_COMPILE_NOTE=0 hides this."
)


def note_long_compiling() -> None:
    """Say once in a process that kernels are compiled, if somebody looks at it and that takes long.

    Somebody looks at a terminal or a notebook. ``KNNCCV_COMPILE_NOTE=0`` hides the note.
    """
    looks = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if looks and os.environ.get("KNNCCV_COMPILE_NOTE") != "0":
        event.register(COMPILES, _note)


def _print_above_bars(message: str) -> None:
    """Print a line to stderr; a progress bar that is shown there moves below it."""
    bars = sys.modules.get("tqdm")
    if bars is None:
        print(message, file=sys.stderr, flush=True)
    else:
        bars.tqdm.write(message, file=sys.stderr)
        sys.stderr.flush()


note_long_compiling()
