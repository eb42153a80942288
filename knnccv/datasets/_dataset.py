"""The class `Dataset`, which the loaders return, and the list of the data sets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._download import file_path, is_cached
from ._manifest import load_manifest, manifest_names

if TYPE_CHECKING:
    import pandas as pd


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
        target = (
            f"{len(self.target_names)} classes"
            if self.y.dtype.kind == "i"
            else f"regression of {self.target_names[0]}"
        )
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
        from .._formatting import data_frame

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
    fields = ("name", "n_items", "n_features", "n_classes", "licence", "citation")
    return [
        DatasetInfo(
            **{field: getattr(manifest, field) for field in fields},
            address=manifest.homepage,
            cached=is_cached(manifest),
            path=file_path(manifest),
        )
        for manifest in map(load_manifest, manifest_names())
    ]
