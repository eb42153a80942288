"""Leaving out whole groups, against the enumeration of all sets of groups."""

import math
import pickle
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction

import naive
import numpy as np
import pytest
from problems import SETTINGS, plain, problem

import knnccv.neighbors
from knnccv import LeaveGroupsOut, LeaveOut, Neighbors, complete_cv, get_variant, monte_carlo_cv
from knnccv.driver import AVERAGES, validate_problem
from knnccv.runs import draw_runs

N_PROBLEMS = 60


def groups_of(case, seed):
    """2 to 5 groups of unequal sizes, their labels in no order."""
    rng = np.random.default_rng([seed, 1])
    n_items = len(case.y)
    n_groups = int(rng.integers(2, min(5, n_items) + 1))
    groups = rng.integers(0, n_groups, n_items)
    groups[rng.permutation(n_items)[:n_groups]] = np.arange(n_groups)
    return np.array(list("dbeac"))[groups]


def designs(case, seed):
    groups = groups_of(case, seed)
    for p in range(1, len(set(groups))):
        yield LeaveGroupsOut(groups, p), naive.leave_groups_out(groups, p)


def smallest(listed):
    return min(len(training) for (training,) in listed.outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(N_PROBLEMS // 20))
def test_every_rule_tie_rule_and_average_equals_the_enumeration(chunk):
    compared = 0
    for seed in range(20 * chunk, 20 * chunk + 20):
        case = problem(seed)
        inputs = case.distances.tolist(), case.y.tolist()
        for design, listed in designs(case, seed):
            # Every seed meets half of the settings: all meet every kind of distances, design and average.
            for s, (variant, setting) in enumerate(SETTINGS):
                if (s + seed // 4) % 2 or setting.get("n_neighbors", 1) > smallest(listed):
                    continue
                parameters = case.parameters(setting)
                for ties in get_variant(variant).tie_rules:
                    average = AVERAGES[(s + seed) % 3]
                    expected = naive.complete(*inputs, variant, listed, average, ties, **plain(parameters))
                    asked = {"metric": "precomputed", "ties": ties, "average": average, "n_jobs": 1}
                    asked |= parameters
                    where = f"seed {seed}: {variant} {setting} {design} {ties} {average}"
                    rational = complete_cv(case.distances, case.y, variant, design, exact=True, **asked)
                    assert rational.exact == expected, where
                    found = complete_cv(case.distances, case.y, variant, design, **asked)
                    off = abs(Fraction(found.score) - expected)
                    assert off <= Fraction(1, 10**12) * max(abs(expected), 1), where
                    assert off <= found.error_bound < 2e-12, where  # log losses reach 36
                    assert found.n_train_sets == naive.training_sets(listed), where
                    compared += 1
    assert compared > 200


@pytest.mark.parametrize("seed", range(20))
def test_many_ties_among_groups_of_many_sizes(seed):
    """Distances of few values, so that tied groups mix new groups, passed ones and the own one."""
    rng = np.random.default_rng([seed, 2])
    n_items, n_groups = 9, int(rng.integers(3, 6))
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n_items - n_groups)])
    groups = rng.permutation(groups)
    distances = rng.integers(0, 1 + seed % 3, (n_items, n_items)).astype(float)
    y = rng.integers(0, 3, n_items)
    y[:3] = [0, 1, 2]
    loss = rng.integers(-3, 9, (3, 3))
    for p in range(1, n_groups):
        design, listed = LeaveGroupsOut(groups, p), naive.leave_groups_out(groups, p)
        for setting in ({}, {"loss": loss}):
            asked = {"metric": "precomputed", "ties": "random", **setting}
            expected = naive.per_item(distances, y, "nn", listed, "random", **plain(setting))
            rational = complete_cv(distances, y, "nn", design, exact=True, **asked)
            assert list(rational.per_item_exact) == expected
            found = complete_cv(distances, y, "nn", design, **asked)
            np.testing.assert_allclose(found.per_item, [float(a) for a in expected], rtol=0, atol=2e-14)


@pytest.mark.parametrize("seed", range(12))
def test_weights_count_classifications(seed):
    case = problem(seed)
    for design, listed in designs(case, seed):
        for average in AVERAGES:
            found = complete_cv(
                case.distances, case.y, "nn", design, metric="precomputed", average=average, ties="index"
            )
            expected = naive.item_weights(case.y.tolist(), listed, average)
            np.testing.assert_allclose(found.weights, [float(w) for w in expected], rtol=1e-15)


