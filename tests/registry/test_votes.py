"""Plurality votes by special kernels, against the general ones, enumeration and rational numbers.

Contenders: many neighbors without ties. Joint: stratified training sets of all kinds at once. Large ties:
groups of tied samples by random times.
"""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from problems import blobs, check_votes
from scipy.stats import binom
from seeds import over_seeds

from knnccv import KFold, LeaveOut, Neighbors, StratifiedKFold, StratifiedSubsample, Subsample, complete_cv
from knnccv.kernel import JOINT, Labels, Tables, Task, as_python, chain_of, constraints_for, simd
from knnccv.sampling import stratified_tails, tie_times
from knnccv.voting._stratified import degree_for
from knnccv_variants import votes

FIXED, STRATIFIED = (Subsample, KFold, LeaveOut), (StratifiedKFold, StratifiedSubsample)


@pytest.fixture
def contested(monkeypatch):
    """Serve every number of neighbors by contenders."""
    monkeypatch.setattr(votes, "MAX_COUNTED_NEIGHBORS", 0)


def one_kind_at_a_time(*given):
    return [link for link in chain_of(*given) if link.form != JOINT]


def check_against_general_kernels(monkeypatch, X, y, design, k):
    """Those that take any ties and one kind of training sets at a time."""
    arguments = Neighbors.from_data(X), y, "knn", design
    found = complete_cv(*arguments, n_neighbors=k)
    with monkeypatch.context() as patch:
        patch.setattr(votes, "contested_table", lambda *_: None)
        patch.setattr(votes, "max_counted_depth", lambda *_: 0)
        patch.setattr("knnccv.driver._part.chain_of", one_kind_at_a_time)
        expected = complete_cv(*arguments, n_neighbors=k)
    what = f"{len(y)} samples, k = {k}, {design}"
    np.testing.assert_allclose(found.per_item, expected.per_item, rtol=0, atol=1e-12, err_msg=what)
    assert abs(found.score - expected.score) <= found.error_bound, what
    assert found.tied == expected.tied, what
    return found


@over_seeds(4, 30)
@pytest.mark.usefixtures("contested")
def test_votes_equal_the_enumeration(seeds):
    for seed in seeds:
        check_votes(seed, FIXED)
        check_votes(seed, STRATIFIED)


