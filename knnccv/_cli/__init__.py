"""The command line: ``python -m knnccv``.

- ``help.toml`` is what ``--help`` says of the commands, and describes their options to `options`, which has
  the values of options as well.
- `commands` adds and runs the commands; `score`, `curve` and `report` are one each.
- `new_rule` writes a plugin from the project in ``rule_template/``.
- `output` prints an answer as text or JSON, notes and progress.
- `data` finds what a command asks about: a table and its rule.
- `reader` reads tables of all formats by pandas, within bounds; `table` checks their cells and turns them
  into features and labels; `columns` finds columns, reads their cells and points out suspicious ones.
"""

from __future__ import annotations
