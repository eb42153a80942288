"""The command line: ``python -m knnccv``.

- ``help.toml`` is what ``--help`` says of the commands; `commands` adds and runs them, and reads the values
  of their options. It has the short commands, one of which writes a plugin from the project in
  ``rule_template/``. `output` prints an answer as text or JSON, notes and progress.
- `score`, `curve` and `report` are a command each, and `warm` compiles ahead.
- `data` finds what a command asks about: a table, which `knnccv.reporting` reads, and its rule.
"""

from __future__ import annotations
