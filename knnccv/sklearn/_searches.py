"""Grid searches that are repeated in every training set: `nested_runs` of votes, `searched_runs` of all.

A *virtual run* is a fold of a run whose tested samples take no part: its training set is split again, and
the candidates are scored on these inner folds. They share the lists of the nearest inner training samples:
the first K of a list are those of every smaller K.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._base.compat import read_scorer
from .._base.parallel import counted
from .._base.typing import Array
from .._base.validation import check
from .._core.driver import InexactError
from .._core.luck.runs import Runs, each_split, single_splits
from .._core.luck.scorings import Budget, ControlledMean, enough_runs
from .._core.scores.results import Controls, joined
from .._core.scores.tuning import Inner, tuned_score, virtual_runs
from ..kernel.words import BITS
from ._by_runs import (
    controls_once,
    mean_of_runs,
    nearest_of,
    outputs_by_k,
    runs_at_once,
    runs_of,
    score_outputs,
)
from ._estimators import KNOWN_METRICS, last_step, metric_of, missing_parameters, prepare
from ._request import INEXACT, ExpectedScore, Request
from ._splitters import FoldLaw, in_words, reseeded

SEARCHES = Budget(64, 256)
"""Runs of searches in every training set."""


def nested_runs(request: Request) -> ExpectedScore | None:
    """The mean of random runs with a grid search in every training set; none for other estimators."""
    from sklearn.model_selection import GridSearchCV

    search, chooses = search_of(request)
    if type(search) is not GridSearchCV:
        check(not chooses, "the rule is chosen within every training set", error=InexactError)
        return None
    asked = _tuned_arguments(search, request)
    if asked is None:
        msg = "only searches of a KNeighborsClassifier by accuracy have runs of knnccv"
        raise InexactError(msg)
    asked |= {"precision": request.precision, "n_runs": request.n_runs}
    asked |= {"random_state": request.seed, "n_jobs": request.n_jobs}
    try:
        found = tuned_score(request.prepared.X, request.y, **asked)
    except ValueError as error:  # such as a K that inner training sets are too small for
        raise InexactError(str(error)) from error
    best = {name: value for name, value in found.most_chosen._asdict().items() if name in _names(search)}
    often = most_often(best, found.choices[found.most_chosen])
    how = f"the mean of {found.n_runs:,} random runs with a search in every training set, {often}"
    return request.answer(found.score, how, std_error=found.std_error, n_runs=found.n_runs, **INEXACT)


def _names(search: Any) -> set[str]:
    """The parameters of a grid search, whose grid may be a list."""
    grids = [search.param_grid] if isinstance(search.param_grid, Mapping) else search.param_grid
    return set().union(*grids)


def most_often(params: Mapping[str, Any], share: float) -> str:
    """Which parameters are chosen most often, and in which share of the training sets, in words."""
    named = ", ".join(f"{name}={_short(value)}" for name, value in params.items())
    return f"which chooses {named or 'the given parameters'} in {share:.0%}"


def _short(value: Any) -> str:
    """A parameter in words, on one line and the same in every process."""
    return getattr(value, "__name__", None) or " ".join(reprlib.repr(value).split())


def scoring_of_search(estimator: Any) -> Any:
    """The scoring by which a search, or a pipeline that ends with one, scores itself; None for others."""
    last = last_step(estimator)
    scoring = getattr(last, "scoring", None) if hasattr(last, "refit") else None
    if isinstance(scoring, Mapping):
        scoring = scoring.get(last.refit)
    if isinstance(scoring, (list, tuple, set)):
        scoring = last.refit
    known = isinstance(scoring, str) or (callable(scoring) and read_scorer(scoring) is not None)
    return scoring if known else None


def search_of(request: Request) -> tuple[Any, bool]:
    """The search of a request, and whether it is an estimator of knnccv.

    These scale columns once in every training set, not within its inner folds.
    """
    search = request.prepared.estimator
    chooses = hasattr(search, "_as_grid_search")
    return search._as_grid_search() if chooses else search, chooses


def _tuned_arguments(search: Any, request: Request) -> dict[str, Any] | None:
    """The arguments of `tuned_score` for the expected score of a grid search; None if it is not served.

    Served are ``GridSearchCV(KNeighborsClassifier(...), {"n_neighbors": ..., "metric": ...})`` by accuracy,
    with uniform weights, any named metric without parameters, and LeaveOneOut, KFold, StratifiedKFold or a
    number of folds within the training sets; shuffled folds are drawn anew in each. The splits must be
    those of (Repeated) KFold or StratifiedKFold with ``shuffle=True``.
    """
    from sklearn import model_selection as ms
    from sklearn.base import clone
    from sklearn.neighbors import KNeighborsClassifier

    scorings = search.scoring, request.scoring
    by_accuracy = all(one is None or (isinstance(one, str) and one == "accuracy") for one in scorings)
    if not by_accuracy or search.refit is not True or request.pooled or request.y.ndim == 2:
        return None
    folds = (ms.KFold, ms.RepeatedKFold, ms.StratifiedKFold, ms.RepeatedStratifiedKFold)
    law, inner = request.law if type(request.cv) in folds else None, inner_of(search, request.y)
    if not isinstance(law, FoldLaw) or inner is None:
        return None
    rule, grid = search.estimator, search.param_grid
    grid = grid[0] if isinstance(grid, list) and len(grid) == 1 else grid
    plain = type(rule) is KNeighborsClassifier and rule.weights == "uniform"
    if not plain or not isinstance(grid, dict) or not set(grid) <= {"n_neighbors", "metric"}:
        return None
    named = [metric_of(clone(rule).set_params(metric=one)) for one in grid.get("metric", [rule.metric])]
    known = [name for name, params in named if isinstance(name, str) and not params]
    metrics = [one for one in known if one in KNOWN_METRICS and not missing_parameters(one, {})]
    ks = list(grid.get("n_neighbors", [rule.n_neighbors]))
    if len(set(ks)) < len(ks) or len(set(metrics)) < len(named):
        return None
    return {"n_neighbors": ks, "metric": metrics, "inner_cv": inner, "cv": law.design}


def inner_of(search: Any, y: Array) -> Inner | None:
    """Return how a grid search splits a training set, as scikit-learn reads its `cv`; else None."""
    from sklearn import model_selection as ms
    from sklearn.base import is_classifier

    cv = ms.check_cv(search.cv, y, classifier=is_classifier(search.estimator))
    if type(cv) is ms.LeaveOneOut:
        return Inner()
    if type(cv) in (ms.KFold, ms.StratifiedKFold):
        return Inner(cv.n_splits, type(cv) is ms.StratifiedKFold, cv.shuffle)
    return None


def inner_splitter(search: Any, request: Request) -> Any:
    """The splitter within a grid search whose folds are whole groups; None for others."""
    from sklearn import model_selection as ms

    by_group = type(search.cv) in (ms.GroupKFold, ms.StratifiedGroupKFold) and request.groups is not None
    return search.cv if by_group else None


def inner_folds(search: Search, request: Request, runs: Runs, block: int) -> Array:
    """The inner fold of every training sample of every fold of a block, as `virtual_runs` returns them.

    Folds of whole groups are those of scikit-learn's splitter, which splits every training set.

    Raises
    ------
    InexactError
        If a training set has too few groups.
    """
    inside = virtual_runs(runs, block, search.inner, request.labels)
    if search.splitter is not None:
        groups, rng = np.asarray(request.groups), np.random.default_rng([runs.seed, block])
        for codes in inside.reshape(-1, len(groups)):
            train, cv = np.flatnonzero(codes >= 0), search.splitter
            if cv.random_state is None:
                cv = reseeded(cv, int(rng.integers(2**31)))
            try:
                for fold, (_, tested) in enumerate(cv.split(train, request.y[train], groups[train])):
                    codes[train[tested]] = fold
            except ValueError as error:
                raise InexactError(str(error)) from error
    return inside


class Group(NamedTuple):
    """Candidates with the same distances and kind of weights.

    ``request`` has the largest K of these, ``inner`` the scoring of the search as well, ``middle`` a K
    between. ``at`` are the places of the candidates in the grid, in the order of their K, ``ks``.
    """

    request: Request
    inner: Request
    middle: Request
    at: list[int]
    ks: list[int]


def searched_runs(asked: Sequence[Request], _whys: Sequence[str]) -> list[ExpectedScore] | None:
    """The means of random runs with a grid search in every training set; none for other estimators.

    Raises
    ------
    InexactError
        If a candidate, the inner folds or the splits are not served: scikit-learn itself has to run.
    """
    request, law = asked[0], asked[0].law
    if isinstance(law, tuple) or request.pooled or request.n_tested:
        return None
    search = search_to_repeat(request)
    if search is None:
        return None
    middle = search.groups[len(search.groups) // 2].middle
    scored = [search.asking(one) for one in asked]
    parts: list[list[tuple[Array, Controls]]] = []

    def look(n_runs: int) -> list[ControlledMean]:
        parts.append(_scores(scored, search, n_runs, len(parts)))
        return list(map(mean_of_runs, scored, zip(*parts, strict=True)))

    means, n_runs, lacking = enough_runs(look, [one.wish for one in scored], SEARCHES)
    runs = f"{n_runs:,} random runs of {in_words(request.cv)}"
    often = most_often(search.candidates[search.counts.argmax()], search.counts.max() / search.counts.sum())
    how = f"the mean of {runs} with a search in every training set, {often}"
    n_tied = middle.n_tied if law.ties == "index" else 0
    triples = zip(asked, means, lacking, strict=True)
    return [one.of_runs(mean, n_runs, how + lacks, law.ties, n_tied) for one, mean, lacks in triples]


class Search(NamedTuple):
    """A grid search to repeat in every training set.

    ``groups``
        Its candidates.
    ``inner``
        How it splits a training set.
    ``scoring``
        By which it chooses.
    ``scales_once``
        Whether columns are scaled once in every training set, not within its inner folds.
    ``splitter``
        That of scikit-learn if inner folds are whole groups, else None.
    ``candidates``, ``counts``
        The grid, and how often each was chosen so far.
    """

    groups: list[Group]
    inner: Inner
    scoring: Any
    scales_once: bool
    splitter: Any
    candidates: list[dict[str, Any]]
    counts: Array

    def asking(self, request: Request) -> Request:
        """The request of a rule by the scoring of a request; by its own if that has none."""
        scoring = self.scoring if request.scoring is None else request.scoring
        return request.asking(prepared=self.groups[0].request.prepared, scoring=scoring)

    def check(self, virtual: Array, codes: Array) -> None:
        """Raise InexactError if inner folds are too small for the candidates."""
        inner, largest = self.inner, max(group.ks[-1] for group in self.groups)
        largest_fold = np.max([(virtual == fold).sum(axis=1) for fold in range(inner.n_folds)], axis=0)
        msg = f"n_neighbors={largest} is more than the samples of an inner training set"
        check(((virtual >= 0).sum(axis=1) - largest_fold).min() >= largest, msg, error=InexactError)
        members = [((virtual >= 0) & (codes == code)).sum(axis=1) for code in range(codes.max() + 1)]
        msg = f"a training set has fewer than {inner.n_folds} samples of every class"
        is_enough = not inner.stratified or np.max(members, axis=0).min() >= inner.n_folds
        check(is_enough, msg, error=InexactError)


def search_to_repeat(request: Request) -> Search | None:
    """The search of a request; None if its estimator is another.

    Raises
    ------
    InexactError
        If a candidate or the inner folds are not served.
    """
    from sklearn.model_selection import GridSearchCV, ParameterGrid

    search, chooses = search_of(request)
    if type(search) is not GridSearchCV:
        return None
    splitter = inner_splitter(search, request)
    inner = inner_of(search, request.y) if splitter is None else Inner(splitter.n_splits)
    named = search.scoring is None or isinstance(search.scoring, str) or callable(search.scoring)
    if search.refit is not True or inner is None or not named:
        served = "only searches by one scoring, with folds of samples or groups or LeaveOneOut inside"
        msg = f"{served}, have runs of knnccv"
        raise InexactError(msg)
    candidates = list(ParameterGrid(search.param_grid))  # kept, as their values are told apart by identity
    groups, counts = groups_of(search, request, candidates), np.zeros(len(candidates), np.int64)
    return Search(groups, inner, search.scoring, chooses, splitter, candidates, counts)


def groups_of(search: Any, request: Request, candidates: list[dict[str, Any]]) -> list[Group]:
    """The candidates of a grid search, by what they share.

    Raises
    ------
    InexactError
        If the nearest neighbors do not decide in some of them.
    """
    from sklearn.base import clone

    steps = getattr(search.estimator, "steps", None)
    last = f"{steps[-1][0]}__" if steps else ""
    groups: dict[Any, list[tuple[int, int, Request]]] = {}
    for at, params in enumerate(candidates):
        model = clone(search.estimator).set_params(**params)
        names = sorted(params.keys() - {f"{last}n_neighbors", f"{last}weights"})
        others = [(name, id(params[name])) for name in names]
        prepared = prepare(model, request.X, request.y, transductive=False)
        rule = prepared.rule
        msg = "all neighbors within a radius decide, whatever their number"
        check(rule.radius is None, msg, error=InexactError)
        alike = rule.weights is None and not rule.by_distance
        key = (*others, alike, (at, "of its own") if callable(rule.weights) else "")
        groups.setdefault(key, []).append((rule.n_neighbors, at, request.asking(prepared=prepared)))
    found = []
    for members in groups.values():
        columns: Any = zip(*sorted(members, key=lambda one: one[:2]), strict=True)
        ks, places, asked = map(list, columns)
        inner, middle = asked[-1].asking(scoring=search.scoring), asked[len(asked) // 2]
        found.append(Group(asked[-1], inner, middle, places, ks))
    return found


def _scores(
    asked: Sequence[Request], search: Search, n_runs: int, stage: int
) -> list[tuple[Array, Controls]]:
    """The scores (n_runs,) of random runs, and the control variates of a candidate in the middle."""
    request, groups = asked[0], search.groups
    runs, n = runs_of(request, n_runs, stage), len(request.y)
    step = _at_once(search, request, runs.n_folds)
    values, controls, middle = [], [], groups[len(groups) // 2].middle
    for block in range(runs.n_blocks):
        folds, inside = runs.folds(block), inner_folds(search, request, runs, block)
        starts = range(0, len(folds), step)
        for start in counted(starts, len(starts)):
            some, seed = folds[start : start + step], runs.seed + block * BITS + start
            virtual = inside[start : start + step].reshape(-1, n)
            outputs, chosen = chosen_outputs(search, request, some, virtual, seed)
            search.counts[:] += np.bincount(chosen.ravel(), minlength=len(search.counts))
            values.append([score_outputs(one, some, outputs, runs.n_folds) for one in asked])
            if middle.expected is not None:
                near, _ = middle.nearest(some, seed)
                controls.append(controls_once(middle, some, near, runs.n_folds))
    known = joined(controls)
    return [(np.concatenate(scores), known) for scores in zip(*values, strict=True)]


def _at_once(search: Search, request: Request, n_folds: int) -> int:
    """How many runs of so many folds are computed at once."""
    n_candidates = sum(len(group.at) for group in search.groups)
    width = max(request.targets.shape[1], sum(len(labels.classes) for labels in request.outputs))
    largest = max(group.ks[-1] for group in search.groups)
    of_tables = width**2 * n_folds if search.inner.n_folds == 1 else 0
    return runs_at_once(len(request.y) * max(largest * n_folds, width * n_candidates, of_tables))


def outputs_of_search(search: Search, request: Request, folds: Array, seed: int) -> Array:
    """The same as `chosen_outputs` for runs that are given by their folds.

    Raises
    ------
    ValueError
        If training sets are too small for the search.
    """
    singles = each_split(folds)
    step, outputs = min(_at_once(search, request, 1), BITS), []
    for start in range(0, len(singles), step):
        some = singles[start : start + step]
        runs = single_splits(some, seed + start)
        try:
            virtual = inner_folds(search, request, runs, 0)[:, 0]
            outputs.append(chosen_outputs(search, request, some, virtual, runs.seed)[0])
        except InexactError as error:
            msg = f"leave out large K, or take fewer inner folds: halves are too small, as {error}"
            raise ValueError(msg) from error
    found = np.concatenate(outputs)
    found = found.reshape(len(folds), -1, *found.shape[1:])
    return np.asarray(np.take_along_axis(found, np.maximum(folds, 0)[:, None, :, None], axis=1)[:, 0])


def chosen_outputs(
    search: Search, request: Request, folds: Array, virtual: Array, seed: int
) -> tuple[Array, Array]:
    """The shares or means (n_runs, n_items, ...) of the candidate with the best inner score, by fold.

    And the places of these candidates in the grid, (n_runs, n_folds).
    """
    search.check(virtual, request.labels.codes)
    fitted = np.where(virtual >= 0, -1, 0) if search.scales_once else None
    groups = search.groups
    n_inner, n_folds = virtual.max(axis=1) + 1, len(virtual) // len(folds)
    n_candidates = sum(len(group.at) for group in groups)
    inside, outside = np.empty((n_candidates, len(virtual))), [np.empty(0)] * n_candidates
    for group in groups:
        each = outputs_by_k(group.request, *nearest_of(group.request, virtual, seed, fitted), group.ks)
        for at, outputs in zip(group.at, each, strict=True):
            for number in np.unique(n_inner):  # of samples that are left out one after another
                some = n_inner == number
                inside[at, some] = score_outputs(group.inner, virtual[some], outputs[some], int(number))
        each = outputs_by_k(group.request, *nearest_of(group.request, folds, seed), group.ks)
        for at, outputs in zip(group.at, each, strict=True):
            outside[at] = outputs
    msg = "no candidate has a score in some inner folds"
    check(not np.isnan(inside).all(axis=0).any(), msg, error=InexactError)
    chosen = np.where(np.isnan(inside), -np.inf, inside).argmax(axis=0).reshape(len(folds), n_folds)
    decides = np.take_along_axis(chosen, np.maximum(folds, 0), axis=1)
    found = np.empty_like(outside[0])
    for at in range(n_candidates):
        found[decides == at] = outside[at][decides == at]
    return found, chosen
