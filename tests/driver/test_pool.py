"""A pool of training samples and a fixed test set, against the enumeration of all training sets."""

from collections import Counter
from fractions import Fraction
from itertools import chain, combinations, product

import naive
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from problems import REGRESSION, SETTINGS, Shares, StratifiedShuffle, plain
from scipy.sparse import csr_array
from seeds import over_seeds
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

import knnccv
from knnccv import KFold, LeaveOut, Neighbors, StratifiedSubsample, Subsample, complete_cv, surface
from knnccv._core.driver import AVERAGES
from knnccv.kernel.registry import get_variant
from knnccv.sklearn import expected_score


def problem(seed):
    """Distances (n_test, n_pool) with ties, labels of both; a test label may be missing in the pool."""
    rng = np.random.default_rng(seed)
    n_pool, n_test = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    y = rng.integers(0, rng.integers(1, 4), n_pool)
    t = rng.integers(0, 4 if seed % 5 == 0 else y.max() + 1, n_test)
    return (
        rng.integers(0, 4, (n_test, n_pool)).astype(float) if seed % 3 else rng.random((n_test, n_pool)),
        y,
        t,
    )


def designs(y, rng):
    """The library's designs of a pool with the equally likely training sets, in kinds of equal chance."""
    n = len(y)
    size, p = (int(rng.integers(1, n + 1)) for _ in range(2))
    yield Subsample(size), [list(combinations(range(n), size))]
    if p < n:
        yield LeaveOut(p), [list(combinations(range(n), n - p))]
    k = int(rng.integers(2, n + 1))
    yield KFold(k), [list(combinations(range(n), n - fold)) for fold in naive.kfold_sizes(n, k)]
    groups = rng.permutation(np.arange(n) % int(rng.integers(2, n + 1)))
    n_groups = int(groups.max()) + 1
    if n_groups > 1:
        p = int(rng.integers(1, n_groups))
        left_out = [np.isin(groups, test) for test in combinations(range(n_groups), p)]
        yield knnccv.LeaveGroupsOut(groups, p), [[tuple(np.flatnonzero(~out).tolist()) for out in left_out]]
    sizes = {int(c): int(rng.integers(0, (y == c).sum() + 1)) for c in np.unique(y)}
    if sum(sizes.values()):
        listed = [()]
        for c, count in sizes.items():
            own = combinations(np.flatnonzero(y == c).tolist(), count)
            listed = [(*T, *more) for more in own for T in listed]
        yield StratifiedSubsample(per_class=sizes), [listed]


