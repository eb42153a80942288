# mypy: allow-untyped-defs
"""`condense`: prototypes, selected by the exact score of the pool from which training sets are drawn."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from .._base.formatting import Result
from .._base.labels import encode_labels
from .._base.parallel import check_pool, one_bar
from .._base.typing import Array
from .._base.validation import check, check_choice, check_integer, check_real
from .._core.driver import AVERAGES, ScoringProblem, validate_problem
from .._core.driver.influence import check_linear
from ..designs import Subsample
from ..kernel import Variant, jit
from ..kernel.registry import get_variant
from ..neighbors import as_neighbors, warn_label_leakage
from ._condense_scores import PoolScore, PoolScorer, kinds_within

LIST_TOL = 1e-12
"""The largest share of a sample's score that its neighbor list leaves undecided."""
DEFAULT_SHARE = 10


@dataclass(frozen=True, eq=False, repr=False)
class Condensed(Result):
    """Prototypes that `condense` has kept, and the path of the search.

    Attributes
    ----------
    sample_indices : int64 ndarray of shape (n_prototypes,)
        The prototypes, in the order of the samples.
    score : float
        The inner score, of the prototypes as pool. It is optimistic, because the prototypes were chosen for
        it on the same samples; `knnccv.sklearn.expected_score` of `Condense` estimates that of new samples.
    score_of_all : float
        The score of all samples as pool, before anything was removed.
    n_kept : int64 ndarray of shape (n_steps,)
        The size of the pool after every step, the first of all samples.
    scores : float64 ndarray of shape (n_steps,)
        The exact scores of these pools.
    removed : int64 ndarray of shape (n_items - n_prototypes,)
        The other samples, in the order of their removal.
    per_item : float64 ndarray of shape (n_items,)
        The expected score of every sample, with training sets of other prototypes.
    without : float64 ndarray of shape (n_prototypes,)
        The score of the pool without each prototype; NaN if the rest is too small for the design.
    error_bound : float
        Bound of the error of `score`, from neighbor lists that end too early. Infinite for approximate
        neighbors.

    Examples
    --------
    >>> from knnccv.selection import condense
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = condense(wine.X, wine.y)
    >>> len(found.sample_indices)
    18
    """

    _json = (
        "n_items reduction score score_of_all error_bound variant parameters design ties average "
        "measure is_loss sample_indices n_kept scores removed seconds"
    )
    _note = (
        "score is an inner score, which is optimistic; knnccv.sklearn.expected_score of Condense estimates "
        "that of new samples"
    )

    sample_indices: Array
    score: float
    score_of_all: float
    n_kept: Array
    scores: Array
    removed: Array
    per_item: Array
    without: Array
    error_bound: float = 0.0
    variant: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    design: str = ""
    ties: str = "random"
    average: str = "pooled"
    measure: str = "score"
    is_loss: bool = False
    seconds: float = 0.0

    @property
    def n_items(self) -> int:
        """The number of samples."""
        return len(self.per_item)

    @property
    def reduction(self) -> float:
        """The share of the samples that were removed."""
        return len(self.removed) / self.n_items

    def kept_at(self, n_prototypes: int) -> Array:
        """Return the pool of this size, of which the other samples were removed first.

        Parameters
        ----------
        n_prototypes : int
            The number of prototypes at the end of the search, up to all samples. Sizes in `n_kept` are
            those whose score is known.

        Returns
        -------
        int64 ndarray of shape (n_prototypes,)
            In the order of the samples.

        Raises
        ------
        TypeError, ValueError
            If it is not an integer in this range.
        """
        least = len(self.sample_indices)
        n = check_integer("n_prototypes", n_prototypes, least, self.n_items)
        return np.setdiff1d(np.arange(self.n_items), self.removed[: self.n_items - n])


