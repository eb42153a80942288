"""The neighbor order of every sample: from features, from distances, or from given lists.

`Neighbors` knows nothing about labels or designs. It is computed once and used for every K, every design
and every variant.

- `_neighbors` has the class `Neighbors`; `_lists` the lists that it returns.
- `_metrics` prepares a metric; `_inputs` checks matrices, lists and graphs that are given.
- `_engines` finds the nearest samples: brute force, a k-d tree, matrix products, a GPU.
- `_leakage` warns about distances that were fitted to the labels.
"""

from __future__ import annotations

from ._leakage import SupervisedDistanceWarning, warn_label_leakage
from ._lists import NeighborLists
from ._metrics import ALIASES, NAMES, PARAMETERS, SPARSE_NAMES, PreparedMetric, check_features, ranking
from ._neighbors import FEWEST_ITEMS, MOST_FEATURES, Neighbors, as_neighbors

__all__ = [
    "ALIASES",
    "FEWEST_ITEMS",
    "MOST_FEATURES",
    "NAMES",
    "PARAMETERS",
    "SPARSE_NAMES",
    "NeighborLists",
    "Neighbors",
    "PreparedMetric",
    "SupervisedDistanceWarning",
    "as_neighbors",
    "check_features",
    "ranking",
    "warn_label_leakage",
]
