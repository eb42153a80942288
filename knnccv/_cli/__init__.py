"""The command line: ``python -m knnccv``.

- ``help.toml`` is what ``--help`` says of the commands, and describes their options to `options`, which has
  the values of options as well.
- `commands` adds and runs the commands; `score`, `curve`, `report`, `retrieval` and `episodes` are one
  each.
- `output` prints an answer as text or JSON, notes and progress; `terminal_plot` draws curves.
- `data` finds the table and the rule of a question; `arrays` reads .npz and .npy files.
- `reader` reads tables of all formats by pandas, within `file_bounds`; `table` checks their `cells` and
  turns them into features and labels; `table_columns` finds columns and points out suspicious ones.
"""

from __future__ import annotations
