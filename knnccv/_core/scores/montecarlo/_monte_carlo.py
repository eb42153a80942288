# mypy: allow-untyped-defs
"""Scores of random runs: of any rule and design, and with features selected in every training set.

`monte_carlo_cv` reads the neighbor orders of the exact score. `screened_cv` asks a selector in every
training set, a function or an object that is fitted.
"""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._base.parallel import ExecutorLike, check_pool
from ...._base.typing import Array
from ...._base.validation import as_reals, check_finite, check_integer, check_random_state, rectangular
from ....kernel import Variant, jit
from ....neighbors import Neighbors, check_features, ranking, warn_label_leakage
from ...driver import Jobs, validate_problem
from ...luck.runs import RandomRuns, ScoredRuns, draw_runs, given_runs, item_shares, score_runs
from ..results import with_test_set


def monte_carlo_cv(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    n_runs: int = 50,
    random_state: int | np.random.Generator | None = None,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    average: Any = "pooled",
    n_jobs: int | None = None,
    executor: ExecutorLike | None = None,
    progress: bool = False,
    test: Any = None,
    **parameters: Any,
) -> ScoredRuns:
    """Compute the scores of random runs of a design, whose mean `complete_cv` computes exactly.

    Parameters
    ----------
    X, y, variant, cv, metric, metric_params, ties, average, n_jobs, executor, progress, test, **parameters
        As for `complete_cv`. One run of a k-fold design is a complete partition into folds; one run of
        another design is a single split, and with a test set a single training set from the pool. Every run
        is an unbiased estimate of the exact score for every `average`: if the test sets differ in size
        (`LeaveGroupsOut`), it is the sum of the scores divided by the mean size.
    n_runs : int, default 50
        Number of random runs.
    random_state : int, numpy Generator or None
        Seed of the splits.

    Returns
    -------
    ScoredRuns
        Without `expected` and `confusions`, for which `CompleteCV.runs` needs the exact score.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says which values are.

    See Also
    --------
    CompleteCV.runs : The same scores beside the exact one, and the confusion tables.
    CompleteCV.split_std : The standard deviation of one run around the exact score.

    Examples
    --------
    >>> from knnccv import KFold, complete_cv, monte_carlo_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> few = monte_carlo_cv(wine.X, wine.y, "nn", KFold(5), n_runs=100, random_state=0)
    >>> abs(few.score - complete_cv(wine.X, wine.y, "nn", KFold(5)).score) < 4 * few.std_error
    True
    """
    started = time.perf_counter()
    n_runs = check_integer("n_runs", n_runs, 1)
    check_pool(n_jobs, executor, progress)
    rng = check_random_state(random_state)
    neighbors, y, pool = with_test_set(X, y, test, metric, metric_params)
    question = validate_problem(y, neighbors.n_items, variant, cv, ties, average, parameters, pool=pool)
    warn_label_leakage(neighbors, question.smallest_train)
    runs = draw_runs(question, n_runs, rng)
    scores, missed = score_runs(question, neighbors, runs, Jobs(n_jobs, executor, progress))
    return ScoredRuns(
        scores=scores,
        measure=question.measure,
        error_bound=math.inf if neighbors.approximate else missed,
        seconds=time.perf_counter() - started,
    )


_MUST = "select must return column indices or a mask"


def check_selector(select: Any) -> None:
    """Raise TypeError if `select` is not a selector."""
    must = "select must be a function (X_train, y_train) or an object with fit and get_support or transform"
    if isinstance(select, type):
        msg = f"select must be an instance, got the class {select.__name__}; call it first"
        raise TypeError(msg)
    fits = hasattr(select, "fit")
    if not (hasattr(select, "get_support") or hasattr(select, "transform") if fits else callable(select)):
        msg = f"{must}, got {select!r}"
        raise TypeError(msg)


def names_columns(select: Any) -> bool:
    """Check whether the selector returns columns; otherwise it makes new features."""
    return not hasattr(select, "fit") or hasattr(select, "get_support")


