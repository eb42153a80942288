"""The command line: ``python -m knnccv``.

- `commands` defines the commands and their options.
- `score` computes and shows an answer; `input_table` reads the table.
"""

from __future__ import annotations
