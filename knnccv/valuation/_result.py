"""The result of `item_values`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._formatting import data_frame, error_phrase
from .._typing import Array
from .._validation import lowest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ItemValues:
    """What every training sample is worth; a positive value helps.

    Attributes
    ----------
    values : ndarray of shape (n_items,)
        The value of every sample.
    method : {"shapley", "influence"}
    labels : ndarray of shape (n_items,)
        The label of every sample.
    rule : str
        The rule and what it is tested on, in words.
    error_bound : float
        Bound of the error of every value: samples beyond the lists count as if they were in random order,
        and rounding.
    certified : bool
        False for approximate neighbors, whose error has no bound.
    """

    values: Array
    method: str
    labels: Array
    rule: str
    error_bound: float
    certified: bool = True

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype, copy=copy)

    def least_valuable(self, n: int = 10) -> Array:
        """Return the samples of the lowest values, the lowest first: candidates for wrong labels.

        Parameters
        ----------
        n : int, default 10
            Number of samples, at least 1; all samples if there are fewer.

        Returns
        -------
        int64 ndarray of shape (min(n, n_items),)
            Indices of samples; equal values in the order of the samples.

        Raises
        ------
        TypeError, ValueError
            If n is not a positive integer.
        """
        return lowest(self.values, n)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sample: label and value, as a pandas DataFrame.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        frame = data_frame({"label": self.labels, "value": self.values})
        frame.index.name = "item"
        return frame

    def __repr__(self) -> str:
        worst = int(self.least_valuable(1)[0])
        return (
            f"<ItemValues of {len(self)} samples ({self.method}, {self.rule}): from "
            f"{self.values.min():.3g} (sample {worst}) to {self.values.max():.3g}, {error_phrase(self)}>"
        )
