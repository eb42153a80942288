"""`read_as` and `read_rest`: the entries of an array by name, in compiled kernels and in plain Python."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload

from .._typing import Array

SHORT = "read_as: the array has fewer entries than the class has fields"


def read_as(fields: type[Any], array: Array) -> Any:
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
def _front(typing_context, fields, array):  # noqa: ARG001
    """A tuple of the class `fields`, loaded from the front of `array`."""
    n_fields = len(fields.instance_class._fields)
    filled = types.NamedUniTuple(array.dtype, n_fields, fields.instance_class)

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        data = context.make_array(array)(context, builder, arguments[1]).data
        places = [builder.gep(data, [context.get_constant(types.intp, i)]) for i in range(n_fields)]
        return context.make_tuple(builder, filled, [builder.load(place) for place in places])

    return filled(fields, array), generate


@overload(read_as)
def _read_as_compiled(fields, array):  # noqa: ARG001
    if not isinstance(fields, types.NamedTupleClass):
        return None
    n_fields = len(fields.instance_class._fields)

    def read(fields, array):
        if len(array) < n_fields:
            raise IndexError(SHORT)
        return _front(fields, array)  # type: ignore[call-arg]

    return read


@overload(read_rest)
def _read_rest_compiled(fields, array):  # noqa: ARG001
    if not isinstance(fields, types.NamedTupleClass):
        return None
    n_fields = len(fields.instance_class._fields)
    return lambda fields, array: array[n_fields:]  # noqa: ARG005
