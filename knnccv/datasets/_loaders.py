"""The data sets of the literature on complete cross-validation, as arrays.

``load_*`` functions read tables that ship with the package; ``fetch_*`` functions download a file
on first use, verify it by SHA-256 and keep it in a cache folder. Labels are those of the original
files, rows are in the original order (it decides ties between neighbors), and no feature is
scaled.

Two environment variables are read at every call: ``KNNCCV_DATA_DIR``, the cache folder, and
``KNNCCV_DATA_URL``, a mirror that is asked before the public addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _download, _manifest, _uci
from ._csv import parse
from ._dataset import Dataset
from ._download import DatasetError
from ._manifest import Manifest
from ._orl import ORL_SHAPE, area_means, read_pgm

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "fetch_abalone",
    "fetch_breast_cancer",
    "fetch_liver_disorders",
    "fetch_orl",
    "fetch_uci",
    "list_datasets",
    "load_diabetes",
    "load_wine",
    "uci_names",
]

_ABALONE_CUTS: dict[int, tuple[int, ...]] = {2: (10,), 3: (9, 11)}
"""The least number of rings of every class but the first."""


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it.

    Attributes
    ----------
    name : str
        The name of its manifest.
    n_items, n_features : int
        The shape of `X` as the function returns it by default.
    n_classes : int or None
        The number of classes by default; None for a regression.
    licence, citation : str
        The terms, and the source to cite.
    address : str
        The page that describes it.
    cached : bool
        Whether the file is on this disk and intact; always so for a bundled table.
    path : Path
        Where the file is, or would be once fetched.
    """

    name: str
    n_items: int
    n_features: int
    n_classes: int | None
    licence: str
    citation: str
    address: str
    cached: bool
    path: Path


def list_datasets() -> list[DatasetInfo]:
    """Return what data sets there are, sorted by name, without asking any server.

    Returns
    -------
    list of DatasetInfo
        One entry per data set.

    Examples
    --------
    >>> from knnccv.datasets import list_datasets
    >>> [info.n_items for info in list_datasets() if info.name == "wine"]
    [178]
    """
    return [
        DatasetInfo(
            name=name,
            n_items=manifest.n_items,
            n_features=manifest.n_features,
            n_classes=manifest.n_classes,
            licence=manifest.licence,
            citation=manifest.citation,
            address=manifest.homepage,
            cached=_download.is_cached(manifest),
            path=_download.file_path(manifest),
        )
        for name in _manifest.manifest_names()
        for manifest in [_manifest.load_manifest(name)]
    ]


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
        0) or more (2081, label 1), the most even cut there is. 3: at most 8 (1407, label 0), 9 or
        10 (1323, label 1), or at least 11 (1447, label 2), as in [2]_.
    sex : {"integer", "one-hot", "drop"}, default "integer"
        "integer": one feature, infant 0, male 1, female 2. "one-hot": three features of 0 and 1.
        "drop": no such feature. The papers' 8 features include the sex and do not say how it was
        coded; nearest neighbors hardly notice, as every coding sets the sexes far apart.

    Returns
    -------
    Dataset
        `X` of shape (4177, 8), or 10 columns with "one-hot" and 7 with "drop"; `y` int64.

    Raises
    ------
    ValueError
        If an argument is none of the allowed values.
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
    _require_one_of("n_classes", n_classes, (None, *_ABALONE_CUTS))
    _require_one_of("sex", sex, ("integer", "one-hot", "drop"))
    manifest, columns = _fetch_columns("abalone")
    rings = columns.pop("rings").astype(np.int64)
    if sex != "integer":
        code = columns.pop("sex")
    note = {
        "integer": "Sex is coded I = 0, M = 1, F = 2.",
        "one-hot": "Sex is coded as three features of 0 and 1.",
        "drop": "Sex is left out.",
    }[sex]
    if sex == "one-hot":
        letters = _codes(manifest)["sex"]
        columns = {f"sex={k}": (code == v) * 1.0 for k, v in letters.items()} | columns
    if n_classes is None:
        names = tuple(f"{r} rings" for r in np.unique(rings))
        return _dataset(manifest, columns, rings, names, note)
    cuts = _ABALONE_CUTS[n_classes]
    bounds = [1, *cuts, int(rings.max()) + 1]
    names = tuple(f"{lo} to {hi - 1} rings" for lo, hi in pairwise(bounds))
    note += f" The classes 0 to {n_classes - 1} are {', '.join(names)}."
    return _dataset(manifest, columns, np.digitize(rings, cuts).astype(np.int64), names, note)


