"""Scores as rational numbers: conventions, means, limits. More of their tests are in test_enumeration."""

from fractions import Fraction

import naive_retrieval as naive
import numpy as np
import pytest

import knnccv.retrieval._exact as module
from knnccv import Neighbors
from knnccv.retrieval import Gallery, cuhk03, expected_retrieval

CASES = 30


def test_some_problems():
    for seed in range(CASES):
        rng = np.random.default_rng([3, seed])
        ids, queries = rng.integers(0, 3, 7), rng.integers(0, 3, 2)
        distances = rng.integers(0, 3, (2, 7)) / 4
        shots, ties = int(rng.integers(0, 3)), ("index", "random")[seed % 2]
        gallery = Gallery(per_identity=shots, short="all") if shots else Gallery("all")
        kinds = {"image": naive.IMAGE, "identity": naive.IDENTITY}
        rank = sorted(kinds)[seed % 3 == 0]
        if not np.isin(queries, ids).any():
            continue
        r = expected_retrieval(
            distances, queries, ids, gallery, scores=tuple(kinds[rank]), rank=rank, max_rank=4, ties=ties,
            exact=True, n_jobs=1,
        )  # fmt: skip
        for name, score in kinds[rank].items():
            for q in range(2):
                value = naive.expected(
                    score, queries[q], distances[q], ids, ids.tolist(), shots, list(range(7)), ties=ties
                )
                found = r[name].per_item_exact[q]
                assert found is value is None or np.all(np.asarray(found, object) == value), (seed, name)
                if value is not None:
                    bound = r[name].error_bound / r[name].weights[q]
                    assert np.abs(r[name].per_item[q] - np.asarray(value, float)).max() <= bound


def test_the_mean_over_identities():
    distances = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [1.0, 0.0, 2.0], [0.0, 1.0, 2.0]])
    query_ids, ids = [0, 0, 1, 5], [0, 1, 0]
    options = {"scores": ("ap", "cmc"), "max_rank": 2, "exact": True}
    r = expected_retrieval(distances, query_ids, ids, **options)
    assert r["ap"].per_item_exact == (Fraction(5, 6), Fraction(7, 12), Fraction(1), None)
    assert r["ap"].exact == Fraction(29, 36)
    assert r["cmc"].exact == (Fraction(2, 3), Fraction(1))
    r = expected_retrieval(distances, query_ids, ids, average="identity", **options)
    assert r["ap"].exact == (Fraction(17, 24) + 1) / 2
    assert expected_retrieval(distances, query_ids, ids)["ap"].exact is None


def test_decimal_persistences_and_gains_of_floats():
    r = expected_retrieval(
        np.array([[1.0, 0.0]]), [0], [0, 1], scores=("rbp", "rbp@0.1", "ndcg@3"), exact=True
    )
    assert r["rbp"].exact == Fraction(4, 25)
    assert r["rbp@0.1"].exact == Fraction(9, 100)
    assert r["ndcg@3"].exact == Fraction(1 / np.log2(3))


def test_a_protocol_with_a_score_of_the_whole_gallery():
    ids, cams = np.array([0, 0, 1, 1]), np.array([1, 2, 1, 2])
    r = expected_retrieval(
        np.array([[0.4, 0.3, 0.1, 0.5]]), [0], ids, cuhk03(), [1], cams, max_rank=1, exact=True
    )
    assert r["ap"].exact == Fraction(1, 2)
    assert r["cmc"].exact == (Fraction(1, 2),)


def test_limits(monkeypatch):
    distances = np.arange(12.0).reshape(2, 6)
    monkeypatch.setattr(module, "MOST_STEPS", 100)
    with pytest.raises(ValueError, match="more than 100 steps are needed for 2 of 2 queries"):
        expected_retrieval(distances, [0, 1], [0, 1, 0, 1, 2, 2], exact=True)
    with pytest.raises(TypeError, match="exact must be"):
        expected_retrieval(distances, [0, 1], [0, 1, 0, 1, 2, 2], exact=1)
    lists = Neighbors.between_lists(np.array([[0, 1]]), np.array([[0.0, 1.0]]), n_gallery=3)
    with pytest.raises(ValueError, match="exact=True needs the distances of all gallery items"):
        expected_retrieval(lists, [0], [0, 0, 1], exact=True)
