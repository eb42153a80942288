"""`complete_cv` and its results.

- `_complete_cv` is the public function.
- `_evaluation` combines the problem with the neighbors: it computes a result, and answers further questions
  from the same data by the packages below.
- `_confusion` and `_tie_report` ask one problem several times: what is predicted for every class, and how
  far the score depends on the order of ties.
- `_result` is `CompleteCV`, and `_sampled_result` the `SampledCV` of drawn training sets.
"""

from __future__ import annotations

from ._complete_cv import complete_cv
from ._evaluation import NeighborEvaluation
from ._result import CompleteCV
from ._sampled_result import SampledCV
from ._tie_report import TieReport

__all__ = [
    "CompleteCV",
    "NeighborEvaluation",
    "SampledCV",
    "TieReport",
    "complete_cv",
]
