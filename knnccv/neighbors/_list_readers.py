"""Given neighbor lists: arrays, memory-mapped files, dask arrays, parts that come with a task.

A reader has the raw rows of any of these, and `ListFormat` packs them into lists. Lists of arrays in memory
are packed at once, all others as they are needed.

Rows of memory-mapped files are copied as they are read, and their pages freed. Chunks of dask arrays are
computed where they are read, one per thread.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._base.parallel import Parts, held_part
from .._base.typing import Array
from .._base.validation import check
from ._engines.engine import STORED_ROWS, Engine, Lazy, NeighborLists, StoredLists, together
from ._given_lists import (
    ListFormat,
    as_distances,
    as_indices,
    check_distances,
    refuse_contradictions,
    spread_rows,
)
from ._sources import Source, checksum_of

SHARED_MODES = ("r", "r+", "w+")  # pages of these maps can be read again from the file
TOGETHER = 2**21  # bytes that a system may map when one of them is read
APART = 32  # rows far from each other that are read at a time
FEW = 16  # rows of a chunk that are sent without the others
BLOCK_ENTRIES = 2**19  # of indices that are packed at once


Raw = tuple[Array, ...]
"""Indices, shape (n_rows, width), and their distances if there are any."""


class Reader(ABC):
    """Reads rows of given lists, in any thread."""

    @property
    def parts(self) -> Parts | None:
        """The lists in parts that travel with tasks; None if a worker reads them by itself."""
        return None

    def check_sendable(self) -> None:  # noqa: B027
        """Raise TypeError if a worker cannot read the lists by itself."""

    @abstractmethod
    def read(self, rows: Array) -> Raw:
        """The indices of some rows, and their distances, if there are any."""


class HeldLists(Reader):
    """Reads the part of the lists that came with the task of this thread."""

    def read(self, rows: Array) -> Raw:
        """The indices of some rows, and their distances, if there are any."""
        found: Raw = held_part().read(rows)
        return found


class ArrayLists(Reader):
    """Reads given lists from arrays, memory-mapped or not; a worker opens a mapped file by its path."""

    def __init__(self, *arrays: Array) -> None:
        self._arrays = [MappedRows(array) for array in arrays]

    def read(self, rows: Array) -> Raw:
        """The indices of some rows, and their distances, if there are any."""
        return tuple(array.take(rows) for array in self._arrays)


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
        step = APART if together(rows) is rows else len(rows)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            copy[start : start + step] = self._array[together(some)]
            self._forget(some)
        return copy

    def _forget(self, rows: Array) -> None:
        """Give the pages of some rows back; they would count as this process's memory."""
        if not hasattr(self._map, "madvise"):  # not memory-mapped, or on Windows
            return
        low, high = np.lib.array_utils.byte_bounds(self._array[int(rows.min()) : int(rows.max()) + 1])
        low, high = low - _address(self._map), high - _address(self._map)
        start = low - low % TOGETHER
        self._map.madvise(mmap.MADV_DONTNEED, start, high - high % -TOGETHER - start)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            return MappedRows, (np.array(self._array),)
        array = self._array
        offset = array.ctypes.data - _address(self._map)
        size = os.path.getsize(self._path)
        return _reopened, (self._path, size, array.dtype, array.shape, array.strides, offset)


def _address(mapped: Any) -> int:
    """The address of the first byte of a memory map."""
    return np.frombuffer(mapped, np.uint8, 1).ctypes.data


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
    check(mapped is not None, f"{must}: {path!r} has {found} bytes, not {size}")
    return MappedRows(np.ndarray(shape, dtype, mapped, offset, strides))


def is_dask_array(array: Any) -> bool:
    """Return True if the argument is a dask array; dask is not imported."""
    dask_array = sys.modules.get("dask.array")
    return dask_array is not None and isinstance(array, dask_array.Array)


@dataclass(eq=False)
class ListChunk:
    """The rows from ``start`` on."""

    start: int
    arrays: Raw

    def read(self, rows: Array) -> Raw:
        """The indices of some rows, and their distances."""
        at = rows - self.start
        if len(at) and not 0 <= at.min() <= at.max() < len(self.arrays[0]):
            msg = f"a task for samples {rows.min()} to {rows.max()} came with the lists of others"
            raise RuntimeError(msg)
        return tuple(array[together(at)] for array in self.arrays)


