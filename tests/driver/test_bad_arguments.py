"""Bad labels, bad options, and bad arguments of `complete_cv` alone."""

import runpy
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from bad_input import (
    DATA,
    DISTANCES,
    INF,
    LABELS,
    NAN,
    SecondNN,
    changed,
    complete,
    masked,
    objects,
    refusal_test,
    sampled,
    short,
)

import knnccv
from knnccv import KFold, Neighbors, StratifiedKFold, StratifiedSubsample, Subsample, complete_cv

ARGUMENTS = {
    # y: shapes
    "y-too-short": (lambda: {"y": LABELS[:11]}, ValueError, "X has 12 samples, but y has 11 labels"),
    "y-too-long": (lambda: {"y": [*LABELS, 0]}, ValueError, "X has 12 samples, but y has 13 labels"),
    "y-empty": (lambda: {"y": []}, ValueError, "X has 12 samples, but y has 0 labels"),
    "y-2-D": (
        lambda: {"y": np.zeros((12, 2), int)},
        ValueError,
        r"y must have shape .*got shape \(12, 2\)",
    ),
    "y-column": (lambda: {"y": LABELS[:, None]}, ValueError, r"y must have shape .*got shape \(12, 1\)"),
    "y-row": (lambda: {"y": LABELS[None]}, ValueError, r"y must have shape .*got shape \(1, 12\)"),
    "y-tuples": (
        lambda: {"y": [(0, 1)] * 12},
        ValueError,
        r"y must have shape \(n_items,\), got ",
    ),
    "y-ragged": (lambda: {"y": [[0], [1, 2]] * 6}, ValueError, r"\by must"),
    "y-scalar": (lambda: {"y": 1}, ValueError, r"y must have shape \(n_items,\), got shape \(\)"),
    "y-none": (lambda: {"y": None}, ValueError, r"y must have shape .*got shape \(\)"),
    "y-str": (lambda: {"y": "abcabcabcabc"}, ValueError, r"y must have shape .*got shape \(\)"),
    "y-bytes": (lambda: {"y": b"abcabcabcabc"}, ValueError, r"y must have shape .*got shape \(\)"),
    "y-dict": (lambda: {"y": dict(enumerate(LABELS))}, ValueError, r"y must have shape .*got shape \(\)"),
    "y-set": (lambda: {"y": set(range(12))}, ValueError, r"y must have shape .*got shape \(\)"),
    "y-generator": (lambda: {"y": (c for c in LABELS)}, ValueError, r"y must have shape .*got shape \(\)"),
    "y-frame": (
        lambda: {"y": pd.DataFrame({"c": LABELS})},
        ValueError,
        r"y must have shape .*got shape \(12, 1\)",
    ),
    # y: values
    "y-nan": (
        lambda: {"y": changed(LABELS, 3, NAN, float)},
        ValueError,
        r"y\[3\] is nan; every sample needs a label",
    ),
    "y-inf": (lambda: {"y": changed(LABELS, 3, INF, float)}, ValueError, r"y\[3\] is inf"),
    "y-none-inside": (lambda: {"y": [None, *"aabbccaabbc"]}, ValueError, r"y\[0\] is missing \(None\)"),
    "y-nan-among-objects": (
        lambda: {"y": changed(LABELS, 5, NAN, object)},
        ValueError,
        r"y\[5\] is missing \(nan\)",
    ),
    "y-inf-among-objects": (lambda: {"y": changed(LABELS, 5, INF, object)}, ValueError, r"y\[5\] is inf"),
    "y-nan-among-strings": (lambda: {"y": ["a", NAN, *"bbccaabbcc"]}, ValueError, r"y\[1\] is missing"),
    "y-decimal-nan": (
        lambda: {"y": changed(LABELS, 5, Decimal("nan"), object)},
        ValueError,
        r"y\[5\] is missing",
    ),
    "y-NaT": (
        lambda: {"y": changed(LABELS, 2, "NaT", "M8[D]")},
        ValueError,
        r"y\[2\] is missing \(NaT\)",
    ),
    "y-timedelta-NaT": (
        lambda: {"y": changed(LABELS, 2, "NaT", "m8[D]")},
        ValueError,
        r"y\[2\] is missing",
    ),
    "y-numpy-NaT-among-objects": (
        lambda: {"y": objects(*[np.datetime64("NaT")] * 2, *[np.datetime64("2020-01-01")] * 10)},
        ValueError,
        r"y\[0\] is missing",
    ),
    "y-pandas-NaT": (
        lambda: {"y": objects(pd.NaT, *"aabbccaabbc")},
        ValueError,
        r"y\[0\] is missing \(NaT\)",
    ),
    "y-NA": (lambda: {"y": objects(*"aab", pd.NA, *"ccaabbcc")}, ValueError, r"y\[3\] is missing \(<NA>\)"),
    "y-series-with-NA": (
        lambda: {"y": pd.Series([None, *LABELS[1:]], dtype="Int64")},
        ValueError,
        r"y\[0\] is (missing|nan)",
    ),
    "y-string-series-with-NA": (
        lambda: {"y": pd.Series(["a", None, *"aabbccaabb"], dtype="string")},
        ValueError,
        r"y\[1\] is missing",
    ),
    "y-categorical-with-missing": (
        lambda: {"y": pd.Categorical(["a", None, *"aabbccaabb"])},
        ValueError,
        r"y\[1\] is missing",
    ),
    "y-masked": (lambda: {"y": masked(LABELS, 2)}, ValueError, "y holds masked entries"),
    "y-continuous": (
        lambda: {"y": DATA[:, 0]},
        TypeError,
        r"y\[0\] is 0\.1257.*: class labels must be whole numbers, strings or booleans",
    ),
    "y-float32-continuous": (
        lambda: {"y": DATA[:, 0].astype("f4")},
        TypeError,
        r"y\[0\] is 0\.1257.*class labels",
    ),
    "y-continuous-objects": (
        lambda: {"y": DATA[:, 0].astype(object)},
        TypeError,
        r"y\[0\] is 0\.1257.*class labels",
    ),
    "y-complex": (lambda: {"y": LABELS + 0j}, TypeError, "y must hold class labels, got complex numbers"),
    "y-mixed-objects": (
        lambda: {"y": objects(1, "a", *[2] * 10)},
        TypeError,
        "labels in y cannot be sorted together: they are of types int, str",
    ),
    "y-mixed-list": (
        lambda: {"y": [1, "1", 2, "2"] * 3},
        TypeError,
        "y cannot be sorted together.*int, str",
    ),
    "y-bytes-and-strings": (
        lambda: {"y": [b"a", "a"] * 6},
        TypeError,
        "y cannot be sorted together.*bytes, str",
    ),
    "y-object-complex": (
        lambda: {"y": objects(*[1j, 2j] * 6)},
        TypeError,
        "y must hold class labels, got complex",
    ),
    "y-dicts": (
        lambda: {"y": [{"a": 1}, {"b": 2}] * 6},
        TypeError,
        r"y\[0\] is a dict, which is not a class label",
    ),
    "y-sets": (lambda: {"y": objects(*[{1}, {2}, {1, 2}] * 4)}, TypeError, r"\by\b.*set"),
    # ties, average, n_jobs, executor, progress
    "ties-unknown": (
        lambda: {"ties": "fair"},
        ValueError,
        "ties must be one of 'index', 'random', got 'fair'",
    ),
    "ties-empty": (lambda: {"ties": ""}, ValueError, "ties must be one of 'index', 'random', got ''"),
    "ties-bool": (lambda: {"ties": False}, ValueError, "ties must be one of 'index', 'random', got False"),
    "ties-int": (lambda: {"ties": 1}, ValueError, "ties must be one of 'index', 'random', got 1"),
    "ties-list": (lambda: {"ties": ["index"]}, ValueError, r"ties must be one of .*got \['index'\]"),
    "ties-not-offered": (
        lambda: {"variant": SecondNN, "ties": "random"},
        ValueError,
        "variant 'nn' offers ties='index', got ties='random'",
    ),
    "vote-ties-unknown": (
        lambda: {"variant": "knn", "n_neighbors": 2, "cv": KFold(2), "vote_ties": "largest"},
        ValueError,
        "vote_ties must be one of 'smallest', 'random', got 'largest'",
    ),
    "vote-ties-none": (
        lambda: {"variant": "knn", "n_neighbors": 2, "cv": KFold(2), "vote_ties": None},
        ValueError,
        "vote_ties must be one of 'smallest', 'random', got None",
    ),
    "confidence-score-unknown": (
        lambda: {"variant": "confidence", "n_neighbors": 1, "cv": KFold(2), "score": "log"},
        ValueError,
        "score must be one of 'share', 'brier', 'log_loss', got 'log'",
    ),
    "confidence-too-many-neighbors": (
        lambda: {"variant": "confidence", "n_neighbors": 50, "cv": KFold(2)},
        ValueError,
        "n_neighbors must be between 1 and .*, the size of the training set, got 50",
    ),
    "confidence-takes-no-loss": (
        lambda: {"variant": "confidence", "loss": [[0]]},
        TypeError,
        "variant 'confidence' has no parameter 'loss'; it takes: n_neighbors, score",
    ),
    "regression-part-unknown": (
        lambda: {"variant": "regression", "n_neighbors": 1, "cv": KFold(2), "part": "skew"},
        ValueError,
        "part must be one of .*'bias2'.* got 'skew'",
    ),
    "regression-neighbors-float": (
        lambda: {"variant": "regression", "n_neighbors": 1.5, "cv": KFold(2)},
        TypeError,
        "n_neighbors must be an integer.*1.5",
    ),
    "regression-output-negative": (
        lambda: {
            "variant": "regression",
            "n_neighbors": 1,
            "cv": KFold(2),
            "part": "prediction",
            "output": -1,
        },
        ValueError,
        "output must be .*got -1",
    ),
    "regression-output-too-large": (
        lambda: {
            "variant": "regression",
            "n_neighbors": 1,
            "cv": KFold(2),
            "part": "prediction",
            "output": 1,
        },
        ValueError,
        "output must be .*got 1",
    ),
    "regression-stratified": (
        lambda: {"variant": "regression", "n_neighbors": 1, "cv": StratifiedKFold(2)},
        ValueError,
        "real targets, no classes to stratify by; got cv=StratifiedKFold",
    ),
    "regression-per-class": (
        lambda: {
            "variant": "regression",
            "n_neighbors": 1,
            "cv": StratifiedSubsample(per_class={0: 1, 1: 1}),
        },
        ValueError,
        "real targets, no classes to stratify by; got cv=StratifiedSubsample",
    ),
    "average-unknown": (
        lambda: {"average": "macro"},
        ValueError,
        "average must be one of 'pooled', 'item', 'class', or a mapping of label to share, got 'macro'",
    ),
    "average-none": (lambda: {"average": None}, ValueError, "average must be one of .*got None"),
    "average-true": (lambda: {"average": True}, ValueError, "average must be one of .*got True"),
    "n_jobs-0": (lambda: {"n_jobs": 0}, ValueError, "n_jobs .*must be at least 1.*got 0"),
    "n_jobs-minus-2": (lambda: {"n_jobs": -2}, ValueError, "n_jobs .*must be at least 1.*got -2"),
    "n_jobs-float": (lambda: {"n_jobs": 1.5}, TypeError, "n_jobs .*must be .*an integer, got 1.5"),
    "n_jobs-str": (lambda: {"n_jobs": "2"}, TypeError, "n_jobs .*must be .*an integer, got '2'"),
    "n_jobs-minus-1.0": (lambda: {"n_jobs": -1.0}, TypeError, "n_jobs .*must be .*an integer, got -1.0"),
    "n_jobs-true": (lambda: {"n_jobs": True}, TypeError, "n_jobs .*must be .*an integer, got True"),
    "executor-object": (
        lambda: {"executor": object()},
        TypeError,
        "executor must have a submit method.*got <object",
    ),
    "executor-str": (
        lambda: {"executor": "threads"},
        TypeError,
        "executor must have a submit method.*got 'threads'",
    ),
    "executor-int": (lambda: {"executor": 4}, TypeError, "executor must have a submit method.*got 4"),
    "progress-str": (lambda: {"progress": "no"}, TypeError, "progress must be .*got 'no'"),
}


