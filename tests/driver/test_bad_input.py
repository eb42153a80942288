"""What the library must refuse: a table of bad inputs, each with its error and what the message says.

A row of ``ARGUMENTS`` holds arguments that `complete_cv` and `monte_carlo_cv` share and goes through
both; a row of ``CALLS`` is a call of its own. Every error must be of exactly the type in the table.
"""

# Metrics and kernels take the arguments that they are called with, used or not.
# ruff: noqa: ARG001, ARG002, ARG004, ARG005

import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.model_selection

import knnccv
from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    get_variant,
    monte_carlo_cv,
    register,
    unregister,
)
from knnccv.kernel import Variant, jit

NAN, INF = float("nan"), float("inf")
DATA = np.random.default_rng(0).normal(size=(12, 2))
LABELS = np.repeat([0, 1, 2], 4)
DISTANCES = np.abs(DATA[:, None] - DATA[None]).sum(axis=-1)
LOSS = np.array([[0, 1, 2], [3, 0, 1], [1, 2, 0]])
NEAR = np.argsort(DISTANCES + np.diag(np.full(12, INF)), axis=1)[:, :3]
FAR = np.take_along_axis(DISTANCES, NEAR, axis=1)


def changed(array, at, value, dtype=None):
    """A copy of the array with one other value."""
    copy = np.array(array, dtype=dtype)
    copy[at] = value
    return copy


def objects(*values):
    """One-dimensional array of any objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def masked(array, at):
    """The array with one entry masked."""
    mask = np.zeros(np.shape(array), bool)
    mask[at] = True
    return np.ma.masked_array(array, mask)


def graph(array=None):
    """Every item's three nearest, as a CSR matrix of distances."""
    rows = np.repeat(np.arange(12), 3)
    return sp.csr_matrix((FAR.ravel() if array is None else array, (rows, NEAR.ravel())), shape=(12, 12))


def duplicated(container):
    """A graph that gives one pair of samples two distances."""
    rows, columns = np.append(np.repeat(np.arange(12), 3), 0), np.append(NEAR.ravel(), NEAR[0, 0])
    values = np.append(FAR.ravel(), 0.25)
    if container is sp.coo_matrix:
        return sp.coo_matrix((values, (rows, columns)), shape=(12, 12))
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[order], np.arange(13))
    return sp.csr_matrix((values[order], columns[order], indptr), shape=(12, 12))


def returning(value):
    """A metric that always returns this."""
    return lambda tested, other: value


def raising(error):
    """A metric that always fails."""

    def metric(tested, other):
        raise error

    return metric


class NotAVariant:
    name = "nn"


class NoKernel(Variant):
    name = "no-kernel"

    def n_nearest(self, **parameters):
        return 1


class Abstract(Variant):
    name = "abstract"


class WrongKernel(NoKernel):
    name = "wrong-kernel"
    fixed = jit(lambda order, labels: 0.0)


class PlainKernel(NoKernel):
    name = "plain-kernel"

    @staticmethod
    def fixed(order, labels, target, constraints):
        return 0.0


class Untypable(NoKernel):
    name = "untypable"
    fixed = jit(lambda order, labels, target, constraints: "right")


class Nameless(Variant):
    fixed = jit(lambda order, labels, target, constraints: 0.0)

    def n_nearest(self, **parameters):
        return 1