def with_one_more(y, rng):
    """The same of a design that gives one more training sample to some of the classes, chosen at random."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) == 1:
        return
    base = [int(rng.integers(0, count)) for count in counts]
    some = sorted(rng.permutation(len(classes))[: int(rng.integers(2, len(classes) + 1))].tolist())
    extra = int(rng.integers(1, len(some)))
    kinds = []
    for chosen in combinations(some, extra):
        own = [
            list(combinations(np.flatnonzero(y == c).tolist(), n + (at in chosen)))
            for at, (c, n) in enumerate(zip(classes, base, strict=True))
        ]
        kinds.append([tuple(chain(*parts)) for parts in product(*own)])
    n_test = len(y) - sum(base) - extra
    yield StratifiedShuffle("one more", Shares(tuple(base), tuple(some), extra), n_test), kinds


def enumerated(D, y, t, kinds, variant, ties, average, parameters):
    """The mean over all training sets, as a Fraction."""
    labels = [*y.tolist(), *t.tolist()]
    n = len(y)
    per_item = []
    for q, row in enumerate(D.tolist()):
        means = []
        for listed in kinds:
            scores = []
            for T in listed:
                groups = {}
                for j in sorted(T):
                    groups.setdefault(row[j], []).append(j)
                ordered = [groups[d] for d in sorted(groups)]
                scores.append(naive.expected_over_ties(variant, ordered, labels, n + q, parameters, ties))
            means.append(naive.mean(scores))
        per_item.append(naive.mean(means))
    if average == "class":
        return naive.mean(
            [naive.mean([s for s, c in zip(per_item, t, strict=True) if c == d]) for d in set(t.tolist())]
        )
    return naive.mean(per_item)


def questions(seed):
    """A problem, the training sets of a design, and what `complete_cv` is asked."""
    rng, (D, y, t) = np.random.default_rng(seed), problem(seed)
    n_classes = len(set(y.tolist()) | set(t.tolist()))
    loss = rng.integers(-2, 6, (n_classes, n_classes))
    for d, (design, kinds) in enumerate(chain(designs(y, rng), with_one_more(y, rng))):
        smallest = min(len(T) for listed in kinds for T in listed)
        by_class = isinstance(design, StratifiedSubsample | StratifiedShuffle)
        for s, (variant, setting) in enumerate(SETTINGS + REGRESSION):
            regression = variant == "regression"
            fits = setting.get("n_neighbors", 1) <= smallest and not (regression and by_class)
            if fits and (s + d + seed) % 5 == 0:
                given = {name: loss if value is True else value for name, value in setting.items()}
                average = AVERAGES[(s + seed) % (2 if regression else 3)]
                yield D, y, t, kinds, {
                    "variant": variant, "cv": design, "metric": "precomputed", "test": t, "n_jobs": 1,
                    "average": average, **given,
                }  # fmt: skip


def check_influence(found, D, y, asked):
    """The influence of every sample is the score without it, or both are refused."""

    def without(j):
        rest, more = np.delete(np.arange(len(y)), j), dict(asked)
        if asked.get("loss") is not None:  # a class that nobody has then has no loss
            before, after = (np.unique([*labels, *asked["test"]]) for labels in (y, y[rest]))
            more["loss"] = asked["loss"][np.ix_(*[np.isin(before, after)] * 2)]
        return complete_cv(D[:, rest], y[rest], **more).score

    try:
        wanted = [without(j) for j in range(len(y))]
    except ValueError:
        with pytest.raises(ValueError, match="without"):
            found.influence()
        return 0
    effect = found.influence()
    assert np.abs(found.score - effect.per_item - wanted).max() < 1e-12, asked
    assert (effect.as_tested == 0).all()
    assert effect.labels.tolist() == y.tolist()
    return 1


def check_surface(found, D, y, asked):
    """The same score in a cell among others of a surface."""
    given = dict(asked)
    design = given.pop("cv")
    axis = next((name for name in ("n_neighbors", "rank") if name in given), None)
    ks = range(1, given.pop(axis) + 1) if axis else None
    sizes = [design.train_size, len(y)]
    if design.stratifies:
        sizes = [design.per_class, dict(Counter(y.tolist()))]
    cells = surface(D, y, ks, sizes, stratified=design.stratifies, **given)
    assert abs(cells.scores[-1, 0] - found.score) <= cells.error_bound[-1, 0] + 1e-9, asked


@over_seeds(8)
def test_a_pool_and_a_test_set_equal_the_enumeration(seeds):
    compared = removed = 0
    for seed in seeds:
        for D, y, t, kinds, asked in questions(seed):
            own = ("cv", "metric", "test", "n_jobs", "average", "variant")
            parameters = plain({name: value for name, value in asked.items() if name not in own})
            for ties in get_variant(asked["variant"]).tie_rules[:: (-1) ** seed]:
                where = f"seed {seed}: {asked} {ties}"
                wanted = enumerated(D, y, t, kinds, asked["variant"], ties, asked["average"], parameters)
                assert complete_cv(D, y, exact=True, ties=ties, **asked).fraction == wanted, where
                found = complete_cv(D, y, ties=ties, **asked)
                assert abs(Fraction(found.score) - wanted) <= found.error_bound, where
                compared += 1
            asked["ties"] = ties
            if not asked["cv"].leaves_groups and seed % 2:
                removed += check_influence(found, D, y, asked)
            if isinstance(asked["cv"], Subsample | StratifiedSubsample):
                check_surface(found, D, y, asked)
    assert compared > 4 * len(seeds)
    assert removed > len(seeds)


def test_a_test_set_tells_nothing_of_the_class_that_has_one_more_training_sample():
    """A sample of the pool is more often tested where its class trains less; others always are."""
    X, y = np.array([[0.0], [10], [11], [1], [2], [3]]), [1, 1, 1, 0, 0, 0]
    cv = StratifiedShuffleSplit(train_size=3, test_size=3)  # two samples of one class, and one of the other
    for rule in (
        KNeighborsClassifier(1),  # class 1 if the sample at 0 trains
        KNeighborsClassifier(2, weights="distance"),
        KNeighborsClassifier(3),  # the class that has two
    ):
        for t in (0, 1):
            found = expected_score(rule, X, y, cv=cv, test=([[-1.0]], [t]), n_jobs=1)
            assert found.score == pytest.approx(1 / 2, abs=1e-14), (rule, t)


@over_seeds(3)
def test_the_runs_of_a_pool_are_its_training_sets(seeds):
    """Each run has the score of one training set, as often as the design says."""
    rules = (("nn", {}), ("knn", {"n_neighbors": 2}), ("confidence", {"n_neighbors": 2}))
    for seed in seeds:
        D, y, t = problem(seed)
        for d, (design, kinds) in enumerate(designs(y, np.random.default_rng(seed))):
            variant, setting = rules[(d + seed) % 3]
            if setting.get("n_neighbors", 1) > min(len(T) for listed in kinds for T in listed):
                continue
            where = f"seed {seed}: {variant} {design}"
            asked = {"metric": "precomputed", "test": t, "ties": "index", "n_jobs": 1, **setting}
            found = complete_cv(D, y, variant, design, **asked)
            law = Counter()
            for listed in kinds:
                for T in listed:
                    score = enumerated(D, y, t, [[T]], variant, "index", "pooled", setting)
                    law[round(float(score), 9)] += Fraction(1, len(listed) * len(kinds))
            shown = found.runs(2000, random_state=seed)
            drawn = Counter(shown.scores.round(9).tolist())
            assert set(drawn) <= set(law), where
            for score, p in law.items():
                slack = 6 * np.sqrt(float(2000 * p * (1 - p))) + 4
                assert abs(drawn[score] - 2000 * p) <= slack, where
            mean = sum(score * p for score, p in law.items())
            std = np.sqrt(float(sum((score - mean) ** 2 * p for score, p in law.items())))
            spread = found.split_std()
            assert abs(spread.std - std) <= 6 * spread.std_error + 1e-8, where
            if shown.confusions is not None:
                means = shown.confusions.mean(axis=0) / len(t)
                assert np.abs(means - found.confusion(normalize="all")).max() < 0.08, where


def test_features_lists_and_distances_give_one_answer():
    rng = np.random.default_rng(0)
    y, t = rng.integers(0, 3, 240), rng.integers(0, 3, 20)
    X, Z = rng.normal(size=(240, 12)) + y[:, None], rng.normal(size=(20, 12)) + t[:, None]
    D = np.sqrt(((Z[:, None] - X) ** 2).sum(axis=-1))
    nearest = np.argsort(D, axis=1)[:, :120]
    lists = Neighbors.between_lists(nearest, np.take_along_axis(D, nearest, axis=1), 240)
    for cv in (Subsample(120), StratifiedSubsample(per_class=40)):
        asked = {"variant": "knn", "cv": cv, "n_neighbors": 5}
        wanted = complete_cv(D, y, metric="precomputed", test=t, **asked)
        for found in (
            complete_cv(X, y, test=(Z, t), **asked),
            complete_cv(csr_array(X), y, test=(csr_array(Z), t), **asked),
            complete_cv(lists, y, test=t, **asked),
            complete_cv(Neighbors.between(Z, X), y, test=t, **asked),
            complete_cv(Neighbors.between(Z, X, n_neighbors=150), y, test=t, **asked),
        ):
            np.testing.assert_allclose(found.per_item, wanted.per_item, atol=1e-12)
            assert found.n_train_sets == wanted.n_train_sets
        assert np.trace(wanted.confusion()) == pytest.approx(wanted.score, abs=1e-12)
        assert wanted.confusion().sum(axis=1) == pytest.approx(np.bincount(t) / 20, abs=1e-12)
        weighted = complete_cv(X, y, "weighted", cv, n_neighbors=5, weights="inverse", test=(Z, t))
        of_distances = complete_cv(
            D, y, "weighted", cv, n_neighbors=5, weights="inverse", metric="precomputed", test=t
        )
        assert weighted.score == pytest.approx(of_distances.score, abs=1e-10)
        drawn = complete_cv(X, y, test=(Z, t), method="sampled", n_draws=1000, **asked)
        assert abs(drawn.score - wanted.score) < 4 * drawn.std_error < 0.02


def test_a_surface_of_a_pool_has_standard_errors():
    rng = np.random.default_rng(4)
    y, t = rng.integers(0, 2, 60), rng.integers(0, 2, 40)
    X, Z = rng.normal(size=(60, 2)) + y[:, None], rng.normal(size=(40, 2)) + t[:, None]
    found = surface(X, y, [1, 3], [30, 60], test=(Z, t)).standard_error(n_halvings=20)
    for column, size in enumerate((30, 60)):
        single = complete_cv(X, y, "knn", Subsample(size), n_neighbors=3, test=(Z, t))
        assert found.item((1, column)) == pytest.approx(float(single.standard_error(n_halvings=20)))


def test_the_influence_of_a_sample_without_which_its_class_is_too_small_is_refused():
    """Two of class 1 train, so that there are no training sets without one of them."""
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1], [10, 2])
    cv = StratifiedShuffleSplit(train_size=10, test_size=2)
    found = expected_score(KNeighborsClassifier(1), X, y, cv=cv, test=([[0.2], [11.0]], [0, 1]), n_jobs=1)
    with pytest.raises(ValueError, match=r"without sample 10 .* trains \[8, 2\] .* which have \[10, 1\]"):
        found.result.influence()


def test_columns_are_found_by_their_names():
    rng = np.random.default_rng(3)
    X, tests, y, t = (
        rng.normal(size=(8, 2)) * [1, 10],
        rng.normal(size=(6, 2)) * [1, 10],
        [0, 1] * 4,
        [0, 1] * 3,
    )
    plain = complete_cv(X, y, "nn", Subsample(4), test=(tests, t)).score
    assert complete_cv(X, y, "nn", Subsample(4), test=(tests[:, ::-1], t)).score != plain
    for table in (pd.DataFrame, pl.DataFrame, pa.table):
        pool, turned = table({"a": X[:, 0], "b": X[:, 1]}), table({"b": tests[:, 1], "a": tests[:, 0]})
        asked = {"test": (turned, t)}
        assert complete_cv(pool, y, "nn", Subsample(4), **asked).score == plain
        assert surface(pool, y, [1], [4], **asked).scores[0, 0] == pytest.approx(plain, abs=1e-13)
        bridge = expected_score(KNeighborsClassifier(1), pool, y, cv=ShuffleSplit(train_size=4), **asked)
        assert bridge.score == pytest.approx(plain, abs=1e-13)
        other = table({"b": tests[:, 1], "z": tests[:, 0]})
        with pytest.raises(ValueError, match=r"missing \['a'\], not in X \['z'\]"):
            complete_cv(pool, y, "nn", Subsample(4), test=(other, t))


def test_classes_of_the_test_set_that_the_pool_lacks_and_the_reverse():
    rng = np.random.default_rng(4)
    X, tests, y, t = rng.normal(size=(9, 2)), rng.normal(size=(6, 2)), list("abcabcabc"), list("bbccdd")
    found = complete_cv(X, y, "nn", Subsample(4), test=(tests, t))
    expected = {"a": np.nan, "b": found.per_item[:2].mean(), "c": found.per_item[2:4].mean(), "d": 0.0}
    assert found.per_class() == pytest.approx(expected, nan_ok=True)
    assert found.balanced_accuracy == pytest.approx(np.mean([expected[c] for c in "bcd"]))
    single = complete_cv(X, y, "nn", Subsample(4), test=(tests, ["c"] * 6))
    assert single.per_class() == pytest.approx({"a": np.nan, "b": np.nan, "c": single.score}, nan_ok=True)
