"""TODO influence."""

from __future__ import annotations

from ._influence import influence
from ._influence_result import Influence
from ._removal_kernels import RemovalKernels, removal_kernels

__all__ = [
    "Influence",
    "RemovalKernels",
    "influence",
    "removal_kernels",
]
