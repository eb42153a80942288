"""Shots by class, votes in Fractions and without each class, and described episodes, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import naive_episodes as naive
import numpy as np
import pytest

from knnccv.episodes import Episodes, described_episodes, expected_episodes


def problem(seed):
    """A random problem of few samples: distances with few, some or no ties; shots of every class."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    shots = rng.integers(1, 4 if n_classes < 4 else 3, n_classes)
    y = np.repeat(np.arange(n_classes), shots + rng.integers(1, 3, n_classes))
    rng.shuffle(y)
    D = rng.integers(1, [10_000, 10, 3][seed % 3], (len(y), len(y)), endpoint=True).astype(float)
    np.fill_diagonal(D, 0.0)
    ties = ["random", "index"][seed % 2]
    return D, y, dict(enumerate(shots.tolist())), ties, int(rng.integers(2, n_classes + 1)), rng


def accuracy(D, y, x, n_way, shots, ties, classes, n_neighbors=1):
    """The mean over the sets of other classes of the mean over supports; shots of each class."""
    others = [c for c in classes if c != y[x]]
    chances = []
    for chosen in combinations(others, n_way - 1):
        pools = [[j for j in range(len(y)) if y[j] == c and j != x] for c in (y[x], *chosen)]
        drawn = (combinations(pool, shots[c]) for pool, c in zip(pools, (y[x], *chosen), strict=True))
        chances.append(
            naive.mean(
                naive.share_right(D, y, x, [j for one in supports for j in one], ties, n_neighbors)
                for supports in product(*drawn)
            )
        )
    return naive.mean(chances)


def score(D, y, n_way, shots, ties, classes, n_neighbors=1):
    return naive.mean(
        naive.mean(
            accuracy(D, y, x, n_way, shots, ties, classes, n_neighbors) for x in range(len(y)) if y[x] == c
        )
        for c in classes
    )


def ask(D, y, episodes, ties, n_neighbors=1, **options):
    return expected_episodes(
        D, y, episodes, n_neighbors, metric="precomputed", ties=ties, n_jobs=1, **options
    )


@pytest.mark.parametrize("seed", range(100))
def test_a_number_of_shots_for_each_class(seed):
    D, y, shots, ties, n_way, rng = problem(seed)
    names, classes = y.tolist(), sorted(shots)
    jackknife = "class" if n_way < len(classes) else None
    found = ask(D, y, Episodes(n_way, shots), ties, exact=True, jackknife=jackknife)
    expected = score(D, names, n_way, shots, ties, classes)
    assert found.exact == expected
    assert found.score == pytest.approx(float(expected), abs=1e-13)
    assert found.ways[n_way] == pytest.approx(found.score, abs=1e-14)
    if jackknife:
        deleted = int(rng.integers(len(classes)))
        left = [c for c in classes if c != deleted]
        value = score(D, names, n_way, shots, ties, left)
        assert found.score_without[deleted] == pytest.approx(float(value), abs=1e-13)


def few(seed):
    """The same with at most 11 samples, for votes."""
    D, y, shots, ties, n_way, rng = problem(seed)
    while len(y) > 11:
        seed += 1000
        D, y, shots, ties, n_way, rng = problem(seed)
    return D, y, shots, ties, n_way, rng


@pytest.mark.parametrize("seed", range(100))
def test_votes_in_fractions(seed):
    D, y, shots, ties, n_way, rng = few(seed)
    names, classes = y.tolist(), sorted(shots)
    most = sum(sorted(shots.values())[:n_way])
    n_neighbors = int(rng.integers(2, min(most, 5) + 1))
    found = ask(D, y, Episodes(n_way, shots), ties, n_neighbors, exact=True)
    expected = score(D, names, n_way, shots, ties, classes, n_neighbors)
    assert found.exact == expected
    assert abs(found.score - float(expected)) <= found.error_bound
    assert found.per_item_exact[1] == accuracy(D, names, 1, n_way, shots, ties, classes, n_neighbors)
    assert isinstance(found.exact, Fraction)


