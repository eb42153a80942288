"""`report`: one page that says how well nearest neighbors predict a table, and why.

- `_report` has the public function, `Report`, and its stages for one bar of progress.
- `read_table` of `_reading` reads a file: `_files` splits it, `_columns` says what its columns hold.
- `_table` checks a table; `_study` holds it with the results that several sections need, and decides what
  can be afforded.
- `_facts` (the data, the method), `_settings`, `_scores` (with learning curves and the error of a
  regression) and `_errors` (classes, samples to look at, ties) return the sections: dictionaries of plain
  numbers and texts with a sentence of conclusion, which is made of these.
- `_page` makes a page of the dictionary alone, `_charts` its pictures; `_text` writes numbers in words and
  makes texts of the data harmless.
"""

from __future__ import annotations

from .._core.luck.runs import scaled
from ._facts import copies_note as copies_note
from ._facts import copies_of_target as copies_of_target
from ._facts import largest_scale as largest_scale
from ._facts import remarks as remarks
from ._files import Format as Format
from ._page import need_page as need_page
from ._reading import Table as Table
from ._reading import read_table
from ._reading import table_in as table_in
from ._report import Report, report
from ._report import check_ending as check_ending
from ._report import report_on as report_on
from ._table import TableInput as TableInput

__all__ = ["Report", "read_table", "report", "scaled"]
