"""The protocol that every search engine follows, and lists that are stored already."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from ..._typing import Array
from .._lists import NeighborLists

BLOCK_ROWS = 1024
STORED_ROWS = 4096
Built = TypeVar("Built")


class Engine(ABC):
    """Finds the nearest samples of any tested samples.

    Attributes
    ----------
    max_depth : int
        Longest lists that the engine serves. An engine sets this to 0 if `prepare` finds that it does not
        suit the data.
    holds_lists : bool
        Whether the lists exist already, so that there is no gain in keeping them.
    """

    max_depth: int
    holds_lists: ClassVar[bool] = False

    def serves(self, depth: int) -> bool:
        """Return True if the engine finds lists of this depth."""
        return depth <= self.max_depth

    def prepare(self) -> None:  # noqa: B027
        """Build the search structure, once; later calls return immediately."""

    def search_all(self, depth: int, n_jobs: int | None = None, progress: bool = False) -> None:  # noqa: B027
        """Compare all samples at once in threads, if this makes later searches faster."""

    def release(self) -> None:  # noqa: B027
        """Free the memory that `search_all` took."""

    @abstractmethod
    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`, int64 (n_rows,); call `prepare` first."""

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return BLOCK_ROWS

    def visiting_order(self, rows: Array) -> Array:
        """The rows, all different, in an order that makes the search fast."""
        return rows

    def proposer(self) -> Any:
        """A `ProductSearch` that approximates the distances of all pairs, and the data; or None."""
        return None


class Lazy(Generic[Built]):
    """A value that the first caller builds while other threads wait; pickled without the value.

    Parameters
    ----------
    build : callable
        Returns the value; must be picklable.
    """

    def __init__(self, build: Callable[[], Built]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._values: list[Built] = []

    def __call__(self) -> Built:
        """The value, built by the first call."""
        if not self._values:
            with self._lock:
                if not self._values:
                    self._values.append(self._build())
        return self._values[0]

    @property
    def is_built(self) -> bool:
        """Return True if the value exists."""
        return bool(self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._build,)


def serving(engines: Sequence[Engine], depth: int, *, prepare: bool) -> Engine:
    """The first engine that serves lists of this depth; the last one serves every depth."""
    for engine in engines:
        if prepare and engine.serves(depth):
            engine.prepare()
        if engine.serves(depth):
            break
    return engine


class StoredLists(Engine):
    """Reads neighbor lists of all samples, which the user gave or an earlier search found.

    Parameters
    ----------
    lists : NeighborLists
        Lists of all samples.
    max_depth : int, optional
        Default: the depth of the lists. Deeper searches return the whole lists.
    """

    holds_lists = True

    def __init__(self, lists: NeighborLists, max_depth: int | None = None) -> None:
        self.lists = lists
        self.depth = lists.items.shape[1]
        self.max_depth = self.depth if max_depth is None else max_depth

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`, no deeper than the stored ones."""
        return self.lists.cut(rows, min(depth, self.depth))

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return STORED_ROWS
