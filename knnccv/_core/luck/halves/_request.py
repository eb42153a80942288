"""From a result to the scores of its halves, and to what it estimates: checks, halvings, warnings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...._base.formatting import _listed
from ...._base.labels import EncodedLabels, groups_by_class
from ...._base.typing import Array
from ...._base.validation import check_integer, check_random_state
from ....designs import LeaveGroupsOut, encode_groups
from ....neighbors import Neighbors
from ...driver import Scored, ScoringProblem, class_shares
from ..inference import (
    LEAST_TRAIN_PER_NEIGHBOR,
    MOST_UNDEFINED,
    HalfScores,
    Halvings,
    Terms,
    draw_halvings,
    few_groups,
    has_one_bound,
    unequal_errors,
    unit_deviations,
)
from ._half_scores import TOLERANCE, score_halves

FEWEST_OF_CLASS = 20
"""Samples of the smallest class where all classes count alike."""
FEWEST_GROUPS_OF_CLASS = 40
"""The same, groups with such samples."""
NOTEWORTHY = 1e-4
"""Undecided share of a half's score from which a warning is given."""
MOST_UNDECIDED = 0.01
"""Undecided share of a half's score from which there is no standard error: it would be too small."""
LARGEST_GROWTH = 1.5
"""A warning is given if one answer varies by this factor more in the halves than in all samples."""


@dataclass(frozen=True)
class HalvesRequest:
    """The checked arguments of `ScoredHalves.standard_error`.

    ``groups`` int64 (n_items,) are group codes, or None.
    """

    n_halvings: int
    groups: Array | None
    rng: np.random.Generator


def check_request(
    problem: ScoringProblem, n_halvings: Any, groups: Any, random_state: Any
) -> HalvesRequest:
    """Check the arguments of `ScoredHalves.standard_error`.

    Raises
    ------
    TypeError, ValueError
        If one is not allowed.
    """
    if problem.pool is not None and (groups is not None or problem.leaves_groups):
        msg = "groups and a test set have no standard error: halves are drawn from single samples"
        raise ValueError(msg)
    n_items = len(problem.labels.codes)
    if problem.pool is not None:
        n_items = min(n_items, len(problem.pool.codes))
    return halves_request(n_items, _groups(problem, groups), n_halvings, random_state)


def halves_request(n_items: int, codes: Array | None, n_halvings: Any, random_state: Any) -> HalvesRequest:
    """The same for so many samples, or for groups with these codes."""
    n_units = n_items if codes is None else int(codes.max()) + 1
    number = check_integer("n_halvings", n_halvings, 2)
    if n_units < 4:
        units = "samples" if codes is None else "groups"
        msg = f"a standard error needs at least 4 {units}, two for each half, got {n_units}"
        raise ValueError(msg)
    return HalvesRequest(number, codes, check_random_state(random_state))


def halves_of(
    problem: ScoringProblem,
    neighbors: Neighbors,
    result: Scored,
    request: HalvesRequest,
    n_jobs: int | None,
) -> HalfScores:
    """Draw and score halves, see `ScoredHalves.standard_error`.

    Raises
    ------
    ValueError
        If halves cannot be scored, or the neighbor lists are much too short for them.
    """
    halvings = halvings_of(problem, request)
    found = score_halves(problem, neighbors, halvings, n_jobs)
    deviations = np.empty(0)
    if has_one_bound(problem.score.range):
        deviations = unit_deviations(result.per_item, result.weights, request.groups)
    nearest = problem.variant.n_nearest(**problem.parameters) if problem.radius is None else 1
    halves = halves_with_warnings(problem, neighbors, halvings, found, result.score, nearest)
    return replace(
        halves,
        n_answers=1 / float(np.square(result.weights).sum()),
        deviations=deviations,
        floors=floors_of(problem, result, request.groups) if has_floors(problem) else halves.floors,
        warnings=(
            *halves.warnings,
            *_small_classes(problem, request.groups),
            *unequal_errors(result.score, deviations),
        ),
    )


