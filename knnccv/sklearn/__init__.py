"""scikit-learn's estimators, splitters and scorings, averaged exactly.

`expected_score` is the exact expectation of ``cross_val_score(...).mean()`` over the splitter's random
numbers. `ccv_scorer` and `WholeData` bring such expectations into ``GridSearchCV``, ``validation_curve``
and other functions of scikit-learn that take ``scoring=`` and ``cv=``. `KNeighborsClassifierCV` and
`KNeighborsRegressorCV` choose K, the metric, the scaling and the weights by them; they are loaded when they
are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._base.refusals import loaded_with_sklearn
from ._expected_score import ccv_scorer, expected_score, scores_of
from ._request import ExpectedScore
from ._scoring import named_scorings, neighbors_rule
from ._splitters import WholeData

if TYPE_CHECKING:
    from ._cv_estimators import KNeighborsClassifierCV, KNeighborsRegressorCV

__all__ = [
    "ExpectedScore",
    "KNeighborsClassifierCV",
    "KNeighborsRegressorCV",
    "WholeData",
    "ccv_scorer",
    "expected_score",
]


__getattr__, __dir__ = loaded_with_sklearn(
    globals(), "._cv_estimators", "KNeighborsClassifierCV", "KNeighborsRegressorCV"
)
