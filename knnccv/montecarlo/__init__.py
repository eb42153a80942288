"""Random runs: what people do where knnccv averages over all splits.

- `_monte_carlo` is `monte_carlo_cv`, the sampled twin of every design.
- `_feature_selection` is `screened_cv`, which selects features anew in every training set; `_selectors`
  calls the selector.
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
