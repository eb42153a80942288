"""`permutation_test`: the exact score among those of permuted labels, on the same neighbor lists."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from ..._base.formatting import Result
from ..._base.parallel import check_pool, for_each
from ..._base.typing import Array
from ..._base.validation import check_integer
from ...designs import LeaveGroupsOut, TrainingSets, encode_groups
from ...kernel import Variant
from ...neighbors import as_neighbors
from ..driver import (
    Evaluation,
    Scored,
    Scores,
    ScoringProblem,
    check_distances,
    check_sampling,
    summarize_scores,
    validate_problem,
)
from .results import is_mean_over_kinds, scored, scorer_of

TOL = 1e-12
"""The admissible error of every score, as in `complete_cv`."""


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTest(Result):
    """The exact score of the data among those of permuted labels.

    Attributes
    ----------
    score : float
        The score of the data, as `complete_cv` gives it.
    pvalue : float
        (1 + the number of permutations at least as good) / (1 + n_permutations). Scores that are equal up
        to their error bounds count as at least as good.
    std_error : float
        Of the p value, for other permutations: sqrt(p (1 - p) / (1 + n_permutations)).
    scores : ndarray of shape (n_permutations,)
        The scores of the permuted labels.
    null_mean, null_std : float
        Their mean and standard deviation.
    z : float
        How many `null_std` the score is better than `null_mean`; positive is better for losses as well.
        NaN where all permutations have the same score.
    is_loss : bool
        Whether a smaller score is better.
    exchanged : str
        What was permuted: "labels of samples", "labels within groups" or "labels of whole groups".
    variant, design, measure : str
        As in `CompleteCV`.
    parameters : dict
        The parameters of the rule.
    seconds : float
        Wall time.

    Examples
    --------
    >>> from knnccv import permutation_test
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = permutation_test(wine.X, wine.y, "nn", n_permutations=19, random_state=0)
    >>> round(found.pvalue, 4)
    0.05
    """

    _json = (
        "score pvalue std_error null_mean null_std z is_loss exchanged variant parameters design measure "
        "scores seconds"
    )

    score: float
    pvalue: float
    scores: Array
    is_loss: bool
    exchanged: str
    variant: str
    design: str
    measure: str
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def std_error(self) -> float:
        """Standard error of the p value, for other permutations."""
        return math.sqrt(self.pvalue * (1 - self.pvalue) / (1 + len(self.scores)))

    @property
    def null_mean(self) -> float:
        """Mean score of the permuted labels."""
        return float(self.scores.mean())

    @property
    def null_std(self) -> float:
        """Standard deviation of the scores of permuted labels; NaN for a single one."""
        return float(self.scores.std(ddof=1)) if len(self.scores) > 1 else math.nan

    @property
    def z(self) -> float:
        """The score's distance from `null_mean` in units of `null_std`; positive is better."""
        better = self.null_mean - self.score if self.is_loss else self.score - self.null_mean
        return better / self.null_std if self.null_std > 0 else math.nan


def permutation_test(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    n_permutations: int = 999,
    groups: Any = None,
    strata: Any = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    average: Any = "pooled",
    ties: str | None = None,
    **parameters: Any,
) -> PermutationTest:
    """Test whether labels can be predicted better than permuted labels: scikit-learn's, with exact scores.

    The score of every permutation is the exact mean over all training sets, so the luck of the split blurs
    neither the score of the data nor those of the permutations. Neighbors are searched once.

    Parameters
    ----------
    X, y, variant, cv, metric, metric_params, average, ties, **parameters
        As for `complete_cv`. The distances must not be fitted to the labels. A rule without an exact kernel
        is sampled, with the same draws for all permutations.
    n_permutations : int, default 999
        Number of random permutations, at least 1. The smallest p value is ``1 / (1 + n_permutations)``.
    groups : array of shape (n_items,), optional
        The group of every sample. As in scikit-learn's ``permutation_test_score``, labels are permuted
        within each group. Where every group has one label (a patient's diagnosis) that would change
        nothing: the labels of whole groups are exchanged instead, among groups of equal size. Default:
        those of `LeaveGroupsOut`, otherwise all samples are one group. `exchanged` of the result says what
        was done. Groups whose size no other group has keep their labels, so that no class gains samples.
    strata : array of shape (n_items,), optional
        Labels are exchanged only between samples, or whole groups, of the same stratum, such as a hospital.
    random_state : int, numpy Generator or None, default 0
        Seed of the permutations.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.

    Returns
    -------
    PermutationTest

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed, no permutation can change the labels, or distances were fitted to
        the labels.

    Notes
    -----
    Ojala & Garriga, "Permutation Tests for Studying Classifier Performance", JMLR 11, 2010, test 1. The p
    value is that of Phipson & Smyth, "Permutation P-values Should Never Be Zero", 2010: under the null
    hypothesis it is at most q with a probability of at most q, for any number of permutations.

    Examples
    --------
    >>> from knnccv import permutation_test
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> test = permutation_test(wine.X, wine.y, "knn", cv=5, n_permutations=99)
    >>> round(test.score, 3), test.pvalue, round(test.null_mean, 2)
    (0.696, 0.01, 0.35)
    """
    started = time.perf_counter()
    n_permutations = check_integer("n_permutations", n_permutations, 1)
    check_pool(n_jobs, None, progress=False)
    neighbors = as_neighbors(X, metric, metric_params)
    if neighbors.fitted_to_labels:
        msg = (
            f"take a distance that does not use labels: {neighbors!r} were fitted to the labels of the "
            "data, so that permuted labels would be worse even where nothing can be predicted"
        )
        raise ValueError(msg)
    sampling = check_sampling("auto", 1000, random_state)
    problem = validate_problem(y, neighbors.n_items, variant, cv, ties, average, parameters, "auto")
    check_distances(problem, neighbors)
    if problem.score.is_loss is None or not problem.score.is_mean:
        msg = (
            "ask for a score of each training set that is better if it is smaller or larger, such as "
            f"part='error' of regression: the {problem.score.name} is not"
        )
        raise ValueError(msg)
    exchanged, blocks = exchangeable(problem, groups, strata)
    given = Evaluation(problem, neighbors, TOL, False, n_jobs, sampling=sampling)
    found = scored(given, keep=True)
    permuted = with_permuted_labels(given, found.depth)
    scores, bounds = np.empty((2, n_permutations))

    def score(at: int) -> None:
        one = permuted(permutation(blocks, neighbors.n_items, (sampling.random_state, at)))
        scores[at], bounds[at] = one.score, one.truncation_bound

    for_each(score, range(n_permutations), n_jobs)
    better = found.score - scores if problem.is_loss else scores - found.score
    n_good = int((better >= -(bounds + found.truncation_bound)).sum())
    return PermutationTest(
        score=found.score,
        pvalue=(1 + n_good) / (1 + n_permutations),
        scores=scores,
        is_loss=problem.is_loss,
        exchanged=exchanged,
        variant=problem.variant.name,
        design=repr(problem.design),
        measure=problem.measure,
        parameters=problem.parameters,
        seconds=time.perf_counter() - started,
    )


