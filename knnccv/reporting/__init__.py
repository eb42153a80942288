"""`report`: one page that says how well nearest neighbors predict a table, and why.

- `_report` has the public function, `Report`, and its stages for one bar of progress.
- `_table` has the table of a question, which the command line shares. `read_table` of `_reading` reads one
  from a file: `_files` splits it, `_columns` says what its columns hold.
- `_study` holds a table with the results that several sections need, and says what can be afforded.
- `_facts` (the data, the method), `_settings`, `_scores` (with learning curves and the error of a
  regression) and `_errors` (classes, samples to look at, ties) return the sections: dictionaries of plain
  numbers and texts with a sentence of conclusion, which is made of these.
- `_page` makes a page of the dictionary alone, `_charts` its pictures; `_text` writes numbers in words and
  makes texts of the data harmless.
"""

from __future__ import annotations

from .._core.luck.runs import scaled
from ._facts import remarks_of_score
from ._files import Format
from ._page import need_page
from ._reading import Choice, read_table, table_in
from ._report import SECTIONS, Question, Report, check_ending, report, report_on
from ._table import MIXED, Table

__all__ = ["Report", "read_table", "report", "scaled"]
