"""`expected_episodes`, the exact mean accuracy over all episodes, and its results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.formatting import bound_text, data_frame
from .._base.labels import encode_labels
from .._base.parallel import check_pool, one_bar
from .._base.typing import Array
from .._base.validation import check, check_integer, check_tol
from .._core.driver import TIES
from .._core.luck.inference import Jackknifed
from ..neighbors import as_neighbors, warn_label_leakage
from ._episodes import Episodes, given_episodes
from ._passes import Problem, all_votes, binomials, choose_all_ways, nearest_supports, too_short

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class EpisodeScore(Jackknifed):
    """The exact mean accuracy over all episodes of the given classes and samples.

    Attributes
    ----------
    score : float
        The mean accuracy over all episodes.
    per_item : ndarray of shape (n_items,)
        The expected accuracy of every sample as a query.
    weights : ndarray of shape (n_items,)
        ``1 / (n_classes * class size)``; they sum to 1, and ``score`` is the weighted sum of ``per_item``.
    table : ndarray of shape (n_shots, n_ways)
        The score of every number of shots in ``episodes.shots`` and every number of ways in ``ways``.
    ways : dict of int to float
        The score of every number of ways from 2 to the number of classes, as a mean over the shots; with
        ``all_ways=False`` up to the largest of the episodes.
    error_bound : float
        Bound of ``|score - exact value|``, and of all values in ``table``: rounding, to first order. With
        lists of the nearest samples the scores are lower bounds, and the others add at most this.
    n_tied : int
        Number of samples for which an own sample is tied with a sample of another class; of votes, two
        samples of any different classes.
    score_without : ndarray of shape (n_classes,), or None
        With ``jackknife="class"``: the score without each class, for `standard_error`: that of the score as
        an estimate for other classes of the same kind, with other samples. Its square is on average not
        less than the variance of the score, if the classes are independent draws.
    episodes : Episodes
        What is drawn.
    n_neighbors : int
        The number of nearest supports that vote.
    ties : str
        "random" or "index".
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    labels : ndarray of shape (n_items,)
        The class of every sample, as its place in ``classes``.
    metric : str
        The metric.
    seconds : float
        Wall time.

    Examples
    --------
    >>> from knnccv.episodes import Episodes, expected_episodes
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = expected_episodes(wine.X, wine.y, Episodes(n_way=3, n_shot=1))
    >>> round(found.score, 4), len(found.ways)
    (0.6243, 2)
    """

    _json = (
        "score standard_error error_bound episodes n_neighbors metric ties n_tied per_class ways seconds"
    )
    _unit, _target = "class", "accuracy of episodes of other classes"

    score: float
    per_item: Array
    weights: Array
    table: Array
    ways: dict[int, float]
    error_bound: float
    n_tied: int
    score_without: Array | None
    episodes: Episodes
    n_neighbors: int
    ties: str
    classes: Array
    labels: Array
    metric: str
    seconds: float = 0.0
    certified: bool = True

    @property
    def per_class(self) -> dict[Any, float]:
        """The mean accuracy of the queries of every class, by label."""
        means = class_means(self.per_item, self.labels, len(self.classes))
        return dict(zip(self.classes.tolist(), means.tolist(), strict=True))

    @property
    def accuracy_table(self) -> dict[tuple[int, int], float]:
        """The score of every (n_way, n_shot); of shots by class, n_shot is the largest."""
        shots = self.episodes.shots
        return {
            (way, shot): float(self.table[s, w])
            for s, shot in enumerate(shots)
            for w, way in enumerate(self.ways)
        }

    @property
    def rule(self) -> str:
        """The rule in words."""
        return (
            "nearest support" if self.n_neighbors == 1 else f"vote of {self.n_neighbors} nearest supports"
        )

    def to_frame(self) -> pd.DataFrame:
        """The scores as a DataFrame: columns ``n_way``, ``n_shot``, ``score``.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        ways, shots = np.array(list(self.accuracy_table)).T
        scores = np.array(list(self.accuracy_table.values()))
        return data_frame({"n_way": ways, "n_shot": shots, "score": scores})

    def difference(self, other: EpisodeScore) -> EpisodeDifference:
        """The paired difference to another score: the same samples and episodes, another embedding.

        Parameters
        ----------
        other : EpisodeScore
            Of the same labels and episodes.

        Returns
        -------
        EpisodeDifference

        Raises
        ------
        TypeError, ValueError
            If it is no `EpisodeScore`, or its labels or episodes are others.
        """
        check(isinstance(other, EpisodeScore), "other must be an EpisodeScore", other, TypeError)
        msg = f"the scores are of different rules: {self.rule} and {other.rule}"
        check(self.n_neighbors == other.n_neighbors, msg)
        msg = f"the scores are means over different episodes: {self.episodes} and {other.episodes}"
        check(self.episodes == other.episodes, msg)
        same = np.array_equal(self.classes, other.classes) and np.array_equal(self.labels, other.labels)
        check(same, "the scores are of samples with different labels; a paired difference needs the same y")
        without = None
        if self.score_without is not None and other.score_without is not None:
            without = self.score_without - other.score_without
        return EpisodeDifference(
            difference=self.score - other.score,
            per_item=self.per_item - other.per_item,
            per_class={c: value - other.per_class[c] for c, value in self.per_class.items()},
            difference_without=without,
            error_bound=self.error_bound + other.error_bound,
        )