def screened(select: Any, X: Array, labels: Array, train: Array, test: Array) -> tuple[Array, Array | None]:
    """Return the selected or transformed features of the training samples, then of the tested ones.

    Parameters
    ----------
    select : object
        A selector that `check_selector` accepts.
    X : ndarray of shape (n_items, n_features)
        All samples.
    labels : ndarray of shape (n_items,)
        Their labels; those of the tested samples are not used.
    train, test : int ndarray
        Indices of the training samples and of the tested samples.

    Returns
    -------
    data : float64 ndarray of shape (n_train + n_test, n_columns)
        The features.
    columns : int64 ndarray of shape (n_columns,), or None
        The selected columns in ascending order; None if the features are new.

    Raises
    ------
    ValueError, TypeError
        If the selector returns a value that is not allowed.
    """
    items = np.concatenate([train, test])
    if not hasattr(select, "fit"):
        columns = _columns(select(X[train], labels[train]), X.shape[1])
        return X[np.ix_(items, columns)], columns
    fresh = _copy(select)
    if names_columns(fresh):
        fresh.fit(X[train], labels[train])
        columns = _columns(fresh.get_support(), X.shape[1])
        return X[np.ix_(items, columns)], columns
    if hasattr(fresh, "fit_transform"):  # may differ from fit and transform, as in TargetEncoder
        inside = _features(fresh.fit_transform(X[train], labels[train]), len(train))
    else:
        fresh.fit(X[train], labels[train])
        inside = _features(fresh.transform(X[train]), len(train))
    outside = _features(fresh.transform(X[test]), len(test))
    if inside.shape[1] != outside.shape[1]:
        msg = (
            f"select must transform all samples to the same columns, got {inside.shape[1]} for training "
            f"samples and {outside.shape[1]} for tested samples"
        )
        raise ValueError(msg)
    return np.concatenate([inside, outside]), None


def _copy(select: Any) -> Any:
    """Return an unfitted copy, if the selector supports it."""
    if hasattr(select, "get_params"):
        try:
            from sklearn.base import clone
        except ImportError:
            return copy.deepcopy(select)
        return clone(select)
    return copy.deepcopy(select)


def _columns(found: Any, n_features: int) -> Array:
    if found is None:
        msg = f"{_MUST}, got None"
        raise TypeError(msg)
    given = rectangular(found, _MUST)
    if given.dtype == bool:
        if given.shape != (n_features,):
            msg = f"{_MUST}; a mask must have shape ({n_features},), got shape {given.shape}"
            raise ValueError(msg)
        columns = np.flatnonzero(given)
    elif given.ndim != 1:
        msg = f"{_MUST}; column indices must have one dimension, got shape {given.shape}"
        raise ValueError(msg)
    elif given.dtype.kind not in "iu" and len(given):
        msg = f"{_MUST}, got dtype {given.dtype}"
        raise TypeError(msg)
    else:
        outside = given[(given < 0) | (given >= n_features)] if len(given) else given
        if len(outside):
            msg = f"selected columns must be between 0 and {n_features - 1}, got {int(outside[0])}"
            raise ValueError(msg)
        columns = np.sort(given.astype(np.int64))
    if not len(columns):
        msg = "select returned no column; at least one is needed to compare samples"
        raise ValueError(msg)
    repeated = columns[1:][np.diff(columns) == 0]
    if len(repeated):
        number = int((columns == repeated[0]).sum())
        msg = f"column {repeated[0]} was selected {number} times; a column may be selected only once"
        raise ValueError(msg)
    return columns


def _features(found: Any, n_items: int) -> Array:
    must = f"select must transform {n_items} samples into an array of shape ({n_items}, n_columns)"
    if hasattr(found, "tocsr"):
        msg = f"{must}, got a sparse matrix"
        raise TypeError(msg)
    features = as_reals("the transformed X", found, f"{must} of real numbers")
    if features.ndim != 2 or len(features) != n_items or features.shape[1] == 0:
        msg = f"{must}, got shape {features.shape}"
        raise ValueError(msg)
    return features


BLOCK_BYTES = 2**24
"""Bytes of distances that a thread holds at a time."""


