"""The kernel signature: its four arguments and their Numba types, and the forms that add arguments."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numba import types

from .._base.typing import Array


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
    """The labels or targets of all samples.

    ``classes``
        int64 array of shape (n_items,): class codes 0 .. C-1 in sorted label order.
    ``values``
        float64 array of shape (n_items, n_outputs): real targets; (0, 0) where there are none.
    """

    classes: Array
    values: Array


class Constraints(NamedTuple):
    """The admissible training sets, and the numbers that the variant prepared for them.

    ``n_train``, ``counts``
        int64 arrays of shape (n_strata,): for every stratum, the number of its samples in the training
        set, and in all. Fixed-size designs have one stratum. In stratified designs the strata are the
        classes, with the class code as index.
    ``held_out``
        1 if the tested sample is one of its stratum's ``counts`` (complete cross-validation); 0 if it is
        not.
    ``n_nearest``
        `Variant.n_nearest` (K or R), at most the size of the training set.
    ``n_classes``
        The number of classes (C).
    ``unit``
        1.0, or ``Fraction(1)`` in exact mode. Products start from it, so that a division by an integer
        stays exact.
    ``integers``, ``numbers``, ``weights``, ``table``
        The variant's own tables: int64 (any,), float64 (any,), float64 (any,) and float64 (any, any).
        `read_as` gives names to the entries of ``integers`` and ``numbers``, `read_rest` gives the others.
    ``extra``, ``n_extra``
        int64 array of shape (n_strata,), or (0,). Where `n_extra` > 0, `n_extra` of the strata that are
        flagged by 1, chosen at random, have one more sample in the training set than ``n_train`` says.
    """

    n_train: Array
    counts: Array
    held_out: int
    n_nearest: int
    n_classes: int
    unit: Any
    integers: Array
    numbers: Array
    weights: Array
    table: Array
    extra: Array
    n_extra: int


def _array(dtype: types.Type, ndim: int = 1) -> types.Type:
    return types.Array(dtype, ndim, "C")


_integers, _floats = _array(types.int64), _array(types.float64)

ORDER = types.NamedUniTuple(_integers, 2, Order)
LABELS = types.NamedTuple([_integers, _array(types.float64, 2)], Labels)
NOT_SERVED = math.inf
"""Returned by a kernel that leaves a sample to the next one of its chain. No score is infinite."""

JOINT, BY_DISTANCE, REMOVAL, DECIDES = "joint", "by distance", "removal", "decides"

_CONSTRAINT_TYPES = {
    **dict.fromkeys(("n_train", "counts", "integers", "extra"), _integers),
    **dict.fromkeys(("held_out", "n_nearest", "n_classes", "n_extra"), types.int64),
    **dict.fromkeys(("numbers", "weights"), _floats),
    "unit": types.float64,
    "table": _array(types.float64, 2),
}
CONSTRAINTS = types.NamedTuple([_CONSTRAINT_TYPES[name] for name in Constraints._fields], Constraints)
_ARGUMENT_TYPES = {
    "order": ORDER,
    "items": _integers,
    "labels": LABELS,
    "target": types.int64,
    "constraints": CONSTRAINTS,
    **dict.fromkeys(("distances", "scores", "tails", "out"), _floats),
}


class Form(NamedTuple):
    """How the functions of a form are called: their name in messages, arguments, and compiled signature."""

    what: str
    arguments: tuple[str, ...]
    signature: Any


def _form(arguments: str, result: types.Type = types.float64, what: str = "kernel") -> Form:
    names = tuple(arguments.split(", "))
    return Form(what, names, result(*(_ARGUMENT_TYPES[name] for name in names)))


FORMS = {
    "": _form("order, labels, target, constraints"),
    BY_DISTANCE: _form("order, distances, labels, target, constraints"),
    JOINT: _form("order, labels, target, constraints, scores, tails", types.void),
    REMOVAL: _form("order, labels, target, constraints, out"),
    DECIDES: _form("items, distances, labels, target, constraints", what="function decide"),
}
"""The forms of a rule's functions.

"": as `Variant.fixed`. BY_DISTANCE: as `Variant.fixed_by_distance`. JOINT: see `Link`; the scores and the
tails are filled, one for each kind of training sets. REMOVAL: as `Variant.removals`; ``out`` is filled with
one score for every listed sample. DECIDES: as `Variant.decide`, the score of one training set.
"""
KERNEL, DISTANCE_KERNEL, JOINT_KERNEL, REMOVAL_KERNEL, DECIDE = (
    types.FunctionType(form.signature) for form in FORMS.values()
)
