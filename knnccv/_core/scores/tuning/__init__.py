"""The score of a rule that is chosen within each training set: nested cross-validation, 512 runs at once.

- `_tuned_score` has `tuned_score` and its result, `TunedScore`.
- `_nested` draws the inner folds, counts the right answers of all candidates, inside and outside, and
  chooses.
"""

from __future__ import annotations

from ._nested import Inner, virtual_runs
from ._tuned_score import TunedScore, as_list, tuned_score
