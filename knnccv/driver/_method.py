"""The choice between exact kernels and drawn training sets."""

from __future__ import annotations

from collections.abc import Sequence

from .._typing import Array, Kernel
from ..designs import GroupTrainingSets
from ..kernel import Task, Variant
from ..neighbors import Neighbors
from ._problem import ScoringProblem
from ._sampling import Sampling

SINGLE_SETS = (None, "error", "prediction")
"""Parts of a regression whose value over all training sets is the mean over single ones."""


def check_method(problem: ScoringProblem, method: str, exact: bool) -> None:
    """Raise ValueError if the rule cannot be scored by this method."""
    name = problem.variant.name
    if exact and (
        method == "sampled" or not all(_blind(problem.variant, task) for task in _tasks(problem))
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
    if problem.variant.decision() is None and problem.parameters.get("part") not in SINGLE_SETS:
        part = problem.parameters["part"]
        msg = f"part={part!r} is no mean of the scores of single training sets and cannot be sampled"
        raise ValueError(msg)
    if of_groups(problem) and problem.variant.decision() is None:
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


def of_groups(problem: ScoringProblem) -> bool:
    """Return True if whole groups are left out."""
    return isinstance(problem.training_sets[0], GroupTrainingSets)


def is_exact(problem: ScoringProblem, method: str) -> bool:
    """Return True if exact kernels score the problem; they may leave single samples out."""
    if method == "sampled":
        return False
    groups, rule = of_groups(problem), problem.variant
    return all(
        _blind(rule, task) or (not groups and rule.distance_kernel_for(task) is not None)
        for task in _tasks(problem)
    )


def sees_distances(problem: ScoringProblem) -> bool:
    """Return True if some kind of training sets is scored by a kernel that sees distances."""
    return not all(_blind(problem.variant, task) for task in _tasks(problem))


def tested_scores(problem: ScoringProblem) -> Array:
    """Bool (n_kinds, n_items): whether the sample is tested in a kind of training sets."""
    tested: Array = ~problem.never_tested()[:, problem.labels.codes]
    return tested


def may_be_sampled(problem: ScoringProblem, sampling: Sampling | None, rows: Array) -> Sampling:
    """The arguments of the sampling of samples that the kernel has left out.

    Raises
    ------
    ValueError
        If they may not be sampled, or the rule has no function `decide`.
    """
    name, some = problem.variant.name, f"{len(rows)} of {len(problem.labels.codes)} samples"
    left = (
        f"variant {name!r} cannot score {some} exactly (the first is sample {rows[0]}): its "
        "kernel does not serve these parameters, or would take too long"
    )
    if sampling is None or sampling.method == "exact":
        msg = f"{left}; method='auto' estimates these scores from random training sets"
        raise ValueError(msg)
    if problem.variant.decision() is None:
        msg = f"{left}, and it has no function decide to estimate these scores"
        raise ValueError(msg)
    return sampling


def kernels_of(rule: Variant, tasks: Sequence[Task]) -> tuple[list[Kernel], bool]:
    """A kernel for every task, and whether they see distances.

    Raises
    ------
    ValueError
        If the rule has none.
    """
    if not all(_blind(rule, task) for task in tasks):
        found = [rule.distance_kernel_for(task) for task in tasks]
        kernels = [kernel for kernel in found if kernel is not None]
        if len(kernels) == len(tasks):
            return kernels, True
    return [rule.kernel_for(task) for task in tasks], False


def _tasks(problem: ScoringProblem) -> list[Task]:
    return [task for kind in problem.training_sets for task in problem.tasks_to_check(kind)]


def _blind(rule: Variant, task: Task) -> bool:
    """Return True if the rule has a kernel for the task that sees no distances."""
    try:
        rule.kernel_for(task)
    except ValueError:
        return False
    return True
