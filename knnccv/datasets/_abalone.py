"""Abalone: shells, with their number of rings or an age group as the class."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from .._validation import check_choice
from ._csv import as_dataset, read_columns, table_of
from ._dataset import Dataset

_CUTS: dict[int, tuple[int, ...]] = {2: (10,), 3: (9, 11)}
"""The smallest number of rings of every class but the first, by number of classes."""


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
    manifest, columns = read_columns("abalone")
    rings = columns.pop("rings").astype(np.int64)
    if sex != "integer":
        code = columns.pop("sex")
    note = {
        "integer": "Sex is coded I = 0, M = 1, F = 2.",
        "one-hot": "Sex is coded as three features of 0 and 1.",
        "drop": "Sex is left out.",
    }[sex]
    if sex == "one-hot":
        letters = table_of(manifest).codes["sex"]
        columns = {f"sex={k}": (code == v) * 1.0 for k, v in letters.items()} | columns
    if n_classes is None:
        names = tuple(f"{r} rings" for r in np.unique(rings))
        return as_dataset(manifest, columns, rings, names, note)
    cuts = _CUTS[n_classes]
    bounds = [1, *cuts, int(rings.max()) + 1]
    names = tuple(f"{lo} to {hi - 1} rings" for lo, hi in pairwise(bounds))
    note += f" The classes 0 to {n_classes - 1} are {', '.join(names)}."
    return as_dataset(manifest, columns, np.digitize(rings, cuts).astype(np.int64), names, note)
