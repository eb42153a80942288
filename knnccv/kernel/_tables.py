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
    """One kind of training sets, as a variant sees it when it prepares its tables.

    Attributes
    ----------
    n_train, counts : tuple of int
        Per stratum: samples in the training set, samples in all. One stratum where not `stratified`.
    stratified : bool
        Whether the strata are the classes.
    held_out : int
        1 if the tested sample is counted in `counts`, 0 if not.
    n_classes : int
        How many classes there are.
    number : type
        float, or Fraction in exact mode.
    extra : tuple of int
        The strata of which some have one more sample in the training set; empty for most designs.
    n_extra : int
        How many of them have, any of them alike.
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
        """How many samples the training set is drawn from, when one is tested."""
        return sum(self.counts) - self.held_out


@dataclass(frozen=True)
class Tables:
    """What a variant gives its kernel (see `Constraints`); any sequence of numbers will do."""

    integers: Any = ()
    numbers: Any = ()
    weights: Any = ()
    table: Any = field(default_factory=lambda: np.empty((0, 0)))


def constraints_for(task: Task, tables: Tables) -> Constraints:
    """Lay the task and the variant's tables out as the kernel takes them."""
    if task.number is Fraction:
        return Constraints(
            _exact_integers(task.n_train),
            _exact_integers(task.counts),
            task.held_out,
            Fraction(1),
            _exact_integers(tables.integers),
            np.array(list(tables.numbers), dtype=object),
            np.array(list(tables.weights), dtype=object),
            np.array(tables.table, dtype=object),
            _exact_integers(_flags(task)),
            task.n_extra,
        )
    integers = functools.partial(np.require, dtype=np.int64, requirements="CW")
    floats = functools.partial(np.require, dtype=np.float64, requirements="CW")
    return Constraints(
        integers(list(task.n_train)),
        integers(list(task.counts)),
        task.held_out,
        1.0,
        integers(list(tables.integers)),
        floats(list(tables.numbers)),
        floats(tables.weights),
        floats(tables.table),
        integers(_flags(task)),
        task.n_extra,
    )


def _flags(task: Task) -> list[int]:
    if not task.n_extra:
        return []
    return [int(stratum in task.extra) for stratum in range(len(task.counts))]


def _exact_integers(values: Any) -> Array:
    """Python integers: NumPy's would overflow or turn Fractions into floats."""
    return np.array([int(value) for value in values], dtype=object)
