"""Tables and figures of the literature, recomputed and shown beside the printed numbers.

All numbers of knnccv are computed when they are asked for, or come from a cache of the same code and data.

- `_catalog` runs the reproductions, which ``papers/catalog.toml`` lists, and stores reports on disk.
- A paper is a file of ``papers`` with what is printed and claimed, read by `_paper`, and a protocol, a
  module that computes: `_tr1999`, `_icml2000`, `_wilson_martinez`, `_kanagawa`, `_esl`, `_what_ccv_buys`.
- `coverage` is a simulation study of intervals and tests.
- `_paper` has the lines and tables of a comparison as well, `_picture` the pictures, `_combined` the files
  and the HTML page.
"""

from __future__ import annotations

from ._catalog import REPRODUCTIONS, Reproduction, reproduce

__all__ = ["REPRODUCTIONS", "Reproduction", "reproduce"]
