"""Data sets whose file is a table of comma-separated values, read as their manifests describe it."""

from __future__ import annotations

import csv
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._validation import check_choice
from . import _download
from ._dataset import Dataset
from ._manifest import Manifest, load_manifest

Columns = dict[str, NDArray[np.float64]]

_CUTS: dict[int, tuple[int, ...]] = {2: (10,), 3: (9, 11)}
"""The smallest number of rings of every class of Abalone but the first, by number of classes."""


def _read(name: str) -> tuple[Manifest, Columns]:
    """The manifest of a data set, and the columns of its table without those that it omits."""
    manifest = load_manifest(name)
    table = manifest.table
    assert table is not None
    (blob,) = _download.fetch(manifest).values()
    rows = list(filter(None, csv.reader(blob.decode().splitlines())))[table.header :]
    columns = {}
    for field, texts in zip(table.fields, zip(*rows, strict=True), strict=True):
        codes = table.codes.get(field, {})
        numbers = [
            codes[text] if text in codes else float(text.replace(table.missing, "nan")) for text in texts
        ]
        columns[field] = np.array(numbers, dtype=np.float64)
    return manifest, {field: column for field, column in columns.items() if field not in table.omit}


def _classification(name: str) -> Dataset:
    """The data set whose labels are the target of its table."""
    manifest, columns = _read(name)
    assert manifest.table is not None
    labels = columns.pop(manifest.table.target).astype(np.int64)
    return _dataset(manifest, columns, labels, manifest.target_names)


def _dataset(
    manifest: Manifest, features: Columns, y: NDArray[Any], target_names: tuple[str, ...], note: str = ""
) -> Dataset:
    """The data set of these features and targets; `note` describes how they were coded."""
    X = np.stack(list(features.values()), axis=1)
    about = (manifest.describe(note), manifest.citation)
    return Dataset(X, np.ascontiguousarray(y), tuple(features), target_names, *about)


def load_wine() -> Dataset:
    """Load Wine: 178 wines of three cultivars, 13 chemical constituents. Bundled.

    Returns
    -------
    Dataset
        `X` of shape (178, 13); `y` int64, the cultivar 1, 2 or 3.

    References
    ----------
    .. [1] Aeberhard, S. & Forina, M. (1992). Wine. UCI Machine Learning Repository,
       10.24432/C5PC7J.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> load_wine()
    <Dataset: 178 samples, 13 features, 3 classes>
    """
    return _classification("wine")


def load_diabetes() -> Dataset:
    """Load Diabetes: 442 patients, 10 measurements, and the disease a year later. Bundled.

    Returns
    -------
    Dataset
        `X` of shape (442, 10), in the original units; `y` float64, the progression, 25 to 346.

    References
    ----------
    .. [1] Efron, B., Hastie, T., Johnstone, I. & Tibshirani, R. (2004). Least angle regression.
       Annals of Statistics 32(2), 407-499.

    Examples
    --------
    >>> from knnccv.datasets import load_diabetes
    >>> load_diabetes()
    <Dataset: 442 samples, 10 features, regression of progression>
    """
    manifest, columns = _read("diabetes")
    target = columns.pop("progression")
    return _dataset(manifest, columns, target, manifest.target_names)


def fetch_liver_disorders() -> Dataset:
    """Fetch Liver Disorders (BUPA): 345 men, five blood tests and their drinking.

    The class is the file's seventh field, the selector, as in most of the literature. The donors
    made it to split the data into two sets; it is not a diagnosis [2]_.

    Returns
    -------
    Dataset
        `X` of shape (345, 6); `y` int64, the selector 1 (145 samples) or 2 (200 samples).

    Raises
    ------
    DatasetError
        If the file cannot be fetched; the message lists every address tried and what to do.

    References
    ----------
    .. [1] Forsyth, R. (1990). Liver Disorders. UCI Machine Learning Repository, 10.24432/C54G67.
    .. [2] McDermott, J. & Forsyth, R. S. (2016). Diagnosing a disorder in a classification
       benchmark. Pattern Recognition Letters 73, 41-43.

    Examples
    --------
    >>> from knnccv.datasets import fetch_liver_disorders
    >>> fetch_liver_disorders()  # doctest: +SKIP
    <Dataset: 345 samples, 6 features, 2 classes>
    """
    return _classification("liver-disorders")


