"""Distances of tables with numeric, categorical and missing values: HEOM and HVDM.

`HEOM` ignores the labels. `HVDM` compares categories by the classes that they occur with
(D. R. Wilson and T. R. Martinez, *Improved Heterogeneous Distance Functions*, JAIR 6, 1997).

- `_heom` and `_hvdm` have the two public classes, `_base` has what they share.
- `_tables` reads a mixed table; `_statistics` has its column statistics, with and without one sample.
- `_overlap_search` searches tables of nominal columns under HEOM.
- `_embedding` maps a table to numeric coordinates, so that the matrix-product search can handle it.
"""

from __future__ import annotations

from ..neighbors import SupervisedDistanceWarning
from ._heom import HEOM
from ._hvdm import HVDM, IdentifierWarning
from ._hvdm import LEAVE_ONE_OUT as LEAVE_ONE_OUT
from ._statistics import FAR as FAR
from ._statistics import Statistics as Statistics
from ._tables import NUMBERS as NUMBERS
from ._tables import Columns as Columns
from ._tables import Table as Table
from ._tables import as_array as as_array
from ._tables import as_numbers as as_numbers
from ._tables import check_bounded as check_bounded
from ._tables import chosen_columns as chosen_columns
from ._tables import factorized as factorized
from ._tables import is_frame as is_frame

__all__ = ["HEOM", "HVDM", "IdentifierWarning", "SupervisedDistanceWarning"]
