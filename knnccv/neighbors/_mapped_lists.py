"""Given neighbor lists in memory-mapped files: rows are copied as they are read, and their pages freed."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from .._typing import Array
from ._given_rows import follow_each_other, take_rows

SHARED_MODES = ("r", "r+", "w+")  # pages of these maps can be read again from the file
TOGETHER = 2**21  # bytes that a system may map when one of them is read
APART = 32  # rows far from each other that are read at a time


def mapping_of(array: Any) -> np.memmap[Any, Any] | None:
    """The memory map that holds the data of an array, or None."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array._mmap is not None:  # type: ignore[attr-defined]
            return array
        array = array.base
    return None


class MappedRows:
    """The rows of an array, which need not fit into memory.

    Pickled by the path of the file, if there is one: a worker opens it again.

    Parameters
    ----------
    array : ndarray of shape (n_rows, width)
        Memory-mapped or not.
    """

    def __init__(self, array: Array) -> None:
        found = mapping_of(array)
        self._array = np.asarray(array)
        self._map: Any = None
        self._path: str | None = None
        if found is not None and found.mode in SHARED_MODES:
            self._map = found._mmap  # type: ignore[attr-defined]
            self._path = None if found.filename is None else os.path.abspath(found.filename)

    def take(self, rows: Array) -> Array:
        """A copy of some rows."""
        copy = np.empty((len(rows), self._array.shape[1]), self._array.dtype)
        together = len(rows) if follow_each_other(rows) else APART
        for start in range(0, len(rows), max(together, 1)):
            some = rows[start : start + together]
            copy[start : start + together] = take_rows(self._array, some)
            self._forget(some)
        return copy

    def _forget(self, rows: Array) -> None:
        """Give the pages of some rows back; they would count as this process's memory."""
        if not hasattr(self._map, "madvise"):  # not memory-mapped, or on Windows
            return
        low, high = _bounds(self._array[int(rows.min()) : int(rows.max()) + 1])
        low, high = low - _address(self._map), high - _address(self._map)
        start = low - low % TOGETHER
        self._map.madvise(mmap.MADV_DONTNEED, start, high - high % -TOGETHER - start)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            return MappedRows, (np.array(self._array),)
        array = self._array
        offset = _first(array) - _address(self._map)
        size = os.path.getsize(self._path)
        return _reopened, (self._path, size, array.dtype, array.shape, array.strides, offset)


class MappedLists:
    """Reads given lists from arrays of which at least one is memory-mapped."""

    parts = None  # workers open the file

    def __init__(self, indices: Array, distances: Array | None) -> None:
        self._indices = MappedRows(indices)
        self._distances = None if distances is None else MappedRows(distances)

    def check_sendable(self) -> None:
        """Do nothing: a worker that cannot open the file says so."""

    def read(self, rows: Array) -> tuple[Array, Array | None]:
        """The indices of some rows, and their distances, if there are any."""
        return self._indices.take(rows), None if self._distances is None else self._distances.take(rows)


def _address(mapped: Any) -> int:
    """The address of the first byte of a memory map."""
    return _first(np.frombuffer(mapped, np.uint8, 1))


def _first(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _bounds(array: Array) -> tuple[int, int]:
    """Addresses of the lowest byte of an array, and of the one past its highest."""
    steps = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    low = _first(array) + sum(step for step in steps if step < 0)
    return low, _first(array) + sum(step for step in steps if step > 0) + array.itemsize


def _reopened(
    path: str, size: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> MappedRows:
    """The rows of a file in another process.

    Raises
    ------
    ValueError
        If the file cannot be opened, or has another size.
    """
    must = "a worker must see the file of the given lists under the same path (or pass a dask array)"
    try:
        found = os.path.getsize(path)
        mapped = np.memmap(path, np.uint8, "r") if found == size else None
    except OSError as error:
        msg = f"{must}: {error}"
        raise ValueError(msg) from error
    if mapped is None:
        msg = f"{must}: {path!r} has {found} bytes, not {size}"
        raise ValueError(msg)
    return MappedRows(np.ndarray(shape, dtype, mapped, offset, strides))
