"""The choice between exact kernels and drawn training sets."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.typing import Array
from ..._base.validation import check_choice, check_integer, fixed_seed
from ...kernel import Task, is_blind
from ...neighbors import Neighbors
from ._problem import ScoringProblem

METHODS = ("auto", "exact", "sampled")
MOST_DRAWS = 10_000_000
"""For each sample; the draws of a sample and a thread are in memory at once."""


@dataclass(frozen=True)
class Sampling:
    """The checked arguments `method`, `n_draws` and `random_state`, as a number."""

    method: str
    n_draws: int
    random_state: int

    @property
    def seed(self) -> int:
        """The seed of all streams of random numbers, 64 bits."""
        sequence = np.random.SeedSequence(self.random_state)
        return int(sequence.generate_state(1, np.uint64)[0])


def check_sampling(method: Any, n_draws: Any, random_state: Any) -> Sampling:
    """Return the checked arguments.

    Raises
    ------
    ValueError, TypeError
        If one is not allowed.
    """
    check_choice("method", method, METHODS)
    n_draws = check_n_draws(n_draws)
    return Sampling(method, n_draws, fixed_seed(random_state))


def check_n_draws(n_draws: Any) -> int:
    """Return the number of draws for each sample.

    Raises
    ------
    ValueError, TypeError
        If it is not allowed.
    """
    return check_integer("n_draws", n_draws, 2, MOST_DRAWS)


@dataclass(frozen=True)
class Computation:
    """A problem, the neighbors that it is solved with, and the options of the computation."""

    problem: ScoringProblem
    neighbors: Neighbors
    tol: float
    exact: bool
    n_jobs: int | None
    tie_order: int = 0
    sampling: Sampling | None = None


class InexactError(ValueError):
    """There is no exact score; the message says why."""


def check_method(problem: ScoringProblem, method: str, exact: bool) -> None:
    """Raise ValueError if the rule cannot be scored by this method."""
    name = problem.variant.name
    if exact and (
        method == "sampled" or not all(is_blind(problem.variant, task) for task in _tasks(problem))
    ):
        why = (
            f"method={method!r} draws training sets at random"
            if method == "sampled"
            else f"variant {name!r} has no kernel that scores these training sets without distances"
        )
        msg = f"exact=True computes with rational numbers, but {why}; leave out exact=True"
        raise ValueError(msg)
    if is_exact(problem, method):
        return
    rule = problem.variant
    if rule.decision() is None and (method != "sampled" or not rule.kernels()):
        kernel = "" if method == "sampled" else f"no exact kernel for cv={problem.design!r}, and "
        msg = f"variant {name!r} has {kernel}no function decide to estimate its score"
        raise ValueError(msg)
    if problem.variant.decision() is None and not problem.score.is_mean:
        name = problem.score.name
        msg = f"the {name} is no mean of the scores of single training sets and cannot be sampled"
        raise ValueError(msg)
    if problem.leaves_groups and problem.variant.decision() is None:
        most, least = problem.variant.n_nearest(**problem.parameters), problem.smallest_train
        if most > least:
            msg = (
                f"variant {name!r} without a function decide can be sampled if the smallest training set "
                f"has as many samples as decide, got {most} with a training set of {least}"
            )
            raise ValueError(msg)


def check_distances(problem: ScoringProblem, neighbors: Neighbors, method: str) -> None:
    """Raise ValueError if the rule would get distances by this method, and only the order is known."""
    rule = problem.variant
    blind = not sees_distances(problem) if is_exact(problem, method) else rule.decision() is None
    if neighbors.measured or blind or not rule.needs_distances(**problem.parameters):
        return
    weights = problem.parameters.get("weights")
    which = "" if weights is None else f" with weights={weights!r}"
    msg = (
        f"pass Neighbors.from_lists(indices, distances): variant {rule.name!r}{which} needs distances, but "
        f"{neighbors!r} hold only the order of the neighbors; rules of the order, such as 'knn', need none"
    )
    raise ValueError(msg)


def is_exact(problem: ScoringProblem, method: str) -> bool:
    """Return True if exact kernels score the problem; they may leave single samples out."""
    if method == "sampled":
        return False
    groups, rule = problem.leaves_groups, problem.variant
    return all(
        is_blind(rule, task) or (not groups and rule.distance_kernel_for(task) is not None)
        for task in _tasks(problem)
    )


def sees_distances(problem: ScoringProblem) -> bool:
    """Return True if some kind of training sets is scored by a kernel that sees distances."""
    return not all(is_blind(problem.variant, task) for task in _tasks(problem))


def may_leave_out(problem: ScoringProblem) -> bool:
    """Return True if a sample may have too many training sets to go through."""
    return problem.leaves_groups or sees_distances(problem)


def tested_scores(problem: ScoringProblem) -> Array:
    """Bool (n_kinds, n_items): whether the sample is tested in a kind of training sets."""
    tested: Array = ~problem.never_tested()[:, problem.labels.codes]
    return tested


def needs_all(given: Computation) -> bool:
    """Return True if samples may be left out, by the kernel or for many sets, and not be sampled."""
    if not may_leave_out(given.problem):
        return False
    problem, sampling = given.problem, given.sampling
    if sampling is None or sampling.method == "exact" or problem.variant.decision() is not None:
        return sampling is None or sampling.method == "exact"
    with suppress(ValueError):
        check_method(problem, "sampled", exact=False)
        return not problem.leaves_groups
    return True


def check_complete(given: Computation, rows: Array, scores: Array) -> None:
    """Raise InexactError if the kernel has left one of these samples out; `scores` (n_kinds, n_rows)."""
    problem, sampling = given.problem, given.sampling
    left = np.flatnonzero((np.isnan(scores) & tested_scores(problem)[:, rows]).any(axis=0))
    if not len(left):
        return
    why = "its kernel does not serve these parameters, or would take too long"
    if problem.leaves_groups:
        why = f"it would go through too many sets of groups of {problem.design!r}"
    msg = f"variant {problem.variant.name!r} cannot score sample {rows[left[0]]} exactly: {why}"
    if sampling is None or sampling.method == "exact":
        msg += "; method='auto' estimates such scores from random training sets"
    else:
        msg += ", and it has no function decide to estimate the score"
    raise InexactError(msg)


def _tasks(problem: ScoringProblem) -> list[Task]:
    return [task for kind in problem.training_sets for task in problem.tasks_to_check(kind)]