def condense(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "nn",
    cv: Any = None,
    *,
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
) -> Condensed:
    """Remove samples as long as the exact score of the others as training samples does not fall.

    The pool is the set of samples that are kept. *All* samples are tested, kept or not. The training sets
    of a tested sample x are drawn by the design `cv` from the pool without x: all sets of a candidates are
    equally likely, a being the number that the design gives for a pool of this size. The score of the pool
    is the mean, over all samples, of the expected score over these training sets. It is computed exactly,
    not sampled. With all samples as pool, and training sets of one size, it is that of `complete_cv` with
    ``average="item"``.

    The search removes batches of the least valuable samples. One pass over the neighbor lists gives the
    score of the pool and its scores without each candidate. A batch is accepted if the score of the rest,
    computed anew, is at most `max_loss` below the highest score so far; otherwise a smaller batch is
    tried. The search ends where no single sample can be removed any more.

    **The score of the result is optimistic**, since the samples were selected for it.
    `knnccv.sklearn.expected_score` of `Condense` estimates the score of new samples.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or Neighbors
        The samples, as in `complete_cv`.
    y : array of shape (n_items,)
        Class labels.
    variant : str, Variant or subclass of it, default "nn"
        The rule, as in `complete_cv`; not "regression".
    cv : design or int, optional
        How training sets are drawn from the pool. Default: `Subsample` of a tenth of all samples, of twice
        the number of classes or of the number of neighbors that decide, whichever is largest. Whole numbers
        stay the same while the pool shrinks: the better of two pools has the better training sets of this
        size, and the search ends when one sample more is left, or earlier. Fractions and folds are shares
        of the pool, so that its training sets shrink with it. `LeaveGroupsOut` is refused.
    metric, metric_params
        As in `complete_cv`.
    ties : {"random", "index"}, optional
        As in `complete_cv`.
    average : {"pooled", "item", "class"}, default "pooled"
        "pooled": all samples have equal weight, since each is tested with every pool; "item" is the same.
        "class": all classes have.
    max_loss : float, default 0.0
        The score may fall below the highest score so far by this much. With infinity only the other
        criteria end the search.
    n_prototypes : int, default 1
        The smallest number of samples to keep.
    min_per_class : int, default 1
        The smallest number of samples to keep of each class; of smaller classes all are kept.
    step : float, default 0.05
        The largest share of the pool that is removed at once, in (0, 1]. Smaller ones take longer and may
        find better prototypes.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.
    progress : bool, default False
        Show a counter of the finished tasks (needs tqdm). Their number is not known in advance.
    **parameters
        The variant's parameters.

    Returns
    -------
    Condensed

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed, or the design cannot draw training sets from all samples but one.

    Notes
    -----
    Mullin & Sukthankar (2000), section 5, name the selection of prototypes as a use of the exact score. Let
    x_1, x_2, … be the candidates in the order of their distance from x, M their number, and L_i = 1 if x_i
    has the class of x. For the nearest neighbor the expected score is the sum of L_i p_i, where p_i is the
    probability that x_i is the nearest training sample (ICML eq. 4). Without x_r the samples behind it move
    up by one, and the score becomes the sum of L_i p'_i over i < r and of L_i p'_(i-1) over i > r, with p'
    for M - 1 candidates. Two running sums give this for all r at once.

    Scores that differ by less than 1e-10 count as equal, and equally valuable samples are removed in their
    order. No sample of a batch is among the three nearest candidates of another one, because near samples
    replace each other. Time O(n_items * depth) for each batch, memory O(n_items * depth), where the depth
    is a few times the number of candidates that can matter.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.selection import condense
    >>> wine = load_wine()
    >>> X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    >>> found = condense(X, wine.y)
    >>> len(found.sample_indices)
    18
    >>> bool(found.score > found.score_of_all)
    True
    """
    started = time.perf_counter()
    check_pool(n_jobs, None, progress)
    neighbors = as_neighbors(X, metric, metric_params)
    problem = pool_problem(y, neighbors.n_items, variant, cv, ties, average, parameters)
    limits = check_limits(max_loss, n_prototypes, min_per_class, step, neighbors.n_items)
    warn_label_leakage(neighbors, problem.smallest_train)
    with one_bar(progress, known=False):
        path = remove_while_score_holds(PoolScorer(problem, neighbors, LIST_TOL, n_jobs), problem, limits)
    kept = np.setdiff1d(np.arange(neighbors.n_items), path.removed)
    return Condensed(
        sample_indices=kept,
        score=path.last.score,
        score_of_all=float(path.scores[0]),
        n_kept=path.n_kept,
        scores=path.scores,
        removed=path.removed,
        per_item=path.last.per_item,
        without=path.last.without[kept],
        error_bound=float("inf") if neighbors.approximate else path.last.error_bound,
        variant=problem.variant.name,
        parameters=dict(problem.parameters),
        design=repr(problem.design),
        ties=problem.ties,
        average=problem.average,
        measure=problem.measure,
        is_loss=problem.is_loss,
        seconds=time.perf_counter() - started,
    )


