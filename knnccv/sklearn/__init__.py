"""scikit-learn's estimators, splitters and scorings, averaged exactly.

`expected_score` is the exact expectation of ``cross_val_score(...).mean()`` over the splitter's random
numbers. `ccv_scorer` and `WholeData` bring such expectations into ``GridSearchCV``, ``validation_curve``
and other functions of scikit-learn that take ``scoring=`` and ``cv=``. `KNeighborsClassifierCV` and
`KNeighborsRegressorCV` choose K, the metric, the scaling and the weights by them; they are loaded when they
are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._answer import ExpectedScore
from ._estimators import needs_sklearn as needs_sklearn  # with `as`: for the packages above
from ._expected_score import ccv_scorer, expected_score
from ._expected_score import scores_of as scores_of
from ._scoring import named_scorings as named_scorings
from ._scoring import neighbors_rule as neighbors_rule
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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    needs_sklearn()
    return getattr(importlib.import_module("._cv_estimators", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
