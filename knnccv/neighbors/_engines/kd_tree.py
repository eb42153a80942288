# mypy: allow-untyped-defs
"""Search by a k-d tree, for few features; orders and ties are those of brute force.

Nearby samples share a leaf. A group of tested samples descends together, into the nearer branch first, and
skips every branch that is farther than the last sample of its lists. In a leaf all distances are computed
at once, as brute force computes them (the same differences, summed in the same order). Heaps keep the
smallest pairs (distance, sample), so orders and ties are exact, however many samples tie.

Cost per sample: O(depth * log) for the heap, and a number of leaves that grows quickly with the dimension.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numba
import numpy as np

from ..._base.typing import Array
from ...kernel import inner, jit, simd
from .engine import Engine, Lazy, NeighborLists, place_of_largest, replace_largest, sort_row

KINDS = ("sqeuclidean", "cityblock", "chebyshev")
LEAF = 32
GROUP = 32
PER_LEAF = LEAF // simd.LANES
PER_GROUP = GROUP // simd.LANES
_inlined = numba.njit(nogil=True, inline="always")  # a sixth faster than left to LLVM


class Tree(NamedTuple):
    """The arrays of a k-d tree, its nodes in preorder: the left child of a node is the next node.

    Attributes
    ----------
    order : int32 ndarray of shape (n_items,)
        The samples of all leaves, in their order.
    right : int64 ndarray of shape (n_nodes,)
        The right child of every node; 0 for a leaf.
    first : int64 ndarray of shape (n_nodes,)
        The first leaf below every node.
    low, high : float64 ndarray of shape (n_nodes, n_features)
        The bounding box of a node's samples.
    leaves : float64 ndarray of shape (n_leaves * n_features * LEAF / 8, 8)
        The features of each leaf's samples, feature by feature; NaN where the last leaf is not full.
    """

    order: Array
    right: Array
    first: Array
    low: Array
    high: Array
    leaves: Array


@inner
def _halve(data, order, start, end, middle, feature):
    """Permute ``order[start:end]``: no value from `middle` on is below an earlier one (quickselect)."""
    while end - start > 1:
        pivot = data[order[(start + end) // 2], feature]
        i = start
        j = end - 1
        while i <= j:
            while data[order[i], feature] < pivot:
                i += 1
            while data[order[j], feature] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            end = j + 1
        elif middle >= i:
            start = i
        else:
            return


@jit
def _build(data):
    """Halve the samples along the longest side of their box until each leaf has at most `LEAF`."""
    n, n_features = data.shape
    n_leaves = (n + LEAF - 1) // LEAF
    n_nodes = 2 * n_leaves - 1
    order = np.arange(n).astype(np.int32)
    right = np.zeros(n_nodes, np.int64)
    first = np.zeros(n_nodes, np.int64)
    after = np.zeros(n_nodes, np.int64)  # one past the last leaf
    low = np.empty((n_nodes, n_features))
    high = np.empty((n_nodes, n_features))
    after[0] = n_leaves
    for node in range(n_nodes):
        start = first[node] * LEAF
        end = min(after[node] * LEAF, n)
        low[node] = np.inf
        high[node] = -np.inf
        for i in range(start, end):
            for f in range(n_features):
                value = data[order[i], f]
                low[node, f] = min(low[node, f], value)
                high[node, f] = max(high[node, f], value)
        held = after[node] - first[node]
        if held == 1:
            continue
        longest = 0
        for f in range(n_features):
            if high[node, f] - low[node, f] > high[node, longest] - low[node, longest]:
                longest = f
        in_left = (held + 1) // 2
        split = first[node] + in_left
        _halve(data, order, start, end, split * LEAF, longest)
        right[node] = node + 2 * in_left
        first[node + 1], after[node + 1] = first[node], split
        first[right[node]], after[right[node]] = split, after[node]
    leaves = simd.raw_rows(n_leaves * n_features * PER_LEAF)
    leaves[:] = np.nan
    for i in range(n):
        at, j = divmod(i, LEAF)
        for f in range(n_features):
            leaves[(at * n_features + f) * PER_LEAF + j // simd.LANES, j % simd.LANES] = data[order[i], f]
    return Tree(order, right, first, low, high, leaves)


# The functions below take whole arrays and positions, since every slice would cost a reference count.


@_inlined
def _add_gaps(total, gaps, kind):
    if kind == 0:
        return simd.add_product(total, gaps, gaps)
    if kind == 1:
        return simd.add(total, gaps)
    return simd.larger(total, gaps)


@_inlined
def _to_box(low, high, node, others_low, others_high, kind):
    """Smallest distance of a node's box to another box.

    No distance of their samples is smaller: rounding is monotone, and both sums have the same order.
    """
    total = 0.0
    for f in range(low.shape[1]):
        gap = max(low[node, f] - others_high[f], others_low[f] - high[node, f], 0.0)
        if kind == 0:
            total += gap * gap
        elif kind == 1:
            total += gap
        else:
            total = max(total, gap)
    return total


@inner
def _off_center(low, high, node, others_low, others_high):
    """Distance of the centers of two boxes, times 2, which decides between boxes that overlap."""
    total = 0.0
    for f in range(low.shape[1]):
        total += abs((low[node, f] + high[node, f]) - (others_low[f] + others_high[f]))
    return total


@_inlined
def _near_box(low, high, node, points, limits, kind):
    """An integer whose bit r is set if the node's box is within the limit of tested sample r."""
    near = 0
    zeros = simd.everywhere(0.0)
    for v in range(PER_GROUP):
        total = zeros
        for f in range(low.shape[1]):
            point = simd.load(points, f * PER_GROUP + v)
            below = simd.subtract(simd.everywhere(low[node, f]), point)
            above = simd.subtract(point, simd.everywhere(high[node, f]))
            total = _add_gaps(total, simd.larger(simd.larger(below, above), zeros), kind)
        near |= simd.at_most(total, simd.load(limits, v)) << (simd.LANES * v)
    return near


