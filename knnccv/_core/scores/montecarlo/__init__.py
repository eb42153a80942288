"""Monte Carlo: random runs, whose expectation the other packages compute exactly, and random labels.

- `_monte_carlo` has `monte_carlo_cv`, random runs of any variant and design.
- `_permutation` has `permutation_test`, exact scores of randomly permuted labels.
- `_feature_selection` has `screened_cv`, which selects features in every training set.
"""

from __future__ import annotations

from ._feature_selection import ScreenedCV as ScreenedCV
from ._feature_selection import screened as screened
from ._feature_selection import screened_cv as screened_cv
from ._monte_carlo import monte_carlo_cv as monte_carlo_cv
from ._permutation import PermutationTest as PermutationTest
from ._permutation import permutation_test as permutation_test