def halves_with_warnings(
    problem: ScoringProblem,
    neighbors: Neighbors,
    halvings: Halvings,
    found: tuple[Array, Any, Any],
    score: Any,
    nearest: Any,
) -> HalfScores:
    """The scores of halves, with warnings where intervals were found to be unreliable.

    Of a surface, warnings have the number of cells, and cells whose lists end too early have no scores.

    Parameters
    ----------
    found : tuple
        The scores of the halves, (n_halvings, 2, ...), NaN where the rule does not suit them, their mean
        training size, and the share of a half that is undecided.
    score, nearest : float and int, or ndarray of shape (n_K, n_sizes) and (n_K, 1)
        The score of all samples, and K.

    Raises
    ------
    ValueError
        If the neighbor lists are much too short for halves.
    """
    scores, train_size, undecided = found
    unsuited: Array = np.mean(np.isnan(scores), axis=(0, 1)) > MOST_UNDEFINED
    cut: Array = np.logical_and(undecided > MOST_UNDECIDED, np.logical_not(unsuited))
    unknown = unsuited | cut
    if cut.any() and unknown.all():
        least = np.asarray(undecided)[cut].min()
        msg = (
            f"a standard error needs deeper neighbor lists: they end so early that {least:.2g} of a half's "
            f"weight is undecided, at most {MOST_UNDECIDED} is allowed; give longer lists than "
            f"{neighbors.max_depth} neighbors"
        )
        raise ValueError(msg)
    scores[:, :, cut] = np.nan
    halves = HalfScores(
        scores,
        halvings.n_units,
        halvings.of_groups,
        train_size,
        drawn=halvings.digest,
        resolution=TOLERANCE * problem.largest,
    )
    halves = replace(halves, growth=_growth(problem, score, halves.mean))
    largest = float(np.where(unknown, 0.0, undecided).max())
    many = both = ""  # the numbers, where there is one score
    if np.ndim(score) == 0:
        many = f"{train_size:.4g} samples, fewer than 4 K = {4 * nearest}"
        both = f"{halves.mean:.4g}, all of them {score:.4g}"
    texts = _texts(
        (
            neighbors.approximate,
            "the neighbors are approximate, so the scores of the halves are not certified",
        ),
        (
            largest > NOTEWORTHY,
            f"the neighbor lists end too early for halves of the samples: up to {largest:.2g} of a half's "
            "weight is undecided and counts as a score of 0",
        ),
        (
            cut,
            "the neighbor lists end too early for halves of the samples, and more than "
            f"{MOST_UNDECIDED:g} of a half's weight is undecided; there the standard error is NaN",
        ),
        (
            unsuited,
            "the rule does not suit training sets of halves of the samples; there the standard error is "
            "NaN",
        ),
        (
            (train_size < LEAST_TRAIN_PER_NEIGHBOR * nearest) & np.logical_not(unknown),
            f"the halves train on {many or 'fewer than 4 K samples'}: 95% intervals were found to contain "
            "the true score in 86 to 97% of the data sets",
        ),
        (
            _has_grown(problem, score, halves.mean),
            f"halves of the samples score {both or 'much worse than all of them'}: the rule needs more "
            "than half of the data, and the standard error is probably too large",
        ),
    )
    return replace(halves, warnings=(*texts, *few_groups(halvings)))


def _texts(*limits: tuple[Any, str]) -> tuple[str, ...]:
    """The warnings whose condition holds; of conditions for cells of a surface with their number."""
    found = []
    for holds, text in limits:
        cells = f"in {np.sum(holds)} of {np.size(holds)} cells: " if np.ndim(holds) else ""
        if np.any(holds):
            found.append(f"{cells}{text}")
    return tuple(found)


def halvings_of(problem: ScoringProblem, request: HalvesRequest) -> Halvings:
    """Random halvings for the design of a problem."""
    stratified = any(kind.stratified for kind in problem.training_sets)

    def drawn(
        labels: EncodedLabels, groups: Array | None = None, *, by_class: bool = stratified
    ) -> Halvings:
        classes = labels.codes if by_class else None
        return draw_halvings(
            request.n_halvings, len(labels.codes), request.rng, groups=groups, classes=classes
        )

    if problem.pool is None:
        return drawn(problem.labels, request.groups)
    tested, pool = drawn(problem.labels, by_class=False), drawn(problem.pool)
    return tested.before(pool)


def _groups(problem: ScoringProblem, groups: Any) -> Any:
    """The group codes of the samples, or None for samples that are drawn singly."""
    own = cast(LeaveGroupsOut, problem.design).codes if problem.leaves_groups else None
    if groups is None:
        return own
    if own is not None:
        msg = "groups cannot be given for LeaveGroupsOut: halves are drawn from its own groups"
        raise ValueError(msg)
    return encode_groups(groups, n_items=len(problem.labels.codes))[1]


def _small_classes(problem: ScoringProblem, groups: Array | None) -> list[str]:
    """Warnings about classes that count much, and have few samples or lie in few groups."""
    texts, smallest = [], int(min(count for count in problem.labels.counts if count))
    rare = _rare_class(problem)
    if rare is not None:
        texts.append(
            f"class {rare[0]!r} has {rare[1]} samples, fewer than {FEWEST_OF_CLASS}, and counts more than "
            "its share of them: the standard error is uncertain"
        )
    if problem.average == "class" and smallest < FEWEST_OF_CLASS:
        texts.append(
            f"the smallest class has {smallest} samples, fewer than {FEWEST_OF_CLASS}, and counts as "
            "much as the others: 95% intervals were found to contain the true score in 96 to 99% of the "
            "data sets"
        )
    elif problem.average == "class" and groups is not None:
        counts = groups_by_class(problem.labels, groups)
        n_groups = int(counts[counts > 0].min())
        if n_groups < FEWEST_GROUPS_OF_CLASS:
            texts.append(
                f"one class has samples in {n_groups} groups, fewer than {FEWEST_GROUPS_OF_CLASS}, and "
                "counts as much as the others: 95% intervals were found to contain the true score in 94 to "
                "99% of the data sets"
            )
    return texts


