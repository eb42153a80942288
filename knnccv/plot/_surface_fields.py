"""What the pictures read of a surface."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._typing import Array

MAX_IN_LEGEND = 10
FIELDS = ("scores", "n_neighbors", "train_sizes", "is_loss", "variant", "measure", "best")


class Surface(Protocol):
    """The fields of a result of `knnccv.surface` that the pictures read."""

    @property
    def scores(self) -> Array: ...

    @property
    def n_neighbors(self) -> Array: ...

    @property
    def train_sizes(self) -> Array: ...

    @property
    def is_loss(self) -> bool: ...

    @property
    def variant(self) -> str: ...

    @property
    def measure(self) -> str: ...

    def best(self, train_size: int | None = None) -> Any:
        """Return the best number of neighbors and its score."""

    def confidence_interval(
        self,
        confidence_level: float = 0.95,
        *,
        n_halvings: int = 200,
        groups: Any = None,
        random_state: Any = 0,
    ) -> Any:
        """Return intervals of all scores, with `low` and `high`."""

    def not_worse(
        self,
        confidence_level: float = 0.95,
        *,
        n_halvings: int = 200,
        groups: Any = None,
        random_state: Any = 0,
    ) -> Array:
        """Return a mask of the numbers of neighbors that are not significantly worse than the best."""


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


def neighbors_name(surface: Surface) -> str:
    return "R" if surface.variant == "rank" else "K"


def score_name(surface: Surface) -> str:
    return surface.measure or ("expected loss" if surface.is_loss else "mean score")
