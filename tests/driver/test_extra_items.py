"""Stratified training sets in which some classes, chosen at random, have one more sample."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from knnccv import Neighbors, complete_cv
from knnccv.kernel import Variant, jit
from knnccv.sklearn._designs import Shares, StratifiedShuffle

RULES = [
    ("nn", {}),
    ("nn", {"loss": True}),
    ("knn", {"n_neighbors": 3}),
    ("knn", {"n_neighbors": 2, "loss": True}),
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}),
    ("rank", {"rank": 2}),
    ("confidence", {"n_neighbors": 3}),
    ("confidence", {"n_neighbors": 2, "score": "brier"}),
]


@dataclass(frozen=True)
class OneByOne(StratifiedShuffle):
    """The same, every pattern of class counts by itself."""

    def _at_once(self, labels):  # noqa: ARG002
        return False


def problem(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 6))
    y = np.repeat(np.arange(n_classes), rng.integers(2, 5, n_classes))
    rng.shuffle(y)
    X = rng.integers(0, 3, (len(y), 2)) if seed % 2 else rng.normal(size=(len(y), 2))
    counts = np.bincount(y)
    base = [int(rng.integers(0, count)) for count in counts]
    tied = [c for c in range(n_classes) if rng.random() < 0.8]
    extra = int(rng.integers(0, len(tied) + 1)) if tied else 0
    if sum(base) < 4:
        base, extra = [int(count) - 1 for count in counts], min(extra, 1)
    if sum(base) + len(tied) >= len(y):  # nothing would be tested
        base[0] -= 1
    train = Shares(tuple(base), tuple(tied), extra)
    return X.astype(float), y, train, len(y) - sum(base) - extra


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_all_patterns_at_once_equal_one_by_one(seed):
    X, y, train, n_test = problem(seed)
    n_classes = len(train.base)
    loss = np.random.default_rng(seed).integers(-2, 6, (n_classes, n_classes))
    for r, (variant, setting) in enumerate(RULES):
        if (r + seed) % 2 or setting.get("n_neighbors", 1) > sum(train.base) + train.extra:
            continue
        setting = {name: loss if value is True else value for name, value in setting.items()}
        for ties in ("index", "random"):
            asked = {"ties": ties, **setting}
            slow = complete_cv(X, y, variant, OneByOne("", train, n_test), exact=True, **asked)
            quick = complete_cv(X, y, variant, StratifiedShuffle("", train, n_test), exact=True, **asked)
            assert quick.exact == slow.exact
            floating = complete_cv(X, y, variant, StratifiedShuffle("", train, n_test), n_jobs=1, **asked)
            assert abs(Fraction(floating.score) - slow.exact) <= Fraction(1, 10**12)
            assert abs(Fraction(floating.score) - slow.exact) <= floating.error_bound
            assert quick.n_train_sets == slow.n_train_sets
            np.testing.assert_allclose(quick.weights, slow.weights, rtol=1e-14)


@pytest.mark.slow
def test_forty_classes_of_ten():
    """Half of the classes, chosen at random, get one more: C(40, 20) patterns."""
    selection = pytest.importorskip("sklearn.model_selection")
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 10)
    X = rng.normal(size=(400, 6)) + 2 * rng.normal(size=(40, 6))[y]
    train = Shares.of(np.bincount(y), 300)
    assert (len(train.tied), train.extra) == (40, 20)
    splitter = selection.StratifiedShuffleSplit(200, test_size=100, random_state=0)
    for k in (1, 3):
        exact = complete_cv(X, y, "knn", StratifiedShuffle("", train, 100), n_neighbors=k)
        model = neighbors.KNeighborsClassifier(k)
        runs = selection.cross_val_score(model, X, y, cv=splitter)
        assert abs(runs.mean() - exact.score) < 4 * runs.std() / np.sqrt(len(runs))


def test_a_rule_that_does_not_heed_it_is_refused():
    @jit
    def half(order, labels, target, constraints):  # noqa: ARG001
        return 0.5

    class Half(Variant):
        name = "half"
        stratified = half

        def n_nearest(self):
            return 1

    X, y, train, n_test = next(problem(seed) for seed in range(40) if problem(seed)[2].extra)
    with pytest.raises(ValueError, match="one extra training sample at random"):
        complete_cv(X, y, Half, StratifiedShuffle("", train, n_test))


@pytest.mark.parametrize("base", [(60, 40, 12, 3), (2, 3, 1, 1), (119, 79, 59, 38)])
def test_large_tied_groups(base):
    """The time at which the K nearest have come counts the classes without the additional sample."""
    counts = (120, 80, 60, 40)
    y = np.repeat(np.arange(4), counts)
    near = Neighbors.from_distances(np.random.default_rng(0).choice([1.0, 2.0], (300, 300), p=[0.3, 0.7]))
    train = Shares(base, (0, 1, 3), 2)
    n_test = sum(counts) - sum(base) - 2
    for variant, setting in (("knn", {"n_neighbors": 3}), ("nn", {})):
        many = complete_cv(near, y, variant, OneByOne("one by one", train, n_test), tol=0, **setting)
        once = complete_cv(near, y, variant, StratifiedShuffle("at once", train, n_test), tol=0, **setting)
        assert once.kinds[0].n_extra == 2
        np.testing.assert_allclose(once.per_item, many.per_item, rtol=1e-12)
