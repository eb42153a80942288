"""The nearest samples for many features: inner products propose, exact differences decide.

Squared distances ``|x|^2 - 2 x.y + |y|^2`` of two blocks are one matrix product, in single precision. The
w smallest of every row, somewhat more than wanted, stay in a heap; these are measured again as the
brute-force engine measures, and sorted. A row is settled only if all others are provably farther, by a
rigorous bound of the rounding in single precision; rows that are not are compared with all samples in
double precision. Orders and ties are therefore those of the full comparison.

Where all samples are asked for, every pair of blocks is multiplied once and offered to the heaps of both
(`AllPairsSearch`). A block of products is scanned while it is in the cache: 64 values at a time are held
against their rows' and columns' largest, and only those that are smaller are looked at.

Cost per sample: N (d + 2) multiply-adds in single precision, half of that in a join, N comparisons,
O(depth log N log depth) for the heap, and depth exact distances.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._parallel import for_each
from ..._typing import Array
from ...kernel import jit
from .bitmask import CHUNK, first_bit, small_ones
from .bounded_heap import place_of_largest, replace_largest
from .brute_force import nearest_of
from .rerank import measure, settle

BLOCK = 1024
SPARE = 8  # places in a heap beyond those wanted, which separate a row's list from all others
UNIT = 2.0**-24  # rounding unit of single precision


@dataclass(frozen=True)
class ProductSearch:
    """Data made ready.

    Attributes
    ----------
    factors : float32 ndarray of shape (n_items, n_features + 2)
        The features, centered and scaled to a largest entry of about 1, then 1 and the squared length.
    items : int32 ndarray of shape (n_items,)
        The sample in every row of `factors`, a random order: what comes early is a sample of the whole,
        and the heaps soon know how near their lists will end.
    rows : int32 ndarray of shape (n_items,)
        Where every sample is: the inverse of `items`.
    shift : int
        The features were divided by 2**shift.
    exact : bool
        Whether single precision holds every proposal exactly, as it does for moderate integers.
    """

    factors: Array
    items: Array
    rows: Array
    shift: int
    exact: bool

    @classmethod
    def of(cls, data: Array) -> ProductSearch:
        """Prepare float32 or float64 data of shape (n_items, n_features)."""
        n_items, n_features = data.shape
        items, rows = shuffled(n_items)
        blocks = [items[start : start + BLOCK] for start in range(0, n_items, BLOCK)]
        center = data.mean(axis=0, dtype=np.float64)
        integers = all(bool((np.rint(data[block]) == data[block]).all()) for block in blocks)
        if integers:
            center = np.rint(center)
        largest = max(float(np.abs(data[block] - center).max()) for block in blocks)
        shift = int(np.frexp(largest)[1])
        factors = np.ones((n_items, n_features + 2), dtype=np.float32)
        longest = 0.0
        for at, block in enumerate(blocks):
            scaled = np.ldexp(data[block] - center, -shift)
            squares = np.einsum("ij,ij->i", scaled, scaled)
            factors[at * BLOCK : at * BLOCK + len(block), :-2] = scaled
            factors[at * BLOCK : at * BLOCK + len(block), -1] = squares
            longest = max(longest, float(squares.max()))
        # All terms of a sum, and their sums in any order, are integers (times a power of two).
        exact = integers and shift <= 12 and 4 * longest * 4.0**shift < 1 / UNIT
        return cls(factors, items, rows, shift, exact)

    def turned(self, rows: Array | slice) -> Array:
        """The other factors of these rows' squared distances: -2 times the features, squared length, 1."""
        factors = self.factors[rows]
        turned = -2 * factors
        turned[:, -2] = factors[:, -1]
        turned[:, -1] = 1
        return turned

    def reach(self, rows: Array, proposed: Array) -> Array:
        """Below what exact value nothing can lie whose proposal is no less than `proposed`.

        A proposal of x and y is wrong by at most ``c (|x| + |y|)^2``: the conversions to single
        precision and a sum of d + 2 products in any order. A sample y farther from the origin than
        ``|x| + sqrt(proposed)`` is too far from x in any case.
        """
        if self.exact:
            return np.full(len(rows), np.inf)
        n_features = self.factors.shape[1] - 2
        error = 1.1 * UNIT * (n_features + 6)
        length = np.sqrt(self.factors[rows, -1].astype(np.float64)) * (1 + 1e-6)
        wide = np.maximum(proposed.astype(np.float64), 0.0)
        slack = error * (2 * length + np.sqrt(wide)) ** 2
        slack += 1e-36 * n_features  # what underflows in single precision
        # In double precision, too, values are rounded.
        return np.ldexp((wide - slack) * (1 - 1e-9), 2 * self.shift)  # type: ignore[no-any-return]


