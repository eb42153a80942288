"""Pictures of results (needs matplotlib).

The functions read the fields of results and import no result class.

- `_surface`: learning curves and validation curves, with bands; heat maps.
- `_results`: CMC curves of retrieval results; random runs beside the exact score; the scores that orders
  of tied samples allow; several results on a line, with bars over those that do not differ significantly.
- `_canvas`: what they share.
"""

from __future__ import annotations

from ._results import cmc, critical_difference, luck, tie_report
from ._surface import learning_curve, surface, validation_curve

__all__ = [
    "cmc",
    "critical_difference",
    "learning_curve",
    "luck",
    "surface",
    "tie_report",
    "validation_curve",
]
