"""Pictures of results (needs matplotlib).

The functions read the fields of results and import no result class.

- `_curves`: axes and curves with bands, which all pictures share; learning and validation curves; heat
  maps.
- `_results`: CMC curves of retrieval results; random runs beside the exact score; several results on a
  line, with bars over those that do not differ significantly.
"""

from __future__ import annotations

from ._curves import learning_curve, surface, validation_curve
from ._results import cmc, critical_difference, luck

__all__ = [
    "cmc",
    "critical_difference",
    "learning_curve",
    "luck",
    "surface",
    "validation_curve",
]
