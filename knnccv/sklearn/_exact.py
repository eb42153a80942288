"""From an estimator, a splitter and a scoring to the exact expectation, where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from .._labels import EncodedLabels, encode_labels
from .._training_set_count import magnitude
from .._typing import Array
from ..designs import Design, LeaveGroupsOut
from ..driver import CompleteCV, complete_cv
from ._designs import Folds, StratifiedShuffle
from ._estimators import InexactError, Rule
from ._groups import Target, score_splits
from ._runs import mean_of, run_splits
from ._scoring import Measure, for_sklearn, read_scoring
from ._splitters import FoldLaw, GroupLaw, ListedLaw, Split, UnknownLaw, in_words, is_random, law_of, listed
from ._steps import Prepared

AVERAGES = ("folds", "pooled")
MOST_SPLITS = 20_000
"""Splits that are taken one by one."""
MOST_RUNS = 2_000
"""Splits of a random splitter that scikit-learn is run for one by one."""


@dataclass(frozen=True)
class ScoreRequest:
    """What is asked, checked.

    `cv` is a splitter or a design, `X` what splitters see, `y` an array of shape (n_items,) or (n_items,
    n_outputs).
    """

    prepared: Prepared
    X: Any
    y: Array
    cv: Any
    groups: Any
    scoring: Any
    average: str
    tol: float
    n_jobs: int | None

    @property
    def splitter(self) -> str:
        """`cv` in one line."""
        return in_words(self.cv)

    @property
    def pooled(self) -> bool:
        """Whether all classifications count alike, whatever the sizes of the folds."""
        return self.average == "pooled"


@dataclass(frozen=True)
class Found:
    """The expectation, and how it was found."""

    score: float
    error_bound: float
    how: str
    deterministic: bool = False
    ties: str | None = None
    result: Any = None


def exact_score(asked: ScoreRequest, regression: bool, ties: str | None = None) -> Found:
    """The expectation over the splitter's random numbers.

    Raises
    ------
    InexactError
        If it is out of reach.
    ValueError, TypeError
        If something asked does not suit the rest.
    """
    if isinstance(asked.cv, Design):
        rule, measure = _read(asked)
        law = FoldLaw(asked.cv, ties or "random")
        if measure.kind == "balanced":
            law = FoldLaw.of_design(asked.cv, law.ties, encode_labels(asked.y))
        return _by_design(asked, rule, measure, law)
    law_found = law_of(asked.cv, asked.X, asked.y, asked.groups, regression=regression)
    if isinstance(law_found, UnknownLaw):
        raise InexactError(law_found.reason)
    if isinstance(law_found, ListedLaw):
        return _run_listed(asked, law_found.splits)
    try:
        rule, measure = _read(asked)
        if isinstance(law_found, GroupLaw):
            return _by_groups(asked, rule, measure, law_found)
        if ties is not None:
            law_found = replace(law_found, ties=ties)
        return _by_design(asked, rule, measure, law_found)
    except InexactError:
        every = law_found.every if isinstance(law_found, GroupLaw) else bool(law_found.n_splits)
        if not 0 < law_found.n_splits <= (MOST_SPLITS if every else MOST_RUNS):
            raise
        if isinstance(law_found, GroupLaw) and not every:
            return _run_all(asked, law_found)
        return _run_listed(asked, tuple(asked.cv.split(asked.X, asked.y, asked.groups)))


def run_if_fixed(asked: ScoreRequest) -> Found | None:
    """What scikit-learn gives, if the splits are always the same.

    Raises
    ------
    ValueError
        If there are too many of them.
    """
    cv = asked.cv
    if is_random(cv):
        return None
    n_splits = cv.get_n_splits(asked.X, asked.y, asked.groups)
    if n_splits > max(MOST_SPLITS, len(asked.y)):
        msg = (
            f"{asked.splitter} goes through {magnitude(n_splits)} splits, too many for scikit-learn; "
            "ShuffleSplit or GroupShuffleSplit with the same sizes draws from them"
        )
        raise ValueError(msg)
    law = listed(cv, asked.X, asked.y, asked.groups)
    return _run_listed(asked, law.splits) if isinstance(law, ListedLaw) else None


def _read(asked: ScoreRequest) -> tuple[Rule, Measure]:
    if asked.prepared.reason:
        raise InexactError(asked.prepared.reason)
    rule = asked.prepared.rule
    if not rule.regression and asked.y.ndim != 1:
        msg = f"y has shape {asked.y.shape}: several labels for each sample have no closed form"
        raise InexactError(msg)
    measure = read_scoring(asked.scoring, regression=rule.regression, y=asked.y)
    if measure.kind == "brier" and rule.n_neighbors == 1:  # the whole share is right or wrong
        costs = 2 * (1 - np.eye(len(np.unique(asked.y))))
        measure = replace(measure, kind="cost", costs=costs)
    elif measure.kind == "brier" and rule.by_distance:
        msg = f"{measure.name} of weights='distance' is exact for n_neighbors=1 only"
        raise InexactError(msg)
    return rule, measure


def check_pooled(asked: ScoreRequest) -> None:
    """Raise ValueError if scikit-learn's scores of folds cannot be pooled."""
    if not asked.pooled:
        return
    from sklearn.base import is_regressor

    try:
        regression = is_regressor(asked.prepared.estimator)
        measure = read_scoring(asked.scoring, regression=regression, y=asked.y)
        linear = measure.kind != "balanced"
    except InexactError:
        linear = False
    if not linear:
        msg = (
            "average='pooled' of scikit-learn's own scores needs one that is a mean over the tested samples, "
            f"got scoring={asked.scoring!r}; take average='folds'"
        )
        raise ValueError(msg)