@over_seeds(8, 60)
@pytest.mark.usefixtures("contested")
def test_random_problems_equal_the_general_kernels(monkeypatch, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n_classes = int(rng.integers(2, 12))
        n_items = int(rng.integers(2 * n_classes, 180))
        X, y = blobs(seed, n_items, n_classes, rng.uniform(0, 2), uneven=rng.random() < 0.5)
        if rng.random() < 0.3:
            X = np.round(X, 1)  # tied groups go to the general kernels
        size = int(rng.integers(2, n_items))
        k = int(rng.integers(1, size + 1))
        check_against_general_kernels(monkeypatch, X, y, Subsample(size), k)
        design = [StratifiedKFold(2), StratifiedSubsample(float(rng.uniform(0.5, 0.9)))][seed % 2]
        k = int(rng.integers(1, min(n_items // 4, 25) + 1))
        check_against_general_kernels(monkeypatch, X, y, design, k)


SHAPES = [
    *[(100, 10, 51, KFold(5)), (120, 60, 31, KFold(7)), (100, 3, 40, Subsample(0.8))],
    *[(150, 30, 60, LeaveOut(1)), (80, 4, 62, Subsample(63)), (80, 4, 16, LeaveOut(60))],
    *[(800, 5, 20, Subsample(40)), (200, 10, 51, StratifiedKFold(5)), (250, 60, 31, StratifiedKFold(3))],
    (600, 5, 12, StratifiedSubsample(0.05)),
]


@pytest.mark.slow
def test_many_neighbors_classes_and_items_equal_the_general_kernels(monkeypatch):
    for spread in (0.3, 2.0):
        for n_items, n_classes, k, design in SHAPES:
            X, y = blobs(n_items + k, n_items, n_classes, spread)
            check_against_general_kernels(monkeypatch, X, y, design, k)


def test_more_than_eight_kinds(monkeypatch):
    """They are taken eight at a time."""
    sizes = [21, 22, 23, 24, 25, 26, 27, 28, 29, 31]
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(1).normal(size=(len(y), 2))
    found = check_against_general_kernels(monkeypatch, X, y, StratifiedKFold(20), 7)
    assert len(found.kinds) > simd.LANES


@pytest.mark.usefixtures("contested")
def test_the_bound_covers_the_rational_score():
    for n_items, k, design in ((40, 17, KFold(4)), (30, 7, StratifiedSubsample(0.6))):
        X, y = blobs(3, n_items, 5, 0.5)
        exact = complete_cv(X, y, "knn", design, n_neighbors=k, exact=True).exact
        found = complete_cv(X, y, "knn", design, n_neighbors=k)
        assert abs(Fraction(found.score) - exact) <= found.error_bound


def test_samples_that_are_never_tested_have_no_score():
    y = np.array([0] * 12 + [1] * 9 + [2] * 2)
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    found = complete_cv(X, y, "knn", StratifiedSubsample(per_class={0: 8, 1: 9, 2: 1}), n_neighbors=3)
    assert np.isnan(found.per_item).any()
    assert np.array_equal(np.isnan(found.per_item), found.weights == 0)


def test_a_subclass_with_its_own_kernel_is_asked():
    class Other(votes.KNN):
        name = "other"
        stratified = votes.untied_strata_votes

    X, y = blobs(2, 60, 3)
    plain = complete_cv(X, y, "knn", n_neighbors=3, ties="index")
    other = complete_cv(X, y, Other, n_neighbors=3, ties="index")
    assert other.score == pytest.approx(plain.score, abs=1e-13)
    assert Other().chain  # inherited, and not called

    class Refusing(votes.KNN):
        name = "refusing"

        def tables(self, _task, **_parameters):
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        complete_cv(X, y, Refusing, n_neighbors=3)


def test_tails_of_two_classes_are_those_of_each_row_alone():
    """Rows with equally many samples of both classes share a tail; a wrong one may still be a bound."""
    rng = np.random.default_rng(0)
    y, rows = np.array([0] * 30 + [1] * 20), np.arange(50)
    constraints = constraints_for(Task((15, 10), (30, 20), True, 1, 2), Tables(), n_nearest=3)
    labels = Labels(y.astype(np.int64), np.empty((0, 0)))
    items = Neighbors.from_data(rng.normal(size=(50, 2))).kneighbors(12)[0].astype(np.int32)
    lengths = rng.integers(3, 13, 50)
    together, alone = np.empty(50), np.empty(50)
    stratified_tails(items, lengths, rows, labels, constraints, 3, together)
    for r in rows:
        one = slice(r, r + 1)
        stratified_tails(items[one], lengths[one], rows[one], labels, constraints, 3, alone[one])
    np.testing.assert_array_equal(together, alone)


LOSS = [[0, 2, -1], [1, 0, 4], [3, 1, 1]]
TIED = [
    ("knn", {"n_neighbors": 1}, 1, lambda votes, own: votes.index(max(votes)) == own),
    ("knn", {"n_neighbors": 5}, 5, lambda votes, own: votes.index(max(votes)) == own),
    ("knn", {"n_neighbors": 4, "loss": LOSS}, 4, lambda votes, own: LOSS[own][votes.index(max(votes))]),
    ("nn", {}, 1, lambda votes, own: votes[own]),
    ("nn", {"loss": LOSS}, 1, lambda votes, own: LOSS[own][votes.index(1)]),
    ("rank", {"rank": 3}, 3, lambda votes, own: votes[own] > 0),
    (
        *("confidence", {"n_neighbors": 4, "score": "brier"}, 4),
        lambda votes, own: sum((Fraction(v, 4) - (c == own)) ** 2 for c, v in enumerate(votes)),
    ),
]


def drawn(trained, k, own, score):
    """The mean score of K samples drawn from a training set with this number of every class."""
    total = Fraction(0)
    for counts in product(range(k + 1), repeat=len(trained)):
        if sum(counts) == k:
            ways = Fraction(1)
            for n, v in zip(trained, counts, strict=True):
                ways *= comb(n, v)
            total += ways * score(counts, own)
    return float(total / comb(sum(trained), k))


def test_where_all_tie():
    y = np.repeat(np.arange(3), (700, 270, 101))
    for trained in ((300, 150, 100), (2, 4, 5), (530, 269, 1), (0, 1, 5)):
        design = StratifiedSubsample(per_class=dict(enumerate(trained)))
        for rule, parameters, k, score in TIED:
            found = complete_cv(np.zeros((len(y), 1)), y, rule, design, tol=0, n_jobs=1, **parameters)
            what = f"{rule} {parameters} {trained}"
            assert found.error_bound < 1e-10
            for own in range(3):
                expected = drawn(trained, k, own, score)
                np.testing.assert_allclose(
                    found.per_item[y == own], expected, rtol=1e-13, atol=1e-15, err_msg=what
                )


def test_large_groups_behind_nearer_samples():
    """Two classes: by the table of votes, and by random times, as no table serves losses."""
    rng = np.random.default_rng(0)
    distances = np.sort(rng.choice([1.0, 2.0, 3.0], (180, 180), p=[0.02, 0.5, 0.48]))
    y = rng.permutation(np.arange(180) % 3 // 2)
    for k, design in product((1, 3), (StratifiedKFold(4), StratifiedSubsample(0.1))):
        asked = {"metric": "precomputed", "n_neighbors": k, "tol": 0}
        expected = complete_cv(distances, y, "knn", design, **asked)
        result = complete_cv(distances, y, "knn", design, loss=np.eye(2), **asked)
        np.testing.assert_allclose(result.per_item, expected.per_item, rtol=1e-12)


@pytest.mark.slow
def test_the_nearest_of_many_classes():
    """Of seven, by generating functions, which count no times."""
    rng = np.random.default_rng(0)
    distances = rng.choice([1.0, 2.0, 3.0], (440, 440), p=[0.01, 0.44, 0.55])
    y = rng.permutation(np.arange(440) % 7)
    for design in (StratifiedKFold(3), StratifiedSubsample(0.05)):
        expected = complete_cv(distances, y, "nn", design, tol=0, metric="precomputed")
        result = complete_cv(distances, y, "knn", design, n_neighbors=1, tol=0, metric="precomputed")
        np.testing.assert_allclose(result.per_item, expected.per_item, rtol=1e-12)


def test_the_nodes_suffice():
    """For integrands that are smooth, and peaked as only those of groups of millions of samples are."""
    for size, end in product((65, 1000, 30_000), (1.0, 0.3, 0.01)):
        degree = as_python(degree_for)(size, end)
        assert degree <= size + 1
        nodes, weights = tie_times(degree, 1.0)
        for j in (0, 1, 5, size // 100, size // 2, size - 1):
            # size Bin(size - 1, x)(j), whose integral to `end` is P(more than j of size).
            found = float((weights * end * size * binom.pmf(j, size - 1, nodes * end)).sum())
            assert found == pytest.approx(float(binom.sf(j, size, end)), rel=1e-9, abs=1e-13)
