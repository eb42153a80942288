"""Random problems of retrieval, and scores of one's own."""

import numpy as np

from knnccv.retrieval import AtRank, First, Reciprocal, Table


def random_problem(seed, n_queries, n_gallery, n_ids, levels, nearer):
    """Distances, identities and cameras; right items are `nearer`, and a number of `levels` makes ties."""
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, n_ids, n_queries), rng.integers(0, n_ids, n_gallery)
    right = query_ids[:, None] == ids
    distances = rng.random((n_queries, n_gallery)) + 0.6 - nearer * right
    if levels:
        distances = np.round(distances * levels) / levels
    return distances, query_ids, ids, rng.integers(0, 4, n_queries), rng.integers(0, 4, n_gallery)


def random_forms(rng):
    """Scores of one's own of all kinds, with random parameters."""
    c = int(rng.choice([0, 1, 2, 61]))
    constant = 0.0 if c == 0 else float(rng.integers(0, 3)) / 2
    slope = float(rng.integers(1 if constant == 0 else 0, 4))
    options = {"constant": constant, "slope": slope, "at_top": float(rng.random())}
    for of in ("every", "first", "last"):
        yield Reciprocal(c, of, normalize=str(rng.choice(["1", "R"])), name=f"reciprocal {of}", **options)
    weights = rng.integers(-4, 9, int(rng.integers(1, 6))) / 4
    for normalize in ("1", "k", "R", "min(k,R)"):
        yield AtRank(weights, normalize=normalize, name=f"at rank {normalize}")
    yield AtRank(np.abs(weights) + 0.25, normalize="ideal", name="at rank ideal")
    yield First(rng.random(int(rng.integers(1, 6))), name="first of first")
    yield First(rng.integers(-3, 4, int(rng.integers(1, 6))), "every", name="first of every")
    table = rng.integers(-4, 9, rng.integers(1, 5, 2)) / 8
    yield Table(table, name="table")
