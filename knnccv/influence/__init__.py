"""How a score changes without each sample.

Read `_influence` first: the pass over the neighbor lists. `_reduced` has the problems of N - 1 samples,
`_removals` the kernels that score lists without each of their samples, and `_removal_rows` the compiled
passes that call them. `_influence_result` is the result.
"""

from __future__ import annotations

from ._influence import influence
from ._influence_result import Influence
from ._removals import RemovalKernels, removal_kernels

__all__ = [
    "Influence",
    "RemovalKernels",
    "influence",
    "removal_kernels",
]
