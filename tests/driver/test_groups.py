"""Leaving out whole groups: scikit-learn's splits, deep lists, and what is refused."""

import math
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneGroupOut, LeavePGroupsOut, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from knnccv import LeaveGroupsOut, LeaveOut, Neighbors, complete_cv, monte_carlo_cv
from knnccv_variants.nearest import NN
from knnccv_variants.votes import KNN


def blobs(n_items=300, n_groups=25, n_classes=3, decimals=15):
    """Groups that cluster, of very unequal sizes."""
    rng = np.random.default_rng(0)
    groups = np.minimum(rng.geometric(0.15, n_items) - 1, n_groups - 1)
    groups[:n_groups] = np.arange(n_groups)
    groups = rng.permutation(groups)
    y = rng.integers(0, n_classes, n_items)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    X = rng.normal(size=(n_items, 2)) + 1.5 * rng.normal(size=(n_groups, 2))[groups] + 0.8 * y[:, None]
    return X.round(decimals), y, groups


def test_one_group_out_is_scikit_learns():
    """Mean over folds and share of right predictions, where nothing ties."""
    X, y, groups = blobs()
    asked = {"groups": groups, "cv": LeaveOneGroupOut()}
    for k in (1, 3, 4):
        found, model = (
            complete_cv(X, y, "knn", LeaveGroupsOut(groups), n_neighbors=k),
            KNeighborsClassifier(k),
        )
        predicted = cross_val_predict(model, X, y, **asked)
        assert found.score == pytest.approx((predicted == y).mean(), abs=1e-13)
        folds = [found.per_item[groups == group].mean() for group in np.unique(groups)]
        np.testing.assert_allclose(folds, cross_val_score(model, X, y, **asked), atol=1e-13)