def _run_listed(asked: ScoreRequest, splits: Sequence[Split]) -> Found:
    """What scikit-learn gives, where nothing is random."""
    from sklearn import model_selection as ms

    check_pooled(asked)
    prepared = asked.prepared
    scoring = for_sklearn(asked.scoring, asked.y)
    scores = run_splits(prepared.estimator, prepared.X, asked.y, splits, scoring, asked.n_jobs)
    how = f"scikit-learn's own score; {asked.splitter} always makes the same splits: nothing was averaged"
    if isinstance(asked.cv, (ms.KFold, ms.StratifiedKFold, ms.GroupKFold)):
        name = type(asked.cv).__name__
        how += f"; {name}({asked.cv.get_n_splits()}, shuffle=True) is what gets averaged"
    return Found(mean_of(scores, splits, asked.pooled), 0.0, how, deterministic=True)


def _run_all(asked: ScoreRequest, law: GroupLaw) -> Found:
    """What scikit-learn gives for all splits of a random splitter."""
    check_pooled(asked)
    prepared = asked.prepared
    listed = list(law.splits())
    splits = [split for _, split in listed]
    scoring = for_sklearn(asked.scoring, asked.y)
    scores = run_splits(prepared.estimator, prepared.X, asked.y, splits, scoring, asked.n_jobs)
    sizes = np.array([len(test) if asked.pooled else 1 for _, test in splits], dtype=float)
    weights = sizes * [float(probability) for probability, _ in listed]
    how = f"scikit-learn's own scores of all {len(splits)} splits that {asked.splitter} can make"
    return Found(float(np.average(scores, weights=weights)), 0.0, how)


def _by_design(asked: ScoreRequest, rule: Rule, measure: Measure, law: FoldLaw) -> Found:
    design, average = law.design, law.pooled if asked.pooled else "pooled"
    if measure.kind == "balanced":
        if asked.pooled:
            average = "class"
        elif measure.every_class and not _tests_every_class(law.balanced, encode_labels(asked.y)):
            raise InexactError(_every_class(measure))
        elif law.balanced is not None:
            design = law.balanced
        elif not law.single:
            msg = (
                f"{measure.name} of a fold is exact only where the number of tested samples of every class "
                "is fixed: take a stratified splitter, or average='pooled'"
            )
            raise InexactError(msg)
    if isinstance(design, (Folds, StratifiedShuffle)):
        labels = encode_labels(np.zeros(len(asked.y), int) if rule.regression else asked.y)
        rule.check_size(min(sum(kind.n_train) for kind in design.training_sets(labels)))
    options: dict[str, Any] = {
        "ties": law.ties,
        "average": average,
        "tol": asked.tol,
        "n_jobs": asked.n_jobs,
    }
    results = _complete(asked, rule, measure, design, options)
    mean = sum(result.score for result in results) / len(results)
    bound = sum(result.error_bound for result in results) / len(results)
    passes = bool(law.n_splits)
    number = f" {magnitude(law.n_splits)}" if passes else ""
    which = "goes through" if passes else "can make, whatever its seed"
    how = f"the mean over all{number} splits that {asked.splitter} {which}, in closed form"
    return Found(
        measure(mean),
        abs(measure.factor) * bound,
        how,
        deterministic=passes,
        ties=law.ties,
        result=results[0] if len(results) == 1 else results,
    )


def _tests_every_class(design: Design | None, labels: EncodedLabels) -> bool:
    """Whether all test sets have samples of all classes."""
    if design is None:
        return False
    if isinstance(design, StratifiedShuffle):
        return all(
            min(design.tests(labels, kind.n_train).base) > 0 for kind in design.training_sets(labels)
        )
    return all(
        n < count
        for kind in design.training_sets(labels)
        for n, count in zip(kind.n_train, kind.counts, strict=True)
    )


