"""The neighbor order of every sample: from features, from distances, or from given lists.

`Neighbors` knows nothing about labels or designs. It is computed once and used for every K, every design
and every variant.

- `_neighbors` has the class `Neighbors`, and makes one of the argument `X` of public functions.
- `_between` has distances from queries to a gallery, or lists of its nearest items; `_products` has those
  that are matrix products.
- `_queries` makes `Neighbors` of samples whose neighbors are all in a pool of others, or in other groups.
- `_warnings` finds rows that repeat others, and tells of distances that use labels.
- `_sources` holds the data that order the samples, and chooses the engine for each search.
- `_engines` finds the nearest samples: brute force, a k-d tree, matrix products.
- `_inputs` checks and scales features and matrices; `_metrics` prepares a metric, and computes distances
  without loss of precision.
- `_given_lists` checks and packs given lists and graphs, `_list_readers` reads them from arrays, files and
  dask, and makes neighbors of them.
"""

from __future__ import annotations

from ._between import Between as Between
from ._between import between_distances as between_distances
from ._engines.brute_force import BLOCK_BYTES as BLOCK_BYTES
from ._engines.brute_force import FAST_BYTES as FAST_BYTES
from ._engines.brute_force import BruteForce as BruteForce
from ._engines.brute_force import nearest_of as nearest_of
from ._engines.engine import Engine as Engine
from ._engines.engine import NeighborLists as NeighborLists
from ._engines.engine import offer as offer
from ._engines.engine import place_of_largest as place_of_largest
from ._engines.engine import sort_row as sort_row
from ._engines.engine import within as within
from ._engines.matrix_product import UNIT as UNIT
from ._engines.matrix_product import MatrixProduct as MatrixProduct
from ._engines.matrix_product import ProductSearch as ProductSearch
from ._engines.matrix_product import shuffled as shuffled
from ._inputs import check_features as check_features
from ._inputs import warn_of_signs as warn_of_signs
from ._metrics import ALIASES as ALIASES
from ._metrics import NAMES as NAMES
from ._metrics import PARAMETERS as PARAMETERS
from ._metrics import SPARSE_NAMES as SPARSE_NAMES
from ._metrics import ranking as ranking
from ._neighbors import Neighbors as Neighbors
from ._neighbors import as_neighbors as as_neighbors
from ._queries import in_other_groups as in_other_groups
from ._queries import neighbors_in_pool as neighbors_in_pool
from ._sources import FEWEST_ITEMS as FEWEST_ITEMS
from ._sources import MOST_FEATURES as MOST_FEATURES
from ._sources import Source as Source
from ._sources import check_comparison as check_comparison
from ._sources import distinct_rows as distinct_rows
from ._sources import longest_short_list as longest_short_list
from ._warnings import CopiesWarning as CopiesWarning
from ._warnings import SupervisedDistanceWarning as SupervisedDistanceWarning
from ._warnings import copies as copies
from ._warnings import copies_text as copies_text
from ._warnings import warn_copies as warn_copies
from ._warnings import warn_label_leakage as warn_label_leakage
from ._warnings import warn_of_rows as warn_of_rows
