"""Class labels as users give them, checked and coded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .kernel import Array


class Coded(NamedTuple):
    """Labels as codes 0 .. C-1 in sorted label order.

    ``codes`` int64 array of shape (n_items,); ``classes`` array of shape (n_classes,);
    ``counts`` int64 array of shape (n_classes,).
    """

    codes: Array
    classes: Array
    counts: Array


def code_labels(y: Any, n_items: int | None = None) -> Coded:
    """Check class labels and code them.

    Raises
    ------
    ValueError
        If their shape or number is wrong, or one is missing or not finite.
    TypeError
        If they are no labels: real numbers with fractions, or things that cannot be sorted together.
    """
    if np.ma.is_masked(y):
        msg = "y holds masked entries; complete cross-validation needs a label for every item"
        raise ValueError(msg)
    labels = np.asarray(y)
    if labels.ndim != 1:
        msg = f"y must have shape (n_items,), got shape {labels.shape}"
        raise ValueError(msg)
    if n_items is not None and len(labels) != n_items:
        msg = f"X has {n_items} items, but y has {len(labels)} labels"
        raise ValueError(msg)
    if labels.dtype.kind == "f":
        _check_whole(labels)
    elif labels.dtype.kind == "O":
        _check_objects(labels)
    elif labels.dtype.kind == "c":
        msg = f"y must hold class labels, got complex numbers ({labels.dtype})"
        raise TypeError(msg)
    elif labels.dtype.kind in "mM" and np.isnat(labels).any():
        msg = f"y[{int(np.argmax(np.isnat(labels)))}] is missing (NaT)"
        raise ValueError(msg)
    try:
        classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        msg = f"the labels in y cannot be sorted together: they are of types {', '.join(kinds)}"
        raise TypeError(msg) from error
    return Coded(
        np.ascontiguousarray(codes.reshape(-1), dtype=np.int64),
        classes,
        counts.astype(np.int64),
    )


def _check_whole(labels: Array) -> None:
    bad = ~np.isfinite(labels)
    if bad.any():
        at = int(np.argmax(bad))
        msg = f"y[{at}] is {labels[at]}; every item needs a label"
        raise ValueError(msg)
    bad = labels != np.floor(labels)
    if bad.any():
        at = int(np.argmax(bad))
        msg = f"y[{at}] is {labels[at]}: class labels must be whole numbers, strings or booleans"
        raise TypeError(msg)


def _check_objects(labels: Array) -> None:
    for at, label in enumerate(labels):
        # pandas.NA compares to neither True nor False, NaN is unequal to itself.
        missing = label is None or type(label).__name__ in {"NAType", "NaTType"}
        if missing or (isinstance(label, (float, np.floating)) and label != label):
            msg = f"y[{at}] is missing ({label!r}); every item needs a label"
            raise ValueError(msg)
