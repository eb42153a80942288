"""How a score changes without each sample.

Read `_influence` first: the result, and the pass over the neighbor lists. `_removals` has the problems of
N - 1 samples and the kernels that score lists without each of their samples, and `_removal_rows` the
compiled passes that call them.
"""

from __future__ import annotations

from ._influence import Influence, check_linear, influence
from ._removals import ReducedKind, reduced_kind
