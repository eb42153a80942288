"""Bad neighbor lists and graphs, and bad arguments of `kneighbors`."""

import numpy as np
import scipy.sparse as sp
from bad_input import DATA, DISTANCES, FAR, INF, NAN, NEAR, changed, duplicated, graph, masked, refusal_test

from knnccv import Neighbors

ARGUMENTS = {}


CALLS = {
    # Neighbors.from_lists
    "from_lists-beyond-last": (
        lambda: Neighbors.from_lists(changed(NEAR, (2, 1), 12)),
        ValueError,
        r"indices\[2, 1\] is 12; it must be between 0 and 11",
    ),
    "from_lists-negative": (
        lambda: Neighbors.from_lists(changed(NEAR, (2, 1), -1)),
        ValueError,
        r"indices\[2, 1\] is -1; it must be between 0 and 11",
    ),
    "from_lists-uint64-huge": (
        lambda: Neighbors.from_lists(changed(NEAR, (2, 1), 2**64 - 2, "u8")),
        ValueError,
        r"indices\[2, 1\] is 18446744073709551614; it must be between 0 and 11",
    ),
    "from_lists-beyond-int32": (
        lambda: Neighbors.from_lists(changed(NEAR, (2, 1), 2**32 + 5)),
        ValueError,
        r"indices\[2, 1\] is 4294967301; it must be between",
    ),
    "from_lists-self": (
        lambda: Neighbors.from_lists(changed(NEAR, (2, 1), 2)),
        ValueError,
        r"indices\[2\] holds the sample itself; leave it out",
    ),
    "from_lists-twice": (
        lambda: Neighbors.from_lists(changed(NEAR, (2, 1), NEAR[2, 0])),
        ValueError,
        rf"indices\[2\] holds sample {NEAR[2, 0]} twice",
    ),
    "from_lists-float": (
        lambda: Neighbors.from_lists(NEAR.astype(float)),
        TypeError,
        "indices must be integers, got dtype float64",
    ),
    "from_lists-bool": (
        lambda: Neighbors.from_lists(np.array([[True], [False]])),
        TypeError,
        "indices must be integers, got dtype bool",
    ),
    "from_lists-strings": (
        lambda: Neighbors.from_lists(NEAR.astype(str)),
        TypeError,
        "indices must be integers",
    ),
    "from_lists-objects": (
        lambda: Neighbors.from_lists(NEAR.astype(object)),
        TypeError,
        "indices must be integers",
    ),
    "from_lists-1-D": (
        lambda: Neighbors.from_lists(NEAR[:, 0]),
        ValueError,
        r"indices must have shape \(n_items, depth\) .*got \(12,\)",
    ),
    "from_lists-none": (
        lambda: Neighbors.from_lists(None),
        ValueError,
        r"indices must have shape .*got \(\)",
    ),
    "from_lists-empty": (
        lambda: Neighbors.from_lists(NEAR[:, :0]),
        ValueError,
        r"1 <= depth .*got \(12, 0\)",
    ),
    "from_lists-too-deep": (
        lambda: Neighbors.from_lists(np.zeros((3, 3), int)),
        ValueError,
        r"depth < n_items, got \(3, 3\)",
    ),
    "from_lists-one-item": (
        lambda: Neighbors.from_lists([[0]]),
        ValueError,
        r"indices must have shape .*\(1, 1\)",
    ),
    "from_lists-ragged": (lambda: Neighbors.from_lists([[1, 2], [0], [0, 1]]), ValueError, "indices must"),
    "from_lists-masked": (
        lambda: Neighbors.from_lists(masked(NEAR, (0, 0))),
        ValueError,
        "masked entries in indices",
    ),
    "from_lists-distances-shape": (
        lambda: Neighbors.from_lists(NEAR, FAR[:, :2]),
        ValueError,
        r"distances must have the shape of indices, \(12, 3\), got \(12, 2\)",
    ),
    "from_lists-distances-scalar": (
        lambda: Neighbors.from_lists(NEAR, 1.0),
        ValueError,
        r"distances must have the shape of indices, \(12, 3\), got \(\)",
    ),
    "from_lists-distances-nan": (
        lambda: Neighbors.from_lists(NEAR, changed(FAR, (2, 1), NAN)),
        ValueError,
        r"distances\[2, 1\] is nan; every value must be finite",
    ),
    "from_lists-distances-inf": (
        lambda: Neighbors.from_lists(NEAR, changed(FAR, (2, 1), INF)),
        ValueError,
        r"distances\[2, 1\] is inf; every value must be finite",
    ),
    "from_lists-distances-none-inside": (
        lambda: Neighbors.from_lists(NEAR, changed(FAR, (2, 1), None, object)),
        (TypeError, ValueError),
        r"distance",
    ),
    "from_lists-distances-strings": (
        lambda: Neighbors.from_lists(NEAR, FAR.astype(str)),
        TypeError,
        "distances must be real numbers",
    ),
    "from_lists-distances-words": (
        lambda: Neighbors.from_lists(NEAR, [["near"] * 3] * 12),
        TypeError,
        "distances must be real numbers",
    ),
    "from_lists-distances-complex": (
        lambda: Neighbors.from_lists(NEAR, FAR + 1j),
        TypeError,
        "distances must be real numbers",
    ),
    "from_lists-distances-datetime": (
        lambda: Neighbors.from_lists(NEAR, NEAR.astype("M8[s]")),
        TypeError,
        "distances must be real numbers",
    ),
    "from_lists-distances-masked": (
        lambda: Neighbors.from_lists(NEAR, masked(FAR, (0, 0))),
        ValueError,
        "masked entries in (X|distances)",
    ),
    "from_lists-distances-ragged": (
        lambda: Neighbors.from_lists(NEAR, [[0.0, 1.0], [1.0]] * 6),
        ValueError,
        "distances must",
    ),
    # Neighbors.from_graph
    "from_graph-dense": (
        lambda: Neighbors.from_graph(DISTANCES),
        TypeError,
        "graph must be a scipy sparse matrix, got ndarray",
    ),
    "from_graph-none": (lambda: Neighbors.from_graph(None), TypeError, "scipy sparse matrix, got NoneType"),
    "from_graph-not-square": (
        lambda: Neighbors.from_graph(graph()[:5]),
        ValueError,
        r"graph must have shape \(n_items, n_items\) .*got \(5, 12\)",
    ),
    "from_graph-one-item": (
        lambda: Neighbors.from_graph(sp.csr_matrix((1, 1))),
        ValueError,
        r"n_items >= 2, got \(1, 1\)",
    ),
    "from_graph-connectivity": (
        lambda: Neighbors.from_graph(graph(np.ones(36))),
        ValueError,
        'connectivity; make it with mode="distance"',
    ),
    "from_graph-bool": (lambda: Neighbors.from_graph(graph() > 0), ValueError, "connectivity"),
    "from_graph-no-entries": (
        lambda: Neighbors.from_graph(sp.csr_matrix((12, 12))),
        ValueError,
        "sample 0 has no neighbors in the graph",
    ),
    "from_graph-empty-row": (
        lambda: Neighbors.from_graph(sp.csr_matrix(changed(DISTANCES, 7, 0.0))),
        ValueError,
        "sample 7 has no neighbors in the graph",
    ),
    "from_graph-only-itself": (
        lambda: Neighbors.from_graph(sp.csr_matrix(np.diag(np.arange(2.0, 14.0)))),
        ValueError,
        "sample 0 has no neighbors in the graph",
    ),
    "from_graph-duplicates": (
        lambda: Neighbors.from_graph(duplicated(sp.csr_matrix)),
        ValueError,
        "more than one distance for some pair",
    ),
    "from_graph-duplicates-in-coo": (
        lambda: Neighbors.from_graph(duplicated(sp.coo_matrix)),
        ValueError,
        "more than one distance for some pair",
    ),
    "from_graph-nan": (
        lambda: Neighbors.from_graph(graph(changed(FAR.ravel(), 4, NAN))),
        ValueError,
        "values.*is nan; every value must be finite",
    ),
    "from_graph-inf": (
        lambda: Neighbors.from_graph(graph(changed(FAR.ravel(), 4, INF))),
        ValueError,
        "values.*is inf; every value must be finite",
    ),
    "from_graph-complex": (
        lambda: Neighbors.from_graph(graph(FAR.ravel() + 1j)),
        TypeError,
        "graph must hold real distances, got dtype complex128",
    ),
    # kneighbors
    "kneighbors-0": (
        lambda: Neighbors.from_data(DATA).kneighbors(0),
        ValueError,
        "n_neighbors must be between 1 and 11, got 0",
    ),
    "kneighbors-negative": (
        lambda: Neighbors.from_data(DATA).kneighbors(-1),
        ValueError,
        "n_neighbors must be between 1 and 11, got -1",
    ),
    "kneighbors-N": (
        lambda: Neighbors.from_data(DATA).kneighbors(12),
        ValueError,
        "n_neighbors must be between 1 and 11, got 12",
    ),
    "kneighbors-float": (
        lambda: Neighbors.from_data(DATA).kneighbors(1.5),
        TypeError,
        "n_neighbors must be an integer, got 1.5",
    ),
    "kneighbors-none": (
        lambda: Neighbors.from_data(DATA).kneighbors(None),
        TypeError,
        "n_neighbors must be an integer, got None",
    ),
    "kneighbors-true": (
        lambda: Neighbors.from_data(DATA).kneighbors(True),
        TypeError,
        "n_neighbors must be an integer, got True",
    ),
    "kneighbors-beyond-lists": (
        lambda: Neighbors.from_lists(NEAR, FAR).kneighbors(4),
        ValueError,
        "n_neighbors must be between 1 and 3, got 4",
    ),
    "kneighbors-beyond-limit": (
        lambda: Neighbors.from_data(DATA, n_neighbors=4).kneighbors(5),
        ValueError,
        "n_neighbors must be between 1 and 4, got 5",
    ),
    "kneighbors-beyond-one-row": (
        lambda: Neighbors.from_graph(
            sp.csr_matrix(changed(DISTANCES, (0, slice(3, None)), 0.0))
        ).kneighbors(5),
        ValueError,
        "sample 0 has only 2 known neighbors, not 5",
    ),
}

test_bad_input_is_refused = refusal_test(ARGUMENTS, CALLS)
