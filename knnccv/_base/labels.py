"""Checks of the labels y: codes of class labels, real targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .typing import Array
from .validation import as_reals, check

_NUMBERS = (bool, int, float, complex, np.number, np.bool_)

MOST_CLASSES = 50
"""Different numbers of a target beyond which it is likely to be a quantity."""
LARGEST_TARGET = 1e140  # so that sums of squares do not overflow
_PLAIN = (bool, int, float, complex, str, bytes)


class EncodedLabels(NamedTuple):
    """Labels as codes 0 .. C-1 in sorted label order.

    ``codes`` int64 array of shape (n_items,); ``classes`` array of shape (n_classes,);
    ``counts`` int64 array of shape (n_classes,). ``pool``: the samples only train, so that all may train at
    once; others are tested.
    """

    codes: Array
    classes: Array
    counts: Array
    pool: bool = False


def encode_labels(y: Any, n_items: int | None = None, test: str = "") -> EncodedLabels:
    """Check class labels and encode them; messages name those of a test set ``y_test``.

    Raises
    ------
    ValueError
        If their shape or number is wrong, or one is missing or not finite.
    TypeError
        If they are not labels: numbers that are not whole, or objects that cannot be sorted together.
    """
    msg = f"y{test} holds masked entries; complete cross-validation needs a label for every sample"
    check(not np.ma.is_masked(y), msg)
    labels = of_one_kind(y, f"y{test}")
    check(labels.ndim == 1, f"y{test} must have shape (n_items,), got shape {labels.shape}")
    msg = f"X{test} has {n_items} samples, but y{test} has {len(labels)} labels"
    check(n_items is None or len(labels) == n_items, msg)
    if labels.dtype.kind == "f":
        _check_whole(labels, test)
    elif labels.dtype.kind == "c":
        msg = f"y{test} must hold class labels, got complex numbers ({labels.dtype})"
        raise TypeError(msg)
    elif labels.dtype.kind in "mM" and np.isnat(labels).any():
        msg = f"y{test}[{int(np.argmax(np.isnat(labels)))}] is missing (NaT)"
        raise ValueError(msg)
    try:
        classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        msg = f"the labels in y{test} cannot be sorted together: they are of types {', '.join(kinds)}"
        raise TypeError(msg) from error
    return EncodedLabels(
        np.ascontiguousarray(codes.reshape(-1), dtype=np.int64),
        classes,
        counts.astype(np.int64),
    )


def encode_together(pool: EncodedLabels, tested: EncodedLabels) -> tuple[EncodedLabels, EncodedLabels]:
    """Labels of a pool and of the samples tested, with the codes of the classes of both.

    Raises
    ------
    TypeError
        If the classes cannot be sorted together.
    """
    both = encode_labels([*pool.classes, *tested.classes], test=" and y_test")
    codes = both.codes[: len(pool.classes)], both.codes[len(pool.classes) :]
    first, second = (
        labels_of(EncodedLabels(of, both.classes, both.counts), labels.codes)
        for of, labels in zip(codes, (pool, tested), strict=True)
    )
    return first._replace(pool=True), second


def task_of(labels: Array) -> tuple[str, str]:
    """The task that a target suggests, "classification" or "regression", and why."""
    if labels.dtype.kind not in "iuf":
        return "classification", "the target holds names"
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        return "regression", "the target holds numbers that are not whole"
    n_distinct = len(np.unique(labels))
    if n_distinct > MOST_CLASSES:
        return "regression", f"the target holds {n_distinct} different numbers, more than {MOST_CLASSES}"
    return "classification", f"the target holds {n_distinct} different whole numbers"


def majority_class(labels: Array, weights: Array | None = None) -> tuple[Any, float]:
    """The label of the most samples, or of the greatest weight, and its share.

    The share is the accuracy of always answering this label, if a score gives the samples these weights. Of
    classes with equal weights that of the most samples is taken.
    """
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    # Relative to the largest, so that equal weights are 1 and their sums exact.
    sums = counts if weights is None else np.bincount(codes, weights / weights.max(), len(classes))
    shares = sums / sums.sum()
    top = max(range(len(classes)), key=lambda code: (round(shares[code], 12), counts[code]))
    return classes[top], float(shares[top])


def labels_of(labels: EncodedLabels, rows: Array) -> EncodedLabels:
    """Return the labels of some samples; the classes and their codes stay, and may have no sample."""
    codes = labels.codes[rows]
    return EncodedLabels(codes, labels.classes, np.bincount(codes, minlength=len(labels.classes)))


def groups_by_class(labels: EncodedLabels, groups: Array) -> Array:
    """The number of groups, int64 (n_classes,), that have samples of each class."""
    pairs = np.unique(np.column_stack([labels.codes, groups]), axis=0)
    return np.bincount(pairs[:, 0], minlength=len(labels.classes))


def single_class(n_items: int) -> EncodedLabels:
    """Return all samples as one class, for rules without class labels."""
    return EncodedLabels(np.zeros(n_items, np.int64), np.zeros(1, np.int64), np.array([n_items]))


def as_targets(y: Any, n_items: int, test: str = "") -> tuple[Array, Array]:
    """Check real targets; return them as float64 (n_items, n_outputs), and in the given shape.

    Raises
    ------
    ValueError, TypeError
        If their shape or number is wrong, one is missing or not finite, or they are not real numbers.
    """
    given = as_reals(f"y{test}", y, f"y{test} must hold real numbers, (n_items,) or (n_items, n_outputs)")
    msg = f"y{test} must have shape (n_items,) or (n_items, n_outputs), got shape {given.shape}"
    check(given.ndim == 1 or (given.ndim == 2 and given.shape[1] > 0), msg)
    check(len(given) == n_items, f"X{test} has {n_items} samples, but y{test} has {len(given)} targets")
    most, limit = np.abs(given).max(initial=0.0), LARGEST_TARGET
    check(most <= limit, f"targets must not exceed {limit:g} in absolute value, got {most:g}")
    given = given.copy()  # the caller may change the original
    return np.ascontiguousarray(given.reshape(n_items, -1)), given


def _check_whole(labels: Array, test: str) -> None:
    bad = ~np.isfinite(labels)
    if bad.any():
        at = int(np.argmax(bad))
        msg = f"y{test}[{at}] is {labels[at]}; every sample needs a label"
        raise ValueError(msg)
    bad = labels != np.floor(labels)
    if bad.any():
        at = int(np.argmax(bad))
        msg = (
            f"y{test}[{at}] is {labels[at]}: class labels must be whole numbers, strings or booleans; "
            "real targets are for the variant 'regression'"
        )
        raise TypeError(msg)


def one_each(values: Any) -> Array:
    """A copy of an array; a list as objects: NumPy would turn mixed types into text, tuples into rows."""
    if not isinstance(values, (list, tuple)):
        return np.array(values)
    objects = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        objects[i] = value
    return objects


def of_one_kind(y: Any, name: str = "y") -> Array:
    """Labels as an array of one type; entries are unboxed."""
    labels = one_each(y)
    if labels.dtype.kind == "T":  # NumPy's variable-width strings may hold missing ones
        labels = labels.astype(object)
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return labels
    kinds: dict[str, set[str]] = {}
    for at, label in enumerate(labels):
        if isinstance(label, (list, tuple, np.ndarray)):
            msg = f"{name} must have shape (n_items,), got {label!r} at {name}[{at}]"
            raise ValueError(msg)
        if isinstance(label, (set, frozenset, dict)):
            msg = f"{name}[{at}] is a {type(label).__name__}, which is not a class label"
            raise TypeError(msg)
        if is_missing(label):
            msg = f"{name}[{at}] is missing ({label!r}); every sample needs a label"
            raise ValueError(msg)
        kinds.setdefault(_kind(label), set()).add(type(label).__name__)
    if len(kinds) > 1:
        types = ", ".join(sorted(set().union(*kinds.values())))
        msg = f"the labels in {name} cannot be sorted together: they are of types {types}"
        raise TypeError(msg)
    for at, label in enumerate(labels):
        if isinstance(label, np.generic):
            labels[at] = label.item()
    if any(type(label) not in _PLAIN for label in labels):
        return labels
    plain = np.array(labels.tolist())
    # NumPy turns large integers into doubles, and drops NULs at the end of text: labels could merge.
    return plain if len(set(plain.tolist())) == len(set(labels.tolist())) else labels


def _kind(label: Any) -> str:
    if isinstance(label, _NUMBERS):
        return "number"
    return next((each.__name__ for each in (str, bytes) if isinstance(label, each)), type(label).__name__)


def is_missing(label: Any) -> bool:
    """Return True if the object is a missing value: None, NaN, NaT, pandas.NA."""
    # pandas.NA compares to neither True nor False; NaN, NaT and Decimal("nan") are unequal to themselves.
    if label is None or type(label).__name__ in {"NAType", "NaTType"}:
        return True
    try:
        return not isinstance(label, (str, bytes)) and bool(label != label)
    except ArithmeticError:  # a signaling Decimal
        return True
    except ValueError:  # an array: not a label, but not missing
        return False
