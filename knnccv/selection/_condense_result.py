"""The results of prototype selection: `Condensed`, and `CondensedCV` for the whole procedure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._formatting import _listed
from .._typing import Array
from .._validation import check_integer
from ..runs import RandomRuns


@dataclass(frozen=True, eq=False, repr=False)
class Condensed:
    """Prototypes that `condense` has kept, and the path of the search.

    Attributes
    ----------
    sample_indices : int64 ndarray of shape (n_prototypes,)
        The prototypes, in the order of the samples.
    score : float
        The inner score, of the prototypes as pool. It is optimistic, because the prototypes were chosen for
        it on the same samples; `condensed_cv` estimates the score of new samples.
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
    average: str = "item"
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

    def __repr__(self) -> str:
        return (
            f"<Condensed to {len(self.sample_indices)} of {self.n_items} samples (reduction "
            f"{100 * self.reduction:.1f} %): {self.variant}{_listed(self.parameters)}, {self.measure} of "
            f"{self.design} {self.score:.6g}, of all samples {self.score_of_all:.6g}. This inner score is "
            "optimistic; condensed_cv estimates that of new samples>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class CondensedCV(RandomRuns):
    """Scores of random runs in which every training set was condensed.

    Attributes
    ----------
    scores : ndarray of shape (n_repeats,)
        The score of every run: the mean over its tested samples, which the prototypes of the training set
        classify.
    score : float
        Their mean, an honest estimate for the whole procedure.
    std : float
        Their standard deviation (n_repeats - 1 in the denominator); NaN for a single run.
    standard_error : float
        ``std / sqrt(n_repeats)``, the standard error of the mean. It measures the randomness of the splits,
        not that of the samples.
    scores_of_all : ndarray of shape (n_repeats,)
        The scores of the same runs with all samples of the training sets.
    inner_scores : ndarray of shape (n_repeats,)
        The mean inner score of each run, `Condensed.score`, which is optimistic.
    reductions : ndarray of shape (n_repeats,)
        The mean share of the training samples that was removed, for each run.

    Examples
    --------
    >>> from knnccv.selection import condensed_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = condensed_cv(wine.X, wine.y, outer=2, n_repeats=1, random_state=0)
    >>> found.inner_score > found.score
    True
    """

    scores_of_all: Array
    inner_scores: Array
    reductions: Array
    variant: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    design: str = ""
    outer: str = ""
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
    def difference_error(self) -> float:
        """Standard error of `difference`, over the runs; NaN for a single one."""
        each = self.scores - self.scores_of_all
        return float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")

    def __repr__(self) -> str:
        return (
            f"<CondensedCV {self.score:.6g}{self._spread()}: {self.variant}{_listed(self.parameters)}, "
            f"{self.measure} of the prototypes of {len(self.scores)} random "
            f"run{'s' if len(self.scores) > 1 else ''} of {self.outer}, {100 * self.reduction:.1f} % of "
            f"the samples removed; with all samples {self.score_of_all:.6g}; inner score "
            f"{self.inner_score:.6g}, optimistic>"
        )
