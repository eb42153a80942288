"""Conversion of the inputs of `RIBClassifier`: table, labels, distance and random state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from .._labels import EncodedLabels, encode_labels, is_missing
from .._typing import Array
from ..hvdm import FAR, HEOM, HVDM, Statistics, Table, as_array
from ..neighbors import Neighbors


def check_table(estimator: Any, X: Any, *, fitting: bool) -> Any:
    """Check a table; data frames and arrays of objects stay unchanged for the distance to read."""
    plain = estimator.metric == "euclidean"
    # scikit-learn would drop a mask, and round large integers in lists that also hold fractions.
    if np.ma.isMaskedArray(X) or (isinstance(X, (list, tuple)) and not plain):
        X = as_array(X)
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    frame = hasattr(X, "iloc") or hasattr(X, "to_pandas")
    if plain or not (frame or kind in ("O", "U", "S", "T")):
        return validate_data(
            estimator,
            X,
            reset=fitting,
            dtype=[np.float64, np.float32] if plain else "numeric",
            ensure_all_finite=True if plain else "allow-nan",
            ensure_min_samples=2 if fitting else 1,
        )
    validate_data(estimator, X, reset=fitting, skip_check_array=True)
    return X


def create_distance(metric: str, nominal: Any, leave_one_out: str) -> HVDM | HEOM:
    """Create the distance with the name `metric`."""
    if metric == "hvdm":
        return HVDM(nominal=nominal, leave_one_out=leave_one_out)
    return HEOM(nominal=nominal) if metric == "heom" else _Euclidean()


class _Euclidean(HEOM):
    """Euclidean distance of numeric rows without missing values, with the interface of HEOM."""

    def _statistics(self, table: Table, labels: EncodedLabels | None) -> Statistics:
        plain = super()._statistics(table, labels)
        if np.abs(table.numbers).max() > FAR:
            largest = np.abs(table.numbers).max()
            msg = f"numbers must not exceed {FAR:g} for metric='euclidean', got {largest:g}"
            raise ValueError(msg)
        return replace(plain, exponents=np.zeros_like(plain.exponents), scales=np.ones_like(plain.scales))

    def neighbors(self, n_neighbors: int | None = None) -> Neighbors:
        return Neighbors.from_data(np.ascontiguousarray(self._table_.numbers.T), n_neighbors=n_neighbors)


def check_labels(y: Any) -> Array:
    """Check class labels and return them as a one-dimensional array."""
    if y is None:
        msg = "RIBClassifier requires y to be passed, but the target y is None"
        raise ValueError(msg)
    flat = column_or_1d(y, warn=True)
    if flat.dtype.kind == "T" or (flat.dtype.kind == "O" and any(is_missing(label) for label in flat)):
        return encode_labels(flat).classes[encode_labels(flat).codes]  # raises an error if one is missing
    assert_all_finite(flat, input_name="y")
    check_classification_targets(flat)
    return flat  # type: ignore[no-any-return]


def create_generator(random_state: Any) -> np.random.Generator:
    """Create a generator from every random state that scikit-learn allows."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
