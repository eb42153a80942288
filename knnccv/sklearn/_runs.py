"""Runs of scikit-learn, on splits that are listed one by one, and on random samples of splits."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .._base.compat import read_scorer
from .._base.formatting import magnitude
from .._base.parallel import counted, shared_bar
from .._base.typing import Array
from .._base.validation import check
from .._core import driver
from .._core.driver import InexactError, callers_level
from .._core.luck.scorings import Budget, ControlledMean, controlled_mean, enough_runs
from ..designs import Design
from ._by_runs import Twin
from ._estimators import check_metric, check_size, last_step
from ._request import ExpectedScore, Request
from ._scoring import as_scorer, for_outputs, for_sklearn, name_of, read_scoring
from ._splitters import FoldLaw, Split, in_words, is_random, listed, reseeded

MAX_SPLITS = 20_000
"""The largest number of splits that are evaluated one by one."""

MAX_RUNS = 2_000
"""The largest number of splits of a random splitter for which scikit-learn runs one by one."""

FITS = Budget(20, 20, 20)
"""Random runs of scikit-learn. A `precision` may take `MAX_RUNS`."""
SPLITS_AT_ONCE = 50
"""Splits that scikit-learn scores for one step of a progress bar."""


def few_splits(request: Request) -> bool:
    """Whether scikit-learn scores all splits one by one, if there is no closed form."""
    law = request.law
    if isinstance(law, tuple) or request.n_tested:
        return False
    return 0 < law.n_splits <= (MAX_SPLITS if law.every else MAX_RUNS)


def every_split(asked: Sequence[Request], _whys: Sequence[str]) -> list[ExpectedScore] | None:
    """scikit-learn's own scores of all splits, where they are always the same, or few."""
    request, law, cv = asked[0], asked[0].law, asked[0].cv
    if isinstance(law, tuple):
        return run_listed(asked, law)
    if not few_splits(request):
        return None
    if isinstance(law, FoldLaw) or law.every:
        return run_listed(asked, tuple(cv.split(request.X, request.y, request.groups)))
    probabilities, some = zip(*law.splits(), strict=True)
    splits: Any = [[np.flatnonzero(np.isin(law.codes, part)) for part in split] for split in some]
    how = f"scikit-learn's own scores of all {len(splits)} splits that {in_words(cv)} can make"
    pairs = zip(asked, _means(asked, splits, probabilities), strict=True)
    return [one.answer(mean, how) for one, mean in pairs]


def run_listed(asked: Sequence[Request], splits: Sequence[Split]) -> list[ExpectedScore]:
    """Run scikit-learn on the only splits that a deterministic splitter makes."""
    from sklearn import model_selection as ms

    cv = asked[0].cv
    how = f"scikit-learn's own score; {in_words(cv)} always makes the same splits: nothing was averaged"
    if isinstance(cv, (ms.KFold, ms.StratifiedKFold, ms.GroupKFold)):
        shuffled = f"{type(cv).__name__}({cv.get_n_splits()}, shuffle=True)"
        how += f"; {shuffled} would be averaged over all shuffles"
    inner = getattr(last_step(asked[0].prepared.estimator), "cv", None)
    if inner is not None and is_random(inner) and inner.random_state is None:
        anew = f"the search draws {in_words(inner)} anew every time"
        how = f"one run, as {anew}: give it a random_state; {how}"
        warnings.warn(how, UserWarning, stacklevel=callers_level())
    pairs = zip(asked, _means(asked, splits), strict=True)
    return [one.answer(mean, how, deterministic=True) for one, mean in pairs]


def _means(asked: Sequence[Request], splits: Sequence[Split], probabilities: Any = 1.0) -> list[float]:
    """The means of scikit-learn's scores of splits with these probabilities."""
    scores, sizes = score_splits(asked, splits)
    weights = sizes * np.asarray(probabilities, dtype=float)
    return [float(np.average(of_one, weights=weights)) for of_one in scores]


