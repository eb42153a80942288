"""Expected scores against the enumeration of all outcomes of every splitter, with ties."""

# ruff: noqa: ARG001 (the factories of splitters share one signature)

from fractions import Fraction

import naive_splits as naive
import numpy as np
import pytest
from exact_bridge import expected_score
from naive_splits import approximate_modes
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.extmath import _approximate_mode

from knnccv import LeaveGroupsOut, complete_cv
from knnccv.sklearn._designs import Shares, StratifiedShuffle
from knnccv.sklearn._splitters import law_of

SEEDS = range(20)
pytestmark = [
    pytest.mark.filterwarnings("ignore:The least populated class"),
    pytest.mark.filterwarnings("ignore:y_pred contains classes"),
]


def kfold(rng, y, groups):
    k = int(rng.integers(2, 5))
    return KFold(k, shuffle=True, random_state=0), naive.kfold_outcomes(len(y), k), "index"


def repeated_kfold(rng, y, groups):
    return RepeatedKFold(n_splits=3, n_repeats=2), naive.kfold_outcomes(len(y), 3), "index"


def stratified_kfold(rng, y, groups):
    k = int(rng.integers(2, np.bincount(y).max() + 1))
    return StratifiedKFold(k, shuffle=True), naive.stratified_kfold_outcomes(y, k), "index"


def repeated_stratified_kfold(rng, y, groups):
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=np.random.RandomState(1))
    return cv, naive.stratified_kfold_outcomes(y, 2), "index"


def shuffle_split(rng, y, groups):
    n_test = int(rng.integers(1, 3))
    n_train = int(rng.integers(3, len(y) - n_test + 1))
    cv = ShuffleSplit(2, test_size=n_test, train_size=n_train)
    return cv, naive.shuffle_outcomes(len(y), n_train, n_test), "random"