@dataclass(frozen=True, eq=False, repr=False)
class EpisodeDifference(Jackknifed):
    """The paired difference of two exact scores of the same samples.

    Attributes
    ----------
    difference : float
        The first score minus the second; exact, up to ``error_bound``.
    per_item : ndarray of shape (n_items,)
        The difference for every query.
    per_class : dict
        The difference for every class.
    difference_without : ndarray of shape (n_classes,), or None
        The difference without each class, for `standard_error`; None unless both scores have
        ``jackknife="class"``.
    error_bound : float
        Bound of the rounding of ``difference``.

    Examples
    --------
    >>> from knnccv.episodes import Episodes, expected_episodes
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> scaled = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    >>> raw, other = (expected_episodes(X, wine.y, Episodes(3, 1)) for X in (wine.X, scaled))
    >>> round(other.difference(raw).difference, 3)
    0.21
    """

    _json = "difference standard_error error_bound per_class"
    _value = "difference"
    _unit, _target = "class", "difference of accuracies in episodes of other classes"

    difference: float
    per_item: Array
    per_class: dict[Any, float]
    difference_without: Array | None
    error_bound: float


def class_means(per_item: Array, codes: Array, n_classes: int) -> Array:
    """The mean of the samples of every class, as float64 (n_classes,) or (n_classes, n_columns)."""
    return np.array([per_item[codes == c].mean(axis=0) for c in range(n_classes)])


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
    check(isinstance(ties, str) and ties in TIES, "ties must be 'random' or 'index'", ties)
    check_tol(tol)
    must = "jackknife must be None or 'class'"
    check(jackknife is None or (isinstance(jackknife, str) and jackknife == "class"), must, jackknife)
    check_pool(n_jobs, None, progress)
    neighbors = as_neighbors(X, metric, metric_params)
    labels = encode_labels(y, neighbors.n_items)
    episodes.check(labels)
    n_classes = len(labels.classes)
    msg = (
        f"jackknife='class' needs more classes than ways: {n_classes} classes, n_way={n_classes}; "
        "without one of them no episode can be drawn"
    )
    check(not jackknife or episodes.ways[-1] != n_classes, msg)
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
        check(bound <= tol, f"tol={tol:g} is below {why}, {bound_text(bound)}")
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
    return np.asarray(means.sum(axis=0) / (n_classes - 1))
