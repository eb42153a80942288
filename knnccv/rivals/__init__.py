"""Intervals and tests that people report today, for those who must; none of them is recommended.

Use the methods of the results instead, `standard_error` and `confidence_interval`, and `knnccv.compare`.
Every docstring here says what a simulation study measured: the coverage of 95 % intervals, or how often a
test at the level of 5 % rejects where both rules are equally good. ``python -m knnccv reproduce coverage``
repeats parts of that study.

- `_intervals` has `fold_clt`, `corrected_t` and `binomial`; `_wang_lindsay` has `wang_lindsay`.
- `_nested` has `nested_cv`, and `_rules` the predictions that it asks for.
- `_tests` has `mcnemar` and `five_by_two_cv`.
- `_results` has the results, `_checks` what several functions check.
"""

from __future__ import annotations

from ._intervals import binomial, corrected_t, fold_clt
from ._nested import nested_cv
from ._results import CorrectedT, Interval, NestedCV, TestResult, WangLindsay
from ._rules import Votes as Votes
from ._tests import five_by_two_cv, mcnemar
from ._wang_lindsay import wang_lindsay

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
