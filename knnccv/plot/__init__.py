"""Pictures of results (needs matplotlib).

The functions read the fields of results and import no result class.

- `_surface`: learning curves, validation curves, heat maps, scikit-learn's displays.
- `_spread`: random runs beside the exact score, and the scores that orders of tied samples allow.
"""

from __future__ import annotations

from ._spread import luck, tie_report
from ._surface import (
    as_learning_curve_display,
    as_validation_curve_display,
    learning_curve,
    surface,
    validation_curve,
)

__all__ = [
    "as_learning_curve_display",
    "as_validation_curve_display",
    "learning_curve",
    "luck",
    "surface",
    "tie_report",
    "validation_curve",
]
