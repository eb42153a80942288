"""The kernel contract: the parts of a variant, and how its kernels are compiled and called.

A *kernel* is a compiled function ``kernel(order, labels, target, constraints) -> A_x``. It returns the
share of the admissible training sets that classify the tested sample correctly, or the expected score
if the score is not accuracy. A kernel is mathematics only. It never sees distances, never validates,
never raises on valid input, and allocates no more than O(depth + classes * K) numbers.

- `_signature` defines the four arguments and their Numba types.
- `_tables` turns a `Task` and a variant's `Tables` into the `Constraints` that a kernel reads.
- `_read_as` gives names to the entries of an array, in compiled code as well.
- `_variant` defines `Variant`, the base class of every rule.
- `_compile` compiles kernels and drivers, and runs the same source on Fractions.

The driver takes kernels as first-class functions of one type (`KERNEL`), so that the compiled driver is
the same for every variant, built in or third-party, and is compiled and cached once. The indirect call
costs about 4 ns per tested sample; there is never one per neighbor.
"""

from __future__ import annotations

from .._typing import Array, Kernel
from .._validation import check_choice, check_integer
from ._compile import as_python, check_kernel, compile_driver, compile_kernel, is_compiled, jit
from ._read_as import read_as
from ._signature import (
    ARGUMENTS,
    CONSTRAINTS,
    KERNEL,
    LABELS,
    NOT_SERVED,
    ORDER,
    SIGNATURE,
    Constraints,
    Labels,
    Order,
)
from ._tables import Tables, Task, constraints_for
from ._variant import Variant, profile_of

compiled = compile_driver  # the former public name

__all__ = [
    "ARGUMENTS",
    "CONSTRAINTS",
    "KERNEL",
    "LABELS",
    "NOT_SERVED",
    "ORDER",
    "SIGNATURE",
    "Array",
    "Constraints",
    "Kernel",
    "Labels",
    "Order",
    "Tables",
    "Task",
    "Variant",
    "as_python",
    "check_choice",
    "check_integer",
    "check_kernel",
    "compile_driver",
    "compile_kernel",
    "compiled",
    "constraints_for",
    "is_compiled",
    "jit",
    "profile_of",
    "read_as",
]
