"""Proposals of the nearest samples from a GPU, or any other device of PyTorch.

As `product`, with the products and the choice of the smallest in PyTorch: a tile of some rows by many
columns is multiplied in single precision, the smallest of every row are chosen and merged with those of
the tiles before. What the device finds are proposals; they are measured again and settled on the CPU, in
double precision, as all proposals are.

Devices multiply single precision in less where they may (TF32, bfloat16). The bound of the rounding would
not hold then, so that it is switched off for the call, and whether it is off is tried out.

Cost: 2 N^2 (d + 2) operations in single precision, the products written once and read a few times; a
tile's memory (`TILE_BYTES`), the data (streamed through the device where they are too large for it) and
the proposals of a tile's rows.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from ..._parallel import for_each
from ..._typing import Array
from .._metrics import ALIASES
from .matrix_product import UNIT, CandidateHeaps, ProductSearch

TILE_BYTES = 2**30  # of products, on a device of its own memory
CPU_TILE_BYTES = 2**26
SHARE = 8  # of the free memory of a device, a tile of products takes at most one part
TILE_ROWS = 4096
SENT_ROWS = 2**16
PROBE = 192
ITEM_BITS = 31
# PyTorch's settings of precision belong to the process.
_at_work = threading.RLock()


def load_torch() -> Any:
    """PyTorch; whether it is installed makes no difference to what type checkers see.

    Raises
    ------
    ImportError
        If it is missing.
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        msg = "device=... needs PyTorch: pip install 'knnccv[gpu]'"
        raise ImportError(msg) from error


def check_served(metric: str, kind: str) -> None:
    """Raise ValueError if a device cannot rank by this metric."""
    if kind == "sqeuclidean":
        return
    if metric in ("cosine", "correlation"):
        msg = (
            f"device cannot serve metric {metric!r} on these data, as some row has no direction (all zero, "
            "or constant under correlation); leave such rows or the device out"
        )
    elif ALIASES.get(metric, metric) in ("euclidean", "sqeuclidean"):
        msg = (
            f"device cannot serve metric {metric!r} on these data, whose values span too many orders of "
            "magnitude; leave the device out"
        )
    else:
        served = "euclidean, sqeuclidean, cosine, correlation and haversine"
        msg = f"device serves the {served} metrics, not {metric!r}"
    raise ValueError(msg)


def check_device(device: Any) -> str:
    """The device's full name, as "cuda:0".

    Raises
    ------
    ImportError
        If PyTorch is missing.
    ValueError
        If it is no device, or there is none such here.
    """
    torch = load_torch()
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError) as error:
        msg = f"device must be None or what torch.device takes, as 'cuda:1' or 'cpu', got {device!r}"
        raise ValueError(msg) from error
    known = _devices(torch)
    if chosen.type == "cuda" and chosen.index is None and "cuda:0" in known:
        chosen = torch.device("cuda", torch.cuda.current_device())
    name = chosen.type if chosen.type in ("cpu", "mps") else str(chosen)
    if name not in known and (chosen.type in ("cpu", "cuda", "mps") or not _answers(torch, chosen)):
        msg = f"there is no device {str(device)!r} here, only {', '.join(map(repr, known))}"
        raise ValueError(msg)
    return name


