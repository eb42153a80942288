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
from ._distances import HEOM, HVDM, IdentifierWarning
from ._distances import LEAVE_ONE_OUT as LEAVE_ONE_OUT
from ._statistics import FAR as FAR
from ._statistics import Statistics as Statistics
from ._tables import NUMBERS as NUMBERS
from ._tables import Table as Table
from ._tables import as_array as as_array
from ._tables import as_numbers as as_numbers
from ._tables import check_bounded as check_bounded
from ._tables import chosen_columns as chosen_columns
from ._tables import columns_of as columns_of
from ._tables import factorized as factorized
from ._tables import is_frame as is_frame

__all__ = ["HEOM", "HVDM", "IdentifierWarning", "SupervisedDistanceWarning"]
