"""The weights of scikit-learn's estimators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array


@dataclass(frozen=True)
class CheckedWeights:
    """A function of an array of distances, shape (n, K), as scikit-learn calls it.

    Raises
    ------
    ValueError
        If all weights of a row are 0: scikit-learn then has no prediction either.
    """

    function: Callable[[Array], Any]

    def __repr__(self) -> str:
        return repr(self.function)

    def __call__(self, distances: Array) -> Array:
        """The weights, of the same shape; equal ones if the function returns None."""
        weights = self.function(distances)
        if weights is None:
            return np.ones_like(distances)
        weights = np.asarray(weights)
        if weights.dtype.kind == "O":
            weights = weights.astype(float)
        if weights.dtype.kind not in "biuf" or weights.shape != distances.shape:
            return weights  # the variant refuses them
        weights = weights.astype(float)
        if not weights.any(axis=1).all():
            at = int(np.argmin(weights.any(axis=1)))
            msg = (
                f"weights={self.function!r} gives all neighbors of a sample the weight 0, at the distances "
                f"{distances[at]} (scikit-learn's score would be nan)"
            )
            raise ValueError(msg)
        return weights


def weights_of(weights: Any) -> Any:
    """The parameter `weights` of an estimator for the variant "weighted"; None for equal weights.

    Raises
    ------
    ValueError
        If scikit-learn does not allow it.
    """
    if weights is None or (isinstance(weights, str) and weights == "uniform"):
        return None
    if callable(weights):
        return CheckedWeights(weights)
    if not isinstance(weights, str) or weights != "distance":
        msg = f"weights must be 'uniform', 'distance', None or a function, got {weights!r}"
        raise ValueError(msg)
    return "inverse"
