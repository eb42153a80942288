"""The library against the enumeration of all training sets."""

import enum
import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from problems import SETTINGS, designs, plain, problem

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    monte_carlo_cv,
)
from knnccv.driver import AVERAGES
from knnccv.kernel import Tables, Variant, jit
from knnccv.variants import get_variant

N_PROBLEMS = 80


def compare(seed, case, variant, setting, design, listed, ties, average):
    """One question asked of the library (floats and rationals) and of the enumeration."""
    parameters = case.parameters(setting)
    smallest = min(len(training) for outcome in listed.outcomes for training in outcome)
    if setting.get("n_neighbors", 1) > smallest:
        with pytest.raises(ValueError, match="n_neighbors must be between 1 and"):
            complete_cv(case.distances, case.y, variant, design, metric="precomputed", **parameters)
        return 0
    asked = {"ties": ties, "average": average, "metric": "precomputed", "n_jobs": 1, **parameters}
    expected = naive.complete(
        case.distances.tolist(), case.y.tolist(), variant, listed, average, ties, **plain(parameters)
    )
    rational = complete_cv(case.distances, case.y, variant, design, exact=True, **asked)
    where = f"seed {seed}: {variant} {setting} {design} {ties} {average}"
    assert rational.exact == expected, where
    floating = complete_cv(case.distances, case.y, variant, design, **asked)
    scale = abs(expected) if "loss" not in setting else max(abs(expected), Fraction(1))
    assert abs(Fraction(floating.score) - expected) <= Fraction(1, 10**12) * scale, where
    assert abs(Fraction(floating.score) - expected) <= floating.error_bound, where
    assert floating.n_train_sets == naive.training_sets(listed), where
    return 1


