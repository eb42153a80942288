"""Monte Carlo: random runs, whose expectation the other packages compute exactly, and random labels.

- `_monte_carlo` has `monte_carlo_cv`, random runs of any variant and design.
- `_permutation` has `permutation_test`, exact scores of randomly permuted labels.
- `_feature_selection` has `screened_cv`, which selects features in every training set.
"""

from __future__ import annotations

from ._feature_selection import ScreenedCV, screened, screened_cv
from ._monte_carlo import monte_carlo_cv
from ._permutation import PermutationTest, permutation_test

__all__ = [
    "PermutationTest",
    "ScreenedCV",
    "monte_carlo_cv",
    "permutation_test",
    "screened",
    "screened_cv",
]
