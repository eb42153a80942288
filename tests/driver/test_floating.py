"""Floating point: its bounds, against rational numbers, deeper lists and other ways to the same score."""

import enum
import math
from fractions import Fraction

import numpy as np
import pytest
from odd_rules import variant_class
from problems import Shares, StratifiedShuffle, blobs
from scipy import sparse

from knnccv import Neighbors, complete_cv
from knnccv.designs import KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample
from knnccv.kernel import Tables, Task, jit
from knnccv.kernel.voting import scaled_position_weights

LOSS = np.array([[0, 1, 2], [5, 0, 1], [1, 1, -1]])


def check_rational(near, y, rule, design, tol=1e-12, **parameters):
    """Floats agree with rational numbers, within their bound and sample by sample."""
    rational = complete_cv(near, y, rule, design, exact=True, tol=tol, **parameters)
    floating = complete_cv(near, y, rule, design, tol=tol, **parameters)
    where = f"{rule} {parameters} {design}"
    assert floating.score == pytest.approx(float(rational.fraction), rel=1e-12), where
    assert abs(Fraction(floating.score) - rational.fraction) <= floating.error_bound <= 1e-11, where
    np.testing.assert_allclose(floating.per_item, rational.per_item, rtol=1e-11, atol=1e-12, err_msg=where)
    assert floating.n_tied == rational.n_tied, where
    return floating


VOTES = [
    # number of classes, K, design, which sum it takes
    (2, 5, Subsample(0.8), "a table of two classes"),
    (2, 6, Subsample(0.5), "a table of two classes"),
    (2, 2, Subsample(2), "K-subsets counted, of which all are needed"),
    (2, 12, Subsample(30), "a table of two classes"),
    (2, 7, KFold(4), "a table of two classes"),
    (2, 4, StratifiedSubsample(0.5), "a table of two strata"),
    (2, 5, StratifiedKFold(3), "a table of two strata"),
    (2, 5, StratifiedSubsample(per_class=3), "strata, deep lists"),
    (4, 5, Subsample(0.8), "K-subsets counted"),
    (4, 8, Subsample(0.6), "K-subsets counted"),
    (4, 1, Subsample(0.6), "K-subsets counted"),
    (4, 20, Subsample(0.6), "thinning"),
    (4, 6, StratifiedSubsample(0.5), "strata"),
]


def test_every_way_to_sum_votes_agrees_with_rationals():
    for n_classes, k, design, _ in VOTES:
        rng, n_items = np.random.default_rng(k), 50 if k == 20 else 35
        X, y = rng.normal(size=(n_items, 2)), rng.integers(0, n_classes, n_items)
        found = check_rational(X, y, "knn", design, n_neighbors=k)
        whole = complete_cv(X, y, "knn", design, n_neighbors=k, tol=0)
        assert abs(found.score - whole.score) <= found.error_bound + whole.error_bound


