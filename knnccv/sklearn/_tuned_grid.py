"""Grid searches of scikit-learn whose nested score `knnccv.tuned_score` computes."""

from __future__ import annotations

from typing import Any

from ..designs import Design, KFold, StratifiedKFold
from ..neighbors import ALIASES, NAMES
from ..tuning import Inner
from ._estimators import metric_of, missing_parameters


def tuned_from_grid(search: Any, cv: Any) -> dict[str, Any] | None:
    """Return the arguments of `tuned_score` for the expected score of a grid search under the splits `cv`.

    Served are ``GridSearchCV(KNeighborsClassifier(...), {"n_neighbors": ..., "metric": ...})`` by accuracy,
    with uniform weights, any named metric without parameters, and LeaveOneOut, KFold, StratifiedKFold or a
    number of folds within the training sets; shuffled folds are drawn anew in each. `cv` must be (Repeated)
    KFold or StratifiedKFold with ``shuffle=True``.

    Parameters
    ----------
    search : estimator
        Any estimator.
    cv : splitter
        Any splitter.

    Returns
    -------
    dict or None
        The arguments n_neighbors, metric, inner and cv; None if it is something else.
    """
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsClassifier

    if (
        type(search) is not GridSearchCV
        or search.scoring not in (None, "accuracy")
        or search.refit is not True
    ):
        return None
    rule, grid = search.estimator, search.param_grid
    grid = grid[0] if isinstance(grid, list) and len(grid) == 1 else grid
    plain = type(rule) is KNeighborsClassifier and rule.weights == "uniform"
    if not plain or not isinstance(grid, dict) or not set(grid) <= {"n_neighbors", "metric"}:
        return None
    inner, outer = inner_of(search.cv), outer_of(cv)
    named = [metric_of(clone(rule).set_params(metric=one)) for one in grid.get("metric", [rule.metric])]
    metrics = [
        name
        for name, params in named
        if isinstance(name, str)
        and ALIASES.get(name, name) in NAMES
        and not params
        and not missing_parameters(name, params)
    ]
    ks = list(grid.get("n_neighbors", [rule.n_neighbors]))
    different = len(set(ks)) == len(ks) and len(set(metrics)) == len(named)
    if inner is None or outer is None or not different:
        return None
    return {"n_neighbors": ks, "metric": metrics, "inner": inner, "cv": outer}


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


def outer_of(cv: Any) -> Design | None:
    """Return the design of shuffled folds; None if it is something else."""
    from sklearn import model_selection as ms

    if type(cv) in (ms.RepeatedKFold, ms.RepeatedStratifiedKFold):
        cv = cv.cv(**cv.cvargs, shuffle=True)
    if type(cv) not in (ms.KFold, ms.StratifiedKFold) or not cv.shuffle:
        return None
    return (KFold if type(cv) is ms.KFold else StratifiedKFold)(cv.n_splits)
