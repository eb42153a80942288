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
  those of bits: one for each of 512 runs; `random` has random numbers.
- `_compile` compiles kernels and drivers, and says that this takes time.
- `_tier` runs their source: on Fractions, and in place of compiling while that is faster.
- `_cache` keeps the compiled code on disk.

The driver takes kernels as first-class functions of one type (`KERNEL`), so that the compiled driver is
the same for every variant, built in or third-party, and is compiled and cached once. The indirect call
costs about 4 ns per tested sample; there is never one per neighbor.
"""

from __future__ import annotations

from ._cache import cache_folder as cache_folder
from ._compile import COMPILES as COMPILES
from ._compile import FALSE as FALSE
from ._compile import ZERO as ZERO
from ._compile import Compiling as Compiling
from ._compile import check_kernel, compile_kernel, is_compiled, jit
from ._compile import compile_driver as compile_driver
from ._compile import inner as inner
from ._signature import BY_DISTANCE as BY_DISTANCE
from ._signature import CONSTRAINTS as CONSTRAINTS
from ._signature import DECIDE as DECIDE
from ._signature import DECIDES as DECIDES
from ._signature import DISTANCE_KERNEL as DISTANCE_KERNEL
from ._signature import FORMS as FORMS
from ._signature import JOINT as JOINT
from ._signature import JOINT_KERNEL as JOINT_KERNEL
from ._signature import KERNEL as KERNEL
from ._signature import LABELS as LABELS
from ._signature import NOT_SERVED as NOT_SERVED
from ._signature import REMOVAL as REMOVAL
from ._signature import REMOVAL_KERNEL as REMOVAL_KERNEL
from ._signature import Constraints, Labels, Order, Tables, Task, constraints_for, read_as, read_rest
from ._tier import as_python
from ._tier import compile_at_once as compile_at_once
from ._variant import ACCURACY as ACCURACY
from ._variant import Link, Score, Variant
from ._variant import chain_of as chain_of
from ._variant import is_blind as is_blind
from ._variant import profile_of as profile_of
from ._variant import removals_of as removals_of
from ._variant import squared_diagonal as squared_diagonal
from .simd import LANES as LANES

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
