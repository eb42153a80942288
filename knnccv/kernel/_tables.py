"""From a task and a variant's tables to the constraints that a kernel reads."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from .._typing import Array
from ._signature import Constraints


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
        extra=integers(_flags(task)),
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


def _flags(task: Task) -> list[int]:
    if not task.n_extra:
        return []
    return [int(stratum in task.extra) for stratum in range(len(task.counts))]


def _exact_integers(values: Any) -> Array:
    """Python integers: NumPy's would overflow or turn Fractions into floats."""
    return np.array([int(value) for value in values], dtype=object)
