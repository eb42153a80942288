"""`Dataset`, the list of the data sets, and their loaders: tables, read as the manifests say, and faces."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._base.validation import check, check_choice
from ._download import Manifest, fetch, file_path, is_cached, load_manifest, manifest_names

if TYPE_CHECKING:
    import pandas as pd

Columns = dict[str, NDArray[np.float64]]

ORL_SHAPE = (112, 92)
"""Rows and columns of an ORL image."""

_PGM_HEADER = len(b"P5\n92 112\n255\n")

_CUTS: dict[int, tuple[int, ...]] = {2: (10,), 3: (9, 11)}
"""The smallest number of rings of every class of Abalone but the first, by number of classes."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set.

    Attributes
    ----------
    X : ndarray of shape (n_items, n_features), float64, C-contiguous
        The features, unscaled. Categorical columns hold codes from 0 that stand for the texts in
        `categories`. Missing values are NaN.
    y : ndarray of shape (n_items,), int64 or float64
        Class labels (int64), or the target of a regression (float64).
    feature_names : tuple of str, of length n_features
        The names of the columns of `X`.
    target_names : tuple of str
        The names of the classes in the order of their sorted labels; for a regression the name of the
        target.
    description : str
        The data, how they were coded, and caveats.
    citation : str
        The source to cite.
    nominal : tuple of bool, of length n_features or empty
        Which columns of `X` are categorical; empty if all are numeric.
    categories : tuple of (tuple of str) or None, of length n_features or empty
        The texts of the codes of each categorical column, None for a numeric one; empty if all are numeric.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> wine.X.shape, wine.feature_names[0]
    ((178, 13), 'alcohol')
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64] | NDArray[np.float64]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    description: str
    citation: str
    nominal: tuple[bool, ...] = ()
    categories: tuple[tuple[str, ...] | None, ...] = ()

    def __repr__(self) -> str:
        n_items, n_features = self.X.shape
        target = f"regression of {self.target_names[0]}"
        if self.y.dtype.kind == "i":
            target = f"{len(self.target_names)} classes"
        return f"<Dataset: {n_items} samples, {n_features} features, {target}>"

    def to_frame(self) -> pd.DataFrame:
        """The features as a pandas DataFrame, a copy.

        Returns
        -------
        pandas.DataFrame of shape (n_items, n_features)
            The columns of `X` by their names, categorical ones as unordered categoricals of their texts.
            Missing values are NaN. The target is not included.

        Raises
        ------
        ImportError
            If pandas is missing.

        Examples
        --------
        >>> from knnccv.datasets import load_wine
        >>> load_wine().to_frame()["hue"].head(2).tolist()
        [1.04, 1.05]
        """
        from .._base.formatting import data_frame

        frame = data_frame(dict(zip(self.feature_names, self.X.T, strict=True)))
        import pandas as pd

        for name, codes, texts in zip(self.feature_names, self.X.T, self.categories, strict=False):
            if texts is not None:
                places = np.where(np.isnan(codes), -1, codes).astype(np.int64)
                frame[name] = pd.Categorical.from_codes(places, pd.Index(texts, dtype="str"))
        return frame


@dataclass(frozen=True)
class DatasetInfo:
    """The properties of a data set that are known without loading it.

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

    Examples
    --------
    >>> from knnccv.datasets import list_datasets
    >>> [(info.name, info.n_classes) for info in list_datasets() if info.cached and info.name == "wine"]
    [('wine', 3)]
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
    """The data sets that have manifests, sorted by name; no server is contacted.

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
    return [_info(load_manifest(name)) for name in manifest_names()]


def _info(manifest: Manifest) -> DatasetInfo:
    names = ("name", "n_items", "n_features", "n_classes", "licence", "citation")
    known = {name: getattr(manifest, name) for name in names}
    cached, path = is_cached(manifest), file_path(manifest)
    return DatasetInfo(**known, address=manifest.homepage, cached=cached, path=path)


def _read(name: str) -> tuple[Manifest, Columns, NDArray[np.int64] | NDArray[np.float64]]:
    """The manifest of a data set, the columns of its features, and its target."""
    manifest = load_manifest(name)
    table = manifest.table
    (blob,) = fetch(manifest).values()
    texts = zip(table.fields, zip(*table.rows(blob), strict=True), strict=True)
    columns = {field: table.numbers(field, column) for field, column in texts if field not in table.omit}
    target = columns.pop(table.target)
    return manifest, columns, target.astype(np.int64) if manifest.n_classes else target


