"""What a score estimates, and what two scores must share to be compared."""

from __future__ import annotations

from typing import Any

from .._formatting import _listed
from ..designs import LeaveGroupsOut
from ..inference import Terms
from ._problem import ScoringProblem


def problem_size(problem: ScoringProblem) -> int:
    """The number of samples."""
    return len(problem.labels.codes)


def terms_of(problem: ScoringProblem, weights: Any) -> Terms:
    """What two results must share to be compared."""
    rule = f"{problem.variant.name}{_listed(problem.parameters)}"
    return Terms(problem.targets, weights, type(problem.design).__name__, problem.is_loss, rule)


def target_of(problem: ScoringProblem) -> str:
    """What the score estimates, in words."""
    terms = terms_of(problem, None)
    whole = ", whole groups at a time" if isinstance(problem.design, LeaveGroupsOut) else ""
    return (
        f"mean {problem.measure} in the population of {terms.rule}, trained on {_train_sizes(problem)} "
        f"samples drawn from it at random{whole}, over all training sets (average={problem.average!r})"
    )


def score_range_of(problem: ScoringProblem) -> tuple[float, float] | None:
    """The smallest and the largest score of one classification, or None."""
    return problem.variant.score_range(**problem.parameters)


def _train_sizes(problem: ScoringProblem) -> str:
    low = problem.smallest_train
    high = max(kind.most_train for kind in problem.training_sets)
    return f"{low}" if low == high else f"{low} to {high}"
