"""The results of `expected_episodes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.formatting import data_frame
from .._base.typing import Array
from .._core.luck.inference import Jackknifed
from ._episodes import Episodes

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
        if not isinstance(other, EpisodeScore):
            msg = f"other must be an EpisodeScore, got {other!r}"
            raise TypeError(msg)
        if self.n_neighbors != other.n_neighbors:
            msg = f"the scores are of different rules: {self.rule} and {other.rule}"
            raise ValueError(msg)
        if self.episodes != other.episodes:
            msg = f"the scores are means over different episodes: {self.episodes} and {other.episodes}"
            raise ValueError(msg)
        same = np.array_equal(self.classes, other.classes) and np.array_equal(self.labels, other.labels)
        if not same:
            msg = "the scores are of samples with different labels; a paired difference needs the same y"
            raise ValueError(msg)
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