class SecondNN(Nameless):
    name = "nn"


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
        r"y\[0\] is a dict, which is no class label",
    ),
    "y-sets": (lambda: {"y": objects(*[{1}, {2}, {1, 2}] * 4)}, TypeError, r"\by\b.*set"),
    # variant
    "variant-unknown": (
        lambda: {"variant": "forest"},
        ValueError,
        "there is no variant 'forest'; there are: .*knn",
    ),
    "variant-misspelt": (lambda: {"variant": "knnn"}, ValueError, "no variant 'knnn'.*did you mean 'knn'"),
    "variant-upper-case": (lambda: {"variant": "KNN"}, ValueError, "no variant 'KNN'; there are"),
    "variant-empty": (lambda: {"variant": ""}, ValueError, "there is no variant ''; there are"),
    "variant-none": (lambda: {"variant": None}, TypeError, r"expects a knnccv.kernel.Variant.*got None"),
    "variant-int": (lambda: {"variant": 5}, TypeError, r"expects a knnccv.kernel.Variant.*got 5"),
    "variant-bytes": (
        lambda: {"variant": b"knn"},
        TypeError,
        r"expects a knnccv.kernel.Variant.*got b'knn'",
    ),
    "variant-list": (
        lambda: {"variant": ["nn"]},
        TypeError,
        r"expects a knnccv.kernel.Variant.*got \['nn'\]",
    ),
    "variant-other-class": (
        lambda: {"variant": NotAVariant},
        TypeError,
        "expects a .*Variant.*NotAVariant",
    ),
    "variant-other-instance": (
        lambda: {"variant": NotAVariant()},
        TypeError,
        "expects a .*Variant.*NotAVariant",
    ),
    "variant-base-class": (lambda: {"variant": Variant}, TypeError, "Variant.* is incomplete"),
    "variant-abstract": (lambda: {"variant": Abstract}, TypeError, "Abstract.* is incomplete"),
    "variant-without-kernel": (
        lambda: {"variant": NoKernel},
        TypeError,
        "'no-kernel'.*neither a fixed nor",
    ),
    "variant-wrong-kernel": (lambda: {"variant": WrongKernel}, TypeError, "'wrong-kernel'.*4 arguments"),
    "variant-plain-kernel": (
        lambda: {"variant": PlainKernel},
        TypeError,
        "'plain-kernel'.*knnccv.kernel.jit",
    ),
    "variant-kernel-returns-text": (
        lambda: {"variant": Untypable},
        TypeError,
        "'untypable' does not fit the signature",
    ),
    "variant-nameless": (
        lambda: {"variant": Nameless},
        TypeError,
        "Nameless.*non-empty string as its name",
    ),
    "variant-kernel-missing-for-design": (
        lambda: {"variant": SecondNN, "cv": StratifiedKFold(2)},
        ValueError,
        "variant 'nn' has no kernel for stratified",
    ),
    # cv
    "cv-0": (lambda: {"cv": 0}, ValueError, "n_splits must be at least 2, got 0"),
    "cv-1": (lambda: {"cv": 1}, ValueError, "n_splits must be at least 2, got 1"),
    "cv-negative": (lambda: {"cv": -1}, ValueError, "n_splits must be at least 2, got -1"),
    "cv-true": (lambda: {"cv": True}, TypeError, "cv must be a number of folds or a design .*got True"),
    "cv-numpy-true": (lambda: {"cv": np.True_}, TypeError, "cv must be a number of folds .*True"),
    "cv-float": (lambda: {"cv": 2.5}, TypeError, "cv must be a number of folds .*got 2.5"),
    "cv-whole-float": (lambda: {"cv": 5.0}, TypeError, "cv must be a number of folds .*got 5.0"),
    "cv-str": (lambda: {"cv": "5"}, TypeError, "cv must be a number of folds .*got '5'"),
    "cv-none": (lambda: {"cv": None}, TypeError, "cv must be a number of folds .*got None"),
    "cv-too-many-folds": (
        lambda: {"cv": 5},
        ValueError,
        "n_splits must be between 2 and 4, .*largest class, got 5",
    ),
    "cv-huge": (lambda: {"cv": 10**30}, ValueError, "n_splits must be between 2 and 4, .*got 10{30}"),
    "cv-all-labels-differ": (
        lambda: {"cv": 2, "y": np.arange(12)},
        ValueError,
        "class of at least two samples, but all labels differ",
    ),
    "cv-sklearn-splitter": (
        lambda: {"cv": sklearn.model_selection.KFold(3)},
        TypeError,
        r"cv is scikit-learn's KFold\(.*use knnccv's own",
    ),
    "cv-class": (
        lambda: {"cv": KFold},
        TypeError,
        r"cv must be a number of folds or a design .*class KFold; .* such as KFold\(5\)$",
    ),
    "cv-class-StratifiedKFold": (
        lambda: {"cv": StratifiedKFold},
        TypeError,
        r"such as StratifiedKFold\(5\)$",
    ),
    "cv-class-Subsample": (lambda: {"cv": Subsample}, TypeError, r"such as Subsample\(0\.5\)$"),
    "cv-class-StratifiedSubsample": (
        lambda: {"cv": StratifiedSubsample},
        TypeError,
        r"such as StratifiedSubsample\(0\.5\)$",
    ),
    "cv-class-LeaveOut": (lambda: {"cv": LeaveOut}, TypeError, r"such as LeaveOut\(1\)$"),
    "cv-class-LeaveGroupsOut": (
        lambda: {"cv": LeaveGroupsOut},
        TypeError,
        r"such as LeaveGroupsOut\(groups\)$",
    ),
    "cv-sklearn-class": (
        lambda: {"cv": sklearn.model_selection.KFold},
        TypeError,
        r"cv is scikit-learn's <class .*use knnccv's own",
    ),
    "cv-list-of-splits": (
        lambda: {"cv": [(np.arange(6), np.arange(6, 12))]},
        TypeError,
        "cv must be a number of folds or a design",
    ),
    # Subsample
    "subsample-0": (lambda: {"cv": Subsample(0)}, ValueError, "train_size must be at least 1, got 0"),
    "subsample-negative": (
        lambda: {"cv": Subsample(-3)},
        ValueError,
        "train_size must be at least 1, got -3",
    ),
    "subsample-N": (
        lambda: {"cv": Subsample(12)},
        ValueError,
        "train_size must be between 1 and 11 for 12 samples, got 12",
    ),
    "subsample-N+1": (
        lambda: {"cv": Subsample(13)},
        ValueError,
        "train_size must be between 1 and 11 for 12 samples, got 13",
    ),
    "subsample-huge": (
        lambda: {"cv": Subsample(10**25)},
        ValueError,
        "between 1 and 11 for 12 samples, got 10{25}",
    ),
    "subsample-1.0": (lambda: {"cv": Subsample(1.0)}, ValueError, r"train_size .*in \(0, 1\), got 1.0"),
    "subsample-0.0": (lambda: {"cv": Subsample(0.0)}, ValueError, r"train_size .*in \(0, 1\), got 0.0"),
    "subsample-1.5": (lambda: {"cv": Subsample(1.5)}, ValueError, r"train_size .*in \(0, 1\), got 1.5"),
    "subsample-6.0": (lambda: {"cv": Subsample(6.0)}, ValueError, r"train_size .*in \(0, 1\), got 6.0"),
    "subsample-minus-0.2": (
        lambda: {"cv": Subsample(-0.2)},
        ValueError,
        r"train_size .*in \(0, 1\), got -0.2",
    ),
    "subsample-nan": (lambda: {"cv": Subsample(NAN)}, ValueError, r"train_size .*in \(0, 1\), got nan"),
    "subsample-inf": (lambda: {"cv": Subsample(INF)}, ValueError, r"train_size .*in \(0, 1\), got inf"),
    "subsample-Fraction(3,2)": (
        lambda: {"cv": Subsample(Fraction(3, 2))},
        ValueError,
        r"in \(0, 1\), got 3/2",
    ),
    "subsample-str": (lambda: {"cv": Subsample("3")}, TypeError, "train_size must be a number .*got '3'"),
    "subsample-none": (
        lambda: {"cv": Subsample(None)},
        TypeError,
        "train_size must be a number .*got None",
    ),
    "subsample-true": (
        lambda: {"cv": Subsample(True)},
        TypeError,
        "train_size must be a number .*got True",
    ),
    "subsample-numpy-true": (
        lambda: {"cv": Subsample(np.True_)},
        TypeError,
        "train_size must be a number .*True",
    ),
    "subsample-complex": (
        lambda: {"cv": Subsample(0.5j)},
        TypeError,
        "train_size must be a number .*got 0.5j",
    ),
    "subsample-array": (
        lambda: {"cv": Subsample(np.array([3]))},
        TypeError,
        r"train_size must be a number .*got array\(\[3\]\)",
    ),
    "subsample-list": (
        lambda: {"cv": Subsample([0.5])},
        TypeError,
        r"train_size must be a number .*\[0.5\]",
    ),
    "subsample-rounds-to-0": (
        lambda: {"cv": Subsample(0.05)},
        ValueError,
        r"train_size must be between 1 and 11 for 12 samples, got 0.05 \(0 samples\)",
    ),
    # StratifiedSubsample
    "stratified-neither": (
        lambda: {"cv": StratifiedSubsample()},
        TypeError,
        "give either train_size .* or per_class .*got train_size=None, per_class=None",
    ),
    "stratified-both": (
        lambda: {"cv": StratifiedSubsample(0.5, per_class=2)},
        TypeError,
        "give either train_size .* or per_class .*got train_size=0.5, per_class=2",
    ),
    "stratified-int": (
        lambda: {"cv": StratifiedSubsample(6)},
        TypeError,
        "train_size must be a fraction .*got 6; for a number of samples use per_class=6",
    ),
    "stratified-true": (
        lambda: {"cv": StratifiedSubsample(True)},
        TypeError,
        "train_size must be .*got True",
    ),
    "stratified-str": (
        lambda: {"cv": StratifiedSubsample("0.5")},
        TypeError,
        "train_size must be .*got '0.5'",
    ),
    "stratified-1.0": (lambda: {"cv": StratifiedSubsample(1.0)}, ValueError, r"in \(0, 1\), got 1.0"),
    "stratified-0.0": (lambda: {"cv": StratifiedSubsample(0.0)}, ValueError, r"in \(0, 1\), got 0.0"),
    "stratified-nan": (lambda: {"cv": StratifiedSubsample(NAN)}, ValueError, r"in \(0, 1\), got nan"),
    "stratified-empty-class": (
        lambda: {"cv": StratifiedSubsample(0.2)},
        ValueError,
        r"train_size=0.2 leaves no training sample of class 0 \(4 samples\)",
    ),
    "per_class-0": (
        lambda: {"cv": StratifiedSubsample(per_class=0)},
        ValueError,
        "per_class must be at least 1, got 0",
    ),
    "per_class-negative": (
        lambda: {"cv": StratifiedSubsample(per_class=-1)},
        ValueError,
        "per_class must be at least 1, got -1",
    ),
    "per_class-too-big": (
        lambda: {"cv": StratifiedSubsample(per_class=5)},
        ValueError,
        "per_class must be at most the size of the class: class 0 has 4 samples, got 5",
    ),
    "per_class-all": (
        lambda: {"cv": StratifiedSubsample(per_class=4)},
        ValueError,
        "per_class puts all 12 samples into the training set",
    ),
    "per_class-float": (
        lambda: {"cv": StratifiedSubsample(per_class=2.0)},
        TypeError,
        "per_class must be an integer.*got 2.0",
    ),
    "per_class-str": (
        lambda: {"cv": StratifiedSubsample(per_class="2")},
        TypeError,
        "per_class must be an integer.*got '2'",
    ),
    "per_class-true": (
        lambda: {"cv": StratifiedSubsample(per_class=True)},
        TypeError,
        "per_class must be an integer.*got True",
    ),
    "per_class-list": (
        lambda: {"cv": StratifiedSubsample(per_class=[2, 2, 2])},
        TypeError,
        r"per_class must be an integer or a mapping.*got \[2, 2, 2\]",
    ),
    "per_class-empty-mapping": (
        lambda: {"cv": StratifiedSubsample(per_class={})},
        ValueError,
        r"per_class must name every class and no other: missing \[0, 1, 2\]",
    ),
    "per_class-missing-label": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 2, 2: 1})},
        ValueError,
        r"per_class must name every class .*missing \[1\]",
    ),
    "per_class-unknown-label": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 2, 1: 1, 2: 1, 7: 1})},
        ValueError,
        r"per_class must name every class .*unknown \[7\]",
    ),
    "per_class-labels-as-strings": (
        lambda: {"cv": StratifiedSubsample(per_class={"0": 2, "1": 1, "2": 1})},
        ValueError,
        r"per_class must name every class .*missing \[0, 1, 2\], unknown \['0', '1', '2'\]",
    ),
    "per_class-float-count": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 2.0, 1: 1, 2: 1})},
        TypeError,
        r"per_class\[0\] must be an integer, got 2.0",
    ),
    "per_class-none-count": (
        lambda: {"cv": StratifiedSubsample(per_class={0: None, 1: 1, 2: 1})},
        TypeError,
        r"per_class\[0\] must be an integer, got None",
    ),
    "per_class-true-count": (
        lambda: {"cv": StratifiedSubsample(per_class={0: True, 1: 1, 2: 1})},
        TypeError,
        r"per_class\[0\] must be an integer, got True",
    ),
    "per_class-negative-count": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 2, 1: -1, 2: 1})},
        ValueError,
        r"per_class\[1\] must be at least 0, got -1",
    ),
    "per_class-count-too-big": (
        lambda: {"cv": StratifiedSubsample(per_class=Counter({0: 2, 1: 1, 2: 9}))},
        ValueError,
        "class 2 has 4 samples, got 9",
    ),
    "per_class-mapping-all": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 4, 1: 4, 2: 4})},
        ValueError,
        "puts all 12 samples into the training set",
    ),
    "per_class-mapping-none": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 0, 1: 0, 2: 0})},
        ValueError,
        "per_class leaves the training set empty",
    ),
    # LeaveOut, KFold, StratifiedKFold
    "leave-out-0": (lambda: {"cv": LeaveOut(0)}, ValueError, "p must be at least 1, got 0"),
    "leave-out-negative": (lambda: {"cv": LeaveOut(-1)}, ValueError, "p must be at least 1, got -1"),
    "leave-out-N": (
        lambda: {"cv": LeaveOut(12)},
        ValueError,
        "p must be between 1 and 11 for 12 samples, got 12",
    ),
    "leave-out-float": (lambda: {"cv": LeaveOut(1.5)}, TypeError, "p must be an integer, got 1.5"),
    "leave-out-str": (lambda: {"cv": LeaveOut("1")}, TypeError, "p must be an integer, got '1'"),
    "leave-out-none": (lambda: {"cv": LeaveOut(None)}, TypeError, "p must be an integer, got None"),
    "leave-out-true": (lambda: {"cv": LeaveOut(True)}, TypeError, "p must be an integer, got True"),
    "kfold-0": (lambda: {"cv": KFold(0)}, ValueError, "n_splits must be at least 2, got 0"),
    "kfold-1": (lambda: {"cv": KFold(1)}, ValueError, "n_splits must be at least 2, got 1"),
    "kfold-N+1": (
        lambda: {"cv": KFold(13)},
        ValueError,
        "n_splits must be between 2 and 12 for 12 samples, got 13",
    ),
    "kfold-float": (lambda: {"cv": KFold(3.0)}, TypeError, "n_splits must be an integer, got 3.0"),
    "kfold-none": (lambda: {"cv": KFold(None)}, TypeError, "n_splits must be an integer, got None"),
    "kfold-true": (lambda: {"cv": KFold(True)}, TypeError, "n_splits must be an integer, got True"),
    "stratified-kfold-1": (
        lambda: {"cv": StratifiedKFold(1)},
        ValueError,
        "n_splits must be at least 2, got 1",
    ),
    "stratified-kfold-too-many": (
        lambda: {"cv": StratifiedKFold(5)},
        ValueError,
        "n_splits must be between 2 and 4, .*got 5",
    ),
    "stratified-kfold-str": (
        lambda: {"cv": StratifiedKFold("3")},
        TypeError,
        "n_splits must be an integer, got '3'",
    ),
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
        "score must be one of 'share', 'brier', got 'log'",
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
        "average must be one of 'pooled', 'item', 'class', got 'macro'",
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
    # parameters of the variants
    "n_neighbors-0": (
        lambda: {"variant": "knn", "n_neighbors": 0},
        ValueError,
        "n_neighbors must be (at least|between) 1.*got 0",
    ),
    "n_neighbors-negative": (
        lambda: {"variant": "knn", "n_neighbors": -1},
        ValueError,
        "n_neighbors must be (at least|between) 1.*got -1",
    ),
    "n_neighbors-float": (
        lambda: {"variant": "knn", "n_neighbors": 1.5},
        TypeError,
        "n_neighbors must be an integer, got 1.5",
    ),
    "n_neighbors-whole-float": (
        lambda: {"variant": "knn", "n_neighbors": 3.0},
        TypeError,
        "n_neighbors must be an integer, got 3.0",
    ),
    "n_neighbors-str": (
        lambda: {"variant": "knn", "n_neighbors": "3"},
        TypeError,
        "n_neighbors must be an integer, got '3'",
    ),
    "n_neighbors-none": (
        lambda: {"variant": "knn", "n_neighbors": None},
        TypeError,
        "n_neighbors must be an integer, got None",
    ),
    "n_neighbors-true": (
        lambda: {"variant": "knn", "n_neighbors": True},
        TypeError,
        "n_neighbors must be an integer, got True",
    ),
    "n_neighbors-list": (
        lambda: {"variant": "knn", "n_neighbors": [3]},
        TypeError,
        r"n_neighbors must be an integer, got \[3\]",
    ),
    "n_neighbors-beyond-subsample": (
        lambda: {"variant": "knn", "n_neighbors": 7},
        ValueError,
        "n_neighbors must be between 1 and 6, the size of the training set, got 7",
    ),
    "n_neighbors-default-beyond-subsample": (
        lambda: {"variant": "knn", "cv": Subsample(4)},
        ValueError,
        "n_neighbors must be between 1 and 4, the size of the training set, got 5",
    ),
    "n_neighbors-huge": (
        lambda: {"variant": "knn", "n_neighbors": 10**30},
        ValueError,
        "n_neighbors must be between 1 and 6, .*got 10{30}",
    ),
    "n_neighbors-beyond-smallest-fold": (
        lambda: {"variant": "knn", "n_neighbors": 10, "cv": KFold(5)},
        ValueError,
        "n_neighbors must be between 1 and 9, the size of the training set, got 10",
    ),
    "n_neighbors-beyond-stratified": (
        lambda: {"variant": "knn", "n_neighbors": 4, "cv": StratifiedSubsample(per_class=1)},
        ValueError,
        "n_neighbors must be between 1 and 3, the size of the training set, got 4",
    ),
    "n_neighbors-beyond-stratified-kfold": (
        lambda: {"variant": "knn", "n_neighbors": 9, "cv": 3},
        ValueError,
        "n_neighbors must be between 1 and [78], the size of the training set, got 9",
    ),
    "n_neighbors-for-nn": (
        lambda: {"n_neighbors": 3},
        TypeError,
        "variant 'nn' has no parameter 'n_neighbors'; it takes: loss",
    ),
    "rank-0": (
        lambda: {"variant": "rank", "rank": 0},
        ValueError,
        "rank must be (at least|between) 1.*got 0",
    ),
    "rank-negative": (
        lambda: {"variant": "rank", "rank": -4},
        ValueError,
        "rank must be (at least|between) 1.*got -4",
    ),
    "rank-float": (lambda: {"variant": "rank", "rank": 2.5}, TypeError, "rank must be an integer, got 2.5"),
    "rank-str": (lambda: {"variant": "rank", "rank": "3"}, TypeError, "rank must be an integer, got '3'"),
    "rank-none": (
        lambda: {"variant": "rank", "rank": None},
        TypeError,
        "rank must be an integer, got None",
    ),
    "rank-true": (
        lambda: {"variant": "rank", "rank": True},
        TypeError,
        "rank must be an integer, got True",
    ),
    "rank-for-knn": (
        lambda: {"variant": "knn", "n_neighbors": 3, "rank": 2},
        TypeError,
        "variant 'knn' has no parameter 'rank'; it takes: n_neighbors, loss",
    ),
    "loss-for-rank": (
        lambda: {"variant": "rank", "loss": LOSS},
        TypeError,
        "variant 'rank' has no parameter 'loss'; it takes: rank",
    ),
    "unknown-parameter": (
        lambda: {"weights": "distance"},
        TypeError,
        "has no parameter 'weights'; it takes",
    ),
    "misspelt-argument": (lambda: {"njobs": 2}, TypeError, "has no parameter 'njobs'"),
    "loss-too-small": (
        lambda: {"loss": LOSS[:2, :2]},
        ValueError,
        r"loss must have shape \(3, 3\) for 3 classes .*got shape \(2, 2\)",
    ),
    "loss-too-large": (
        lambda: {"loss": np.ones((4, 4))},
        ValueError,
        r"loss must have shape \(3, 3\).*\(4, 4\)",
    ),
    "loss-not-square": (lambda: {"loss": LOSS[:2]}, ValueError, r"loss must have shape \(3, 3\).*\(2, 3\)"),
    "loss-1-D": (lambda: {"loss": [0, 1, 2]}, ValueError, r"loss must have shape \(3, 3\).*\(3,\)"),
    "loss-3-D": (lambda: {"loss": LOSS[None]}, ValueError, r"loss must have shape \(3, 3\).*\(1, 3, 3\)"),
    "loss-scalar": (lambda: {"loss": 1.0}, ValueError, r"loss must have shape \(3, 3\).*\(\)"),
    "loss-empty": (lambda: {"loss": []}, ValueError, r"loss must have shape \(3, 3\).*\(0,\)"),
    "loss-name": (lambda: {"loss": "zero-one"}, (TypeError, ValueError), "loss must be None or a matrix"),
    "loss-ragged": (
        lambda: {"loss": [[0, 1, 2], [1, 0]]},
        ValueError,
        "loss must be None or a matrix of real",
    ),
    "loss-nan": (
        lambda: {"loss": changed(LOSS, (1, 2), NAN, float)},
        ValueError,
        r"loss\[1, 2\] is nan; every value must be finite",
    ),
    "loss-inf": (
        lambda: {"loss": changed(LOSS, (1, 2), -INF, float)},
        ValueError,
        r"loss\[1, 2\] is -inf; every value must be finite",
    ),
    "loss-object-nan": (
        lambda: {"loss": changed(LOSS, (1, 2), NAN, object)},
        ValueError,
        r"loss\[1, 2\] is nan; every value must be finite",
    ),
    "loss-none-inside": (
        lambda: {"loss": changed(LOSS, (1, 2), None, object)},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-words": (
        lambda: {"loss": [["a", "b", "c"]] * 3},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-numeric-strings": (
        lambda: {"loss": LOSS.astype(str)},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-complex": (
        lambda: {"loss": LOSS + 1j},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-complex-without-imaginary-part": (
        lambda: {"loss": LOSS + 0j},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-masked": (
        lambda: {"loss": masked(LOSS, (0, 1))},
        (TypeError, ValueError),
        "masked entries in loss",
    ),
    "loss-beyond-float64": (
        lambda: {"loss": [[10**400] * 3] * 3},
        (TypeError, ValueError),
        r"loss\[0, 0\] is 1000.*integers beyond",
    ),
    "loss-longdouble-beyond-float64": (
        lambda: {"loss": changed(LOSS, (0, 1), np.longdouble("1e4000"), np.longdouble)},
        ValueError,
        r"loss\[0, 1\] is inf; every value must be finite",
    ),
    "loss-generator": (
        lambda: {"loss": (row for row in LOSS)},
        (TypeError, ValueError),
        "loss must be None or a matrix of real numbers|loss must have shape",
    ),
    "loss-dict": (
        lambda: {"loss": {0: [0, 1, 2], 1: [1, 0, 2], 2: [1, 2, 0]}},
        (TypeError, ValueError),
        "loss must be None or a matrix",
    ),
    "loss-sparse": (
        lambda: {"loss": sp.csr_matrix(LOSS)},
        (TypeError, ValueError),
        "loss must be None or a matrix",
    ),
    "loss-datetime": (
        lambda: {"loss": LOSS.astype("M8[D]")},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-timedelta": (
        lambda: {"loss": LOSS.astype("m8[D]")},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-for-knn": (
        lambda: {"variant": "knn", "n_neighbors": 3, "loss": LOSS[:2, :2]},
        ValueError,
        r"loss must have shape \(3, 3\)",
    ),
    "loss-for-classes-not-there": (
        lambda: {"loss": LOSS, "y": [0, 2] * 6},
        ValueError,
        r"loss must have shape \(2, 2\) for 2 classes .*got shape \(3, 3\)",
    ),
}


