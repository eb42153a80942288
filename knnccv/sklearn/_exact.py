"""The exact expectation of a score over a splitter's random numbers, if it has a closed form.

What has none raises InexactError with the reason. `expected_score` turns it into another method.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from .._base.formatting import magnitude
from .._base.labels import EncodedLabels, encode_labels
from .._base.parallel import counted
from .._base.typing import Array
from .._core.driver import InexactError
from .._core.luck.runs import nearest_in_runs
from .._core.scores.curves import surface
from .._core.scores.results import CompleteCV, SampledCV, complete_cv, with_each
from ..designs import Design, LeaveGroupsOut
from ._by_runs import AT_ONCE, Question, errors_of, folds_of, outputs_of, weights_of
from ._designs import MAX_COUNTS, ByClass, StratifiedShuffle, n_class_counts
from ._estimators import Rule, check_size
from ._request import ExpectedScore, Request
from ._runs import MAX_RUNS, MAX_SPLITS, run_all, run_listed
from ._scoring import Measure, read_scoring
from ._splitters import FoldLaw, GroupLaw, in_words

SURFACES: dict[str, dict[str, str]] = {
    "accuracy": {"variant": "knn"},
    "squared": {"variant": "regression"},
    "brier": {"variant": "confidence", "score": "brier"},
}
"""The arguments of `surface` for the kinds of measures that it computes for all K at once."""
STEPS_PER_DRAW, MOST_STEPS, FEW_NEIGHBORS = (50, 5), 200_000, 5
"""Of the walk over training sets of weighted votes: drawing takes less time than more steps. With more than
a few neighbors some samples have too many sets at any price, so that the score is drawn; then the first
number is that of few neighbors, and drawing the others changes neither the score nor its standard error."""
LARGEST = 36.1
"""The largest log loss of a sample."""


def exact_score(request: Request, scoring: Any) -> ExpectedScore:
    """Compute the expectation over the splitter's random numbers.

    Raises
    ------
    InexactError
        If there is no closed form and there are too many splits.
    ValueError, TypeError
        If the arguments do not fit together.
    """
    law = request.law
    if isinstance(law, tuple):
        return run_listed(request, scoring, law)
    listed = not request.n_tested and 0 < law.n_splits <= (MAX_SPLITS if law.every else MAX_RUNS)
    if listed:
        request = replace(request, n_draws=0)
    try:
        rule, measure = _read(request, scoring)
        asked = request
        if measure.kind == "together":  # the nearest sample has all labels or not
            asked = replace(request, y=np.unique(request.y, axis=0, return_inverse=True)[1].reshape(-1))
        if isinstance(law, GroupLaw):
            return _by_groups(asked, rule, measure, law)
        return _by_design(asked, rule, measure, law)
    except InexactError:
        if not listed:
            raise
        if isinstance(law, GroupLaw) and not law.every:
            return run_all(request, scoring, law)
        return run_listed(request, scoring, tuple(request.cv.split(request.X, request.y, request.groups)))


def scores_at_once(request: Request, scoring: Any, n_neighbors: list[int]) -> Array | None:
    """The exact scores of several K, of which the rule has the largest, from one pass over the lists.

    None if the splits, the scoring or the weights need one pass for each K.
    """
    with suppress(InexactError):
        law, (rule, measure) = request.law, _read(request, scoring)
        if not isinstance(law, FoldLaw) or rule.weights is not None or rule.by_distance or request.pooled:
            return None
        design, kinds = law.design, law.design.training_sets(request.labels)
        if measure.kind not in SURFACES or design.leaves_groups or any(kind.stratified for kind in kinds):
            return None
        check_size(rule.n_neighbors, request.least_train)
        options: dict[str, Any] = {"ties": law.ties, "tol": request.tol, "n_jobs": request.n_jobs}
        options |= {"train_sizes": [kind.least_train for kind in kinds], **SURFACES[measure.kind]}
        columns = request.y.reshape(len(request.y), -1).T
        found = [surface(rule.neighbors, column, n_neighbors, **options).scores for column in columns]
        means = np.mean(found, axis=0) @ [float(kind.probability) for kind in kinds]
        return np.array([measure(mean) for mean in means.tolist()])
    return None


def _read(request: Request, scoring: Any) -> tuple[Rule, Measure]:
    rule = request.prepared.rule
    is_nearest = rule.n_neighbors == 1 and not request.pooled
    measure = read_scoring(scoring, regression=rule.regression, y=request.y, is_nearest=is_nearest)
    if rule.radius is not None and (
        measure.kind in ("brier", "log_loss", "absolute") or (request.y.ndim == 2 and not rule.regression)
    ):
        what = "means" if rule.regression else "votes"
        msg = f"{measure.name} of {what} within a radius has no closed form"
        raise InexactError(msg)
    if measure.kind == "together" and rule.n_neighbors > 1:
        msg = (
            f"{measure.name} asks whether all outputs are right together, which votes for each do not tell"
        )
        raise InexactError(msg)
    if measure.kind in ("brier", "log_loss") and rule.weights is not None:
        msg = f"{measure.name} of {rule.weights_in_words} is exact for n_neighbors=1 only"
        raise InexactError(msg)
    if measure.kind == "brier" and rule.n_neighbors == 1:  # the share of the true class is 0 or 1
        costs = 2 * (1 - np.eye(len(np.unique(request.y))))
        measure = replace(measure, kind="cost", costs=costs)
    return rule, measure


def _by_design(request: Request, rule: Rule, measure: Measure, law: FoldLaw) -> ExpectedScore:
    """Compute the score over equally likely training sets of fixed sizes."""
    design, average = law.design, law.pooled if request.pooled else "pooled"
    tested = np.unique(request.y[: request.n_tested])
    if request.n_tested and measure.every_class and len(tested) < len(np.unique(request.y)):
        msg = f"{measure.name} is exact only if the test set has samples of every class"
        raise InexactError(msg)
    if measure.kind == "balanced" and request.n_tested:
        average = "class"
    elif measure.kind == "balanced":
        average = "class" if request.pooled else "pooled"
        design = design if request.pooled else _balanced_design(request, measure, law)
    labels = request.labels
    check_size(rule.n_neighbors, min(kind.least_train for kind in design.training_sets(labels)))
    undefined = _undefined(measure, law, labels, request)
    if undefined > request.tol:
        msg = (
            f"{measure.name} is exact only if every training set and every test set has samples of every "
            "class, as with a stratified splitter and enough samples of every class: scikit-learn has no "
            "score otherwise"
        )
        raise InexactError(msg)
    results = _complete(request, rule, measure, design, ties=law.ties, average=average)
    how = "" if results[0].variant.startswith("weighted") else ", in closed form"
    found = _combined(request, measure, law, results, [1 / len(results)] * len(results), how)
    return found if found.error_bound is None else replace(found, error_bound=found.error_bound + undefined)


def _undefined(measure: Measure, law: FoldLaw, labels: EncodedLabels, request: Request) -> float:
    """Bound how much the splits in which scikit-learn has no score change the mean over the others.

    It is the probability that a fold of a run does not train or does not test some class, times the largest
    score.
    """
    if not measure.all_classes:
        return 0.0
    kinds, counts = (law.balanced or law.design).training_sets(labels), labels.counts
    is_pool, tested = request.n_tested > 0, np.unique(request.y[: request.n_tested])
    if is_pool and tested.tolist() != labels.classes.tolist():
        return math.inf
    if law.balanced is not None:
        tests_all = is_pool or _tests_every_class(law.balanced, labels)
        always = tests_all and all(min(kind.n_train) for kind in kinds)
        return 0.0 if always else math.inf
    if not law.tests_rest:
        return math.inf
    n_items = len(labels.codes)
    sizes = [kind.least_train for kind in kinds]
    if not is_pool:
        sizes += [n_items - kind.most_train for kind in kinds]
    lacking = sum(share**size for share in (1 - counts / n_items).tolist() for size in sizes)
    return float(LARGEST * law.design.n_folds * lacking)


def _balanced_design(request: Request, measure: Measure, law: FoldLaw) -> Design:
    """Return the design whose score of a fold is the mean of the scores of its tested classes."""
    labels, design = encode_labels(request.y), law.balanced
    if measure.every_class and (design is None or not _tests_every_class(design, labels)):
        msg = (
            f"{measure.name} of a fold is exact only if every test set has a fixed number of "
            "samples of every class, and at least one (a class without tested samples has no recall): "
            "use a stratified splitter with enough samples of every class, or average='pooled', or "
            "'balanced_accuracy', which leaves such classes out"
        )
        raise InexactError(msg)
    if design is not None or law.single:
        return design or law.design
    number = n_class_counts(law.design, labels) if law.tests_rest else 0
    if 0 < number <= MAX_COUNTS:
        return ByClass(in_words(request.cv), law.design)
    found = f"there are {number:,}" if number else "some samples neither train nor are tested, so they vary"
    msg = (
        f"{measure.name} of a fold is exact only if the number of tested samples of every class "
        f"is fixed, or has at most {MAX_COUNTS} combinations ({found}): use a stratified splitter, or "
        "average='pooled'"
    )
    raise InexactError(msg)


def _tests_every_class(design: Design, labels: EncodedLabels) -> bool:
    """Check whether all test sets have samples of all classes."""
    kinds = design.training_sets(labels)
    if isinstance(design, StratifiedShuffle):
        return all(min(design.tests(labels, kind.n_train).base) > 0 for kind in kinds)
    return all(n < count for kind in kinds for n, count in zip(kind.n_train, kind.counts, strict=True))


def _by_groups(request: Request, rule: Rule, measure: Measure, law: GroupLaw) -> ExpectedScore:
    """Compute the score over splits of whole groups: of all of them, or in closed form for one neighbor."""
    if measure.all_classes:
        msg = f"{measure.name} needs every class in every fold, which groups may not have"
        raise InexactError(msg)
    few = law.n_splits <= MAX_SPLITS and not request.n_tested
    weighted = rule.radius is not None or (rule.weights is not None and not (few and rule.by_distance))
    if (weighted or (measure.kind == "absolute" and not few)) and (
        few or rule.radius is not None or not request.n_draws
    ):
        msg = "votes by the distances and absolute errors have no closed form if whole groups are left out"
        raise InexactError(msg)
    if few:
        means, bound = _score_splits(Question(request, None, rule, None), measure, law)
        how = ", each of them computed"
        return _answer(
            request, measure, law, means.mean(), bound, how, **_by_output(request, measure, means)
        )
    equal = len(set(law.sizes.tolist())) == 1
    is_pool = request.n_tested > 0  # all splits test the same samples
    if not is_pool and not request.pooled and (not equal or measure.kind == "balanced"):
        msg = (
            f"{in_words(request.cv)} can make {magnitude(law.n_splits)} splits, too many to evaluate "
            "one by one; there is a closed form with average='pooled' (all classifications have equal "
            "weight), or for groups of one size and scores other than means over classes: the mean of the "
            "scores of unequal folds is a mean of ratios"
        )
        raise InexactError(msg)
    check_size(rule.n_neighbors, request.least_train)
    average = "class" if measure.kind == "balanced" else "pooled"
    whole = sum((p * tested for p, _, tested in law.parts), Fraction(0))
    results, shares = [], []
    for probability, n_train, n_test in law.parts:
        results += _complete(request, rule, measure, law.leaving(n_train), ties=law.ties, average=average)
        share = float(probability * n_test / whole if request.pooled and not is_pool else probability)
        shares += [share / n_outputs(request)] * n_outputs(request)
    return _combined(request, measure, law, results, shares, ", in closed form")


def _complete(
    request: Request, rule: Rule, measure: Measure, design: Design, **options: Any
) -> list[CompleteCV]:
    """Run `complete_cv` with the variant of the rule; once per column of y."""
    k, columns = rule.n_neighbors, request.y.reshape(len(request.y), -1).T
    options |= {"cv": design, "tol": request.tol, "n_jobs": request.n_jobs}
    if measure.costs is not None:
        options["loss"] = measure.costs
    # The nearest of two neighbors weighted by distance decides, unless differently labeled samples tie.
    # With ties="index", a tie of the nearest neighbor with the next would not be counted.
    nearest: Any = partial(complete_cv, rule.neighbors, variant="nn", **options | {"ties": "random"})
    weighted = rule.weights is not None and (
        not rule.by_distance or any(nearest(**request.data(column)).n_tied for column in columns)
    )
    by_weights = weighted or measure.kind == "absolute"
    if isinstance(design, StratifiedShuffle) and (by_weights or rule.radius is not None):
        options["cv"] = replace(design, one_by_one=True)
    if rule.radius is not None:
        return _within_radius(request, rule, columns, **options)
    if by_weights:
        variant = "weighted_regression" if rule.regression else "weighted"
        options |= {"n_neighbors": k, "weights": rule.weights or "uniform"}
        options |= _steps(request, k)
        if measure.kind == "absolute":
            options["score"] = "absolute_error"
        ask = partial(complete_cv, rule.neighbors, variant=variant, **options)
        scores = [partial(ask, **request.data(column)) for column in columns]
        return [_weighted(request, rule, score, at, design) for at, score in enumerate(scores)]
    variant = "nn"
    if rule.regression:
        variant, options = "regression", options | {"n_neighbors": k}
    elif measure.kind in ("brier", "log_loss"):
        variant, options = "confidence", options | {"n_neighbors": k, "score": measure.kind}
    elif k > 1 and not rule.by_distance:
        variant, options = "knn", options | {"n_neighbors": k}
    ask = partial(complete_cv, rule.neighbors, variant=variant, **options)
    scores = [partial(ask, **request.data(column)) for column in columns]
    if isinstance(design, LeaveGroupsOut):
        return [_weighted(request, rule, score, at, design) for at, score in enumerate(scores)]
    return [score() for score in scores]


def _steps(request: Request, n_neighbors: int) -> dict[str, int]:
    """The argument `max_steps` of rules that weigh their neighbors, where training sets may be drawn."""
    steps = STEPS_PER_DRAW[n_neighbors > FEW_NEIGHBORS] * request.n_draws
    return {"max_steps": min(steps, MOST_STEPS)} if steps else {}


def _within_radius(
    request: Request, rule: Rule, columns: Any, loss: Any = None, **options: Any
) -> list[CompleteCV]:
    """Return the scores of the neighbors within a radius, once per column of y.

    Raises
    ------
    ValueError
        If samples may have no neighbors, and this cannot count as an error.
    """
    ask: Any = partial(complete_cv, rule.neighbors, radius=rule.radius, **options)
    variant, label = ("radius_regression" if rule.regression else "radius"), rule.outlier_label
    if label is None:
        share = ask(**request.data(columns[0]), variant=variant, score="outliers").score
        msg = (
            "pass a larger radius, or an outlier_label to a classifier: scikit-learn has no score, as "
            f"{100 * share:.3g} % of the tested samples have no neighbor within the radius {rule.radius}"
        )
        if share <= request.tol:
            label = columns[0][0]  # hardly ever predicted
        elif rule.regression or loss is not None:
            raise ValueError(msg)
        else:
            warnings.warn(f"{msg}; here they count as errors", UserWarning, stacklevel=2)
    if rule.regression:
        ask = partial(ask, variant=variant, outlier_value=float(label))
        return [ask(**request.data(column)) for column in columns]
    return [ask(**request.data(columns[0]), variant=variant, outlier_label=label, loss=loss)]


def _weighted(
    request: Request, rule: Rule, score: Callable[..., CompleteCV], number: int, design: Design
) -> CompleteCV:
    """Return the score by weights, or over groups, exact or drawn, of a column of y.

    The larger K of a search are scored by the same training sets.

    Raises
    ------
    InexactError
        If there are too many training sets to enumerate, and none are to be drawn.
    """
    if request.n_draws:
        drawn = partial(score, n_draws=request.n_draws, random_state=request.seed + number)
        if not request.searched:
            return drawn()
        k, known = rule.n_neighbors, request.drawn.setdefault((number, repr(design)), {})
        if k not in known:
            found = known[k] = drawn()
            others = sorted({one for one in request.searched if one > k}, reverse=True)  # the deepest first
            each = [{"n_neighbors": one, **_steps(request, one)} for one in others]
            each = [{name: one[name] for name in one if name in found.parameters} for one in each]
            if each and each[0]:
                known |= zip(others, with_each(found, each), strict=True)
        return known[k]
    try:
        return score(method="exact")
    except InexactError as error:
        score(method="sampled", n_draws=2)  # an error if these weights are not allowed
        what = "the score" if rule.weights is None else rule.weights_in_words
        reason = (
            "is a function, which the exact computation cannot call"
            if callable(rule.weights)
            else f"with n_neighbors={rule.n_neighbors} is exact where all sets of the nearest training "
            "samples can be counted, but some samples have too many of them"
        )
        msg = f"{what} {reason}; method='auto' draws training sets for these samples"
        raise InexactError(msg) from error


def _combined(
    request: Request,
    measure: Measure,
    law: FoldLaw | GroupLaw,
    results: Sequence[CompleteCV],
    shares: Sequence[float],
    how: str,
) -> ExpectedScore:
    """Return the sum of the scores of `results` times `shares` as a score of this measure."""
    pairs = list(zip(shares, results, strict=True))
    mean = sum(share * result.score for share, result in pairs)
    bound = sum(share * result.error_bound for share, result in pairs)
    each = np.reshape([share * result.score for share, result in pairs], (-1, n_outputs(request)))
    fields: dict[str, Any] = {"result": results[0] if len(results) == 1 else tuple(results)}
    fields |= _by_output(request, measure, each.sum(axis=0) * each.shape[1])
    sampled = [(share, result) for share, result in pairs if isinstance(result, SampledCV)]
    if not sampled:
        fields |= {"_measure": measure, "_shares": tuple(shares)}
        return _answer(request, measure, law, mean, bound, how, **fields)
    n_draws = max(result.n_draws for _, result in sampled)
    error = math.hypot(*(share * result.std_error for share, result in sampled))
    how = f", from {n_draws} training sets drawn for every sample that has too many of them"
    fields |= {"std_error": abs(measure.factor) * error, "is_exact": False, "n_draws": n_draws}
    return _answer(request, measure, law, mean, None, how, **fields)


def n_outputs(request: Request) -> int:
    """The number of columns of y."""
    return int(request.y.shape[1]) if request.y.ndim == 2 else 1


def _by_output(request: Request, measure: Measure, means: Array) -> dict[str, Any]:
    """The field of the scores of several outputs."""
    return {"per_output": measure(means)} if request.y.ndim == 2 else {}


def _answer(
    request: Request,
    measure: Measure,
    law: FoldLaw | GroupLaw,
    mean: float,
    bound: float | None,
    how: str,
    **more: Any,
) -> ExpectedScore:
    number = f" {magnitude(law.n_splits)}" if law.n_splits else ""
    which = "goes through" if law.every else "can make, whatever its seed"
    return request.answer(
        measure(mean),
        f"the mean over all{number} splits that {in_words(request.cv)} {which}{how}",
        error_bound=None if bound is None else abs(measure.factor) * bound,
        deterministic=law.every,
        ties=law.ties,
        **more,
    )


def _score_splits(asked: Question, measure: Measure, law: GroupLaw) -> tuple[Array, float]:
    """Compute the mean scores of the outputs over all splits of a law, and a bound of the rounding error.

    The mean of the splits' scores or, if these are pooled, the mean over all their classifications.

    Raises
    ------
    ValueError
        If a training set is too small.
    """
    rule, y, labels, pooled = asked.rule, asked.request.y, asked.labels, asked.request.pooled
    k, codes, each = rule.n_neighbors, labels.codes, np.eye(len(labels.classes))
    by_costs = not asked.by_output and measure.kind != "brier"
    costs = each if measure.costs is None else measure.costs
    targets = y.reshape(len(y), -1).astype(float) if rule.regression else each[codes]
    least = asked.request.least_train
    check_size(k, least)
    depth = 4 * k * len(y) // max(least, 1) + 16
    splits, total, weight = law.splits(), np.zeros(()), 0.0
    step = max(1, AT_ONCE // (len(y) * max(k, targets.shape[1])))
    starts = range(0, law.n_splits, step)
    for _ in counted(starts, len(starts)):
        part = list(islice(splits, step))
        folds = folds_of([split for _, split in part], len(law.sizes))[:, law.codes]
        is_tested = folds == 0
        tested = (is_tested @ each[codes]).astype(np.int64)
        by_class = _class_weights(tested, measure, labels.counts, pooled)
        items, distances = nearest_in_runs(rule.neighbors, folds, k, "index", depth, asked.request.n_jobs)
        outputs = outputs_of(asked, items, weights_of(rule, distances))
        if by_costs:
            gaps = costs[codes, outputs.argmax(axis=2)][..., None]
        elif measure.kind == "brier":
            gaps = ((outputs - targets) ** 2).mean(axis=2, keepdims=True)
        else:
            errors = errors_of(asked, outputs)
            gaps = errors**2 if measure.kind == "squared" else np.abs(errors)
        scores = ((gaps * is_tested[..., None]) * by_class[:, codes, None]).sum(axis=1)
        shares = np.array([float(probability) for probability, _ in part])
        total = total + shares @ scores
        weight += float(shares @ (tested.sum(axis=1) / len(y) if pooled else np.ones(len(shares))))
    largest = float(np.ptp(targets, axis=0).max() ** 2 if rule.regression else np.abs(costs).max())
    steps = len(y) + k + 16
    # The squared errors of the shares of the votes are summed over the classes, not averaged.
    factor = targets.shape[1] if measure.kind == "brier" else 1
    return factor * (total / weight), float(factor * (steps * np.finfo(float).eps * max(largest, 1.0)))


def _class_weights(tested: Array, measure: Measure, counts: Array, pooled: bool) -> Array:
    """Return a tested sample's weight in its split's score by its class, shape (n_splits, n_classes).

    `tested` (n_splits, n_classes) are the tested samples of every class, `counts` all samples.
    """
    if pooled:  # every sample is tested equally often
        each = 1.0 / (counts * len(counts)) if measure.kind == "balanced" else 1.0 / counts.sum()
        return np.full(tested.shape, each)
    if measure.kind != "balanced":
        return np.broadcast_to(1.0 / tested.sum(axis=1, keepdims=True), tested.shape)
    if measure.every_class and not tested.all():
        msg = f"{measure.name} has no closed form if a test set has no sample of some class"
        raise InexactError(msg)
    each = 1.0 / np.maximum(tested, 1) / (tested > 0).sum(axis=1, keepdims=True)
    return np.where(tested > 0, each, 0.0)