def _dataset(
    manifest: Manifest,
    features: Columns,
    y: NDArray[np.int64] | NDArray[np.float64],
    note: str = "",
    target_names: tuple[str, ...] | None = None,
) -> Dataset:
    """The data set of these features and targets; `note` describes how they were coded."""
    X = np.stack(list(features.values()), axis=1)
    about = (manifest.describe(note), manifest.citation)
    return Dataset(X, y, tuple(features), target_names or manifest.target_names, *about)


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
    return _dataset(*_read("wine"))


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
    return _dataset(*_read("diabetes"))


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
    return _dataset(*_read("liver-disorders"))


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
    manifest, columns, labels = _read("breast-cancer")
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
        labels = labels[complete]
    return _dataset(manifest, columns, labels, note)


def fetch_abalone(
    n_classes: Literal[2, 3] | None = None, *, sex: Literal["integer", "one-hot", "drop"] = "integer"
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
    is_known = n_classes is None or (type(n_classes) is int and n_classes in _CUTS)
    check(is_known, f"n_classes must be one of None, {', '.join(map(repr, _CUTS))}", n_classes)
    check_choice("sex", sex, ("integer", "one-hot", "drop"))
    manifest, columns, rings = _read("abalone")
    note = {
        "integer": "Sex is coded I = 0, M = 1, F = 2.",
        "one-hot": "Sex is coded as three features of 0 and 1.",
        "drop": "Sex is left out.",
    }[sex]
    if sex != "integer":
        code = columns.pop("sex")
    if sex == "one-hot":
        columns = {f"sex={letter}": (code == k) * 1.0 for k, letter in enumerate("IMF")} | columns
    if n_classes is None:
        return _dataset(manifest, columns, rings, note, tuple(f"{r} rings" for r in np.unique(rings)))
    cuts = _CUTS[n_classes]
    bounds = [1, *cuts, int(rings.max()) + 1]
    names = tuple(f"{lo} to {hi - 1} rings" for lo, hi in pairwise(bounds))
    note += f" The classes 0 to {n_classes - 1} are {', '.join(names)}."
    return _dataset(manifest, columns, np.digitize(rings, cuts).astype(np.int64), note, names)


def fetch_orl(size: tuple[int, int] | None = (16, 16)) -> Dataset:
    """Fetch the ORL Database of Faces: 10 photographs of each of 40 people.

    Parameters
    ----------
    size : tuple of two ints (height, width) or None, default (16, 16)
        The images are reduced to this size; a pixel is the mean over the rectangle that it
        covers in the original, where pixels count by their covered area. None: the
        original 112 rows of 92 pixels.

    Returns
    -------
    Dataset
        `X` of shape (400, height * width), gray levels 0 to 255 row by row; `y` int64, the number
        of the person, 1 to 40, ten samples each.

    Raises
    ------
    TypeError, ValueError
        If `size` is neither None nor two integers up to the size of the original.
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
    manifest = load_manifest("orl")
    content = fetch(manifest)
    pixels = [np.frombuffer(blob, np.uint8, offset=_PGM_HEADER) for blob in content.values()]
    images = np.stack(pixels).reshape(-1, *ORL_SHAPE).astype(np.float64)
    subjects = [name.split("/")[0] for name in content]
    X = area_means(images, shape).reshape(len(images), -1)
    y = np.array([int(subject[1:]) for subject in subjects], dtype=np.int64)
    names = tuple(f"pixel_{i}_{j}" for i in range(shape[0]) for j in range(shape[1]))
    note = "The images are the original ones."
    if size is not None:
        note = f"The images are reduced to {shape[0]} rows of {shape[1]} pixels by area averaging."
    about = (manifest.describe(note), manifest.citation)
    return Dataset(X, y, names, tuple(dict.fromkeys(subjects)), *about)


def _check_size(size: Any) -> tuple[int, int]:
    height, width = ORL_SHAPE
    must = f"size must be None or (height, width) with 1 <= height <= {height} and 1 <= width <= {width}"
    check(isinstance(size, tuple | list), must, size, TypeError)
    are_whole = all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in size)
    check(are_whole, must, size, TypeError)
    check(len(size) == 2 and 1 <= size[0] <= height and 1 <= size[1] <= width, must, size)
    return int(size[0]), int(size[1])


def area_means(images: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Reduce images to `shape`: each new pixel is the mean over the rectangle that it covers.

    The overlaps are whole numbers in units of 1 / shape. The sums are therefore exact, and the single
    division rounds every mean correctly, on any machine.
    """
    height, width = images.shape[1:]
    rows, columns = _overlaps(height, shape[0]), _overlaps(width, shape[1])
    return np.asarray(rows @ images @ columns.T / (height * width))


def _overlaps(n_source: int, n_target: int) -> NDArray[np.float64]:
    """The part of every source pixel that each target pixel covers, in units of 1 / n_target.

    The result has shape (n_target, n_source), and every row sums to n_source.
    """
    target = np.arange(n_target)[:, None] * n_source
    source = np.arange(n_source)[None, :] * n_target
    stop = np.minimum(target + n_source, source + n_target)
    return np.asarray(np.maximum(stop - np.maximum(target, source), 0.0))