WANT_COMPILING = {"variant-plain-kernel", "variant-kernel-returns-text", "register-untypable"}


def complete(X=DATA, y=LABELS, variant="nn", cv=None, **more):
    return complete_cv(X, y, variant, cv, **more)


def sampled(X=DATA, y=LABELS, variant="nn", cv=None, **more):
    return monte_carlo_cv(X, y, variant, cv, **{"n_repeats": 3, "random_state": 0, **more})


def short(**more):
    """Exact mode with three neighbors of every sample, where seven may matter."""
    return complete_cv(Neighbors.from_lists(NEAR, FAR), LABELS, "nn", Subsample(6), exact=True, **more)


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
    # monte_carlo_cv alone
    "n_repeats-0": (lambda: sampled(cv=3, n_repeats=0), ValueError, "n_repeats must be at least 1, got 0"),
    "n_repeats-negative": (
        lambda: sampled(cv=3, n_repeats=-5),
        ValueError,
        "n_repeats must be at least 1, got -5",
    ),
    "n_repeats-float": (
        lambda: sampled(cv=3, n_repeats=1.5),
        TypeError,
        "n_repeats must be an integer, got 1.5",
    ),
    "n_repeats-str": (
        lambda: sampled(cv=3, n_repeats="5"),
        TypeError,
        "n_repeats must be an integer, got '5'",
    ),
    "n_repeats-none": (
        lambda: sampled(cv=3, n_repeats=None),
        TypeError,
        "n_repeats must be an integer, got None",
    ),
    "n_repeats-true": (
        lambda: sampled(cv=3, n_repeats=True),
        TypeError,
        "n_repeats must be an integer, got True",
    ),
    "random_state-negative": (
        lambda: sampled(cv=3, random_state=-1),
        ValueError,
        "random_state must (not be negative|be at least 0), got -1",
    ),
    "random_state-float": (
        lambda: sampled(cv=3, random_state=1.5),
        TypeError,
        "random_state must be None, an integer or a numpy Generator, got 1.5",
    ),
    "random_state-str": (
        lambda: sampled(cv=3, random_state="0"),
        TypeError,
        "random_state must be .*got '0'",
    ),
    "random_state-true": (
        lambda: sampled(cv=3, random_state=True),
        TypeError,
        "random_state must be .*got True",
    ),
    "random_state-list": (
        lambda: sampled(cv=3, random_state=[1]),
        TypeError,
        r"random_state must be .*got \[1\]",
    ),
    "random_state-legacy": (
        lambda: sampled(cv=3, random_state=np.random.RandomState(0)),
        TypeError,
        "random_state must be None, an integer or a numpy Generator, got RandomState",
    ),
    "sampled-tol": (lambda: sampled(cv=3, tol=1e-9), TypeError, "'tol'"),
    "sampled-exact": (lambda: sampled(cv=3, exact=True), TypeError, "'exact'"),
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
        "item 0 has no neighbors in the graph",
    ),
    "from_graph-empty-row": (
        lambda: Neighbors.from_graph(sp.csr_matrix(changed(DISTANCES, 7, 0.0))),
        ValueError,
        "item 7 has no neighbors in the graph",
    ),
    "from_graph-only-itself": (
        lambda: Neighbors.from_graph(sp.csr_matrix(np.diag(np.arange(2.0, 14.0)))),
        ValueError,
        "item 0 has no neighbors in the graph",
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
        "item 0 has only 2 known neighbors, asked for 5",
    ),
    # register, get_variant
    "register-str": (lambda: register("nn"), TypeError, r"register\(\) expects a .*Variant.*got 'nn'"),
    "register-none": (lambda: register(None), TypeError, r"register\(\) expects a .*Variant.*got None"),
    "register-other-class": (
        lambda: register(NotAVariant),
        TypeError,
        r"register\(\) expects .*NotAVariant",
    ),
    "register-taken": (lambda: register(SecondNN), ValueError, "the name 'nn' is taken by .*SecondNN"),
    "register-without-kernel": (lambda: register(NoKernel), TypeError, "'no-kernel'.*neither"),
    "register-wrong-kernel": (lambda: register(WrongKernel), TypeError, "'wrong-kernel'.*4 arguments"),
    "register-untypable": (
        lambda: register(Untypable),
        TypeError,
        "'untypable' does not fit the signature",
    ),
    "register-nameless": (lambda: register(Nameless), TypeError, "Nameless.*non-empty string"),
    "get_variant-misspelt": (
        lambda: get_variant("rnak"),
        ValueError,
        "no variant 'rnak'.*did you mean 'rank'",
    ),
    "get_variant-confidance": (lambda: get_variant("confidance"), ValueError, "did you mean 'confidence'"),
    "get_variant-nonsense": (
        lambda: get_variant("nonsense"),
        ValueError,
        "no variant 'nonsense'; there are: [^;]*$",
    ),
    "get_variant-none": (
        lambda: get_variant(None),
        TypeError,
        "expects a knnccv.kernel.Variant or a name.*got None",
    ),
    "unregister-unknown": (lambda: unregister("forest"), KeyError, "there is no variant 'forest'"),
}


