"""What the pictures read of a surface."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array

MAX_IN_LEGEND = 10
FIELDS = ("scores", "n_neighbors", "train_sizes", "is_loss", "variant", "measure", "best")


def check_surface(surface: Any, with_interval: bool = False) -> None:
    needed = (*FIELDS, "confidence_interval", "not_worse") if with_interval else FIELDS
    if not all(hasattr(surface, name) for name in needed):
        msg = f"surface must be a result of knnccv.surface, got {surface!r}"
        raise TypeError(msg)


def choose(name: str, wanted: Any, known: Array) -> Array:
    """The positions of the wanted values among the known ones; all positions for None."""
    if wanted is None:
        return np.arange(len(known))
    places = []
    for value in np.atleast_1d(wanted).tolist():
        found = np.flatnonzero(known == value)
        if not len(found):
            msg = f"{name} must be among those of the surface ({', '.join(map(str, known))}), got {value!r}"
            raise ValueError(msg)
        places.append(found[0])
    if not places:
        msg = f"{name} must hold at least one number, got {wanted!r}"
        raise ValueError(msg)
    return np.array(places)


def neighbors_name(surface: Any) -> str:
    return "R" if surface.variant == "rank" else "K"


def score_name(surface: Any) -> str:
    return surface.measure or ("expected loss" if surface.is_loss else "mean score")
