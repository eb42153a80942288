"""Weights of the K nearest training samples, as functions of their distances or of their ranks."""

from __future__ import annotations

import math

import numpy as np

from knnccv.kernel import jit

UNIFORM, INVERSE, SOFTMAX, DUDANI, RANKS, FUNCTION = range(6)
GAUSSIAN, TRIANGULAR, EPANECHNIKOV, BIWEIGHT, TRIWEIGHT, COSINE = range(6, 12)

FORMS = {
    "uniform": UNIFORM,
    "inverse": INVERSE,
    "softmax": SOFTMAX,
    "dudani": DUDANI,
    "gaussian": GAUSSIAN,
    "triangular": TRIANGULAR,
    "epanechnikov": EPANECHNIKOV,
    "biweight": BIWEIGHT,
    "triweight": TRIWEIGHT,
    "cosine": COSINE,
}
"""The weights that have a name; RANKS is an array of weights, FUNCTION a Python function."""

SIGNED = (UNIFORM, SOFTMAX, DUDANI, RANKS, FUNCTION)
"""The weights that have a meaning for negative distances."""
MAX_EXPONENT = 600.0
"""Of softmax weights that are relative to the nearest of the list; of longer lists, to that of the set."""
TINY = 2.0**-600
"""Inverses of smaller distances are scaled, so that no sum of K of them and no product overflows."""
SCALED_BASE = 2.0**-474
"""By this power of 2, which changes no digit."""


@jit
def kernel_value(form, u):
    """The kernel at u >= 0, relative to its value at 0 (Hechenbichler & Schliep 2004, section 3)."""
    if form == GAUSSIAN:
        return math.exp(-0.5 * u * u)
    if u >= 1:
        return 0.0
    if form == TRIANGULAR:
        return 1 - u
    if form == COSINE:
        return math.cos(0.5 * math.pi * u)
    rest = 1 - u * u
    if form == EPANECHNIKOV:
        return rest
    if form == BIWEIGHT:
        return rest * rest
    return rest * rest * rest


@jit
def base_of(form, distances, n):
    """The distance that has the weight 1 in `pair_weight`, for the `n` first of ascending distances."""
    if form != INVERSE:
        return distances[0]
    for t in range(n):
        if distances[t] > 0:
            return 1.0 if distances[t] >= TINY else SCALED_BASE
    return 1.0


@jit
def pair_weight(form, distance, base, scale):
    """The weight of a sample where it depends on its own distance alone, up to a common factor.

    `base` is the distance that has the weight 1, for "softmax" and "inverse". The inverse of 0 is infinity.
    `scale` is the temperature or the bandwidth.
    """
    if form == UNIFORM:
        return 1.0
    if form == INVERSE:
        return np.inf if distance == 0 else base / distance
    if form == SOFTMAX:
        return math.exp((base - distance) / scale)
    return kernel_value(form, distance / scale)


@jit
def depends_on_pair(form, scale):
    """Return True if a sample's weight depends on its own distance alone."""
    return form in (UNIFORM, INVERSE, SOFTMAX) or (form >= GAUSSIAN and scale > 0)


@jit
def fill_weights(form, distances, n, scale, ranks, weights):
    """Fill the weights of the `n` nearest samples; `distances` are ascending.

    A kernel without a bandwidth (`scale` is 0) takes ``distances[n]``, that of the next neighbor.
    """
    if form == RANKS:
        for t in range(n):
            weights[t] = ranks[t]
    elif form == FUNCTION:
        for t in range(n):
            weights[t] = distances[t]
    elif form == DUDANI:
        for t in range(n):
            weights[t] = distances[n - 1] - distances[t]
    elif depends_on_pair(form, scale):
        base = base_of(form, distances, n)
        for t in range(n):
            weights[t] = pair_weight(form, distances[t], base, scale)
    else:
        bandwidth = distances[n]
        for t in range(n):
            u = 1.0 if distances[t] == bandwidth else distances[t] / bandwidth
            weights[t] = kernel_value(form, u)
    settle(weights, n)


@jit
def settle(weights, n):
    """Infinite weights become 1 and leave the others none; where all weights are 0, all become 1."""
    infinite = False
    positive = False
    for t in range(n):
        infinite = infinite or weights[t] == np.inf
        positive = positive or weights[t] > 0
    if infinite:
        for t in range(n):
            weights[t] = 1.0 if weights[t] == np.inf else 0.0
    elif not positive:
        for t in range(n):
            weights[t] = 1.0