def exchangeable(problem: ScoringProblem, groups: Any, strata: Any) -> tuple[str, list[Array]]:
    """What is exchanged, in words, and the blocks within which it is.

    Returns
    -------
    exchanged : str
    blocks : list of int64 ndarray of shape (n_units, size)
        The samples of units that may exchange their labels; only blocks in which labels differ.
    """
    targets = np.unique(problem.targets, axis=0, return_inverse=True)[1].reshape(-1)
    n_items = len(targets)
    group, stratum = _codes("groups", groups, n_items), _codes("strata", strata, n_items)
    if groups is None and problem.leaves_groups:
        group = cast(LeaveGroupsOut, problem.design).codes
    order = np.argsort(group, kind="stable")
    units = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    whole = len(units) > 1 and all((targets[unit] == targets[unit[0]]).all() for unit in units)
    exchanged = "labels of whole groups" if whole else "labels within groups"
    if not whole:
        exchanged = exchanged if len(units) > 1 else "labels of samples"
        units = list(order[:, None])
    elif any((stratum[unit] != stratum[unit[0]]).any() for unit in units):
        msg = (
            "all samples of a group must have the same stratum, since labels of whole groups are exchanged"
        )
        raise ValueError(msg)
    keyed: dict[tuple[int, int, int], list[Array]] = {}
    for unit in units:
        key = len(unit), int(stratum[unit[0]]), 0 if whole else int(group[unit[0]])
        keyed.setdefault(key, []).append(unit)
    blocks = [np.array(some) for some in keyed.values()]
    blocks = [block for block in blocks if len(np.unique(targets[block[:, 0]])) > 1]
    if not blocks:
        among = "whole groups of equal size" if whole else "samples of one group"
        msg = (
            f"y must have different labels among the {among}{'' if strata is None else ' and stratum'}, "
            "but they are all equal there: no permutation changes anything"
        )
        raise ValueError(msg)
    return exchanged, blocks


def with_permuted_labels(given: Evaluation, depth: int) -> Callable[[Array], Scored]:
    """A function of a permutation of the samples: the score with the labels of ``permutation[i]``.

    It may be called in threads. All calls share the lists of this depth, and the kernels' tables: half the
    time of `scored`. Where a list is too short for some labels, where many samples are equal, and for rules
    that see distances or are sampled, `scored` computes the score.
    """
    problem, near, way = given.problem, given.neighbors, given.problem.way
    single = problem.ties != "random" or problem.leaves_groups or near.distinct_rows() is None
    shared = single and way.by_kernels and not way.sees_distances and is_mean_over_kinds(problem)
    lists = near.all_lists(depth, given.n_jobs) if shared else None
    rows = np.arange(near.n_items)

    @functools.lru_cache(maxsize=64)  # folds may depend on the order in which the classes appear
    def scorer_for(kinds: tuple[TrainingSets, ...]) -> Any:
        return scorer_of(replace(given, problem=replace(problem, training_sets=kinds)))

    def score(permutation: Array) -> Scored:
        permuted = problem.with_labels_of(permutation)
        if lists is not None:
            scorer = replace(scorer_for(permuted.training_sets), labels=permuted.kernel_labels())
            (scores, tails, tied), is_open = scorer(lists, rows)
            known = not np.isnan(scores[permuted.tested()]).any()
            if known and (depth >= near.max_depth or not is_open.any()):
                return summarize_scores(permuted, Scores(scores, tails, tied, depth))
        return scored(replace(given, problem=permuted, n_jobs=1))

    return score


def permutation(blocks: list[Array], n_items: int, seed: tuple[int, int]) -> Array:
    """The sample whose label each sample gets, int64 (n_items,)."""
    rng = np.random.default_rng(seed)
    source = np.arange(n_items)
    for block in blocks:
        source[block] = block[rng.permutation(len(block))]
    return source


def _codes(name: str, given: Any, n_items: int) -> Array:
    """The codes of groups or strata; without any all samples are one."""
    return np.zeros(n_items, np.int64) if given is None else encode_groups(given, name, n_items)[1]
