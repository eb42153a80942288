"""Search on a GPU, or another device of PyTorch: proposals as in `matrix_product`, settled on the CPU.

A tile of some rows by many columns is multiplied in single precision. The smallest products of every row
are chosen and merged with those of earlier tiles. These are proposals; the CPU measures and settles them
in double precision, as all proposals.

Devices may multiply with fewer digits than single precision has (TF32, bfloat16). The bound of the
rounding would not hold then. Such modes are therefore switched off for the call, and a probe checks that
they are off.

Cost: 2 N^2 (d + 2) operations in single precision, with the products written once and read a few times.
Memory: a tile (`TILE_BYTES`), the data (streamed through the device if they are too large for it) and the
proposals of a tile's rows.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..._parallel import for_each
from ..._typing import Array
from .engine import Lazy
from .matrix_product import UNIT, CandidateHeaps, MatrixProduct, ProductSearch, width_for

TILE_BYTES = 2**30  # products in a tile, on a device with memory of its own
CPU_TILE_BYTES = 2**26
SHARE = 8  # a tile takes at most one of this many parts of the device's free memory
TILE_ROWS = 4096
SENT_ROWS = 2**16
PROBE = 192
ITEM_BITS = 31
# PyTorch's precision settings belong to the process.
_precision_lock = threading.RLock()


def load_torch() -> Any:
    """Return PyTorch, imported in a way that type checkers treat the same with and without it.

    Raises
    ------
    ImportError
        If PyTorch is missing.
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        msg = 'device=... needs PyTorch: pip install "knnccv[gpu]"'
        raise ImportError(msg) from error


def check_served(metric: str, kind: str) -> None:
    """Raise ValueError if a device cannot rank by this metric."""
    if kind == "sqeuclidean":
        return
    if metric in ("cosine", "correlation"):
        msg = (
            f"device cannot serve metric {metric!r} on these data, as some row has no direction (all zero, "
            "or constant under correlation); remove such rows, or omit device"
        )
    elif metric in ("euclidean", "l2", "sqeuclidean"):
        msg = (
            f"device cannot serve metric {metric!r} on these data, whose values span too many orders of "
            "magnitude; omit device"
        )
    else:
        served = "euclidean, sqeuclidean, cosine, correlation and haversine"
        msg = f"device serves the {served} metrics, not {metric!r}"
    raise ValueError(msg)


def check_device(device: Any) -> str:
    """The device's full name, for example "cuda:0".

    Raises
    ------
    ImportError
        If PyTorch is missing.
    ValueError
        If this is not a device, or the machine does not have it.
    """
    torch = load_torch()
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError) as error:
        msg = f"device must be None or a device of PyTorch, such as 'cuda:1' or 'cpu', got {device!r}"
        raise ValueError(msg) from error
    known = _devices(torch)
    if chosen.type == "cuda" and chosen.index is None and "cuda:0" in known:
        chosen = torch.device("cuda", torch.cuda.current_device())
    name = chosen.type if chosen.type in ("cpu", "mps") else str(chosen)
    if name not in known and (chosen.type in ("cpu", "cuda", "mps") or not _is_usable(torch, chosen)):
        msg = f"this machine has no device {str(device)!r}, only {', '.join(map(repr, known))}"
        raise ValueError(msg)
    return name


