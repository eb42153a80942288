"""Scores by their names: forms of the built-in ones, and those that installed packages offer."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

import numpy as np

from .._typing import Array
from ._forms import FORMS, AtRank, Form, Table

GROUP = "knnccv.retrieval_scores"
AT_RANK = ("precision", "recall", "ndcg")


def at_rank(name: str, family: str, depth: int) -> AtRank:
    """The form of "precision@k", "recall@k" and "ndcg@k"."""
    if family == "ndcg":
        return AtRank(1 / np.log2(np.arange(2, depth + 2)), normalize="ideal", name=name)
    return AtRank((1.0,) * depth, normalize="k" if family == "precision" else "R", name=name)


def average_within(name: str, depth: int, over: str) -> Table:
    """The form of "ap@k/r" and "ap@k/min"."""

    def phi(relevant: int) -> Array:
        a, b = np.ogrid[: min(depth, relevant), :depth]
        precisions: Array = np.where(a + b < depth, (1 + a) / (1 + a + b), 0.0)
        return precisions / (relevant if over == "r" else min(depth, relevant))

    return Table(phi, name=name)


def offered() -> list[str]:
    """Names of the scores that installed packages offer."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load(name: str) -> Form | None:
    """The score that an installed package offers under this name, or None.

    Raises
    ------
    ValueError
        If two packages offer different scores under the name.
    ImportError
        If the score cannot be imported.
    TypeError
        If it is not of one of the forms, or has another name.
    """
    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not points:
        return None
    if len(points) > 1:
        owners = " and ".join(_owner(point) for point in points.values())
        msg = f"two installed packages offer a score named {name!r}: {owners}; uninstall one of them"
        raise ValueError(msg)
    (point,) = points.values()
    try:
        form: Form = point.load()
    except Exception as error:
        msg = f"the score {name!r} of {_owner(point)} cannot be imported: {error}"
        raise ImportError(msg) from error
    if not isinstance(form, FORMS) or form.name != name:
        msg = f"{_owner(point)} must be a Reciprocal, AtRank, First or Table named {name!r}, got {form!r}"
        raise TypeError(msg)
    return form


def _owner(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unnamed package"
    return f"{point.value} (package {package})"
