"""The result of a search: an inner score, which is optimistic, and on request an honest one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._typing import Array
from ..montecarlo import RandomRuns

N_REPEATS = 10
"""Random runs of an honest score."""


@dataclass(eq=False, repr=False)
class Searched:
    """The scores of a search for columns or weights, base class of its results.

    Attributes
    ----------
    inner_score : float
        The exact score of the final choice on the samples of the search. It is **optimistic**: the choice
        was made for this score. Report `honest_score`.
    nested : RandomRuns or None
        The runs of the honest score; None until `honest` has computed them.
    measure, metric, design, average
        The name of the score, and the arguments.
    n_scored : int
        The number of choices that were scored.
    seconds : float
        Wall time of the search.
    """

    inner_score: float
    measure: str
    metric: str
    design: str
    average: Any
    n_scored: int
    seconds: float
    nested: RandomRuns | None
    _runs: Callable[..., RandomRuns]

    def honest(
        self,
        cv: Any = None,
        *,
        n_repeats: int = N_REPEATS,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> RandomRuns:
        """Estimate the score of the whole procedure: the search is repeated within every training set.

        The tested samples never take part in the choice. Every training set of every run costs a whole
        search.

        Parameters
        ----------
        cv : int or design, optional
            The design of the outer runs. Default: that of the search.
        n_repeats : int, default 10
            Random runs.
        random_state : int, numpy Generator or None, default 0
            Seed of the splits.
        n_jobs : int, optional
            Threads. The result does not depend on it.
        progress : bool, default False
            Show a progress bar (needs tqdm) of the training sets.

        Returns
        -------
        ScreenedCV, or MonteCarloCV for regression
            Also kept as `nested`, from which `honest_score` and `honest_standard_error` are taken.

        Raises
        ------
        ValueError, TypeError
            If an argument is not allowed, a training set is too small for the search, or the rule has no
            such runs (they exist for the accuracy of "nn" and "knn", and the error of "regression").
        """
        self.nested = self._runs(cv, n_repeats, random_state, n_jobs, progress)
        return self.nested

    @property
    def honest_score(self) -> float | None:
        """The mean score of the whole procedure on samples that it did not see; None until computed."""
        return None if self.nested is None else self.nested.score

    @property
    def honest_standard_error(self) -> float | None:
        """The standard error of `honest_score`: the randomness of the splits, not that of the samples."""
        return None if self.nested is None else self.nested.standard_error

    def _scores_in_words(self) -> str:
        honest = "not computed: call honest()"
        if self.nested is not None:
            error = f" ± {self.nested.standard_error:.2g}" if len(self.nested.scores) > 1 else " (one run)"
            honest = f"{self.nested.score:.6g}{error}"
        return (
            f"inner {self.measure} {self.inner_score:.6g} (OPTIMISTIC, the choice was made for it), "
            f"honest {self.measure} {honest}"
        )


@dataclass(eq=False, repr=False)
class FeatureSelection(Searched):
    """Columns that a sequential search chose by the exact score.

    Attributes
    ----------
    columns : int64 ndarray of shape (n_chosen,)
        The chosen columns: in the order in which they were added (forward), or ascending (backward).
    order : int64 ndarray of shape (n_steps,)
        The column that every step added or removed.
    scores : float64 ndarray of shape (n_steps,)
        The exact inner score after every step.
    start_score : float or None
        The score of all columns, from which a backward search starts; None for a forward search.
    direction : str
        "forward" or "backward".
    n_features : int
        The number of columns of X.
    inner_score : float
        The exact score of `columns` on the samples of the search. It is **optimistic**: the columns were
        chosen for this score. Report `honest_score`.
    nested : RandomRuns or None
        The runs of the honest score; None until `honest` has computed them.
    honest_score, honest_standard_error : float or None
        Mean and standard error of these runs.
    measure, metric, design, average
        The name of the score, and the arguments.
    n_scored : int
        The number of sets of columns that were scored.
    seconds : float
        Wall time of the search.
    """

    columns: Array
    order: Array
    scores: Array
    start_score: float | None
    direction: str
    n_features: int

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.columns[:10])) + (", …" if len(self.columns) > 10 else "")
        return (
            f"<FeatureSelection of {len(self.columns)} of {self.n_features} columns, {self.direction} "
            f"({shown}): {self._scores_in_words()}>"
        )


@dataclass(eq=False, repr=False)
class WeightSearch(Searched):
    """Weights of columns that a coordinate search chose by the exact score.

    Attributes
    ----------
    weights : float64 ndarray of shape (n_features,)
        The factor of every column.
    scores : float64 ndarray of shape (n_changes,)
        The exact inner score after every change of a weight.
    start_score : float
        The exact score with all weights 1.
    n_cycles : int
        Passes over all columns, including the last one, which changed nothing.
    converged : bool
        Whether the last pass changed nothing; False if `max_cycles` ended the search.
    inner_score, nested, honest_score, honest_standard_error, measure, metric, design, average, n_scored, \
seconds
        As in `FeatureSelection`.
    """

    weights: Array
    scores: Array
    start_score: float
    n_cycles: int
    converged: bool

    def __repr__(self) -> str:
        used = int((self.weights > 0).sum())
        end = "" if self.converged else ", not converged"
        return (
            f"<WeightSearch of {len(self.weights)} columns, {used} with a positive weight, "
            f"{self.n_cycles} cycles{end}: {self._scores_in_words()}>"
        )
