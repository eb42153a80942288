"""scikit-learn's estimators, splitters and scorings, averaged exactly.

`expected_score` is the exact expectation of ``cross_val_score(...).mean()`` over the splitter's random
numbers. `ccv_scorer` and `WholeData` bring such expectations into ``GridSearchCV``, ``validation_curve``
and other functions of scikit-learn that take ``scoring=`` and ``cv=``.
"""

from __future__ import annotations

from ._expected_score import ccv_scorer, expected_score
from ._request import ExpectedScore
from ._splitters import WholeData

__all__ = ["ExpectedScore", "WholeData", "ccv_scorer", "expected_score"]
