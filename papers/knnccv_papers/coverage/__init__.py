"""How often intervals and tests are right: samples of known populations, scored and judged.

- `_populations` draws samples, and has the rules and designs that are studied on each, and the pairs of
  rules that are compared.
- `_blocks` simulates in blocks, each with a file of its own, so that an interrupted study goes on; it has
  the intervals and tests that others report.
- `_scorings` studies scores without closed form (F1, AUC, R², pipelines) by itself: ``--scorings``.
- `_report` makes coverage of the blocks, and the report with its picture.
- `_command` runs blocks of any sizes: ``python -m knnccv_papers coverage --help``.
"""