def plain_runs(
    asked: Sequence[Request], whys: Sequence[str], twins: Sequence[Twin | None] = ()
) -> list[ExpectedScore] | None:
    """The means of reseeded runs of scikit-learn, or its scores if all are the same; none for a design.

    Parameters
    ----------
    asked : sequence of Request
        They differ in the scoring, and share the runs.
    whys : sequence of str
        Why scikit-learn has to run.
    twins : sequence of Twin or None, optional
        Of the same order, control variates.

    Raises
    ------
    ValueError
        If a splitter without random numbers makes too many splits, or as `score_splits`.

    Warns
    -----
    SlowComputationWarning
        If the runs that a precision needs take more than about a minute.
    """
    request, cv, words = asked[0], asked[0].cv, in_words(asked[0].cv)
    if isinstance(cv, Design):
        return None
    if not is_random(cv):
        n_splits = cv.get_n_splits(request.X, request.y, request.groups)
        many = f"{words} goes through {magnitude(n_splits)} splits, too many for scikit-learn"
        msg = f"{many}; ShuffleSplit or GroupShuffleSplit with the same sizes draws from them"
        check(n_splits <= max(MAX_SPLITS, len(request.y)), msg)
        try:
            return run_listed(asked, listed(cv, request.X, request.y, request.groups))
        except InexactError:  # the splitter draws random numbers without a `random_state`
            cv = copy.deepcopy(cv)
    rng = np.random.default_rng(request.seed)
    twins = twins or [None] * len(asked)
    sums, sizes, known = np.empty((0, len(asked))), np.empty(0), np.empty((0, len(asked)))
    started = time.perf_counter()

    def look(n_runs: int) -> list[ControlledMean]:
        nonlocal sums, sizes, known
        seconds = (time.perf_counter() - started) * n_runs / len(sums) if len(sums) else 0
        if seconds > driver.LONG:
            more = f"{n_runs:,} more runs of scikit-learn for this precision; a larger one takes fewer"
            msg = (
                f"this will take about {driver.in_words(seconds)}: {more} (scikit-learn runs, as {whys[0]})"
            )
            warnings.warn(msg, driver.SlowComputationWarning, stacklevel=callers_level())
        for _ in counted(range(n_runs), n_runs):
            seed = int(rng.integers(2**31 - 1))
            splits = list(reseeded(cv, seed).split(request.prepared.X, request.y, request.groups))
            scores, weights = score_splits(asked, splits)
            sums, sizes = np.vstack([sums, (scores * weights).sum(axis=1)]), np.append(sizes, weights.sum())
            known = np.vstack([known, [np.nan if twin is None else twin.score(splits) for twin in twins]])
        return list(map(mean, sums.T, known.T, twins))

    def mean(sums: Array, of_twin: Array, twin: Twin | None) -> ControlledMean:
        if twin is not None and (sizes == sizes[0]).all() and np.isfinite(of_twin).all():
            found = controlled_mean(sums / sizes, of_twin[:, None], [twin.mean])
            return twin.corrects(found, of_ratio(sums))
        return of_ratio(sums)

    def of_ratio(sums: Array) -> ControlledMean:
        # The standard error of a ratio of two means; for equal sizes, that of a mean.
        score = float(sums.sum() / sizes.sum())
        return controlled_mean(score + (sums - score * sizes) / sizes.mean())._replace(mean=score)

    budget = FITS if request.precision is None else FITS._replace(unseen=MAX_RUNS, most=MAX_RUNS)
    means, n_runs, lacking = enough_runs(look, [one.wish for one in asked], budget)
    number = f"{n_runs} run{'s' if n_runs > 1 else ''}"
    found, columns = [], (asked, whys, twins, means, map(of_ratio, sums.T), lacking)
    for one, why, twin, of_one, plain, lacks in zip(*columns, strict=True):
        how = f"mean of {number} of scikit-learn over reseeded {words}, as {why}"
        if twin is not None and of_one != plain:
            kind = "expected" if twin.std_error else "exact"
            how += f"; corrected by the {kind} score of steps that are fitted once"
        found.append(one.of_runs(of_one, n_runs, how + lacks))
    return found