@pytest.mark.parametrize("n_items", [50, pytest.param(160, marks=pytest.mark.slow)])
def test_other_rules_agree_with_rationals(n_items):
    X, y = blobs(0, n_items, 3)
    groups = np.random.default_rng(5).integers(0, n_items // 8, n_items)
    for rule, parameters in (("nn", {"loss": LOSS}), ("nn", {"decimals": 1}), ("rank", {"rank": 3})):
        near = Neighbors.from_data(X.round(parameters.pop("decimals", 15)))
        designs = [KFold(7), Subsample(0.75), StratifiedSubsample(0.75)]
        designs += [LeaveGroupsOut(groups, p) for p in (1, n_items // 8 - 2) if rule == "nn"]
        for design in designs:
            check_rational(near, y, rule, design, **parameters)


def test_what_is_never_tested_is_not_tied():
    """Class 0 always trains; of class 1, only two are as near to each other as to a sample of it."""
    X = np.array([[0.0], [1], [1], [1], [5], [6], [7], [8]])
    y = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    design = StratifiedSubsample(per_class={0: 2, 1: 3})
    for exact in (False, True):
        assert complete_cv(X, y, "nn", design, exact=exact).n_tied == 2


def test_truncation_keeps_its_bound():
    X, y = blobs(0, 300, 4)
    sizes = {0: 2, 1: 40, 2: 1, 3: 30}  # shares so different that the first guess of the depth fails
    groups = np.minimum(np.random.default_rng(0).geometric(0.15, 300), 25)
    for rule, designs in {
        "nn": (Subsample(0.6), StratifiedSubsample(per_class=sizes), LeaveGroupsOut(groups, 8)),
        "knn": (KFold(5), StratifiedSubsample(per_class=sizes), LeaveGroupsOut(groups, 3)),
        "rank": (LeaveOut(40), StratifiedSubsample(per_class=sizes), LeaveGroupsOut(groups)),
    }.items():
        for design in designs:
            whole = complete_cv(X, y, rule, design, tol=0)
            short = complete_cv(Neighbors.from_data(X, n_neighbors=3), y, rule, design)
            assert abs(short.score - whole.score) <= short.error_bound <= 1 + 1e-9
            for tol in (1e-1, 1e-3, 1e-9):
                cut = complete_cv(X, y, rule, design, tol=tol)
                assert abs(cut.score - whole.score) <= cut.error_bound <= tol * 1.001 + 1e-11
                assert cut.depth <= whole.depth


@pytest.mark.parametrize("n_items", [300, pytest.param(1000, marks=pytest.mark.slow)])
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


def test_exact_mode_needs_all_neighbors_that_can_matter():
    near = Neighbors.from_distances(np.ones((6, 6)))
    lists = Neighbors.from_lists(*near.kneighbors(5))
    for ties in ("index", "random"):
        asked = {"ties": ties, "exact": True}
        expected = complete_cv(near, [0, 1] * 3, "nn", Subsample(4), **asked).fraction
        assert complete_cv(lists, [0, 1] * 3, "nn", Subsample(4), **asked).fraction == expected
    D = np.random.default_rng(0).random((8, 8)) + 0.1  # short only where nothing is tested
    graph = sparse.csr_array(np.where((np.arange(8)[:, None] < 2) & (np.arange(8) > 4), 0, D))
    y, design = [0, 0, 1, 1, 1, 1, 1, 1], StratifiedSubsample(per_class={0: 2, 1: 2})
    found = complete_cv(Neighbors.from_graph(graph), y, "nn", design, exact=True)
    assert found.fraction == complete_cv(D, y, "nn", design, metric="precomputed", exact=True).fraction
    assert np.isnan(found.per_item[:2]).all()


def test_kinds_of_loss_matrices():
    X, y = blobs(0, 40, 3)
    for variant in ("nn", "knn"):
        expected = complete_cv(X, y, variant, KFold(4), loss=LOSS, exact=True).fraction
        thirds = [[Fraction(int(entry), 3) for entry in row] for row in LOSS]
        assert complete_cv(X, y, variant, KFold(4), loss=thirds, exact=True).fraction == expected / 3
        found = complete_cv(X, y, variant, KFold(4), loss=LOSS * 1e299)
        assert found.score == pytest.approx(float(expected) * 1e299, rel=1e-12)


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
    for labels in ([*large, 1.0, 1.0] * 2, [2**63, 2**63 + 1, -1, -1] * 2):
        assert len(complete_cv(X, labels, "nn", KFold(2)).classes) == 3
    days = np.array(["2020-01-01", "2021-05-01"], dtype="datetime64[D]")
    design = StratifiedSubsample(per_class={days[0]: 2, days[1]: 1})
    expected = complete_cv(X, [0, 1] * 4, "nn", StratifiedSubsample(per_class={0: 2, 1: 1})).score
    assert complete_cv(X, days[[0, 1] * 4], "nn", design).score == expected


@pytest.mark.slow
@pytest.mark.parametrize("base", [(60, 40, 12, 3), (2, 3, 1, 1), (119, 79, 58, 38)])
def test_one_more_sample_of_some_classes_is_a_mixture_of_strata(base):
    """Large tied groups: the time at which the K nearest have come counts the classes without the extra."""
    counts, some = np.array([120, 80, 60, 40]), (0, 1, 3)
    y = np.repeat(np.arange(4), counts)
    near = Neighbors.from_distances(np.random.default_rng(0).choice([1.0, 2.0], (300, 300), p=[0.3, 0.7]))
    design = StratifiedShuffle("", Shares(base, some, 2), 300 - sum(base) - 2)
    for rule, setting in (("nn", {}), ("knn", {"n_neighbors": 3}), ("rank", {"rank": 2})):
        sums, tested = np.zeros((2, 300))
        for alone in some:
            sizes = np.array(base) + [c in some and c != alone for c in range(4)]
            strata = StratifiedSubsample(per_class=dict(enumerate(sizes.tolist())))
            part = complete_cv(near, y, rule, strata, tol=0, **setting)
            share = (1 - sizes / counts)[y]
            sums[share > 0] += (share * part.per_item)[share > 0]
            tested += share
        found = complete_cv(near, y, rule, design, tol=0, **setting)
        np.testing.assert_allclose(found.per_item, sums / tested, rtol=1e-12)


def test_weights_of_thinned_votes():
    """Scores of small problems hide an error of a weight that is rarely used; here each is compared."""
    for m, size, k in [(60, 30, 10), (60, 59, 3), (60, 60, 4), (60, 20, 20), (60, 2, 2), (60, 45, 44)]:
        next_known, list_ends = scaled_position_weights(Task((size,), (m,), False, 0, 3), k)
        rate = Fraction(size, m)
        for i in range(k, m + 1):
            thinned = math.comb(i, k) * rate**k * (1 - rate) ** (i - k)
            in_first = Fraction(math.comb(i, k) * math.comb(m - i, size - k), math.comb(m, size))
            if thinned > 0:
                assert list_ends[i - 1] == pytest.approx(float(in_first / thinned), rel=1e-12)
                following = in_first * (size - k) / (m - i) / thinned if i < m else 0
                assert next_known[i - 1] == pytest.approx(float(following), rel=1e-12)
    for m, size, k in [(3000, 1500, 1500), (3000, 1500, 1400), (3000, 2999, 1500)]:
        weights = np.concatenate(scaled_position_weights(Task((size,), (m,), False, 0, 3), k))
        assert np.isfinite(weights).all()
        assert weights.max() > 0.5


@jit
def by_tables(order, labels, target, constraints):  # noqa: ARG001 (a kernel has four arguments)
    """Numbers of the tables, started as exact mode wants it."""
    return constraints.unit * (constraints.weights[0] + constraints.table[1, 0]) / 2


@jit
def by_float(order, labels, target, constraints):  # noqa: ARG001
    """A number of the kernel's own, which is the kernel's fault."""
    return 0.25 + 0 * constraints.weights[0]


def careless_tables(self, task, **_):  # noqa: ARG001
    return Tables(weights=[0.5], table=[[task.number(1)], [0.5]])


def careful_tables(self, task, **_):  # noqa: ARG001
    return Tables(weights=[task.number(1) / 2], table=[[task.number(1)], [task.number(1) / 2]])


@pytest.mark.parametrize("design", [Subsample(2), LeaveGroupsOut([0, 0, 1, 2])], ids=["items", "groups"])
def test_who_forgets_the_rational_numbers_is_told_so(design):
    X, y = np.arange(4.0)[:, None] ** 2, [0, 1, 0, 1]
    careless = variant_class("careless", fixed=by_tables, tables=careless_tables)
    assert complete_cv(X, y, careless, design).score == 0.5
    with pytest.raises(TypeError, match=r"tables\(\) must make its numbers with task.number") as caught:
        complete_cv(X, y, careless, design, exact=True)
    assert "variant 'careless'" in str(caught.value)
    assert "in exact mode it gave weights[0] = 0.5" in str(caught.value)
    careful = variant_class("careful", fixed=by_tables, tables=careful_tables)
    assert complete_cv(X, y, careful, design, exact=True).fraction == Fraction(1, 2)
    careful = variant_class("careful", fixed=by_float, tables=careful_tables)
    with pytest.raises(TypeError, match=r"the kernel of .*returned 0.25 .*start from constraints.unit"):
        complete_cv(X, y, careful, Subsample(2), exact=True)
