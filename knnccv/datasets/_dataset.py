"""The class `Dataset`, which the loaders return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