@_inlined
def _near_samples(leaves, at, points, r, n_features, limit, kind, distances):
    """Fill in the distances of a tested sample to a leaf's samples; bit j is set if j is within `limit`."""
    near = 0
    limits = simd.everywhere(limit)
    first = at * n_features * PER_LEAF
    for v in range(PER_LEAF):
        total = simd.everywhere(0.0)
        for f in range(n_features):
            point = simd.everywhere(points[f * PER_GROUP + r // simd.LANES, r % simd.LANES])
            others = simd.load(leaves, first + f * PER_LEAF + v)
            gaps = simd.subtract(point, others)
            if kind != 0:
                gaps = simd.larger(gaps, simd.subtract(others, point))
            total = _add_gaps(total, gaps, kind)
        simd.store(distances, v, total)
        near |= simd.at_most(total, limits) << (simd.LANES * v)
    return near


@jit
def _search(data, tree, rows, kind, values, items):
    """Fill the rows' lists, ascending."""
    order, right, first, low, high, leaves = tree
    n, n_features = data.shape
    box_low = np.empty(n_features)
    box_high = np.empty(n_features)
    points = simd.raw_rows(n_features * PER_GROUP)
    limits = simd.raw_rows(PER_GROUP)
    distances = simd.raw_rows(PER_LEAF)
    waiting = np.empty(128, np.int64)  # twice the depth of any tree
    nearest = np.empty(128)
    last = place_of_largest(values.shape[1])
    values[:] = np.inf
    items[:] = n
    for start in range(0, len(rows), GROUP):
        end = min(start + GROUP, len(rows))
        box_low[:] = np.inf
        box_high[:] = -np.inf
        limits[:] = -np.inf
        for r in range(end - start):
            limits[r // simd.LANES, r % simd.LANES] = np.inf
            for f in range(n_features):
                value = np.float64(data[rows[start + r], f])
                points[f * PER_GROUP + r // simd.LANES, r % simd.LANES] = value
                box_low[f] = min(box_low[f], value)
                box_high[f] = max(box_high[f], value)
        waiting[0] = 0
        nearest[0] = 0.0
        n_waiting = 1
        reach = np.inf  # the longest of the group's lists
        while n_waiting:
            n_waiting -= 1
            node = waiting[n_waiting]
            if nearest[n_waiting] > reach:
                continue
            if right[node] == 0:
                at = first[node]
                near = _near_box(low, high, node, points, limits, kind)
                changed = near != 0
                while near != 0:
                    r = simd.first_bit(near)
                    near &= near - 1
                    largest = limits[r // simd.LANES, r % simd.LANES]
                    hits = _near_samples(leaves, at, points, r, n_features, largest, kind, distances)
                    while hits != 0:
                        j = simd.first_bit(hits)
                        hits &= hits - 1
                        distance = distances[j // simd.LANES, j % simd.LANES]
                        if distance <= largest:
                            item = order[at * LEAF + j]
                            row = start + r
                            if item != rows[row] and (distance < largest or item < items[row, last]):
                                replace_largest(values, items, row, distance, item)
                                largest = values[row, last]
                    limits[r // simd.LANES, r % simd.LANES] = largest
                if changed:
                    reach = 0.0
                    for r in range(end - start):
                        reach = max(reach, limits[r // simd.LANES, r % simd.LANES])
                continue
            near_node, far_node = node + 1, right[node]
            to_near = _to_box(low, high, near_node, box_low, box_high, kind)
            to_far = _to_box(low, high, far_node, box_low, box_high, kind)
            swap = to_near > to_far
            if to_near == to_far:
                off_near = _off_center(low, high, near_node, box_low, box_high)
                swap = off_near > _off_center(low, high, far_node, box_low, box_high)
            if swap:
                near_node, far_node, to_near, to_far = far_node, near_node, to_far, to_near
            waiting[n_waiting], nearest[n_waiting] = far_node, to_far
            waiting[n_waiting + 1], nearest[n_waiting + 1] = near_node, to_near
            n_waiting += 2
    for r in range(len(rows)):
        sort_row(values, items, r)


class KDTree(Engine):
    """Searches a k-d tree of the data, which is built once in O(N log N).

    Parameters
    ----------
    data : float32 or float64 ndarray of shape (n_items, n_features)
    kind : {"sqeuclidean", "cityblock", "chebyshev"}
        The surrogate of the metric.
    max_depth : int
        Longest lists to serve.
    n_searched : int, optional
        Search only the first samples of `data`, and test the others, which have numbers of their own.
        Default: all are searched.
    """

    def __init__(self, data: Array, kind: str, max_depth: int, n_searched: int = 0) -> None:
        self.data = data
        self.kind = kind
        self.max_depth = max_depth
        self._n_searched, self._n_others = n_searched, n_searched or len(data) - 1
        self._tree = Lazy(partial(_build, data[:n_searched] if n_searched else data))

    def prepare(self) -> None:
        """Build the tree."""
        self._tree()

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`; rows that follow one another should be near."""
        width = min(depth + 1, self._n_others)  # one more shows a tie
        values = np.empty((len(rows), width))
        items = np.empty((len(rows), width), np.int32)
        _search(self.data, self._tree(), rows + self._n_searched, KINDS.index(self.kind), values, items)
        tied = values[:, depth - 1] == values[:, -1] if width > depth else np.zeros(len(rows), bool)
        return NeighborLists.of_full_rows(
            np.ascontiguousarray(items[:, :depth]), np.ascontiguousarray(values[:, :depth]), tied
        )

    def visiting_order(self, rows: Array) -> Array:
        """The rows, all different, leaf by leaf once the tree is built."""
        if not self._tree.is_built:
            return rows
        wanted = np.zeros(len(self.data), bool)
        wanted[rows] = True
        order = self._tree().order.astype(np.int64)
        return order[wanted[order]]  # type: ignore[no-any-return]
