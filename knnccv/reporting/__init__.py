"""`report`: one page that says how well nearest neighbors predict a table, and why.

- `_report` has the public function and `Report`; `_stages` are its steps, for one bar of progress.
- `_input` checks a table; `_study` holds it with the results that several sections need; `_cost` decides
  which settings can be afforded.
- `_data`, `_settings`, `_scores`, `_learning`, `_items`, `_classes`, `_ties`, `_regression` and `_method`
  each return a section: a dictionary of plain numbers and texts with a sentence of conclusion.
- `_page` and `_pictures` make a page of the dictionary alone.
"""

from __future__ import annotations

from ._report import Report, report
from ._scaling import scaled

__all__ = ["Report", "report", "scaled"]
