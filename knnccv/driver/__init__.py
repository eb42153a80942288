"""The driver: from neighbors, a rule and a design to the exact mean score.

The driver knows no variant by name. For each block of samples it asks for the neighbor order and calls
the variant's kernel. Every sample's A_x is computed on its own, and the samples are summed in their
order, so that the result depends neither on the threads nor on the blocks, to the last bit.

- `_complete_cv` is the public function.
- `_problem` validates what is asked; `_evaluation` puts the problem to the neighbors.
- `_scores` walks over the blocks, and searches deeper until the tolerance holds; `_rows` is the compiled
  pass over one block; `_group_scores` leaves out whole groups; `_exact` computes with rational numbers.
- `_summary` turns the samples' scores into the `CompleteCV` of `_result`.
- `_confusion`, `_tie_order` and `_tie_report` answer further questions about a result.
"""

from __future__ import annotations

from ._complete_cv import complete_cv
from ._depth import first_depth
from ._forecast import HARD, SlowComputationWarning, announce_profile, announce_trials, hardest, of_many
from ._light_kernels import compile_first, first_kernel, light_kernels, not_served
from ._problem import TIES, ScoringProblem, is_accuracy, validate_problem
from ._result import CompleteCV, TieReport
from ._rows import score_rows, usable_lengths

__all__ = [
    "HARD",
    "TIES",
    "CompleteCV",
    "ScoringProblem",
    "SlowComputationWarning",
    "TieReport",
    "announce_profile",
    "announce_trials",
    "compile_first",
    "complete_cv",
    "first_depth",
    "first_kernel",
    "hardest",
    "is_accuracy",
    "light_kernels",
    "not_served",
    "of_many",
    "score_rows",
    "usable_lengths",
    "validate_problem",
]
