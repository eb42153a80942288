"""Wine: chemical constituents of wines of three cultivars."""

from __future__ import annotations

from ._csv import classification, read_columns
from ._dataset import Dataset


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
    return classification(*read_columns("wine"))
