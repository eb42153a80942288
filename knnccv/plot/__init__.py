"""Pictures of results (needs matplotlib).

The functions read the fields of results and import no result class.

- `_curves`: learning curves and validation curves, with bands; `_surface`: heat maps, scikit-learn's
  displays.
- `_cmc`: CMC curves of retrieval results.
- `_ranking`: several results on a line, with bars over those that do not differ significantly.
- `_spread`: random runs beside the exact score, and the scores that orders of tied samples allow.
"""

from __future__ import annotations

from ._cmc import cmc
from ._curves import learning_curve, validation_curve
from ._ranking import critical_difference
from ._spread import luck, tie_report
from ._surface import as_learning_curve_display, as_validation_curve_display, surface

__all__ = [
    "as_learning_curve_display",
    "as_validation_curve_display",
    "cmc",
    "critical_difference",
    "learning_curve",
    "luck",
    "surface",
    "tie_report",
    "validation_curve",
]
