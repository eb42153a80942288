"""The kernel signature: its four arguments and their Numba types, and the forms that add arguments.

`constraints_for` turns a `Task` and a variant's `Tables` into the `Constraints` that a kernel reads.
`read_as` and `read_rest` name the entries of an array, in compiled kernels and in plain Python.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

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

Fields = TypeVar("Fields", bound=NamedTuple)


@dataclass(frozen=True)
class Task:
    """One kind of training sets, for which a variant prepares its tables.

    Attributes
    ----------
    n_train, counts : tuple of int
        Per stratum: samples in the training set, samples in all. One stratum if not `stratified`.
    stratified : bool
        True if the strata are the classes.
    held_out : int
        1 if the tested sample is counted in `counts`, 0 if not.
    n_classes : int
        The number of classes.
    number : type
        float, or Fraction in exact mode.
    extra : tuple of int
        The strata that may have one more sample in the training set; empty for most designs.
    n_extra : int
        The number of strata of `extra` that have one more sample, chosen at random.

    Examples
    --------
    >>> from knnccv.kernel import Task
    >>> Task((80,), (99,), False, 0, 3).n_train
    (80,)
    """

    n_train: tuple[int, ...]
    counts: tuple[int, ...]
    stratified: bool
    held_out: int
    n_classes: int
    number: type = float
    extra: tuple[int, ...] = ()
    n_extra: int = 0

    @property
    def train_size(self) -> int:
        """Size of every training set."""
        return sum(self.n_train) + self.n_extra

    @property
    def n_available(self) -> int:
        """Number of samples that the training set is drawn from, when one is tested."""
        return sum(self.counts) - self.held_out


@dataclass(frozen=True)
class Tables:
    """The variant's own entries of `Constraints`: any sequences of numbers.

    `integers` are best given as an instance of `Variant.fields`, so that the kernel reads them by name.
    """

    integers: Any = ()
    numbers: Any = ()
    weights: Any = ()
    table: Any = field(default_factory=lambda: np.empty((0, 0)))


def constraints_for(
    task: Task, tables: Tables, *, n_nearest: int = 0, fields: type[Any] | None = None
) -> Constraints:
    """Combine the task and the variant's tables into the constraints that the kernel reads.

    Parameters
    ----------
    task : Task
        The kind of training sets.
    tables : Tables
        `Variant.tables` for this task.
    n_nearest : int, default 0
        `Variant.n_nearest`; the size of the training set bounds it.
    fields : NamedTuple class, optional
        `Variant.fields`, against which the number of integers is checked.

    Returns
    -------
    Constraints
        Its arrays are int64 and float64, or hold Python integers and Fractions in exact mode.

    Raises
    ------
    TypeError
        If the number of integers differs from that of `fields`, or they are of another NamedTuple class.
    """
    if fields is not None:
        _check_fields(fields, tables.integers)
    if task.number is Fraction:
        integers: Any = _exact_integers
        floats: Any = functools.partial(np.array, dtype=object)
    else:
        integers = functools.partial(np.require, dtype=np.int64, requirements="CW")
        floats = functools.partial(np.require, dtype=np.float64, requirements="CW")
    return Constraints(
        n_train=integers(list(task.n_train)),
        counts=integers(list(task.counts)),
        held_out=task.held_out,
        n_nearest=int(min(n_nearest, task.train_size)),
        n_classes=task.n_classes,
        unit=Fraction(1) if task.number is Fraction else 1.0,
        integers=integers(list(tables.integers)),
        numbers=floats(list(tables.numbers)),
        weights=floats(tables.weights),
        table=floats(tables.table),
        extra=integers([int(s in task.extra) for s in range(len(task.counts))] if task.n_extra else []),
        n_extra=task.n_extra,
    )


def _check_fields(fields: type[Any], integers: Any) -> None:
    """Raise TypeError for integers that do not fit `fields`: compiled code would read beyond their end."""
    names, integers = fields._fields, integers if hasattr(integers, "_fields") else list(integers)
    other_class = hasattr(integers, "_fields") and not isinstance(integers, fields)
    if len(integers) == len(names) and not other_class:
        return
    found = type(integers).__qualname__ if other_class else f"{len(integers)} numbers"
    msg = (
        f"Tables(integers=...) must be {fields.__qualname__}({', '.join(names)}), {len(names)} numbers, as "
        f"the variant's `fields` says, got {found} (fields = None leaves the integers unnamed)"
    )
    raise TypeError(msg)


def _exact_integers(values: Any) -> Array:
    """Python integers: NumPy's would overflow or turn Fractions into floats."""
    return np.array([int(value) for value in values], dtype=object)


SHORT = "read_as: the array has fewer entries than the class has fields"


def read_as(fields: type[Fields], array: Array) -> Fields:
    """The first entries of an array, as an instance of a NamedTuple class.

    Kernels call it with `Constraints.integers` or `Constraints.numbers`. It costs as much as reading the
    entries by their positions.

    Parameters
    ----------
    fields : NamedTuple class
        The class that names the entries. `Variant.tables` should fill the array from the same class.
    array : ndarray of shape (n,)
        At least as many entries as the class has fields.

    Returns
    -------
    NamedTuple
        An instance of `fields`.

    Raises
    ------
    IndexError
        If the array has fewer entries than the class has fields; defaults do not fill the gap.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> class Fields(NamedTuple):
    ...     depth: int
    ...     rule: int
    >>> int(read_as(Fields, np.array([20, 1])).rule)
    1
    """
    n_fields = len(fields._fields)
    if len(array) < n_fields:
        raise IndexError(SHORT)
    return fields(*array[:n_fields])


def read_rest(fields: type[Any], array: Array) -> Array:
    """The entries of an array after those that `read_as` names: a list of any length, such as tie nodes.

    Parameters
    ----------
    fields : NamedTuple class
        The class that names the first entries.
    array : ndarray of shape (n,)
        `Constraints.integers` or `Constraints.numbers`.

    Returns
    -------
    ndarray of shape (n - number of fields,)
        A view.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> class Fields(NamedTuple):
    ...     scale: float
    >>> read_rest(Fields, np.array([0.5, 1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return array[len(fields._fields) :]


@intrinsic
def _front(typing_context: Any, fields: Any, array: Any) -> Any:  # noqa: ARG001
    """A tuple of the class `fields`, loaded from the front of `array`."""
    n_fields = len(fields.instance_class._fields)
    filled = types.NamedUniTuple(array.dtype, n_fields, fields.instance_class)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        data = context.make_array(array)(context, builder, arguments[1]).data
        places = [builder.gep(data, [context.get_constant(types.intp, i)]) for i in range(n_fields)]
        return context.make_tuple(builder, filled, [builder.load(place) for place in places])

    return filled(fields, array), generate


@overload(read_as)
def _read_as_compiled(fields, array):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if not isinstance(fields, types.NamedTupleClass):
        return None
    n_fields = len(fields.instance_class._fields)

    def read(fields, array):  # type: ignore[no-untyped-def]
        if len(array) < n_fields:
            raise IndexError(SHORT)
        return _front(fields, array)  # type: ignore[call-arg]

    return read


@overload(read_rest)
def _read_rest_compiled(fields, array):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if not isinstance(fields, types.NamedTupleClass):
        return None
    n_fields = len(fields.instance_class._fields)
    return lambda fields, array: array[n_fields:]  # noqa: ARG005
