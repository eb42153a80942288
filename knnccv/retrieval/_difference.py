"""Paired differences of two results of the same queries and galleries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array

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


@dataclass(frozen=True, eq=False, repr=False)
class RetrievalDifference:
    """The paired difference of one score between two embeddings: same queries, same galleries.

    Attributes
    ----------
    name : str
        The score.
    difference : float, or ndarray of shape (max_rank,) for "cmc"
        The first score minus the second; exact, up to `error_bound`: no luck of the draw is in it.
    standard_error : float, or ndarray of shape (max_rank,) for "cmc"
        By leaving each group of identities out of both scores: how much the difference would change with
        other identities of the same kind. NaN unless both results have ``jackknife="identity"``.
    per_item : ndarray of shape (n_queries,), or (n_queries, max_rank) for "cmc"
        The difference of every query; NaN for those that are left out.
    difference_without : ndarray of shape (n_groups,) or (n_groups, max_rank), or None
        The difference without each group.
    error_bound : float
        Bound of ``|difference - exact value|``: the sum of both bounds.
    of : str
        What was left out for the standard error, in words.
    """

    name: str
    difference: Any
    standard_error: Any
    per_item: Array
    difference_without: Array | None
    error_bound: float
    of: str

    def __float__(self) -> float:
        return float(self.difference)

    def __repr__(self) -> str:
        first = 100 * np.ravel(self.difference)[0]
        error = 100 * np.ravel(self.standard_error)[0]
        at = " at rank 1" if np.ndim(self.difference) else ""
        ones = self.per_item if self.per_item.ndim == 1 else self.per_item[:, 0]
        luck = "no standard error (needs the jackknife in both)"
        if not math.isnan(error):
            luck = f"standard error {error:.2f} points over identities ({self.of})"
        if self.error_bound > 1e-6:  # lists of the nearest
            luck = f"error at most {100 * self.error_bound:.2g} points, {luck}"
        return (
            f"<{self.name}{at}: difference {first:+.2f} points, {luck}; "
            f"{np.count_nonzero(ones > 0)} queries better and {np.count_nonzero(ones < 0)} worse>"
        )


def paired_difference(first: Any, second: Any, name: str) -> RetrievalDifference:
    """The difference of one score of two `Retrieval` results; errors as in `Retrieval.difference`."""
    one, two = first[name], second[name]
    for attribute, words in SAME:
        a, b = getattr(first, attribute), getattr(second, attribute)
        if a != b:
            msg = f"the results have different {words}: {a!r} and {b!r}"
            raise ValueError(msg)
    for a, b, words in zip(_arrays(first), _arrays(second), ARRAYS, strict=True):
        if not np.array_equal(a, b):
            msg = f"the results have different {words}; a paired difference needs the same data"
            raise ValueError(msg)
    if np.shape(one.score) != np.shape(two.score):
        msg = f"the results have CMC curves of different lengths: {len(one.score)} and {len(two.score)}"
        raise ValueError(msg)
    without, difference = None, one.score - two.score
    error = np.full(np.shape(difference), math.nan) if np.ndim(difference) else math.nan
    of = ""
    if one.groups is not None and two.groups is not None:
        if not one.groups.same(two.groups):
            msg = f"the jackknifes have different groups: {one.groups!r}, and {two.groups!r}"
            raise ValueError(msg)
        without = one.score_without - two.score_without
        error, of = one.groups.error(without, difference), repr(one.groups)
    bound = one.error_bound + two.error_bound
    return RetrievalDifference(name, difference, error, one.per_item - two.per_item, without, bound, of)


def _arrays(result: Any) -> tuple[Array, ...]:
    return (result.query_ids, *result.paired_by)
