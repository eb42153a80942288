"""The random numbers of sampled scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import check_random_state


@dataclass(frozen=True)
class Draws:
    """How to sample where training sets are too many to enumerate: the number for each sample, the seed."""

    n_draws: int
    random_state: Any

    def seed(self, number: int = 0) -> int:
        """The seed of a result; several results get different `number`."""
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state) + number
        return int(as_generator(self.random_state).integers(2**31 - 1))


def as_generator(random_state: Any) -> np.random.Generator:
    """Create a generator from every random state that scikit-learn allows."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    return check_random_state(random_state)
