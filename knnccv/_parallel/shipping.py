"""A plan on its way to other processes: pickled at most once here, opened at most once there.

The plan holds the data, so it must not travel with every task. Executors differ in how they get a task
to its worker, and most do not tell; therefore

- nothing is pickled before an executor asks for it: a pool of threads never does, and calls the plan
  itself;
- a task names the plan and takes it along only now and then (`FunctionReference`). A worker keeps the last
  plans that it has seen; one that does not know the plan says so, and the task is sent again with it;
- where the cluster can hold data by itself, as dask does, it is given the `ShippedFunction`.
"""

from __future__ import annotations

import importlib
import io
import sys
import threading
import time
import uuid
from collections import OrderedDict
from typing import Any, Protocol

from numba.core import serialize
from numba.core.dispatcher import Dispatcher

from .._typing import Array, Kernel
from .._version import __version__
from .blas import one_blas_thread
from .threads import Stop, heeding

KEPT_FUNCTIONS = 2  # plans that a worker keeps: one at work, and one of another caller's


class BlockFunction(Protocol):
    """What computes blocks of samples."""

    def compile(self) -> None:
        """Compile, or load from the cache, what the blocks will call."""

    def __call__(self, rows: Array, *arguments: Any) -> Any:
        """The results of some samples, each computed on its own."""


class ShippedFunction:
    """A plan, or its bytes until the first task opens it.

    Opening imports and compiles, and may fail, which must not happen where a worker receives its messages.
    """

    def __init__(
        self,
        plan: BlockFunction | None,
        packed: bytes | None = None,
        token: str = "",
        version: str = __version__,
    ) -> None:
        self.token = token or uuid.uuid4().hex
        self._plan = plan
        self._packed = packed
        self._version = version
        self._n_bytes = len(packed) if packed else 0
        self._arrived = packed is not None
        self._lock = threading.Lock()

    def open(self) -> BlockFunction:
        """The plan, ready to be called; a worker lets go of the bytes."""
        with self._lock:
            if self._plan is None:
                if self._version != __version__:
                    msg = (
                        f"the caller runs knnccv {self._version} and this worker {__version__}; "
                        "install the same version"
                    )
                    raise RuntimeError(msg)
                plan: BlockFunction = serialize.loads(self._packed or b"")
                plan.compile()
                self._plan, self._packed = plan, None
            return self._plan

    def packed(self) -> bytes:
        """The plan's bytes; the caller's process keeps them, as they may be asked for again.

        Raises
        ------
        TypeError
            If something in the plan, say a metric, cannot be pickled.
        """
        with self._lock:
            if self._packed is not None:
                return self._packed
            try:
                packed = _dumps(self._plan)
            except Exception as error:
                msg = (
                    "the work cannot be sent to other processes, as something in it (a callable metric, "
                    f"a kernel) cannot be pickled: {error}"
                )
                raise TypeError(msg) from error
            if not self._arrived:
                self._packed = packed
            return packed

    def __reduce__(self) -> tuple[Any, ...]:
        return ShippedFunction, (None, self.packed(), self.token, self._version)

    def __sizeof__(self) -> int:
        """As schedulers ask how much memory the plan takes."""
        return object.__sizeof__(self) + self._n_bytes


class FunctionReference:
    """What a task has in place of the plan: the plan itself within a process, else its name.

    Parameters
    ----------
    parcel : Parcel
    full : bool
        Whether the plan's bytes go along if the ticket is pickled.
    stop : Stop
        Set when nobody wants the results any more; within a process.
    """

    def __init__(self, parcel: ShippedFunction, full: bool, stop: Stop) -> None:
        self.parcel = parcel
        self.full = full
        self.stop = stop

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrive, (self.parcel.token, self.parcel if self.full else None)


_known: OrderedDict[str, ShippedFunction] = OrderedDict()
_known_lock = threading.Lock()


def _arrive(token: str, parcel: ShippedFunction | None) -> ShippedFunction | None:
    """In a worker: the parcel of that name, if it is known or comes along."""
    with _known_lock:
        if parcel is not None:
            _known.setdefault(token, parcel)
        found = _known.get(token)
        if found is not None:
            _known.move_to_end(token)
            while len(_known) > KEPT_FUNCTIONS:
                _known.popitem(last=False)
        return found


def answer(
    at: FunctionReference | ShippedFunction | None, rows: Array, size: int, arguments: tuple[Any, ...]
) -> tuple[list[Any], float] | None:
    """A task: as `compute`, or None if the plan is not known here."""
    if at is None:
        return None
    if isinstance(at, FunctionReference):  # within the caller's process, who has seen to BLAS
        with heeding(at.stop):
            return compute(at.parcel.open(), rows, size, arguments, at.stop)
    plan = at.open()
    with one_blas_thread():
        return compute(plan, rows, size, arguments)


def compute(
    plan: BlockFunction, rows: Array, size: int, arguments: tuple[Any, ...], stop: Stop | None = None
) -> tuple[list[Any], float]:
    """The results of blocks of up to `size` rows, and the seconds they took; cut short by `stop`."""
    started = time.perf_counter()
    results = []
    for start in range(0, len(rows), size):
        if stop is not None and stop.is_set():
            break
        results.append(plan(rows[start : start + size], *arguments))
    return results, time.perf_counter() - started


class _Pickler(serialize.NumbaPickler):
    """As Numba's, which can pickle functions by value, but with kernels by name where they have one.

    A kernel by value would be compiled anew in every worker; an imported one comes from its cache.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Dispatcher):
            address = _address(obj)
            if address is not None:
                return _import_kernel, (*address, _by_value(obj))
        return super().reducer_override(obj)


def _dumps(plan: Any) -> bytes:
    with io.BytesIO() as file:
        _Pickler(file, protocol=5).dump(plan)
        return file.getvalue()


def _address(kernel: Any) -> tuple[str, str] | None:
    """Module and name under which others find the kernel."""
    source = kernel.py_func
    found: Any = sys.modules.get(source.__module__)
    if source.__module__ == "__main__":
        return None
    for part in source.__qualname__.split("."):
        found = getattr(found, part, None)
    return (source.__module__, source.__qualname__) if found is kernel else None


def _by_value(kernel: Any) -> bytes:
    """The kernel for workers without its module; empty if it does not work without."""
    try:
        return bytes(serialize.dumps(kernel))
    except Exception:  # whatever a global of the kernel raises
        return b""


def _import_kernel(module: str, name: str, by_value: bytes) -> Kernel:
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        if not by_value:
            raise
        found = serialize.loads(by_value)
    kernel: Kernel = found
    return kernel
