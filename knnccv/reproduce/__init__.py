"""Tables and figures of the literature, computed again and set beside what was printed.

Nothing that is shown as knnccv's is stored anywhere; it is computed when asked for.

- `_catalog` lists the reproductions and runs them; a new reproduction is entered there.
- Each paper has a package: `tr1999`, `icml2000`, `wilson_martinez`, `kanagawa`, `esl`.
- `_comparison` and `_html_report` lay out the results; `_cache` keeps them; `_timing` measures.
"""

from __future__ import annotations

from ._catalog import REPRODUCTIONS, Reproduction, reproduce
from .tr1999._paper import Cell, Row

__all__ = ["REPRODUCTIONS", "Cell", "Reproduction", "Row", "reproduce"]