def pool_problem(
    y: Any,
    n_items: int,
    variant: str | Variant | type[Variant],
    cv: Any,
    ties: str | None,
    average: str,
    parameters: Mapping[str, Any],
) -> ScoringProblem:
    """Check the arguments that define the score of a pool.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed.
    """
    check_choice("average", average, AVERAGES)
    rule = get_variant(variant)
    msg = f"condense keeps samples of classes; variant {rule.name!r} has real targets"
    check(rule.target != "values", msg)
    if cv is None:  # a share of the samples, at least two of a class, and as many as decide
        nearest = rule.n_nearest(**rule.settings(parameters))
        decide = int(nearest) if isinstance(nearest, Integral) else 1
        size = max(n_items // DEFAULT_SHARE, decide, 2 * len(encode_labels(y, n_items).classes))
        cv = Subsample(max(1, min(size, n_items - 1)))
    problem = validate_problem(y, n_items, rule, cv, ties, average, parameters)
    check_linear(problem, "condense")
    kinds_within(problem, problem.labels.counts)
    return problem


def check_limits(max_loss: Any, n_prototypes: Any, min_per_class: Any, step: Any, n_items: int) -> Limits:
    """Check the criteria of the search.

    Raises
    ------
    ValueError, TypeError
        If one is not allowed.
    """
    check(check_real("max_loss", max_loss) >= 0, f"max_loss must be at least 0, got {max_loss}")
    least = check_integer("n_prototypes", n_prototypes, 1, n_items, "the number of samples")
    least_of_class = check_integer("min_per_class", min_per_class, 1)
    check(0 < check_real("step", step) <= 1, f"step must be in (0, 1], got {step}")
    return Limits(float(max_loss), least, least_of_class, float(step))


SAME = 1e-10
"""Scores that differ by less are equal, since rounding and the ends of lists change them."""
APART = 3
"""No sample of a batch is among that many nearest candidates of another one."""


class Limits(NamedTuple):
    """When the search ends: `max_loss` below the best score, `n_prototypes`, and `min_per_class` samples.

    At most the share `step` of the pool is removed at once.
    """

    max_loss: float
    n_prototypes: int
    min_per_class: int
    step: float


class Path(NamedTuple):
    """What the search did.

    ``removed`` (n_removed,) are the samples in the order of their removal, ``n_kept`` and ``scores``
    (n_steps,) the pools after each batch, the first of all samples. ``last`` is the score of the last pool.
    """

    removed: Array
    n_kept: Array
    scores: Array
    last: PoolScore


@jit
def choose_batch(by_value, gains, near, codes, codes_room, budget, size, batch):
    """Fill `batch` with the first samples that may be removed together, and return their number.

    ``by_value`` are samples, the least valuable first; ``near`` (n_items, any) the nearest candidates of
    each, -1 for none. At most `size` samples go, and at most ``codes_room[c]`` of class c. Their gains may
    not sum to less than ``-budget``.
    """
    n_items = len(codes)
    chosen = np.zeros(n_items, np.bool_)
    shut = np.zeros(n_items, np.bool_)
    left = codes_room.copy()
    n_chosen = 0
    total = 0.0
    for j in by_value:
        if n_chosen == size:
            break
        if left[codes[j]] < 1 or (n_chosen > 0 and shut[j]):
            continue
        apart = True
        for i in near[j]:
            if i >= 0 and chosen[i]:
                apart = False
        if not apart:
            continue
        if total + gains[j] < -budget:
            break
        total += gains[j]
        chosen[j] = True
        left[codes[j]] -= 1
        batch[n_chosen] = j
        n_chosen += 1
        for i in near[j]:
            if i >= 0:
                shut[i] = True
    return n_chosen


def remove_while_score_holds(scorer: PoolScorer, problem: ScoringProblem, limits: Limits) -> Path:
    """Remove samples from the pool of all samples."""
    codes, sign = problem.labels.codes, -1.0 if problem.is_loss else 1.0
    kept = np.ones(len(codes), bool)
    now = scorer.score(kept)
    assert now is not None  # as `pool_problem` has checked
    removed: list[Array] = []
    n_kept, scores = [len(codes)], [now.score]
    best = sign * now.score
    size = most = max(1, int(limits.step * len(codes)))
    batch = np.empty(len(codes), np.int64)
    while True:
        gains = sign * (now.without - now.score)
        allowed = np.flatnonzero(kept & ~np.isnan(gains))
        by_value = allowed[np.argsort(-np.round(gains[allowed] / SAME), kind="stable")]
        left = np.bincount(codes[kept]) - limits.min_per_class
        room = int(kept.sum()) - limits.n_prototypes
        budget = sign * now.score - best + limits.max_loss + SAME
        near = scorer.nearest(kept, APART)
        n = choose_batch(by_value, gains, near, codes, left, budget, min(size, room), batch)
        if n == 0:
            break
        chosen = batch[:n].copy()
        kept[chosen] = False
        trial = scorer.score(kept)
        if trial is None or sign * trial.score < best - limits.max_loss - SAME:
            kept[chosen] = True
            if n == 1:
                break
            size = max(1, n // 2)
            continue
        removed.append(chosen)
        now = trial
        best = max(best, sign * now.score)
        n_kept.append(int(kept.sum()))
        scores.append(now.score)
        scorer.shrink_to(kept.copy())
        most = max(1, int(limits.step * n_kept[-1]))
        size = min(2 * size, most)
    order = np.concatenate(removed) if removed else np.empty(0, np.int64)
    return Path(order, np.array(n_kept), np.array(scores), now)
