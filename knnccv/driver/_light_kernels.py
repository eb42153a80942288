"""Light kernels: compiled first, because they suffice for most problems.

The kernels of a variant serve every neighbor order and every parameter, and some take twenty seconds to
compile. A light kernel (`Variant.light_kernel`) serves the usual orders with the same code, and returns
infinity for the others. These rows are then scored by the full kernel, which is compiled only at this
point. Once it is compiled, only the full kernel is called.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba.core.dispatcher import Dispatcher

from .._typing import Array, Kernel
from ..kernel import Constraints, Task, Variant, compile_kernel


def light_kernels(
    variant: Variant, tasks: Sequence[Task], constraints: Sequence[Constraints]
) -> tuple[Kernel | None, ...]:
    """The light kernel of every task, or None if there is none."""
    if not belong_together(type(variant), "light_kernel"):
        return (None,) * len(tasks)
    return tuple(variant.light_kernel(task, each) for task, each in zip(tasks, constraints, strict=True))


def belong_together(owner: type[Variant], special: str, *others: str) -> bool:
    """Return True if no subclass overrides the kernels, or `others`, without the `special` kernels."""
    homes = {
        name: next(i for i, base in enumerate(owner.__mro__) if name in vars(base))
        for name in (special, "fixed", "stratified", "kernel_for", *others)
    }
    return homes.pop(special) <= min(homes.values())


def first_kernel(light: Kernel | None, full: Kernel) -> Kernel:
    """The kernel to call first: the light one until the full one has been compiled in this process."""
    if light is None or not isinstance(full, Dispatcher) or full.signatures:
        return full
    return light


def compile_first(light: Sequence[Kernel | None], full: Sequence[Kernel], owner: str) -> None:
    """Compile the kernels to call first, or load them from the cache."""
    for pair in zip(light, full, strict=True):
        compile_kernel(first_kernel(*pair), owner)


def not_served(scores: Array) -> Array:
    """The rows, of one or several scores each, that the light kernel leaves to the full one."""
    left = np.isposinf(scores)
    return np.flatnonzero(left if left.ndim == 1 else left.any(axis=1))
