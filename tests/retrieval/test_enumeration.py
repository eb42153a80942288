"""Every score equals its mean over all galleries and all orders of ties, computed in Fractions."""

from fractions import Fraction

import naive_retrieval as naive
import numpy as np
import pytest

from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval

N_PROBLEMS = 320


def problem(seed):
    """A small random problem: distances, identities, cameras, and what is asked."""
    rng = np.random.default_rng(seed)
    n_ids = int(rng.integers(2, 5))
    n = int(rng.integers(4, 9))
    ids = rng.integers(0, n_ids, n)
    cams = rng.integers(0, 2, n)
    queries = rng.integers(0, n_ids, 3)
    ties = "random" if seed % 2 else "index"
    distances = rng.integers(0, 4 if seed % 4 else 2, (3, n)) / 4 if seed % 3 else rng.random((3, n))
    return rng, ids, cams, queries, distances, ties


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_all_galleries(seed):
    rng, ids, cams, queries, distances, ties = problem(seed)
    shots = int(rng.integers(0, 4))
    fine = bool(rng.integers(0, 2)) and shots
    rank = "identity" if rng.integers(0, 2) else "image"
    ap = "trapezoid" if rng.integers(0, 2) else "rectangle"
    sure = rng.random(len(ids)) < 0.15 if rng.integers(0, 3) == 0 else np.zeros(len(ids), bool)
    masked = np.zeros(distances.shape, bool)
    exclude = None
    if rng.integers(0, 2):
        query_cams = rng.integers(0, 2, 3)
        exclude = SameIdentityAndCamera(query_cams, cams)
        masked = (queries[:, None] == ids) & (query_cams[:, None] == cams)
    strata = (ids, cams) if fine else None
    gallery = Gallery(shots=shots, strata=strata, mask="before", short="all") if shots else Gallery("all")
    names = [(i, c) if fine else i for i, c in zip(ids.tolist(), cams.tolist(), strict=True)]
    scores = dict(naive.IDENTITY if rank == "identity" else naive.IMAGE)
    if ap == "trapezoid":
        scores["ap"] = naive.ap_trapezoid
    expected = {
        name: [
            naive.expected(
                score, queries[q], distances[q], ids, names, shots, np.flatnonzero(~masked[q]).tolist(),
                always=set(np.flatnonzero(sure).tolist()), ties=ties,
            )
            for q in range(3)
        ]
        for name, score in scores.items()
    }  # fmt: skip
    arguments = {
        "exclude": exclude, "scores": tuple(scores), "rank": rank, "ap": ap, "max_rank": 4, "ties": ties,
        "always": sure, "exact": True, "n_jobs": 1,
    }  # fmt: skip
    if all(value is None for value in expected["ap"]):
        with pytest.raises(ValueError, match="no query has a right item"):
            expected_retrieval(distances, queries, ids, gallery, **arguments)
        return
    r = expected_retrieval(distances, queries, ids, gallery, **arguments)
    for name, values in expected.items():
        for q, value in enumerate(values):
            found = r[name].per_item[q]
            if value is None:
                assert not r.valid[q]
                assert np.isnan(found).all()
                assert r[name].weights[q] == 0
            else:
                assert r.valid[q]
                assert np.abs(found - np.asarray(value, dtype=float)).max() < 1e-13, name
                assert np.all(np.asarray(r[name].per_item_exact[q], dtype=object) == value), name
        kept = [value for value in values if value is not None]
        mean = np.asarray(sum(kept) / Fraction(len(kept)), dtype=object)
        assert np.all(np.asarray(r[name].exact, dtype=object) == mean), name
        assert np.abs(r[name].score - mean.astype(float)).max() <= r[name].error_bound
