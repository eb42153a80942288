"""`expected_episodes`, the exact mean accuracy over all episodes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._base.formatting import bound_text
from .._base.labels import encode_labels
from .._base.parallel import check_pool, one_bar
from .._base.typing import Array
from .._base.validation import check_integer, check_tol
from .._core.driver import TIES
from ..neighbors import as_neighbors, warn_label_leakage
from ._episodes import Episodes, given_episodes
from ._passes import (
    Problem,
    all_votes,
    binomials,
    choose_all_ways,
    nearest_supports,
    too_short,
)
from ._result import EpisodeScore, class_means


def expected_episodes(
    X: Any,
    y: Any,
    episodes: Episodes | None = None,
    n_neighbors: int = 1,
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str = "random",
    tol: float = 1e-10,
    all_ways: bool | None = None,
    jackknife: str | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> EpisodeScore:
    """The mean accuracy over all episodes of few-shot classification by the nearest support.

    Nothing is sampled: the result has no ± from drawing episodes. With one shot, the nearest support is the
    nearest prototype. With several shots it is not; for prototypes see `sampled_episodes`.

    Parameters
    ----------
    X : Neighbors, or array of shape (n_items, n_features)
        Embedded samples, or their neighbors; distances with ``metric="precomputed"``. Lists should be
        complete, since an episode may draw any sample; see `tol`.
    y : array of shape (n_items,)
        Class labels.
    episodes : Episodes, default ``Episodes(n_way=5, n_shot=1)``
        What an episode draws; its numbers may be ranges.
    n_neighbors : int, default 1
        Number of nearest supports that vote, with equal votes; a tied vote goes to each of the classes with
        equal probability. Votes take hundreds of times as long as the nearest support, and are refused
        where that would be hours.
    metric, metric_params
        As in `Neighbors.from_data`, or "precomputed".
    ties : {"random", "index"}, default "random"
        Equally distant samples: the mean over all their orders, or the order of the rows.
    tol : float, default 1e-10
        Largest `error_bound` that is accepted. The bound is that of rounding, and with lists of the nearest
        samples of what the others could add to the score.
    all_ways : bool, optional
        Whether to compute the scores of all numbers of ways, from 2 to the number of classes, which takes
        about twice as long for 20 classes. Default: for up to 100 classes, and not with votes.
    jackknife : {None, "class"}, default None
        "class": also the scores without each class, whose spread is the luck of having these classes. The
        largest number of ways must be less than the number of classes. Votes then take as many times as
        long as there are classes.
    n_jobs : int, optional
        Threads. Default: all processors. The result is the same to the last bit.
    progress : bool, default False
        Show a progress bar (needs tqdm) over all stages; its total grows when a further stage begins.

    Returns
    -------
    EpisodeScore

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; a class has no more samples than the shots; there are fewer classes
        than ways, or more sets of them than double precision can count (1e300); neighbor lists are too
        short for `tol`, or approximate; votes would take too long, or `n_neighbors` exceeds the supports
        of an episode; or the bound of rounding exceeds `tol`.

    Notes
    -----
    A query x of class o with own samples i, f_i of them behind i, is right with probability

    ``P(x) = sum_i C(f_i, K-1) / C(n_o - 1, K) * e_{N-1}({S_c(i) : c != o}) / C(C-1, N-1)``

    where ``S_c(i) = C(n_c - g_c(i), K) / C(n_c, K)``, ``g_c(i)`` is the number of samples of class c nearer
    than i, and e the elementary symmetric polynomial. Time: all distances, and a few nanoseconds for each.
    Memory: a block of rows.

    References
    ----------
    Intervals of sampled episodes miss the luck of the data, which `jackknife` shows: R. Lafargue et al.,
    Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning, 2024.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.episodes import Episodes, expected_episodes
    >>> wine = load_wine()
    >>> X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    >>> result = expected_episodes(X, wine.y, Episodes(n_way=3, n_shot=1))
    >>> round(result.score, 4), {way: round(score, 4) for way, score in result.ways.items()}
    (0.8341, {2: 0.8962, 3: 0.8341})
    """
    started = time.perf_counter()
    episodes = given_episodes(episodes)
    fewest = episodes.fewest_supports(episodes.ways[0])
    n_neighbors = check_integer(
        "n_neighbors", n_neighbors, 1, fewest, "the supports of the smallest episode"
    )
    if not isinstance(ties, str) or ties not in TIES:
        msg = f"ties must be 'random' or 'index', got {ties!r}"
        raise ValueError(msg)
    check_tol(tol)
    if jackknife is not None and not (isinstance(jackknife, str) and jackknife == "class"):
        msg = f"jackknife must be None or 'class', got {jackknife!r}"
        raise ValueError(msg)
    check_pool(n_jobs, None, progress)
    neighbors = as_neighbors(X, metric, metric_params)
    labels = encode_labels(y, neighbors.n_items)
    episodes.check(labels)
    n_classes = len(labels.classes)
    if jackknife and episodes.ways[-1] == n_classes:
        msg = (
            f"jackknife='class' needs more classes than ways: {n_classes} classes, n_way={n_classes}; "
            "without one of them no episode can be drawn"
        )
        raise ValueError(msg)
    warn_label_leakage(neighbors, fewest)
    all_ways = choose_all_ways(all_ways, n_classes, by_default=n_neighbors == 1)
    problem = Problem.of(labels, episodes, ties, all_ways=all_ways, jackknife=jackknife is not None)
    if neighbors.max_depth < neighbors.n_items - 1 and (jackknife or n_neighbors > 1):
        raise ValueError(too_short(neighbors))
    with one_bar(progress):
        if n_neighbors == 1:
            found = nearest_supports(problem, neighbors, n_jobs)
        else:
            found = all_votes(problem, neighbors, n_neighbors, n_jobs)
        sets = binomials(n_classes - 1, problem.plan.n_terms)
        chances = found.sums / sets
        means = class_means(chances, labels.codes, n_classes).mean(axis=0)
        per_item = chances[:, :, [way - 1 for way in episodes.ways]].mean(axis=(1, 2))
        bound, why = rounding_bound(problem, n_neighbors), "the rounding error of double precision"
        if found.left_open.any():
            if jackknife:
                raise ValueError(too_short(neighbors))
            left_open = class_means(found.left_open / sets, labels.codes, n_classes).mean(axis=0)
            bound += float(left_open[:, 1:].max())
            why = f"what samples beyond the lists of {neighbors!r} could add to the score"
        if bound > tol:
            msg = f"tol={tol:g} is below {why}, {bound_text(bound)}"
            raise ValueError(msg)
    numbers = range(2, problem.plan.n_terms + 1)
    ways = [way for way in numbers if episodes.fewest_supports(way) >= n_neighbors]
    table = means[:, [way - 1 for way in ways]]
    return EpisodeScore(
        score=float(class_means(per_item, labels.codes, n_classes).mean()),
        per_item=per_item,
        weights=(1 / (n_classes * labels.counts))[labels.codes],
        table=table,
        ways=dict(zip(ways, table.mean(axis=0).tolist(), strict=True)),
        error_bound=bound,
        n_tied=int(found.tied.sum()),
        score_without=_scores_without(problem, found.without) if jackknife else None,
        episodes=episodes,
        n_neighbors=n_neighbors,
        ties=ties,
        classes=labels.classes,
        labels=labels.codes,
        metric=neighbors.metric,
        seconds=time.perf_counter() - started,
    )


def rounding_bound(problem: Problem, n_neighbors: int) -> float:
    """Bound of the rounding error of the score, to first order.

    All terms are positive, so relative errors do not grow: three roundings for every class and way, two for
    every factor of a probability, one for every own sample in a sum, and those of the nodes for ties. Votes
    sum over all samples, with several terms for each class.
    """
    n_classes, n_shot = len(problem.labels.counts), int(problem.plan.shots.max())
    steps = 3 * n_classes + (2 * n_shot + 4) * problem.plan.n_terms + int(problem.labels.counts.max()) + 64
    if n_neighbors > 1:
        steps += len(problem.labels.codes) + 4 * n_classes * (n_neighbors + 2 * n_shot)
    return float(np.finfo(float).eps * steps)


def _scores_without(problem: Problem, without: Array) -> Array:
    """The score without each class, from the expected accuracies of all samples without it."""
    n_classes = len(problem.labels.counts)
    means = class_means(without, problem.labels.codes, n_classes) / len(problem.plan.shots)
    np.fill_diagonal(means, 0.0)
    scores: Array = means.sum(axis=0) / (n_classes - 1)
    return scores
