"""The ways to an expected score, in the order in which they are tried: `WAYS`.

A way gets a request, and why the ways before it had no score. It returns a score, or None if it is not for
such requests, or raises InexactError with the reason why it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.driver import InexactError
from .._core.scores.tuning import Inner, tuned_score
from ..neighbors import ALIASES, NAMES
from ._answer import INEXACT, ExpectedScore
from ._by_runs import random_runs
from ._exact import closed_form
from ._metrics import metric_of, missing_parameters
from ._request import Request
from ._runs import corrected_runs, every_split, plain_runs
from ._splitters import FoldLaw

Way = Callable[[Request, str], ExpectedScore | None]
N_NESTED = 1000
"""The number of random runs of a search by default."""


def first_score(request: Request, ways: Sequence[Way], why: str = "") -> ExpectedScore:
    """The score of the first way that has one.

    Raises
    ------
    InexactError
        If none has: the reason of the last one that gave any.
    """
    for way in ways:
        try:
            found = way(request, why)
        except InexactError as reason:
            why = str(reason)
        else:
            if found is not None:
                return found
    raise InexactError(why)


def nested_runs(request: Request, _why: str) -> ExpectedScore | None:
    """The mean of random runs with a grid search in every training set; none for other estimators."""
    from sklearn.model_selection import GridSearchCV

    search, chooses = request.prepared.estimator, hasattr(request.prepared.estimator, "_as_grid_search")
    search = search._as_grid_search() if chooses else search
    if type(search) is not GridSearchCV:
        if not chooses:
            return None
        msg = "the rule is chosen within every training set"
        raise InexactError(msg)
    asked = _tuned_arguments(search, request)
    if asked is None:
        msg = "only searches of a KNeighborsClassifier by accuracy have runs of knnccv"
        raise InexactError(msg)
    n_runs = request.n_runs or N_NESTED
    options: dict[str, Any] = {"n_runs": n_runs, "random_state": request.seed, "n_jobs": request.n_jobs}
    found = tuned_score(request.prepared.X, request.y, **asked, **options)
    how = f"the mean of {found.n_runs:,} random runs with a search in every training set"
    return request.answer(found.score, how, std_error=found.std_error, n_runs=found.n_runs, **INEXACT)


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

    by_accuracy = all(
        one is None or (isinstance(one, str) and one == "accuracy")
        for one in (search.scoring, request.scoring)
    )
    if not by_accuracy or search.refit is not True or request.pooled or request.y.ndim == 2:
        return None
    folds = (ms.KFold, ms.RepeatedKFold, ms.StratifiedKFold, ms.RepeatedStratifiedKFold)
    law, inner = request.law if type(request.cv) in folds else None, inner_of(search.cv)
    if not isinstance(law, FoldLaw) or inner is None:
        return None
    rule, grid = search.estimator, search.param_grid
    grid = grid[0] if isinstance(grid, list) and len(grid) == 1 else grid
    plain = type(rule) is KNeighborsClassifier and rule.weights == "uniform"
    if not plain or not isinstance(grid, dict) or not set(grid) <= {"n_neighbors", "metric"}:
        return None
    named = [metric_of(clone(rule).set_params(metric=one)) for one in grid.get("metric", [rule.metric])]
    known = [name for name, params in named if isinstance(name, str) and not params]
    metrics = [
        name for name in known if ALIASES.get(name, name) in NAMES and not missing_parameters(name, {})
    ]
    ks = list(grid.get("n_neighbors", [rule.n_neighbors]))
    if len(set(ks)) < len(ks) or len(set(metrics)) < len(named):
        return None
    return {"n_neighbors": ks, "metric": metrics, "inner_cv": inner, "cv": law.design}


def inner_of(cv: Any) -> Inner | None:
    """Return how a grid search splits a training set of classes; None if it is not served."""
    from sklearn import model_selection as ms

    if type(cv) is ms.LeaveOneOut:
        return Inner()
    if cv is None or (isinstance(cv, int) and not isinstance(cv, bool)):
        return Inner(5 if cv is None else cv, stratified=True, shuffled=False)
    if type(cv) in (ms.KFold, ms.StratifiedKFold):
        return Inner(cv.n_splits, type(cv) is ms.StratifiedKFold, cv.shuffle)
    return None


WAYS: dict[str, tuple[Way, ...]] = {
    "exact": (closed_form, every_split),
    "auto": (closed_form, every_split, random_runs, nested_runs, corrected_runs),
    "mc": (plain_runs,),
}
"""The ways of the methods of `expected_score`."""