def checked_chunk(start: int, stop: int, how: ListFormat, *arrays: Any) -> ListChunk:
    """A chunk, if it is what the dask arrays promise; its rows are checked when they are packed.

    Raises
    ------
    ValueError, TypeError
        If the shape or the type is wrong, entries are masked, or distances decrease along all lists.
    """
    for given, name, kinds in zip(arrays, ("indices", "distances"), ("iu", "fiu"), strict=False):
        msg = f"there are masked entries in {name}[{start}:{stop}]; every value is needed"
        check(not np.ma.is_masked(given), msg)
        msg = (
            f"the chunk {name}[{start}:{stop}] must have shape {(stop - start, how.width)} and the "
            f"type of the dask array, got shape {given.shape} and dtype {given.dtype}"
        )
        check(given.shape == (stop - start, how.width) and given.dtype.kind in kinds, msg)
    chunk = ListChunk(start, tuple(map(np.asarray, arrays)))
    if how.may_be_similarities:
        _refuse_similarities(chunk, how, start, stop, f"all lists of the chunk [{start}:{stop}]")
    return chunk


class DaskLists(Reader):
    """Reads given lists from dask arrays with the same chunks of rows.

    A chunk is kept as long as a thread reads it, so that there are no more of them than threads.
    """

    def __init__(self, how: ListFormat, *arrays: Any) -> None:
        self._how = how
        self._arrays = arrays
        self._starts = np.concatenate([[0], np.cumsum(arrays[0].chunks[0])])
        self._lock = threading.Lock()
        self._known: weakref.WeakValueDictionary[int, Lazy[ListChunk]] = weakref.WeakValueDictionary()
        self._here = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return DaskLists, (self._how, *self._arrays)

    @property
    def parts(self) -> DaskLists:
        """The chunks, for workers that get one with each task."""
        return self

    def check_sendable(self) -> None:
        """Raise TypeError if a worker cannot compute the chunks by itself."""
        distributed = sys.modules.get("distributed")
        msg = (
            "these lists are dask arrays whose chunks a cluster holds, and this computation reads "
            "several chunks in each task; omit executor, or pass arrays that are read from files"
        )
        check(distributed is None or not distributed.futures_of(list(self._arrays)), msg, error=TypeError)

    def bounds(self, row: int) -> tuple[int, int]:
        """The first row of the chunk that holds a row, and the one past its last row."""
        at = self._number(row)
        return int(self._starts[at]), int(self._starts[at + 1])

    def part(self, row: int) -> Any:
        """The chunk that holds a row, a `ListChunk` that is not computed yet."""
        from dask.delayed import delayed

        at = self._number(row)
        blocks = [array.blocks[at].to_delayed().item() for array in self._arrays]
        return delayed(checked_chunk, pure=False)(*self.bounds(row), self._how, *blocks)

    def read(self, rows: Array) -> Raw:
        """The indices of some rows, and their distances, if there are any."""
        numbers = np.searchsorted(self._starts, rows, side="right") - 1
        chunks = np.unique(numbers) if len(rows) else [0]
        found = [self._read_chunk(int(number), rows[numbers == number]) for number in chunks]
        if len(found) == 1:
            return found[0]
        places = np.argsort(np.argsort(numbers, kind="stable"))
        return tuple(np.concatenate(parts)[places] for parts in zip(*found, strict=True))

    def _number(self, row: int) -> int:
        return int(np.searchsorted(self._starts, row, side="right")) - 1

    def _read_chunk(self, number: int, rows: Array) -> Raw:
        """Rows of one chunk; of a chunk that a cluster computes, a few are sent without the others."""
        if len(rows) <= FEW and number not in self._known and _has_scheduler():
            from dask.delayed import delayed

            some = delayed(ListChunk.read, pure=False)(self.part(int(self._starts[number])), rows)
            found: Raw = some.compute()
            return found
        return self._chunk(number).read(rows)

    def _chunk(self, number: int) -> ListChunk:
        """A chunk; other threads wait for the one that computes it."""
        mine: tuple[int, Lazy[ListChunk]] | None = getattr(self._here, "chunk", None)
        if mine is None or mine[0] != number:
            mine = self._here.chunk = None  # freed before the next one is computed
            with self._lock:
                chunk = self._known.get(number)
                if chunk is None:
                    chunk = self._known[number] = Lazy(partial(self._computed, number))
            mine = self._here.chunk = number, chunk
        return mine[1]()

    def _computed(self, number: int) -> ListChunk:
        part = self.part(int(self._starts[number]))
        # In this thread, unless another scheduler was chosen: arrays on a cluster need their client.
        here = {} if _has_scheduler() else {"scheduler": "synchronous"}
        chunk: ListChunk = part.compute(**here)
        return chunk


