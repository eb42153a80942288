"""Breast Cancer Wisconsin (Original): aspirates, benign or malignant."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._validation import check_choice
from ._csv import classification, read_columns
from ._dataset import Dataset


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
    manifest, columns = read_columns("breast-cancer")
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
    return classification(manifest, columns, note)
