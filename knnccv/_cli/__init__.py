"""The command line: ``python -m knnccv``.

- `options` has the texts of ``--help``, which describe the options of all commands, and their values.
- `commands` adds and runs them; `score`, `curve`, `report`, `retrieval` and `episodes` are one each.
- `output` prints an answer as text or JSON, notes and progress; `terminal_plot` draws curves.
- `data` reads the table and the rule of a question; `arrays` reads .npz and .npy files.
- `input_file` reads files of all formats; `input_table`, `table_columns` and `cells` check them;
  `reading_code` is Python that reads the same table.
"""

from __future__ import annotations
