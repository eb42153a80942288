"""Shipping of a function to other processes: pickled at most once here, unpickled at most once there.

The function holds the data, so it must not travel with every task. Executors differ in how they send a
task to a worker, and most do not report which worker it is. Therefore:

- A function is pickled only if an executor asks for it. A pool of threads never does, and calls the
  function directly.
- A task names the function and carries it only now and then (`FunctionReference`). A worker keeps the last
  functions that it has received. If it lacks the function, it reports this, and the task is sent again
  together with the function.
- A cluster that can hold data, such as dask, holds the `ShippedFunction`.

Data in parts do not belong to the function: each task brings the part that it needs.
"""

from __future__ import annotations

import io
import sys
import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Protocol

from numba.core import serialize
from numba.core.dispatcher import Dispatcher

from .. import __version__
from ..typing import Array
from ..validation import check
from .threads import check_wanted, having, here, one_blas_thread

KEPT_FUNCTIONS = 2  # functions that a worker keeps: the current one, and one of another caller

_known: OrderedDict[str, ShippedFunction] = OrderedDict()
_known_lock = threading.Lock()


class BlockFunction(Protocol):
    """A function that computes blocks of samples."""

    def compile(self) -> None:
        """Compile the kernels that the blocks call, or load them from the cache."""

    def __call__(self, rows: Array, *arguments: Any) -> Any:
        """The results of some samples, each computed independently."""


class Parts(Protocol):
    """Data in parts, each of which belongs to consecutive rows."""

    def bounds(self, row: int) -> tuple[int, int]:
        """The first row of the part that a row belongs to, and the one past its last row."""

    def part(self, row: int) -> Any:
        """The part, as a dask object that is not computed yet."""


def held_part() -> Any:
    """The part that came with the task of this thread, or None."""
    return here.part


@dataclass(eq=False, repr=False)
class ShippedFunction:
    """A function, or its pickled bytes until the first task opens it.

    Opening imports and compiles, and may fail. A worker must not do this while it receives messages.
    """

    function: BlockFunction | None
    content: bytes | None = None
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    version: str = __version__
    lock: Any = field(default_factory=threading.Lock, init=False)

    def open(self) -> BlockFunction:
        """The function, ready to be called; a worker then frees the bytes."""
        with self.lock:
            if self.function is None:
                msg = (
                    f"the caller runs knnccv {self.version} and this worker {__version__}; "
                    "install the same version"
                )
                check(self.version == __version__, msg, error=RuntimeError)
                function: BlockFunction = serialize.loads(self.content or b"")
                function.compile()
                self.function, self.content = function, None
            return self.function

    def packed(self) -> bytes:
        """The pickled bytes, which are kept for later requests.

        Raises
        ------
        TypeError
            If a part of the function, such as a metric, cannot be pickled.
        """
        with self.lock:
            if self.content is None:
                file = io.BytesIO()
                try:
                    _Pickler(file, protocol=5).dump(self.function)
                except Exception as error:
                    msg = (
                        "the work cannot be sent to other processes, because a part of it (a callable "
                        f"metric, a kernel) cannot be pickled: {error}"
                    )
                    raise TypeError(msg) from error
                self.content = file.getvalue()
            return self.content

    def __reduce__(self) -> tuple[Any, ...]:
        return ShippedFunction, (None, self.packed(), self.token, self.version)


class _Pickler(serialize.NumbaPickler):
    """Numba's pickler, which pickles functions by value, but kernels by name if they can be imported.

    A kernel by value is compiled again in every worker; an imported kernel comes from the cache.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Dispatcher) and obj.__module__ != "__main__":
            name: str = obj.py_func.__qualname__
            found: Any = sys.modules.get(obj.__module__)
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is obj:
                return name
        return super().reducer_override(obj)


@dataclass(frozen=True, eq=False)
class FunctionReference:
    """A task's reference to the function: the function itself within a process, its name elsewhere.

    Attributes
    ----------
    shipped : ShippedFunction
    full : bool
        Whether a pickled reference contains the function's bytes.
    flag : bool ndarray of shape (1,)
        Set when the results are no longer needed; works within a process.
    """

    shipped: ShippedFunction
    full: bool
    flag: Array

    def __reduce__(self) -> tuple[Any, ...]:
        return _receive, (self.shipped.token, self.shipped if self.full else None)


def _receive(token: str, shipped: ShippedFunction | None) -> ShippedFunction | None:
    """The function of this name in a worker, if it is known or was sent along."""
    with _known_lock:
        if shipped is not None:
            _known.setdefault(token, shipped)
        found = _known.get(token)
        if found is not None:
            _known.move_to_end(token)
            while len(_known) > KEPT_FUNCTIONS:
                _known.popitem(last=False)
        return found


def run_remote(
    at: FunctionReference | ShippedFunction | None,
    rows: Array,
    size: int,
    arguments: tuple[Any, ...],
    part: Any = None,
) -> tuple[list[Any], float] | None:
    """Run a task by `run_blocks`; None if the function is not known here. `part` came with the task."""
    if at is None:
        return None
    if isinstance(at, FunctionReference):  # within the caller's process, which limits BLAS
        with having(flag=at.flag):
            return run_blocks(at.shipped.open(), rows, size, arguments)
    function = at.open()
    with one_blas_thread(), having(part=part):
        return run_blocks(function, rows, size, arguments)


def run_blocks(
    function: BlockFunction, rows: Array, size: int, arguments: tuple[Any, ...]
) -> tuple[list[Any], float]:
    """The results of blocks of up to `size` rows, and the seconds they took."""
    started = time.perf_counter()
    results = []
    for start in range(0, len(rows), size):
        check_wanted()
        results.append(function(rows[start : start + size], *arguments))
    return results, time.perf_counter() - started
