"""Monte Carlo cross-validation: random runs, whose expectation the other packages compute exactly.

- `_monte_carlo` has `monte_carlo_cv`, random runs of any variant and design, and their results.
- `_feature_selection` has `screened_cv`, which selects features in every training set.
"""

from __future__ import annotations

from ._feature_selection import ScreenedCV, screened_cv
from ._monte_carlo import MonteCarloCV, monte_carlo_cv

__all__ = [
    "MonteCarloCV",
    "ScreenedCV",
    "monte_carlo_cv",
    "screened_cv",
]
