"""The kernel contract: the parts of a variant, and how its kernels are compiled and called.

A *kernel* is a compiled function ``kernel(order, labels, target, constraints) -> A_x``. It returns the
share of the admissible training sets that classify the tested sample correctly, or the expected score
if the score is not accuracy. A kernel is mathematics only. It never validates, never raises on valid
input, and allocates no more than O(depth + classes * K) numbers. It sees no distances, except the kernels
`Variant.fixed_by_distance` and `Variant.stratified_by_distance`, whose second argument they are. A rule
without any kernel has a function `Variant.decide`, which scores one training set.

- `_signature` defines the four arguments and their Numba types.
- `_tables` turns a `Task` and a variant's `Tables` into the `Constraints` that a kernel reads.
- `_read_as` gives names to the entries of an array, in compiled code as well.
- `_variant` defines `Variant`, the base class of every rule.
- `simd` has vectors of eight numbers for compiled code: one lane for each kind of training sets; `words`
  those of bits: one for each of 512 runs. `_vectors` has what both share.
- `_compile` compiles kernels and drivers, and runs the same source on Fractions.
- `_cache` keeps the compiled code on disk, and `_compiling` says that compiling takes time.

The driver takes kernels as first-class functions of one type (`KERNEL`), so that the compiled driver is
the same for every variant, built in or third-party, and is compiled and cached once. The indirect call
costs about 4 ns per tested sample; there is never one per neighbor.
"""

from __future__ import annotations

from .._typing import Array as Array
from .._typing import Kernel as Kernel
from .._validation import check_choice as check_choice
from .._validation import check_integer as check_integer
from ._cache import cache_folder as cache_folder
from ._compile import FALSE as FALSE
from ._compile import TRUE as TRUE
from ._compile import ZERO as ZERO
from ._compile import as_python, check_kernel, compile_kernel, is_compiled, jit
from ._compile import compile_decide as compile_decide
from ._compile import compile_distance_kernel as compile_distance_kernel
from ._compile import compile_driver as compile_driver
from ._compile import compile_joint_kernel as compile_joint_kernel
from ._compile import compile_removal_kernel as compile_removal_kernel
from ._compile import inner as inner
from ._compiling import COMPILES as COMPILES
from ._compiling import Compiling as Compiling
from ._read_as import read_as, read_rest
from ._signature import ARGUMENTS as ARGUMENTS
from ._signature import CONSTRAINTS as CONSTRAINTS
from ._signature import DECIDE as DECIDE
from ._signature import DECIDE_ARGUMENTS as DECIDE_ARGUMENTS
from ._signature import DISTANCE_ARGUMENTS as DISTANCE_ARGUMENTS
from ._signature import DISTANCE_KERNEL as DISTANCE_KERNEL
from ._signature import JOINT_KERNEL as JOINT_KERNEL
from ._signature import KERNEL as KERNEL
from ._signature import LABELS as LABELS
from ._signature import NOT_SERVED as NOT_SERVED
from ._signature import ORDER as ORDER
from ._signature import REMOVAL_KERNEL as REMOVAL_KERNEL
from ._signature import SIGNATURE as SIGNATURE
from ._signature import Constraints, Labels, Order
from ._tables import Tables, Task, constraints_for
from ._variant import BY_DISTANCE as BY_DISTANCE
from ._variant import JOINT as JOINT
from ._variant import Link, Variant
from ._variant import chain_of as chain_of
from ._variant import distance_kernels as distance_kernels
from ._variant import is_blind as is_blind
from ._variant import profile_of as profile_of
from ._variant import removals_of as removals_of
from .simd import LANES as LANES

compiled = compile_driver  # the former public name

__all__ = [
    "Constraints",
    "Labels",
    "Link",
    "Order",
    "Tables",
    "Task",
    "Variant",
    "as_python",
    "check_kernel",
    "compile_kernel",
    "compiled",
    "constraints_for",
    "is_compiled",
    "jit",
    "read_as",
    "read_rest",
]
