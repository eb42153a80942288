"""One stream of random numbers for each sample, the same for any threads, blocks and executors."""

from __future__ import annotations

import numpy as np

from ..kernel import jit


@jit
def scramble(number):
    """The output function of SplitMix64 (Steele, Lea and Flood 2014), a bijection of 64 bits."""
    z = number
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def start_stream(state, seed, sample, kind):
    """Set ``state[0]`` to the start of the stream of a sample and a kind of training sets."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    state[0] = scramble(scramble(np.uint64(seed) + golden * np.uint64(kind + 1)) + np.uint64(sample))


@jit
def uniform(state):
    """A random number of 53 bits in [0, 1); advances ``state[0]``."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return float(scramble(state[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