def shuffled(n_items: int) -> tuple[Array, Array]:
    """`items` and `rows` of a `ProductSearch`."""
    items = np.random.default_rng(0).permutation(n_items).astype(np.int32)
    rows = np.empty_like(items)
    rows[items] = np.arange(n_items, dtype=np.int32)
    return items, rows


@dataclass
class CandidateHeaps:
    """For some rows the nearest of `n_items`: values float32 and samples int32 (n_rows, width)."""

    values: Array
    items: Array
    n_items: int

    @classmethod
    def empty(cls, n_rows: int, depth: int, n_items: int) -> CandidateHeaps:
        """Room for lists of this depth, all places taken by no sample, infinitely far."""
        shape = n_rows, _width(depth, n_items)
        return cls(np.full(shape, np.inf, np.float32), np.full(shape, n_items, np.int32), n_items)

    @property
    def width(self) -> int:
        """Places for every row."""
        return int(self.values.shape[1])

    def serve(self, depth: int) -> bool:
        """Whether lists of this depth can be made of them."""
        return self.width >= _width(depth, self.n_items)


def _width(depth: int, n_items: int) -> int:
    return min(depth + SPARE, n_items - 1)


@jit
def _offer(values, items, row, value, item):  # type: ignore[no-untyped-def]
    """Put a pair into a row whose largest value is not below it; the largest value then."""
    last = place_of_largest(values.shape[1])
    if value < values[row, last] or item < items[row, last]:
        replace_largest(values, items, row, value, item)
    return values[row, last]


@jit
def _scan(products, caps, row_items, column_items, values, items, column_values, column_heaps):  # type: ignore[no-untyped-def]
    """Offer a block of products to the heaps of its rows and, where there are any, of its columns.

    Of a row nothing above its cap is offered.
    """
    n_columns = products.shape[1]
    both = len(column_values) > 0
    last = place_of_largest(values.shape[1])
    limits = np.full(n_columns + CHUNK, -np.inf, np.float32)
    if both:
        for j in range(n_columns):
            limits[j] = column_values[j, last]
    in_chunks = n_columns - n_columns % CHUNK
    for r in range(len(products)):
        item = row_items[r]
        limit = min(values[r, last], caps[r])
        for start in range(0, n_columns, CHUNK):
            if start < in_chunks:
                hits = small_ones(products, r * n_columns + start, limits, start, limit)
            else:
                hits = np.int64(0)
                for j in range(start, n_columns):
                    hits |= np.int64(products[r, j] <= max(limit, limits[j])) << (j - start)
            while hits != 0:
                j = start + first_bit(hits)
                hits &= hits - 1
                value = products[r, j]
                if value <= limit and column_items[j] != item:
                    limit = min(_offer(values, items, r, value, column_items[j]), caps[r])
                if both and value <= limits[j]:
                    limits[j] = _offer(column_values, column_heaps, j, value, item)


def _caps(products: Array, width: int, *, first: bool) -> Array:
    """What the heaps of the rows will not hold after these products: known for the `first` ones offered.

    Filling a heap takes many more offers than it has places; a partial sort saves most of them.
    """
    if not first or products.shape[1] <= width + 1:
        return np.full(len(products), np.inf, np.float32)
    # One of the products may be the item's own.
    return np.ascontiguousarray(np.partition(products, width, axis=1)[:, width])


