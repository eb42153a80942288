"""How a score changes without each sample.

Read `_influence` first: the result, and the pass over the neighbor lists. `_removals` has the problems of
N - 1 samples and the kernels that score lists without each of their samples, and `_removal_rows` the
compiled passes that call them.
"""

from __future__ import annotations

from ._influence import Influence as Influence
from ._influence import check_linear as check_linear
from ._influence import influence as influence
from ._removals import ReducedKind as ReducedKind
from ._removals import reduced_kind as reduced_kind