@jit
def count_right(values, trained, tested, n_classes, k, right):
    """Add to ``right[c]`` the number of correctly classified tested samples of class c.

    ``values`` (n_tested, n_trained) rank the training samples; ties keep their order. Plurality vote, a
    tied vote goes to the smallest class. O(n_trained) per sample, plus O(k) for each training sample that
    is among the k nearest when it is compared.
    """
    nearest = np.empty(k, np.int64)
    votes = np.empty(n_classes, np.int64)
    for r in range(len(tested)):
        found = 0
        for i in range(len(trained)):
            if found == k and values[r, i] >= values[r, nearest[k - 1]]:
                continue
            at = found if found < k else k - 1
            while at > 0 and values[r, i] < values[r, nearest[at - 1]]:
                nearest[at] = nearest[at - 1]
                at -= 1
            nearest[at] = i
            found = min(found + 1, k)
        votes[:] = 0
        for place in range(k):
            votes[trained[nearest[place]]] += 1
        best = 0
        for c in range(1, n_classes):
            if votes[c] > votes[best]:
                best = c
        if best == tested[r]:
            right[best] += 1


@dataclass(frozen=True, eq=False, repr=False)
class ScreenedCV(RandomRuns):
    """Scores of random runs in which features were selected in every training set.

    Attributes
    ----------
    scores : ndarray of shape (n_runs,)
        The score of every run: accuracy in [0, 1].
    score : float
        Their mean.
    std : float
        Their standard deviation (n_runs - 1 in the denominator); NaN for a single run.
    std_error : float
        ``std / sqrt(n_runs)``, the standard error of the mean. It measures the randomness of the splits,
        not that of the samples.
    n_runs : int
        The number of runs.
    n_train_sets : int
        The number of training sets from which features were selected: the folds of all runs.
    selection_counts : int64 ndarray of shape (n_features,), or None
        The number of training sets from which each column of X was selected. None if the selector makes
        new features.
    n_neighbors : int
        K.
    metric, design, average : str
        The arguments.
    seconds : float
        Wall time.

    Examples
    --------
    >>> from knnccv import screened_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = screened_cv(wine.X, wine.y, lambda X, y: [6, 12], n_runs=5, random_state=0)
    >>> round(found.score, 2)
    0.7
    """

    _json = (
        "score std std_error n_runs n_train_sets selection_counts n_neighbors metric design average scores "
        "seconds"
    )

    n_train_sets: int
    selection_counts: Array | None
    n_neighbors: int = 1
    metric: str = "euclidean"
    design: str = ""
    average: Any = "pooled"
    seconds: float = 0.0

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return len(self.scores)