def shuffle_split_by_shares(rng, y, groups):
    cv = ShuffleSplit(2, test_size=0.35)
    n_test = -(-35 * len(y) // 100)
    return cv, naive.shuffle_outcomes(len(y), len(y) - n_test, n_test), "random"


def stratified_shuffle_split(rng, y, groups):
    n_classes = y.max() + 1
    n_test = int(rng.integers(n_classes, len(y) - max(n_classes, 3) + 1))
    n_train = int(rng.integers(max(n_classes, 3), len(y) - n_test + 1))
    cv = StratifiedShuffleSplit(2, test_size=n_test, train_size=n_train)
    return cv, naive.stratified_shuffle_outcomes(y.tolist(), n_train, n_test), "random"


def leave_one_out(rng, y, groups):
    return LeaveOneOut(), naive.leave_out_outcomes(len(y), 1), "index"


def leave_p_out(rng, y, groups):
    p = int(rng.integers(2, len(y) - 2))
    return LeavePOut(p), naive.leave_out_outcomes(len(y), p), "index"


def group_kfold(rng, y, groups):
    return GroupKFold(2, shuffle=True), naive.group_kfold_outcomes(groups, 2), "index"


def group_shuffle_split(rng, y, groups):
    n_groups = len(set(groups))
    n_test = int(rng.integers(1, n_groups - 1))
    n_train = int(rng.integers(2, n_groups - n_test + 1))
    cv = GroupShuffleSplit(test_size=n_test, train_size=n_train)
    return cv, naive.group_shuffle_outcomes(groups, n_train, n_test), "index"


def leave_one_group_out(rng, y, groups):
    return LeaveOneGroupOut(), naive.leave_groups_outcomes(groups, 1), "index"


def leave_p_groups_out(rng, y, groups):
    return LeavePGroupsOut(2), naive.leave_groups_outcomes(groups, 2), "index"


STRATIFIED = [stratified_kfold, repeated_stratified_kfold, stratified_shuffle_split]
PLAIN = [kfold, repeated_kfold, shuffle_split, shuffle_split_by_shares, leave_one_out, leave_p_out]
GROUPED = [group_kfold, group_shuffle_split, leave_one_group_out, leave_p_groups_out]
DETERMINISTIC = [leave_one_out, leave_p_out, leave_one_group_out, leave_p_groups_out]


def case(make, seed, tied=True):
    """Make data with duplicates of different labels, a splitter and its outcomes."""
    rng = np.random.default_rng([seed, len(make.__name__)])
    n_classes = int(rng.integers(2, 4))
    n_items = 7 if n_classes == 3 else int(rng.integers(6, 8))
    y = np.concatenate(
        [np.repeat(np.arange(n_classes), 2), rng.integers(0, n_classes, n_items - 2 * n_classes)]
    )
    y = rng.permutation(y)
    X = rng.integers(0, 3, (n_items, 2)).astype(float) if tied else rng.normal(size=(n_items, 2))
    groups = rng.permutation(np.concatenate([np.arange(4), rng.integers(0, 4, n_items - 4)])).tolist()
    cv, outcomes, ties = make(rng, y, groups)
    D = np.abs(X[:, None] - X).sum(axis=2)
    return X, y, groups if make in GROUPED else None, cv, outcomes, ties, D


def neighbors_of(outcomes, seed):
    return 1 + seed % min(3, min(len(train) for _, splits in outcomes for train, _ in splits))


def ask(estimator, X, y, cv, groups, **kwargs):
    return expected_score(estimator, X, y, cv=cv, groups=groups, **kwargs)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", STRATIFIED + PLAIN + GROUPED)
def test_the_expected_accuracy_is_that_of_all_outcomes(make, seed):
    X, y, groups, cv, outcomes, ties, D = case(make, seed)
    for k in {1, neighbors_of(outcomes, seed)}:
        wanted = naive.expectation(outcomes, naive.accuracy(D, y, k, ties))
        found = ask(KNeighborsClassifier(k, metric="manhattan"), X, y, cv, groups)
        assert abs(found.score - wanted) <= found.error_bound + 1e-15
        assert found.exact
        assert found.std_error == 0
        assert found.error_bound < 1e-11
        assert found.ties == ties
        assert found.deterministic == (make in DETERMINISTIC)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", STRATIFIED + PLAIN + GROUPED)
def test_pooled_classifications_have_equal_weight(make, seed):
    X, y, groups, cv, outcomes, ties, D = case(make, seed)
    k = neighbors_of(outcomes, seed)
    wanted = naive.expectation(outcomes, naive.accuracy(D, y, k, ties), pooled=True)
    found = ask(KNeighborsClassifier(k, metric="manhattan"), X, y, cv, groups, average="pooled")
    assert abs(found.score - wanted) <= found.error_bound + 1e-15


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", STRATIFIED + GROUPED + [leave_one_out])
def test_balanced_accuracy_leaves_out_classes_that_a_fold_does_not_test(make, seed):
    X, y, groups, cv, outcomes, ties, D = case(make, seed)
    k = neighbors_of(outcomes, seed)
    wanted = naive.expectation(outcomes, naive.balanced(D, y, k, ties))
    scoring = make_scorer(balanced_accuracy_score, greater_is_better=False)
    found = ask(KNeighborsClassifier(k, metric="manhattan"), X, y, cv, groups, scoring=scoring)
    assert abs(found.score + wanted) <= found.error_bound + 1e-15


def class_means(outcomes, D, y, k, ties):
    """Average the share of correct classifications over classes, for all outcomes together."""
    right, number = {}, {}
    for share, splits in outcomes:
        for train, test in splits:
            for x, score in zip(test, naive.item_scores(D, y, train, test, k, ties), strict=True):
                right[y[x]] = right.get(y[x], 0) + share * score
                number[y[x]] = number.get(y[x], 0) + share
    return naive.mean([right[c] / number[c] for c in right])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", [stratified_shuffle_split, kfold, group_kfold, leave_p_groups_out])
def test_pooled_balanced_accuracy_is_the_mean_of_the_classes(make, seed):
    X, y, groups, cv, outcomes, ties, D = case(make, seed)
    wanted = class_means(outcomes, D, y, 1, ties)
    options = {"scoring": "balanced_accuracy", "average": "pooled"}
    found = ask(KNeighborsClassifier(1, metric="manhattan"), X, y, cv, groups, **options)
    assert abs(found.score - wanted) <= found.error_bound + 1e-15


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "make", [kfold, stratified_shuffle_split, leave_p_out, group_kfold, group_shuffle_split]
)
def test_costs(make, seed):
    X, y, groups, cv, outcomes, ties, D = case(make, seed)
    k = neighbors_of(outcomes, seed)
    n_classes = y.max() + 1
    costs = np.random.default_rng(seed).integers(-3, 9, (n_classes, n_classes))
    wanted = naive.expectation(outcomes, naive.accuracy(D, y, k, ties, loss=costs.tolist()))
    found = ask(KNeighborsClassifier(k, metric="manhattan"), X, y, cv, groups, scoring=costs)
    assert abs(found.score - wanted) <= found.error_bound + 1e-15


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", PLAIN + GROUPED)
def test_squared_errors_of_regression(make, seed):
    X, y, groups, cv, outcomes, ties, D = case(make, seed)
    k = neighbors_of(outcomes, seed)
    rng = np.random.default_rng(seed)
    targets = rng.integers(-8, 9, (len(y), 2)) / 4
    columns = [[Fraction(value) for value in column] for column in targets.T.tolist()]
    wanted = [naive.expectation(outcomes, naive.squared_error(D, column, k, ties)) for column in columns]
    estimator = KNeighborsRegressor(k, metric="manhattan")
    options = {"scoring": "neg_mean_squared_error"}
    one = ask(estimator, X, targets[:, 0], cv, groups, **options)
    both = ask(estimator, X, targets, cv, groups, **options)
    assert abs(one.score + wanted[0]) <= one.error_bound + 1e-14
    assert abs(both.score + sum(wanted) / 2) <= both.error_bound + 1e-14


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("make", STRATIFIED + PLAIN + GROUPED)
def test_scikit_learn_scores_all_outcomes_the_same(make, seed):
    X, y, groups, cv, outcomes, _, _ = case(make, seed, tied=False)
    k = neighbors_of(outcomes, seed)
    estimator = KNeighborsClassifier(k)
    splits = [split for _, some in outcomes for split in some]
    weights = [float(share) / len(some) for share, some in outcomes for _ in some]
    known = sorted({(tuple(train), tuple(test)) for train, test in splits})
    scores = dict(zip(known, cross_val_score(estimator, X, y, cv=known), strict=True))
    wanted = np.average([scores[tuple(train), tuple(test)] for train, test in splits], weights=weights)
    assert ask(estimator, X, y, cv, groups).score == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", STRATIFIED + PLAIN + GROUPED)
