"""`tuned_score`, the expected score of a rule that is chosen within each training set, and its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ...._base.formatting import Numeric, plain
from ...._base.parallel import check_pool
from ...._base.typing import Array
from ...._base.validation import (
    as_reals,
    check,
    check_bool,
    check_choice,
    check_integer,
    check_random_state,
)
from ....neighbors import ALIASES, Neighbors, as_neighbors, warn_label_leakage
from ...driver import ScoringProblem, validate_problem
from ...luck.halves import HalvesRequest, check_request
from ...luck.inference import HalfScores, ScoredByRuns, Terms, draw_halvings, few_neighbors
from ...luck.runs import (
    RescaledSearch,
    Runs,
    draw_by,
    draw_runs,
    each_split,
    given_runs,
    read_scaling,
    runs_of_halves,
    scaled,
    scaling_of,
    single_splits,
    train_sizes,
)
from ...luck.scorings import Budget, ControlledMean, Wish, check_precision, controlled_mean, enough_runs
from ..results import CompleteCV, complete_cv
from ._nested import Inner, NestedScores, nested_scores

AT_ONCE = 2**24
"""Training sets times samples that are scored at once."""


@dataclass(frozen=True, eq=False)
class NestedHalves:
    """What `tuned_score` was asked, so that halves can be asked the same.

    ``sources`` are the neighbors with every K, ``n_neighbors``, in the order of the candidates.
    """

    problem: ScoringProblem
    sources: Sequence[Neighbors | RescaledSearch]
    n_neighbors: list[int]
    inner: Inner
    by_class: bool
    n_jobs: int | None

    def scores(self, folds: Array, seed: int, ks: list[int]) -> Array:
        """The scores (n_runs,) of runs that are given by their folds, with these K to choose from."""
        step = max(1, AT_ONCE // (folds.shape[1] * (int(folds.max()) + 1)))
        starts = range(0, len(folds), step)
        return np.concatenate([self._scores(folds[at : at + step], seed + at, ks) for at in starts])

    def _scores(self, folds: Array, seed: int, ks: list[int]) -> Array:
        n_folds, codes = int(folds.max()) + 1, self.problem.labels.codes
        part_of = codes if self.by_class else np.zeros_like(codes)
        tested = np.stack(
            [((folds >= 0) & (part_of == part)).sum(axis=1) for part in range(part_of.max() + 1)]
        )
        shares = np.where(tested > 0, 1 / np.maximum(tested, 1), 0.0) / (tested > 0).sum(axis=0)
        runs = single_splits(each_split(folds), seed)
        runs = replace(runs, kinds=np.repeat(np.arange(len(folds)), n_folds)[:, None])
        found = nested_scores(
            self.problem, self.sources, ks, self.inner, runs, self.by_class, self.n_jobs, shares.T
        )
        scores = chosen_of(found, found.outside).scores
        return np.asarray(scores.reshape(len(folds), n_folds).sum(axis=1))

    def half_scores(self, found: Any, request: HalvesRequest) -> HalfScores:
        """The scores of random halves for a `TunedScore`, see `ScoredHalves.standard_error`.

        Raises
        ------
        ValueError
            If training sets within halves are too small for every K.
        """
        labels, kept = self.problem.labels, self.n_neighbors
        halvings = draw_halvings(request.n_halvings, len(labels.codes), request.rng, groups=request.groups)

        def score(folds: Array, n_before: int) -> Array:
            nonlocal kept
            least = self._least_inside(train_sizes(folds))
            kept = [k for k in self.n_neighbors if k <= least]
            if not kept:
                msg = (
                    "take more samples, or fewer neighbors: a standard error needs scores of halves, whose "
                    f"inner training sets have {least} samples, got n_neighbors={min(self.n_neighbors)}"
                )
                raise ValueError(msg)
            return self.scores(folds, n_before, kept)[None]

        (runs,), sizes = runs_of_halves(draw_by(self.problem.design, labels), halvings, score, request.rng)
        texts = few_neighbors(float(sizes.mean()), found.most_chosen.n_neighbors)
        n_left = len(self.n_neighbors) - len(kept)
        if n_left:
            texts.append(
                f"{n_left} of {len(self.n_neighbors)} K are too large for halves, and left out there"
            )
        floors = np.array([[1 / len(labels.counts), 1.0, labels.counts.min()]])
        halves = HalfScores.of_runs(runs, halvings, float(sizes.mean()), found.std_error)
        return replace(halves, warnings=tuple(texts), floors=floors[: int(self.by_class)])

    def _least_inside(self, sizes: Array) -> int:
        """The size of the smallest training set within training sets."""
        if self.inner.groups is not None:
            return int(sizes.min() - np.bincount(self.inner.groups).max())
        return int((sizes - (1 if self.inner.n_folds == 1 else -(-sizes // self.inner.n_folds))).min())

    def scores_of_runs(self, n_runs: int, seed: int) -> Array:
        """The scores (n_runs,) of random runs of all samples."""
        draw, rng = draw_by(self.problem.design, self.problem.labels), np.random.default_rng(seed)
        rows = np.arange(len(self.problem.labels.codes))
        folds = np.stack([draw(rows, rng) for _ in range(n_runs)])
        return self.scores(folds, seed, self.n_neighbors)

    def asked(self, n_halvings: Any, groups: Any, random_state: Any) -> HalvesRequest:
        """The checked arguments of `ScoredHalves.standard_error`."""
        return check_request(self.problem, n_halvings, groups, random_state)

    def terms(self, found: Any) -> Terms:
        """What two scores must share to be compared."""
        measure, rule = found.measure, found._rule
        design, n_items = self.problem.design, len(self.problem.labels.codes)
        target = f"{measure} in the population of {rule}, trained and tested by {design!r}"
        scale = 0, 1.0, ("predict",), f"{measure.replace(' ', '_')}_score"  # as of scikit-learn's scorer
        return Terms(
            self.problem.targets, np.ones(n_items), type(design).__name__, False, rule, scale,
            groups=self.problem.left_out, target=target, limits=(0.0, 1.0),
        )  # fmt: skip


RUNS_A_CONTROL = 20
MOST_CONTROLS = 16
"""Each control variate takes a degree of freedom, and an exact score."""
EXACT = 1e-5
"""Largest error of a score that is a control variate."""
PILOT = Budget(512, 1024)
"""Runs that are computed together."""
RESCALED = Budget(64, 256)
"""Runs whose columns are scaled within the folds."""
EXTREME = 300
"""Binary exponent of columns from which they are multiplied by a power of two."""
POWERS = {"euclidean": 2.0, "sqeuclidean": 2.0, "minkowski": 2.0, "manhattan": 1.0}
"""Metrics under which columns may be scaled within the folds, by their power."""
MOST_GROUPS = 1000
"""Groups up to which every one is left out, by default."""


class Candidate(NamedTuple):
    """A rule that may be chosen."""

    n_neighbors: int
    metric: str
    scaling: str | None


@dataclass(frozen=True, eq=False, repr=False)
class TunedScore(Numeric, ScoredByRuns):
    """The score of a rule that is chosen within each training set.

    It has `standard_error` and `confidence_interval` for the population (the luck of the data): halves of
    the samples are scored by random runs. `knnccv.compare` compares it with other scores of such runs.

    Attributes
    ----------
    score : float
        The expected score: mean over random runs, corrected by control variates, which are the scores of
        candidates in the same runs, whose expectations are known exactly.
    std_error : float
        The standard error of `score`: the randomness of the runs that were drawn, not that of the samples.
    scores : float64 ndarray of shape (n_runs,)
        The score of every run: the mean over its test sets of the share of right answers; for balanced
        accuracy and groups the sum over the right answers of weights with which the mean run has `score`.
    choices : dict of Candidate to float
        The share of the training sets in which each candidate is chosen, in the order in which they are
        tried. A candidate is a named tuple (n_neighbors, metric, scaling) of a number and words.
    inner_score : float
        The mean best score inside the training sets, which many report.
    optimism : float
        The expectation of ``inner_score - score``. It has a part of its own if `inner_cv` leaves out more
        samples than the rule will miss: the inner training sets are smaller.
    optimism_std_error : float
        Its standard error.
    inner_cv, design : str
        How training sets are split to choose within them, and how they are drawn.
    seconds : float
        Wall time.

    Examples
    --------
    >>> from knnccv import tuned_score
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = tuned_score(wine.X, wine.y, [1, 5, 9], n_runs=20)
    >>> round(found.score, 2)
    0.74
    """

    _json = "score std_error std n_runs inner_score optimism optimism_std_error inner_cv design seconds"
    _shown = "score std_error std optimism optimism_std_error most_chosen inner_cv design n_runs"

    score: float
    std_error: float
    scores: Array
    choices: dict[Candidate, float]
    inner_score: float
    optimism: float
    optimism_std_error: float
    inner_cv: str
    design: str
    seconds: float = field(default=0.0)
    measure: str = "accuracy"
    _rule: str = ""
    _evaluation: NestedHalves | None = None  # copies have none
    _missing: ClassVar[str] = "ask the score that was computed: a copy does not have the data"

    @property
    def n_runs(self) -> int:
        """The number of random runs."""
        return len(self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers in types that JSON has; `choices` as a list, with the share of each."""
        chosen = [{**one._asdict(), "share": share} for one, share in self.choices.items()]
        return {
            **super().to_dict(),
            "choices": plain(chosen),
            "measure": self.measure,
            **self._known_interval(),
        }

    @property
    def std(self) -> float:
        """The standard deviation of the score of one run; NaN for a single run."""
        return float(self.scores.std(ddof=1)) if self.n_runs > 1 else float("nan")

    @property
    def most_chosen(self) -> Candidate:
        """The candidate that is chosen most often; the first of equals."""
        return max(self.choices, key=self.choices.__getitem__)