CALLS = {
    # complete_cv alone
    "tol-nan": (lambda: complete(cv=3, tol=NAN), ValueError, r"tol must be in \[0, 1\), got nan"),
    "tol-inf": (lambda: complete(cv=3, tol=INF), ValueError, r"tol must be in \[0, 1\), got inf"),
    "tol-negative": (lambda: complete(cv=3, tol=-1), ValueError, r"tol must be in \[0, 1\), got -1"),
    "tol-1": (lambda: complete(cv=3, tol=1), ValueError, r"tol must be in \[0, 1\), got 1"),
    "tol-2": (lambda: complete(cv=3, tol=2), ValueError, r"tol must be in \[0, 1\), got 2"),
    "tol-str": (lambda: complete(cv=3, tol="x"), TypeError, "tol must be a real number, got 'x'"),
    "tol-none": (lambda: complete(cv=3, tol=None), TypeError, "tol must be a real number, got None"),
    "tol-true": (lambda: complete(cv=3, tol=True), TypeError, "tol must be a real number, got True"),
    "tol-false": (lambda: complete(cv=3, tol=False), TypeError, "tol must be a real number, got False"),
    "tol-complex": (lambda: complete(cv=3, tol=0j), TypeError, "tol must be a real number, got 0j"),
    "tol-numpy-complex": (
        lambda: complete(cv=3, tol=np.complex128(0)),
        TypeError,
        "tol must be a real number, got .*0j",
    ),
    "tol-array": (
        lambda: complete(cv=3, tol=np.zeros(1)),
        TypeError,
        r"tol must be a real number, got array",
    ),
    "tol-huge-int": (lambda: complete(cv=3, tol=10**400), ValueError, r"tol must be in \[0, 1\)"),
    "tol-bad-in-exact-mode": (lambda: complete(cv=3, tol=-1, exact=True), ValueError, "tol must be in"),
    "exact-str": (lambda: complete(cv=3, exact="no"), TypeError, "exact must be .*got 'no'"),
    "exact-array": (lambda: complete(cv=3, exact=np.array([True, False])), TypeError, "exact must be"),
    "exact-with-n_jobs-0": (
        lambda: complete(cv=3, exact=True, n_jobs=0),
        ValueError,
        "n_jobs .*must be at least 1",
    ),
    "exact-with-bad-executor": (
        lambda: complete(cv=3, exact=True, executor=4),
        TypeError,
        "executor must have a submit method",
    ),
    "exact-with-short-lists": (
        lambda: short(),
        ValueError,
        "exact=True needs 6 neighbors of every sample, but .* has at most 3",
    ),
    "exact-with-short-lists-and-ties": (lambda: short(ties="random"), ValueError, "exact=True needs"),
    "exact-with-short-graph-row": (
        lambda: complete_cv(
            Neighbors.from_graph(sp.csr_matrix(changed(DISTANCES, (0, slice(3, None)), 0.0))),
            LABELS,
            "nn",
            Subsample(6),
            exact=True,
        ),
        ValueError,
        "exact=True needs 6 neighbors, ties included; the list of sample 0 is too short",
    ),
    "neighbors-with-other-y": (
        lambda: complete(X=Neighbors.from_data(DATA), y=LABELS[:9], cv=3),
        ValueError,
        "X has 12 samples, but y has 9 labels",
    ),
    "too-many-positional": (
        lambda: complete_cv(DATA, LABELS, "nn", 3, "euclidean"),
        TypeError,
        "positional argument",
    ),
    "no-y": (lambda: complete_cv(DATA), TypeError, "missing .* 'y'"),
}

test_bad_input_is_refused = refusal_test(ARGUMENTS, CALLS)


def test_the_tables_are_long_and_their_names_differ():
    names = []
    for path in Path(__file__).parents[1].rglob("test_bad_*.py"):
        table = runpy.run_path(str(path))
        names += [*table["ARGUMENTS"], *table["CALLS"]]
    assert len(names) >= 440
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("function", [complete, sampled])
def test_progress_needs_tqdm(function, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"a progress bar needs tqdm: pip install 'knnccv\[progress\]'"):
        function(cv=Subsample(6), progress=True)


def test_to_frame_needs_pandas(monkeypatch):
    result = complete(cv=Subsample(6))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas: pip install 'knnccv\[pandas\]'"):
        result.to_frame()


def test_the_corrected_inputs_are_accepted():
    """The inputs of the tables without their faults; the refused variants are not registered."""
    assert complete(cv=Subsample(6)).error_bound < 1e-12
    assert len(sampled(cv=Subsample(6)).scores) == 3
    assert "no-kernel" not in knnccv.variant_names()
