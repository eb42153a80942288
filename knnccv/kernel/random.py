# mypy: allow-untyped-defs
"""Random numbers for compiled code: SplitMix64 (Steele, Lea and Flood 2014); ``state[0]`` is the state."""

from __future__ import annotations

import numpy as np

from ._compile import inner, jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inner
def scramble(number):
    """The output function, a bijection of 64 bits."""
    z = number
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def random_word(state):
    """64 random bits; advances ``state[0]``."""
    state[0] += GOLDEN
    return scramble(state[0])


@inner
def random_below(state, n):
    """A random integer below n, for n up to 2**32."""
    return np.int64(((random_word(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@jit
def uniform(state):
    """A random number of 53 bits in [0, 1); advances ``state[0]``."""
    return float(random_word(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
