"""Results of `expected_retrieval`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.formatting import Result, data_frame, plain
from .._base.typing import Array
from .._base.validation import check, check_integer
from .._core.luck.inference import ConfidenceInterval, Jackknifed
from ._draw import IdentityGroups
from ._gallery import Draws

if TYPE_CHECKING:
    import pandas as pd

SHOWN_RANKS = (1, 5, 10, 20)
SAME = (
    ("protocol", "protocols"),
    ("gallery", "draws"),
    ("mask", "masks"),
    ("rank", "kinds of ranks"),
    ("ap", "conventions of the average precision"),
    ("ties", "treatments of ties"),
    ("average", "averages"),
)
ARRAYS = ("identities of the queries", "gallery identities", "strata", "right items of the queries")


class OfOtherIdentities(Jackknifed):
    """A result with an interval of the jackknife over identities."""

    _unit = "identity"
    name: str

    def confidence_interval(self, confidence_level: float = 0.95, *, rank: int = 1) -> ConfidenceInterval:
        """Student's interval for other identities of the same kind, of the jackknife over identities.

        Parameters
        ----------
        confidence_level : float, default 0.95
            In (0, 1).
        rank : int, default 1
            The rank of a CMC curve.

        Raises
        ------
        ValueError, TypeError
            If there is no ``jackknife="identity"``, the level is not in (0, 1), or there is no such rank.
        """
        value = getattr(self, self._value)
        at = check_integer("rank", rank, 1, np.size(value), "the length of the CMC") - 1
        target = f"{self.name}{f' at rank {rank}' * (np.ndim(value) > 0)} with other identities"
        return self._interval(confidence_level, at, target)


@dataclass(frozen=True, eq=False, repr=False)
class RetrievalScore(OfOtherIdentities):
    """One expected score. ``float(s)`` is the score.

    Attributes
    ----------
    name : str
        As in the argument `scores`.
    score : float, or ndarray of shape (max_rank,) for "cmc"
        The weighted mean over the queries.
    per_item : ndarray of shape (n_queries,), or (n_queries, max_rank) for "cmc"
        The expected score of every query; NaN for queries that are left out.
    weights : ndarray of shape (n_queries,)
        The weights of the queries; they sum to 1, and are 0 for queries that are left out.
    error_bound : float
        Bound of ``|score - exact value|``: the certified error of the quadrature, terms that were left out
        because they are negligible, and rounding. For lists of the nearest it contains what right items
        that are not listed may add; `score` is then the smallest value. For "cmc" that of the worst rank.
    n_tied : int
        Number of queries for which a wrong item is at the distance of a right one, so that `ties` matters.
    certified : bool
        False if nearer items may be missing from approximate lists, so that the error has no bound.
    score_without : ndarray of shape (n_groups,), or (n_groups, max_rank) for "cmc", or None
        With ``jackknife="identity"``: the score without each group of identities, exact up to `tol` and
        rounding.
    groups : IdentityGroups or None
        These groups, for `standard_error`: that of the score as an estimate for other identities of the
        same kind, as many of them and seen by the same cameras.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import Gallery, expected_retrieval
    >>> ids = np.arange(12) // 3
    >>> distances = np.abs(np.arange(12)[:, None] - np.arange(12)) % 7 + 0.5 * (ids[:, None] != ids)
    >>> found = expected_retrieval(distances, ids, ids, Gallery(per_identity=1), exclude="self")
    >>> found["ap"].per_item.shape
    (12,)
    """

    _json = "name score error_bound standard_error n_tied certified"

    name: str
    score: Any
    per_item: Array
    weights: Array
    error_bound: float
    n_tied: int = 0
    certified: bool = True
    score_without: Array | None = None
    groups: IdentityGroups | None = None

    @property
    def measure(self) -> str:
        """The name of the score, as in `CompleteCV.measure`."""
        return self.name


@dataclass(frozen=True, eq=False, repr=False)
class RetrievalDifference(OfOtherIdentities):
    """The paired difference of one score between two embeddings: same queries, same galleries.

    Attributes
    ----------
    name : str
        The score.
    difference : float, or ndarray of shape (max_rank,) for "cmc"
        The first score minus the second; exact, up to `error_bound`: no luck of the draw is in it.
    per_item : ndarray of shape (n_queries,), or (n_queries, max_rank) for "cmc"
        The difference of every query; NaN for those that are left out.
    difference_without : ndarray of shape (n_groups,) or (n_groups, max_rank), or None
        The difference without each group.
    error_bound : float
        Bound of ``|difference - exact value|``: the sum of both bounds.
    groups : IdentityGroups or None
        What was left out of both scores for `standard_error`: how much the difference would change with
        other identities of the same kind. None unless both results have ``jackknife="identity"``.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import Gallery, expected_retrieval
    >>> ids = np.arange(12) // 3
    >>> distances = np.abs(np.arange(12)[:, None] - np.arange(12)) % 7 + 0.5 * (ids[:, None] != ids)
    >>> found = expected_retrieval(distances, ids, ids, Gallery(per_identity=1), exclude="self")
    >>> other = expected_retrieval(distances.T, ids, ids, Gallery(per_identity=1), exclude="self")
    >>> round(found.difference(other, "ap").difference, 3)
    0.0
    """

    _json = "name difference standard_error error_bound of"
    _value = "difference"

    name: str
    difference: Any
    per_item: Array
    difference_without: Array | None
    error_bound: float
    groups: IdentityGroups | None

    @property
    def of(self) -> str:
        """What was left out for the standard error, in words."""
        return "" if self.groups is None else repr(self.groups)


@dataclass(frozen=True, eq=False, repr=False)
class Retrieval(Result):
    """Expected retrieval scores; ``r["ap"]`` is the `RetrievalScore` of a name.

    Attributes
    ----------
    scores : dict of str to RetrievalScore
    valid : bool ndarray of shape (n_queries,)
        Whether the query has a right item; the others are left out.
    query_ids : ndarray of shape (n_queries,)
    protocol, gallery, mask : str
        What was evaluated, in words.
    rank : {"image", "identity"}
        What CMC and reciprocal rank count.
    ap : {"rectangle", "trapezoid"}
        The convention of the average precision.
    ties, average : str
        The arguments.
    n_tied : int
        Number of queries for which a wrong item is at the distance of a right one, so that `ties` matters.
    truncated : int
        Number of queries with right items that are not in their lists of the nearest; 0 without lists.
    per_query : bool
        Whether a gallery is drawn for every query, so that `cmc_std` is known.
    draws : Draws or None
        The strata, and what is drawn of them.
    paired_by : tuple of ndarray
        Gallery identities, strata, and the number of drawn right items of every query: what results must
        share in `difference`.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import Gallery, expected_retrieval
    >>> ids = np.arange(12) // 3
    >>> distances = np.abs(np.arange(12)[:, None] - np.arange(12)) % 7 + 0.5 * (ids[:, None] != ids)
    >>> found = expected_retrieval(distances, ids, ids, Gallery(per_identity=1), exclude="self")
    >>> 0 < found["ap"].score < 1, found.cmc.shape
    (True, (50,))
    """

    _json = "protocol gallery mask rank ap ties average n_tied n_galleries n_left_out scores"
    _shown = "protocol gallery mask rank ap ties average n_tied truncated n_left_out scores"

    scores: dict[str, RetrievalScore]
    valid: Array
    query_ids: Array
    protocol: str
    gallery: str
    mask: str
    rank: str
    ap: str
    ties: str
    average: str
    n_tied: int = 0
    per_query: bool = False
    draws: Draws | None = None
    truncated: int = 0
    paired_by: tuple[Array, ...] = ()

    def __getitem__(self, name: str) -> RetrievalScore:
        msg = f"no score {name!r}; this result has {', '.join(self.scores)}"
        check(name in self.scores, msg, error=KeyError)
        return self.scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    @property
    def cmc(self) -> Array:
        """The CMC curve, ranks 1 to max_rank; KeyError if it was not asked for."""
        return np.asarray(self["cmc"].score)

    @property
    def n_left_out(self) -> int:
        """Number of queries without a right item."""
        return int((~self.valid).sum())

    @functools.cached_property
    def n_galleries(self) -> int:
        """Number of different galleries that may be drawn, before any mask; an exact integer."""
        return 1 if self.draws is None else self.draws.n_galleries()

    def cmc_std(self, mean_of: int = 1) -> Array:
        """Standard deviation of a sampled CMC, for galleries that are drawn anew for every query.

        It is exact: the query's right item is found by rank r, or not, independently in every gallery.

        Parameters
        ----------
        mean_of : int, default 1
            Galleries of each query whose mean is reported, such as 10.

        Returns
        -------
        ndarray of shape (max_rank,)

        Raises
        ------
        ValueError
            If one gallery serves all queries: their luck is then correlated, and the formula that takes
            them for independent is wrong, as a rule too small. Or if nothing is drawn.
        """
        check_integer("mean_of", mean_of, 1)
        msg = (
            f"cmc_std needs galleries that are drawn anew for every query, got {self.gallery!r}; "
            "queries that share a gallery are not independent, and a whole gallery has no deviation"
        )
        check(self.per_query, msg)
        found = self["cmc"]
        shares = np.where(self.valid[:, None], found.per_item, 0.0)
        return np.asarray(np.sqrt(found.weights**2 @ (shares * (1 - shares)) / mean_of))

    def difference(self, other: Retrieval, name: str = "ap") -> RetrievalDifference:
        """The paired difference to another embedding: the same queries, gallery items and draw.

        Parameters
        ----------
        other : Retrieval
            Of the same identities, draw, mask and conventions.
        name : str, default "ap"
            A score of both; "rank-1", "rank-5" and so on are single ranks of "cmc".

        Returns
        -------
        RetrievalDifference
            With a standard error over identities if both have ``jackknife="identity"``.

        Raises
        ------
        TypeError, ValueError
            If `other` is no `Retrieval`; or its queries, gallery identities, strata, draw, mask,
            conventions or jackknife groups are others; or the rank is beyond the curve. Masks are compared
            by their words and by the number of right items of each query.
        KeyError
            If one of them does not have the score.
        """
        check(isinstance(other, Retrieval), "other must be a Retrieval", other, TypeError)
        if name not in self.scores and (found := re.fullmatch("rank-([0-9]+)", name)):
            return _at_rank(self.difference(other, "cmc"), int(found[1]))
        one: Any = self[name]
        two: Any = other[name]
        for attribute, words in SAME:
            a, b = getattr(self, attribute), getattr(other, attribute)
            check(a == b, f"the results have different {words}: {a!r} and {b!r}")
        pairs = zip((self.query_ids, *self.paired_by), (other.query_ids, *other.paired_by), strict=True)
        for (a, b), words in zip(pairs, ARRAYS, strict=True):
            msg = f"the results have different {words}; a paired difference needs the same data"
            check(np.array_equal(a, b), msg)
        a, b = np.size(one.score), np.size(two.score)
        check(a == b, f"the results have CMC curves of different lengths: {a} and {b}")
        without, groups = None, one.groups if two.groups is not None else None
        if groups is not None:
            msg = f"the jackknifes have different groups: {groups!r}, and {two.groups!r}"
            check(groups.same(two.groups), msg)
            without = one.score_without - two.score_without
        per_item, bound = one.per_item - two.per_item, one.error_bound + two.error_bound
        return RetrievalDifference(name, one.score - two.score, per_item, without, bound, groups)

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and what they mean in types that JSON has.

        Numbers that are not finite are None, whole numbers beyond 2**53 and fractions are text.
        """
        deviation = None
        if self.per_query and "cmc" in self.scores:
            deviation = {"of_one": plain(self.cmc_std()), "of_mean_of_ten": plain(self.cmc_std(10))}
        return {**super().to_dict(), "cmc_std": deviation}

    def to_frame(self) -> pd.DataFrame:
        """One row for each query: identity, validity, weight, and every score; CMC at ranks 1, 5, 10, 20.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        weights = next(iter(self.scores.values())).weights
        columns: dict[str, Array] = {"query_id": self.query_ids, "valid": self.valid, "weight": weights}
        for name, found in self.scores.items():
            for rank, values in _shown(found, found.per_item):
                columns[f"{name}@{rank}" if rank else name] = values
        return data_frame(columns)


@dataclass(frozen=True, eq=False, repr=False)
class SampledRetrieval(Result):
    """Scores of random galleries.

    Attributes
    ----------
    trials : dict of str to ndarray of shape (n_runs,), or (n_runs, max_rank) for "cmc"
        The score of every trial.
    protocol, gallery, mask : str
        What was evaluated, in words.

    Examples
    --------
    >>> from knnccv.retrieval import Gallery, sampled_retrieval
    >>> found = sampled_retrieval([[0.1, 0.4, 0.2]], [7], [7, 7, 8], Gallery(per_identity=1), n_runs=20)
    >>> found.trials["ap"].shape
    (20,)
    """

    _shown = "protocol gallery mask trials"

    trials: dict[str, Array]
    protocol: str
    gallery: str
    mask: str

    def mean(self, name: str) -> Any:
        """The mean over the trials."""
        return self.trials[name].mean(axis=0)

    def std(self, name: str) -> Any:
        """The standard deviation of one trial."""
        return self.trials[name].std(axis=0, ddof=1)

    def std_error(self, name: str, mean_of: int = 10) -> Any:
        """The standard deviation of a mean of `mean_of` trials, such as that of published tables."""
        return self.std(name) / np.sqrt(check_integer("mean_of", mean_of, 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the mean and the scatter of every score in types that JSON has.

        Numbers that are not finite are None, whole numbers beyond 2**53 and fractions are text.
        """
        return {
            name: {
                "mean": plain(self.mean(name)),
                "std_of_one": plain(self.std(name)),
                "std_of_mean_of_ten": plain(self.std_error(name, 10)),
            }
            for name in self.trials
        }


def _shown(found: RetrievalScore, values: Any) -> list[tuple[int, Any]]:
    """Values of a curve at the ranks that are shown, the last axis; others as of rank 0."""
    if np.ndim(found.score) == 0:
        return [(0, values)]
    return [(rank, values[..., rank - 1]) for rank in SHOWN_RANKS if rank <= values.shape[-1]]


def _at_rank(found: RetrievalDifference, rank: int) -> RetrievalDifference:
    """One rank of a difference of curves."""
    at = check_integer("the rank", rank, 1, np.size(found.difference), "the length of the CMC") - 1
    without = found.difference_without
    return replace(
        found,
        name=f"rank-{rank}",
        difference=float(found.difference[at]),
        per_item=found.per_item[:, at],
        difference_without=None if without is None else without[:, at],
    )
