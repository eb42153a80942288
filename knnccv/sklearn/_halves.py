"""The luck of the data of any score: halves of the samples, each scored by two random runs, `HalfRuns`.

Nearest-neighbor rules and searches of them predict by the engines of random runs; for all else scikit-learn
fits the estimator. F1, AUC, R² and others are no means over samples, so folds of a half are scored in
pairs: two of them test as many samples as a fold of all.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, cast

import numpy as np

from .._base.compat import read_scorer
from .._base.typing import Array
from .._base.validation import check
from .._core.driver import InexactError, callers_level
from .._core.luck import inference
from .._core.luck.halves import HalvesRequest, halves_request
from .._core.luck.runs import (
    NEITHER,
    Draw,
    draw_by,
    each_split,
    is_noisy,
    pool_draw,
    runs_of_halves,
    single_splits,
    train_sizes,
)
from .._core.luck.scorings import ACCURACIES, Scale, TableScorer, is_near_floor, rare_class, scale_of
from .._core.scores.results import of_tables
from ..designs import encode_groups
from ._by_runs import (
    errors_of,
    folds_of,
    in_tables,
    n_tested_by,
    nearest_of,
    outputs_of,
    runs_at_once,
    score_outputs,
    tables_of,
)
from ._estimators import last_step
from ._request import ExpectedScore, Request
from ._runs import score_splits
from ._scoring import is_costs, metric_name, name_of
from ._searches import outputs_of_search, search_to_repeat
from ._splitters import FoldLaw, GroupLaw, SplitterDesign, in_words, reseeded

USUAL_FITS = 25
"""Halvings if scikit-learn fits the estimator."""
MOST_FOLDS = 20
"""Folds that are scored in pairs; more have few samples each, which nobody scores so."""
FEWEST = 20
"""Halvings below which there is a warning."""
FEW_ITEMS = 300
"""Samples whose halves take no time; three times as many if votes are counted."""
LONG = 10.0
"""Seconds of fits that are announced."""
BY_SAMPLE = {*ACCURACIES, "mean_squared_error", "mean_absolute_error", "log_loss", "brier_score_loss"}
"""Functions that are means over the tested samples, or nearly: pairs of folds change nothing."""


def _scale(request: Request) -> Scale:
    """How the score is bounded."""
    made = read_scorer(request.sklearn_scorer)
    found = scale_of(made, request.all_labels, request.scorer, metric_name(made))
    return Scale(found.limits, found.scale) if request.by_output else found


def _by_groups(request: Request) -> bool:
    """Whether the splitter keeps groups together."""
    try:
        return request.leaves_groups
    except InexactError:
        return "Group" in type(request.cv).__name__


Predict = Callable[[Request, Array, int], Array]
"""From a request, folds (n_runs, n_items) and a seed to shares or means (n_runs, n_items, ...)."""


def predicts(asked: Sequence[Request]) -> tuple[Predict | None, list[Request]]:
    """How the predictions of runs are found, and the requests by which they are scored.

    The former is the same for requests that differ in the scoring. None: scikit-learn has to fit the
    estimator, and to score it.
    """
    request = asked[0]
    with suppress(InexactError):
        if read_scorer(request.sklearn_scorer) is None or isinstance(request.law, tuple):
            return None, [*asked]
        search = None if request.n_tested else search_to_repeat(request)
        if search is not None:
            return partial(outputs_of_search, search), list(map(search.asking, asked))
        if request.rule.radius is None:
            return listed_outputs, [*asked]
    return None, [*asked]


def listed_outputs(request: Request, folds: Array, seed: int) -> Array:
    """The predictions of the nearest training samples."""
    return outputs_of(request, *nearest_of(request, folds, seed))


def fitted_scores(asked: Sequence[Request], folds: Array) -> Array:
    """The mean scores (n_asked, n_runs) of the folds of runs that scikit-learn fits; NaN if it refuses.

    The reason is then in `Request.drawn`, by the scoring.
    """
    n_folds = int(folds.max()) + 1
    splits = [
        (np.flatnonzero((of_run != fold) & (of_run != NEITHER)), np.flatnonzero(of_run == fold))
        for of_run in folds
        for fold in range(n_folds)
    ]
    try:
        scores, _ = score_splits(asked, splits)
    except ValueError as error:
        if len(asked) > 1:
            return np.concatenate([fitted_scores([one], folds) for one in asked])
        asked[0].drawn["refused", asked[0].scoring] = f"; scikit-learn: {error}"
        return np.full((1, len(folds)), np.nan)
    return np.asarray(scores.reshape(len(asked), len(folds), n_folds).mean(axis=2))


def _runs(
    request: Request, asked: HalvesRequest, halvings: inference.Halvings
) -> tuple[Array, list[Array], Array]:
    """The scores of halves in random runs, (n_runs, n_halvings, 2), errors of samples, and training sizes.

    Scorings that were asked together are computed at once: the intervals of five take 1.8 to 4.3 times as
    long one by one.
    """
    family = [one for one in request.family if read_scorer(one.sklearn_scorer) is not None]
    at = [one.scoring is request.scoring for one in family]
    family, place = (family, at.index(True)) if any(at) else ([request], 0)
    key, kept = (halvings.digest, str(asked.rng.bit_generator.state)), request.drawn if any(at) else {}
    if kept.get("halves", (None,))[0] != key:
        errors = list[Array]()

        def score(folds: Array, n_before: int) -> Array:
            least, k = int(train_sizes(folds).min()), _largest_k(request)
            why = f"a standard error needs scores of halves, whose training sets have {least} samples"
            msg = f"take fewer neighbors, or more samples: {why}, got n_neighbors={k}"
            check(k <= least, msg)
            scores, of_samples = _scores(family, folds, request.seed + n_before)
            if np.isfinite(of_samples).any():
                errors.append(of_samples)
            return scores

        runs, sizes = runs_of_halves(_draw(request), halvings, score, asked.rng)
        kept["halves"] = key, runs, errors, sizes
    _, found, errors, sizes = kept["halves"]
    runs, n_runs = found[place], 2
    while n_runs < len(runs) and is_noisy(runs[:n_runs]):
        n_runs *= 2
    runs = runs[:n_runs].copy()  # as many as if it had been asked alone
    undefined = np.isfinite(runs).all(axis=2).sum(axis=0) < 2
    if undefined.mean() > inference.MOST_UNDEFINED:
        share = f"{undefined.mean():.0%} of the halvings of the samples"
        what = f"{name_of(request.sklearn_scorer)} is undefined in {share}"
        most = f"at most {inference.MOST_UNDEFINED:.0%} may be left out of a standard error"
        why = request.drawn.get(("refused", request.scoring), "")
        msg = f"take fewer folds, or more samples: {what}, and {most}{why}"
        raise ValueError(msg)
    return runs, errors, sizes


def _scores(asked: Sequence[Request], folds: Array, seed: int) -> tuple[Array, Array]:
    """The scores (n_asked, n_runs) of runs, and of a regression the errors of the samples.

    These are means of absolute errors and of squares, (2, n_items), NaN where none is tested.
    """
    request, (predict, scored) = asked[0], predicts(asked)
    step = 1 if predict is None else _at_once(request, folds.shape[1], int(folds.max()) + 1)
    scores = np.empty((len(asked), len(folds)))
    counted = [at for at, one in enumerate(asked) if predict is listed_outputs and _in_tables(one)]
    left = [at for at in range(len(asked)) if at not in counted]
    errors, tested = np.zeros((2, request.n_tested or len(request.y))), np.zeros(1)
    for start in range(0, len(folds), step):
        some, started = folds[start : start + step], time.perf_counter()
        tables = dict[str, Array]()
        for at in counted:
            needs = cast(TableScorer, asked[at].scorer).needs
            if needs not in tables:
                tables[needs] = counted_tables(request, needs, some, seed + start)
            scores[at, start : start + step] = _of_folds(asked[at], tables[needs])
        if not left:
            continue
        if predict is None:
            scores[:, start : start + step] = fitted_scores(asked, some)
            if start == 1:  # the first one starts processes
                _announce((time.perf_counter() - started) * len(folds))
            continue
        outputs = predict(request, some, seed + start)
        some = some[:, : outputs.shape[1]]
        for at in left:
            scores[at, start : start + step] = score_pairs(scored[at], some, outputs)
        if request.regression:
            missed = np.where(some[..., None] >= 0, errors_of(request, outputs), 0.0)
            errors += np.abs(missed).sum(axis=(0, 2)), np.square(missed).sum(axis=(0, 2))
            tested = tested + (some >= 0).sum(axis=0)
        if start == 0:
            _announce((time.perf_counter() - started) * len(folds) / step)
    with np.errstate(invalid="ignore"):
        return scores, errors / tested


def _in_tables(request: Request) -> bool:
    """Whether tables of counted votes are all that the scoring of listed neighbors needs."""
    return not request.n_tested and not request.joined and in_tables(request, 1)


def counted_tables(request: Request, needs: str, folds: Array, seed: int) -> Array:
    """The tables of counted votes of runs, (n_runs, n_folds, ...)."""
    splits, near = single_splits(each_split(folds), seed), request.rule.neighbors
    parts = of_tables(request.problem, near, splits, needs, lambda tables: tables[:, 0], request.n_jobs)
    tables = np.concatenate(parts)
    return tables.reshape(len(folds), -1, *tables.shape[1:])


def _of_folds(request: Request, tables: Array) -> Array:
    """The mean score (n_runs,) of tables (n_runs, n_folds, ...), added for pairs of adjacent folds."""
    scorer = cast(TableScorer, request.scorer)
    if not _in_pairs(request, tables.shape[1]):
        return np.asarray(scorer(tables).mean(axis=1))
    with warnings.catch_warnings(action="ignore"):  # where no pair is defined
        return np.asarray(np.nanmean(scorer(tables + np.roll(tables, -1, axis=1)), axis=1))


def _in_pairs(request: Request, n_folds: int) -> bool:
    """Whether folds of halves are scored in pairs: not for means over samples, or folds of fixed sizes."""
    if request.goes_through_all:
        return False
    return metric_name(read_scorer(request.sklearn_scorer)) not in BY_SAMPLE and 2 < n_folds <= MOST_FOLDS


def _at_once(request: Request, n_items: int, n_folds: int) -> int:
    """How many runs of so many samples are scored at once."""
    width = max(_largest_k(request), request.targets.shape[1], len(request.all_labels.classes))
    n_cells = n_folds * len(request.all_labels.classes) ** 2 * (_largest_k(request) + 1)
    return runs_at_once(max(n_items * width, n_cells))


def score_pairs(request: Request, folds: Array, outputs: Array) -> Array:
    """The mean score (n_runs,) of all pairs of adjacent folds; of single folds for means over samples.

    Where a pair lacks a class, the score may be undefined. The mean is that of the others.
    """
    if request.joined:
        folds = np.minimum(folds, 0)
    n_folds = int(folds.max()) + 1
    if request.scorer is not None and request.scorer.needs != "votes":
        return _of_folds(request, tables_of(request, folds, outputs, n_folds))
    if not _in_pairs(request, n_folds):
        return score_outputs(request, folds, outputs, n_folds)
    pairs = [(folds == fold) | (folds == (fold + 1) % n_folds) for fold in range(n_folds)]
    scores = [score_outputs(request, np.where(pair, 0, NEITHER), outputs, 1) for pair in pairs]
    with warnings.catch_warnings(action="ignore"):  # where no pair is defined
        return np.asarray(np.nanmean(scores, axis=0))


def _halvings(request: Request, asked: HalvesRequest) -> inference.Halvings:
    """Random halvings; with a test set, of its samples and of those of the pool."""
    n_tested, rng, n = request.n_tested, asked.rng, asked.n_halvings
    pool = inference.draw_halvings(n, len(request.y) - n_tested, rng, groups=asked.groups)
    if not n_tested:
        return pool
    return inference.draw_halvings(n, n_tested, rng).before(pool)


def _draw(request: Request) -> Draw:
    """How the runs of a half are drawn: as the splitter, with the same shares."""
    n, cv = request.n_tested, request.cv.cv if request.n_tested else request.cv
    y, groups = request.y[n:], None if request.groups is None else np.asarray(request.groups)
    try:
        law = request.law
    except InexactError:
        law = None
    if isinstance(law, FoldLaw) and not isinstance(law.design, SplitterDesign):
        draw = draw_by(law.design, request.labels, 0 if law.tests_rest else n_tested_by(request))
    elif isinstance(law, GroupLaw) and law.every:
        draw = partial(_each_group, law)
    else:
        n_units = len(y) if groups is None or not _by_groups(request) else len(np.unique(groups))
        draw = partial(_drawn_by, _in_shares(cv, n_units), y, groups)
    return pool_draw(draw, n) if n else draw


def _each_group(law: GroupLaw, rows: Array, rng: np.random.Generator) -> Array:
    """The folds of random disjoint sets of as many groups as are left out."""
    (_, _, n_left), *_ = law.parts
    names, codes = np.unique(law.codes[rows], return_inverse=True)
    order = rng.permutation(len(names))
    return np.asarray(np.where(order < len(names) // n_left * n_left, order // n_left, -1)[codes])


def _in_shares(cv: Any, n_units: int) -> Any:
    """A splitter that draws the same shares of other samples, or groups."""
    cv = reseeded(cv, 0)
    for name in ("train_size", "test_size"):
        if isinstance(getattr(cv, name, None), (int, np.integer)):
            setattr(cv, name, getattr(cv, name) / n_units)
    return cv


def _drawn_by(cv: Any, y: Array, groups: Any, rows: Array, rng: np.random.Generator) -> Array:
    """The folds of a run of a splitter of some samples; its first split if a sample is tested twice."""
    from sklearn.model_selection import BaseShuffleSplit

    args = np.zeros(len(rows)), y[rows], None if groups is None else groups[rows]
    with warnings.catch_warnings(action="ignore"):  # of small classes
        n_splits = cv.get_n_splits(*args) // getattr(cv, "n_repeats", 1)
        n_splits = 1 if isinstance(cv, BaseShuffleSplit) else n_splits
        seed = int(rng.integers(2**31 - 1))
        try:
            each = folds_of(list(islice(reseeded(cv, seed).split(*args), n_splits)), len(rows))
        except (ValueError, IndexError) as error:
            what = f"halves of the samples, {len(rows)} in each, cannot be split by {in_words(cv)}"
            msg = f"take more samples, fewer folds, or a splitter of shares: {what} ({error})"
            raise ValueError(msg) from error
    is_run = n_splits > 1 and ((each == 0).sum(axis=0) <= 1).all() and (each != NEITHER).all()
    found: Array = np.where((each == 0).any(axis=0), (each == 0).argmax(axis=0), -1) if is_run else each[0]
    return found


def _largest_k(request: Request) -> int:
    """The number of neighbors; 1 where it is unknown."""
    k = getattr(last_step(request.prepared.estimator), "n_neighbors", None)
    return int(k) if isinstance(k, (int, np.integer)) else 1


def _announce(seconds: float) -> None:
    """Say how long it will take, if that is long."""
    if seconds > LONG:
        msg = f"the scores of the halves will take about {seconds:.0f} s; fewer n_halvings take less"
        warnings.warn(msg, inference.InferenceWarning, stacklevel=callers_level())


def _doubts(
    request: Request, score: float, halves: inference.HalfScores, k: int, sizes: Array, groups: Array | None
) -> list[str]:
    """Warnings where intervals were found to be unreliable."""
    texts = list[str]()
    if not request.by_output and metric_name(read_scorer(request.sklearn_scorer)) not in BY_SAMPLE:
        few = 0 if request.goes_through_all or request.joined else 2 * sizes.shape[1]
        texts += rare_class(request.all_labels, few, groups)
    texts += inference.few_neighbors(float(sizes.mean()), k)
    if is_near_floor(halves, score):
        scores = (
            f"halves score {halves.mean:.4g} by {name_of(request.sklearn_scorer)}, all samples {score:.4g}"
        )
        constant = f"a constant answer {halves.floor:.4g}"
        texts.append(f"take more samples: {scores}, and {constant}: the interval is uncertain")
    texts += inference.few_groups(halves)
    if halves.of_groups and not _by_groups(request):
        why = "trains samples of the groups that it tests: the score is not that of other groups"
        texts.append(f"{in_words(request.cv)} {why}; take a splitter by groups, such as GroupKFold")
    if (number := len(halves.scores)) < FEWEST:
        texts.append(f"{number} halvings are fewer than {FEWEST}: the standard error is uncertain")
    return texts


@dataclass(frozen=True, eq=False)
class HalfRuns:
    """A request whose halves can be scored."""

    request: Request

    @property
    def takes_no_time(self) -> bool:
        """Whether the halves are scored in less than a third of a second."""
        request = self.request
        if predicts([request])[0] is not listed_outputs:
            return False
        try:
            has_formula = request.scorer is not None or request.formula is not None
        except ValueError:  # undefined in most splits of a single class, which have no interval
            return False
        return has_formula and len(request.y) <= FEW_ITEMS * (3 if _in_tables(request) else 1)

    def asked(self, n_halvings: Any, groups: Any, random_state: Any) -> HalvesRequest:
        """The checked arguments of `ExpectedScore.standard_error`.

        Raises
        ------
        TypeError, ValueError
            If one is not allowed, or there are too few samples or groups.
        """
        request, n_tested = self.request, self.request.n_tested
        if groups is None and request.groups is not None and _by_groups(request):
            groups = request.groups
        msg = "a test set beside groups has no standard error: halves are drawn from single samples"
        check(not (groups is not None and n_tested), msg)
        n_items = len(request.y) - n_tested
        codes = None if groups is None else encode_groups(groups, n_items=n_items)[1]
        return halves_request(min(n_items, n_tested or n_items), codes, n_halvings, random_state)

    def half_scores(self, answer: ExpectedScore, asked: HalvesRequest) -> inference.HalfScores:
        """The scores of random halves.

        Raises
        ------
        ValueError
            If the halves are too small for the rule, or the score is undefined in too many of them.
        """
        request, halvings, score = self.request, _halvings(self.request, asked), answer.score
        k, scale = _largest_k(request), _scale(request)
        runs, errors, sizes = _runs(request, asked, halvings)
        one_bound = scale.limits is not None and math.inf in np.abs(scale.limits) and scale.scale != "log"
        deviations, texts = np.empty(0), list[str]()
        if one_bound and errors:
            with warnings.catch_warnings(action="ignore"):  # of samples that no run tests
                each = np.nanmean(errors, axis=0)[int(request.formula != "mean_absolute_error")]
            each = each[np.isfinite(each)]
            deviations = math.copysign(1.0, score) * (each - each.mean()) / len(each)
            texts += inference.unequal_errors(float(each.mean()), np.abs(deviations))
        found = inference.HalfScores.of_runs(runs, halvings, float(sizes.mean()), answer.std_error)
        found = scale.of(found, deviations=deviations, n_answers=scale.n_answers)
        growth = max(found.mean / score, 1.0) if one_bound and score else 1.0
        texts += _doubts(request, score, found, k, sizes, asked.groups)
        return replace(found, warnings=tuple(texts), growth=growth)

    def terms(self, found: ExpectedScore) -> inference.Terms:
        """What an answer tells of itself."""
        request = self.request
        n, cv = request.n_tested, request.cv.cv if request.n_tested else request.cv
        estimator, steps = request.prepared.estimator, request.prepared.steps
        rule = in_words(steps if steps and not hasattr(estimator, "steps") else estimator)
        made = read_scorer(request.sklearn_scorer)
        scoring: tuple[Any, ...] = (repr(request.scoring),)
        is_loss = is_costs(request.scoring)
        if made is not None:
            is_loss |= made.sign > 0 and made.metric.endswith(("_loss", "_error"))
            options = map(repr, sorted(made.options.items()))
            scoring = (made.sign, made.responses, made.metric or repr(made.function), *options)
        target = f"{found.measure} in the population of {rule}, trained and tested by {found.design}"
        return inference.Terms(
            request.y, np.ones(n or len(request.y)), type(cv).__name__, is_loss, rule,
            (n, *scoring), target=target, limits=_scale(request).limits,
            usual_halvings=USUAL_FITS if predicts([request])[0] is None else inference.USUAL,
        )  # fmt: skip

    def scores_of_runs(self, n_runs: int, seed: int) -> Array:
        """The scores (n_runs,) of random runs of all samples."""
        request, n = self.request, len(self.request.y)
        rng, draw = np.random.default_rng(seed), _draw(request)
        predict, (scored,) = predicts([request])
        step, scores = 1 if predict is None else _at_once(request, n, 1), np.empty(n_runs)
        for start in range(0, n_runs, step):
            number = min(step, n_runs - start)
            folds = np.stack([draw(np.arange(n), rng) for _ in range(number)])
            if predict is None:
                scores[start] = fitted_scores([request], folds)[0, 0]
                continue
            outputs = predict(request, folds, seed + start)
            folds = folds[:, : outputs.shape[1]]
            scores[start : start + number] = score_outputs(scored, folds, outputs, int(folds.max()) + 1)
        return scores
