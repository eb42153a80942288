"""The exact expectation of a score over a splitter's random numbers: `closed_form`.

What has none raises InexactError with the reason.
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
from .._base.validation import check
from .._core.driver import InexactError
from .._core.scores.curves import surface
from .._core.scores.results import CompleteCV, SampledCV, complete_cv, with_each
from ..designs import Design, LeaveGroupsOut
from ._by_runs import errors_of, fold_sums, folds_of, outputs_of, runs_at_once, tables_of
from ._estimators import check_size
from ._request import INEXACT, ExpectedScore, Request
from ._runs import MAX_SPLITS, few_splits
from ._scoring import Measure, read_scoring
from ._splitters import MAX_COUNTS, ByClass, FoldLaw, GroupLaw, StratifiedShuffle, in_words, n_class_counts

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


def closed_form(request: Request) -> ExpectedScore | None:
    """The expectation over the splitter's random numbers in closed form; none for splits that are listed.

    Raises
    ------
    InexactError
        If there is no closed form.
    ValueError, TypeError
        If the arguments do not fit together.
    """
    law = request.law
    if isinstance(law, tuple):
        return None
    if few_splits(request):
        request = request.asking(n_draws=0)
    measure = _measure(request)
    if measure.kind == "together":  # the nearest sample has all labels or not
        request = replace(request, y=request.together)
    if isinstance(law, FoldLaw):
        return _by_design(request, measure, law)
    are_computed = law.n_splits <= MAX_SPLITS and not request.n_tested
    return (_by_splits if are_computed else _by_groups)(request, measure, law)


def scores_at_once(request: Request, n_neighbors: list[int]) -> Array | None:
    """The exact scores of several K, of which the rule has the largest, from one pass over the lists.

    None if the splits, the scoring or the weights need one pass for each K.
    """
    with suppress(InexactError):
        law, measure, rule = request.law, _measure(request), request.rule
        if not isinstance(law, FoldLaw) or rule.weights is not None or rule.by_distance or request.pooled:
            return None
        design, kinds = law.design, law.design.training_sets(request.labels)
        if measure.kind not in SURFACES or design.leaves_groups or any(kind.stratified for kind in kinds):
            return None
        check_size(rule.n_neighbors, request.least_train)
        options: dict[str, Any] = {"ties": law.ties, "tol": request.tol, "n_jobs": request.n_jobs}
        options |= {"train_sizes": [kind.least_train for kind in kinds], **SURFACES[measure.kind]}
        found = [surface(rule.neighbors, y, n_neighbors, **options).scores for y in request.targets.T]
        means = np.mean(found, axis=0) @ [float(kind.probability) for kind in kinds]
        return np.array([measure(mean) for mean in means.tolist()])
    return None


def _measure(request: Request) -> Measure:
    """The scoring as a function of a mean that knnccv computes for the rule."""
    if request.prepared.reason:
        raise InexactError(request.prepared.reason)
    rule, scoring = request.rule, request.scoring
    is_nearest = rule.n_neighbors == 1 and not request.pooled
    measure = read_scoring(scoring, regression=rule.regression, y=request.y, is_nearest=is_nearest)
    by_shares = measure.kind in ("brier", "log_loss", "absolute")
    has_form = not (by_shares or (request.y.ndim == 2 and not rule.regression))
    msg = f"{measure.name} of {'means' if rule.regression else 'votes'} within a radius has no closed form"
    check(rule.radius is None or has_form, msg, error=InexactError)
    msg = f"{measure.name} asks whether all outputs are right together, which votes for each do not tell"
    check(not (measure.kind == "together" and rule.n_neighbors > 1), msg, error=InexactError)
    msg = f"{measure.name} of {rule.weights_in_words} is exact for n_neighbors=1 only"
    check(measure.kind not in ("brier", "log_loss") or rule.weights is None, msg, error=InexactError)
    if measure.kind == "brier" and rule.n_neighbors == 1:  # the share of the true class is 0 or 1
        costs = 2 * (1 - np.eye(len(np.unique(request.y))))
        measure = replace(measure, kind="cost", costs=costs)
    return measure


def _by_design(request: Request, measure: Measure, law: FoldLaw) -> ExpectedScore:
    """The score over equally likely training sets of fixed sizes."""
    design, average = law.design, law.pooled if request.pooled else "pooled"
    tested = np.unique(request.y[: request.n_tested])
    lacks_class = request.n_tested and measure.every_class and len(tested) < len(np.unique(request.y))
    msg = f"{measure.name} is exact only if the test set has samples of every class"
    check(not lacks_class, msg, error=InexactError)
    if measure.kind == "balanced" and (request.n_tested or request.pooled):
        average = "class"
    elif measure.kind == "balanced":
        design = _balanced_design(request, measure, law)
    check_size(request.rule.n_neighbors, request.least_train)
    undefined = _undefined(request, measure, law)
    every = "every training set and every test set has samples of every class"
    remedy = "as with a stratified splitter and enough samples of every class"
    msg = f"{measure.name} is exact only if {every}, {remedy}: scikit-learn has no score otherwise"
    check(undefined <= request.tol, msg, error=InexactError)
    results = _complete(request, measure, design, average)
    how = "" if results[0].variant.startswith("weighted") else ", in closed form"
    found = _combined(request, measure, [1.0], results, how)
    return replace(found, error_bound=found.error_bound + undefined)


def _undefined(request: Request, measure: Measure, law: FoldLaw) -> float:
    """Bound how much the splits in which scikit-learn has no score change the mean over the others.

    It is the probability that a fold of a run does not train or does not test some class, times the largest
    score.
    """
    if not measure.all_classes:
        return 0.0
    labels = request.labels
    kinds, counts = (law.balanced or law.design).training_sets(labels), labels.counts
    is_pool, tested = request.n_tested > 0, np.unique(request.y[: request.n_tested])
    if is_pool and tested.tolist() != labels.classes.tolist():
        return math.inf
    if law.balanced is not None:
        tests_all = is_pool or _tests_every_class(law.balanced, labels)
        always = tests_all and all(min(kind.n_train) for kind in kinds)
        return 0.0 if always else math.inf
    if not law.tests_rest or law.design.leaves_groups:
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
    msg = (
        f"{measure.name} of a fold is exact only if every test set has a fixed number of "
        "samples of every class, and at least one (a class without tested samples has no recall): "
        "use a stratified splitter with enough samples of every class, or average='pooled', or "
        "'balanced_accuracy', which leaves such classes out"
    )
    tests_every = design is not None and _tests_every_class(design, labels)
    check(tests_every or not measure.every_class, msg, error=InexactError)
    if design is not None or law.single:
        return design or law.design
    if law.design.leaves_groups:
        found = "whole groups are left out, so they vary"
    elif not law.tests_rest:
        found = "some samples neither train nor are tested, so they vary"
    else:
        number = n_class_counts(law.design, labels)
        if number <= MAX_COUNTS:
            return ByClass(in_words(request.cv), law.design)
        found = f"there are {number:,}"
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


def _by_groups(request: Request, measure: Measure, law: GroupLaw) -> ExpectedScore:
    """The score over splits of whole groups, by the training sets of every number of groups."""
    rule, is_pool = request.rule, request.n_tested > 0  # all splits of a pool test the same samples
    needs_draws = rule.weights is not None or measure.kind == "absolute"
    _refuse_groups(measure, rule.radius is not None or (needs_draws and not request.n_draws))
    alike = is_pool or request.pooled or (len(set(law.sizes.tolist())) == 1 and measure.kind != "balanced")
    many = f"can make {magnitude(law.n_splits)} splits, too many to evaluate one by one"
    forms = "with average='pooled' (all classifications have equal weight), or for groups of one size and"
    others = "scores other than means over classes"
    why = "the mean of the scores of unequal folds is a mean of ratios"
    msg = f"{in_words(request.cv)} {many}; there is a closed form {forms} {others}: {why}"
    check(alike, msg, error=InexactError)
    check_size(rule.n_neighbors, request.least_train)
    average = "class" if measure.kind == "balanced" else "pooled"
    n_tested = sum((probability * tested for probability, _, tested in law.parts), Fraction(0))
    results, shares = list[CompleteCV](), []
    for probability, n_train, n_test in law.parts:
        results += _complete(request, measure, law.leaving(n_train), average)
        by_size = request.pooled and not is_pool
        shares.append(float(probability * n_test / n_tested if by_size else probability))
    return _combined(request, measure, shares, results, ", in closed form")


def _refuse_groups(measure: Measure, has_no_form: bool) -> None:
    """Raise InexactError if the score has no closed form where whole groups are left out."""
    msg = f"{measure.name} needs every class in every fold, which groups may not have"
    check(not measure.all_classes, msg, error=InexactError)
    msg = "votes by the distances and absolute errors have no closed form if whole groups are left out"
    check(not has_no_form, msg, error=InexactError)


def _by_splits(request: Request, measure: Measure, law: GroupLaw) -> ExpectedScore:
    """The score over all splits of whole groups, one by one.

    It is the mean of their scores or, if these are pooled, that over all their classifications.
    """
    rule, n_items = request.rule, len(request.y)
    _refuse_groups(measure, rule.radius is not None or not (rule.weights is None or rule.by_distance))
    check_size(rule.n_neighbors, request.least_train)
    splits, total = law.splits(), np.zeros(())
    width = max(rule.n_neighbors, request.targets.shape[1], len(request.all_labels.classes))
    step = runs_at_once(n_items * width)
    starts = range(0, law.n_splits, step)
    for _ in counted(starts, len(starts)):
        probabilities, some = zip(*islice(splits, step), strict=True)
        folds = folds_of(some, len(law.sizes))[:, law.codes]
        outputs = outputs_of(request, *request.nearest(folds, request.seed))
        sums = _sums(request, measure, folds, outputs)
        shares = np.array(probabilities, dtype=float)
        total = total + np.tensordot(shares, sums if request.pooled else _means(measure, sums), 1)
    means = _means(measure, total[None])[0] if request.pooled else total
    n_roundings = n_items + rule.n_neighbors + 16
    bound = float(n_roundings * np.finfo(float).eps * max(_largest_gap(request, measure), 1.0))
    how, fields = ", each of them computed", _by_output(request, measure, means)
    return _answer(request, measure, means.mean(), how, error_bound=abs(measure.factor) * bound, **fields)


def _sums(request: Request, measure: Measure, folds: Array, outputs: Array) -> Array:
    """Confusion tables of splits, or sums over their tested samples and the number of these by output."""
    if measure.kind == "brier":
        gaps = (outputs - np.eye(outputs.shape[2])[request.all_labels.codes]) ** 2
        return fold_sums(folds, gaps.sum(axis=2, keepdims=True), 1)[:, 0]
    if not request.by_output:
        return tables_of(request, folds, outputs, 1)[:, 0]
    errors = errors_of(request, outputs)
    return fold_sums(folds, errors**2 if measure.kind == "squared" else np.abs(errors), 1)[:, 0]


def _means(measure: Measure, sums: Array) -> Array:
    """What is averaged in every split, shape (n_splits, n_outputs), from its sums or its table."""
    if sums.ndim == 2:
        return np.asarray(sums[:, :-1] / sums[:, -1:])
    costs = np.eye(sums.shape[1]) if measure.costs is None else measure.costs
    by_class, tested = (sums * costs).sum(axis=2), sums.sum(axis=2)
    if measure.kind != "balanced":
        return np.asarray(by_class.sum(axis=1) / tested.sum(axis=1))[:, None]
    msg = f"{measure.name} has no closed form if a test set has no sample of some class"
    check(not (measure.every_class and not tested.all()), msg, error=InexactError)
    shares = np.divide(by_class, tested, out=np.zeros_like(by_class), where=tested > 0)
    return np.asarray(shares.sum(axis=1) / (tested > 0).sum(axis=1))[:, None]


def _largest_gap(request: Request, measure: Measure) -> float:
    if request.regression:
        return float(np.ptp(request.targets.astype(float), axis=0).max() ** 2)
    if measure.kind == "brier":
        return 2.0
    return 1.0 if measure.costs is None else float(np.abs(measure.costs).max())


def _complete(request: Request, measure: Measure, design: Design, average: str) -> list[CompleteCV]:
    """The results of `complete_cv` by the variant of the rule, one for each column of y."""
    rule, law = request.rule, request.law
    assert not isinstance(law, tuple)
    given: dict[str, Any] = {"cv": design, "ties": law.ties, "average": average, "tol": request.tol}
    given |= {"n_jobs": request.n_jobs} | ({} if measure.costs is None else {"loss": measure.costs})
    has_weights = measure.kind == "absolute" or _weights_decide(request, given)
    if isinstance(design, StratifiedShuffle) and (has_weights or rule.radius is not None):
        given["cv"] = replace(design, one_by_one=True)
    if rule.radius is not None:
        return _within_radius(request, given)
    variant, parameters = _variant(request, measure, has_weights)
    score = partial(complete_cv, rule.neighbors, variant=variant, **given, **parameters)
    if has_weights or isinstance(design, LeaveGroupsOut):
        return [_exact_or_drawn(request, score, at, design) for at in range(request.targets.shape[1])]
    return [score(**request.data(column)) for column in request.targets.T]


def _weights_decide(request: Request, given: dict[str, Any]) -> bool:
    """Whether the weights of the neighbors matter.

    The nearest of two that are weighted by distance decides, unless differently labeled samples tie. With
    ties="index", a tie of the nearest neighbor with the next would not be counted.
    """
    rule = request.rule
    if rule.weights is None or not rule.by_distance:
        return rule.weights is not None
    score = partial(complete_cv, rule.neighbors, variant="nn", **given | {"ties": "random"})
    return any(score(**request.data(column)).n_tied for column in request.targets.T)


def _variant(request: Request, measure: Measure, has_weights: bool) -> tuple[str, dict[str, Any]]:
    """The variant that scores the rule, and its parameters."""
    rule, parameters = request.rule, {"n_neighbors": request.rule.n_neighbors}
    if has_weights:
        weights = {"weights": rule.weights or "uniform", **_steps(request, rule.n_neighbors)}
        score = {"score": "absolute_error"} if measure.kind == "absolute" else {}
        return "weighted_regression" if rule.regression else "weighted", parameters | weights | score
    if rule.regression:
        return "regression", parameters
    if measure.kind in ("brier", "log_loss"):
        return "confidence", parameters | {"score": measure.kind}
    return ("nn", {}) if rule.n_neighbors == 1 or rule.by_distance else ("knn", parameters)


def _steps(request: Request, n_neighbors: int) -> dict[str, int]:
    """The argument `max_steps` of rules that weigh their neighbors, where training sets may be drawn."""
    steps = STEPS_PER_DRAW[n_neighbors > FEW_NEIGHBORS] * request.n_draws
    return {"max_steps": min(steps, MOST_STEPS)} if steps else {}


def _within_radius(request: Request, given: dict[str, Any]) -> list[CompleteCV]:
    """Return the scores of the neighbors within a radius, once per column of y.

    Raises
    ------
    ValueError
        If samples may have no neighbors, and this cannot count as an error.
    """
    rule, columns, loss = request.rule, request.targets.T, given.pop("loss", None)
    ask: Any = partial(complete_cv, rule.neighbors, radius=rule.radius, **given)
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


def _exact_or_drawn(
    request: Request, ask: Callable[..., CompleteCV], number: int, design: Design
) -> CompleteCV:
    """Return the score by weights, or over groups, exact or drawn, of a column of y.

    The larger K of a search are scored by the same training sets.

    Raises
    ------
    InexactError
        If there are too many training sets to enumerate, and none are to be drawn.
    """
    rule, score = request.rule, partial(ask, **request.data(request.targets[:, number]))
    if request.n_draws:
        drawn = partial(score, n_draws=request.n_draws, random_state=request.seed + number)
        if not request.searched:
            return drawn()
        k = rule.n_neighbors
        known: dict[int, CompleteCV] = request.drawn.setdefault((number, repr(design)), {})
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
        where = "is exact where all sets of the nearest training samples can be counted"
        reason = f"with n_neighbors={rule.n_neighbors} {where}, but some samples have too many of them"
        if callable(rule.weights):
            reason = "is a function, which the exact computation cannot call"
        msg = f"{what} {reason}; method='auto' draws training sets for these samples"
        raise InexactError(msg) from error


def _combined(
    request: Request, measure: Measure, shares: list[float], results: Sequence[CompleteCV], how: str
) -> ExpectedScore:
    """The sum of `shares` of the means over the outputs; `results` has all outputs for each share."""
    number = request.targets.shape[1]
    pairs = list(zip(np.repeat(np.divide(shares, number), number).tolist(), results, strict=True))
    mean = sum(share * result.score for share, result in pairs)
    fields: dict[str, Any] = {"result": results[0] if len(results) == 1 else tuple(results)}
    each = np.reshape([share * result.score for share, result in pairs], (-1, number))
    fields |= _by_output(request, measure, each.sum(axis=0) * number)
    sampled = [(share, result) for share, result in pairs if isinstance(result, SampledCV)]
    if sampled:
        n_draws = max(result.n_draws for _, result in sampled)
        error = math.hypot(*(share * result.std_error for share, result in sampled))
        fields |= {"std_error": abs(measure.factor) * error, "n_draws": n_draws, **INEXACT}
        how = f", from {n_draws} training sets drawn for every sample that has too many of them"
    else:
        bound = sum(share * result.error_bound for share, result in pairs)
        fields |= {"_measure": measure, "_shares": tuple(share for share, _ in pairs)}
        fields["error_bound"] = abs(measure.factor) * bound
    return _answer(request, measure, mean, how, **fields)


def _by_output(request: Request, measure: Measure, means: Array) -> dict[str, Any]:
    """The field of the scores of several outputs."""
    return {"per_output": measure(means)} if request.y.ndim == 2 else {}


def _answer(request: Request, measure: Measure, mean: float, how: str, **fields: Any) -> ExpectedScore:
    law = request.law
    assert not isinstance(law, tuple)
    number = f" {magnitude(law.n_splits)}" if law.n_splits else ""
    which = "goes through" if law.every else "can make, whatever its seed"
    how = f"the mean over all{number} splits that {in_words(request.cv)} {which}{how}"
    return request.answer(measure(mean), how, deterministic=law.every, ties=law.ties, **fields)
