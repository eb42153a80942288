"""`complete_cv` and its results.

- `_complete_cv` has the public function and that of random runs, `monte_carlo_cv`; it reads the argument
  `test`, as `surface` does.
- `_scored` computes the score of a problem, and asks it several times: what is predicted for every class,
  and how far the score depends on the order of ties.
- `_table_scores` averages scikit-learn's scorings over random runs, with the exact result as control.
- `_result` has `CompleteCV`, and the `SampledCV` of drawn training sets. They hold problem and neighbors,
  and answer further questions by the packages below.
"""

from __future__ import annotations

from ._complete_cv import complete_cv, monte_carlo_cv, warn_of_short_lists, with_test_set
from ._result import CompleteCV, SampledCV, with_each
from ._scored import TieReport, is_mean_over_kinds, scored, scorer_of
from ._table_scores import (
    COUNTED,
    Controls,
    control_of_votes,
    is_counted,
    joined,
    of_tables,
    score_tables,
    scored_by_runs,
)
