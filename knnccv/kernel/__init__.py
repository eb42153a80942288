"""The kernel contract: the parts of a variant, and how its kernels are compiled and called.

A *kernel* is a compiled function ``kernel(order, labels, target, constraints) -> A_x``. It returns the
share of the admissible training sets that classify the tested sample correctly, or the expected score
if the score is not accuracy. A kernel is mathematics only. It never validates, never raises on valid
input, and allocates no more than O(depth + classes * K) numbers. It sees no distances, except the kernels
`Variant.fixed_by_distance` and `Variant.stratified_by_distance`, whose second argument they are. A rule
without any kernel has a function `Variant.decide`, which scores one training set.

- `_signature` defines the four arguments, their Numba types, and the forms with other arguments. It turns a
  `Task` and a variant's `Tables` into the `Constraints` that a kernel reads, and gives names to the entries
  of an array, in compiled code as well.
- `_variant` defines `Variant`, the base class of every rule, and `Score`: what a score is, and its range.
- `simd` has vectors of eight numbers for compiled code: one lane for each kind of training sets; `words`
  those of bits: one for each of 512 runs; `sampling` has laws of draws, and random numbers.
- `_compile` compiles kernels and drivers, and says that this takes time.
- `_tier` runs their source: on Fractions, and in place of compiling while that is faster.
- `_cache` keeps the compiled code on disk.

The driver takes kernels as first-class functions of one type (`KERNEL`), so that the compiled driver is
the same for every variant, built in or third-party, and is compiled and cached once. The indirect call
costs about 4 ns per tested sample; there is never one per neighbor.
"""

from __future__ import annotations

from ._cache import cache_folder
from ._compile import (
    COMPILES,
    Compiling,
    check_kernel,
    compile_driver,
    compile_kernel,
    inner,
    is_compiled,
    jit,
)
from ._signature import (
    BY_DISTANCE,
    CONSTRAINTS,
    DECIDE,
    DECIDES,
    DISTANCE_KERNEL,
    JOINT,
    JOINT_KERNEL,
    KERNEL,
    LABELS,
    NOT_SERVED,
    REMOVAL,
    REMOVAL_KERNEL,
    Constraints,
    Labels,
    Order,
    Tables,
    Task,
    constraints_for,
    read_as,
    read_rest,
)
from ._tier import as_python, compile_at_once
from ._variant import (
    ACCURACY,
    Link,
    Score,
    Variant,
    chain_of,
    is_blind,
    profile_of,
    removals_of,
    squared_diagonal,
)
from .simd import LANES

__all__ = [
    "Constraints",
    "Labels",
    "Link",
    "Order",
    "Score",
    "Tables",
    "Task",
    "Variant",
    "as_python",
    "check_kernel",
    "compile_kernel",
    "constraints_for",
    "is_compiled",
    "jit",
    "read_as",
    "read_rest",
]