def blobs(n_items=300, n_groups=25, n_classes=3, seed=0, decimals=None):
    """Groups that cluster, of very unequal sizes."""
    rng = np.random.default_rng(seed)
    groups = np.minimum(rng.geometric(0.15, n_items) - 1, n_groups - 1)
    groups[:n_groups] = np.arange(n_groups)
    groups = rng.permutation(groups)
    y = rng.integers(0, n_classes, n_items)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    X = rng.normal(size=(n_items, 2)) + 1.5 * rng.normal(size=(n_groups, 2))[groups] + 0.8 * y[:, None]
    return (X if decimals is None else X.round(decimals)), y, groups


@pytest.mark.parametrize("k", [1, 3, 4])
def test_one_group_out_is_scikit_learns(k):
    """Mean over folds and share of right predictions, where nothing ties."""
    pytest.importorskip("sklearn")
    from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    X, y, groups = blobs()
    found = complete_cv(X, y, "knn", LeaveGroupsOut(groups), n_neighbors=k)
    asked = {"groups": groups, "cv": LeaveOneGroupOut()}
    model = KNeighborsClassifier(k)
    assert found.score == pytest.approx((cross_val_predict(model, X, y, **asked) == y).mean(), abs=1e-13)
    folds = [found.per_item[groups == group].mean() for group in np.unique(groups)]
    np.testing.assert_allclose(folds, cross_val_score(model, X, y, **asked), atol=1e-13)


def test_several_groups_out_is_scikit_learns():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import LeavePGroupsOut
    from sklearn.neighbors import KNeighborsClassifier

    X, y, groups = blobs(80, 7)
    right = []
    for train, test in LeavePGroupsOut(3).split(X, y, groups):
        model = KNeighborsClassifier(1).fit(X[train], y[train])
        right.extend(model.predict(X[test]) == y[test])
    for variant, setting in [("nn", {}), ("knn", {"n_neighbors": 1}), ("rank", {"rank": 1})]:
        found = complete_cv(X, y, variant, LeaveGroupsOut(groups, 3), **setting)
        assert found.score == pytest.approx(np.mean(right), rel=1e-12)
        assert found.n_train_sets == math.comb(7, 3)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_votes_with_several_groups_out_are_scikit_learns(k):
    pytest.importorskip("sklearn")
    from sklearn.model_selection import LeavePGroupsOut
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    X, y, groups = blobs(80, 7)
    right, errors = [], []
    for train, test in LeavePGroupsOut(3).split(X, y, groups):
        right.extend(KNeighborsClassifier(k).fit(X[train], y[train]).predict(X[test]) == y[test])
        errors.extend((KNeighborsRegressor(k).fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2)
    votes = complete_cv(X, y, "knn", LeaveGroupsOut(groups, 3), n_neighbors=k)
    assert votes.score == pytest.approx(np.mean(right), rel=1e-12)
    assert votes.n_train_sets == math.comb(7, 3)
    means = complete_cv(X, y, "regression", LeaveGroupsOut(groups, 3), n_neighbors=k)
    assert means.score == pytest.approx(np.mean(errors), rel=1e-12)


@pytest.mark.parametrize("seed", range(15))
def test_rules_of_several_items_item_by_item(seed):
    """Heavily tied distances and groups of unequal sizes, some training sets smaller than R."""
    rng = np.random.default_rng([seed, 4])
    n_items, n_groups = 8, int(rng.integers(3, 6))
    groups = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 8 - n_groups)]))
    distances = rng.integers(0, 2 + seed % 3, (n_items, n_items)).astype(float)
    y = rng.permutation([0, 1, 2, 0, 1, 2, 0, 1])
    for p in range(2, n_groups):
        design, listed = LeaveGroupsOut(groups, p), naive.leave_groups_out(groups, p)
        most = smallest(listed)
        rules = [("rank", {"rank": 2}), ("rank", {"rank": 5})]
        if most >= 2:
            rules += [("knn", {"n_neighbors": 2}), ("confidence", {"n_neighbors": 2, "score": "brier"})]
        if most >= 3:
            rules += [("knn", {"n_neighbors": 3, "vote_ties": "random"})]
        for variant, setting in rules:
            for ties in ("index", "random"):
                asked = {"metric": "precomputed", "ties": ties, **setting}
                expected = naive.per_item(distances, y, variant, listed, ties, **setting)
                rational = complete_cv(distances, y, variant, design, exact=True, **asked)
                assert list(rational.per_item_exact) == expected
                found = complete_cv(distances, y, variant, design, **asked)
                np.testing.assert_allclose(found.per_item, [float(a) for a in expected], rtol=0, atol=2e-14)
                assert found.tied == rational.tied


