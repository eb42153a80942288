"""`Surface`, the result of `surface`: scores for all numbers of neighbors and training sizes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...._base.formatting import Result, data_frame, plain
from ...._base.typing import Array
from ...._base.validation import check_bool, check_choice, fixed_seed
from ...luck.inference import Described, InferenceWarning
from ._half_surface_methods import HalvedSurface

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


CHOICES = ("best", "one-standard-error")


class _Pair(NamedTuple):
    n_neighbors: Any
    score: Any


class Best(Described, _Pair):
    """The best number of neighbors and its score, a pair; arrays of shape (n_sizes,) for all sizes.

    `regret` bounds by how much another number may be better. It is close to 0 unless the neighbor lists
    were too short.
    """

    regret: Any


@dataclass(frozen=True, eq=False, repr=False)
class Surface(Result, HalvedSurface):
    """Exact mean scores for every number of neighbors and every training size.

    Attributes
    ----------
    scores : ndarray of shape (n_K, n_sizes)
        The mean score over all training sets of the size, or the expected loss.
    error_bound : ndarray of shape (n_K, n_sizes)
        Certified bound of ``|scores - exact value|``, cell by cell; infinite if ``certified`` is False.
    n_neighbors : int ndarray of shape (n_K,)
        K of the rows; R for "rank", 1 for "nn".
    train_sizes : int ndarray of shape (n_sizes,)
        Number of training samples of the columns.
    is_loss : bool
        Whether the scores are losses, of which the smallest is best.
    variant, ties, average : str
        The arguments, as text.
    stratified : bool
        Whether the training sets hold a fixed number, or the same fraction, of every class.
    parameters : dict
        The variant's other parameters.
    seconds : float
        Wall time.
    certified : bool
        False if the neighbors are approximate.
    truncation_bound : ndarray of shape (n_K, n_sizes)
        ``error_bound`` under the assumption that the listed neighbors are correct.
    measure : str
        The name of the score: "accuracy", "balanced accuracy", "expected loss", …
    std_error : ndarray of shape (n_K, n_sizes), or None
        For a `scoring`, whose cells are means over random training sets: their standard errors. They are
        the luck of these draws. The scores then have no bound; `truncation_bound` is this, for `best`. None
        if the scores are exact.
    per_class : tuple of length n_sizes, or None
        For each column the number of training samples of every class, or a mapping of label to number; None
        if no numbers of every class were given.
    symbol : str
        What `n_neighbors` is called: "K", or "R" for a parameter `rank`.

    Examples
    --------
    >>> from knnccv import surface
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = surface(wine.X, wine.y, n_neighbors=[1, 5], train_sizes=[40, 80])
    >>> found.scores.round(3).tolist()
    [[0.683, 0.709], [0.684, 0.691]]
    """

    _json = (
        "variant parameters ties average measure is_loss n_neighbors train_sizes scores is_exact "
        "error_bound std_error seconds"
    )

    scores: Array
    error_bound: Array
    n_neighbors: Array
    train_sizes: Array
    truncation_bound: Array
    is_loss: bool = False
    variant: str = "knn"
    stratified: bool = False
    ties: str = "index"
    average: Any = "pooled"
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    certified: bool = True
    measure: str = ""
    per_class: tuple[Any, ...] | None = None
    std_error: Array | None = None
    symbol: str = "K"
    _evaluation: Any = None

    @property
    def is_exact(self) -> bool:
        """Whether the scores are exact, up to `error_bound`."""
        return self.std_error is None

    def best(
        self,
        train_size: int | Mapping[Any, int] | None = None,
        choose: str = "best",
        *,
        n_halvings: int = 200,
        groups: Any = None,
        random_state: Any = 0,
    ) -> Best:
        """Return the number of neighbors with the best score, the smallest if scores tie within the bounds.

        Parameters
        ----------
        train_size : int or mapping, optional
            One of `train_sizes`, or of `per_class`. Default: all of them.
        choose : {"best", "one-standard-error"}, default "best"
            "one-standard-error": the largest K, which is the smoothest and so the simplest rule, whose
            score is within one standard error of the best one. It is the standard error of their
            difference (`difference_to_best`), to which the truncation bounds of both are added. Only K with
            a standard error can be chosen: where the best K has none, the best of the others stands for it.
            Not for R of "rank" and not for "nn".
        n_halvings, groups, random_state
            As for `standard_error`; for "one-standard-error".

        Returns
        -------
        Best
            ``n_neighbors``, ``score`` and ``regret``: numbers, or arrays of shape (n_sizes,).

        Raises
        ------
        ValueError
            If no column or more than one column has this size, or `choose` is not as above; for
            "one-standard-error" as `standard_error`, and if no K of a column has a standard error.

        Warns
        -----
        InferenceWarning
            As `standard_error`, for "one-standard-error"; if the best K has no standard error.

        Notes
        -----
        The rule of one standard error is that of L. Breiman, J. Friedman, R. Olshen & C. Stone,
        "Classification and Regression Trees", 1984, section 3.4.3. They take the standard error of the best
        score; that of the difference is smaller, and leaves fewer K.
        """
        check_choice("choose", choose, CHOICES)
        at = None if train_size is None else self._column(train_size)
        row = self._best_rows()
        if choose == "one-standard-error":
            if self._told[2] != "n_neighbors":
                msg = (
                    "choose='one-standard-error' takes the largest K as the simplest rule; variant "
                    f"{self.variant!r} has no K to choose: choose='best' is allowed"
                )
                raise ValueError(msg)
            halves = self._halves_with_warnings(n_halvings, groups, random_state)
            near = self._near(halves, 1.0, at)[0] & halves.known
            asked = np.arange(len(row)) if at is None else np.array([at])
            none = self.train_sizes[asked[~near[:, asked].any(axis=0)]].tolist()
            if none:
                msg = (
                    "choose='one-standard-error' needs a K with a standard error, but at training size "
                    f"{', '.join(map(str, none))} no K has one: choose='best' is allowed"
                )
                raise ValueError(msg)
            row = np.where(near, self.n_neighbors[:, None], -1).argmax(axis=0)
        gains = -self.scores if self.is_loss else self.scores
        columns = np.arange(self.scores.shape[1])
        score, best = self.scores[row, columns], self.n_neighbors[row]
        lowest = (gains - self.truncation_bound)[row, columns]
        regret = (gains + self.truncation_bound).max(axis=0) - lowest
        if at is None:
            return Best(best, score, regret=regret)
        return Best(int(best[at]), float(score[at]), regret=float(regret[at]))

    def _column(self, train_size: Any) -> int:
        """The column of a training size, or of a number of samples of every class."""
        each = self.per_class or [None] * len(self.train_sizes)
        found = [
            at
            for at, (total, one) in enumerate(zip(self.train_sizes, each, strict=True))
            if (one is not None and one == train_size)
            or (not isinstance(train_size, Mapping) and total == train_size)
        ]
        if len(found) > 1 and self.per_class:
            msg = (
                f"train_size={train_size!r} fits several columns; take one of per_class: "
                f"{', '.join(str(each[at]) for at in found)}"
            )
            raise ValueError(msg)
        if not found:
            known = ", ".join(map(str, self.train_sizes))
            known += f"; of every class {', '.join(map(str, self.per_class))}" if self.per_class else ""
            msg = f"train_size must be one of the given training sizes ({known}), got {train_size!r}"
            raise ValueError(msg)
        return found[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the scores in types that JSON has: a row for each of n_neighbors, a column for each size.

        Numbers that are not finite are None, whole numbers beyond 2**53 and fractions are text.
        """
        best = self.best()
        columns = zip(*map(plain, (self.train_sizes, best.n_neighbors, best.score)), strict=True)
        rows = [{"train_size": n, "n_neighbors": k, "score": score} for n, k, score in columns]
        return {**super().to_dict(), "best": rows}

    def to_frame(
        self,
        interval: bool = False,
        confidence_level: float = 0.95,
        *,
        n_halvings: int = 200,
        groups: Any = None,
        random_state: Any = 0,
    ) -> pd.DataFrame:
        """Return one row per cell: n_neighbors, train_size, score and error_bound, as a pandas DataFrame.

        If numbers of every class were given, there is a column ``per_class``.

        Parameters
        ----------
        interval : bool, default False
            Add the columns standard_error, low, high and not_worse: the luck of the data, see
            `standard_error`, `confidence_interval` and `not_worse`.
        confidence_level, n_halvings, groups, random_state
            As for `confidence_interval`.

        Raises
        ------
        ImportError
            If pandas is missing.
        ValueError, TypeError
            As `confidence_interval`, with `interval`.

        Warns
        -----
        InferenceWarning
            As `standard_error`, with `interval`.
        """
        n_rows, n_columns = self.scores.shape
        columns = {
            "n_neighbors": np.repeat(self.n_neighbors, n_columns),
            "train_size": np.tile(self.train_sizes, n_rows),
            "score": self.scores.ravel(),
            "error_bound": self.error_bound.ravel(),
        }
        if self.std_error is not None:
            columns["std_error"] = self.std_error.ravel()
        if check_bool("interval", interval):
            how = {"n_halvings": n_halvings, "groups": groups, "random_state": fixed_seed(random_state)}
            low, high = self.confidence_interval(confidence_level, **how)
            with warnings.catch_warnings(action="ignore", category=InferenceWarning):  # given above
                columns["standard_error"] = self.standard_error(**how).ravel()
                columns["low"], columns["high"] = low.ravel(), high.ravel()
                columns["not_worse"] = self.not_worse(confidence_level, **how).ravel()
        if self.per_class is not None:
            columns["per_class"] = list(self.per_class) * n_rows
        return data_frame(columns)

    def plot(self, x: str = "train_size", ax: Axes | None = None, **kwargs: Any) -> Axes:
        """Draw learning curves or validation curves, see `knnccv.plot`.

        Parameters
        ----------
        x : {"train_size", "n_neighbors"}, default "train_size"
            The horizontal axis: the training size, with a line per number of neighbors (learning curves),
            or the number of neighbors, with a line per training size (validation curves).
        ax : matplotlib Axes, optional
            The axes to draw on. Default: a new figure.
        **kwargs
            Passed to `knnccv.plot.learning_curve` or `knnccv.plot.validation_curve`: ``interval=0.95``
            draws bands for the luck of the data, and marks the K that are not worse than the best. Others
            are passed to ``Axes.plot``.

        Returns
        -------
        Axes
            The figure is not shown.

        Raises
        ------
        ValueError
            If `x` has another value.
        ImportError
            If matplotlib is missing.
        """
        from .... import plot

        if x == "train_size":
            return plot.learning_curve(self, ax=ax, **kwargs)
        if x == "n_neighbors":
            return plot.validation_curve(self, ax=ax, **kwargs)
        msg = f"x must be 'train_size' or 'n_neighbors', got {x!r}"
        raise ValueError(msg)
