"""The nearest items for many features: inner products propose, exact differences decide.

Squared distances differ from ``|y|^2 - 2 x.y`` by a constant of the row, and all inner products of a block
are one matrix product, in single precision. Its rounding is bounded rigorously (`ProductSearch.slack`):
whatever may be among the nearest by the true distance is kept, measured again as the brute-force engine
measures, and sorted. Orders and ties are therefore those of the full comparison.

A tile of products is scanned while it is in the cache: 64 values at a time are counted against the row's
threshold, which the compiler vectorises, and only a tile with a hit is looked at more closely.

Cost per row: d multiply-adds and about one comparison for every other item, and some dozen exact
distances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..kernel import Array, jit
from .remeasure import measure, settle
from .select import nearest_of

TILE = 2048
UNIT = 2.0**-24  # rounding unit of single precision


@dataclass(frozen=True)
class ProductSearch:
    """Data made ready.

    ``tested`` and ``others`` float32 (n_items, n_features + 1): factors whose product is the proposal
    ``-2 x.y + |y|^2``, of centred data, scaled to a largest entry of about 1. ``slack`` float64 (n_items,):
    bound of the error of a proposal.
    """

    tested: Array
    others: Array
    slack: Array

    @classmethod
    def of(cls, data: Array) -> ProductSearch:
        """Prepare float64 data of shape (n_items, n_features)."""
        centred = data - data.mean(axis=0)
        largest = np.abs(centred).max()
        scaled = np.ldexp(centred, -int(np.frexp(largest)[1])) if largest > 0 else centred
        squares = np.einsum("ij,ij->i", scaled, scaled)
        lengths = np.sqrt(squares)
        longest = float(lengths.max())
        n_features = data.shape[1]
        # The conversions of all factors, and a sum of d + 1 products in any order.
        slack = 1.1 * UNIT * (n_features + 5) * (2 * lengths * longest + longest**2)
        slack += 1e-37 * n_features  # what underflows in single precision
        tested = np.ones((len(data), n_features + 1), dtype=np.float32)
        tested[:, :-1] = -2 * scaled
        others = np.empty_like(tested)
        others[:, :-1] = scaled
        others[:, -1] = squares
        return cls(tested, others, slack)


@jit
def _scan(products, first, own, depth, slack, kept, values, n_kept, threshold):  # type: ignore[no-untyped-def]
    """Keep of a tile what may be among a row's `depth` nearest; n_kept is -1 for a row with too many."""
    room = values.shape[1]
    for r in range(len(own)):
        if n_kept[r] < 0:
            continue
        bound = threshold[r]
        for start in range(0, products.shape[1], 64):
            end = min(start + 64, products.shape[1])
            hits = np.int32(0)
            for j in range(start, end):
                hits += np.int32(products[r, j] <= bound)
            if hits == 0:
                continue
            for j in range(start, end):
                if products[r, j] <= bound and first + j != own[r]:
                    if n_kept[r] == room:
                        bound = _tighten(values[r], depth, slack[r])
                        n_kept[r] = left = _keep(kept[r], values[r], room, bound)
                        if left > room - room // 4:
                            n_kept[r] = -1
                            break
                        if products[r, j] > bound:
                            continue
                    values[r, n_kept[r]] = products[r, j]
                    kept[r, n_kept[r]] = first + j
                    n_kept[r] += 1
            if n_kept[r] < 0:
                break
        threshold[r] = bound


@jit
def _tighten(values, depth, slack):  # type: ignore[no-untyped-def]
    """Proposals above this cannot be among the `depth` nearest: the depth-th value, and twice the slack."""
    return np.nextafter(np.float32(np.sort(values)[depth - 1] + 2 * slack), np.float32(np.inf))


@jit
def _keep(kept, values, n, bound):  # type: ignore[no-untyped-def]
    """Move what is within the bound to the front; how many those are."""
    left = 0
    for i in range(n):
        if values[i] <= bound:
            values[left] = values[i]
            kept[left] = kept[i]
            left += 1
    return left


@jit
def _finish(depth, slack, kept, values, n_kept):  # type: ignore[no-untyped-def]
    """Let go what the last tiles have shown to be too far; what stays is measured exactly."""
    for r in range(len(n_kept)):
        if n_kept[r] >= depth:
            bound = _tighten(values[r, : n_kept[r]], depth, slack[r])
            n_kept[r] = _keep(kept[r], values[r], n_kept[r], bound)


def nearest_by_product(
    search: ProductSearch,
    data: Array,
    rows: Array,
    depth: int,
    compare: Callable[[Array], Array],
) -> tuple[Array, Array, Array]:
    """As `select.nearest_of`, under squared euclidean distances.

    Parameters
    ----------
    search : ProductSearch
        Of `data`.
    data : float64 ndarray of shape (n_items, n_features)
    rows : int64 ndarray of shape (n_rows,)
    depth : int
    compare : callable
        From some rows to their values against all items, for rows where too many items are too close
        to be told apart in single precision.
    """
    n_rows, n_items = len(rows), len(data)
    room = 3 * depth + 40
    kept = np.empty((n_rows, room), np.int64)
    values = np.empty((n_rows, room), np.float32)
    n_kept = np.zeros(n_rows, np.int64)
    threshold = np.full(n_rows, np.inf, np.float32)
    slack = search.slack[rows]
    block = search.tested[rows]
    for first in range(0, n_items, TILE):
        products = block @ search.others[first : first + TILE].T
        _scan(products, first, rows, depth, slack, kept, values, n_kept, threshold)
    _finish(depth, slack, kept, values, n_kept)
    items = np.empty((n_rows, depth), np.int32)
    ranked = np.empty((n_rows, depth))
    more = np.zeros(n_rows, bool)
    settled = np.zeros(n_rows, bool)
    exact = np.empty((n_rows, room))
    lengths = np.maximum(n_kept, 0)
    measure(data, rows, kept, lengths, 0, exact)
    settle(rows, kept, exact, lengths, np.full(n_rows, np.inf), depth, items, ranked, more, settled)
    left = np.flatnonzero(~settled)
    if len(left):
        asked = np.ascontiguousarray(rows[left])
        items[left], ranked[left], more[left] = nearest_of(compare(asked), asked, depth)
    return items, ranked, more
