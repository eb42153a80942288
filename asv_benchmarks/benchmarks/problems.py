"""Data and designs that several benchmarks share, the same in every run."""

from functools import cache

import numpy as np

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    get_variant,
    variant_names,
)

VARIANTS = variant_names()
GROUPS = "LeaveGroupsOut(5 of 60)"
DESIGNS = {
    "Subsample(0.5)": Subsample(0.5),
    "KFold(5)": KFold(5),
    "LeaveOut(1)": LeaveOut(1),
    "StratifiedSubsample(0.5)": StratifiedSubsample(0.5),
    "StratifiedKFold(5)": StratifiedKFold(5),
    GROUPS: LeaveGroupsOut(np.arange(2000) % 60, 5),
}


@cache
def gaussian(n_items, n_features=8, n_classes=3):
    """Overlapping Gaussian clouds, one per class: X, and int64 labels."""
    rng = np.random.default_rng(20000629)
    y = rng.integers(n_classes, size=n_items)
    centers = rng.normal(size=(n_classes, n_features))
    return centers[y] + rng.normal(size=(n_items, n_features)), y


def targets(variant, X, y):
    """Return the targets of `variant`: real numbers for regression, otherwise the labels."""
    return X.sum(axis=1) if variant == "regression" else y


def require(variant, design):
    """Skip a benchmark that the installed version of knnccv does not offer."""
    if variant not in variant_names():
        msg = f"this version has no variant {variant!r}"
        raise NotImplementedError(msg)
    stratified = design.startswith("Stratified")
    if getattr(type(get_variant(variant)), "stratified" if stratified else "fixed", None) is None:
        msg = f"variant {variant!r} has no kernel for {design}"
        raise NotImplementedError(msg)