@pytest.mark.parametrize(
    "chunk", [0, *(pytest.param(c, marks=pytest.mark.slow) for c in range(1, N_PROBLEMS // 20))]
)
def test_every_variant_design_tie_rule_and_average_equals_the_enumeration(chunk):
    compared = 0
    for seed in range(20 * chunk, 20 * chunk + 20):
        case = problem(seed)
        for d, (design, listed) in enumerate(designs(case, seed)):
            # Every seed meets a fifth of the settings, so that all meet all designs and averages.
            for s, (variant, setting) in enumerate(SETTINGS):
                if (s + d + seed) % 5:
                    continue
                for ties in get_variant(variant).tie_rules:
                    average = AVERAGES[(s + seed // 3) % 3]
                    compared += compare(seed, case, variant, setting, design, listed, ties, average)
    assert compared > 300


@pytest.mark.parametrize("seed", range(24))
def test_per_item_scores_and_weights_equal_the_enumeration(seed):
    case = problem(seed)
    for design, listed in designs(case, seed):
        for average in AVERAGES:
            asked = {"metric": "precomputed", "ties": "index", "average": average, "exact": True}
            found = complete_cv(case.distances, case.y, "nn", design, **asked)
            inputs = (case.distances.tolist(), case.y.tolist(), "nn", listed)
            assert list(found.per_item_exact) == naive.per_item(*inputs, "index", average)
            weights = naive.item_weights(case.y.tolist(), listed, average)
            np.testing.assert_allclose(found.weights, [float(w) for w in weights], rtol=1e-15)
            assert sum(weights) == 1
            tested = found.weights > 0
            assert np.isnan(found.per_item[~tested]).all()
            total = (found.weights[tested] * found.per_item[tested]).sum()
            assert total == pytest.approx(found.score, rel=1e-14)


def smooth(n_items, n_classes, seed=0, d=3):
    """Data without ties in classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, n_classes, n_items))
    X = rng.normal(size=(n_items, d)) + 0.7 * y[:, None] / n_classes
    shuffled = rng.permutation(n_items)
    return X[shuffled], y[shuffled]


@pytest.mark.parametrize(
    "design", [Subsample(40), KFold(7), StratifiedSubsample(0.6), StratifiedSubsample(per_class=4)]
)
def test_one_neighbor_rules_agree(design):
    X, y = smooth(90, 4)
    nearest = complete_cv(X, y, "nn", design).score
    assert complete_cv(X, y, "knn", design, n_neighbors=1).score == pytest.approx(nearest, rel=1e-13)
    assert complete_cv(X, y, "knn", design, n_neighbors=2).score != nearest
    assert complete_cv(X, y, "rank", design, rank=1).score == pytest.approx(nearest, rel=1e-13)


def test_zero_one_loss_is_one_minus_accuracy():
    X, y = smooth(80, 3)
    loss = 1 - np.eye(3)
    for variant, parameters in [("nn", {}), ("knn", {"n_neighbors": 4})]:
        for design in (Subsample(30), StratifiedSubsample(0.5)):
            right = complete_cv(X, y, variant, design, **parameters).score
            wrong = complete_cv(X, y, variant, design, loss=loss, **parameters).score
            assert wrong == pytest.approx(1 - right, rel=1e-12)


def test_leave_one_out_equals_scikit_learn():
    neighbors = pytest.importorskip("sklearn.neighbors")
    X, y = smooth(150, 3)
    for k in (1, 2, 3, 4, 7, 12, 30):
        expected = neighbors.KNeighborsClassifier(k).fit(X, y).score(None, y)
        found = complete_cv(X, y, "knn", LeaveOut(1), n_neighbors=k)
        assert found.score == pytest.approx(expected, abs=1e-14)
        assert set(np.round(found.per_item, 12)) <= {0.0, 1.0}


def settings_of_hundreds():
    X, y = smooth(400, 3)
    few = smooth(150, 3)  # the fractions of votes grow long: 400 samples take a minute
    tied = np.round(X, 1)  # some 30 tied groups in every list
    loss = np.array([[0, 1, 2], [5, 0, 1], [1, 1, -1]])
    for X_y, name, parameters in [
        ((X, y), "nn", {}),
        ((X, y), "nn", {"loss": loss}),
        ((tied, y), "nn", {"ties": "random"}),
        (few, "knn", {"n_neighbors": 3}),
        (few, "knn", {"n_neighbors": 2, "loss": loss}),
        (few, "rank", {"rank": 3}),
    ]:
        yield *X_y, name, Subsample(0.75), parameters
        yield *X_y, name, StratifiedSubsample(0.75), parameters
    yield X, y, "nn", KFold(7), {}
    yield *few, "rank", Subsample(20), {"rank": 4}
    yield X, y, "nn", Subsample(2), {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("X", "y", "variant", "design", "parameters"),
    [pytest.param(*case, id=f"{case[2]}-{case[3]}-{sorted(case[4])}") for case in settings_of_hundreds()],
)
def test_floats_agree_with_rationals_on_hundreds_of_samples(X, y, variant, design, parameters):
    near = Neighbors.from_data(X)
    rational = complete_cv(near, y, variant, design, exact=True, **parameters)
    floating = complete_cv(near, y, variant, design, **parameters)
    assert floating.score == pytest.approx(float(rational.exact), rel=1e-12)
    assert abs(Fraction(floating.score) - rational.exact) <= floating.error_bound <= 1e-11
    np.testing.assert_allclose(floating.per_item, rational.per_item, rtol=1e-11, atol=1e-12)


@pytest.mark.slow
def test_truncated_and_untruncated_differ_by_less_than_the_bound():
    rng = np.random.default_rng(3)
    n_items = 8_000
    X = rng.normal(size=(n_items, 3))
    y = (X[:, 0] + rng.normal(size=n_items) > 0).astype(int) + (X[:, 1] > 1)
    near = Neighbors.from_data(X)
    shallow = {tol: complete_cv(near, y, "knn", KFold(5), tol=tol) for tol in (1e-3, 1e-6, 1e-12)}
    whole = complete_cv(near, y, "knn", KFold(5), tol=0)
    assert whole.depth == n_items - 1
    for tol, cut in shallow.items():
        assert cut.depth < 60
        assert 0 < abs(cut.score - whole.score) <= cut.error_bound + whole.error_bound
        assert cut.error_bound <= tol


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-9])
@pytest.mark.parametrize("variant", ["nn", "knn", "rank"])
def test_stratified_truncation_keeps_its_bound(tol, variant):
    X, y = smooth(300, 4)
    sizes = {0: 2, 1: 40, 2: 1, 3: 30}  # shares so different that the first guess of the depth fails
    design = StratifiedSubsample(per_class=sizes)
    cut = complete_cv(X, y, variant, design, tol=tol)
    whole = complete_cv(X, y, variant, design, tol=0)
    assert abs(cut.score - whole.score) <= cut.error_bound <= tol * 1.001
    assert cut.depth <= whole.depth


@pytest.mark.parametrize("n_items", [300, pytest.param(2500, marks=pytest.mark.slow)])
def test_the_bound_holds_where_a_stratified_walk_is_long(n_items):
    """One training sample of one class, all but one of the other, and all samples of a class in a heap.

    Every walk passes its own class first, and every sample of it is right; the rounding of n steps adds up.
    """
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random(n_items), 100 + rng.random(n_items)])[:, None]
    y = np.repeat([0, 1], n_items)
    design = StratifiedSubsample(per_class={0: 1, 1: n_items - 1})
    for variant, parameters in (("nn", {}), ("knn", {"n_neighbors": 1}), ("rank", {})):
        found = complete_cv(X, y, variant, design, tol=0 if n_items < 1000 else 1e-12, **parameters)
        assert abs(found.score - 1) <= found.error_bound < 1e-10
        two_per_step = 2 * found.depth * np.finfo(float).eps / 2  # a product along the walk, to first order
        assert found.error_bound >= two_per_step


@pytest.mark.slow
def test_kinds_of_loss_matrices():
    pd = pytest.importorskip("pandas")
    X, y = smooth(60, 3)
    loss = [[0, 1, 2], [5, 0, 1], [1, 1, -1]]
    for variant in ("nn", "knn"):
        expected = complete_cv(X, y, variant, KFold(4), loss=loss, exact=True).exact
        thirds = [[Fraction(entry, 3) for entry in row] for row in loss]
        assert complete_cv(X, y, variant, KFold(4), loss=thirds, exact=True).exact == expected / 3
        frame = pd.DataFrame(loss, columns=["0", "1", "2"])
        for same in (frame, np.array(loss, np.int8), np.array(loss, np.longdouble)):
            assert complete_cv(X, y, variant, KFold(4), loss=same, exact=True).exact == expected
            found = complete_cv(X, y, variant, KFold(4), loss=same)
            assert found.score == pytest.approx(float(expected), rel=1e-13)
        huge = np.array(loss) * 1e299
        found = complete_cv(X, y, variant, KFold(4), loss=huge)
        assert found.score == pytest.approx(float(expected) * 1e299, rel=1e-12)
        with pytest.raises(ValueError, match=r"must not exceed 1e\+300 in absolute value, got 5e\+300"):
            complete_cv(X, y, variant, KFold(4), loss=np.array(loss) * 1e300)


def test_the_result_keeps_its_record():
    X, y = smooth(40, 2)
    loss = np.array([[0, 1], [1, 0]])
    sizes = {0: 3, 1: 2}
    design = StratifiedSubsample(per_class=sizes)
    found = complete_cv(X, y, "nn", design, loss=loss)
    loss[:] = 7
    sizes[0] = 9
    assert (found.parameters["loss"] == [[0, 1], [1, 0]]).all()
    assert design.per_class == {0: 3, 1: 2}


def test_dates_as_labels():
    X, y = smooth(40, 2)
    days = np.array(["2020-01-01", "2021-05-01"], dtype="datetime64[D]")
    design = StratifiedSubsample(per_class={days[0]: 3, days[1]: 5})
    expected = complete_cv(X, y, "nn", StratifiedSubsample(per_class={0: 3, 1: 5})).score
    assert complete_cv(X, days[y], "nn", design).score == expected


def test_large_integers_stay_apart_as_labels():
    X, _ = smooth(8, 2)
    y = [2**63, 2**63 + 1, -1, -1] * 2
    assert len(complete_cv(X, y, "nn", 2).classes) == 3


def test_lists_may_be_short_where_nothing_is_tested():
    sparse = pytest.importorskip("scipy.sparse")
    D = np.random.default_rng(0).random((8, 8)) + 0.1
    graph = sparse.csr_array(np.where((np.arange(8)[:, None] < 2) & (np.arange(8) > 4), 0, D))
    design = StratifiedSubsample(per_class={0: 2, 1: 2})
    y = [0, 0, 1, 1, 1, 1, 1, 1]
    found = complete_cv(Neighbors.from_graph(graph), y, "nn", design, exact=True)
    assert found.exact == complete_cv(D, y, "nn", design, metric="precomputed", exact=True).exact
    assert np.isnan(found.per_item[:2]).all()


def test_labels_are_not_merged():
    """Where NumPy would cut text or round numbers, two classes must stay two."""
    species = enum.Enum("Species", {"CAT": "cat", "DOG": "dog"}, type=str)
    large = [np.int64(2**53 + 1), np.int64(2**53)]
    X = np.arange(8.0)[:, None]
    expected = complete_cv(X, [0, 1] * 4, "nn", KFold(2)).score
    for pair in ([species.CAT, species.DOG], ["a", "a\0"], [b"a", b"a\0"], large, [2**70, 2**70 + 1]):
        result = complete_cv(X, pair * 4, "nn", KFold(2))
        assert result.score == expected
        assert set(result.classes) == set(pair)
    assert len(complete_cv(X, [*large, 1.0, 1.0] * 2, "nn", KFold(2)).classes) == 3


def test_exact_mode_takes_lists_that_are_cut_inside_a_tied_group():
    near = Neighbors.from_distances(np.ones((6, 6)))
    lists = Neighbors.from_lists(*near.kneighbors(5))
    for ties in ("index", "random"):
        asked = {"ties": ties, "exact": True}
        expected = complete_cv(near, [0, 1] * 3, "nn", Subsample(4), **asked).exact
        assert complete_cv(lists, [0, 1] * 3, "nn", Subsample(4), **asked).exact == expected
    short = Neighbors.from_lists(*near.kneighbors(4))
    with pytest.raises(ValueError, match="exact=True needs 2 neighbors, ties included"):
        complete_cv(short, [0, 1] * 3, "nn", Subsample(4), exact=True)


VOTES = [
    # number of classes, K, design, which sum it takes
    (2, 5, Subsample(0.8), "a table of two classes"),
    (2, 6, Subsample(0.5), "a table of two classes"),
    (2, 2, Subsample(2), "K-subsets counted, of which all are needed"),
    (2, 30, Subsample(40), "a table of two classes"),
    (2, 7, KFold(4), "a table of two classes"),
    (2, 4, StratifiedSubsample(0.5), "a table of two strata"),
    (2, 5, StratifiedKFold(3), "a table of two strata"),
    (2, 5, StratifiedSubsample(per_class=3), "strata, deep lists"),
    (4, 5, Subsample(0.8), "K-subsets counted"),
    (4, 8, Subsample(0.6), "K-subsets counted"),
    (4, 1, Subsample(0.6), "K-subsets counted"),
    (4, 30, Subsample(0.6), "thinning"),
    (4, 6, StratifiedSubsample(0.5), "strata"),
]


@pytest.mark.parametrize(("n_classes", "k", "design", "way"), VOTES)
def test_every_way_to_sum_votes_agrees_with_rationals(n_classes, k, design, way):  # noqa: ARG001
    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(75, 2)), rng.integers(0, n_classes, 75)
    near = Neighbors.from_data(X)
    rational = complete_cv(near, y, "knn", design, n_neighbors=k, exact=True)
    for tol in (1e-12, 0):
        floating = complete_cv(near, y, "knn", design, n_neighbors=k, tol=tol)
        assert floating.score == pytest.approx(float(rational.exact), rel=1e-12)
        assert abs(Fraction(floating.score) - rational.exact) <= floating.error_bound <= 1e-11
        np.testing.assert_allclose(floating.per_item, rational.per_item, rtol=1e-11, atol=1e-12)


def test_the_ways_to_sum_votes_are_taken():
    """Check that the cases above reach the intended code paths."""
    from knnccv.kernel import Task

    rule = get_variant("knn")
    for n_classes, k, size, expected in [
        (2, 5, 60, "table"),
        (2, 2, 2, "counted"),
        (4, 5, 60, "counted"),
        (4, 30, 45, "thinned"),
    ]:
        task = Task((size,), (75,), stratified=False, held_out=1, n_classes=n_classes)
        fields = rule.tables(task, **rule.settings({"n_neighbors": k})).integers
        counted = "counted" if fields.counted_depth >= 74 else "thinned"
        assert expected == ("table" if fields.table_depth > 0 else counted)


@pytest.mark.slow
def test_many_votes_neither_vanish_nor_overflow():
    """Where the first positions are too unlikely for a double."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1361, 2)), rng.integers(0, 2, 1361)
    near = Neighbors.from_data(X)
    found = complete_cv(near, y, "knn", Subsample(750), n_neighbors=750)
    assert np.isfinite(found.per_item).all()
    runs = monte_carlo_cv(near, y, "knn", Subsample(750), n_neighbors=750, n_repeats=20, random_state=0)
    assert abs(runs.score - found.score) <= 5 * runs.standard_error + 1e-3


@pytest.mark.parametrize(
    ("m", "size", "k"),
    [
        (60, 30, 10),
        (60, 59, 3),
        (60, 60, 4),
        (60, 60, 60),
        (60, 20, 20),
        (60, 2, 2),
        (60, 45, 44),
        (60, 5, 1),
    ],
)
def test_weights_of_thinned_votes(m, size, k):
    from knnccv.kernel import Task
    from knnccv.voting import scaled_position_weights

    next_known, list_ends = scaled_position_weights(Task((size,), (m,), False, 0, 3), k)
    rate = Fraction(size, m)
    for i in range(k, m + 1):
        thinned = math.comb(i, k) * rate**k * (1 - rate) ** (i - k)
        in_first = Fraction(math.comb(i, k) * math.comb(m - i, size - k), math.comb(m, size))
        if thinned > 0:
            assert list_ends[i - 1] == pytest.approx(float(in_first / thinned), rel=1e-12)
            following = in_first * (size - k) / (m - i) / thinned if i < m else 0
            assert next_known[i - 1] == pytest.approx(float(following), rel=1e-12)


@pytest.mark.parametrize(("m", "size", "k"), [(3000, 1500, 1500), (3000, 1500, 1400), (3000, 2999, 1500)])
def test_weights_of_thinned_votes_are_finite(m, size, k):
    from knnccv.kernel import Task
    from knnccv.voting import scaled_position_weights

    weights = np.concatenate(scaled_position_weights(Task((size,), (m,), False, 0, 3), k))
    assert np.isfinite(weights).all()
    assert weights.max() > 0.5


# Who forgot the rational numbers


@jit
def by_weight(order, labels, target, constraints):  # noqa: ARG001 (a kernel has four arguments)
    """The first weight, started as exact mode wants it."""
    return constraints.unit * constraints.weights[0]


@jit
def by_table(order, labels, target, constraints):  # noqa: ARG001
    """A number of the table."""
    return constraints.unit * constraints.table[1, 0]


@jit
def by_float(order, labels, target, constraints):  # noqa: ARG001
    """A number of the kernel's own, which is the kernel's fault."""
    return 0.25 + 0 * constraints.weights[0]


class Careless(Variant):
    name = "careless"

    def n_nearest(self, **_):
        return 1

    def tables(self, task, **_):
        return Tables(weights=[0.5], table=[[task.number(1)], [0.5]])


class Careful(Careless):
    def tables(self, task, **_):
        return Tables(weights=[task.number(1) / 2], table=[[task.number(1)], [task.number(1) / 2]])


@pytest.mark.parametrize("kernel", [by_weight, by_table])
@pytest.mark.parametrize("design", [Subsample(2), LeaveGroupsOut([0, 0, 1, 2])], ids=["items", "groups"])
def test_tables_that_forget_the_number_are_told_so(kernel, design):
    X, y = np.arange(4.0)[:, None] ** 2, [0, 1, 0, 1]
    careless = type("Made", (Careless,), {"fixed": kernel})
    assert complete_cv(X, y, careless, design).score == 0.5
    with pytest.raises(TypeError, match=r"tables\(\) must make its numbers with task.number") as caught:
        complete_cv(X, y, careless, design, exact=True)
    assert "variant 'careless'" in str(caught.value)
    assert "in exact mode it gave weights[0] = 0.5" in str(caught.value)
    assert "constraints.unit" not in str(caught.value)
    careful = type("Made", (Careful,), {"fixed": kernel})
    assert complete_cv(X, y, careful, design, exact=True).exact == Fraction(1, 2)


def test_a_kernel_that_forgets_the_unit_is_told_so():
    X, y = np.arange(4.0)[:, None] ** 2, [0, 1, 0, 1]
    careful = type("Made", (Careful,), {"fixed": by_float})
    with pytest.raises(TypeError, match=r"the kernel of .*returned 0.25 .*start from constraints.unit"):
        complete_cv(X, y, careful, Subsample(2), exact=True)