def test_the_splitter_draws_from_the_enumerated_outcomes(make, seed):
    X, y, groups, cv, outcomes, ties, _ = case(make, seed)
    known = {(frozenset(train), frozenset(test)) for _, some in outcomes for train, test in some}
    for _ in range(5):
        for train, test in cv.split(X, y, groups):
            assert (frozenset(train.tolist()), frozenset(test.tolist())) in known
            assert ties == "random" or (np.diff(train) > 0).all()


@pytest.mark.parametrize("seed", range(24))
def test_shares_are_scikit_learns_in_its_floating_point(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 13, int(rng.integers(2, 6)))
    n_draws = int(rng.integers(1, counts.sum() + 1))
    shares = Shares.of(counts, n_draws)
    patterns = {tuple(pattern) for pattern in approximate_modes(counts, n_draws)}
    assert set(shares.patterns()) == patterns
    assert len(patterns) == shares.n_patterns
    drawn = {tuple(_approximate_mode(counts, n_draws, state).tolist()) for state in range(60)}
    assert drawn <= patterns
    assert len(drawn) == len(patterns) or len(patterns) > 8
    expected = [Fraction(sum(column), len(patterns)) for column in zip(*patterns, strict=True)]
    assert shares.expected() == expected


def test_equal_remainders_that_differ_in_floats_do_not_tie():
    assert Shares.of(np.array([3, 9, 18]), 4) == Shares((1, 1, 2))
    assert {tuple(_approximate_mode(np.array([3, 9, 18]), 4, s)) for s in range(40)} == {(1, 1, 2)}
    assert Shares.of(np.full(40, 10), 300) == Shares((7,) * 40, tuple(range(40)), 20)


