"""`complete_cv` and its results.

- `_complete_cv` is the public function; `_test_set` reads its argument `test`, as `surface` does.
- `_evaluation` combines the problem with the neighbors: it computes a result, and answers further questions
  from the same data by the packages below.
- `_confusion` and `_tie_report` ask one problem several times: what is predicted for every class, and how
  far the score depends on the order of ties.
- `_table_scores` averages scikit-learn's scorings over random runs, with the exact result as control.
- `_result` is `CompleteCV`, and `_sampled_result` the `SampledCV` of drawn training sets.
"""

from __future__ import annotations

from ._complete_cv import complete_cv
from ._evaluation import NeighborEvaluation
from ._result import CompleteCV
from ._sampled_result import SampledCV
from ._table_scores import (
    Controls,
    control_of_votes,
    is_counted,
    joined,
    score_tables,
    scored_by_runs,
)
from ._test_set import with_test_set
from ._tie_report import TieReport

__all__ = [
    "CompleteCV",
    "Controls",
    "NeighborEvaluation",
    "SampledCV",
    "TieReport",
    "complete_cv",
    "control_of_votes",
    "is_counted",
    "joined",
    "score_tables",
    "scored_by_runs",
    "with_test_set",
]