def test_several_groups_out_are_scikit_learns():
    X, y, groups = blobs(80, 7)
    for k in (1, 2, 5):
        right, errors = [], []
        for train, test in LeavePGroupsOut(3).split(X, y, groups):
            right.extend(KNeighborsClassifier(k).fit(X[train], y[train]).predict(X[test]) == y[test])
            errors.extend((KNeighborsRegressor(k).fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2)
        votes = complete_cv(X, y, "knn", LeaveGroupsOut(groups, 3), n_neighbors=k)
        assert votes.score == pytest.approx(np.mean(right), rel=1e-12)
        assert votes.n_train_sets == math.comb(7, 3)
        means = complete_cv(X, y, "regression", LeaveGroupsOut(groups, 3), n_neighbors=k)
        assert means.score == pytest.approx(np.mean(errors), rel=1e-12)


def test_groups_of_one_item_are_leave_p_out():
    X, y, _ = blobs(60, decimals=0)
    groups = np.random.default_rng(0).permutation(60)
    for p in (1, 2, 30, 59):
        for ties in ("index", "random"):
            expected = complete_cv(X, y, "nn", LeaveOut(p), ties=ties)
            found = complete_cv(X, y, "nn", LeaveGroupsOut(groups, p), ties=ties)
            np.testing.assert_allclose(found.per_item, expected.per_item, atol=1e-13)
            assert found.n_train_sets == expected.n_train_sets


def test_items_deep_in_their_own_group_are_asked_again():
    """Every sample has its 59 nearest neighbors in its own group."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(5), 60)
    X = rng.normal(size=(300, 2)) + 1000 * rng.normal(size=(5, 2))[groups]
    y = rng.integers(0, 2, 300)
    for variant, p in (("knn", 1), ("nn", 2)):
        found = complete_cv(X, y, variant, LeaveGroupsOut(groups, p))
        assert found.depth > 59
        assert found.error_bound < 1e-12
        exact = complete_cv(X, y, variant, LeaveGroupsOut(groups, p), exact=True)
        assert found.score == pytest.approx(float(exact.exact), abs=1e-13)


def test_lists_of_many_samples_are_cut_with_a_bound():
    X, y, groups = blobs(1000, 60)
    for variant, p in (("nn", 12), ("knn", 1)):
        whole = complete_cv(X, y, variant, LeaveGroupsOut(groups, p), tol=0)
        assert whole.depth == 999
        for tol in (0.2, 0.01, 1e-6):
            found = complete_cv(X, y, variant, LeaveGroupsOut(groups, p), tol=tol)
            assert found.depth <= 999 - (variant == "nn")
            assert abs(found.score - whole.score) <= found.error_bound <= tol


def test_names_of_groups_do_not_matter():
    X, y, groups = blobs()
    expected = complete_cv(X, y, "nn", LeaveGroupsOut(groups, 2)).score
    names = [("subject", int(group)) if group % 2 else f"s{group}" for group in groups]
    dates = np.datetime64("2020-01-01") + groups
    for given in (groups.tolist(), names, dates, groups / 2, [str(g) for g in groups], groups[::-1][::-1]):
        assert complete_cv(X, y, "nn", LeaveGroupsOut(given, 2)).score == expected


def test_blocks_and_processes_change_no_bit(monkeypatch):
    X, y, groups = blobs(decimals=1)
    with ProcessPoolExecutor(1) as pool:
        for variant, p in (("knn", 1), ("nn", 5), ("knn", 2)):
            asked = X, y, variant, LeaveGroupsOut(groups, p)
            one = complete_cv(*asked, n_jobs=1)
            np.testing.assert_array_equal(complete_cv(*asked, executor=pool).per_item, one.per_item)
            with monkeypatch.context() as patch:
                patch.setattr("knnccv.neighbors._engines.engine.STORED_ROWS", 7)
                near = Neighbors.from_data(X)
                near.kneighbors(20)
                for _ in range(2):
                    again = complete_cv(near, *asked[1:], n_jobs=2)
                    np.testing.assert_array_equal(again.per_item, one.per_item)


@pytest.mark.slow
def test_runs_are_unbiased():
    X, y, groups = blobs()
    for variant, p in [("nn", 4), ("knn", 1), ("rank", 1), ("knn", 3), ("rank", 3)]:
        for average in ("pooled", "item", "class"):
            asked = X, y, variant, LeaveGroupsOut(groups, p)
            few = monte_carlo_cv(*asked, n_repeats=3000, random_state=0, average=average)
            exact = complete_cv(*asked, average=average)
            assert abs(few.score - exact.score) < 5 * few.standard_error
            assert few.error_bound == 0


def test_training_sets_smaller_than_a_rank_are_looked_at_whole():
    X, y, groups = blobs(40, 6)
    found = complete_cv(X, y, "rank", LeaveGroupsOut(groups), rank=100)
    expected = [float((y[groups[x] != groups] == y[x]).any()) for x in range(40)]
    np.testing.assert_allclose(found.per_item, expected, atol=1e-12)
    most = 40 - int(np.bincount(groups).max())
    assert complete_cv(X, y, "knn", LeaveGroupsOut(groups), n_neighbors=most).score > 0
    with pytest.raises(ValueError, match=f"between 1 and {most}, the size of the training set"):
        complete_cv(X, y, "knn", LeaveGroupsOut(groups), n_neighbors=most + 1)


def test_tied_targets_of_groups_are_counted():
    X, y = np.repeat([0.0, 1.0, 2.0], 2)[:, None], np.arange(6.0)
    assert complete_cv(X, y, "regression", LeaveGroupsOut(np.arange(6), 3), n_neighbors=1).tied == 6


def test_plugins_need_a_kernel_for_fixed_sizes():
    X, y, groups = blobs(40, 6)
    design = LeaveGroupsOut(groups, 3)
    voted = type("Voted", (KNN,), {"name": "voted", "stratified": None})
    expected = complete_cv(X, y, "knn", design, n_neighbors=3)
    assert complete_cv(X, y, voted, design, n_neighbors=3).score == expected.score
    with pytest.raises(ValueError, match="no kernel for fixed-size training sets"):
        complete_cv(X, y, type("Stratified", (NN,), {"fixed": None}), design)
