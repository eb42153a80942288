"""Random episodes: their mean against exact values, and plain implementations of both heads."""

from __future__ import annotations

import math

import naive_episodes as naive
import numpy as np
import pytest

from knnccv.episodes import Episodes, expected_episodes, sampled_episodes


def features(n_classes=6, n_features=5, seed=0, spread=1.0):
    """Samples of unequal classes with overlapping normal laws."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), rng.integers(9, 16, n_classes))
    return rng.normal(size=(n_classes, n_features))[y] * spread + rng.normal(size=(len(y), n_features)), y


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    "episodes", [Episodes(2, 1), Episodes(5, 3), Episodes(range(2, 6), (1, 2))], ids=str
)
def test_the_mean_of_many_is_the_exact_score(episodes, metric):
    X, y = features()
    few = sampled_episodes(
        X, y, episodes, n_episodes=4000, n_query=5, metric=metric, random_state=1, n_jobs=2
    )
    exact = expected_episodes(X, y, episodes, metric=metric, n_jobs=1).score
    assert few.standard_error == pytest.approx(few.std / math.sqrt(4000))
    assert abs(few.score - exact) < 4 * few.standard_error
    low, high = few.confidence_interval(0.9999)
    assert low < exact < high


def test_ties_are_broken_at_random():
    X, y = features()
    X = np.rint(X / 2)
    few = sampled_episodes(X, y, Episodes(3, 2), n_episodes=4000, n_query=5, random_state=3, n_jobs=1)
    exact = expected_episodes(X, y, Episodes(3, 2), n_jobs=1)
    assert exact.tied > len(y) / 2
    assert abs(few.score - exact.score) < 4 * few.standard_error


def prototype_mean(X, y, n_way, n_shot):
    """The exact mean over all episodes of the nearest prototype, by enumeration."""
    from itertools import combinations, product

    means, classes = [], sorted(set(y))
    for c in classes:
        of_class = []
        for x in [x for x in range(len(y)) if y[x] == c]:
            right = []
            for others in combinations([d for d in classes if d != c], n_way - 1):
                pools = naive.pools_of(y, x, others)
                for drawn in product(*(list(combinations(pool, n_shot)) for pool in pools)):
                    gaps = [((X[x] - X[list(one)].mean(axis=0)) ** 2).sum() for one in drawn]
                    right.append(int(np.argmin(gaps) == 0))
            of_class.append(np.mean(right))
        means.append(np.mean(of_class))
    return np.mean(means)


@pytest.mark.parametrize("control_variate", [False, True])
def test_prototypes_against_enumeration(control_variate):
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(4), 5)
    X = rng.normal(size=(4, 2))[y] + rng.normal(size=(20, 2))
    exact = prototype_mean(X, y.tolist(), 3, 2)
    few = sampled_episodes(
        X,
        y,
        Episodes(3, 2),
        n_episodes=5000,
        n_query=3,
        head="prototype",
        control_variate=control_variate,
        random_state=0,
        n_jobs=1,
    )
    assert abs(few.score - exact) < 4 * few.standard_error
    if control_variate:
        assert 0.1 < few.r2 < 1
        assert few.standard_error == pytest.approx(few.std * math.sqrt((1 - few.r2) / 5000), rel=1e-3)
        assert few.exact_nearest == expected_episodes(X, y, Episodes(3, 2), n_jobs=1).score
    else:
        assert math.isnan(few.r2)


def test_the_error_of_few_controlled_episodes_is_that_of_a_regression():
    """Two coefficients are fitted, so n - 2 degrees of freedom are left."""
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(4), 5)
    X = rng.normal(size=(4, 2))[y] + rng.normal(size=(20, 2))
    found = sampled_episodes(
        X,
        y,
        Episodes(3, 2),
        n_episodes=6,
        n_query=3,
        head="prototype",
        control_variate=True,
        random_state=0,
    )
    expected = math.sqrt((1 - found.r2) * found.accuracies.var() / (6 - 2))
    assert 0 < found.r2 < 1
    assert found.standard_error == pytest.approx(expected, rel=1e-12)


def test_one_shot_prototypes_are_the_nearest_supports():
    X, y = features()
    both = [
        sampled_episodes(
            X, y, Episodes(4, 1), n_episodes=50, n_query=4, head=head, random_state=7, n_jobs=1
        )
        for head in ("nearest", "prototype")
    ]
    assert (both[0].accuracies == both[1].accuracies).all()
    same = sampled_episodes(
        X,
        y,
        Episodes(4, 1),
        n_episodes=50,
        n_query=4,
        head="prototype",
        control_variate=True,
        random_state=7,
        n_jobs=1,
    )
    assert same.r2 == pytest.approx(1)
    assert same.score == pytest.approx(same.exact_nearest)


def test_threads_do_not_change_the_episodes():
    X, y = features()
    runs = [
        sampled_episodes(X, y, Episodes(5, 2), n_episodes=200, n_query=5, random_state=5, n_jobs=n)
        for n in (1, 2, 5)
    ]
    assert (runs[0].accuracies == runs[1].accuracies).all()
    assert (runs[0].accuracies == runs[2].accuracies).all()
    assert "200 random 5-way 2-shot episodes of 5 queries per class" in repr(runs[0])


def test_the_paired_difference_of_two_embeddings():
    X, y = features(n_classes=8)
    rng = np.random.default_rng(0)
    worse = X + rng.normal(size=X.shape)
    one, other = (
        expected_episodes(data, y, Episodes(3, 1), jackknife="class", n_jobs=1) for data in (X, worse)
    )
    found = one.difference(other)
    assert float(found) == one.score - other.score
    without = one.score_without - other.score_without
    assert found.standard_error == pytest.approx(math.sqrt(7 / 8 * ((without - without.mean()) ** 2).sum()))
    assert found.per_item == pytest.approx(one.per_item - other.per_item)
    assert math.isnan(expected_episodes(X, y, Episodes(3, 1), n_jobs=1).difference(other).standard_error)
    for deleted in (0, 5):
        kept = y != deleted
        alone = expected_episodes(X[kept], y[kept], Episodes(3, 1), n_jobs=1)
        assert one.score_without[deleted] == pytest.approx(alone.score, abs=1e-13)
    assert "standard error" in repr(found)
    assert "over classes" in repr(one)
    with pytest.raises(ValueError, match="different episodes"):
        one.difference(expected_episodes(X, y, Episodes(2, 1), n_jobs=1))
    with pytest.raises(ValueError, match="same y"):
        one.difference(expected_episodes(X, y[::-1], Episodes(3, 1), n_jobs=1))
    with pytest.raises(TypeError, match="other must be an EpisodeScore"):
        one.difference(0.5)


@pytest.mark.slow
def test_the_jackknife_tells_the_luck_of_the_classes():
    """Scores of many random sets of classes scatter as much as the jackknife of each says."""
    rng = np.random.default_rng(0)
    scores, errors = [], []
    y = np.repeat(np.arange(12), 12)
    for _ in range(200):
        centers = rng.normal(size=(12, 4)) * rng.exponential(1, size=(12, 1))
        X = centers[y] + 0.7 * rng.normal(size=(len(y), 4))
        found = expected_episodes(X, y, Episodes(3, 1), jackknife="class", all_ways=False, n_jobs=1)
        scores.append(found.score)
        errors.append(found.standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(scores, ddof=1), rel=0.2)