def fetch_breast_cancer(*, bare_nuclei: Literal["drop", "complete-rows", "nan"] = "drop") -> Dataset:
    """Fetch Breast Cancer Wisconsin (Original): 699 aspirates, benign (2) or malignant (4).

    Parameters
    ----------
    bare_nuclei : {"drop", "complete-rows", "nan"}, default "drop"
        What becomes of the one feature with missing values. "drop": it is left out, as in the
        papers, 699 samples of 8 features. "complete-rows": it is kept and the 16 samples without a
        value go, 683 samples of 9 features. "nan": all is kept, 699 of 9, and the 16 values are NaN.

    Returns
    -------
    Dataset
        `X` of shape (699, 8), (683, 9) or (699, 9); `y` int64, 2 for benign and 4 for malignant.
        The identifier of the sample is no feature.

    Raises
    ------
    ValueError
        If `bare_nuclei` is none of the allowed values.
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
    _require_one_of("bare_nuclei", bare_nuclei, ("drop", "complete-rows", "nan"))
    manifest, columns = _fetch_columns("breast-cancer")
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
    return _classification(manifest, columns, note)


def fetch_liver_disorders() -> Dataset:
    """Fetch Liver Disorders (BUPA): 345 men, five blood tests and their drinking.

    The class is the file's seventh field, the selector, as in most of the literature. Its donors
    made it to split the data into two sets; it is no diagnosis [2]_.

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
    return _classification(*_fetch_columns("liver-disorders"))


def fetch_orl(size: tuple[int, int] | None = (16, 16)) -> Dataset:
    """Fetch the ORL Database of Faces: 10 photographs of each of 40 people.

    Parameters
    ----------
    size : tuple of two ints (height, width) or None, default (16, 16)
        The images are reduced to this size; every pixel is the mean of the rectangle that it
        covers in the original, partly covered pixels weighted by their covered area. None: the
        original 112 rows of 92 pixels.

    Returns
    -------
    Dataset
        `X` of shape (400, height * width), gray levels 0 to 255 row by row; `y` int64, the number
        of the person, 1 to 40, ten samples each.

    Raises
    ------
    TypeError, ValueError
        If `size` is neither None nor two integers within the size of the original.
    DatasetError
        If the archive cannot be fetched; the message lists every address tried and what to do.

    References
    ----------
    .. [1] Samaria, F. & Harter, A. (1994). Parameterisation of a stochastic model for human face
       identification. 2nd IEEE Workshop on Applications of Computer Vision.

    Examples
    --------
    >>> from knnccv.datasets import fetch_orl
    >>> fetch_orl()  # doctest: +SKIP
    <Dataset: 400 samples, 256 features, 40 classes>
    """
    shape = ORL_SHAPE if size is None else _check_size(size)
    manifest = _manifest.load_manifest("orl")
    content = _download.fetch(manifest)
    images = np.stack([read_pgm(name, blob) for name, blob in content.items()])
    subjects = [name.split("/")[0] for name in content]
    X = area_means(images, shape).reshape(len(images), -1)
    note = (
        "The images are the original ones."
        if size is None
        else (f"The images are reduced to {shape[0]} rows of {shape[1]} pixels by area averaging.")
    )
    return Dataset(
        X=X,
        y=np.array([int(subject[1:]) for subject in subjects], dtype=np.int64),
        feature_names=tuple(f"pixel_{i}_{j}" for i in range(shape[0]) for j in range(shape[1])),
        target_names=tuple(dict.fromkeys(subjects)),
        description=_description(manifest, note),
        citation=manifest.citation,
    )


def uci_names() -> list[str]:
    """Return the names of the sets that `fetch_uci` knows, sorted.

    Returns
    -------
    list of str
        The names in Table 1 of [1]_, without Heart (More), whose definition is unknown.

    References
    ----------
    .. [1] Wilson, D. R. & Martinez, T. R. (1999). Combining cross-validation and confidence to measure
       fitness. IJCNN 1999.

    Examples
    --------
    >>> from knnccv.datasets import uci_names
    >>> len(uci_names()), uci_names()[:3]
    (30, ['Anneal', 'Australian', 'Breast Cancer (WI)'])
    """
    return list(_uci.load_sets())


