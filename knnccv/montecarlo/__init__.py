"""Monte Carlo cross-validation: random runs, whose expectation the other packages compute exactly.

- `_monte_carlo` has `monte_carlo_cv`, random runs of any variant and design.
- `_feature_selection` has `screened_cv`, which selects features in every training set.
- `_result` has the results.
"""

from __future__ import annotations

from ._feature_selection import ScreenedCV, screened_cv
from ._monte_carlo import monte_carlo_cv
from ._result import MonteCarloCV, RandomRuns

__all__ = [
    "MonteCarloCV",
    "RandomRuns",
    "ScreenedCV",
    "monte_carlo_cv",
    "screened_cv",
]