def tuned_score(
    X: Any,
    y: Any,
    n_neighbors: Any = range(1, 32),
    cv: Any = 5,
    *,
    metric: Any = "euclidean",
    scaling: Any = None,
    transductive: bool = False,
    inner_cv: Any = "loo",
    average: str = "pooled",
    precision: float | None = None,
    n_runs: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> TunedScore:
    """Estimate the score of votes of K whose K, metric and scaling are chosen within each training set.

    The best of many scores is optimistic. Nested cross-validation is not: in every training set of a random
    run, the candidate with the best inner score is chosen, the first of equals, and tested on samples that
    took no part in the choice. One nested run depends on its splits; here the mean over many is computed.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or Neighbors or list of them
        The samples; or their neighbors, to choose among the distances of a list.
    y : array of shape (n_items,)
        Class labels.
    n_neighbors : int or sequence of int, default 1 to 31
        The K to choose from. The smallest label wins a tied vote; of tied neighbors the first in the data
        is nearer, as in scikit-learn.
    cv : int or design, default 5
        The outer splits; an integer is that number of stratified folds. ``LeaveGroupsOut(groups)`` leaves
        out one group after another, and so does the choice within each training set.
    metric : str, callable or list of them, default "euclidean"
        The metrics to choose from, as for `complete_cv`.
    scaling : {None, "standard", "minmax", "maxabs", "robust"}, transformer, or list of these, default None
        The scalings of the columns to choose from, as scikit-learn's scalers, or transformers. Scalers are
        fitted within every training set, and to choose within those inside it; the metric must then be
        Euclidean or Manhattan.
    transductive : bool, default False
        Fit scalings once, to all samples without labels: another protocol, for any metric and transformer,
        and faster.
    inner_cv : {"loo"}, int, KFold or StratifiedKFold, default "loo"
        How a training set is split to choose within it: leave-one-out, or so many (stratified) folds, drawn
        anew in every training set; their mean score counts. Groups are left out whole instead.
    average : {"pooled", "class"}, default "pooled"
        What has equal weight, in the score and in the choice: the samples (accuracy), or the classes
        (balanced accuracy; within a training set of the classes that its fold, or it, has).
    precision : float, optional
        The wanted standard error: a pilot of 512 runs, which are computed together, or of 64 if columns are
        scaled within the training sets, tells how many there have to be, at most 20,000. Default:
        ``0.01 / sqrt(n_items)``, a fiftieth of what other data would change.
    n_runs : int, optional
        The number of random runs, whatever their error, in place of `precision`. If single groups are left
        out, there is one for each of so many random groups; without standard error, all of them if there
        are no more.
    random_state : int, numpy Generator or None, default 0
        Seed of the splits.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.

    Returns
    -------
    TunedScore

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is allowed.

    Notes
    -----
    The candidates are tried metric by metric, scaling by scaling, and by K in the given order, as
    scikit-learn's ``GridSearchCV`` tries them. A run equals ``cross_val_score`` of a ``GridSearchCV`` with
    the same splits. Varma & Simon, "Bias in error estimation when using cross-validation for model
    selection", BMC Bioinformatics 7:91, 2006; Cawley & Talbot, JMLR 11, 2010.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = knnccv.tuned_score(wine.X, wine.y, [1, 5, 9, 15], scaling=[None, "standard"])
    >>> found.n_runs, found.std_error < 0.001
    (192, True)
    >>> print(f"{found:.3f}, K = {found.most_chosen.n_neighbors}, {found.most_chosen.scaling}")
    0.960, K = 5, standard
    """
    started = time.perf_counter()
    check_precision(precision, n_runs)
    check_pool(n_jobs, None, progress=False)
    rng, split = check_random_state(random_state), Inner.of(inner_cv)
    ks = as_list("n_neighbors", n_neighbors)
    for k in ks:
        check_integer("n_neighbors", k, 1)
    tables = X if isinstance(X, list) and any(isinstance(one, Neighbors) for one in X) else [X]
    kinds = list(product(tables, as_list("metric", metric), as_list("scaling", scaling)))
    sources = [as_neighbors(samples(table, name), one, None) for table, one, name in kinds]
    msg = f"X must be neighbors of the same samples, got {', '.join(map(repr, sources))}"
    check(len({near.n_items for near in sources}) <= 1, msg)
    searches = {} if check_bool("transductive", transductive) else rescaled_searches(kinds)
    problem = tuned_problem(y, sources[0].n_items, max(ks), cv, split, average)
    groups = problem.left_out
    for near in sources:
        warn_label_leakage(near, problem.smallest_train, groups)
    split, n_candidates = replace(split, groups=groups), len(ks) * len(sources)
    by_class, parts = average == "class", []

    @cache
    def exact(at: int) -> CompleteCV:
        asked: dict[str, Any] = {"n_neighbors": ks[at % len(ks)], "average": average, "n_jobs": n_jobs}
        return complete_cv(sources[at // len(ks)], y, "knn", problem.design, ties="index", **asked)

    def tried(runs: Runs) -> NestedRuns:
        found = nested_scores(problem, sources, ks, split, runs, by_class, n_jobs)
        once = found.outside.sum(axis=1)
        if searches:
            within = nested_scores(problem, list(searches.values()), ks, split, runs, by_class, n_jobs)
            columns = (np.array(list(searches))[:, None] * len(ks) + np.arange(len(ks))).ravel()
            for scores, of_rescaled in zip(found, within, strict=True):
                scores[:, :, columns] = of_rescaled
        return chosen_of(found, once)

    def look(number: int) -> list[ControlledMean]:
        parts.append(tried(draw_runs(problem, number, rng)))
        return [means_of(joined(parts), exact, bool(searches)).score]

    n_groups = 0 if groups is None else int(groups.max()) + 1
    if groups is not None and n_groups <= (n_runs or MOST_GROUPS):
        kind = np.zeros(1, np.int64)
        found = tried(given_runs([((groups == group) - 1, kind) for group in range(n_groups)]))
        means = means_of(found, None, False)
    else:
        wish = Wish(len(problem.labels.codes), precision, n_runs)
        enough_runs(look, [wish], RESCALED if searches else PILOT)
        found = joined(parts)
        means = means_of(found, exact, bool(searches))
    shares = np.bincount(found.chosen.ravel(), minlength=n_candidates) / found.chosen.size
    if tables is X or isinstance(X, Neighbors):
        kinds = [(near, near.metric, None) for near in sources]
    named: Any = [[one if isinstance(one, str | None) else repr(one) for one in kind[1:]] for kind in kinds]
    if len(set(map(tuple, named))) < len(kinds):
        named = [[f"{name} ({at})", kind] for at, (name, kind) in enumerate(named, 1)]
    candidates = [Candidate(k, *kind) for kind in named for k in ks]
    score, optimism = means.score, means.optimism
    within = [searches.get(at, near) for at, near in enumerate(sources)]
    tried_ks = f"{min(ks)} to {max(ks)}" if len(ks) > 1 else str(ks[0])
    rule = f"votes of K = {tried_ks} tuned by {split.in_words()}"
    return TunedScore(
        score.mean, score.std_error, found.scores, dict(zip(candidates, shares.tolist(), strict=True)),
        score.mean + optimism.mean, optimism.mean, optimism.std_error,
        split.in_words(), repr(problem.design), time.perf_counter() - started,
        "balanced accuracy" if by_class else "accuracy", rule,
        NestedHalves(problem, within, ks, split, by_class, n_jobs),
    )  # fmt: skip


class NestedRuns(NamedTuple):
    """The candidates of the best inner score, the first of equals, and what they score.

    ``chosen`` and ``best`` (n_runs, n_folds): these candidates, and their inner scores. ``scores``
    (n_runs,). ``once`` (n_runs, n_candidates): the scores of all candidates, with columns scaled once.
    """

    chosen: Array
    best: Array
    scores: Array
    once: Array


class Means(NamedTuple):
    """The means of the scores of runs, and of how much better the inner scores are."""

    score: ControlledMean
    optimism: ControlledMean


def chosen_of(found: NestedScores, once: Array) -> NestedRuns:
    """What every training set chooses by its inner scores."""
    chosen = found.inside.argmax(axis=2)
    outside = np.take_along_axis(found.outside, chosen[..., None], axis=2)[..., 0]
    return NestedRuns(chosen, found.inside.max(axis=2), outside.sum(axis=1), once)


def joined(parts: list[NestedRuns]) -> NestedRuns:
    """All of several runs."""
    return NestedRuns(*map(np.concatenate, zip(*parts, strict=True)))


def means_of(found: NestedRuns, exact: Callable[[int], CompleteCV] | None, rescaled: bool) -> Means:
    """The means over random runs, by the exact scores of the candidates; without these, over all runs.

    If candidates are `rescaled`, within the training sets, a single one is not known exactly, either.
    """
    scores, (_, n_candidates) = found.scores, found.once.shape
    differences = found.best.mean(axis=1) - scores
    if exact is None:
        return Means(*(ControlledMean(float(one.mean()), 0.0, 1.0, 0.0) for one in (scores, differences)))
    numbers = np.bincount(found.chosen.ravel(), minlength=n_candidates)
    controls = np.argsort(-numbers, kind="stable")[: min(MOST_CONTROLS, len(scores) // RUNS_A_CONTROL)]
    known = [at for at in controls.tolist() if exact(at).truncation_bound <= EXACT]
    values, expected = found.once[:, known], np.array([exact(at).score for at in known])
    is_linear = n_candidates == 1 and len(known) > 0 and not rescaled
    score = controlled_mean(scores, values, expected, is_linear=is_linear)
    controlled = (values, expected) if np.ptp(differences) > 0 else ()  # inner scores do not show in them
    found_optimism = controlled_mean(differences, *controlled)
    error = float(np.hypot(found_optimism.std_error, score.unseen))  # what changes the score changes both
    return Means(score, found_optimism._replace(std_error=error))


def rescaled_searches(kinds: list[tuple[Any, Any, Any]]) -> dict[int, RescaledSearch]:
    """The searches of samples, metrics and scalings that scale columns, by their place.

    Raises
    ------
    ValueError
        If a scaling cannot be fitted within the training sets.
    """
    found = {}
    for at, (X, metric, scaling) in enumerate(kinds):
        if scaling is None:
            continue
        if isinstance(scaling, str) and not issparse(X):
            X = as_reals("X", X, "X must hold real numbers, (n_items, n_features)")
            exponents = np.frexp(np.abs(X).max(axis=0))[1]
            # Columns whose squares leave the range; others keep their unit, which counts without spread.
            X = np.ldexp(X, np.where(np.abs(exponents) > EXTREME, -exponents, 0))
        elif not issparse(X) and np.asarray(X).dtype == np.float32:
            X = X.astype(float)
        power = POWERS.get(ALIASES.get(metric, metric)) if isinstance(metric, str) else None
        columns = None if power is None or issparse(X) else scaling_of([scaling], X)
        if power is None or columns is None:
            msg = (
                "pass transductive=True, by which a scaling is fitted once to all samples without labels: "
                "within the training sets dense columns are scaled as by scikit-learn's scalers, for "
                f"Euclidean or Manhattan distances; got scaling={scaling!r}, metric={metric!r}"
                f"{', sparse X' if issparse(X) else ''}"
            )
            raise ValueError(msg)
        found[at] = RescaledSearch(columns, power)
    return found


def as_list(name: str, one_or_more: Any) -> list[Any]:
    """The values of the argument `name` that may be one value or a sequence of them.

    Raises
    ------
    ValueError
        If it is empty, or has the same value twice.
    """
    is_sequence = isinstance(one_or_more, list | tuple | range | np.ndarray)
    values = list(one_or_more) if is_sequence else [one_or_more]
    if not values or any(one == other for i, one in enumerate(values) for other in values[:i]):
        msg = f"{name} must be one value or a list of different values, got {one_or_more!r}"
        raise ValueError(msg)
    return values


def samples(X: Any, scaling: Any) -> Any:
    """The samples with scaled columns."""
    if read_scaling(scaling) is not None and isinstance(X, Neighbors):
        msg = f"scaling must be None for {X!r}, which holds distances, got {scaling!r}"
        raise ValueError(msg)
    return X if scaling is None else scaled(X, scaling)


def tuned_problem(y: Any, n_items: int, k: int, cv: Any, inner: Inner, average: str) -> ScoringProblem:
    """The problem of the largest K, `k`.

    Raises
    ------
    ValueError, TypeError
        If the training sets, or those within them, are too small, or the design is not served.
    """
    check_choice("average", average, ("pooled", "class"))
    problem = validate_problem(y, n_items, "knn", cv, "index", average, {"n_neighbors": k})
    design, groups = problem.design, problem.left_out
    sizes = np.zeros(3, int) if groups is None else np.sort(np.bincount(groups))
    others = design.leaves_groups and (groups is None or len(sizes) < 3)
    if others or design.item_weights(problem.labels, "pooled") is not None:
        msg = (
            "cv must be a design of single samples that count alike, such as KFold(5), or leave out one of "
            f"three groups or more, got {design!r}"
        )
        raise ValueError(msg)
    must = "leave out inner_cv: within training sets one group after another is left out"
    check(groups is None or inner.n_folds <= 1, must, inner)
    least = problem.smallest_train
    check_integer("inner_cv", inner.n_folds, 1, least, "the size of the smallest training set")
    left_out = max(int(sizes[-2]), 1 if inner.n_folds == 1 else -(-least // inner.n_folds))
    limit = "the size of the smallest training set without the samples left out of it"
    check_integer("n_neighbors", k, 1, least - left_out, limit)
    return problem