def _has_scheduler() -> bool:
    """Return True if the caller has chosen a scheduler of dask, for example by creating a client."""
    from dask.base import get_scheduler

    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            distributed.get_worker()
        except ValueError:
            pass
        else:  # tasks of a cluster that wait for others can block all its threads
            return False
    return get_scheduler() is not None


class StreamedLists(Engine):
    """Reads neighbor lists row by row.

    Parameters
    ----------
    reader : Reader
    how : ListFormat
    """

    holds_lists = True

    def __init__(self, reader: Reader, how: ListFormat) -> None:
        self.reader = reader
        self.how = how
        self.max_depth = how.max_depth

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`, no deeper than the given ones.

        Raises
        ------
        ValueError
            If one of these rows is no neighbor list.
        """
        lists, _ = self.how.pack(rows, *self.reader.read(rows))
        return lists.cut(slice(None), min(depth, self.max_depth))

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return max(1, min(STORED_ROWS, BLOCK_ENTRIES // self.how.width))


class GivenLists(Source):
    """Neighbor lists that another program has found.

    Parameters
    ----------
    lists : NeighborLists or StreamedLists
        Lists of all samples, or what reads them as they are needed.
    n_items : int
    measured : bool, default True
        Whether the values are distances.
    description : str
        "lists" or "graph".
    """

    ordered_by_index = False
    compares_all = False

    def __init__(
        self,
        lists: NeighborLists | StreamedLists,
        n_items: int,
        measured: bool = True,
        description: str = "lists",
    ) -> None:
        self.lists, self.n_items, self.measured, self.description = lists, n_items, measured, description
        self._engine = lists if isinstance(lists, StreamedLists) else StoredLists(lists)
        self.max_depth = self._engine.max_depth
        if isinstance(lists, StreamedLists):
            self.parts = lists.reader.parts

    def engines(self) -> Sequence[Engine]:
        """The lists themselves at every depth."""
        return (self._engine,)

    def checksum(self) -> int:
        """Of the indices in memory, which may be the caller's; distances are copies."""
        return 0 if isinstance(self.lists, StreamedLists) else checksum_of(self.lists.items)

    def for_workers(self, *, in_parts: bool) -> Source:
        """The same lists for a worker, which reads the chunk that comes with its task, or all of them."""
        if not isinstance(self.lists, StreamedLists):
            return self
        if in_parts:
            return GivenLists(StreamedLists(HeldLists(), self.lists.how), self.n_items, self.measured)
        self.lists.reader.check_sendable()
        return self


def source_of_lists(indices: Any, distances: Any, *, approximate: bool, drop_self: bool) -> Source:
    """The source for given lists; those that need not fit into memory are read later.

    Raises
    ------
    ValueError, TypeError
        As `Neighbors.from_lists`.
    """
    in_dask = is_dask_array(indices) or is_dask_array(distances)
    if not in_dask:
        indices = as_indices(indices)
    for name, array in (("indices", indices), ("distances", distances)) if in_dask else ():
        msg = f"indices and distances must both be dask arrays, got {type(array).__name__} for {name}"
        check(array is None or is_dask_array(array), msg, error=TypeError)
        msg = f"the chunks of {name} have unknown sizes; call its compute_chunk_sizes() first"
        check(array is None or not np.isnan(array.shape).any(), msg)
    measured = distances is not None
    how = ListFormat.of(indices, measured=measured, approximate=approximate, drop_self=drop_self)
    if in_dask:
        arrays = [indices.rechunk({1: -1})]
        if measured:
            check_distances(distances, indices.shape)
            arrays.append(distances.rechunk(arrays[0].chunks))
        return GivenLists(StreamedLists(DaskLists(how, *arrays), how), how.n_items, measured)
    arrays = [indices, as_distances(distances, indices.shape)] if measured else [indices]
    if all(mapping_of(array) is None for array in arrays):
        lists, trend = how.pack_all(*arrays)
        how.refuse_similarities(trend)
        if measured and not approximate:
            refuse_contradictions(lists)
        return GivenLists(lists, how.n_items, measured)
    reader = ArrayLists(*arrays)
    # Finds usual mistakes early, such as samples in their own lists.
    _refuse_similarities(reader, how, 0, how.n_items, "all lists")
    return GivenLists(StreamedLists(reader, how), how.n_items, measured)


def _refuse_similarities(
    reader: Reader | ListChunk, how: ListFormat, start: int, stop: int, where: str
) -> None:
    """Pack some rows from `start` to before `stop`, and refuse them if they are wrong or similarities."""
    rows = spread_rows(start, stop)
    how.refuse_similarities(how.pack(rows, *reader.read(rows))[1], where)