def screened_cv(
    X: Any,
    y: Any,
    select: Any,
    cv: Any = 5,
    *,
    n_neighbors: int = 1,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    average: Any = "pooled",
    n_runs: int = 50,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> ScreenedCV:
    """Cross-validate nearest neighbors by random splits, with features selected inside every fold.

    If features are selected with the labels of all samples, the labels of the tested samples leak into the
    score. Here the training samples alone select the features, again in every fold of every run.

    The scores come from random splits; there is no exact version. `complete_cv` counts the training sets in
    which a sample is among the nearest, which requires that the order of the samples by distance does not
    depend on the training set. Here the selected features, and so the order, depend on the training set,
    and an astronomical number of selections would be needed. Features that are selected without labels, for
    example by their variance, may be selected in advance; then use `complete_cv`.

    Parameters
    ----------
    X : array of shape (n_items, n_features)
        Finite real numbers.
    y : array of shape (n_items,)
        Class labels.
    select : callable or object
        ``select(X_train, y_train)`` → column indices, or a bool mask of shape (n_features,). It gets copies
        of the features, as float64, and of the labels. Or an object with ``fit`` and ``get_support`` (like
        scikit-learn's SelectKBest), or with ``fit`` and ``transform`` (like a Pipeline, a scaler or PCA); a
        copy is fitted in every fold. Several threads call it concurrently unless ``n_jobs=1``. A selector
        that draws random numbers must set its own seed.
    cv : int or design, default 5
        As for `complete_cv`. One run is a complete partition into folds, or a single split. A design that
        leaves out one sample, or one group, leaves out each of them in every run.
    n_neighbors : int, default 1
        K, the number of voters; a tied vote goes to the smallest label. Tied training samples are in the
        order of the data.
    metric : str or callable, default "euclidean"
        See `Neighbors.from_data`; it is applied to the selected columns.
    metric_params : mapping, optional
        See `Neighbors.from_data`.
    average : {"pooled", "item", "class"} or mapping of label to share, default "pooled"
        As for `complete_cv`: "pooled" is the mean of the scores of the folds, "class" balances the classes.
    n_runs : int, default 50
        Number of random runs. One is enough for deterministic designs (`LeaveOut(1)`,
        `LeaveGroupsOut(p=1)`) with a deterministic `select`.
    random_state : int, numpy Generator or None
        Seed of the splits.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.
    progress : bool, default False
        Show a progress bar of the training sets (needs tqdm).

    Returns
    -------
    ScreenedCV

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed, or `select` returns no column, a column twice, an index out of range
        or a wrong shape. Errors of `select` propagate, with a note on the run and the fold.

    Notes
    -----
    Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, §7.10.2, "The Wrong and Right Way
    to Do Cross-validation". `knnccv_papers` repeats their example.

    For two classes of equal size and columns that are independent of them, stratified folds of equal size
    give an average score of 1/2. Plain folds give less: without the tested sample its class is the rarer
    class of the training set, and is farther from the center in the columns that this set selects.

    Examples
    --------
    Columns of pure noise. Selected in advance, they seem to predict the classes:

    >>> import numpy as np
    >>> from knnccv import complete_cv, screened_cv
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 5000)), np.repeat([0, 1], 25)
    >>> def most_correlated(X, y):
    ...     return np.argsort(-abs((y - y.mean()) @ X))[:100]
    >>> round(complete_cv(X[:, most_correlated(X, y)], y, "nn", 5).score, 2)
    0.99
    >>> round(screened_cv(X, y, most_correlated, 5, n_runs=20, random_state=0).score, 2)
    0.43
    """
    started = time.perf_counter()
    check_pool(n_jobs, None, progress)
    n_runs = check_integer("n_runs", n_runs, 1)
    rng = check_random_state(random_state)
    if isinstance(X, Neighbors) or (isinstance(metric, str) and metric == "precomputed"):
        given = f"{X!r}" if isinstance(X, Neighbors) else "metric 'precomputed'"
        kind = TypeError if isinstance(X, Neighbors) else ValueError
        msg = f"screened_cv needs the features to select from, got {given}"
        raise kind(msg)
    data = check_features(X)
    ranking(np.zeros((2, 1)), metric, metric_params)
    check_selector(select)
    question = validate_problem(y, len(data), "knn", cv, None, average, {"n_neighbors": n_neighbors})
    k = int(n_neighbors)
    labels = question.labels
    every = question.design.every_split(labels)
    runs = draw_runs(question, n_runs, rng) if every is None else given_runs([every] * n_runs)
    right = np.zeros((n_runs, runs.n_folds, len(labels.classes)), np.int64)
    selected = np.zeros(data.shape[1], np.int64)
    counting = threading.Lock()

    def score(run: int, fold: int, train: Array, test: Array) -> None:
        try:
            features, columns = screened(select, data, labels.classes[labels.codes], train, test)
        except Exception as error:
            error.add_note(f"select failed on the {len(train)} training samples of run {run}, fold {fold}")
            raise
        if columns is not None:
            with counting:
                selected[columns] += 1
        ranked = ranking(features, metric, metric_params)
        inside, outside = ranked.data[: len(train)], ranked.data[len(train) :]
        step = max(BLOCK_BYTES // (8 * len(train)), 1)
        for start in range(0, len(test), step):
            values = np.ascontiguousarray(ranked.compare(outside[start : start + step].copy(), inside))
            check_finite("the distances", values, start)
            codes = labels.codes[test[start : start + step]]
            count_right(values, labels.codes[train], codes, right.shape[2], k, right[run, fold])

    runs.for_each_fold(score, n_jobs, progress)
    added = right * item_shares(question, runs.n_folds)[runs.kind_of]
    return ScreenedCV(
        scores=np.array([math.fsum(run.ravel()) for run in added]),
        n_train_sets=n_runs * runs.n_folds,
        selection_counts=selected if names_columns(select) else None,
        n_neighbors=k,
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric)),
        design=repr(question.design),
        average=question.average,
        seconds=time.perf_counter() - started,
    )
