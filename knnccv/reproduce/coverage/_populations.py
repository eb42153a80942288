"""Populations of which the study draws samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ..._typing import Array

Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]
Noise = Callable[[np.random.Generator, Array], Array]

GROUP_SIZE = 5


class Population(NamedTuple):
    """A distribution of samples.

    Attributes
    ----------
    name : str
        In the table.
    draw : callable
        ``draw(rng, n)`` returns features (n, n_features) and labels or targets (n,), new on each call.
    kind : str
        "two" or "many" classes, "costs" (two classes, unequal losses), "regression", "errors" (regression,
        mostly with skewed errors), or "groups" (samples of a group stand together, `GROUP_SIZE` of them).
    """

    name: str
    draw: Draw
    kind: str = "two"


def gaussians(n_features: int, distance: float, share: float = 0.5, flipped: float = 0.0) -> Draw:
    """Two normal classes with this distance of the means, all covariances 1.

    `share` is that of class 1; a share `flipped` of the labels is wrong.
    """

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        y = (rng.random(n) < share).astype(np.int64)
        X = rng.normal(size=(n, n_features)) + distance / math.sqrt(n_features) * (y[:, None] - 0.5)
        return X, np.where(rng.random(n) < flipped, 1 - y, y)

    return draw


def lattice(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Places of a 6 x 6 lattice: most distances are tied."""
    X = rng.integers(0, 6, (n, 2)).astype(float)
    return X, (rng.random(n) < 1 / (1 + np.exp(-1.2 * (X[:, 0] - 2.5)))).astype(np.int64)


def spirals(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Two arms wound about each other one and a half times, with noise."""
    y = rng.integers(0, 2, n)
    angle = 3 * math.pi * np.sqrt(rng.random(n))
    turned = angle + math.pi * y
    X = np.column_stack([angle * np.cos(turned), angle * np.sin(turned)])
    return X + rng.normal(scale=0.5, size=(n, 2)), y


def three_classes(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Three normal classes at the corners of a triangle with sides 2."""
    y = rng.integers(0, 3, n)
    corner = 2 * math.pi / 3 * y
    means = 2 / math.sqrt(3) * np.column_stack([np.cos(corner), np.sin(corner)])
    return rng.normal(size=(n, 2)) + means, y


def smoothed_wine(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Rows of Wine, standardized and with noise of a fifth of their standard deviation."""
    X, y = _wine()
    rows = rng.integers(0, len(y), n)
    return X[rows] + rng.normal(scale=0.2, size=(n, X.shape[1])), y[rows]


@cache
def _wine() -> tuple[Array, Array]:
    from ...datasets import load_wine

    data = load_wine()
    X = np.asarray(data.X, dtype=float)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.asarray(data.y)


def wave(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """A real target, a wave of the first of two features with noise."""
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + rng.normal(scale=0.4, size=n)


def noisy_sine(noise: Noise) -> Draw:
    """A real target, a sine of one feature x, with ``noise(rng, x)``."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x = rng.uniform(-2, 2, n)
        return x[:, None], np.sin(2 * x) + noise(rng, x)

    return draw


def lognormal(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """A real target whose logarithm is a line of one feature, with normal noise."""
    x = rng.uniform(-2, 2, n)
    return x[:, None], np.exp(x / 2 + rng.normal(size=n))


def grouped(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Groups of samples with a common place and a common effect on the labels."""
    n_groups = -(-n // GROUP_SIZE)
    centers, effects = rng.normal(size=(n_groups, 2)), rng.normal(size=n_groups)
    group = np.arange(n) // GROUP_SIZE
    X = centers[group] + rng.normal(scale=0.5, size=(n, 2))
    chance = 1 / (1 + np.exp(-(2 * X[:, 0] + effects[group])))
    return X, (rng.random(n) < chance).astype(np.int64)


NOISES: dict[str, tuple[str, Noise]] = {
    "normal": ("sine, normal errors", lambda rng, x: rng.normal(size=len(x))),
    "exponential": ("sine, exponential errors", lambda rng, x: rng.exponential(size=len(x))),
    "t3": ("sine, t(3) errors", lambda rng, x: rng.standard_t(3, len(x))),
    "uneven": ("sine, uneven errors", lambda rng, x: np.exp(x) * rng.normal(size=len(x))),
}
POPULATIONS = {
    "gaussians": Population("two Gaussians, 2-D", gaussians(2, 2.0)),
    "gaussians-10": Population("two Gaussians, 10-D", gaussians(10, 2.0)),
    "noise": Population("pure noise", gaussians(2, 0.0)),
    "flipped": Population("10 % flipped labels", gaussians(2, 4.0, flipped=0.1)),
    "imbalance": Population("10:90 imbalance", gaussians(2, 2.0, share=0.1)),
    "lattice": Population("lattice, tied distances", lattice),
    "near-perfect": Population("near-perfect, 0.98", gaussians(2, 4.2)),
    "spirals": Population("spirals", spirals),
    "three": Population("three Gaussians, 2-D", three_classes, "many"),
    "wine": Population("smoothed Wine, 3 classes", smoothed_wine, "many"),
    "costs": Population("imbalance, costs 1 and 5", gaussians(2, 2.0, share=0.1), "costs"),
    "regression": Population("regression", wave, "regression"),
    **{
        f"errors-{key}": Population(name, noisy_sine(noise), "errors")
        for key, (name, noise) in NOISES.items()
    },
    "errors-lognormal": Population("lognormal target", lognormal, "errors"),
    "groups": Population("groups of 5", grouped, "groups"),
}