@pytest.mark.parametrize("tol", [0, 0.01, 1e-9])
def test_votes_of_groups_are_cut_with_a_bound(tol):
    X, y, groups = blobs(600, 30)
    design = LeaveGroupsOut(groups, 3)
    found = complete_cv(X, y, "knn", design, tol=tol)
    whole = complete_cv(X, y, "knn", design, tol=0)
    assert abs(found.score - whole.score) <= found.error_bound <= tol + 1e-11
    short = complete_cv(Neighbors.from_data(X, n_neighbors=8), y, "knn", design)
    assert 0.001 < short.error_bound <= 1
    assert abs(short.score - whole.score) <= short.error_bound


def test_groups_of_one_item_are_leave_p_out():
    X, y, _ = blobs(60)
    groups = np.random.default_rng(0).permutation(60)
    for p in (1, 2, 30, 59):
        for ties in ("index", "random"):
            expected = complete_cv(X.round(0), y, "nn", LeaveOut(p), ties=ties)
            found = complete_cv(X.round(0), y, "nn", LeaveGroupsOut(groups, p), ties=ties)
            np.testing.assert_allclose(found.per_item, expected.per_item, atol=1e-13)
            assert found.n_train_sets == expected.n_train_sets


@pytest.mark.slow
@pytest.mark.parametrize(("p", "decimals"), [(1, None), (6, None), (1, 0), (6, 0), (20, 0)])
@pytest.mark.parametrize("loss", [False, True])
def test_floats_agree_with_rationals_and_with_their_bound(p, decimals, loss):
    X, y, groups = blobs(decimals=decimals)
    setting = {"loss": np.array([[0, 3, 1], [2, -1, 5], [1, 1, 0]])} if loss else {}
    asked = {"ties": "random", **setting}
    rational = complete_cv(X, y, "nn", LeaveGroupsOut(groups, p), exact=True, **asked)
    found = complete_cv(X, y, "nn", LeaveGroupsOut(groups, p), **asked)
    assert abs(Fraction(found.score) - rational.exact) <= Fraction(found.error_bound)
    assert found.error_bound < 5e-12
    assert found.score == pytest.approx(float(rational.exact), rel=1e-12)


@pytest.mark.parametrize("tol", [0.2, 0.01, 1e-6])
@pytest.mark.parametrize(("variant", "p"), [("nn", 12), ("knn", 1)])
def test_depth_is_cut_with_a_bound(tol, variant, p):
    X, y, groups = blobs(2000, 60)
    design = LeaveGroupsOut(groups, p)
    whole = complete_cv(X, y, variant, design, tol=0)
    found = complete_cv(X, y, variant, design, tol=tol)
    assert whole.depth == 1999
    assert found.depth <= 1999
    assert abs(found.score - whole.score) <= found.error_bound <= tol
    if variant == "nn":
        assert found.depth < 1999


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


@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize("p", [1, 8])
def test_short_lists_show_in_the_bound(ties, p):
    X, y, groups = blobs(decimals=1)
    whole = complete_cv(X, y, "nn", LeaveGroupsOut(groups, p), ties=ties)
    near = Neighbors.from_data(X, n_neighbors=2)
    found = complete_cv(near, y, "nn", LeaveGroupsOut(groups, p), ties=ties)
    assert 0.001 < found.error_bound <= 1
    assert abs(found.score - whole.score) <= found.error_bound
    with pytest.raises(ValueError, match="exact=True needs all neighbors that can matter"):
        complete_cv(near, y, "nn", LeaveGroupsOut(groups, p), ties=ties, exact=True)


@pytest.mark.parametrize("p", [1, 4])
def test_fair_ties_do_not_depend_on_the_order_of_rows(p):
    X, y, groups = blobs(decimals=0)
    order = np.random.default_rng(1).permutation(len(y))
    one = complete_cv(X, y, "nn", LeaveGroupsOut(groups, p), ties="random")
    other = complete_cv(X[order], y[order], "nn", LeaveGroupsOut(groups[order], p), ties="random")
    np.testing.assert_allclose(other.per_item, one.per_item[order], atol=1e-13)
    assert one.tied == other.tied > 0


