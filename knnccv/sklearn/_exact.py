"""The exact expectation of a score over a splitter's random numbers, if it has a closed form."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from .._labels import EncodedLabels, encode_labels
from .._training_set_count import magnitude
from ..designs import Design, LeaveGroupsOut
from ..driver import InexactError
from ..results import CompleteCV, complete_cv
from ._class_counts import MAX_COUNTS, ByClassCounts, n_class_counts
from ._designs import Folds, StratifiedShuffle
from ._estimators import Rule
from ._groups import Target, score_splits
from ._request import Expectation, ScoreRequest, WeightedSum
from ._runs import MAX_RUNS, MAX_SPLITS, run_all, run_listed
from ._scoring import Measure, read_scoring
from ._splitters import FoldLaw, GroupLaw, ListedLaw, UnknownLaw, law_of
from ._weighted_scores import std_error_of, weighted_scores


def exact_score(request: ScoreRequest, regression: bool, ties: str | None = None) -> Expectation:
    """Compute the expectation over the splitter's random numbers.

    Raises
    ------
    InexactError
        If there is no closed form and there are too many splits.
    ValueError, TypeError
        If the arguments do not fit together.
    """
    if isinstance(request.cv, Design):
        rule, measure = _read(request)
        law = FoldLaw(request.cv, ties or "random")
        if measure.kind == "balanced":
            law = FoldLaw.of_design(request.cv, law.ties, encode_labels(request.y))
        return _by_design(request, rule, measure, law)
    law_found = law_of(request.cv, request.X, request.y, request.groups, regression=regression)
    if isinstance(law_found, UnknownLaw):
        raise InexactError(law_found.reason)
    if isinstance(law_found, ListedLaw):
        return run_listed(request, law_found.splits)
    every = law_found.every if isinstance(law_found, GroupLaw) else bool(law_found.n_splits)
    listed = 0 < law_found.n_splits <= (MAX_SPLITS if every else MAX_RUNS)
    if listed:
        request = replace(request, draws=None)
    try:
        rule, measure = _read(request)
        if isinstance(law_found, GroupLaw):
            return _by_groups(request, rule, measure, law_found)
        if ties is not None:
            law_found = replace(law_found, ties=ties)
        return _by_design(request, rule, measure, law_found)
    except InexactError:
        if not listed:
            raise
        if isinstance(law_found, GroupLaw) and not every:
            return run_all(request, law_found)
        return run_listed(request, tuple(request.cv.split(request.X, request.y, request.groups)))


def _read(request: ScoreRequest) -> tuple[Rule, Measure]:
    if request.prepared.reason:
        raise InexactError(request.prepared.reason)
    rule = request.prepared.rule
    if not rule.regression and request.y.ndim != 1:
        msg = f"y has shape {request.y.shape}: several labels for each sample have no closed form"
        raise InexactError(msg)
    measure = read_scoring(request.scoring, regression=rule.regression, y=request.y)
    weighted = rule.weights is not None
    # The share of the true class is 0 or 1.
    if measure.kind == "brier" and rule.n_neighbors == 1 and not weighted:
        costs = 2 * (1 - np.eye(len(np.unique(request.y))))
        measure = replace(measure, kind="cost", costs=costs)
    elif measure.kind == "brier" and weighted:
        msg = f"{measure.name} of {rule.weights_in_words} is exact for n_neighbors=1 only"
        raise InexactError(msg)
    return rule, measure


def _expectation(
    measure: Measure,
    mean: float,
    bound: float,
    how: str,
    *,
    every: bool,
    ties: str,
    results: tuple[CompleteCV, ...] = (),
    shares: tuple[float, ...] = (),
) -> Expectation:
    """The expectation; `results` with their `shares` in the mean, equal ones by default."""
    parts = None
    shares = shares or (1 / len(results),) * len(results) if results else ()
    std_error, n_draws = std_error_of(results, shares)
    if n_draws:
        how += f", from {n_draws} training sets drawn for every sample that has too many of them"
    elif results:
        unchanged = (measure.offset, measure.factor) == (0.0, 1.0)
        parts = WeightedSum(
            results[0].measure if unchanged else measure.name,
            measure.offset,
            tuple(measure.factor * share for share in shares),
            results,
        )
    return Expectation(
        measure(mean),
        abs(measure.factor) * bound,
        how,
        deterministic=every,
        ties=ties,
        result=(results[0] if len(results) == 1 else results) or None,
        parts=parts,
        std_error=abs(measure.factor) * std_error,
        n_draws=n_draws,
    )


def _of_splits(request: ScoreRequest, number: str, every: bool) -> str:
    which = "goes through" if every else "can make, whatever its seed"
    return f"the mean over all{number and ' '}{number} splits that {request.splitter} {which}"


def _by_design(request: ScoreRequest, rule: Rule, measure: Measure, law: FoldLaw) -> Expectation:
    design, average = law.design, law.pooled if request.pooled else "pooled"
    if measure.kind == "balanced":
        if request.pooled:
            average = "class"
        elif measure.every_class and not _tests_every_class(law.balanced, encode_labels(request.y)):
            msg = (
                f"{measure.name} of a fold is exact only if every test set has a fixed number of "
                "samples of every class, and at least one (a class without tested samples has no recall): "
                "use a stratified splitter with enough samples of every class, or average='pooled', or "
                "'balanced_accuracy', which leaves such classes out"
            )
            raise InexactError(msg)
        elif law.balanced is not None:
            design = law.balanced
        elif not law.single:
            design = _by_class_counts(request, measure, law)
    if isinstance(design, (Folds, StratifiedShuffle, ByClassCounts)):
        labels = encode_labels(np.zeros(len(request.y), int) if rule.regression else request.y)
        rule.check_size(min(sum(kind.n_train) for kind in design.training_sets(labels)))
    results = _complete(request, rule, measure, design, ties=law.ties, average=average)
    mean = sum(result.score for result in results) / len(results)
    bound = sum(result.error_bound for result in results) / len(results)
    every = bool(law.n_splits)
    how = _of_splits(request, magnitude(law.n_splits) if every else "", every)
    if not results[0].variant.startswith("weighted"):
        how += ", in closed form"
    return _expectation(measure, mean, bound, how, every=every, ties=law.ties, results=results)


def _by_class_counts(request: ScoreRequest, measure: Measure, law: FoldLaw) -> Design:
    """The design that conditions on the class counts of the test sets, if these are few."""
    labels = encode_labels(request.y)
    number = n_class_counts(law.design, labels) if law.tests_rest else 0
    if law.tests_rest and number <= MAX_COUNTS:
        return ByClassCounts(request.splitter, law.design)
    found = (
        f"there are {number:,}"
        if law.tests_rest
        else "some samples neither train nor are tested, so they vary"
    )
    msg = (
        f"{measure.name} of a fold is exact only if the number of tested samples of every class "
        f"is fixed, or has at most {MAX_COUNTS} combinations ({found}): use a stratified splitter, or "
        "average='pooled'"
    )
    raise InexactError(msg)


def _tests_every_class(design: Design | None, labels: EncodedLabels) -> bool:
    """Check whether all test sets have samples of all classes."""
    if design is None:
        return False
    kinds = design.training_sets(labels)
    if isinstance(design, StratifiedShuffle):
        return all(min(design.tests(labels, kind.n_train).base) > 0 for kind in kinds)
    return all(n < count for kind in kinds for n, count in zip(kind.n_train, kind.counts, strict=True))


def _complete(
    request: ScoreRequest, rule: Rule, measure: Measure, design: Design, **options: Any
) -> tuple[CompleteCV, ...]:
    """Run `complete_cv` with the variant of the rule; once per column of y for a regression.

    The nearest of two neighbors weighted by distance decides, unless differently labeled samples tie.
    """
    near, y, k = rule.neighbors, request.y, rule.n_neighbors
    options |= {"tol": request.tol, "n_jobs": request.n_jobs}
    if rule.weights is not None and not rule.by_distance:
        return weighted_scores(rule, y, measure, design, request.draws, **options)
    if rule.regression:
        columns = y.reshape(len(y), -1).T
        return tuple(
            complete_cv(near, column, "regression", design, n_neighbors=k, **options) for column in columns
        )
    if measure.kind == "brier":
        return (complete_cv(near, y, "confidence", design, n_neighbors=k, score="brier", **options),)
    if measure.costs is not None:
        options |= {"loss": measure.costs}
    if k > 1 and not rule.by_distance:
        return (complete_cv(near, y, "knn", design, **options, n_neighbors=k),)
    result = complete_cv(near, y, "nn", design, **options)
    # With ties="index", a tie of the nearest neighbor with the next would not be counted.
    if k > 1 and complete_cv(near, y, "nn", design, **options | {"ties": "random"}).tied:
        options.pop("loss", None)
        return weighted_scores(rule, y, measure, design, request.draws, **options)
    return (result,)


def _by_groups(request: ScoreRequest, rule: Rule, measure: Measure, law: GroupLaw) -> Expectation:
    if rule.weights is not None and not rule.by_distance:
        msg = "weighted votes have no closed form if whole groups are left out"
        raise InexactError(msg)
    if law.n_splits > MAX_SPLITS:
        return _by_nearest_groups(request, rule, measure, law)
    if rule.regression:
        values = np.ascontiguousarray(request.y.reshape(len(request.y), -1), dtype=float)
        target = Target(np.zeros(len(request.y), np.int64), 1, values)
    else:
        labels = encode_labels(request.y)
        n_classes = len(labels.classes)
        values = np.eye(n_classes)[labels.codes] if measure.kind == "brier" else np.empty((0, 0))
        target = Target(labels.codes, n_classes, values)
    mean, bound = score_splits(rule, measure, target, law, request.pooled)
    if measure.kind == "brier":  # a sum over the classes; `score_splits` returns their mean
        mean, bound = mean * target.n_classes, bound * target.n_classes
    how = f"{_of_splits(request, str(law.n_splits), law.every)}, each of them computed"
    return _expectation(measure, mean, bound, how, every=law.every, ties="index")


def _by_nearest_groups(request: ScoreRequest, rule: Rule, measure: Measure, law: GroupLaw) -> Expectation:
    """Compute the pooled score of the nearest neighbor, for too many splits to list."""
    equal = len(set(law.sizes.tolist())) == 1
    linear = measure.kind != "balanced" and not rule.regression
    if rule.n_neighbors > 1 or not linear or not (request.pooled or equal):
        msg = (
            f"{request.splitter} can make {magnitude(law.n_splits)} splits, too many to evaluate one by "
            "one; the closed form is for the nearest neighbor (n_neighbors=1) and accuracy or costs, with "
            "average='pooled' (all classifications have equal weight) or groups of one size: the mean of "
            "the scores of unequal folds is a mean of ratios"
        )
        raise InexactError(msg)
    n_groups = len(law.sizes)
    whole = sum((p * tested for p, _, tested in law.parts), Fraction(0))
    mean = bound = 0.0
    results, shares = [], []
    for probability, n_train, n_test in law.parts:
        design = LeaveGroupsOut(law.codes, n_groups - n_train)
        (result,) = _complete(request, rule, measure, design, average="pooled")
        share = float(probability * n_test / whole if request.pooled else probability)
        mean += share * result.score
        bound += share * result.error_bound
        results.append(result)
        shares.append(share)
    how = f"{_of_splits(request, magnitude(law.n_splits), law.every)}, in closed form"
    return _expectation(
        measure,
        mean,
        bound,
        how,
        every=law.every,
        ties="index",
        results=tuple(results),
        shares=tuple(shares),
    )