class AllPairsSearch:
    """All samples against all, each pair of blocks once.

    A block's heaps are under a lock; the pairs come in rounds in which no block appears twice, so that
    threads hardly wait for one another. Heaps hold the smallest pairs (value, sample) whatever the order of
    the offers: the result does not depend on the threads.
    """

    def __init__(self, search: ProductSearch, depth: int) -> None:
        n_items = len(search.items)
        self.search = search
        self.heaps = CandidateHeaps.empty(n_items, depth, n_items)
        self._blocks = [slice(start, min(start + BLOCK, n_items)) for start in range(0, n_items, BLOCK)]
        self._locks = [threading.Lock() for _ in self._blocks]

    def pairs(self) -> list[tuple[int, int]]:
        """Every block with itself, then all pairs, as in a tournament."""
        n_blocks = len(self._blocks)
        pairs = [(i, i) for i in range(n_blocks)]
        places = list(range(n_blocks + n_blocks % 2))
        for _ in range(len(places) - 1):
            half = len(places) // 2
            meetings = zip(places[:half], reversed(places[half:]), strict=True)
            pairs += [(min(pair), max(pair)) for pair in meetings if max(pair) < n_blocks]
            places = [places[0], places[-1], *places[1:-1]]
        return pairs

    def __call__(self, pair: tuple[int, int]) -> None:
        """Multiply a pair of blocks and offer the products to both."""
        one, other = pair
        search, heaps = self.search, self.heaps
        rows, columns = self._blocks[one], self._blocks[other]
        products = search.turned(rows) @ search.factors[columns].T
        # Blocks meet themselves before others.
        caps = _caps(products, heaps.width, first=one == other)
        none = slice(0, 0) if one == other else columns
        with self._locks[one], self._locks[other] if one != other else threading.Lock():
            _scan(
                products,
                caps,
                search.items[rows],
                search.items[columns],
                heaps.values[rows],
                heaps.items[rows],
                heaps.values[none],
                heaps.items[none],
            )


def joined(
    search: ProductSearch, depth: int, n_jobs: int | None = None, progress: bool = False
) -> CandidateHeaps:
    """Heaps of all samples, in the order of ``search.items``."""
    join = AllPairsSearch(search, depth)
    for_each(join, join.pairs(), n_jobs, progress, unit="pair of blocks")
    return join.heaps


def proposals(search: ProductSearch, rows: Array, depth: int) -> CandidateHeaps:
    """Heaps of some samples; `rows` are those of the samples in `search`."""
    n_items = len(search.items)
    heaps = CandidateHeaps.empty(len(rows), depth, n_items)
    none = np.empty((0, heaps.width), np.float32), np.empty((0, heaps.width), np.int32)
    turned = search.turned(rows)
    for start in range(0, n_items, BLOCK):
        columns = slice(start, start + BLOCK)
        products = turned @ search.factors[columns].T
        caps = _caps(products, heaps.width, first=start == 0)
        _scan(products, caps, search.items[rows], search.items[columns], heaps.values, heaps.items, *none)
    return heaps


def nearest_by_product(
    search: ProductSearch,
    heaps: CandidateHeaps | None,
    data: Array,
    rows: Array,
    depth: int,
    compare: Callable[[Array], Array],
    propose: Callable[[Array, int], CandidateHeaps] | None = None,
    remeasure: Callable[[Array, Array], Array] | None = None,
) -> tuple[Array, Array, Array]:
    """As `select.nearest_of`, under squared euclidean distances.

    Parameters
    ----------
    search : ProductSearch
        Of `data`.
    heaps : Heaps or None
        Those of all samples, if they are at hand.
    data : float32 or float64 ndarray of shape (n_items, n_features)
    rows : int64 ndarray of shape (n_rows,)
    depth : int
    compare : callable
        From some rows to their values against all samples, for rows where too many samples are too close
        to be told apart in single precision.
    propose : callable, optional
        As `proposals` of this search. Default: `proposals`.
    remeasure : callable, optional
        From some rows and candidates of each to their values, as `compare` has them. Default: squared
        euclidean distances of `data`.
    """
    n_rows, n_items = len(rows), len(data)
    places = search.rows[rows]
    if heaps is None or not heaps.serve(depth):
        mine = propose(places, depth) if propose is not None else proposals(search, places, depth)
    else:
        mine = CandidateHeaps(heaps.values[places], heaps.items[places], n_items)
    reach = search.reach(places, mine.values.max(axis=1))
    if mine.width == n_items - 1:
        reach[:] = np.inf  # nothing is left out
    items = np.empty((n_rows, depth), np.int32)
    ranked = np.empty((n_rows, depth))
    more = np.zeros(n_rows, bool)
    settled = np.zeros(n_rows, bool)
    if remeasure is not None:
        exact = remeasure(rows, mine.items)
    else:
        exact = np.empty(mine.items.shape)
        measure(data, rows, mine.items, exact)
    settle(mine.items, exact, reach, depth, items, ranked, more, settled)
    left = np.flatnonzero(~settled)
    if len(left):
        asked = np.ascontiguousarray(rows[left])
        items[left], ranked[left], more[left] = nearest_of(compare(asked), asked, depth)
    return items, ranked, more
