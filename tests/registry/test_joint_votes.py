"""Stratified votes of all kinds of training sets at once, against other kernels and enumeration."""

from fractions import Fraction

import numpy as np
import pytest
from problems import blobs, check_votes

from knnccv import Neighbors, StratifiedKFold, StratifiedSubsample, complete_cv
from knnccv.kernel import JOINT, Labels, Tables, Task, chain_of, constraints_for, simd
from knnccv.sampling import stratified_tails
from knnccv_variants import votes

STRATIFIED = (StratifiedKFold, StratifiedSubsample)


def kind_by_kind(monkeypatch, *arguments, **more):
    with monkeypatch.context() as patch:
        patch.setattr(
            "knnccv.driver._part.chain_of",
            lambda *given: [link for link in chain_of(*given) if link.form != JOINT],
        )
        return complete_cv(*arguments, **more)


@pytest.mark.parametrize("seed", range(12))
def test_it_equals_the_enumeration(seed):
    check_votes(seed, STRATIFIED)


@pytest.mark.parametrize("seed", range(24))
def test_random_problems_equal_those_of_one_kind_at_a_time(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(3, 12))
    n_items = int(rng.integers(2 * n_classes, 160))
    X, y = blobs(seed, n_items, n_classes, rng.uniform(0, 2), uneven=seed % 2 == 1)
    if seed % 5 == 0:
        X = np.round(X, 1)  # samples with mixed tied groups are scored kind by kind
    design = StratifiedKFold(2) if seed % 4 < 2 else StratifiedSubsample(float(rng.uniform(0.5, 0.9)))
    k = int(rng.integers(1, min(n_items // 4, 25) + 1))
    arguments = Neighbors.from_data(X), y, "knn", design
    expected = kind_by_kind(monkeypatch, *arguments, n_neighbors=k)
    found = complete_cv(*arguments, n_neighbors=k)
    np.testing.assert_allclose(found.per_item, expected.per_item, rtol=0, atol=1e-12)
    assert found.error_bound == pytest.approx(expected.error_bound, rel=1e-6, abs=1e-15)
    assert found.tied == expected.tied


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_items", "n_classes", "k", "design"),
    [
        (200, 10, 51, StratifiedKFold(5)),
        (250, 60, 31, StratifiedKFold(3)),
        (600, 5, 12, StratifiedSubsample(0.05)),
    ],
)
def test_many_neighbors_equal_those_of_one_kind_at_a_time(monkeypatch, n_items, n_classes, k, design):
    X, y = blobs(n_items + k, n_items, n_classes)
    arguments = Neighbors.from_data(X), y, "knn", design
    expected = kind_by_kind(monkeypatch, *arguments, n_neighbors=k)
    found = complete_cv(*arguments, n_neighbors=k)
    np.testing.assert_allclose(found.per_item, expected.per_item, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_items", "k"), [(40, 5), (60, 9)])
def test_the_bound_covers_the_rational_score(n_items, k):
    X, y = blobs(3, n_items, 5, 0.5)
    arguments = X, y, "knn", StratifiedSubsample(0.6)
    exact = complete_cv(*arguments, n_neighbors=k, exact=True).exact
    found = complete_cv(*arguments, n_neighbors=k)
    assert abs(Fraction(found.score) - exact) <= found.error_bound


def test_more_than_eight_kinds(monkeypatch):
    """They are taken eight at a time."""
    sizes = [21, 22, 23, 24, 25, 26, 27, 28, 29, 31]
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(1).normal(size=(len(y), 2))
    design = StratifiedKFold(20)
    expected = kind_by_kind(monkeypatch, X, y, "knn", design, n_neighbors=7)
    assert len(expected.kinds) > simd.LANES
    found = complete_cv(X, y, "knn", design, n_neighbors=7)
    np.testing.assert_allclose(found.per_item, expected.per_item, rtol=0, atol=1e-13)


def test_threads_change_nothing():
    X, y = blobs(8, 400, 6)
    one, two = (complete_cv(X, y, "knn", n_neighbors=9, n_jobs=n) for n in (1, 2))
    assert one.score == two.score
    assert one.error_bound == two.error_bound
    np.testing.assert_array_equal(one.per_item, two.per_item)


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
    """Rows with equally many samples of both classes share a tail, whatever the order."""
    rng = np.random.default_rng(0)
    y = np.array([0] * 30 + [1] * 20)
    X = rng.normal(size=(50, 2))
    found = complete_cv(X, y, "knn", StratifiedSubsample(0.5), n_neighbors=3, ties="index")
    kind = found.kinds[0]
    constraints = constraints_for(Task(kind.n_train, kind.counts, True, 1, 2), Tables(), n_nearest=3)
    labels = Labels(y.astype(np.int64), np.empty((0, 0)))
    lists = Neighbors.from_data(X).search(np.arange(50), 12)
    lengths = rng.integers(3, 13, 50)
    together, alone = np.empty(50), np.empty(50)
    rows = np.arange(50)
    stratified_tails(lists.items, lengths, rows, labels, constraints, 3, together)
    for r in rows:
        one = slice(r, r + 1)
        stratified_tails(lists.items[one], lengths[one], rows[one], labels, constraints, 3, alone[one])
    np.testing.assert_array_equal(together, alone)
