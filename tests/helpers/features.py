"""Feature tables on which search engines could go wrong, and means to choose the engine."""

import numpy as np


def grid(n_items=70, d=3, seed=0):
    return np.random.default_rng(seed).integers(-2, 3, (n_items, d)).astype(float)


def adversarial():
    rng = np.random.default_rng(0)
    yield "smooth", rng.normal(size=(1200, 3))
    yield "integer grid", rng.integers(0, 5, (1200, 3)).astype(float)
    yield "decimal grid", rng.integers(0, 40, (1200, 2)) * 0.1
    yield "far from the origin", 1e8 + rng.normal(size=(1200, 4))
    yield "huge offset", 1e15 + rng.integers(0, 50, (1200, 2))
    yield "duplicates", np.repeat(rng.normal(size=(240, 3)), 5, axis=0)
    yield "one heap", np.zeros((1200, 2))
    yield "tiny", rng.normal(size=(1200, 9)) * 1e-200
    yield "denormal", np.ldexp(rng.integers(0, 9, (1200, 2)).astype(float), -1074)
    yield "two clusters", np.concatenate([rng.normal(size=(1190, 2)), 1e12 + rng.normal(size=(10, 2))])
    yield "many features", rng.normal(size=(1200, 14))


def reference_order(D):
    """All other samples by (distance, index), by full sorts."""
    n_items = len(D)
    rows = [[j for j in np.argsort(D[x], kind="stable") if j != x] for x in range(n_items)]
    return np.array(rows)


def engine(near, depth):
    """Class name of the engine that serves lists of this depth; between two tables, after a search."""
    if hasattr(near, "engines"):
        return next(type(one).__name__ for one in near.engines if one.serves(depth))
    return type(near._engine(depth)).__name__


def by_brute_force(near):
    """The same neighbors, searched by brute force at every depth."""
    assert type(near._engines[-1]).__name__ == "BruteForce"
    near._engines = near._engines[-1:]
    return near
