"""A table with its best setting, as the sections get it."""

from types import SimpleNamespace

import numpy as np

from knnccv import Neighbors, Subsample, complete_cv


def some_study(X, y, n_neighbors=1, train_size=None, task="classification", near=None):
    """The attributes of a `Study` that the sections on classes, items, ties and regression read."""
    X = np.asarray(X, dtype=float)
    if near is None:
        near = Neighbors.from_data(X)
    design = Subsample(train_size or int(0.8 * len(X)))
    rule = "knn" if task == "classification" else "regression"
    best = complete_cv(near, y, rule, design, n_neighbors=n_neighbors, n_jobs=1)
    rows = {"X": X, "indices": np.arange(len(X)), "rows": lambda index: list(map(str, X[index].tolist()))}
    study = SimpleNamespace(
        table=SimpleNamespace(**rows),
        y=np.asarray(y),
        task=task,
        near=near,
        best=best,
        design=design,
        n_neighbors=n_neighbors,
        n_jobs=1,
        ties=1.0,
        notes=[],
    )
    study.note = study.notes.append
    return study


def clouds(n_items=40, n_classes=2, n_features=3, seed=0, step=0.0):
    """Overlapping clouds of points and their classes; coordinates in multiples of `step` tie."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_classes
    X = rng.normal(size=(n_items, n_features)) + y[:, None]
    return (np.round(X / step) * step if step else X), y