def score_splits(asked: Sequence[Request], splits: Sequence[Split]) -> tuple[Array, Array]:
    """Run ``cross_validate`` on given splits; return the scores (n_asked, n_splits) and the weights.

    Raises
    ------
    ValueError
        If the scores of folds cannot be pooled, a training set is too small, or a score is not finite.
    """
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_validate
    from sklearn.utils.validation import has_fit_parameter

    request, scorers = asked[0], {str(at): _scorer(one) for at, one in enumerate(asked)}
    estimator = request.prepared.estimator
    last = last_step(estimator)
    if hasattr(last, "metric_params"):
        check_metric(last)
    k = getattr(last, "n_neighbors", None)
    if isinstance(k, (int, np.integer)):
        check_size(int(k), min(len(train) for train, _ in splits))
    size = len(splits) if shared_bar() is None else SPLITS_AT_ONCE
    starts = range(0, len(splits), size)
    options: dict[str, Any] = {"scoring": scorers, "n_jobs": request.n_jobs, "error_score": "raise"}
    inner = getattr(last, "cv", None) if isinstance(last, GridSearchCV | RandomizedSearchCV) else None
    by_group = any(one.__name__ == "GroupsConsumerMixin" for one in type(inner).__mro__)
    if request.groups is not None and not request.n_tested and by_group:
        name = "groups" if last is estimator else f"{estimator.steps[-1][0]}__groups"
        options["params"] = {name: np.asarray(request.groups)}
    elif request.groups is not None and has_fit_parameter(estimator, "groups"):  # its own folds
        options["params"] = {"groups": np.asarray(request.groups)}
    ask = partial(cross_validate, estimator, request.prepared.X, request.y, **options)
    try:
        parts = [ask(cv=list(splits[start : start + size])) for start in counted(starts, len(starts))]
    except ValueError as error:
        _refuse_one_class(request, splits, error)
        raise
    scores = np.stack([np.concatenate([part[f"test_{name}"] for part in parts]) for name in scorers])
    if not np.isfinite(scores).all():
        _refuse_one_class(request, splits)
        at, split = np.argwhere(~np.isfinite(scores))[0]
        found = f"scikit-learn's score of split {split} is {scores[at, split]}"
        name, size = name_of(asked[at].sklearn_scorer), len(splits[split][1])
        msg = f"{found}; is {name} defined for a test set of {size}?"
        raise ValueError(msg)
    return scores, np.array([len(test) if request.pooled else 1 for _, test in splits], dtype=float)


def _scorer(request: Request) -> Any:
    """The scoring, as scikit-learn takes it.

    Raises
    ------
    ValueError
        If it cannot be pooled, or tested samples are of classes that no training set has.
    """
    scoring = request.scoring
    must = "average='pooled' of scikit-learn's own scores needs one that is a mean over the tested samples"
    msg = f"{must}, got scoring={scoring!r}; use average='folds'"
    check(not request.pooled or _is_mean(request), msg)
    scorer = for_sklearn(scoring, request.y)
    if request.y.ndim == 2 and not request.regression:
        scorer = for_outputs(scorer)
    if request.n_tested and not request.regression and request.y.ndim == 1:
        tested, pool = request.y[: request.n_tested], request.y[request.n_tested :]
        strange = np.setdiff1d(tested, pool).tolist()
        made = read_scorer(as_scorer(scorer))
        remedy = f"leave out the tested samples of the classes {strange}, of which the pool has none"
        msg = f"{remedy}: scoring={scoring!r} compares shares of votes class by class"
        check(not strange or made is None or made.responses == ("predict",), msg)
    return scorer


def _refuse_one_class(request: Request, splits: Any, error: Exception | None = None) -> None:
    """Raise ValueError that tells of a fold of one class, if there is one."""
    if request.regression or request.y.ndim > 1:
        return
    name = "StratifiedKFold" if request.groups is None else "StratifiedGroupKFold"
    for at, split in enumerate(splits):
        for what, rows in zip(("training", "tested"), split, strict=True):
            if len(found := np.unique(request.y[rows]).tolist()) == 1:
                why = f"all {what} samples of split {at} are {found[0]!r} ({error or 'no score'})"
                msg = f"use a stratified splitter, such as {name}, or fewer folds: {why}"
                raise ValueError(msg) from error


def _is_mean(request: Request) -> bool:
    """Check whether the score is a mean over the tested samples."""
    try:
        measure = read_scoring(request.scoring, regression=request.regression, y=request.y)
    except InexactError:
        return False
    return measure.kind != "balanced"
