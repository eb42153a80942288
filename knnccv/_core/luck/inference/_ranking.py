"""`compare_all`: all pairs of several results, with Holm's correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...._base.formatting import Result, data_frame
from ...._base.typing import Array
from ._comparison import (
    Comparison,
    comparable_terms,
    comparison_of,
    halves_of_all,
    on_same_runs,
    warn_of_halves,
)
from ._interval import check_level
from ._kept_halves import ScoredHalves

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Result):
    """All pairwise comparisons of several results.

    Attributes
    ----------
    names : tuple of str
        The results, the best first.
    scores : ndarray of shape (n,)
        Their scores.
    differences, standard_errors, pvalues : ndarray of shape (n, n)
        For each pair: row minus column, its standard error, and the two-sided p-value without correction.
    adjusted : ndarray of shape (n, n)
        The p-values after Holm's correction for all n (n - 1) / 2 pairs; 1 on the diagonal.
    measure : str
        The name of the scores.
    is_loss : bool
        Whether smaller scores are better.
    pairs : dict
        The `Comparison` of each pair of names, in the order of `names`.

    Examples
    --------
    >>> from knnccv import compare_all, complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> results = {str(k): complete_cv(wine.X, wine.y, "knn", n_neighbors=k) for k in (1, 5, 9)}
    >>> found = compare_all(results, n_halvings=50, random_state=0)
    >>> len(found.names)
    3
    """

    _json = "measure names scores not_worse differences standard_errors pvalues adjusted"

    names: tuple[str, ...]
    scores: Array
    differences: Array
    standard_errors: Array
    pvalues: Array
    adjusted: Array
    measure: str
    is_loss: bool
    pairs: dict[tuple[str, str], Comparison]

    def not_worse(self, confidence_level: float = 0.95) -> tuple[str, ...]:
        """The results that are not significantly worse than the best, by the corrected p-values.

        The best was chosen by the same data. A p-value of NaN counts as not significant.
        """
        level = check_level(confidence_level)
        kept = ~(self.adjusted[0] <= 1 - level)
        return tuple(name for name, keep in zip(self.names, kept, strict=True) if keep)

    def cliques(self, confidence_level: float = 0.95) -> list[tuple[str, ...]]:
        """The largest runs of results, in order of their scores, of which no two differ significantly."""
        level = check_level(confidence_level)
        alike = ~(self.adjusted <= 1 - level)
        found: list[tuple[int, int]] = []
        for start in range(len(self.names)):
            end = start + 1
            while end < len(self.names) and alike[start : end + 1, start : end + 1].all():
                end += 1
            if end - start > 1 and not (found and end <= found[-1][1]):
                found.append((start, end))
        return [self.names[start:end] for start, end in found]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: first, second, difference, standard_error, pvalue, adjusted.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        first, second = np.triu_indices(len(self.names), 1)
        names = np.array(self.names, dtype=object)
        return data_frame(
            {
                "first": names[first],
                "second": names[second],
                "difference": self.differences[first, second],
                "standard_error": self.standard_errors[first, second],
                "pvalue": self.pvalues[first, second],
                "adjusted": self.adjusted[first, second],
            }
        )

    def plot(self, ax: Axes | None = None, confidence_level: float = 0.95) -> Axes:
        """Draw the scores on a line, with bars over those that do not differ significantly.

        See `knnccv.plot.critical_difference`.
        """
        from .... import plot

        return plot.critical_difference(self, ax=ax, confidence_level=confidence_level)


def compare_all(
    results: Sequence[ScoredHalves] | Mapping[str, ScoredHalves],
    *,
    names: Sequence[str] | None = None,
    n_halvings: int | None = None,
    groups: Any = None,
    random_state: Any = 0,
) -> Comparisons:
    """Compare all pairs of results on the same halves, with Holm's correction of the p-values.

    Parameters
    ----------
    results : sequence of results, or mapping of name to result
        At least two results that `compare` could compare.
    names : sequence of str, optional
        Names of the results of a sequence. Default: the rules and their parameters.
    n_halvings, groups, random_state
        As for `CompleteCV.standard_error`.

    Returns
    -------
    Comparisons

    Raises
    ------
    ValueError, TypeError
        As `compare`; if there are fewer than two results, or names are not distinct.

    Warns
    -----
    InferenceWarning
        As `CompleteCV.standard_error`.

    Notes
    -----
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics
    6, 1979.

    Examples
    --------
    >>> from knnccv import KFold, compare_all, complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> rules = {f"K={k}": complete_cv(wine.X, wine.y, cv=KFold(5), n_neighbors=k) for k in (1, 5, 15)}
    >>> compare_all(rules).names
    ('K=1', 'K=15', 'K=5')
    """
    if isinstance(results, Mapping):
        if names is not None:
            msg = "names are the keys of a mapping of results; leave names out"
            raise ValueError(msg)
        given, names = list(results.values()), list(results)
    else:
        if not isinstance(results, Sequence) or isinstance(results, str):
            msg = (
                f"compare_all takes a sequence of results, or a mapping of name to result, got {results!r}"
            )
            raise TypeError(msg)
        if isinstance(names, str):
            msg = f"names must be a sequence of names, got the string {names!r}"
            raise TypeError(msg)
        given = list(results)
    if len(given) < 2:
        msg = f"compare_all needs at least two results, got {len(given)}"
        raise ValueError(msg)
    given = on_same_runs(given, "compare_all")
    terms = comparable_terms(given)
    names = _distinct([each.rule for each in terms] if names is None else list(names), len(given))
    halves = halves_of_all(given, n_halvings, groups, random_state)
    scores = np.array([result.score for result in given])
    order = np.argsort(scores if terms[0].is_loss else -scores, kind="stable")
    n = len(given)
    differences, errors, pvalues = np.zeros((n, n)), np.zeros((n, n)), np.ones((n, n))
    pairs = {}
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        a, b = order[i], order[j]
        found = comparison_of((given[a], given[b]), (terms[a], terms[b]), (halves[a], halves[b]))
        pairs[names[a], names[b]] = found
        differences[i, j], differences[j, i] = found.difference, -found.difference
        errors[i, j] = errors[j, i] = found.standard_error()
        pvalues[i, j] = pvalues[j, i] = found.pvalue
    warn_of_halves(halves, pairs.values())
    return Comparisons(
        tuple(names[at] for at in order),
        scores[order],
        differences,
        errors,
        pvalues,
        _holm(pvalues),
        given[0].measure,
        bool(terms[0].is_loss),
        pairs,
    )


def _distinct(names: Sequence[str], number: int) -> Sequence[str]:
    if not all(isinstance(name, str) for name in names):
        msg = f"names of results must be strings, got {list(names)!r}"
        raise TypeError(msg)
    if len(names) != number:
        msg = f"names must have one name for each of the {number} results, got {len(names)}"
        raise ValueError(msg)
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        msg = f"names must be distinct, got {', '.join(map(repr, twice))} more than once; give names="
        raise ValueError(msg)
    return names


def _holm(pvalues: Array) -> Array:
    """Holm's adjusted p-values of all pairs; NaN, which counts as the largest, stays NaN."""
    upper = np.triu_indices(len(pvalues), 1)
    found = pvalues[upper]
    known = np.where(np.isnan(found), 1.0, found)
    order = np.argsort(known, kind="stable")
    factors = np.arange(len(known), 0, -1)
    adjusted = np.empty_like(known)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * known[order]))
    matrix = np.ones_like(pvalues)
    matrix[upper] = np.where(np.isnan(found), np.nan, adjusted)
    matrix.T[upper] = matrix[upper]
    return matrix
