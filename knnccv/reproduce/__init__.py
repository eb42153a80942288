"""Tables and figures of the literature, recomputed and shown beside the printed numbers.

All numbers of knnccv are computed when they are asked for, or come from a cache of the same code and data.

- `_catalog` lists the reproductions and runs them; a new reproduction is entered there.
- Each paper has a package: `tr1999`, `icml2000`, `wilson_martinez`, `kanagawa`, `esl`. `_paper` has the
  printed numbers, `_protocol` the experiments, `_report` verdicts and notes, `_pictures` the figures.
- `coverage` is a simulation study of intervals and tests.
- `_comparison` has the table type, `_picture` the pictures, `_combined` the files, `_page` the HTML page.
- `_cache` stores reports on disk; `_timing` measures seconds.
"""

from __future__ import annotations

from ._catalog import REPRODUCTIONS, Reproduction, reproduce
from .tr1999._paper import Cell, Row

__all__ = ["REPRODUCTIONS", "Cell", "Reproduction", "Row", "reproduce"]
