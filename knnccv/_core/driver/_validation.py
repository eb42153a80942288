"""The arguments that define a problem are checked, and it is decided how the problem is scored."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ..._base.labels import (
    MOST_CLASSES,
    EncodedLabels,
    as_targets,
    encode_labels,
    encode_together,
    single_class,
)
from ..._base.typing import Array
from ..._base.validation import check_choice, check_integer, fixed_seed
from ...designs import as_design
from ...kernel import DECIDES, Task, Variant, is_blind
from ...kernel.registry import get_variant
from ...neighbors import Neighbors
from ._deepen import callers_level
from ._problem import (
    ScoringProblem,
    Way,
    check_average,
    check_labels_of,
    check_tested,
    item_weights,
    kinds_of,
)

TIES = ("index", "random")
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


class Pool(NamedTuple):
    """The samples that only train: their labels, as the caller gave them, and their number."""

    y: Any
    n_items: int


def validate_problem(
    y: Any,
    n_items: int,
    variant: str | Variant | type[Variant],
    cv: Any,
    ties: str | None,
    average: Any,
    parameters: Mapping[str, Any],
    method: str | None = None,
    pool: Pool | None = None,
) -> ScoringProblem:
    """Check all arguments that define a problem.

    The rule needs kernels that see no distances, unless the `method` of `complete_cv` is given. With a
    `pool`, y are the labels of the samples that are tested.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed, or arguments contradict each other.
    """
    rule = get_variant(variant)
    settings = rule.settings(parameters)
    has_kernels = any(form != DECIDES for _, form in rule.compiled_functions())
    tie_rules = rule.tie_rules if has_kernels else TIES
    if ties is None:
        ties = "random" if "random" in tie_rules else "index"
    check_choice("ties", ties, TIES)
    average = check_average(average)
    if ties not in tie_rules:
        allowed = " or ".join(repr(name) for name in tie_rules)
        msg = f"variant {rule.name!r} offers ties={allowed}, got ties={ties!r}"
        raise ValueError(msg)
    design = as_design(cv, stratified=rule.target != "values")
    values = np.empty((0, 0))
    from_pool, test = None, "" if pool is None else "_test"
    if rule.target == "values":
        values, targets = as_targets(y, n_items, test)
        labels = single_class(n_items)
        if pool is not None:
            values, from_pool = _with_pool_targets(values, pool)
    else:
        labels = encode_labels(y, n_items, test)
        if labels.classes.dtype.kind == "f" and len(labels.classes) > MOST_CLASSES:
            msg = (
                "take variant='regression', or a regressor of scikit-learn, to predict numbers, or pass "
                f"integers if they are names: y holds {len(labels.classes)} different floats, each a class"
            )
            warnings.warn(msg, UserWarning, stacklevel=callers_level())
        if pool is not None:
            from_pool, labels = encode_together(encode_labels(pool.y, pool.n_items), labels)
        targets = labels.classes[labels.codes]
        trained = labels if from_pool is None else from_pool
        settings = dict(rule.for_classes(labels.classes, trained.counts, **settings))
    check_labels_of(average, labels, rule.target == "classes", rule.name)
    # Checked here, since the message of the design would be less helpful.
    unfit = design.stratifies and rule.target == "values"
    training_sets = () if unfit else kinds_of(design, labels, from_pool)
    if unfit or (rule.target == "values" and any(kind.stratified for kind in training_sets)):
        msg = f"variant {rule.name!r} has real targets, no classes to stratify by; got cv={design!r}"
        raise ValueError(msg)
    weights = item_weights(design, training_sets, labels, average, from_pool)
    check_tested(average, weights, labels, design)
    problem = ScoringProblem(
        rule,
        settings,
        labels,
        design,
        training_sets,
        weights,
        ties,
        average,
        values,
        targets,
        from_pool,
    )
    for task in problem.tasks_to_check(training_sets):
        rule.check(task, **settings)
    check_integer(f"n_nearest of variant {rule.name!r}", rule.n_nearest(**settings), 1)
    rule.check_targets(values, **settings)
    own = copy.deepcopy(settings)  # the caller may change the original
    return replace(problem, parameters=own, way=way_of(problem, method, cv))


def _with_pool_targets(values: Array, pool: Pool) -> tuple[Array, EncodedLabels]:
    """The targets of the samples tested and of the pool after them; and the pool as one class."""
    others, _ = as_targets(pool.y, pool.n_items)
    if others.shape[1] != values.shape[1]:
        msg = f"y_test has {values.shape[1]} outputs, but y has {others.shape[1]}"
        raise ValueError(msg)
    return np.concatenate([values, others]), single_class(pool.n_items)._replace(pool=True)


def with_parameters(problem: ScoringProblem, **parameters: Any) -> ScoringProblem:
    """The problem with other parameters of the rule."""
    other = replace(problem, parameters={**problem.parameters, **parameters})
    return replace(other, way=way_of(other, problem.way.method))


def way_of(problem: ScoringProblem, method: str | None, cv: Any = None) -> Way:
    """Decide how a problem is scored; `cv` is the design as the caller gave it.

    Raises
    ------
    ValueError
        If the rule cannot be scored by this method.
    """
    rule, groups, can_decide = (
        problem.variant,
        problem.leaves_groups,
        problem.variant.decision() is not None,
    )
    by_kernels, sees_distances = method != "sampled", False
    for task in problem.tasks_to_check(problem.training_sets):
        if is_blind(rule, task):
            continue
        by_distance = rule.distance_kernel_for(task) is not None
        if method is None or not (by_distance or method == "sampled" or (method == "auto" and can_decide)):
            _check_kernel(rule, task, cv)
        by_kernels, sees_distances = by_kernels and by_distance and not groups, True
    if not by_kernels:
        why = _why_not_sampled(problem, method)
        if why:
            raise ValueError(why)
    drawn_by_kernel = groups and not _why_not_sampled(problem, "sampled")
    samples_rest = method in ("auto", "sampled") and (can_decide or drawn_by_kernel)
    return Way(method, by_kernels, sees_distances, groups or sees_distances, samples_rest)


def _check_kernel(rule: Variant, task: Task, cv: Any) -> None:
    """Raise ValueError if the rule has no kernel; for a number of folds, name the design that it means."""
    try:
        rule.kernel_for(task)
    except ValueError as error:
        kind = type(rule)
        if not isinstance(cv, Integral) or kind.stratified is not None or kind.fixed is None:
            raise
        msg = (
            f"variant {rule.name!r} has no kernel for stratified training sets, but cv={cv} means "
            f"stratified folds; take cv=KFold({cv}) (on the command line --no-stratify)"
        )
        raise ValueError(msg) from error


def _why_not_sampled(problem: ScoringProblem, method: str | None) -> str:
    """Why training sets that are drawn do not give the score; empty if they do."""
    rule = problem.variant
    if method == "exact":
        return (
            f"variant {rule.name!r} has no exact kernel for cv={problem.design!r}; method='auto' estimates "
            "scores from random training sets"
        )
    if rule.decision() is not None:
        return ""
    if method != "sampled" or not rule.kernels():
        kernel = "" if method == "sampled" else f"no exact kernel for cv={problem.design!r}, and "
        return f"variant {rule.name!r} has {kernel}no function decide to estimate its score"
    if not problem.score.is_mean:
        name = problem.score.name
        return f"the {name} is no mean of the scores of single training sets and cannot be sampled"
    most, least = rule.n_nearest(**problem.parameters), problem.smallest_train
    if problem.leaves_groups and most > least:
        return (
            f"variant {rule.name!r} without a function decide can be sampled if the smallest training set "
            f"has as many samples as decide, got {most} with a training set of {least}"
        )
    return ""


def check_exact(problem: ScoringProblem, neighbors: Neighbors) -> None:
    """Raise ValueError if the score cannot be a rational number."""
    method = problem.way.method
    if method == "sampled":
        why = f"method={method!r} draws training sets at random"
    elif problem.way.sees_distances:
        name = problem.variant.name
        why = f"variant {name!r} has no kernel that scores these training sets without distances"
    elif neighbors.approximate:
        msg = (
            f"exact=True needs exact neighbors, but those of {neighbors!r} are approximate: a fraction "
            "would suggest that the score is exact"
        )
        raise ValueError(msg)
    else:
        return
    msg = f"exact=True computes with rational numbers, but {why}; leave out exact=True"
    raise ValueError(msg)


def check_distances(problem: ScoringProblem, neighbors: Neighbors) -> None:
    """Raise ValueError if the rule would get distances, and only the order is known."""
    rule, way = problem.variant, problem.way
    reads = way.sees_distances if way.by_kernels else rule.decision() is not None
    if neighbors.measured or not reads or not rule.needs_distances(**problem.parameters):
        return
    weights = problem.parameters.get("weights")
    which = "" if weights is None else f" with weights={weights!r}"
    msg = (
        f"pass Neighbors.from_lists(indices, distances): variant {rule.name!r}{which} needs distances, but "
        f"{neighbors!r} hold only the order of the neighbors; rules of the order, such as 'knn', need none"
    )
    raise ValueError(msg)
