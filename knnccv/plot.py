"""Pictures of the answers (extra ``[plot]``): every function draws on one matplotlib Axes and returns it.

Without `ax` a function makes a figure of its own and never draws into one that exists. Nothing is shown or
saved; that is the caller's. Matplotlib is imported when something is drawn.
"""

from ._plot_spread import luck, tie_report
from ._plot_surface import (
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
