"""What the scores of one draw are worth: the jackknife over identities, and Hájek's variance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from .._typing import Array
from .._validation import check_bool
from ._draw import Draw
from ._hajek import check_hajek, hajek_variances
from ._identity_groups import check_jackknife
from ._jackknife import groups_of, scores_without
from ._problem import Problem
from ._result import RetrievalScore


class Asked(NamedTuple):
    """Which errors are asked for."""

    n_groups: int  # of the jackknife; 0: none
    hajek: bool


def check_asked(problem: Problem, jackknife: Any, n_groups: Any, hajek: Any) -> Asked:
    """Check the arguments; errors as in `expected_retrieval`."""
    asked = Asked(check_jackknife(jackknife, n_groups), check_bool("hajek", hajek))
    if asked.n_groups or asked.hajek:
        _check_distances(problem, "hajek=True" if asked.hajek else 'jackknife="identity"')
    if asked.hajek:
        check_hajek(problem)
    return asked


def _check_distances(problem: Problem, name: str) -> None:
    if problem.near.truncated:
        msg = f"{name} needs the distances of all gallery items, got lists of the nearest: {problem.near!r}"
        raise ValueError(msg)
    for gallery, _ in problem.parts:
        if name == "hajek=True" and gallery.n_identities is not None:
            msg = f"{name} is not available for galleries of random identities, got {gallery!r}"
            raise ValueError(msg)


def add_errors(
    found: dict[str, RetrievalScore], draw: Draw, valid: Array, asked: Asked, n_jobs: int | None
) -> tuple[dict[str, RetrievalScore], dict[str, Any] | None]:
    """The scores with their jackknife, and Hájek's variances or None."""
    weights = found[draw.scores[0].name].weights
    if asked.n_groups:
        groups = groups_of(draw, valid, asked.n_groups)
        without = scores_without(draw, weights, groups, n_jobs)
        found = {
            name: replace(one, score_without=without[name], groups=groups) for name, one in found.items()
        }
    return found, hajek_variances(draw, weights, n_jobs) if asked.hajek else None
