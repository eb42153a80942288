"""Diabetes of Efron et al.: measurements of patients, for regression of the disease's progression."""

from __future__ import annotations

from ._csv import as_dataset, read_columns
from ._dataset import Dataset


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
    manifest, columns = read_columns("diabetes")
    target = columns.pop("progression")
    return as_dataset(manifest, columns, target, manifest.target_names)
