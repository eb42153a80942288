"""The neighbor order of every sample: from features, from distances, or from given lists.

`Neighbors` knows nothing about labels or designs. It is computed once and used for every K, every design
and every variant.

- `_neighbors` has the class `Neighbors`, makes one of the argument `X` of public functions, and tells of
  distances that use labels.
- `_between` has distances from queries to a gallery, or lists of its nearest items; `_products` has those
  that are matrix products.
- `_queries` makes `Neighbors` of samples whose neighbors are all in a pool of others, or in other groups.
- `_sources` holds the data that order the samples, chooses the engine for each search, and finds rows that
  repeat others.
- `_engines` finds the nearest samples: brute force, a k-d tree, matrix products.
- `_inputs` checks and scales features and matrices; `_metrics` prepares a metric, and computes distances
  without loss of precision.
- `_given_lists` checks and packs given lists and graphs, `_list_readers` reads them from arrays, files and
  dask, and makes neighbors of them.
"""

from __future__ import annotations

from ._between import Between, between_distances
from ._engines.brute_force import BLOCK_BYTES, FAST_BYTES, BruteForce, nearest_of
from ._engines.engine import Engine, NeighborLists, offer, place_of_largest, sort_row, within
from ._engines.matrix_product import UNIT, MatrixProduct, ProductSearch, shuffled
from ._inputs import check_features, warn_of_signs
from ._metrics import ALIASES, NAMES, PARAMETERS, SPARSE_NAMES, ranking
from ._neighbors import (
    Neighbors,
    SupervisedDistanceWarning,
    as_neighbors,
    warn_copies,
    warn_label_leakage,
)
from ._queries import in_other_groups, neighbors_in_pool
from ._sources import (
    FEWEST_ITEMS,
    MOST_FEATURES,
    CopiesWarning,
    Source,
    check_comparison,
    copies,
    copies_text,
    distinct_rows,
    longest_short_list,
    warn_of_rows,
)

__all__ = ["copies"]