def has_floors(problem: ScoringProblem) -> bool:
    """Return True if answers are scored, and classes count by other shares than their samples'."""
    has_answers = problem.score.is_share or problem.loss is not None
    return problem.measure != problem.score.name and has_answers


def floors_of(problem: ScoringProblem, result: Any, groups: Array | None) -> Array:
    """`HalfScores.floors` of a result for all samples."""
    codes, counts, of_pairs = problem.labels.codes, problem.labels.counts, problem.single_neighbor_scores()
    parts = np.where(result.weights > 0, result.weights * result.per_item, 0.0)
    own, shares = (np.bincount(codes, each, len(counts)) for each in (parts, result.weights))
    ends = [of_pairs.min(axis=1), of_pairs.max(axis=1)][:: -1 if problem.is_loss else 1]
    if groups is not None:
        counts = np.bincount(np.unique([codes, groups], axis=1)[0], minlength=len(counts))
    return np.column_stack([*(result.score - own + shares * end for end in ends), counts])


def _rare_class(problem: ScoringProblem) -> tuple[Any, int] | None:
    """The smallest class to which target priors give more weight than its samples, if it is small."""
    if not isinstance(problem.average, Mapping):
        return None
    labels = problem.labels
    shares = class_shares(problem.average, labels)
    raised = [
        (int(count), name)
        for name, count, share in zip(labels.classes.tolist(), labels.counts, shares, strict=True)
        if count < FEWEST_OF_CLASS and share * len(labels.codes) > int(count)
    ]
    return None if not raised else min(raised, key=lambda pair: pair[0])[::-1]


def _growth(problem: ScoringProblem, score: Any, half_score: Any) -> Any:
    """How much larger an error without an upper bound is in the halves; 1 for other scores."""
    if not (problem.is_loss and has_one_bound(problem.score.range)):
        return 1.0
    larger = np.isfinite(half_score) & (score > 0) & (half_score > score)
    found = np.where(larger, half_score, 1.0) / np.where(larger, score, 1.0)
    return found if found.ndim else float(found)


def _has_grown(problem: ScoringProblem, score: Any, half_score: Any) -> Any:
    """True where halves score so much worse that their scatter says little about all samples.

    The scores are numbers, or arrays of one shape.
    """
    limits = problem.score.range
    if limits is None or has_one_bound(limits):
        return problem.is_loss & (score > 0) & (LARGEST_GROWTH * score < half_score)
    low, high = limits
    of_all, of_half = ((high - each) * (each - low) for each in (score, half_score))
    few = (high - low) ** 2 / len(problem.labels.codes)
    return of_half > LARGEST_GROWTH * of_all + few


def check_finite(result: Any) -> None:
    """Raise ValueError if the score is not a number, as after an error of a plugin's kernel."""
    if not math.isfinite(result.score):
        msg = f"this needs a score that is a number, but the score of {result.variant!r} is {result.score}"
        raise ValueError(msg)


def terms_of(problem: ScoringProblem, result: Scored) -> Terms:
    """What two results must share to be compared, and how to read them."""
    scale = (
        None if problem.loss is None else np.asarray(problem.loss, dtype=float).tobytes(),
        problem.parameters.get("part"),
        problem.parameters.get("output"),
    )
    return Terms(
        problem.targets,
        result.weights,
        type(problem.design).__name__,
        problem.score.is_loss,
        _rule(problem),
        scale,
        result.error_bound if math.isfinite(result.error_bound) else 0.0,
        _groups(problem, None),
        target_of(problem),
        problem.score.range,
        train_sizes=_train_sizes(problem),
    )


def target_of(problem: ScoringProblem) -> str:
    """What the score estimates, in words."""
    drawn = "samples drawn from it at random"
    if problem.leaves_groups:
        drawn += ", whole groups at a time"
    elif any(kind.stratified for kind in problem.training_sets):
        drawn += f", {problem.design.class_sizes_in_words()}"
    average = "" if problem.average == "pooled" else f" (average={problem.average!r})"
    sizes = " to ".join(map(str, dict.fromkeys(_train_sizes(problem))))
    return (
        f"{problem.measure} in the population of {_rule(problem)}, trained on {sizes} "
        f"{drawn}, averaged over all training sets{average}"
    )


def _rule(problem: ScoringProblem) -> str:
    return f"{problem.variant.name}{_listed(problem.parameters)}"


def _train_sizes(problem: ScoringProblem) -> tuple[int, int]:
    return problem.smallest_train, max(kind.most_train for kind in problem.training_sets)