def test_the_pattern_of_a_stratified_shuffle_can_be_read():
    y = np.repeat([0, 1, 2, 3], 5)
    law = law_of(StratifiedShuffleSplit(test_size=6, train_size=10), y, y, None, regression=False)
    assert isinstance(law.design, StratifiedShuffle)
    assert (law.design.train.base, law.design.train.tied, law.design.train.extra) == (
        (2,) * 4,
        (0, 1, 2, 3),
        2,
    )
    assert law.design.n_test == 6


def test_too_many_patterns_for_one_by_one():
    """One kind is enough if a sample's weight is its number of tests; not for balanced accuracy."""
    y = np.repeat(np.arange(40), 10)
    X = np.arange(400.0)[:, None]
    cv = StratifiedShuffleSplit(test_size=0.25)
    model = KNeighborsClassifier(1)
    assert expected_score(model, X, y, cv=cv).exact
    asked = {"cv": cv, "scoring": "balanced_accuracy"}
    with pytest.raises(
        ValueError, match=r"method='auto'.*20 of 40 classes, chosen at random.*1\.4e\+11 patterns"
    ):
        expected_score(model, X, y, **asked)
    found = expected_score(model, X, y, **asked, method="auto", n_repeats=2, random_state=0)
    assert not found.exact
    assert "20 of 40 classes" in found.explanation


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    ("sizes", "n_train", "n_test"),
    [((3, 3), 2, 3), ((4, 4), 3, 3), ((4, 4), 4, 3), ((5, 3), 4, 3), ((3, 3, 2), 3, 4)],
)
def test_numbers_of_tested_items_may_be_drawn_too(sizes, n_train, n_test, k):
    rng = np.random.default_rng([n_train, n_test, *sizes])
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.integers(0, 3, (len(y), 2)).astype(float)
    D = np.abs(X[:, None] - X).sum(axis=2)
    cv = StratifiedShuffleSplit(test_size=n_test, train_size=n_train)
    outcomes = naive.stratified_shuffle_outcomes(y.tolist(), n_train, n_test)
    drawn = {tuple(np.bincount(y[test]).tolist()) for _, ((_, test),) in outcomes}
    assert len(drawn) > 1
    estimator = KNeighborsClassifier(k, metric="manhattan")
    for scoring, average, wanted in (
        ("accuracy", "folds", naive.expectation(outcomes, naive.accuracy(D, y, k, "random"))),
        ("balanced_accuracy", "folds", naive.expectation(outcomes, naive.balanced(D, y, k, "random"))),
        ("balanced_accuracy", "pooled", class_means(outcomes, D, y, k, "random")),
    ):
        found = expected_score(estimator, X, y, cv=cv, scoring=scoring, average=average)
        assert abs(found.score - wanted) <= found.error_bound + 1e-15


def test_too_many_splits_of_groups_weigh_by_what_they_test():
    """20 groups in folds of 7, 7 and 6: 14 of 20 tested groups are tested by sets of 13."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 3)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    found = expected_score(
        KNeighborsClassifier(1), X, y, cv=GroupKFold(3, shuffle=True), groups=groups, average="pooled"
    )
    seven, six = (complete_cv(X, y, "nn", LeaveGroupsOut(groups, p)).score for p in (7, 6))
    assert seven != six
    assert found.score == pytest.approx((14 * seven + 6 * six) / 20, rel=1e-12)