def _devices(torch: Any) -> list[str]:
    names = ["cpu"]
    if torch.cuda.is_available():
        names += [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        names.append("mps")
    return names


def _answers(torch: Any, device: Any) -> bool:
    """Whether a device of a rarer kind is there and holds numbers."""
    try:
        return bool(torch.zeros(1, device=device).cpu()[0] == 0)
    except (RuntimeError, AssertionError):
        return False


@contextmanager
def single_precision(torch: Any) -> Iterator[None]:
    """Matrix products of float32 in no less than that, whatever the user's settings, which come back.

    They are settings of the process: products of other threads are slower meanwhile, not wrong. PyTorch
    has had two ways to set them, and complains if asked by the one what was set by the other.
    """
    owners = [torch.backends.cuda.matmul]
    if hasattr(torch.backends, "mkldnn"):
        owners.append(getattr(torch.backends.mkldnn, "matmul", None))
    owners = [owner for owner in owners if hasattr(owner, "fp32_precision")]
    with _at_work:
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
                # What was inherited is inherited again.
                owner.fp32_precision = "none" if value == everywhere else value


class DeviceSearch:
    """The factors of a `ProductSearch` on a device.

    Parameters
    ----------
    search : ProductSearch
    device : str
        From `check_device`.
    tile_bytes : int, optional
        Memory for a tile of products. Default: by the device.

    Raises
    ------
    RuntimeError
        If the device does not keep to single precision.
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
        # Rows that begin at multiples of 32 bytes are read faster; zeros do not change a sum.
        self._aligned = search.factors.shape[1] if on_cpu else -(-search.factors.shape[1] // 8) * 8
        self._items = torch.from_numpy(search.items).to(self._device)
        self._factors: Any = None
        with self._quiet():
            _check_products(*self._probe())
            if on_cpu:
                self._factors = torch.from_numpy(search.factors)
            elif 2 * 4 * len(search.items) * self._aligned < free:
                self._factors = self._all_sent()

    def heaps(self, depth: int, progress: bool = False) -> CandidateHeaps:
        """Heaps of all samples, in the order of ``search.items``."""
        n_items = len(self._search.items)
        heaps = CandidateHeaps.empty(n_items, depth, n_items)
        n_rows = self._n_rows(heaps.width)

        def fill(start: int) -> None:
            rows = np.arange(start, min(start + n_rows, n_items))
            heaps.values[rows], heaps.items[rows] = self._nearest(rows, heaps.width)

        for_each(fill, range(0, n_items, n_rows), 1, progress, unit="tile")
        return heaps

    def proposals(self, rows: Array, depth: int) -> CandidateHeaps:
        """Heaps of some samples; `rows` are those of the samples in the search."""
        n_items = len(self._search.items)
        heaps = CandidateHeaps.empty(len(rows), depth, n_items)
        n_rows = self._n_rows(heaps.width)
        for start in range(0, len(rows), n_rows):
            tile = slice(start, start + n_rows)
            heaps.values[tile], heaps.items[tile] = self._nearest(rows[tile], heaps.width)
        return heaps

    def _nearest(self, rows: Array, width: int) -> tuple[Array, Array]:
        """The smallest products of some rows and their samples, (n_rows, width), the largest in front."""
        torch, search = self._torch, self._search
        n_items = len(search.items)
        rows = rows.astype(np.int64)
        n_columns = self._n_columns(len(rows))
        with self._quiet():
            turned = self._send(search.turned(rows))
            best: Any = None
            items: Any = None
            for start in range(0, n_items, n_columns):
                end = min(start + n_columns, n_items)
                products = turned @ self._columns(start, end).T
                within = np.flatnonzero((rows >= start) & (rows < end))
                own = torch.from_numpy(within), torch.from_numpy(rows[within] - start)
                values, found = self._smallest(products, own, start, width)
                del products
                if best is not None:
                    values, found = torch.cat([best, values], dim=1), torch.cat([items, found], dim=1)
                    values, at = torch.topk(values, min(width, values.shape[1]), dim=1, largest=False)
                    found = found.gather(1, at)
                best, items = values, found
            if search.exact:
                best = (best >> ITEM_BITS).to(torch.float32) * 4.0**-search.shift
            return best.flip(1).cpu().numpy(), items.flip(1).cpu().numpy()

    def _smallest(self, products: Any, own: Any, start: int, width: int) -> tuple[Any, Any]:
        """A tile's smallest values, ascending, and their samples; `own` are the places of samples
        themselves.

        Where single precision is exact, so are ties, and the smaller sample must win: the values are then
        keys of value and sample, as integers.
        """
        torch, search = self._torch, self._search
        items = self._items[start : start + products.shape[1]]
        values, none = products, torch.inf
        if search.exact:
            values = products.mul_(4.0**search.shift).to(torch.int64)
            values.bitwise_left_shift_(ITEM_BITS).bitwise_or_(items.to(torch.int64))
            none = torch.iinfo(torch.int64).max
        values[own[0].to(self._device), own[1].to(self._device)] = none
        values, at = torch.topk(values, min(width, products.shape[1]), dim=1, largest=False)
        return values, items[at]

    def _n_rows(self, width: int) -> int:
        """Rows of a tile: merging takes some arrays of so many lists."""
        return int(np.clip(self.tile_bytes // (64 * width), 1, TILE_ROWS))

    def _n_columns(self, n_rows: int) -> int:
        n_bytes = 4 * n_rows * (4 if self._search.exact else 1)  # keys and what they are made of
        return max(self.tile_bytes // n_bytes, 64)

    def _columns(self, start: int, end: int) -> Any:
        """Some factors, from the device if they fitted it."""
        if self._factors is not None:
            return self._factors[start:end]
        return self._send(self._search.factors[start:end])

    def _all_sent(self) -> Any:
        """All factors; in parts, or they would need their room twice on the way."""
        torch, factors = self._torch, self._search.factors
        sent = torch.zeros((len(factors), self._aligned), dtype=torch.float32, device=self._device)
        for start in range(0, len(factors), SENT_ROWS):
            sent[start : start + SENT_ROWS] = self._send(factors[start : start + SENT_ROWS])
        return sent

    def _send(self, factors: Array) -> Any:
        sent = self._torch.from_numpy(factors).to(self._device)
        more = self._aligned - factors.shape[1]
        return self._torch.nn.functional.pad(sent, (0, more)) if more else sent

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """One caller at a time, in full single precision, without what users may have switched on."""
        torch = self._torch
        with ExitStack() as stack:
            stack.enter_context(single_precision(torch))
            stack.enter_context(torch.inference_mode())
            available = getattr(torch.amp, "is_autocast_available", ("cpu", "cuda").__contains__)
            if available(self._device.type):
                stack.enter_context(torch.autocast(self._device.type, enabled=False))
            yield

    def _probe(self) -> tuple[Array, Array, Array]:
        """Two factors and their product as the device computes it, which tell how it rounds.

        The first half of the rows have one entry each: single products, which nothing hides.
        """
        rng = np.random.default_rng(0)
        one, other = (rng.uniform(0.5, 1, (PROBE, self._aligned)).astype(np.float32) for _ in range(2))
        single = np.arange(PROBE // 2)
        alone = np.zeros_like(one[single])
        alone[single, single % self._aligned] = one[single, 0]
        one[single] = alone
        return one, other, (self._send(one) @ self._send(other).T).cpu().numpy()


def _check_products(one: Array, other: Array, found: Array) -> None:
    """Raise RuntimeError if a row's products are rounded by more than single precision needs."""
    exact = one.astype(np.float64) @ other.T.astype(np.float64)
    off = np.abs(found - exact) / exact
    allowed = 1.1 * UNIT * np.maximum((one != 0).sum(axis=1, keepdims=True), 2)
    if (off > allowed).any():
        msg = (
            f"the device multiplies float32 in less than single precision (a probe was off by "
            f"{off.max():.0e}), so that it cannot serve here; is NVIDIA_TF32_OVERRIDE set?"
        )
        raise RuntimeError(msg)


def _free_bytes(torch: Any, device: Any) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return 2**33
