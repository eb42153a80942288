"""`report`: one page that says how well nearest neighbors predict a table, and why.

- `_report` has the public function and `Report`; `_stages` are its steps, for one bar of progress.
- `_input` and `_columns` check a table, `_training` sizes and numbers of neighbors; `_study` holds the
  table with the results that several sections need; `_cost` decides what can be afforded.
- `_data`, `_settings`, `_tuned`, `_scores`, `_learning`, `_items`, `_classes`, `_ties`, `_regression` and `_method`
  each return a section: a dictionary of plain numbers and texts with a sentence of conclusion.
- `_reasons` and `_duplicates` find items to look at, `_lists` keeps neighbor lists, `_wording` writes
  numbers.
- `_page` makes a page of the dictionary alone. `_pictures`, `_score_charts`, `_curve_charts` and `_charts`
  draw its pictures, and `_text` makes texts of the data harmless.
"""

from __future__ import annotations

from ._method import has_misleading_labels as has_misleading_labels
from ._report import Report, report
from ._report import check_ending as check_ending
from ._report import report_on as report_on
from ._scaling import scaled

__all__ = ["Report", "report", "scaled"]
