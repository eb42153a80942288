"""Tables and figures of the literature, recomputed by knnccv and shown beside the printed numbers.

All numbers of knnccv are computed when they are asked for, or come from a cache of the same code and data.

- `_catalog` runs the reproductions, which ``papers/catalog.toml`` lists, and stores reports on disk.
- A paper is a file of ``papers`` with what is printed and claimed, read by `_paper`, and a protocol, a
  module that computes: `_tr1999`, `_icml2000`, `_wilson_martinez`, `_kanagawa`, `_esl`, `_what_ccv_buys`.
- `coverage` is a simulation study of intervals and tests; `rivals` has those that others report.
- `_uci` fetches the data sets of Wilson and Martinez.
- `_paper` has the lines and tables of a comparison as well, `_picture` the pictures, `_combined` the files
  and the HTML page, `_work` threads and bars.
- `__main__` is the command line.

Of knnccv, only public names are used.
"""

from __future__ import annotations

from ._catalog import REPRODUCTIONS, Reproduction, reproduce
from ._uci import fetch_uci, uci_names

__all__ = ["REPRODUCTIONS", "Reproduction", "fetch_uci", "reproduce", "uci_names"]