def fetch_breast_cancer(*, bare_nuclei: Literal["drop", "complete-rows", "nan"] = "drop") -> Dataset:
    """Fetch Breast Cancer Wisconsin (Original): 699 aspirates, benign (2) or malignant (4).

    Parameters
    ----------
    bare_nuclei : {"drop", "complete-rows", "nan"}, default "drop"
        How to treat the one feature with missing values. "drop": leave it out, as the papers do: 699
        samples of 8 features. "complete-rows": keep it and leave out the 16 samples without a value: 683
        samples of 9 features. "nan": keep everything, 699 samples of 9 features; the 16 values are NaN.

    Returns
    -------
    Dataset
        `X` of shape (699, 8), (683, 9) or (699, 9); `y` int64, 2 for benign and 4 for malignant.
        The identifier of a sample is not a feature.

    Raises
    ------
    ValueError
        If `bare_nuclei` is not one of the allowed values.
    DatasetError
        If the file cannot be fetched; the message lists every address tried and what to do.

    References
    ----------
    .. [1] Wolberg, W. (1990). Breast Cancer Wisconsin (Original). UCI Machine Learning
       Repository, 10.24432/C5HP4Z.
    .. [2] Mangasarian, O. L. & Wolberg, W. H. (1990). Cancer diagnosis via linear programming.
       SIAM News 23(5).

    Examples
    --------
    >>> from knnccv.datasets import fetch_breast_cancer
    >>> fetch_breast_cancer()  # doctest: +SKIP
    <Dataset: 699 samples, 8 features, 2 classes>
    """
    check_choice("bare_nuclei", bare_nuclei, ("drop", "complete-rows", "nan"))
    manifest, columns = _read("breast-cancer")
    note = {
        "drop": "Bare Nuclei, the feature with missing values, is left out.",
        "complete-rows": "The 16 samples without a value of Bare Nuclei are left out.",
        "nan": "The 16 missing values of Bare Nuclei are NaN.",
    }[bare_nuclei]
    if bare_nuclei == "drop":
        del columns["bare_nuclei"]
    elif bare_nuclei == "complete-rows":
        complete = ~np.isnan(columns["bare_nuclei"])
        columns = {name: column[complete] for name, column in columns.items()}
    labels = columns.pop("class").astype(np.int64)
    return _dataset(manifest, columns, labels, manifest.target_names, note)


def fetch_abalone(
    n_classes: Literal[2, 3] | None = None,
    *,
    sex: Literal["integer", "one-hot", "drop"] = "integer",
) -> Dataset:
    """Fetch Abalone: 4177 shells, their measurements and the number of their rings.

    Parameters
    ----------
    n_classes : {None, 2, 3}, default None
        None: the label is the number of rings, 28 classes. 2: at most 9 rings (2096 samples, label
        0) or more (2081, label 1), the most even cut possible. 3: at most 8 (1407, label 0), 9 or
        10 (1323, label 1), or at least 11 (1447, label 2), as in [2]_.
    sex : {"integer", "one-hot", "drop"}, default "integer"
        "integer": one feature, infant 0, male 1, female 2. "one-hot": three features of 0 and 1.
        "drop": no such feature. The papers' 8 features include the sex and do not say how it was
        coded. The choice hardly matters to nearest neighbors: every coding sets the sexes far apart.

    Returns
    -------
    Dataset
        `X` of shape (4177, 8), or 10 columns with "one-hot" and 7 with "drop"; `y` int64.

    Raises
    ------
    ValueError
        If an argument is not one of the allowed values.
    DatasetError
        If the file cannot be fetched; the message lists every address tried and what to do.

    References
    ----------
    .. [1] Nash, W. et al. (1994). Abalone. UCI Machine Learning Repository, 10.24432/C55C7W.
    .. [2] Waugh, S. (1995). Extending and benchmarking Cascade-Correlation. PhD thesis,
       University of Tasmania.

    Examples
    --------
    >>> from knnccv.datasets import fetch_abalone
    >>> fetch_abalone(n_classes=3)  # doctest: +SKIP
    <Dataset: 4177 samples, 8 features, 3 classes>
    """
    # Compared within one type: 2.0 is not allowed, and an array has no single truth value.
    if n_classes is not None and not (type(n_classes) is int and n_classes in _CUTS):
        msg = f"n_classes must be one of None, {', '.join(map(repr, _CUTS))}, got {n_classes!r}"
        raise ValueError(msg)
    check_choice("sex", sex, ("integer", "one-hot", "drop"))
    manifest, columns = _read("abalone")
    rings = columns.pop("rings").astype(np.int64)
    if sex != "integer":
        code = columns.pop("sex")
    note = {
        "integer": "Sex is coded I = 0, M = 1, F = 2.",
        "one-hot": "Sex is coded as three features of 0 and 1.",
        "drop": "Sex is left out.",
    }[sex]
    if sex == "one-hot":
        columns = {f"sex={letter}": (code == k) * 1.0 for k, letter in enumerate("IMF")} | columns
    if n_classes is None:
        names = tuple(f"{r} rings" for r in np.unique(rings))
        return _dataset(manifest, columns, rings, names, note)
    cuts = _CUTS[n_classes]
    bounds = [1, *cuts, int(rings.max()) + 1]
    names = tuple(f"{lo} to {hi - 1} rings" for lo, hi in pairwise(bounds))
    note += f" The classes 0 to {n_classes - 1} are {', '.join(names)}."
    return _dataset(manifest, columns, np.digitize(rings, cuts).astype(np.int64), names, note)