def _devices(torch: Any) -> list[str]:
    names = ["cpu"]
    if torch.cuda.is_available():
        names += [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        names.append("mps")
    return names


def _is_usable(torch: Any, device: Any) -> bool:
    """Return True if a device of a rarer type exists and stores numbers."""
    try:
        return bool(torch.zeros(1, device=device).cpu()[0] == 0)
    except (RuntimeError, AssertionError):
        return False


@contextmanager
def single_precision(torch: Any) -> Iterator[None]:
    """Context in which float32 products have full single precision; the user's settings are restored.

    The settings belong to the process: products in other threads are slower meanwhile, not wrong. PyTorch
    has two interfaces for them, and reading through one what was set through the other is an error.
    """
    owners = [torch.backends.cuda.matmul]
    if hasattr(torch.backends, "mkldnn"):
        owners.append(getattr(torch.backends.mkldnn, "matmul", None))
    owners = [owner for owner in owners if hasattr(owner, "fp32_precision")]
    with _precision_lock:
        try:
            legacy = torch.get_float32_matmul_precision()
        except RuntimeError:
            legacy = None
        everywhere = getattr(torch.backends, "fp32_precision", "none")
        before = [owner.fp32_precision for owner in owners]
        try:
            if legacy is not None:
                torch.set_float32_matmul_precision("highest")
            for owner in owners:
                owner.fp32_precision = "ieee"
            yield
        finally:
            if legacy is not None:
                torch.set_float32_matmul_precision(legacy)
            for owner, value in zip(owners, before, strict=True):
                # An inherited setting is inherited again.
                owner.fp32_precision = "none" if value == everywhere else value


class DeviceSearch:
    """The factors of a `ProductSearch` on a device.

    Parameters
    ----------
    search : ProductSearch
    device : str
        From `check_device`.
    tile_bytes : int, optional
        Memory for a tile of products. Default: chosen by the device.

    Raises
    ------
    RuntimeError
        If the device computes with less than single precision.
    """

    def __init__(self, search: ProductSearch, device: str, tile_bytes: int | None = None) -> None:
        self._torch = torch = load_torch()
        self._search = search
        self._device = torch.device(check_device(device))
        on_cpu = self._device.type == "cpu"
        free = _free_bytes(torch, self._device)
        self.tile_bytes = tile_bytes or min(
            CPU_TILE_BYTES if on_cpu else TILE_BYTES, max(free // SHARE, 2**20)
        )
        # Rows aligned to 32 bytes are read faster; added zeros do not change a sum.
        self._aligned = search.factors.shape[1] if on_cpu else -(-search.factors.shape[1] // 8) * 8
        self._items = torch.from_numpy(search.items).to(self._device)
        self._factors: Any = None
        with self._full_precision():
            _check_products(*self._probe())
            if on_cpu:
                self._factors = torch.from_numpy(search.factors)
            elif 2 * 4 * len(search.items) * self._aligned < free:
                self._factors = self._send_all()

    def proposals(self, rows: Array, depth: int, progress: bool = False) -> CandidateHeaps:
        """Heaps of some samples, given by their rows in the search."""
        n_items = self._search.n_others + 1
        heaps = CandidateHeaps.empty(len(rows), width_for(depth, n_items), n_items)
        n_rows = self._n_rows(heaps.width)

        def fill(start: int) -> None:
            tile = slice(start, start + n_rows)
            heaps.values[tile], heaps.items[tile] = self._nearest(rows[tile], heaps.width)

        for_each(fill, range(0, len(rows), n_rows), 1, progress, unit="tile")
        return heaps

    def _nearest(self, rows: Array, width: int) -> tuple[Array, Array]:
        """The smallest products of some rows and their samples, (n_rows, width), the largest first."""
        torch, search = self._torch, self._search
        n_items = search.n_searched
        rows = rows.astype(np.int64)
        n_columns = self._n_columns(len(rows))
        with self._full_precision():
            right = self._send(search.right_factors(rows))
            best: Any = None
            items: Any = None
            for start in range(0, n_items, n_columns):
                end = min(start + n_columns, n_items)
                products = right @ self._columns(start, end).T
                within = np.flatnonzero((rows >= start) & (rows < end))
                itself = torch.from_numpy(within), torch.from_numpy(rows[within] - start)
                values, found = self._smallest(products, itself, start, width)
                del products
                if best is not None:
                    values, found = torch.cat([best, values], dim=1), torch.cat([items, found], dim=1)
                    values, at = torch.topk(values, min(width, values.shape[1]), dim=1, largest=False)
                    found = found.gather(1, at)
                best, items = values, found
            if search.exact:
                best = (best >> ITEM_BITS).to(torch.float32) * 4.0**-search.shift
            return best.flip(1).cpu().numpy(), items.flip(1).cpu().numpy()

    def _smallest(self, products: Any, itself: Any, start: int, width: int) -> tuple[Any, Any]:
        """A tile's smallest values, ascending, and their samples; `itself` marks a row with its own sample.

        Where single precision is exact, ties are real and the smaller index must win. The values are then
        integer keys of value and sample.
        """
        torch, search = self._torch, self._search
        items = self._items[start : start + products.shape[1]]
        values, never = products, torch.inf
        if search.exact:
            values = products.mul_(4.0**search.shift).to(torch.int64)
            values.bitwise_left_shift_(ITEM_BITS).bitwise_or_(items.to(torch.int64))
            never = torch.iinfo(torch.int64).max
        values[itself[0].to(self._device), itself[1].to(self._device)] = never
        values, at = torch.topk(values, min(width, products.shape[1]), dim=1, largest=False)
        return values, items[at]

    def _n_rows(self, width: int) -> int:
        """Rows of a tile; merging needs a few arrays of n_rows lists."""
        return int(np.clip(self.tile_bytes // (64 * width), 1, TILE_ROWS))

    def _n_columns(self, n_rows: int) -> int:
        n_bytes = 4 * n_rows * (4 if self._search.exact else 1)  # exact values need integer keys as well
        return max(self.tile_bytes // n_bytes, 64)

    def _columns(self, start: int, end: int) -> Any:
        """Some factors, from the device's memory if all fit into it."""
        if self._factors is not None:
            return self._factors[start:end]
        return self._send(self._search.factors[start:end])

    def _send_all(self) -> Any:
        """All factors on the device, copied in parts to save memory."""
        torch, factors = self._torch, self._search.factors
        sent = torch.zeros((len(factors), self._aligned), dtype=torch.float32, device=self._device)
        for start in range(0, len(factors), SENT_ROWS):
            sent[start : start + SENT_ROWS] = self._send(factors[start : start + SENT_ROWS])
        return sent

    def _send(self, factors: Array) -> Any:
        sent = self._torch.from_numpy(factors).to(self._device)
        padding = self._aligned - factors.shape[1]
        return self._torch.nn.functional.pad(sent, (0, padding)) if padding else sent

    @contextmanager
    def _full_precision(self) -> Iterator[None]:
        """Context for one caller at a time, in full single precision, without gradients and autocast."""
        torch = self._torch
        with ExitStack() as stack:
            stack.enter_context(single_precision(torch))
            stack.enter_context(torch.inference_mode())
            available = getattr(torch.amp, "is_autocast_available", ("cpu", "cuda").__contains__)
            if available(self._device.type):
                stack.enter_context(torch.autocast(self._device.type, enabled=False))
            yield

    def _probe(self) -> tuple[Array, Array, Array]:
        """Two factors and their product as computed by the device, to measure its rounding.

        The first half of the rows have one entry each, so that their products are not summed.
        """
        rng = np.random.default_rng(0)
        one, other = (rng.uniform(0.5, 1, (PROBE, self._aligned)).astype(np.float32) for _ in range(2))
        single = np.arange(PROBE // 2)
        alone = np.zeros_like(one[single])
        alone[single, single % self._aligned] = one[single, 0]
        one[single] = alone
        return one, other, (self._send(one) @ self._send(other).T).cpu().numpy()


def _check_products(one: Array, other: Array, found: Array) -> None:
    """Raise RuntimeError if a row's rounding error is larger than that of single precision."""
    exact = one.astype(np.float64) @ other.T.astype(np.float64)
    off = np.abs(found - exact) / exact
    allowed = 1.1 * UNIT * np.maximum((one != 0).sum(axis=1, keepdims=True), 2)
    if (off > allowed).any():
        msg = (
            f"the device multiplies float32 in less than single precision (a probe was off by "
            f"{off.max():.0e}), so that it cannot be used; is NVIDIA_TF32_OVERRIDE set?"
        )
        raise RuntimeError(msg)


def _free_bytes(torch: Any, device: Any) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return 2**33


@dataclass(eq=False)
class TorchProduct(MatrixProduct):
    """Searches as `MatrixProduct`, with the products computed on `device` (from `check_device`)."""

    device: str = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._on_device = Lazy(partial(_device_search, self._search, self.device))

    def prepare(self) -> None:
        """Build the factors and send them to the device."""
        self._on_device()

    def _candidates_of_all(self, depth: int, n_jobs: int | None, progress: bool) -> CandidateHeaps:  # noqa: ARG002
        return self._on_device().proposals(np.arange(len(self.data)), depth, progress)

    def _candidates(self, places: Array, depth: int) -> CandidateHeaps:
        return self._on_device().proposals(places, depth)


def _device_search(search: Lazy[ProductSearch], device: str) -> DeviceSearch:
    return DeviceSearch(search(), device)
