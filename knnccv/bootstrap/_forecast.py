"""The warning about bootstrap votes that take long: many neighbors, several classes, tied groups."""

from __future__ import annotations

import warnings

import numpy as np

from .._parallel import n_workers
from .._typing import Array
from ..driver import LONG, ScoringProblem, SlowComputationWarning, callers_level, in_words
from ..neighbors import Neighbors

POSITION = 4e-11  # seconds of a position per class and K^3, for plain votes
SHARED_VOTE = 4.0  # times as much for votes with losses, or whose ties are shared
GROUP = 4.5e-10  # seconds of a tied group of several classes per class and K^5
TWO_CLASSES = 1.8  # so many classes fewer count, since two are fast
TRIALS = 16


def announce(
    problem: ScoringProblem, near: Neighbors, rows: Array, depth: int, n_nearest: int, n_jobs: int | None
) -> bool:
    """Warn if votes take more than a minute, judged by the lists of some rows; return True if so."""
    parameters = problem.parameters
    plain = parameters.get("vote_ties", "smallest") == "smallest" and parameters.get("loss") is None
    each = max(len(problem.labels.classes) - TWO_CLASSES, 0.0) * n_nearest**3
    position = POSITION * each * (1.0 if plain else SHARED_VOTE)
    group = GROUP * each * n_nearest**2 if problem.ties == "random" else 0.0
    workers = n_workers(n_jobs)
    if len(rows) * depth * max(position, group / 2) <= LONG * workers:
        return False
    some = rows[np.unique(np.linspace(0, len(rows) - 1, TRIALS).astype(np.int64))]
    lists = near.search(some, depth)
    positions, groups = 0, 0
    for items, values, length in zip(lists.items, lists.values, lists.lengths, strict=True):
        alone, mixed = _count(problem.labels.codes[items[:length]], values[:length])
        positions, groups = positions + alone, groups + mixed
    if not group:
        positions, groups = int(lists.lengths.sum()), 0
    scale = len(rows) / len(some) / workers
    by_positions, by_groups = scale * position * positions, scale * group * groups
    seconds = by_positions + by_groups
    if seconds <= LONG:
        return False
    why = f"votes of {n_nearest} nearest draws among {len(problem.labels.classes)} classes"
    if by_groups > by_positions:
        why += (
            ", averaged over all orders of tied samples; ties='index' takes these in the order of the data"
        )
    msg = (
        f"this will take about {in_words(seconds)} with {workers} worker{'s' if workers > 1 else ''}: "
        f"{why}. Fewer neighbors are faster, and variant 'confidence', the share of right votes, is fast"
    )
    warnings.warn(msg, SlowComputationWarning, stacklevel=callers_level())
    return True


def _count(codes: Array, values: Array) -> tuple[int, int]:
    """The numbers of samples, and of tied groups of several classes, that are positions of their own."""
    starts = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    sizes = np.diff(starts, append=len(values))
    if not len(starts):
        return 0, 0
    mixed = np.minimum.reduceat(codes, starts) < np.maximum.reduceat(codes, starts)
    return int(sizes[~mixed].sum()), int(mixed.sum())
