"""Monte Carlo: random runs, whose expectation the other packages compute exactly, and random labels.

- `_monte_carlo` has `monte_carlo_cv`, random runs of any variant and design, and `screened_cv`, which
  selects features in every training set.
- `_permutation` has `permutation_test`, exact scores of randomly permuted labels.
"""

from __future__ import annotations

from ._monte_carlo import ScreenedCV as ScreenedCV
from ._monte_carlo import monte_carlo_cv as monte_carlo_cv
from ._monte_carlo import screened as screened
from ._monte_carlo import screened_cv as screened_cv
from ._permutation import PermutationTest as PermutationTest
from ._permutation import permutation_test as permutation_test
