"""How often intervals and tests are right: samples of known populations, scored and judged.

- `_populations` draws samples; `_cells` has the rules and designs that are studied on each.
- `_rivals` has the intervals that others report, `_scenes` the comparisons of two rules.
- `_blocks` simulates in blocks, each with a file of its own, so that an interrupted study goes on.
- `_summary` makes coverage of the blocks, `_report` the report with its picture.
- `__main__` runs blocks of any sizes: ``python -m knnccv.reproduce.coverage --help``.
"""
