"""`complete_cv` and its results.

- `_complete_cv` has the public function and that of random runs, `monte_carlo_cv`; it reads the argument
  `test`, as `surface` does.
- `_scored` computes the score of a problem, and further ones from the same data.
- `_questions` asks one problem several times: what is predicted for every class, and how far the score
  depends on the order of ties.
- `_table_scores` averages scikit-learn's scorings over random runs, with the exact result as control.
- `_result` has `CompleteCV`, and the `SampledCV` of drawn training sets. They hold problem and neighbors,
  and answer further questions by the packages below.
"""

from __future__ import annotations

from ._complete_cv import complete_cv as complete_cv
from ._complete_cv import monte_carlo_cv as monte_carlo_cv
from ._complete_cv import with_test_set as with_test_set
from ._questions import TieReport as TieReport
from ._result import CompleteCV as CompleteCV
from ._result import SampledCV as SampledCV
from ._result import with_each as with_each
from ._scored import is_mean_over_kinds as is_mean_over_kinds
from ._scored import scored as scored
from ._scored import scorer_of as scorer_of
from ._table_scores import Controls as Controls
from ._table_scores import control_of_votes as control_of_votes
from ._table_scores import is_counted as is_counted
from ._table_scores import joined as joined
from ._table_scores import score_tables as score_tables
from ._table_scores import scored_by_runs as scored_by_runs
