"""`condensed_cv`: the honest score of `condense`, which selects prototypes in every training set anew."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._base.parallel import check_pool
from .._base.typing import Array
from .._base.validation import check_integer, check_random_state
from .._core.driver import validate_problem
from .._core.luck.runs import RandomRuns, draw_runs
from .._core.scores.results import complete_cv
from ..designs import Subsample, as_design
from ..kernel import Variant
from ..neighbors import Neighbors, as_neighbors
from ._condense import check_limits, condense, pool_problem


@dataclass(frozen=True, eq=False, repr=False)
class CondensedCV(RandomRuns):
    """Scores of random runs in which every training set was condensed.

    Attributes
    ----------
    scores : ndarray of shape (n_runs,)
        The score of every run: the mean over its tested samples, which the prototypes of the training set
        classify.
    score : float
        Their mean, an honest estimate for the whole procedure.
    std : float
        Their standard deviation (n_runs - 1 in the denominator); NaN for a single run.
    std_error : float
        ``std / sqrt(n_runs)``, the standard error of the mean. It measures the randomness of the splits,
        not that of the samples.
    scores_of_all : ndarray of shape (n_runs,)
        The scores of the same runs with all samples of the training sets.
    inner_scores : ndarray of shape (n_runs,)
        The mean inner score of each run, `Condensed.score`, which is optimistic.
    reductions : ndarray of shape (n_runs,)
        The mean share of the training samples that was removed, for each run.

    Examples
    --------
    >>> from knnccv.selection import condensed_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = condensed_cv(wine.X, wine.y, cv=2, n_runs=1, random_state=0)
    >>> found.inner_score > found.score
    True
    """

    _json = (
        "score std std_error score_of_all difference difference_std_error inner_score reduction variant "
        "parameters design inner_cv measure scores seconds"
    )
    _note = "inner_score is optimistic"

    scores_of_all: Array
    inner_scores: Array
    reductions: Array
    variant: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    design: str = ""
    inner_cv: str = ""
    measure: str = "score"
    seconds: float = 0.0

    @property
    def score_of_all(self) -> float:
        """Mean score with all samples of the training sets."""
        return float(self.scores_of_all.mean())

    @property
    def inner_score(self) -> float:
        """Mean inner score, which is optimistic."""
        return float(self.inner_scores.mean())

    @property
    def reduction(self) -> float:
        """Mean share of the training samples that was removed."""
        return float(self.reductions.mean())

    @property
    def difference(self) -> float:
        """Mean score of the prototypes minus that of all training samples."""
        return float((self.scores - self.scores_of_all).mean())

    @property
    def difference_std_error(self) -> float:
        """Standard error of `difference`, over the runs; NaN for a single one."""
        each = self.scores - self.scores_of_all
        return float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")


def condensed_cv(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "nn",
    cv: Any = 5,
    *,
    inner_cv: Any = None,
    n_runs: int = 10,
    random_state: Any = 0,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    average: str = "pooled",
    max_loss: float = 0.0,
    n_prototypes: int = 1,
    min_per_class: int = 1,
    step: float = 0.05,
    n_jobs: int | None = None,
    progress: bool = False,
    **parameters: Any,
) -> CondensedCV:
    """Score random runs of cross-validation in which every training set is condensed.

    In each fold of each run, `condense` selects prototypes among the training samples alone, and the rule
    classifies the tested samples by these prototypes. The mean is an honest estimate of the score that the
    prototypes have for new samples, which the inner score of `condense` is not.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features)
        The samples. With ``metric="precomputed"`` a square matrix of dissimilarities. Scale them before, or
        not at all. `Neighbors` are refused, because other samples are neighbors within a training set.
    y : array of shape (n_items,)
        Class labels.
    variant, metric, metric_params, ties, average, max_loss, n_prototypes, min_per_class, step
        As in `condense`, for every training set.
    cv : int or design, default 5
        The runs: an integer is that number of stratified folds.
    inner_cv : int or design, optional
        `cv` of `condense` within every training set.
    n_runs : int, default 10
        Number of random runs.
    random_state : int, numpy Generator or None, default 0
        Seed of the splits.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.
    progress : bool, default False
        Show a progress bar (needs tqdm) of the training sets.
    **parameters
        The variant's parameters.

    Returns
    -------
    CondensedCV
        The score of a run is the mean over its tested samples; for ties in the distances it is the mean
        over their orders.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed. Errors of a training set have a note on the run and the fold.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.selection import condensed_cv
    >>> wine = load_wine()
    >>> X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    >>> runs = condensed_cv(X, wine.y, cv=2, n_runs=2, random_state=0)
    >>> bool(runs.inner_score > runs.score > 0.9)
    True
    """
    started = time.perf_counter()
    check_pool(n_jobs, None, progress)
    n_runs = check_integer("n_runs", n_runs, 1)
    rng = check_random_state(random_state)
    if isinstance(X, Neighbors):
        msg = f"condensed_cv needs the samples themselves, got {X!r}"
        raise TypeError(msg)
    near = as_neighbors(X, metric, metric_params)
    problem = pool_problem(y, near.n_items, variant, inner_cv, ties, average, parameters)
    check_limits(max_loss, n_prototypes, min_per_class, step, near.n_items)
    design = as_design(cv)
    outside = validate_problem(y, near.n_items, problem.variant, design, ties, average, parameters)
    labels = problem.targets
    runs = draw_runs(outside, n_runs, rng)
    given = isinstance(metric, str) and metric == "precomputed"
    data = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    known = {
        "metric": metric, "metric_params": metric_params, "ties": problem.ties, "n_jobs": 1, **parameters
    }  # fmt: skip
    limits = {"max_loss": max_loss, "n_prototypes": n_prototypes, "min_per_class": min_per_class}
    search = {"average": average, "step": step, **limits, **known}
    sums = np.zeros((5, n_runs, runs.n_folds))

    def n_right(train: Array, test: Array) -> float:
        """The sum of the scores of the samples `test` by the samples `train`; means over tied orders."""
        pool = data[np.ix_(test, train)] if given else data[train]
        tested = labels[test] if given else (data[test], labels[test])
        size = Subsample(len(train))
        found = complete_cv(pool, labels[train], problem.variant, size, test=tested, **known)
        return float(found.per_item.sum())

    def one_fold(run: int, fold: int, train: Array, test: Array) -> None:
        inside = data[np.ix_(train, train)] if given else data[train]
        try:
            found = condense(inside, labels[train], problem.variant, inner_cv, **search)
        except Exception as error:
            error.add_note(f"on the {len(train)} training samples of run {run}, fold {fold}")
            raise
        right = n_right(train[found.sample_indices], test)
        sums[:, run, fold] = right, n_right(train, test), len(test), found.score, found.reduction

    runs.for_each_fold(one_fold, n_jobs, progress)
    right, right_of_all, n_tested, inner, reduced = sums
    return CondensedCV(
        scores=right.sum(axis=1) / n_tested.sum(axis=1),
        scores_of_all=right_of_all.sum(axis=1) / n_tested.sum(axis=1),
        inner_scores=inner.mean(axis=1),
        reductions=reduced.mean(axis=1),
        variant=problem.variant.name,
        parameters=dict(problem.parameters),
        design=repr(design),
        inner_cv="the default" if inner_cv is None else repr(problem.design),
        measure=problem.score.name,
        seconds=time.perf_counter() - started,
    )