def shared_call(function, arguments):
    """Pose the row's question; the design is Subsample(6) unless the row has another."""
    return lambda: function(**{"cv": Subsample(6), **arguments()})


def marks(name):
    """Without the compiler, a kernel of the wrong type cannot be told from a right one."""
    unjitted = bool(getattr(numba.config, "DISABLE_JIT", False)) and name in WANT_COMPILING
    return [pytest.mark.skip("nothing is compiled: NUMBA_DISABLE_JIT")] if unjitted else []


def rows():
    for name, (arguments, error, message) in ARGUMENTS.items():
        for function in (complete, sampled):
            call, label = shared_call(function, arguments), f"{function.__name__}-{name}"
            yield pytest.param(call, error, message, id=label, marks=marks(name))
    for name, row in CALLS.items():
        yield pytest.param(*row, id=name, marks=marks(name))


@pytest.mark.parametrize(("call", "error", "message"), list(rows()))
def test_bad_input_is_refused(call, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message) as caught:
        call()
    assert caught.type in (error if isinstance(error, tuple) else (error,))
    assert not list(tmp_path.iterdir())


def test_the_table_is_long_and_its_names_differ():
    assert len(ARGUMENTS) + len(CALLS) >= 220
    assert not set(ARGUMENTS) & set(CALLS)


@pytest.mark.parametrize("function", [complete, sampled])
def test_progress_needs_tqdm(function, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"progress=True needs tqdm: pip install 'knnccv\[progress\]'"):
        function(cv=Subsample(6), progress=True)


def test_to_frame_needs_pandas(monkeypatch):
    result = complete(cv=Subsample(6))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas: pip install 'knnccv\[pandas\]'"):
        result.to_frame()


def test_the_library_answers_as_before_after_all_errors():
    """The inputs of the table without what is wrong with them."""
    assert complete(cv=Subsample(6)).error_bound < 1e-12
    assert len(sampled(cv=Subsample(6)).scores) == 3
    assert "no-kernel" not in knnccv.variant_names()
