"""`condensed_cv`: the honest score of `condense`, which selects prototypes in every training set anew."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._labels import EncodedLabels, labels_of
from .._parallel import check_pool
from .._typing import Array
from .._validation import check_integer, check_random_state
from ..designs import as_design
from ..driver import Block, ScoringProblem, known_set_part, validate_problem
from ..kernel import Labels, Variant
from ..neighbors import Between, NeighborLists, Neighbors, as_neighbors, between_distances, ranking
from ..runs import RandomRuns, draw_runs
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
    random_state: Any = None,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    average: str = "item",
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
    random_state : int, numpy Generator or None
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
    labels = problem.labels
    runs = draw_runs(outside, n_runs, rng)
    data = _Samples(X, metric, metric_params)
    sums = np.zeros((5, n_runs, runs.n_folds))

    def one_fold(run: int, fold: int, train: Array, test: Array) -> None:
        y_train = labels.classes[labels.codes[train]]
        try:
            found = condense(
                data.neighbors(train), y_train, problem.variant, inner_cv, ties=ties, average=average,
                max_loss=max_loss, n_prototypes=n_prototypes, min_per_class=min_per_class, step=step,
                n_jobs=1, **parameters,
            )  # fmt: skip
        except Exception as error:
            error.add_note(f"on the {len(train)} training samples of run {run}, fold {fold}")
            raise
        prototypes = train[found.sample_indices]
        right, of_all = (
            score_known_set(problem, labels, data, trained, test).sum() for trained in (prototypes, train)
        )
        sums[:, run, fold] = right, of_all, len(test), found.score, found.reduction

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


class _Samples:
    """The samples, of which some are the gallery and others the queries."""

    def __init__(self, X: Any, metric: Any, metric_params: Mapping[str, Any] | None) -> None:
        self._given = isinstance(metric, str) and metric == "precomputed"
        self._X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        self._metric, self._metric_params = metric, metric_params

    def neighbors(self, rows: Array) -> Neighbors:
        """The neighbors of these samples among themselves."""
        if self._given:
            return Neighbors.from_distances(self._X[np.ix_(rows, rows)])
        return as_neighbors(self._X[rows], self._metric, self._metric_params)

    def between(self, rows: Array, gallery: Array) -> Between:
        """The distances from the samples `rows` to those of the gallery."""
        if self._given:
            return between_distances(self._X[np.ix_(rows, gallery)])
        queries, items = self._X[rows], self._X[gallery]
        if hasattr(self._X, "tocsr"):
            return Neighbors.between(queries, items, self._metric, metric_params=self._metric_params)
        ranked = ranking(np.concatenate([items, queries]), self._metric, self._metric_params)
        return _ComparedOneByOne(len(rows), len(gallery), str(self._metric), None, ranked)


@dataclass(eq=False, repr=False)
class _ComparedOneByOne(Between):
    """Distances between features, the gallery first in `ranked`: matrix products would round ties apart."""

    ranked: Any

    def block(self, start: int, stop: int) -> Array:
        """Values that order the gallery for some queries."""
        gallery, queries = np.split(self.ranked.data, [self.n_gallery])
        return np.ascontiguousarray(self.ranked.compare(queries[start:stop].copy(), gallery))


def score_known_set(
    problem: ScoringProblem, labels: EncodedLabels, data: _Samples, train: Array, test: Array
) -> Array:
    """The scores of the samples `test` by the samples `train`, (n_test,); means over tied orders."""
    part = known_set_part(problem, problem.known_training_set_task(len(train)))
    k = min(problem.variant.n_nearest(**problem.parameters), len(train))
    trained = labels_of(labels, train).codes
    scores, average_ties = np.empty(len(test)), problem.ties == "random"
    distances = data.between(test, train)
    size = distances.rows_at_once
    for start in range(0, len(test), size):
        stop = min(start + size, len(test))
        items, values, lengths = k_nearest(distances.block(start, stop), k)
        # The tested samples stand behind the training samples.
        codes = np.concatenate([trained, labels.codes[test[start:stop]]])
        lists = NeighborLists(items, values, lengths, np.zeros(stop - start, bool))
        targets = len(train) + np.arange(stop - start)
        known = Labels(codes, problem.values)
        scores[start:stop] = part.scores(Block(lists, lengths, targets, known, average_ties))
    return scores


def k_nearest(values: Array, k: int) -> tuple[Array, Array, Array]:
    """The k nearest columns of every row and those that tie the last: columns, values, numbers."""
    last = np.partition(values, k - 1, axis=1)[:, k - 1 : k]
    near = values <= last
    lengths = near.sum(axis=1).astype(np.int64)
    width = int(lengths.max())
    items, found = np.zeros((len(values), width), np.int32), np.zeros((len(values), width))
    for r, row in enumerate(values):
        at = np.flatnonzero(near[r])
        at = at[np.argsort(row[at], kind="stable")]
        items[r, : len(at)], found[r, : len(at)] = at, row[at]
    return items, found, lengths
