"""The one kernel signature and its types."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numba import types

from .._typing import Array


class Order(NamedTuple):
    """The neighbor order of one tested sample: the other samples, from most to least similar.

    ``items``
        int64 array of shape (depth,): the sample at every position.
    ``group_end``
        int64 array of shape (depth,): one past the last position of the tied group that holds the
        position. Positions of one group share it; under ``ties="index"`` every group has one sample.
    """

    items: Array
    group_end: Array


class Labels(NamedTuple):
    """What is known of every sample.

    ``classes``
        int64 array of shape (n_items,): class codes 0 .. C-1 in sorted label order.
    ``values``
        float64 array of shape (n_items, n_outputs): real targets; (0, 0) where there are none.
    """

    classes: Array
    values: Array


class Constraints(NamedTuple):
    """Which training sets are admissible, and the numbers that the variant prepared for them.

    ``n_train``, ``counts``
        int64 arrays of shape (n_strata,): how many samples of every stratum are in the training set, and
        how many samples the stratum has. Fixed-size designs have one stratum; stratified ones have the
        classes for strata, with the class code as index.
    ``held_out``
        1 where the tested sample is one of its stratum's ``counts`` (complete cross-validation); 0 where
        it comes from outside.
    ``unit``
        1.0, or ``Fraction(1)`` in exact mode. Products start from it, so that a division by an integer
        stays exact.
    ``integers``, ``numbers``, ``weights``, ``table``
        The variant's own: int64 (any,), float64 (any,), float64 (any,) and float64 (any, any).
    ``extra``, ``n_extra``
        int64 array of shape (n_strata,), or (0,): where `n_extra` > 0, that many of the strata flagged by
        1, any of them alike, have one more sample in the training set than ``n_train`` says.
    """

    n_train: Array
    counts: Array
    held_out: int
    unit: Any
    integers: Array
    numbers: Array
    weights: Array
    table: Array
    extra: Array
    n_extra: int


def _array(dtype: types.Type, ndim: int = 1) -> types.Type:
    return types.Array(dtype, ndim, "C")


ORDER = types.NamedUniTuple(_array(types.int64), 2, Order)
LABELS = types.NamedTuple([_array(types.int64), _array(types.float64, 2)], Labels)
NOT_SERVED = math.inf
"""What a light kernel returns where the full kernel must be called. No score is infinite."""

CONSTRAINTS = types.NamedTuple(
    [
        _array(types.int64),
        _array(types.int64),
        types.int64,
        types.float64,
        _array(types.int64),
        _array(types.float64),
        _array(types.float64),
        _array(types.float64, 2),
        _array(types.int64),
        types.int64,
    ],
    Constraints,
)
SIGNATURE = types.float64(ORDER, LABELS, types.int64, CONSTRAINTS)
KERNEL = types.FunctionType(SIGNATURE)
ARGUMENTS = ("order", "labels", "target", "constraints")
