"""Rows and columns of a surface: numbers of neighbors and training sizes, as users give them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_integer
from ..designs import Design, StratifiedSubsample, Subsample
from ..kernel import Variant

SIZES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
AXES = ("n_neighbors", "rank")


@dataclass(frozen=True)
class SurfaceGrid:
    """Rows are values of the parameter `axis` (None if the rule has none), columns designs and sizes."""

    axis: str | None
    values: tuple[int, ...]
    designs: tuple[Design, ...]
    sizes: tuple[int, ...]

    @property
    def smallest(self) -> Design:
        """The design with the smallest training sets."""
        return self.designs[self.sizes.index(min(self.sizes))]

    def setting(self, value: int) -> dict[str, int]:
        """The parameter with this value, as keyword arguments."""
        return {self.axis: value} if self.axis else {}

    @functools.cached_property
    def nearest(self) -> Array:
        """The number of nearest training samples that decide, shape (n_rows, n_columns)."""
        return np.array([[min(value, size) for size in self.sizes] for value in self.values])


def parse_axis(
    rule: Variant, n_neighbors: Any, parameters: Mapping[str, Any]
) -> tuple[str | None, list[int] | None]:
    """The rule's parameter that counts neighbors, or None, and its values, or None if none are given."""
    axis = next((name for name in AXES if name in rule.parameters), None)
    if axis is None:
        if n_neighbors is not None:
            msg = f"variant {rule.name!r} has no number of neighbors to vary; leave n_neighbors out"
            raise TypeError(msg)
        return None, [1]
    name = "n_neighbors"
    given = n_neighbors
    if axis in parameters:
        if n_neighbors is not None:
            msg = f"give either n_neighbors or {axis}, got {n_neighbors!r} and {parameters[axis]!r}"
            raise TypeError(msg)
        name, given = axis, parameters[axis]
    if given is None:
        return axis, None
    return axis, listed_neighbors(given, name=name)


def listed_neighbors(values: Any, largest: int | None = None, name: str = "n_neighbors") -> list[int]:
    """One number of neighbors or several, as a checked list."""
    return [check_integer(name, value, 1, largest) for value in as_list(name, values)]


def parse_designs(train_sizes: Any, stratified: bool) -> tuple[list[Design], tuple[Any, ...] | None]:
    """The designs, and the numbers of samples of every class, or None if fractions are given."""
    if isinstance(train_sizes, Mapping):
        train_sizes = [train_sizes]
    sizes = as_list("train_sizes", SIZES if train_sizes is None else train_sizes)
    if not stratified:
        for size in sizes:
            if isinstance(size, Mapping):
                msg = f"without stratified=True train_sizes must be numbers or fractions, got {size!r}"
                raise TypeError(msg)
        return [Subsample(size) for size in sizes], None
    numbers = [isinstance(size, Integral | Mapping) and not isinstance(size, bool) for size in sizes]
    if not any(numbers):
        return [StratifiedSubsample(size) for size in sizes], None
    if not all(numbers):
        msg = (
            "with stratified=True train_sizes must be fractions in (0, 1) of every class, or numbers of "
            f"samples of every class, not both; got {train_sizes!r}"
        )
        raise TypeError(msg)
    per_class = tuple(dict(size) if isinstance(size, Mapping) else int(size) for size in sizes)
    return [StratifiedSubsample(per_class=number) for number in per_class], per_class


def as_list(name: str, values: Any) -> list[Any]:
    """One value or several, as a list."""
    if isinstance(values, (str, bytes, Mapping)):
        msg = f"{name} must be a number or a sequence of numbers, got {values!r}"
        raise TypeError(msg)
    several = isinstance(values, Iterable) and getattr(values, "ndim", 1) > 0
    listed = list(values) if several else [values]
    if not listed:
        msg = f"{name} must hold at least one number, got {values!r}"
        raise ValueError(msg)
    return listed
