"""`tuned_score`: its mean against plain nested runs, choices and optimism, control variates, refusals."""

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.model_selection import StratifiedKFold as SklearnStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    RebalancedLeaveOneOut,
    StratifiedKFold,
    TunedScore,
    complete_cv,
    tuned_score,
)
from knnccv.scorings import controlled_mean


def data(seed=0, n_items=48, n_classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_classes
    return rng.normal(size=(n_items, 2)) * [1, 4] + 0.8 * y[:, None], y


KS = [1, 3, 5, 9, 15]


def share_right(distances, y, train, test, k):
    """The share of right votes of K of two classes; a sample does not vote on itself."""
    gaps = np.where(np.arange(len(y)) == np.array(test)[:, None], np.inf, distances[test])[:, train]
    nearest = np.array(train)[np.argsort(gaps, axis=1)[:, :k]]
    return float(((y[nearest].mean(axis=1) > 0.5) == y[test]).mean())


@pytest.mark.parametrize("inner", ["loo", 4])
def test_the_mean_is_that_of_plain_nested_runs(inner):
    X, y = data()
    found = tuned_score(X, y, KS, 4, inner=inner, n_runs=3000, random_state=1)
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    outer_scores, inner_scores = np.empty((2, 200, 4))
    for seed in range(200):
        outer = SklearnStratifiedKFold(4, shuffle=True, random_state=seed)
        for fold, (train, test) in enumerate(outer.split(X, y)):
            splits = [(train, train)]
            if inner != "loo":
                within = SklearnStratifiedKFold(inner, shuffle=True, random_state=seed)
                splits = [(train[a], train[b]) for a, b in within.split(X[train], y[train])]
            inside = [np.mean([share_right(distances, y, *split, k) for split in splits]) for k in KS]
            outer_scores[seed, fold] = share_right(distances, y, train, test, KS[int(np.argmax(inside))])
            inner_scores[seed, fold] = max(inside)
    runs, best = outer_scores.mean(axis=1), inner_scores.mean(axis=1)
    for mine, error, theirs in (
        (found.score, found.std_error, runs),
        (found.optimism, found.optimism_std_error, best - runs),
        (found.inner_score, found.optimism_std_error, best),
    ):
        assert abs(mine - theirs.mean()) < 4 * np.hypot(error, theirs.std() / np.sqrt(200))
    assert found.std == pytest.approx(runs.std(), rel=0.2)
    assert found.std_error < found.std / np.sqrt(found.n_runs)


def test_stated_errors_are_those_of_repetitions():
    X, y = data()
    many = [tuned_score(X, y, KS, 4, n_runs=512, random_state=seed) for seed in range(100)]
    for value, error in (("score", "std_error"), ("optimism", "optimism_std_error")):
        observed = np.std([getattr(one, value) for one in many])
        stated = np.sqrt(np.mean([getattr(one, error) ** 2 for one in many]))
        assert 0.75 < stated / observed < 1.3


def test_one_candidate_has_the_exact_score_and_no_optimism_but_that_of_smaller_sets():
    X, y = data()
    found = tuned_score(X, y, 3, KFold(4), n_runs=600)
    assert found.score == pytest.approx(
        complete_cv(X, y, "knn", KFold(4), n_neighbors=3, ties="index").score
    )
    assert found.std_error < 1e-12
    assert found.choices == {(3, "euclidean", "raw"): 1.0}
    assert abs(found.optimism) < 0.02


def test_metrics_and_scalings_are_candidates_in_order():
    X, y = data(2)
    found = tuned_score(
        X, y, [1, 5], 4, metric=["euclidean", "manhattan"], scaling=["raw", "standardized"], n_runs=700
    )
    assert list(found.choices) == [
        (k, metric, scaling)
        for metric in ("euclidean", "manhattan")
        for scaling in ("raw", "standardized")
        for k in (1, 5)
    ]
    assert sum(found.choices.values()) == pytest.approx(1)
    assert found.choices[found.most_chosen] == max(found.choices.values())
    by_hand = StandardScaler().fit_transform(X)
    alone = tuned_score(by_hand, y, [1, 5], 4, n_runs=100)
    scaled = tuned_score(X, y, [1, 5], 4, scaling="standardized", n_runs=100)
    np.testing.assert_array_equal(alone.scores, scaled.scores)
    assert float(found) == found.score
    assert "8 by leave-one-out, 700 runs of StratifiedKFold(n_splits=4)" in repr(found)
    assert f"{found:.2f}" == f"{found.score:.2f}"


def test_the_same_for_any_threads_and_another_for_another_seed():
    X, y = data(3, 60, 3)
    one, two = (tuned_score(X, y, KS, 3, inner=3, n_runs=700, n_jobs=jobs) for jobs in (1, 3))
    assert one.score == two.score
    assert one.choices == two.choices
    np.testing.assert_array_equal(one.scores, two.scores)
    assert tuned_score(X, y, KS, 3, inner=3, n_runs=700, random_state=1).score != one.score


def test_leave_one_out_can_be_the_outer_split_and_neighbors_the_data():
    X, y = data(4)
    found = tuned_score(Neighbors.from_data(X), y, KS, LeaveOut(1), n_runs=2000)
    assert set(found.scores) <= {0.0, 1.0}
    one_by_one = [
        cross_val_score(KNeighborsClassifier(k, algorithm="brute"), X, y, cv=LeaveOneOut()).mean()
        for k in KS
    ]
    assert min(one_by_one) - 0.1 < found.score < max(one_by_one) + 0.1


def test_controlled_means_are_unbiased_and_their_errors_right():
    """Two controls of known means: the mean of the values over 400 repetitions, and stated errors."""
    rng, found = np.random.default_rng(0), []
    for _ in range(400):
        controls = rng.normal([1, 2], size=(60, 2))
        values = controls @ [0.5, -1] + 0.1 * rng.normal(size=60) + 0.1 * (controls[:, 0] - 1) ** 2
        found.append(controlled_mean(values, controls, np.array([1.0, 2.0]))[:2])
    means, errors = np.transpose(found)
    assert abs(means.mean() - (0.5 - 2 + 0.1)) < 4 * means.std() / 20
    assert 0.85 < np.sqrt((errors**2).mean()) / means.std() < 1.15
    assert means.std() < 0.05  # of the values alone 1.12 / sqrt(60) = 0.144
    assert controlled_mean([2.0, 4.0], np.empty((2, 0)), []) == (3.0, pytest.approx(1.0), 1.0)
    mean, *rest = controlled_mean([2.0], np.empty((1, 0)), [])
    assert mean == 2.0
    assert np.isnan(rest).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 40}, r"n_neighbors must be between 1 and 36, .*, got 40"),
        (
            {"n_neighbors": 36},
            r"and 35, the size of .* without the samples left out of it, got 36",
        ),
        ({"n_neighbors": 33, "inner": 4}, r"n_neighbors must be between 1 and 2\d, the size of .*, got 33"),
        ({"n_neighbors": []}, r"a list of different values, got \[\]"),
        ({"n_neighbors": [1, 3, 1]}, r"a list of different values"),
        ({"n_neighbors": 0}, "n_neighbors must be at least 1, got 0"),
        ({"inner": "l1o"}, "inner must be 'loo', a number of folds"),
        ({"inner": LeaveOut(2)}, "inner must be 'loo', a number of folds"),
        ({"inner": 37}, "inner must be between 1 and 36, the size of the smallest training set, got 37"),
        ({"scaling": "max"}, "scaling must be one of 'raw', 'standardized', 'min-max', got 'max'"),
        ({"cv": LeaveGroupsOut(np.arange(48) // 4)}, "cv must be a design of single samples"),
        ({"cv": RebalancedLeaveOneOut()}, "cv must be a design of single samples"),
        ({"n_runs": 0}, "n_runs must be at least 1, got 0"),
    ],
)
def test_what_is_refused(arguments, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        tuned_score(X, y, **({"n_neighbors": KS, "cv": StratifiedKFold(4)} | arguments))


def test_scaled_neighbors_and_short_lists_are_refused():
    X, y = data()
    near = Neighbors.from_data(X)
    with pytest.raises(ValueError, match="scaling must be 'raw' for <Neighbors"):
        tuned_score(near, y, KS, scaling="standardized")
    items, _ = near.kneighbors(16)
    with pytest.raises(ValueError, match="give longer neighbor lists"):
        tuned_score(Neighbors.from_lists(items, None), y, KS)


def test_one_run_has_no_spread():
    X, y = data()
    found = tuned_score(X, y, KS, n_runs=1)
    assert isinstance(found, TunedScore)
    assert np.isnan(found.std)
    assert np.isnan(found.std_error)
    assert found.score == found.scores[0]
