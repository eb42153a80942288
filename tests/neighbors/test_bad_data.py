"""Bad features and distances, and bad arguments of `Neighbors.from_data` and `from_distances`."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from bad_input import DATA, DISTANCES, INF, NAN, changed, masked, refusal_test

from knnccv import Neighbors

ARGUMENTS = {
    # X: numbers
    "X-nan": (
        lambda: {"X": changed(DATA, (3, 1), NAN)},
        ValueError,
        r"X\[3, 1\] is nan; .* finite.*hvdm\.HEOM",
    ),
    "X-inf": (lambda: {"X": changed(DATA, (3, 1), INF)}, ValueError, r"X\[3, 1\] is inf; .* finite$"),
    "X-minus-inf": (
        lambda: {"X": changed(DATA, (0, 0), -INF)},
        ValueError,
        r"X\[0, 0\] is -inf; .* finite",
    ),
    "X-float32-nan": (
        lambda: {"X": changed(DATA, (11, 0), NAN, "f4")},
        ValueError,
        r"X\[11, 0\] is nan; .* finite",
    ),
    "X-all-nan": (lambda: {"X": np.full((12, 2), NAN)}, ValueError, r"X\[0, 0\] is nan; .* finite"),
    "X-longdouble-beyond-float64": (
        lambda: {"X": changed(DATA, (1, 1), np.longdouble("1e4000"), np.longdouble)},
        ValueError,
        r"X\[1, 1\] is (inf|1e\+?4000)",
    ),
    "X-int-beyond-2**53": (
        lambda: {"X": changed(DATA.astype(int), (2, 0), 2**60)},
        ValueError,
        r"X\[2, 0\] is 1152921504606846976; integers beyond 2\*\*53",
    ),
    "X-int-just-beyond-2**53": (
        lambda: {"X": changed(DATA.astype(int), (2, 0), 2**53 + 1)},
        ValueError,
        r"X\[2, 0\] is 9007199254740993; integers beyond 2\*\*53",
    ),
    "X-int-below-minus-2**53": (
        lambda: {"X": changed(DATA.astype(int), (2, 0), -(2**53) - 1)},
        ValueError,
        r"X\[2, 0\] is -9007199254740993; integers beyond 2\*\*53",
    ),
    "X-uint64-beyond-2**53": (
        lambda: {"X": changed(np.ones((12, 2)), (5, 1), 2**64 - 1, "u8")},
        ValueError,
        r"X\[5, 1\] is 18446744073709551615; integers beyond 2\*\*53",
    ),
    "X-python-int-beyond-2**64": (
        lambda: {"X": [[2**70 + i, 0] for i in range(12)]},
        ValueError,
        r"X\[.*integers beyond 2\*\*53",
    ),
    "X-python-int-beyond-float64": (
        lambda: {"X": [[10**400, i] for i in range(12)]},
        ValueError,
        r"X\[0, 0\]",
    ),
    # X: types
    "X-strings": (lambda: {"X": DATA.astype(str)}, TypeError, "X must hold real numbers, got dtype <U"),
    "X-words": (lambda: {"X": [["a", "b"]] * 12}, TypeError, "X must hold real numbers, got dtype <U1"),
    "X-bytes": (lambda: {"X": DATA.astype("S8")}, TypeError, r"X must hold real numbers, got dtype \|S8"),
    "X-object-strings": (
        lambda: {"X": DATA.astype(str).astype(object)},
        TypeError,
        "X must hold real numbers",
    ),
    "X-object-words": (
        lambda: {"X": np.full((12, 2), "a", dtype=object)},
        TypeError,
        "X must hold real numbers.*'a'",
    ),
    "X-complex": (lambda: {"X": DATA + 1j}, TypeError, "X must hold real numbers, got dtype complex128"),
    "X-object-complex": (
        lambda: {"X": changed(DATA, (0, 1), 1j, object)},
        TypeError,
        "X must hold real numbers, got",
    ),
    "X-none-inside": (
        lambda: {"X": changed(DATA, (0, 1), None, object)},
        (TypeError, ValueError),
        r"X must hold real numbers.*None|X\[0, 1\] is",
    ),
    "X-NA-inside": (
        lambda: {"X": changed(DATA, (0, 1), pd.NA, object)},
        (TypeError, ValueError),
        r"X must hold real numbers.*NA|X\[[01], [01]\] is",
    ),
    "X-object-nan": (
        lambda: {"X": changed(DATA, (0, 1), NAN, object)},
        ValueError,
        r"X\[0, 1\] is nan; .* finite",
    ),
    "X-frame-with-words": (
        lambda: {"X": pd.DataFrame({"a": DATA[:, 0], "b": ["x"] * 12})},
        TypeError,
        "X must hold real numbers.*'x'",
    ),
    "X-frame-with-NA": (
        lambda: {"X": pd.DataFrame({"a": pd.array([1, None, *range(10)], dtype="Int64")})},
        (TypeError, ValueError),
        r"X must hold real numbers.*NA|X\[[01], [01]\] is",
    ),
    "X-datetime": (
        lambda: {"X": np.arange(24).reshape(12, 2).astype("M8[D]")},
        TypeError,
        "X must hold real numbers, got dtype datetime64",
    ),
    "X-timedelta": (
        lambda: {"X": np.arange(24).reshape(12, 2).astype("m8[s]")},
        TypeError,
        "X must hold real numbers, got dtype timedelta64",
    ),
    "X-records": (
        lambda: {"X": np.zeros((12, 2), dtype=[("a", "f8")])},
        TypeError,
        "X must hold real numbers, got dtype",
    ),
    "X-sparse": (
        lambda: {"X": sp.csr_matrix(DATA), "metric": "chebyshev"},
        TypeError,
        r"X is a sparse matrix, which metric 'chebyshev' does not take, only .*; pass X.toarray\(\)",
    ),
    "X-sparse-nan": (
        lambda: {"X": sp.coo_array(changed(DATA, (7, 1), NAN))},
        ValueError,
        r"X\[7, 1\] is nan; every value must be finite",
    ),
    "X-masked": (lambda: {"X": masked(DATA, (2, 1))}, ValueError, "masked entries in (X|distances)"),
    # X: shapes
    "X-1-D": (
        lambda: {"X": DATA[:, 0]},
        ValueError,
        r"X must have shape \(n_items, n_features\), got .*\(12,\)",
    ),
    "X-3-D": (lambda: {"X": DATA[:, :, None]}, ValueError, r"X must have shape .*, got shape \(12, 2, 1\)"),
    "X-empty-list": (lambda: {"X": []}, ValueError, r"X must have shape .*, got shape \(0,\)"),
    "X-no-items": (
        lambda: {"X": DATA[:0]},
        ValueError,
        r"at least 2 samples and 1 feature, got shape \(0, 2\)",
    ),
    "X-one-item": (
        lambda: {"X": DATA[:1], "y": [0]},
        ValueError,
        r"at least 2 samples and 1 feature, got shape \(1, 2\)",
    ),
    "X-no-features": (lambda: {"X": DATA[:, :0]}, ValueError, r"1 feature, got shape \(12, 0\)"),
    "X-ragged": (
        lambda: {"X": [[1.0, 2.0], [3.0]] * 6},
        ValueError,
        "X must hold real numbers in a rectangular array",
    ),
    "X-dict": (lambda: {"X": dict(enumerate(DATA))}, ValueError, r"X must have shape .*got shape \(\)"),
    "X-set": (lambda: {"X": {1.0, 2.0}}, ValueError, r"X must have shape .*got shape \(\)"),
    "X-generator": (
        lambda: {"X": (row for row in DATA)},
        ValueError,
        r"X must have shape .*got shape \(\)",
    ),
    "X-none": (lambda: {"X": None}, ValueError, r"X must have shape .*got shape \(\)"),
    "X-scalar": (lambda: {"X": 3.5}, ValueError, r"X must have shape .*got shape \(\)"),
    "X-str": (lambda: {"X": "wine.csv"}, ValueError, r"X must have shape .*got shape \(\)"),
    "X-class-Neighbors": (lambda: {"X": Neighbors}, ValueError, "X must have shape"),
}


CALLS = {
    # Neighbors.from_data
    "from_data-nan": (
        lambda: Neighbors.from_data(changed(DATA, (4, 0), NAN)),
        ValueError,
        r"X\[4, 0\] is nan",
    ),
    "from_data-1-D": (lambda: Neighbors.from_data(DATA[:, 0]), ValueError, "X must have shape"),
    "from_data-metric": (lambda: Neighbors.from_data(DATA, "haming"), ValueError, "did you mean 'hamming'"),
    "from_data-precomputed": (
        lambda: Neighbors.from_data(DISTANCES, "precomputed"),
        ValueError,
        "precomputed.*from_distances",
    ),
    "from_data-depth-0": (
        lambda: Neighbors.from_data(DATA, n_neighbors=0),
        ValueError,
        "n_neighbors must be between 1 and 11, got 0",
    ),
    "from_data-depth-N": (
        lambda: Neighbors.from_data(DATA, n_neighbors=12),
        ValueError,
        "n_neighbors must be between 1 and 11, got 12",
    ),
    "from_data-depth-float": (
        lambda: Neighbors.from_data(DATA, n_neighbors=3.0),
        TypeError,
        "n_neighbors must be an integer, got 3.0",
    ),
    "from_data-depth-true": (
        lambda: Neighbors.from_data(DATA, n_neighbors=True),
        TypeError,
        "n_neighbors must be an integer, got True",
    ),
    # Neighbors.from_distances
    "from_distances-not-square": (
        lambda: Neighbors.from_distances(DISTANCES[:, :5]),
        ValueError,
        r"distances must have shape .*got \(12, 5\)",
    ),
    "from_distances-3-D": (
        lambda: Neighbors.from_distances(DISTANCES[None]),
        ValueError,
        r"distances must have shape .*got \(1, 12, 12\)",
    ),
    "from_distances-empty": (
        lambda: Neighbors.from_distances(np.empty((0, 0))),
        ValueError,
        r"n_items >= 2, got \(0, 0\)",
    ),
    "from_distances-condensed": (
        lambda: Neighbors.from_distances(np.ones(66)),
        ValueError,
        r"distances must have shape .*got \(66,\)",
    ),
    "from_distances-minus-inf": (
        lambda: Neighbors.from_distances(changed(DISTANCES, (1, 0), -INF)),
        ValueError,
        r"distances\[1, 0\] is -inf",
    ),
    "from_distances-datetime": (
        lambda: Neighbors.from_distances(np.zeros((3, 3), "M8[s]")),
        TypeError,
        "distances must be real numbers, got dtype datetime64",
    ),
}

test_bad_input_is_refused = refusal_test(ARGUMENTS, CALLS)
