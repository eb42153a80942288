"""The forms of the built-in scores, and scores that installed packages offer by entry points."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, entry_points

import numpy as np

from .._typing import Array
from ._forms import FORMS, AtRank, First, Form, Reciprocal, Table

GROUP = "knnccv.retrieval_scores"
AT_RANK = ("precision", "recall", "ndcg")


def at_rank(name: str, family: str, depth: int) -> AtRank:
    """The form of "precision@k", "recall@k" and "ndcg@k"."""
    if family == "ndcg":
        return AtRank(1 / np.log2(np.arange(2, depth + 2)), normalize="ideal", name=name)
    return AtRank((1.0,) * depth, normalize="k" if family == "precision" else "R", name=name)


def precision_within(depth: int, relevant: int, divisor: int) -> Array:
    """The table of the average precision within the first `depth` ranks: precisions / `divisor`."""
    a, b = np.ogrid[: min(depth, relevant), :depth]
    table: Array = np.where(a + b < depth, (1 + a) / (1 + a + b), 0.0) / divisor
    return table


def average_within(name: str, depth: int, over: str) -> Table:
    """The form of "ap@k/r" and "ap@k/min"."""

    def phi(relevant: int) -> Array:
        return precision_within(depth, relevant, relevant if over == "r" else min(depth, relevant))

    return Table(phi, name=name)


def within_r(name: str) -> Table:
    """The form of "r_precision" and "map@r"."""

    def phi(relevant: int) -> Array:
        table = precision_within(relevant, relevant, relevant)
        return table if name == "map@r" else (table > 0) / relevant

    return Table(phi, name=name)


def forms_of(name: str, ap: str = "rectangle", n_ranks: int = 50) -> tuple[Form, ...]:
    """Forms whose mean is the built-in score; the last of `n_ranks` values of a curve.

    The forms define the scores. The walk computes some of them in ways of their own, which are faster.
    """
    family, _, depth = name.partition("@")
    if name in ("cmc", "cmc_all_shots"):
        return (First((1.0,) * n_ranks, "first" if name == "cmc" else "every", name=name),)
    if name == "ap":
        before = Reciprocal(0, constant=0, name="ap before")
        return (Reciprocal(1, name="ap"), *((before,) if ap == "trapezoid" else ()))
    if name in ("rr", "inp"):
        return (Reciprocal(1, of="first" if name == "rr" else "last", name=name),)
    if name in ("r_precision", "map@r"):
        return (within_r(name),)
    if family == "rbp":
        p = float(depth)
        deep = int(np.ceil(np.log(1e-18) / np.log(p)))
        return (AtRank((1 - p) * p ** np.arange(deep), name=name),)
    found = re.fullmatch(r"ap@(\d+)/(r|min)", name)
    if found is not None:
        return (average_within(name, int(found[1]), found[2]),)
    return (at_rank(name, family, int(depth)),)


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
