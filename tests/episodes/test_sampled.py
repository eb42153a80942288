"""Random episodes: their mean against exact values, heads by enumeration, errors, and what results say."""

from __future__ import annotations

import math

import naive_episodes as naive
import numpy as np
import pytest
from scipy.stats import t

from knnccv.datasets import load_wine
from knnccv.episodes import Episodes, expected_episodes, sampled_episodes


def features(n_classes=6, n_features=5, seed=0, spread=1.0):
    """Samples of unequal classes with overlapping normal laws."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), rng.integers(9, 16, n_classes))
    return rng.normal(size=(n_classes, n_features))[y] * spread + rng.normal(size=(len(y), n_features)), y


def test_the_mean_of_many_is_the_exact_score():
    X, y = features()
    rounded = np.rint(X / 2)
    for data, episodes, metric in (
        (X, Episodes(2, 1), "euclidean"),
        (X, Episodes(5, 3), "cosine"),
        (X, Episodes(range(2, 6), (1, 2)), "euclidean"),
        (rounded, Episodes(3, 2), "euclidean"),
    ):
        few = sampled_episodes(
            data, y, episodes, n_episodes=4000, n_query=5, metric=metric, random_state=1, n_jobs=2
        )
        exact = expected_episodes(data, y, episodes, metric=metric, n_jobs=1)
        assert few.std_error == pytest.approx(few.std / math.sqrt(4000))
        assert abs(few.score - exact.score) < 4 * few.std_error
        low, high = few.confidence_interval(0.9999)
        assert low < exact.score < high
    assert exact.n_tied > len(y) / 2


def small():
    """20 samples of 4 classes, few enough to enumerate their episodes."""
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(4), 5)
    return rng.normal(size=(4, 2))[y] + rng.normal(size=(20, 2)), y


def prototype_mean(X, y, n_way, n_shot):
    """The exact mean over all episodes of the nearest prototype, by enumeration."""
    classes, shots, right = sorted(set(y)), dict.fromkeys(y, n_shot), {}
    for x in range(len(y)):
        drawn = np.concatenate([list(every) for every in naive.supports_of(y, x, n_way, shots, classes)])
        gaps = ((X[x] - X[drawn].mean(axis=2)) ** 2).sum(axis=-1)  # of every draw and class, its own first
        right[x] = (gaps.argmin(axis=1) == 0).mean()
    return np.mean([np.mean([right[x] for x in right if y[x] == c]) for c in classes])


def test_prototypes_against_enumeration():
    X, y = small()
    exact = prototype_mean(X, y.tolist(), 3, 2)
    options = {"n_query": 3, "head": "prototype", "random_state": 0, "n_jobs": 1}
    plain, few = (
        sampled_episodes(X, y, Episodes(3, 2), n_episodes=5000, control_variate=controlled, **options)
        for controlled in (False, True)
    )
    assert abs(plain.score - exact) < 4 * plain.std_error
    assert math.isnan(plain.r2)
    assert abs(few.score - exact) < 4 * few.std_error
    assert 0.1 < few.r2 < 1
    # Two coefficients are fitted, so n - 2 degrees of freedom are left.
    for n in (6, 5000):
        found = sampled_episodes(X, y, Episodes(3, 2), n_episodes=n, control_variate=True, **options)
        expected = math.sqrt((1 - found.r2) * found.accuracies.var() / (n - 2))
        assert 0 < found.r2 < 1
        assert found.std_error == pytest.approx(expected, rel=1e-12)
    assert few.exact_nearest == expected_episodes(X, y, Episodes(3, 2), n_jobs=1).score


def test_one_shot_prototypes_are_the_nearest_supports():
    X, y = features()
    options = {"n_episodes": 50, "n_query": 4, "random_state": 7, "n_jobs": 1}
    near, proto, same = (
        sampled_episodes(X, y, Episodes(4, 1), head=head, control_variate=controlled, **options)
        for head, controlled in (("nearest", False), ("prototype", False), ("prototype", True))
    )
    assert (near.accuracies == proto.accuracies).all()
    assert same.r2 == pytest.approx(1)
    assert same.score == pytest.approx(same.exact_nearest)


def test_the_paired_difference_of_two_embeddings():
    X, y = features(n_classes=8)
    worse = X + np.random.default_rng(0).normal(size=X.shape)
    one, other = (
        expected_episodes(data, y, Episodes(3, 1), jackknife="class", n_jobs=1) for data in (X, worse)
    )
    for r in (one, other):
        squares = (r.score_without - r.score_without.mean()) ** 2
        assert r.standard_error() == pytest.approx(math.sqrt(7 / 8 * squares.sum()))
    found = one.difference(other)
    assert float(found) == one.score - other.score
    without = one.score_without - other.score_without
    spread = ((without - without.mean()) ** 2).sum()
    assert found.standard_error() == pytest.approx(math.sqrt(7 / 8 * spread))
    assert found.per_item == pytest.approx(one.per_item - other.per_item)
    alone = expected_episodes(X, y, Episodes(3, 1), n_jobs=1)
    assert math.isnan(alone.difference(other).standard_error())
    assert math.isnan(alone.standard_error())
    for deleted in (0, 5):
        kept = y != deleted
        rest = expected_episodes(X[kept], y[kept], Episodes(3, 1), n_jobs=1)
        assert one.score_without[deleted] == pytest.approx(rest.score, abs=1e-13)


def test_frames():
    X, y = features()
    found = expected_episodes(X, y, Episodes(range(2, 4), [2, 1]), n_jobs=1)
    frame = found.to_frame()
    assert list(frame.columns) == ["n_way", "n_shot", "score"]
    asked = frame[frame.n_way.isin((2, 3))]
    assert asked.score.mean() == pytest.approx(found.score, abs=1e-14)
    for way, shot, score in frame.itertuples(index=False):
        assert found.accuracy_table[way, shot] == score


def test_intervals_of_exact_and_of_sampled_episodes():
    wine = load_wine()
    asked = wine.y, Episodes(2, 1)
    one, two = (expected_episodes(X, *asked, jackknife="class") for X in (wine.X, wine.X[:, :3]))
    gap, drawn = one.difference(two), sampled_episodes(wine.X, *asked, n_episodes=60, random_state=0)
    for found, value, error, n_free in (
        (one, one.score, one.standard_error(), 2),
        (gap, gap.difference, gap.standard_error(), 2),
        (drawn, drawn.score, drawn.std_error, np.inf),
    ):
        interval = found.confidence_interval(0.9)
        assert tuple(interval) == pytest.approx(t.interval(0.9, n_free, value, error))
        assert interval.confidence_level == 0.9
    with pytest.raises(ValueError, match=r"^pass jackknife='class' for a confidence interval"):
        expected_episodes(wine.X, *asked).confidence_interval()
