"""Intervals and tests that people report today, for those who must; none of them is recommended.

Use the methods of the results instead, `standard_error` and `confidence_interval`, and `knnccv.compare`.
Every docstring here says what a simulation study measured: the coverage of 95 % intervals, or how often a
test at the level of 5 % rejects where both rules are equally good. ``python -m knnccv_papers reproduce
coverage`` repeats parts of that study.

- `_formulas` has what follows from given scores: intervals, variances and tests.
- `_nested` has `nested_cv`, and the rules that it trains.
- `_results` has the results.
"""

from __future__ import annotations

from ._formulas import binomial, corrected_t, five_by_two_cv, fold_clt, mcnemar, wang_lindsay
from ._nested import Votes as Votes
from ._nested import nested_cv
from ._results import CorrectedT, Interval, NestedCV, TestResult, WangLindsay

__all__ = [
    "CorrectedT",
    "Interval",
    "NestedCV",
    "TestResult",
    "WangLindsay",
    "binomial",
    "corrected_t",
    "five_by_two_cv",
    "fold_clt",
    "mcnemar",
    "nested_cv",
    "wang_lindsay",
]