def fetch_uci(
    name: str,
    *,
    rows: Literal["paper", "all"] = "paper",
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """Fetch one of the 30 sets of Wilson and Martinez (1999): numbers, names and unknown values.

    The paper [1]_ says neither which attributes are nominal nor which rows and, for some sets, which
    target it used. The description of the result says what was chosen here, and why.

    Parameters
    ----------
    name : str
        One of `uci_names`, spelt exactly so.
    rows : {"paper", "all"}, default "paper"
        "paper": the rows that the paper seems to use where these are fewer, namely 528 of the 990 of
        Vowel, and 420 of the 2310 of Image Segmentation: the 210 of its first file and 210 of its
        second, 30 of each class. "all": every row. Other sets are the same either way.
    random_state : int, numpy Generator or None, default 0
        Draws the rows of Image Segmentation and the samples of the two LED sets, which are generated,
        not fetched; None: other ones at every call. Nothing else depends on it.

    Returns
    -------
    Dataset
        `X` with codes in nominal columns and NaN for unknown values, `nominal` and `categories` to
        tell; `y` int64, codes from 0 of the labels in `target_names`. Codes follow the sorted texts,
        or the numbers where every text is one. Rows whose target is unknown are left out.

    Raises
    ------
    TypeError, ValueError
        If an argument is not allowed; for an unknown name the message says which is closest.
    DatasetError
        If a file cannot be fetched; the message lists every address tried and what to do.

    References
    ----------
    .. [1] Wilson, D. R. & Martinez, T. R. (1999). Combining cross-validation and confidence to measure
       fitness. IJCNN 1999.

    Examples
    --------
    >>> from knnccv.datasets import fetch_uci
    >>> fetch_uci("LED Creator")
    <Dataset: 1000 samples, 7 features, 10 classes>
    >>> fetch_uci("Zoo").to_frame()  # doctest: +SKIP
    """
    from .._validation import check_random_state

    known = _uci.find_set(name)
    _require_one_of("rows", rows, ("paper", "all"))
    return _uci.fetch_set(known, rows, check_random_state(random_state))


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
    return _classification(*_load_columns("wine"))


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
    manifest, columns = _load_columns("diabetes")
    target = columns.pop("progression")
    return _dataset(manifest, columns, target, manifest.target_names)


def _require_one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    # Compared within one type: True is no 1, and an array has no single truth value.
    if not any(type(value) is type(choice) and value == choice for choice in allowed):
        msg = f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}"
        raise ValueError(msg)


def _check_size(size: object) -> tuple[int, int]:
    allowed = (
        f"size must be None or (height, width) with 1 <= height <= {ORL_SHAPE[0]} "
        f"and 1 <= width <= {ORL_SHAPE[1]}, got {size!r}"
    )
    if not isinstance(size, tuple | list) or not all(
        isinstance(length, int | np.integer) and not isinstance(length, bool) for length in size
    ):
        raise TypeError(allowed)
    if len(size) != 2 or any(not 1 <= k <= n for k, n in zip(size, ORL_SHAPE, strict=True)):
        raise ValueError(allowed)
    return int(size[0]), int(size[1])


def _fetch_columns(name: str) -> tuple[Manifest, dict[str, NDArray[np.float64]]]:
    manifest = _manifest.load_manifest(name)
    (blob,) = _download.fetch(manifest).values()
    return manifest, parse(manifest, blob)


def _load_columns(name: str) -> tuple[Manifest, dict[str, NDArray[np.float64]]]:
    manifest = _manifest.load_manifest(name)
    return manifest, parse(manifest, _download.file_path(manifest).read_bytes())


def _codes(manifest: Manifest) -> Mapping[str, Mapping[str, int]]:
    return manifest.table.codes if manifest.table else {}


def _classification(manifest: Manifest, columns: dict[str, NDArray[np.float64]], note: str = "") -> Dataset:
    assert manifest.table is not None
    labels = columns.pop(manifest.table.target).astype(np.int64)
    return _dataset(manifest, columns, labels, manifest.target_names, note)


def _dataset(
    manifest: Manifest,
    columns: dict[str, NDArray[np.float64]],
    y: NDArray[Any],
    target_names: tuple[str, ...],
    note: str = "",
) -> Dataset:
    return Dataset(
        X=np.stack(list(columns.values()), axis=1),
        y=np.ascontiguousarray(y),
        feature_names=tuple(columns),
        target_names=target_names,
        description=_description(manifest, note),
        citation=manifest.citation,
    )


def _description(manifest: Manifest, note: str) -> str:
    parts = [manifest.title, manifest.description, note, *manifest.quirks]
    return "\n\n".join(part for part in parts if part)
