"""The integers that the kernels of "knn" read."""

from __future__ import annotations

from typing import NamedTuple

NO_TABLE = -1


class VoteFields(NamedTuple):
    """The fields of `KNN`.

    A table of all votes between two classes serves lists up to `table_depth`; with NO_TABLE,
    ``constraints.table`` are the losses. Counting serves lists up to `counted_depth`.
    If `contested_depth` > 0, ``constraints.table`` is a `contested_table` for that depth.
    """

    n_tie_nodes: int  # 0: a tied vote goes to the smallest label
    table_depth: int = NO_TABLE
    counted_depth: int = 0
    contested_depth: int = 0
