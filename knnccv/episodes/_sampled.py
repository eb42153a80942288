# mypy: allow-untyped-defs
"""`sampled_episodes`: random episodes, as papers report them.

Every episode has random numbers of its own, so threads do not matter.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._base.formatting import Numeric
from .._base.labels import encode_labels
from .._base.parallel import check_pool, for_each, one_bar, stop_flag
from .._base.typing import Array
from .._base.validation import check, check_bool, check_choice, check_integer, check_random_state
from .._core.luck.inference import ConfidenceInterval, student_interval
from .._core.luck.scorings import check_precision, enough_draws
from ..kernel import inner, jit
from ..kernel.sampling import random_below
from ..neighbors import Neighbors, check_features
from ._episodes import Episodes, given_episodes
from ._expected import expected_episodes


@jit
def draw(pool, n_drawn, state):
    """Bring a random choice of `n_drawn` entries, in random order, to the front of `pool`."""
    for i in range(n_drawn):
        j = i + random_below(state, len(pool) - i)
        pool[i], pool[j] = pool[j], pool[i]


class Draws(NamedTuple):
    """What every episode draws, and which heads answer its queries."""

    X: Any  # float64 (n_items, n_features)
    members: Any  # the samples class by class
    bounds: Any  # where each class begins
    ways: Any  # numbers that are drawn with equal probability
    shots: Any
    n_query: Any  # queries of every class
    prototypes: Any  # whether the nearest mean of a class's supports answers
    supports: Any  # whether the nearest support does


@jit
def run_episodes(draws, seeds, accuracies, stop):
    """Run an episode for every seed, until ``stop[0]``.

    ``accuracies`` (n_episodes, 2) are those of the nearest prototype and those of the nearest support.
    """
    X, bounds, ways, shots, n_query = draws.X, draws.bounds, draws.ways, draws.shots, draws.n_query
    n_classes, n_features = len(bounds) - 1, X.shape[1]
    state = np.empty(1, np.uint64)
    classes = np.arange(n_classes)
    pool = np.empty((bounds[1:] - bounds[:-1]).max(), np.int64)
    n_most = ways.max()
    drawn = np.empty((n_most, shots.max() + n_query), np.int64)
    means, mean_of = np.empty((n_most, n_features)), np.arange(n_most).reshape(-1, 1)
    one = shots[0] * 0 + 1
    for e in range(len(seeds)):
        if stop[0]:
            return
        state[0] = seeds[e]
        way = ways[random_below(state, len(ways))]
        shot = shots[random_below(state, len(shots))]
        for c in range(n_classes):
            classes[c] = c
        draw(classes, way, state)
        for w in range(way):
            begin, end = bounds[classes[w]], bounds[classes[w] + 1]
            for i in range(begin, end):
                pool[i - begin] = draws.members[i]
            draw(pool[: end - begin], shot + n_query, state)
            for i in range(shot + n_query):
                drawn[w, i] = pool[i]
            if draws.prototypes:
                for f in range(n_features):
                    total = 0.0
                    for k in range(shot):
                        total += X[drawn[w, k], f]
                    means[w, f] = total / shot
        by_prototypes, by_supports = 0, 0
        for w in range(way):
            for q in range(shot, shot + n_query):
                query = X[drawn[w, q]]
                if draws.prototypes:
                    by_prototypes += nearest_class(query, means, mean_of, way, one, state) == w
                if draws.supports:
                    by_supports += nearest_class(query, X, drawn, way, shot, state) == w
        accuracies[e, 0] = by_prototypes / (way * n_query)
        accuracies[e, 1] = by_supports / (way * n_query)


@inner
def nearest_class(query, rows, supports, way, shot, state):
    """The class, as its place in the episode, of the support nearest to the query; ties at random."""
    best, least, n_tied = 0, np.inf, 0
    for w in range(way):
        for k in range(shot):
            support = rows[supports[w, k]]
            distance = 0.0
            for f in range(len(query)):
                distance += (query[f] - support[f]) ** 2
            if distance < least:
                best, least, n_tied = w, distance, 1
            elif distance == least:
                n_tied += 1
                if random_below(state, n_tied) == 0:
                    best = w
    return best


HEADS = ("nearest", "prototype")
METRICS = ("euclidean", "cosine")
BLOCK = 64
N_EPISODES = 600
"""Episodes, unless the arguments say how many, or how well."""


@dataclass(frozen=True, eq=False, repr=False)
class SampledEpisodes(Numeric):
    """The accuracies of random episodes.

    Attributes
    ----------
    score : float
        The estimate of the mean over all episodes: the mean accuracy, or with a control variate the
        adjusted mean.
    std_error : float
        Of ``score``, for other random episodes of the same classes and samples. It says nothing about
        other classes; for them see ``expected_episodes(..., jackknife="class")``.
    std : float
        The standard deviation of the accuracy of one episode.
    accuracies : ndarray of shape (n_episodes,)
        The accuracy of every episode.
    r2 : float
        With a control variate: the share of the episodes' variance that the nearest support of the same
        episode explains. NaN without.
    exact_nearest : float
        With a control variate: the exact mean accuracy of the nearest support. NaN without.
    episodes : Episodes
        What is drawn.
    n_query : int
        Queries of every class.
    head : str
        "nearest" or "prototype".
    metric : str
        "euclidean" or "cosine".
    seconds : float
        Wall time.

    Examples
    --------
    >>> from knnccv.episodes import Episodes, sampled_episodes
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = sampled_episodes(wine.X, wine.y, Episodes(3, 1), n_episodes=50, random_state=0)
    >>> found.accuracies.shape, 0 < found.std_error < 0.05
    ((50,), True)
    """

    _json = "score std_error std r2 episodes n_query head metric accuracies seconds"

    score: float
    std_error: float
    accuracies: Array
    r2: float
    exact_nearest: float
    episodes: Episodes
    n_query: int
    head: str
    metric: str
    seconds: float = 0.0

    @property
    def std(self) -> float:
        """The standard deviation of the accuracy of one episode."""
        return float(self.accuracies.std(ddof=1))

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """The normal interval for the mean over all episodes of these classes and samples.

        Parameters
        ----------
        confidence_level : float, default 0.95
            In (0, 1).

        Raises
        ------
        ValueError, TypeError
            If the level is not in (0, 1).
        """
        target = "mean accuracy of all episodes of these samples"
        return student_interval(self.score, self.std_error, math.inf, confidence_level, target)


def sampled_episodes(
    X: Any,
    y: Any,
    episodes: Episodes | None = None,
    *,
    n_episodes: int | None = None,
    precision: float | None = None,
    n_query: int = 15,
    head: str = "nearest",
    control_variate: bool = False,
    metric: str = "euclidean",
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SampledEpisodes:
    """The accuracies of random episodes: their mean, and the standard deviation of one episode.

    For prototypes of several shots, whose mean over all episodes cannot be counted, and for what a table
    of 600 episodes would scatter.

    Parameters
    ----------
    X : array of shape (n_items, n_features)
        Embedded samples.
    y : array of shape (n_items,)
        Class labels.
    episodes : Episodes, default ``Episodes(n_way=5, n_shot=1)``
        What an episode draws.
    n_episodes : int, optional
        At least 2, or 3 with a control variate, whose slope is estimated; default 600.
    precision : float, optional
        In place of `n_episodes`: the wanted `std_error`. 600 episodes tell how many there have to be, at
        most 60,000. The result is that of `n_episodes` of this number.
    n_query : int, default 15
        Queries of every class of an episode; every class needs `n_shot` + `n_query` samples.
    head : {"nearest", "prototype"}, default "nearest"
        The class of the nearest support, or of the nearest mean of a class's supports.
    control_variate : bool, default False
        With ``head="prototype"``: correct the mean by the nearest support in the same episodes, whose exact
        mean is known. This multiplies the standard error by about the square root of ``1 - r2``. The slope
        of the correction is estimated from the same episodes: with few of them, 10 say, the standard error
        is somewhat too small.
    metric : {"euclidean", "cosine"}, default "euclidean"
        "cosine" scales all samples to length 1; prototypes are means of the scaled samples.
    random_state : int, numpy Generator or None, default 0
        Seed.
    n_jobs : int, optional
        Threads. Default: all processors. The result is the same to the last bit.
    progress : bool, default False
        Show a progress bar (needs tqdm) over all stages; its total grows when a further stage begins.

    Returns
    -------
    SampledEpisodes

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; a class has too few samples; or a control variate is requested for
        the nearest support, whose exact mean `expected_episodes` computes.

    Warns
    -----
    UserWarning
        If 60,000 episodes do not reach the `precision`: how many it would take.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.episodes import Episodes, expected_episodes, sampled_episodes
    >>> wine = load_wine()
    >>> X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    >>> few = sampled_episodes(X, wine.y, Episodes(3, 1), random_state=0)
    >>> bool(abs(few.score - expected_episodes(X, wine.y, Episodes(3, 1)).score) < 4 * few.std_error)
    True
    """
    started = time.perf_counter()
    episodes = given_episodes(episodes)
    if isinstance(episodes.n_shot, dict):
        msg = "sampled_episodes draws as many shots of every class, got a number for each; "
        msg += "n_shot must be an integer or several"
        raise ValueError(msg)
    n_query = check_integer("n_query", n_query, 1)
    check_choice("head", head, HEADS)
    check_choice("metric", metric, METRICS)
    control_variate = check_bool("control_variate", control_variate)
    msg = (
        "control_variate=True needs head='prototype': the exact mean of the nearest support is "
        "expected_episodes(X, y, episodes).score"
    )
    check(not control_variate or head != "nearest", msg)
    check_precision(precision, n_episodes, "n_episodes", 3 if control_variate else 2)
    check_pool(n_jobs, None, progress)
    rng = check_random_state(random_state)
    must = "X must be the embedded samples, an array of shape (n_items, n_features)"
    check(not isinstance(X, Neighbors), must, X, TypeError)
    data = _scaled(check_features(X), metric)
    labels = encode_labels(y, len(data))
    episodes.check(labels, n_query)
    members = np.argsort(labels.codes, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(labels.counts)])
    ways, shots, prototypes = np.array(episodes.ways), np.array(episodes.shots), head == "prototype"
    draws = Draws(
        data, members, bounds, ways, shots, n_query, prototypes, not prototypes or control_variate
    )

    exact, found, means = math.nan, np.empty((2, 0)), (math.nan, math.nan, math.nan)

    def look(number: int) -> float:
        nonlocal found, means
        seeds = rng.integers(0, 2**64, number - found.shape[1], dtype=np.uint64)
        more = np.empty((len(seeds), 2))

        def run_block(begin: int) -> None:
            some = slice(begin, begin + BLOCK)
            run_episodes(draws, seeds[some], more[some], stop_flag())

        for_each(run_block, range(0, len(seeds), BLOCK), n_jobs)
        found = np.concatenate([found, more.T], axis=1)
        means = _means(found if prototypes else found[::-1], exact)
        return means[1]

    with one_bar(progress):
        if control_variate:
            exact = expected_episodes(data, y, episodes, all_ways=False, n_jobs=n_jobs).score
        enough_draws(look, N_EPISODES, precision, n_episodes, "n_episodes")
    score, error, r2 = means
    return SampledEpisodes(
        score=score,
        std_error=error,
        accuracies=found[0 if prototypes else 1],
        r2=r2,
        exact_nearest=exact,
        episodes=episodes,
        n_query=n_query,
        head=head,
        metric=metric,
        seconds=time.perf_counter() - started,
    )


def _means(found: Array, exact: float) -> tuple[float, float, float]:
    """The mean of the first row, its standard error, R^2.

    It is corrected by regression on the second row if that one's exact mean is known.
    """
    accuracies, nearest = found
    if math.isnan(exact):
        return float(accuracies.mean()), float(accuracies.std(ddof=1)) / math.sqrt(len(accuracies)), exact
    spread = nearest.var()
    covariance = ((accuracies - accuracies.mean()) * (nearest - nearest.mean())).mean()
    slope = covariance / spread if spread > 0 else 0.0
    total = accuracies.var()
    r2 = slope * covariance / total if total > 0 else 0.0
    score = accuracies.mean() - slope * (nearest.mean() - exact)
    n = len(accuracies)
    error = math.sqrt(max(1 - r2, 0.0) * total / (n - 2))
    return float(score), error, float(r2)


def _scaled(data: Array, metric: str) -> Array:
    """The features times a power of two, so that no square overflows; for cosine with length 1.

    Raises
    ------
    ValueError
        If a row has no direction.
    """
    largest = np.abs(data).max(axis=1, keepdims=True)
    if metric == "euclidean":
        return np.asarray(np.ldexp(data, -np.frexp(largest.max())[1]))
    msg = f"X[{int(largest.argmin())}] is 0 in all features and has no direction for the cosine"
    check(largest.all(), msg)
    data = np.ldexp(data, -np.frexp(largest)[1])
    return np.asarray(data / np.sqrt((data * data).sum(axis=1))[:, None])
