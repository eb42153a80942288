"""Distances for tables of numeric and categorical columns with missing values: HEOM and HVDM.

`HEOM` does not look at the labels. `HVDM` compares categories by the classes that they occur with
(D. R. Wilson and T. R. Martinez, *Improved Heterogeneous Distance Functions*, JAIR 6, 1997).

- `_distances` has the two public classes.
- `_tables` reads a mixed table; `_statistics` has its column statistics, with and without one sample.
- `_embedding` maps a table to numeric columns, so that fast search engines serve it.
"""

from __future__ import annotations

from ..neighbors._leakage import SupervisedDistanceWarning
from ._distances import HEOM, HVDM, IdentifierWarning
from ._distances import LEAVE_ONE_OUT as LEAVE_ONE_OUT
from ._statistics import FAR as FAR
from ._statistics import Statistics as Statistics
from ._tables import Table as Table
from ._tables import as_array as as_array

__all__ = ["HEOM", "HVDM", "IdentifierWarning", "SupervisedDistanceWarning"]