def test_names_of_groups_do_not_matter():
    X, y, groups = blobs()
    expected = complete_cv(X, y, "nn", LeaveGroupsOut(groups, 2)).score
    names = [("subject", int(group)) if group % 2 else f"s{group}" for group in groups]
    dates = np.datetime64("2020-01-01") + groups
    for given in (groups.tolist(), names, dates, groups / 2, [str(g) for g in groups], groups[::-1][::-1]):
        assert complete_cv(X, y, "nn", LeaveGroupsOut(given, 2)).score == expected


def test_the_caller_may_change_the_groups():
    X, y, groups = blobs()
    design = LeaveGroupsOut(groups)
    before = complete_cv(X, y, "nn", design).score
    groups[:] = np.arange(len(y)) % 2
    assert complete_cv(X, y, "nn", design).score == before
    assert complete_cv(X, y, "nn", pickle.loads(pickle.dumps(design))).score == before


@pytest.mark.parametrize(("variant", "p"), [("knn", 1), ("nn", 5), ("knn", 2)])
def test_threads_blocks_and_processes_do_not_matter(variant, p, monkeypatch):
    X, y, groups = blobs(decimals=1)
    design = LeaveGroupsOut(groups, p)
    asked = {"ties": "random"} if variant == "nn" else {}
    one = complete_cv(X, y, variant, design, n_jobs=1, **asked)
    with ProcessPoolExecutor(1) as pool:
        away = complete_cv(X, y, variant, design, executor=pool, **asked)
    np.testing.assert_array_equal(away.per_item, one.per_item)
    monkeypatch.setattr(knnccv.neighbors._engines.engine, "STORED_ROWS", 7)
    near = Neighbors.from_data(X)
    near.kneighbors(20)
    for _ in range(2):
        again = complete_cv(near, y, variant, design, n_jobs=2, **asked)
        np.testing.assert_array_equal(again.per_item, one.per_item)
        assert again.score == one.score


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_run_is_the_classification_of_its_split(setting, seed):
    variant, parameters = setting
    case = problem(seed)
    y = case.y.tolist()
    parameters = case.parameters(parameters)
    for design, listed in designs(case, seed):
        if parameters.get("n_neighbors", 1) > smallest(listed):
            continue
        for ties in get_variant(variant).tie_rules:
            asked = {"metric": "precomputed", "ties": ties, **parameters}
            few = monte_carlo_cv(
                case.distances, y, variant, design, n_repeats=4, random_state=seed, **asked
            )
            found = naive.scores(case.distances, y, variant, listed, ties, **plain(parameters))
            n_tested = Fraction(len(y) * design.p, len(set(design.groups)))
            question = validate_problem(y, len(y), variant, design, ties, "pooled", parameters)
            runs = draw_runs(question, 4, np.random.default_rng(seed))
            for run, fold in enumerate(runs.all_folds()):
                training = frozenset(np.flatnonzero(fold < 0).tolist())
                assert (training,) in listed.outcomes
                total = sum(found[training, x] for x in range(len(y)) if x not in training)
                assert few.scores[run] == pytest.approx(float(total / n_tested), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize(("variant", "p"), [("nn", 4), ("knn", 1), ("rank", 1), ("knn", 3), ("rank", 3)])
def test_runs_are_unbiased(variant, p, average):
    X, y, groups = blobs()
    exact = complete_cv(X, y, variant, LeaveGroupsOut(groups, p), average=average)
    few = monte_carlo_cv(
        X, y, variant, LeaveGroupsOut(groups, p), n_repeats=3000, random_state=0, average=average
    )
    assert abs(few.score - exact.score) < 5 * few.standard_error
    assert few.error_bound == 0


def test_runs_serve_votes_with_several_groups_out():
    X, y, groups = blobs()
    few = monte_carlo_cv(X, y, "knn", LeaveGroupsOut(groups, 5), n_repeats=20, random_state=0)
    assert 0.3 < few.score < 1


X, Y, GROUPS = blobs(40, 6)


@pytest.mark.parametrize(
    ("ask", "error", "match"),
    [
        (
            lambda: LeaveGroupsOut(GROUPS, 6),
            ValueError,
            "between 1 and 5, one less than the number of groups",
        ),
        (lambda: LeaveGroupsOut(GROUPS, 0), ValueError, "p must be between 1 and 5"),
        (lambda: LeaveGroupsOut(GROUPS, 1.0), TypeError, "p must be an integer, got 1.0"),
        (lambda: LeaveGroupsOut(np.zeros(9)), ValueError, "at least two different labels, got 1"),
        (lambda: LeaveGroupsOut([]), ValueError, "at least two different labels, got 0"),
        (lambda: LeaveGroupsOut(GROUPS[:, None]), ValueError, r"shape \(n_items,\), got shape \(40, 1\)"),
        (lambda: LeaveGroupsOut("abc"), ValueError, r"shape \(n_items,\), got shape \(\)"),
        (lambda: LeaveGroupsOut([1.0, np.nan]), ValueError, r"groups\[1\] is missing \(nan\)"),
        (lambda: LeaveGroupsOut(np.array([1.0, np.nan])), ValueError, r"groups\[1\] is missing \(nan\)"),
        (lambda: LeaveGroupsOut(["a", None]), ValueError, r"groups\[1\] is missing \(None\)"),
        (lambda: LeaveGroupsOut(["a", ["b"]]), TypeError, r"groups\[1\] is a list"),
        (
            lambda: LeaveGroupsOut(np.ma.masked_array([1, 2, 3], [False, True, False])),
            ValueError,
            "masked entries",
        ),
        (
            lambda: complete_cv(X, Y, "nn", LeaveGroupsOut(GROUPS[1:])),
            ValueError,
            "one label for each of the 40 samples, got 39",
        ),
        (
            lambda: complete_cv(X, Y, "knn", LeaveGroupsOut(np.arange(40), 4)),
            ValueError,
            r"LeaveGroupsOut\(40 groups, p=4\) has 91,390 sets of tested groups. .*variant 'knn' looks at "
            "5.*at most 20,000 sets; take a smaller p",
        ),
        (
            lambda: complete_cv(X, Y, "rank", LeaveGroupsOut(np.arange(40), 20), exact=True),
            ValueError,
            "has 137,846,528,820 sets of tested groups",
        ),
        (
            lambda: complete_cv(X, Y, "knn", LeaveGroupsOut(GROUPS), n_neighbors=39),
            ValueError,
            "n_neighbors must be between 1 and",
        ),
        (
            lambda: monte_carlo_cv(X, Y, "knn", LeaveGroupsOut(GROUPS, 5), n_neighbors=30),
            ValueError,
            "n_neighbors must be between 1 and",
        ),
    ],
)
def test_what_is_not_allowed_is_refused(ask, error, match):
    with pytest.raises(error, match=match):
        ask()


def test_the_smallest_training_set_bounds_the_votes():
    sizes = np.bincount(GROUPS)
    most = 40 - sizes.max()
    assert complete_cv(X, Y, "knn", LeaveGroupsOut(GROUPS), n_neighbors=int(most)).score > 0
    with pytest.raises(ValueError, match=f"between 1 and {most}, the size of the training set"):
        complete_cv(X, Y, "knn", LeaveGroupsOut(GROUPS), n_neighbors=int(most) + 1)


def test_a_rule_without_a_fixed_kernel_is_refused():
    from knnccv_variants.nearest import NN

    class Stratified(NN):
        fixed = None

    with pytest.raises(ValueError, match="no kernel for fixed-size training sets"):
        complete_cv(X, Y, Stratified, LeaveGroupsOut(GROUPS))


def test_a_rank_beyond_the_training_set_looks_at_all_of_it():
    found = complete_cv(X, Y, "rank", LeaveGroupsOut(GROUPS), rank=100)
    expected = [float((Y[GROUPS[x] != GROUPS] == Y[x]).any()) for x in range(40)]
    np.testing.assert_allclose(found.per_item, expected, atol=1e-12)


def test_tied_targets_of_groups_are_counted():
    X, y = np.repeat([0.0, 1.0, 2.0], 2)[:, None], np.arange(6.0)
    design = LeaveGroupsOut(np.arange(6), 3)
    assert complete_cv(X, y, "regression", design, n_neighbors=1).tied == 6


def test_a_plugin_with_a_kernel_for_fixed_sizes_is_served():
    from knnccv_variants.votes import KNN

    class Voted(KNN):
        name = "voted"
        stratified = None

    design = LeaveGroupsOut(GROUPS, 3)
    expected = complete_cv(X, Y, "knn", design, n_neighbors=3)
    assert complete_cv(X, Y, Voted, design, n_neighbors=3).score == expected.score