def _every_class(measure: Measure) -> str:
    return (
        f"{measure.name} of a fold is exact only where every test set has a fixed number of samples of every "
        "class, and at least one (a class without has no recall): take a stratified splitter with enough "
        "items of every class, or average='pooled', or 'balanced_accuracy', which leaves such classes out"
    )


def _complete(
    asked: ScoreRequest, rule: Rule, measure: Measure, design: Design, options: dict[str, Any]
) -> tuple[CompleteCV, ...]:
    if rule.regression:
        columns = asked.y.reshape(len(asked.y), -1).T
        return tuple(
            complete_cv(
                rule.neighbors, column, "regression", design, n_neighbors=rule.n_neighbors, **options
            )
            for column in columns
        )
    if measure.kind == "brier":
        options = options | {"n_neighbors": rule.n_neighbors, "score": "brier"}
        return (complete_cv(rule.neighbors, asked.y, "confidence", design, **options),)
    if measure.costs is not None:
        options = options | {"loss": measure.costs}
    if rule.n_neighbors > 1 and not rule.by_distance:
        options |= {"n_neighbors": rule.n_neighbors}
        return (complete_cv(rule.neighbors, asked.y, "knn", design, **options),)
    result = complete_cv(rule.neighbors, asked.y, "nn", design, **options)
    if rule.n_neighbors > 1:
        # Counted by groups: in row order a tie of the nearest with the next one would not be seen.
        tied = complete_cv(rule.neighbors, asked.y, "nn", design, **options | {"ties": "random"}).tied
        if tied:
            msg = (
                f"weights='distance' with n_neighbors=2 is the nearest neighbor's vote unless differently "
                f"labeled samples tie in distance, as they do in the lists of {tied} items"
            )
            raise InexactError(msg)
    return (result,)


def _by_groups(asked: ScoreRequest, rule: Rule, measure: Measure, law: GroupLaw) -> Found:
    if law.n_splits > MOST_SPLITS:
        return _by_nearest_groups(asked, rule, measure, law)
    if rule.regression:
        values = np.ascontiguousarray(asked.y.reshape(len(asked.y), -1), dtype=float)
        target = Target(np.zeros(len(asked.y), np.int64), 1, values)
    else:
        labels = encode_labels(asked.y)
        n_classes = len(labels.classes)
        values = np.eye(n_classes)[labels.codes] if measure.kind == "brier" else np.empty((0, 0))
        target = Target(labels.codes, n_classes, values)
    mean, bound = score_splits(rule, measure, target, law.splits(), asked.pooled)
    if measure.kind == "brier":  # a sum over the classes, of which the mean has been taken
        mean, bound = mean * target.n_classes, bound * target.n_classes
    goes = "goes through" if law.every else "can make, whatever its seed"
    how = f"the mean over all {law.n_splits} splits that {asked.splitter} {goes}, each of them computed"
    return Found(measure(mean), abs(measure.factor) * bound, how, deterministic=law.every, ties="index")


def _by_nearest_groups(asked: ScoreRequest, rule: Rule, measure: Measure, law: GroupLaw) -> Found:
    """Too many splits to list: the nearest neighbor of leave-p-groups-out, pooled."""
    equal = len(set(law.sizes.tolist())) == 1
    linear = measure.kind != "balanced" and not rule.regression
    if rule.n_neighbors > 1 or not linear or not (asked.pooled or equal):
        msg = (
            f"{asked.splitter} can make {magnitude(law.n_splits)} splits, too many to take one by one; in "
            "closed form there is the nearest neighbor (n_neighbors=1) for accuracy or costs, with "
            "average='pooled' (all classifications count alike) or groups of one size: the mean of the "
            "scores of unequal folds is a mean of ratios"
        )
        raise InexactError(msg)
    n_groups = len(law.sizes)
    whole = sum((p * tested for p, _, tested in law.parts), Fraction(0))
    options: dict[str, Any] = {"average": "pooled", "tol": asked.tol, "n_jobs": asked.n_jobs}
    mean = bound = 0.0
    results = []
    for probability, n_train, n_test in law.parts:
        design = LeaveGroupsOut(law.codes, n_groups - n_train)
        (result,) = _complete(asked, rule, measure, design, options)
        share = float(probability * n_test / whole if asked.pooled else probability)
        mean += share * result.score
        bound += share * result.error_bound
        results.append(result)
    how = (
        f"the mean over all {magnitude(law.n_splits)} splits that {asked.splitter} can make, in closed form"
    )
    return Found(
        measure(mean),
        abs(measure.factor) * bound,
        how,
        deterministic=law.every,
        ties="index",
        result=results[0] if len(results) == 1 else tuple(results),
    )
