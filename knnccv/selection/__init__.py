"""Features and prototypes by the exact score.

The complete cross-validation score of a choice of columns has no luck of the split in it, so a search can
compare two choices without noise. The score of the choice that wins is optimistic all the same, since it
was chosen for its score. Results call it the inner score. `knnccv.sklearn.expected_score` of an estimator
here, or of a pipeline with one, repeats the choice within every training set.

- `_search` has `select_features` and `search_weights`.
- `_scorer` scores many choices of columns at once.
- `_condense` has `condense` and its search, which removes the least valuable samples. `_condense_scores`
  scores a pool of candidates, and the pool without each of them.
- `_estimators` has `FeatureSelector`, `FeatureWeights` and `Condense`. They need scikit-learn and are
  loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._base.refusals import loaded_with_sklearn
from ._condense import Condensed, condense
from ._search import FeatureSelection, WeightSearch, search_weights, select_features

if TYPE_CHECKING:
    from ._estimators import Condense, FeatureSelector, FeatureWeights

__all__ = [
    "Condense",
    "Condensed",
    "FeatureSelection",
    "FeatureSelector",
    "FeatureWeights",
    "WeightSearch",
    "condense",
    "search_weights",
    "select_features",
]


__getattr__, __dir__ = loaded_with_sklearn(
    globals(), "._estimators", "Condense", "FeatureSelector", "FeatureWeights"
)
