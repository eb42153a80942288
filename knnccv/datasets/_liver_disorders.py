"""Liver Disorders (BUPA): blood tests and drinking, with the file's selector as the class."""

from __future__ import annotations

from ._csv import classification, read_columns
from ._dataset import Dataset


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
    return classification(*read_columns("liver-disorders"))
