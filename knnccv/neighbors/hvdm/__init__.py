"""Distances of tables with numeric, categorical and missing values: HEOM and HVDM.

`HEOM` ignores the labels. `HVDM` compares categories by the classes that they occur with
(D. R. Wilson and T. R. Martinez, *Improved Heterogeneous Distance Functions*, JAIR 6, 1997).

- `_distances` has the two public classes, and what they share.
- `_tables` reads a mixed table; `_statistics` has its column statistics, with and without one sample.
- `_search` finds neighbors: it maps a table to numeric coordinates for the matrix-product search, or counts
  the nominal columns that differ.
"""

from __future__ import annotations

from .. import SupervisedDistanceWarning
from ._distances import HEOM, HVDM, LEAVE_ONE_OUT, IdentifierWarning
from ._statistics import FAR, Statistics
from ._tables import (
    NUMBERS,
    Table,
    as_array,
    as_numbers,
    check_bounded,
    chosen_columns,
    columns_of,
    factorized,
    is_frame,
)

__all__ = ["HEOM", "HVDM", "IdentifierWarning", "SupervisedDistanceWarning"]
