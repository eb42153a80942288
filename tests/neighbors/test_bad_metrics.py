"""Bad metrics, their parameters, and bad precomputed distances."""

# The metric takes an argument that it does not use.
# ruff: noqa: ARG005

import numpy as np
from bad_input import DATA, DISTANCES, INF, NAN, changed, graph, masked, raising, refusal_test, returning

ARGUMENTS = {
    # metric
    "metric-unknown": (
        lambda: {"metric": "sonar"},
        ValueError,
        "metric must be .*euclidean.*, got 'sonar'",
    ),
    "metric-misspelt": (
        lambda: {"metric": "euclidian"},
        ValueError,
        "got 'euclidian'; did you mean 'euclidean'",
    ),
    "metric-none": (lambda: {"metric": None}, ValueError, "metric must be a callable or one of .*got None"),
    "metric-int": (lambda: {"metric": 2}, ValueError, "metric must be a callable or one of .*got 2"),
    "metric-list": (lambda: {"metric": ["euclidean"]}, ValueError, r"metric must be .*got \['euclidean'\]"),
    "metric-array": (lambda: {"metric": np.eye(2)}, ValueError, "metric must be a callable or one of"),
    "metric-params-unknown": (
        lambda: {"metric_params": {"V": 1}},
        TypeError,
        "metric 'euclidean' takes no parameter 'V'",
    ),
    "metric-params-for-callable": (
        lambda: {"metric": returning(1.0), "metric_params": {"p": 2}},
        TypeError,
        "a callable metric takes no parameter 'p'",
    ),
    "metric-params-misspelt": (
        lambda: {"metric": "minkowski", "metric_params": {"P": 3}},
        TypeError,
        "metric 'minkowski' takes no parameter 'P'",
    ),
    "metric-params-int": (lambda: {"metric_params": 3}, TypeError, "metric_params must be .*got 3"),
    "metric-params-str": (lambda: {"metric_params": "p"}, TypeError, "metric_params must be .*got 'p'"),
    "metric-params-list": (lambda: {"metric_params": ["p", 3]}, TypeError, "metric_params must be"),
    "minkowski-p-0": (
        lambda: {"metric": "minkowski", "metric_params": {"p": 0}},
        ValueError,
        "p of the minkowski metric must be positive and finite .*got 0",
    ),
    "minkowski-p-negative": (
        lambda: {"metric": "minkowski", "metric_params": {"p": -1}},
        ValueError,
        "p of the minkowski metric must be positive and finite .*got -1",
    ),
    "minkowski-p-nan": (
        lambda: {"metric": "minkowski", "metric_params": {"p": NAN}},
        ValueError,
        "p of the minkowski metric must be positive and finite .*got nan",
    ),
    "minkowski-p-inf": (
        lambda: {"metric": "minkowski", "metric_params": {"p": INF}},
        ValueError,
        "p of the minkowski metric must be .*finite .*'chebyshev'.*got inf",
    ),
    "minkowski-p-str": (
        lambda: {"metric": "minkowski", "metric_params": {"p": "2"}},
        TypeError,
        "p of the minkowski metric must be a (real )?number, got '2'",
    ),
    "minkowski-p-none": (
        lambda: {"metric": "minkowski", "metric_params": {"p": None}},
        TypeError,
        "p of the minkowski metric must be a (real )?number, got None",
    ),
    "minkowski-p-true": (
        lambda: {"metric": "minkowski", "metric_params": {"p": True}},
        TypeError,
        "p of the minkowski metric must be a (real )?number, got True",
    ),
    "minkowski-p-complex": (
        lambda: {"metric": "minkowski", "metric_params": {"p": np.complex128(2)}},
        TypeError,
        "p of the minkowski metric must be a (real )?number",
    ),
    "minkowski-p-beyond-float64": (
        lambda: {"metric": "minkowski", "metric_params": {"p": 10**400}},
        ValueError,
        "p of the minkowski metric must be positive and finite",
    ),
    "minkowski-p-overflows": (
        lambda: {"X": DATA * 1e3, "metric": "minkowski", "metric_params": {"p": 1000.0}},
        ValueError,
        "minkowski",
    ),
    "minkowski-p-underflows": (
        lambda: {"X": DATA / 1e3, "metric": "minkowski", "metric_params": {"p": 1000.0}},
        ValueError,
        "minkowski",
    ),
    "jaccard-on-counts": (
        lambda: {"X": DATA, "metric": "jaccard"},
        ValueError,
        "metric 'jaccard' compares which values are 0, and X has none.*'tanimoto'",
    ),
    "callable-nan": (
        lambda: {"metric": returning(NAN)},
        ValueError,
        "distance of samples 0 and 1 .*nan; .*finite",
    ),
    "callable-inf": (
        lambda: {"metric": returning(INF)},
        ValueError,
        "distance of samples 0 and 1 .*inf; .*finite",
    ),
    "callable-none": (
        lambda: {"metric": returning(None)},
        TypeError,
        "metric must return one real number, got None",
    ),
    "callable-word": (
        lambda: {"metric": returning("far")},
        TypeError,
        "metric must return one real number, got 'far'",
    ),
    "callable-numeric-string": (
        lambda: {"metric": returning("1")},
        TypeError,
        "metric must return one real number, got '1'",
    ),
    "callable-array": (
        lambda: {"metric": returning(np.ones(2))},
        TypeError,
        r"metric must return one real number, got array\(\[1., 1.\]\)",
    ),
    "callable-array-of-one": (
        lambda: {"metric": returning(np.ones(1))},
        TypeError,
        r"metric must return one real number, got array\(\[1.\]\)",
    ),
    "callable-complex": (
        lambda: {"metric": returning(1 + 1j)},
        TypeError,
        r"metric must return one real number, got \(1\+1j\)",
    ),
    "callable-numpy-complex": (
        lambda: {"metric": returning(np.complex128(1 + 1j))},
        TypeError,
        "metric must return one real number, got .*1\\+1j",
    ),
    "callable-huge-int": (
        lambda: {"metric": returning(10**400)},
        (ValueError, TypeError),
        "metric must return one real number|must be finite",
    ),
    "callable-raises-ValueError": (
        lambda: {"metric": raising(ValueError("no such distance"))},
        ValueError,
        "^no such distance$",
    ),
    "callable-wrong-arguments": (lambda: {"metric": lambda a: 0.0}, TypeError, "positional argument"),
    "precomputed-data": (
        lambda: {"metric": "precomputed"},
        ValueError,
        r"distances must have shape \(n_items, n_items\) with n_items >= 2, got \(12, 2\)",
    ),
    "precomputed-1-D": (
        lambda: {"X": DATA[:, 0], "metric": "precomputed"},
        ValueError,
        r"distances must have shape .*got \(12,\)",
    ),
    "precomputed-1x1": (
        lambda: {"X": [[0.0]], "y": [0], "metric": "precomputed"},
        ValueError,
        r"distances must have shape .*n_items >= 2, got \(1, 1\)",
    ),
    "precomputed-none": (
        lambda: {"X": None, "metric": "precomputed"},
        ValueError,
        r"distances must have shape .*got \(\)",
    ),
    "precomputed-nan": (
        lambda: {"X": changed(DISTANCES, (2, 5), NAN), "metric": "precomputed"},
        ValueError,
        r"distances\[2, 5\] is nan; every value must be finite$",
    ),
    "precomputed-inf": (
        lambda: {"X": changed(DISTANCES, (2, 5), INF), "metric": "precomputed"},
        ValueError,
        r"distances\[2, 5\] is inf; every value must be finite",
    ),
    "precomputed-similarities": (
        lambda: {"X": 1 / (1 + DISTANCES), "metric": "precomputed"},
        ValueError,
        r"takes distances.*similarities.*1 - S or S\.max\(\) - S.*NaN or the smallest",
    ),
    "precomputed-inf-beside-an-inf-on-the-diagonal": (
        lambda: {"X": changed(DISTANCES, (3, [3, 5]), INF), "metric": "precomputed"},
        ValueError,
        r"distances\[3, 5\] is inf; every value must be finite",
    ),
    "precomputed-strings": (
        lambda: {"X": DISTANCES.astype(str), "metric": "precomputed"},
        TypeError,
        "distances must be real numbers, got dtype <U",
    ),
    "precomputed-object-strings": (
        lambda: {"X": DISTANCES.astype(str).astype(object), "metric": "precomputed"},
        TypeError,
        "distances must be real numbers",
    ),
    "precomputed-none-inside": (
        lambda: {"X": changed(DISTANCES, (2, 5), None, object), "metric": "precomputed"},
        (TypeError, ValueError),
        r"distances(\[2, 5\]| must be real numbers)",
    ),
    "precomputed-complex": (
        lambda: {"X": DISTANCES + 0j, "metric": "precomputed"},
        TypeError,
        "distances must be real numbers, got dtype complex128",
    ),
    "precomputed-masked": (
        lambda: {"X": masked(DISTANCES, (2, 5)), "metric": "precomputed"},
        ValueError,
        "masked entries in (X|distances)",
    ),
    "precomputed-sparse": (
        lambda: {"X": graph(), "metric": "precomputed"},
        TypeError,
        "sparse matrix; use Neighbors.from_graph",
    ),
    "precomputed-ragged": (
        lambda: {"X": [[0.0, 1.0], [1.0]], "y": [0, 1], "metric": "precomputed"},
        ValueError,
        "distances must",
    ),
    "precomputed-ints-just-beyond-2**53": (
        lambda: {"X": changed(DISTANCES, (2, 5), 2**53 + 1, np.int64), "metric": "precomputed"},
        ValueError,
        r"integers beyond 2\*\*53",
    ),
    "precomputed-metric-params": (
        lambda: {"X": DISTANCES, "metric": "precomputed", "metric_params": {"p": 2}},
        TypeError,
        "metric 'precomputed' takes no metric_params",
    ),
}
CALLS = {}

test_bad_input_is_refused = refusal_test(ARGUMENTS, CALLS)
