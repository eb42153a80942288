# mypy: allow-untyped-defs
"""Search by matrix products, for many features: products propose candidates, exact differences decide.

Squared distances ``|x|^2 - 2 x.y + |y|^2`` of two blocks are one matrix product, in single precision. A
heap per row keeps the smallest, a few more than wanted. These are measured again as brute force measures
them, and sorted. A row is settled only if all other samples are provably farther, by a rigorous bound of
the rounding in single precision. Rows that are not settled are searched by brute force in double
precision. Orders and ties are therefore those of brute force.

If all samples are tested, every pair of blocks is multiplied once and offered to the heaps of both
(`joined`). A block of products is scanned while it is in the cache: 64 values at a time are
compared with the largest values of their rows and columns, and only smaller ones are offered.

Cost per sample: N (d + 2) multiply-adds in single precision, half of that if all samples are tested, N
comparisons, O(depth log N log depth) for the heap, and depth exact distances.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ..._base.parallel import for_each
from ..._base.typing import Array
from ...kernel import jit
from ...kernel.simd import CHUNK, first_bit, small_ones
from .brute_force import nearest_of
from .engine import Engine, Lazy, NeighborLists, offer, place_of_largest, replace_largest, sort_row

BLOCK = 768  # samples whose products are computed at once; few enough for the processor's cache
N_BLOCKS, FEWEST_ROWS = 8, 256  # of fewer samples, so that several threads have work
PART = 32  # a part of all samples, from which the largest values that matter are estimated
MARGIN = 5.0  # standard deviations of this estimate
SPARE = 8  # places in a heap beyond the depth, which separate a row's list from all other samples
UNIT = 2.0**-24  # rounding unit of single precision
ABREAST = 4
NO_ITEM = 2**31 - 1


@dataclass(frozen=True)
class ProductSearch:
    """Factors whose matrix products approximate squared distances.

    Attributes
    ----------
    factors : float32 ndarray of shape (n_items, n_features + 2)
        The features, centered and scaled to a largest entry of about 1, then 1 and the squared length.
    items : int32 ndarray of shape (n_items,)
        The sample in every row of `factors`, in random order: the first rows are typical of all, so that
        the heaps soon hold small values.
    rows : int32 ndarray of shape (n_items,)
        The row of every sample: the inverse of `items`.
    shift : int
        The features were divided by 2**shift.
    exact : bool
        Whether every proposal is exact in single precision, as for moderate integers.
    n_searched : int
        The candidates are the samples before this one, in as many rows of `factors`. If there are others,
        only those are tested.
    """

    factors: Array
    items: Array
    rows: Array
    shift: int
    exact: bool
    n_searched: int

    @property
    def n_others(self) -> int:
        """Number of candidates of a tested sample."""
        return self.n_searched - (self.n_searched == len(self.items))

    @classmethod
    def of(cls, data: Array, n_searched: int = 0) -> ProductSearch:
        """Prepare float32 or float64 data of shape (n_items, n_features)."""
        n_items, n_features = data.shape
        items, rows = shuffled(n_items, n_searched)
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
        return cls(factors, items, rows, shift, exact, n_searched or n_items)

    def right_factors(self, rows: Array | slice) -> Array:
        """Right factors of the rows' squared distances: -2 times the features, squared length, 1."""
        factors = self.factors[rows]
        right = -2 * factors
        right[:, -2] = factors[:, -1]
        right[:, -1] = 1
        return right

    def slack(self, rows: Array) -> Array:
        """Largest errors of all proposals for some rows, in their scale; see `certain_below`."""
        if self.exact:
            return np.zeros(len(rows))
        n_features = self.factors.shape[1] - 2
        squares = self.factors[:, -1].astype(np.float64)
        both = (np.sqrt(squares[rows]) + np.sqrt(squares.max())) * (1 + 1e-6)
        error = 1.1 * UNIT * (n_features + 6) + 1e-9
        return error * both**2 + 1e-36 * n_features  # type: ignore[no-any-return]

    def certain_below(self, rows: Array, proposed: Array) -> Array:
        """Lower bounds of the exact values of samples whose proposals are at least `proposed`.

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
        slack += 1e-36 * n_features  # underflow in single precision
        # The last factor allows for rounding in double precision.
        return np.ldexp((wide - slack) * (1 - 1e-9), 2 * self.shift)  # type: ignore[no-any-return]


def shuffled(n_items: int, n_searched: int = 0) -> tuple[Array, Array]:
    """A random order of the samples and its inverse: `items` and `rows` of a `ProductSearch`."""
    items = np.arange(n_items, dtype=np.int32)
    first = n_searched or n_items
    items[:first] = np.random.default_rng(0).permutation(first)
    rows = np.empty_like(items)
    rows[items] = np.arange(n_items, dtype=np.int32)
    return items, rows


@dataclass
class CandidateHeaps:
    """The nearest candidates of some rows: values float32 and samples int32 (n_rows, width)."""

    values: Array
    items: Array
    n_items: int

    @classmethod
    def empty(cls, n_rows: int, width: int, n_items: int) -> CandidateHeaps:
        """Heaps filled with the missing sample `n_items` at infinity."""
        shape = n_rows, width
        return cls(np.full(shape, np.inf, np.float32), np.full(shape, n_items, np.int32), n_items)

    @property
    def width(self) -> int:
        """Number of candidates per row."""
        return int(self.values.shape[1])

    def at(self, rows: Any) -> tuple[Array, Array]:
        """The values and the samples of some rows."""
        return self.values[rows], self.items[rows]

    def serves(self, depth: int) -> bool:
        """Return True if the heaps suffice for lists of this depth."""
        return self.width >= width_for(depth, self.n_items)


def width_for(depth: int, n_items: int) -> int:
    """The width of heaps for lists of this depth."""
    return min(depth + SPARE, n_items - 1)


@jit
def _scan(products, row_items, column_items, values, items, column_values, column_heaps):
    """Offer a block of products to the heaps of its rows, and of its columns if there are any."""
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
        limit = values[r, last]
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
                    limit = offer(values, items, r, value, column_items[j])
                if both and value <= limits[j]:
                    limits[j] = offer(column_values, column_heaps, j, value, item)


def _bounds(search: ProductSearch, rows: Array, width: int) -> Array:
    """Values that hardly any of the `width` nearest candidates of each row exceed, float32 (n_rows, 1).

    An empty heap accepts many values that it drops later. The first samples of the search are a random part
    of all. In a part of all candidates there are `mean` of the nearest `width` on average, and hardly ever
    so many more as are asked for here, so that the last of these is farther than the nearest `width`.
    """
    part = search.n_searched // PART
    mean = width * part / search.n_searched
    n_asked = int(mean + MARGIN * np.sqrt(mean)) + 2
    if n_asked >= part:
        return np.full((len(rows), 1), np.inf, np.float32)
    few = CandidateHeaps.empty(len(rows), n_asked, search.n_others + 1)
    _offer_all(search, rows, few, part)
    return np.asarray(few.values.max(axis=1, keepdims=True))


def _offer_all(search: ProductSearch, rows: Array, heaps: CandidateHeaps, n_first: int) -> None:
    """Offer the first samples of the search to the heaps of some rows."""
    none = np.empty((0, heaps.width), np.float32), np.empty((0, heaps.width), np.int32)
    right = search.right_factors(rows)
    for start in range(0, n_first, BLOCK):
        columns = slice(start, min(start + BLOCK, n_first))
        products = right @ search.factors[columns].T
        _scan(products, search.items[rows], search.items[columns], heaps.values, heaps.items, *none)


def _meetings(n_blocks: int) -> list[tuple[int, int]]:
    """Every block with itself, then all pairs, in rounds in which no block appears twice."""
    pairs = sorted(combinations(range(n_blocks), 2), key=lambda pair: sum(pair) % n_blocks)
    return [(i, i) for i in range(n_blocks)] + pairs


def joined(
    search: ProductSearch, depth: int, n_jobs: int | None = None, progress: bool = False
) -> CandidateHeaps:
    """Heaps of all samples, in the order of ``search.items``, from one product of every pair of blocks.

    Each block's heaps have a lock. Pairs are ordered in rounds in which no block appears twice, so that
    threads rarely wait for one another. Heaps keep the smallest pairs (value, sample) in any order of the
    offers, so the result does not depend on the threads.
    """
    n_items = len(search.items)
    heaps = CandidateHeaps.empty(n_items, width_for(depth, n_items), n_items)
    size = min(BLOCK, max(FEWEST_ROWS, -(-n_items // N_BLOCKS)))
    blocks = [slice(start, min(start + size, n_items)) for start in range(0, n_items, size)]
    locks = [threading.Lock() for _ in blocks]

    def begin(rows: slice) -> None:
        heaps.values[rows] = _bounds(search, np.arange(n_items)[rows], heaps.width)

    def offer(pair: tuple[int, int]) -> None:
        one, other = pair
        rows, columns = blocks[one], blocks[other]
        products = search.right_factors(rows) @ search.factors[columns].T
        none = slice(0, 0) if one == other else columns
        with locks[one], locks[other] if one != other else threading.Lock():
            _scan(products, search.items[rows], search.items[columns], *heaps.at(rows), *heaps.at(none))

    for_each(begin, blocks, n_jobs)
    for_each(offer, _meetings(len(blocks)), n_jobs, progress, unit="pair of blocks")
    _search_missing(search, np.arange(n_items), heaps)
    return heaps


def proposals(search: ProductSearch, rows: Array, depth: int) -> CandidateHeaps:
    """Heaps of some samples, given by their rows in `search`."""
    n_items = search.n_others + 1
    heaps = CandidateHeaps.empty(len(rows), width_for(depth, n_items), n_items)
    heaps.values[:] = _bounds(search, rows, heaps.width)
    _offer_all(search, rows, heaps, search.n_searched)
    _search_missing(search, rows, heaps)
    return heaps


def _search_missing(search: ProductSearch, rows: Array, heaps: CandidateHeaps) -> None:
    """Search once more, without a bound, where it was too low for the heap to be filled."""
    left = np.flatnonzero((heaps.items == heaps.n_items).any(axis=1))
    if len(left):
        again = CandidateHeaps.empty(len(left), heaps.width, heaps.n_items)
        _offer_all(search, rows[left], again, search.n_searched)
        heaps.values[left], heaps.items[left] = again.values, again.items


@jit
def measure(data, rows, found, values):
    """Fill in squared euclidean distances to the candidates, summed over the features as in `cdist`.

    Four candidates are measured side by side, as each sum is a chain of dependent additions.
    """
    n_found = found.shape[1]
    some = np.empty(ABREAST, np.int64)
    for r in range(len(rows)):
        point = data[rows[r]]
        for i in range(0, n_found, ABREAST):
            for k in range(ABREAST):
                some[k] = found[r, min(i + k, n_found - 1)]
            a, b, c, d = data[some[0]], data[some[1]], data[some[2]], data[some[3]]
            of_a = of_b = of_c = of_d = 0.0
            for f in range(len(point)):
                x = np.float64(point[f])
                of_a += (x - a[f]) * (x - a[f])
                of_b += (x - b[f]) * (x - b[f])
                of_c += (x - c[f]) * (x - c[f])
                of_d += (x - d[f]) * (x - d[f])
            sums = of_a, of_b, of_c, of_d
            for k in range(min(ABREAST, n_found - i)):
                values[r, i + k] = sums[k]


@jit
def settle(found, values, limits, depth, items, ranked, may_tie_beyond, settled):
    """Fill in each row's nearest candidates, by (value, index).

    A row is settled if the last one in its list is below its limit, a bound for all other samples.
    """
    width = found.shape[1]
    best = np.empty((1, width))
    who = np.empty((1, width), found.dtype)
    for r in range(len(found)):
        best[:] = np.inf
        who[:] = NO_ITEM
        for i in range(width):
            replace_largest(best, who, 0, values[r, i], found[r, i])
        sort_row(best, who, 0)
        for i in range(depth):
            items[r, i] = who[0, i]
            ranked[r, i] = best[0, i]
        # Below 1e-280 rounding is no longer relative.
        settled[r] = best[0, depth - 1] < limits[r] and limits[r] > 1e-280
        may_tie_beyond[r] = width > depth and best[0, depth] == best[0, depth - 1]


@dataclass(eq=False)
class MatrixProduct(Engine):
    """Searches under squared euclidean distances, or others that products approximate.

    Parameters
    ----------
    data : float32 or float64 ndarray of shape (n_items, n_features), or None
        Not used with `build` and `remeasure`.
    max_depth : int
        Longest lists to serve.
    compare : callable
        As for `BruteForce`; serves rows that single precision cannot settle.
    build : callable, optional
        Returns the `ProductSearch`, or None if products do not serve. Default: that of `data`.
    remeasure : callable, optional
        ``remeasure(rows, found)`` → values of the samples ``found[r]`` next to sample ``rows[r]``, the same
        as those of `compare`. Default: squared euclidean distances of `data`.
    n_searched : int, optional
        Search only the first samples of `data`, with which `compare` compares, and test the others, which
        have numbers of their own. Default: all are searched.
    """

    data: Any
    max_depth: int
    compare: Callable[[Array], Array]
    build: Callable[[], ProductSearch | None] | None = None
    remeasure: Callable[[Array, Array], Array] | None = None
    n_searched: int = 0

    def __post_init__(self) -> None:
        build = self.build or partial(ProductSearch.of, self.data, self.n_searched)
        self._search: Lazy[Any] = Lazy(build)
        self._heaps: CandidateHeaps | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the candidates of all samples."""
        return {**self.__dict__, "_heaps": None}

    def prepare(self) -> None:
        """Build the factors; serve no lists if there are none."""
        if self._search() is None:
            self.max_depth = 0

    def search_all(self, depth: int, n_jobs: int | None = None, progress: bool = False) -> None:
        """Find the candidates of all samples at once."""
        if self._heaps is None or not self._heaps.serves(depth):
            self._heaps = joined(self._search(), depth, n_jobs, progress)

    def release(self) -> None:
        """Free the candidates of all samples."""
        self._heaps = None

    def vectors(self) -> Array | None:
        """The data; None if the exact distances are not theirs."""
        return None if self.remeasure is not None else self.data

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`."""
        search, n_rows, heaps, at = self._search(), len(rows), self._heaps, rows + self.n_searched
        places = search.rows[at]
        if heaps is None or not heaps.serves(depth):
            found = proposals(search, places, depth)
        else:
            found = CandidateHeaps(*heaps.at(places), heaps.n_items)
        limits = search.certain_below(places, found.values.max(axis=1))
        if found.width == found.n_items - 1:
            limits[:] = np.inf  # no sample is left out
        lists = NeighborLists.empty(n_rows, depth)
        items, ranked, tied = lists.items, lists.values, lists.may_tie_beyond
        settled = np.zeros(n_rows, bool)
        if self.remeasure is not None:
            exact = self.remeasure(rows, found.items)
        else:
            exact = np.empty(found.items.shape)
            measure(self.data, at, found.items, exact)
        settle(found.items, exact, limits, depth, items, ranked, tied, settled)
        left = np.flatnonzero(~settled)
        if len(left):
            again = np.ascontiguousarray(rows[left])
            itself = None if self.n_searched else again
            items[left], ranked[left], tied[left] = nearest_of(self.compare(again), itself, depth)
        return lists
