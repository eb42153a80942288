"""The command line: ``python -m knnccv``.

- `commands` defines the commands and their options; `options` checks and interprets them.
- `report_command` writes a page, on which `reading_code` is Python that reads the same table;
  `curve_command`, `curve_answer` and `terminal_plot` draw curves.
- `table_options` has the options of tables and rules; `output_file` checks files to write; `notes` prints
  notes.
- `input_file` reads files of all formats; `input_table`, `table_columns` and `cells` check them.
- `score` computes an answer; `score_answer` and `score_details` print it. `certainty` has its intervals.
- `retrieval_data` reads the data of ``retrieval``, and `retrieval_answer` prints its answer.
"""

from __future__ import annotations
