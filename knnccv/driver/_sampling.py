"""The arguments of decoupled sampling, and the estimates that it makes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_choice, check_integer, fixed_seed

METHODS = ("auto", "exact", "sampled")
MOST_DRAWS = 10_000_000
"""For each sample; the draws of a sample and a thread are in memory at once."""


@dataclass(frozen=True)
class Sampling:
    """The checked arguments `method`, `n_draws` and `random_state`, as a number."""

    method: str
    n_draws: int
    random_state: int

    @property
    def seed(self) -> int:
        """The seed of all streams of random numbers, 64 bits."""
        sequence = np.random.SeedSequence(self.random_state)
        return int(sequence.generate_state(1, np.uint64)[0])


def check_sampling(method: Any, n_draws: Any, random_state: Any) -> Sampling:
    """Return the checked arguments.

    Raises
    ------
    ValueError, TypeError
        If one is not allowed.
    """
    check_choice("method", method, METHODS)
    n_draws = check_n_draws(n_draws)
    return Sampling(method, n_draws, fixed_seed(random_state))


def check_n_draws(n_draws: Any) -> int:
    """Return the number of draws for each sample.

    Raises
    ------
    ValueError, TypeError
        If it is not allowed.
    """
    return check_integer("n_draws", n_draws, 2, MOST_DRAWS)


@dataclass(frozen=True)
class DrawnScores:
    """Estimates of A_x for every sample and every kind of training sets.

    ``scores``, ``variances`` and ``missed`` have shape (n_kinds, n_items): the estimates, their variances,
    and the shares of the draws that go on beyond the neighbor lists. ``tied`` (n_items,) marks samples
    whose ties matter; ``depth`` is the largest depth used; ``n_draws`` (n_kinds,) are the numbers of draws.
    """

    scores: Array
    variances: Array
    missed: Array
    tied: Array
    depth: int
    n_draws: tuple[int, ...]


def draws_of(n_draws: int, probability: Fraction) -> int:
    """The number of draws for one kind of training sets, at least 2."""
    return max(2, math.ceil(n_draws * probability))