@pytest.mark.parametrize("seed", range(60))
def test_votes_without_each_class(seed):
    D, y, shots, ties, n_way, rng = few(seed)
    names, classes = y.tolist(), sorted(shots)
    n_way = min(n_way, len(classes) - 1)
    if n_way < 2:
        y[y == 1] = 0  # too few classes
        with pytest.raises(ValueError, match=r"at least 2 classes|needs more classes than ways"):
            ask(D, y, Episodes(2, 1), ties, 2, jackknife="class")
        return
    n_neighbors = int(rng.integers(2, min(sum(sorted(shots.values())[:n_way]), 4) + 1))
    found = ask(D, y, Episodes(n_way, shots), ties, n_neighbors, jackknife="class")
    for deleted in classes:
        left = [c for c in classes if c != deleted]
        expected = score(D, names, n_way, shots, ties, left, n_neighbors)
        assert found.score_without[deleted] == pytest.approx(float(expected), abs=1e-13)
    assert found.standard_error >= 0


def test_votes_of_ranges_in_fractions():
    D, y, _, ties, _, _ = problem(8)
    y = np.arange(len(y)) % 3
    found = ask(D, y, Episodes((2, 3), (1, 2)), ties, 2, exact=True)
    values = [
        naive.mean(
            naive.mean(
                naive.query_accuracy(D, y.tolist(), x, way, shot, ties, n_neighbors=2)
                for x in np.flatnonzero(y == c)
            )
            for c in range(3)
        )
        for way in (2, 3)
        for shot in (1, 2)
    ]
    assert found.exact == naive.mean(values)


def test_products_give_the_scores_of_exact_distances():
    rng = np.random.default_rng(5)
    y = np.arange(600) % 6
    X = rng.normal(size=(6, 8))[y] + rng.normal(size=(600, 8))
    episodes = Episodes(4, {0: 1, 1: 5, 2: 2, 3: 9, 4: 1, 5: 30})
    found = expected_episodes(X, y, episodes, n_jobs=2)
    gaps = ((X[:, None] - X) ** 2).sum(axis=-1)
    same = ask(gaps, y, episodes, "random")
    assert found.per_item == pytest.approx(same.per_item, abs=1e-12)
    assert "4-way episodes of 1 to 30 shots by class" in repr(found)


def test_equal_numbers_are_one_number():
    D, y, shots, ties, n_way, _ = problem(4)
    one = ask(D, y, Episodes(n_way, 1), ties, exact=True)
    each = ask(D, y, Episodes(n_way, dict.fromkeys(shots, 1)), ties, exact=True)
    assert (one.score, one.exact, one.ways) == (each.score, each.exact, each.ways)


@pytest.mark.parametrize("seed", range(20))
def test_descriptions(seed):
    D, y, shots, ties, _, rng = problem(seed)
    names, descriptions = y.tolist(), []
    for _ in range(3):
        chosen = rng.permutation(sorted(shots))[: int(rng.integers(2, len(shots) + 1))].tolist()
        descriptions.append({c: int(rng.integers(1, shots[c] + 1)) for c in chosen})
    found = described_episodes(D, y, descriptions, metric="precomputed", ties=ties, n_jobs=1)
    expected = [score(D, names, len(one), one, ties, sorted(one)) for one in descriptions]
    assert found.scores == pytest.approx([float(value) for value in expected], abs=1e-13)
    assert found.score == float(found) == pytest.approx(float(naive.mean(expected)), abs=1e-13)
    assert found.standard_error == pytest.approx(np.std(found.scores, ddof=1) / 3**0.5)


def test_descriptions_of_features_and_text():
    rng = np.random.default_rng(1)
    y = np.array(["a", "b", "c"])[np.arange(30) % 3]
    X = rng.normal(size=(30, 2))
    found = described_episodes(X, y, [{"a": 2, "c": 1}], n_jobs=1)
    gaps = ((X[:, None] - X) ** 2).sum(axis=-1)
    same = described_episodes(gaps, y, iter([{"c": 1, "a": 2}]), metric="precomputed", n_jobs=1)
    assert found.score == pytest.approx(same.score, abs=1e-14)
    assert np.isnan(found.standard_error)
    assert "mean over 1 descriptions" in repr(found)
