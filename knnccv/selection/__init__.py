"""Features and prototypes by the exact score.

The complete cross-validation score of a choice of columns has no luck of the split in it, so a search can
compare two choices without noise. The score of the choice that wins is optimistic all the same, since it
was chosen for its score. Results call it the inner score. `screened_cv` and `condensed_cv` estimate the
whole procedure: they repeat the choice within every training set.

- `_search` has `select_features` and `search_weights`.
- `_scorer` scores many choices of columns at once.
- `_honest` has their results, which repeat a search within every training set on request.
- `_condense` has `condense` and its search, which removes the least valuable samples. `_condense_scores`
  scores a pool of candidates, and the pool without each of them. `_condense_runs` has the honest score,
  `condensed_cv`.
- `_estimators` has `FeatureSelector`, `FeatureWeights` and `Condense`. They need scikit-learn and are
  loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._base.refusals import loaded_with_sklearn
from ._condense import Condensed, condense
from ._condense_runs import CondensedCV, condensed_cv
from ._honest import FeatureSelection, WeightSearch
from ._search import search_weights, select_features

if TYPE_CHECKING:
    from ._estimators import Condense, FeatureSelector, FeatureWeights

__all__ = [
    "Condense",
    "Condensed",
    "CondensedCV",
    "FeatureSelection",
    "FeatureSelector",
    "FeatureWeights",
    "WeightSearch",
    "condense",
    "condensed_cv",
    "search_weights",
    "select_features",
]


__getattr__, __dir__ = loaded_with_sklearn(
    globals(), "._estimators", "Condense", "FeatureSelector", "FeatureWeights"
)
