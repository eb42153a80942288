"""Galleries of random identities: scores equal their means over all sets of identities, draws and tie orders."""

import naive_retrieval as naive
import numpy as np
import pytest

from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval, sampled_retrieval

N_PROBLEMS = 240
SCORES = ("cmc", "ap", "rr", "inp", "precision@3", "recall@4", "r_precision", "map@r", "ndcg@5", "rbp@0.7")


def problem(seed):
    """A small random problem: distances, identities, masked items, items of every gallery, the draw."""
    rng = np.random.default_rng([7, seed])
    n_ids = int(rng.integers(2, 6))
    n = int(rng.integers(5, 10))
    ids, cams, queries = rng.integers(0, n_ids, n), rng.integers(0, 2, n), rng.integers(0, n_ids, 3)
    ties = "random" if seed % 2 else "index"
    distances = rng.integers(0, 4, (3, n)) / 4 if seed % 3 else rng.random((3, n))
    masked = (rng.random((3, n)) < 0.3) & bool(rng.integers(0, 2))
    sure = (rng.random(n) < 0.2) & bool(rng.integers(0, 3) == 0)
    shots = int(rng.integers(0, 3))
    fine = bool(rng.integers(0, 2)) and shots > 0
    before = shots > 0 or bool(rng.integers(0, 2))
    m = int(rng.integers(1, n_ids + 1))
    gallery = Gallery(
        None if shots else "all", shots=shots or None, strata=(ids, cams) if fine else None, n_identities=m,
        mask="before" if before else None, short="all",
    )  # fmt: skip
    names = [(i, c) if fine else i for i, c in zip(ids.tolist(), cams.tolist(), strict=True)]
    return ids, queries, distances, ties, masked, sure, shots, names, m, gallery, before


@pytest.mark.parametrize("seed", [*range(16), *(pytest.param(s, marks=pytest.mark.slow) for s in range(16, N_PROBLEMS))])
def test_all_sets_of_identities(seed):
    ids, queries, distances, ties, masked, sure, shots, names, m, gallery, before = problem(seed)
    rank = "identity" if seed % 5 < 2 else "image"
    ap = "trapezoid" if seed % 7 < 3 else "rectangle"
    scores = dict(naive.IDENTITY if rank == "identity" else naive.IMAGE)
    if ap == "trapezoid":
        scores["ap"] = naive.ap_trapezoid
    expected = {name: [] for name in scores}
    for q, query in enumerate(queries):
        pool = np.flatnonzero(~masked[q]).tolist()
        some = pool if before else range(len(ids))
        choosable = {int(ids[i]) for i in some if not sure[i]} - {int(query)}
        for name, score in scores.items():
            expected[name].append(
                naive.expected_of_chosen(
                    score, query, m - 1, choosable, distances[q], ids, names, shots, pool,
                    always=set(np.flatnonzero(sure).tolist()), ties=ties,
                )
            )  # fmt: skip
    arguments = {
        "exclude": lambda rows: masked[rows], "scores": tuple(scores), "rank": rank, "ap": ap, "max_rank": 4,
        "ties": ties, "always": sure, "exact": True, "n_jobs": 1,
    }  # fmt: skip
    if all(value is None for value in expected["ap"]):
        with pytest.raises(ValueError, match="no query has a right item"):
            expected_retrieval(distances, queries, ids, gallery, **arguments)
        return
    r = expected_retrieval(distances, queries, ids, gallery, **arguments)
    for name, values in expected.items():
        for q, value in enumerate(values):
            found = r[name].per_item_exact[q]
            if value is None:
                assert found is None
                continue
            assert np.all(np.asarray(found, object) == value), (name, q)
            assert np.abs(r[name].per_item[q] - np.asarray(value, dtype=float)).max() < 1e-13, name
        exact = np.asarray(r[name].exact, object)
        error = np.ravel(r[name].score) - np.array([float(v) for v in np.ravel(exact)])
        assert np.abs(error).max() <= r[name].error_bound
