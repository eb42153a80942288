"""Scores without each group of identities, and the standard error of other identities from them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._parallel import check_wanted, for_each
from .._typing import Array
from .._validation import check_integer
from ..driver import callers_level
from ..inference import InferenceWarning
from ._draw import Draw
from ._problem import Problem

ROWS = 64
"""Queries that are scored at once: the same for all problems, so that sums have the same bits."""
N_GROUPS = 50
FEWEST = 3
LARGE, MUCH = 10, 0.05


@dataclass(frozen=True, eq=False, repr=False)
class IdentityGroups:
    """Which identities are left out together.

    Attributes
    ----------
    identities : ndarray of shape (n_identities,)
        The identities that are left out, sorted.
    groups : int64 ndarray of shape (n_identities,)
        The group of each, from 0.
    sizes : int64 ndarray of shape (n_groups,)
        Number of identities in each group.
    n_queried : int
        How many of the identities have scored queries.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import IdentityGroups
    >>> groups = IdentityGroups(np.array([3, 5, 7]), np.array([0, 1, 2]), np.array([1, 1, 1]), n_queried=3)
    >>> groups.is_exact
    True
    """

    identities: Array
    groups: Array
    sizes: Array
    n_queried: int

    @property
    def is_exact(self) -> bool:
        """Whether every identity is left out alone."""
        return len(self.sizes) == len(self.identities)

    def same(self, other: IdentityGroups) -> bool:
        """Whether the other groups are the same."""
        return np.array_equal(self.identities, other.identities) and np.array_equal(
            self.groups, other.groups
        )

    def __repr__(self) -> str:
        low, high = int(self.sizes.min()), int(self.sizes.max())
        of = f"{low}" if low == high else f"{low} or {high}"
        how = "one by one" if self.is_exact else f"in {len(self.sizes)} random groups of {of}"
        n = len(self.identities)
        rest = f", {n - self.n_queried} of them without scored queries" if self.n_queried < n else ""
        return f"{n} identities left out {how}{rest}"


def check_groups(problem: Problem, jackknife: Any, n_groups: Any) -> int:
    """The largest number of groups; 0 without a jackknife.

    Raises
    ------
    ValueError, TypeError
        If `jackknife` is neither None nor "identity", or `n_groups` is no integer of at least 3, or is
        given without a jackknife; or distances are missing.
    """
    if jackknife is None:
        if n_groups is not None:
            msg = f'n_groups={n_groups!r} needs jackknife="identity"'
            raise ValueError(msg)
        return 0
    if not (isinstance(jackknife, str) and jackknife == "identity"):
        msg = f'jackknife must be None or "identity", got {jackknife!r}'
        raise ValueError(msg)
    most = N_GROUPS if n_groups is None else check_integer("n_groups", n_groups, FEWEST)
    if problem.near.truncated:
        msg = (
            'jackknife="identity" needs the distances of all gallery items, got lists of the nearest: '
            f"{problem.near!r}"
        )
        raise ValueError(msg)
    return most


def draw_groups(
    identities: Array, queried: Array, counts: Array, fixed: Array, n_groups: int
) -> IdentityGroups:
    """Groups of identities, random but always the same; one identity each if there are few.

    Identities with scored queries are dealt first, the others after them, so that every group has its share
    of both.

    Parameters
    ----------
    identities : ndarray of shape (n_identities,)
        All identities of the gallery, sorted.
    queried : bool ndarray
        Whether the identity has scored queries.
    counts : int64 ndarray
        Number of its gallery items that some scored query may find.
    fixed : bool ndarray
        Whether these are in every gallery.
    n_groups : int

    Raises
    ------
    ValueError
        If fewer than 3 identities have scored queries.
    """
    if queried.sum() < FEWEST:
        msg = (
            f'jackknife="identity" needs scored queries of at least {FEWEST} identities, got '
            f"{int(queried.sum())}"
        )
        raise ValueError(msg)
    kept = queried | ((counts > 0) & ~fixed)
    _warn_of_distractors(identities, counts, kept & ~queried)
    rng = np.random.default_rng(0)
    order = np.concatenate(
        [rng.permutation(np.flatnonzero(queried)), rng.permutation(np.flatnonzero(kept & ~queried))]
    )
    of = np.full(len(identities), -1, np.int64)
    of[order] = np.arange(len(order)) % min(n_groups, len(order))
    if len(order) <= n_groups:
        of[kept] = np.arange(len(order))
    return IdentityGroups(identities[kept], of[kept], np.bincount(of[kept]), int(queried.sum()))


def _warn_of_distractors(identities: Array, counts: Array, only: Array) -> None:
    """Warn of an identity without queries that has so many items that it may stand for many."""
    if not only.any():
        return
    largest = int(np.argmax(np.where(only, counts, 0)))
    n, total = int(counts[largest]), int(counts.sum())
    others = (total - n) / max((counts > 0).sum() - 1, 1)
    if n > LARGE * others and n > MUCH * total:
        name = identities[largest]
        msg = (
            f"identity {name} has {n} of {total} gallery items and no scored query, and is left out as one "
            f"identity; if these are distractors of many identities, pass always=[{name.item()!r}], which "
            "keeps them in every gallery"
        )
        warnings.warn(msg, InferenceWarning, stacklevel=callers_level())


def groups_of(draw: Draw, valid: Array, n_groups: int) -> IdentityGroups:
    """The groups of identities of a problem.

    Identities are left out if they have scored queries, or gallery items that a scored query may find and
    that are not in every gallery anyway.
    """
    problem, pool = draw.problem, draw.pool
    found = np.ones(problem.near.n_gallery, np.bool_)
    if problem.masks or problem.near.same is not None:
        found[:] = False
        for rows in draw.blocks(ROWS):
            found |= ~draw.removed(*rows)[0][valid[slice(*rows)]].all(axis=0)
    n = len(problem.identities)
    owner = pool.identity[pool.stratum]
    counts = np.bincount(owner[found], minlength=n)
    sure = np.bincount(owner[found & pool.always[pool.stratum]], minlength=n)
    queried = np.bincount(problem.codes[valid], minlength=n) > 0
    return draw_groups(problem.identities, queried, counts, sure == counts, n_groups)


def scores_without(
    draw: Draw, weights: Array, groups: IdentityGroups, n_jobs: int | None
) -> dict[str, Array]:
    """The scores without each group: its queries are left out, and its gallery items before the draw.

    Each block of distances is computed once and walked once for every group.

    Parameters
    ----------
    weights : ndarray of shape (n_queries,)
        Of the queries, in the score of all; 0 for those without a right item.

    Returns
    -------
    dict of str to ndarray of shape (n_groups,), or (n_groups, max_rank) for "cmc"
    """
    problem, pool = draw.problem, draw.pool
    n_groups = len(groups.sizes)
    of = np.full(len(problem.identities), -1, np.int64)
    of[np.searchsorted(problem.identities, groups.identities)] = groups.groups
    of_items = of[pool.identity[pool.stratum]]
    of_queries = np.where(problem.codes >= 0, of[problem.codes], -1)
    blocks = draw.blocks(ROWS)
    sums = np.zeros((len(blocks), n_groups, draw.plan.n_columns))

    def fill(b: int) -> None:
        rows = slice(*blocks[b])
        block = draw.block(*blocks[b])
        for g in range(n_groups):
            check_wanted()
            shares = np.where(of_queries[rows] == g, 0.0, weights[rows])
            found = draw.empty(len(shares))
            codes = np.where(shares > 0, block.codes, -1)
            draw.score(block._replace(masked=block.masked | (of_items == g), codes=codes), found)
            sums[b, g] = (shares[:, None] * found.values).sum(axis=0)

    for_each(fill, list(range(len(blocks))), n_jobs)
    left = np.array([weights[of_queries != g].sum() for g in range(n_groups)])
    without = sums.sum(axis=0) / left[:, None]
    return {score.name: draw.plan.values_of(score, without) for score in draw.scores}
