"""What a score estimates, and what two scores must share to be compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._formatting import _listed
from .._typing import Array
from ..driver import ScoringProblem
from ..inference import Terms

UNORDERED = ("bias", "prediction")
"""Parts of a regression of which neither small nor large values are better."""


@dataclass(frozen=True)
class HalvesRequest:
    """The checked arguments of `ScoredHalves.standard_error`.

    ``groups`` int64 (n_items,) are group codes, or None; ``key`` is the same for the same halves, None if
    the random state is not a number.
    """

    n_halvings: int
    groups: Array | None
    rng: np.random.Generator
    key: Any


def check_finite(result: Any) -> None:
    """Raise ValueError if the score is not a number, as after an error of a plugin's kernel."""
    if not math.isfinite(result.score):
        msg = f"this needs a score that is a number, but the score of {result.variant!r} is {result.score}"
        raise ValueError(msg)


def problem_size(problem: ScoringProblem) -> int:
    """The number of samples."""
    return len(problem.labels.codes)


def terms_of(problem: ScoringProblem, weights: Any, error_bound: float) -> Terms:
    """What two results must share to be compared."""
    loss = problem.parameters.get("loss")
    scale = (
        None if loss is None else np.asarray(loss, dtype=float).tobytes(),
        problem.parameters.get("part"),
        problem.parameters.get("output"),
    )
    return Terms(
        problem.targets,
        weights,
        type(problem.design).__name__,
        None if problem.parameters.get("part") in UNORDERED else problem.is_loss,
        _rule(problem),
        scale,
        error_bound if math.isfinite(error_bound) else 0.0,
    )


def target_of(problem: ScoringProblem) -> str:
    """What the score estimates, in words."""
    drawn = "samples drawn from it at random"
    if problem.leaves_groups:
        drawn += ", whole groups at a time"
    elif any(kind.stratified for kind in problem.training_sets):
        per_class = getattr(problem.design, "per_class", None) is not None
        drawn += ", with given numbers of every class" if per_class else ", with their class shares here"
    average = "" if problem.average == "pooled" else f" (average={problem.average!r})"
    return (
        f"{problem.measure} in the population of {_rule(problem)}, trained on {_train_sizes(problem)} "
        f"{drawn}, averaged over all training sets{average}"
    )


def score_range_of(problem: ScoringProblem) -> tuple[float, float] | None:
    """The smallest and the largest score of one classification, or None."""
    return problem.variant.score_range(**problem.parameters)


def _rule(problem: ScoringProblem) -> str:
    return f"{problem.variant.name}{_listed(problem.parameters)}"


def _train_sizes(problem: ScoringProblem) -> str:
    low = problem.smallest_train
    high = max(kind.most_train for kind in problem.training_sets)
    return f"{low}" if low == high else f"{low} to {high}"
