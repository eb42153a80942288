"""Properties of all rules, and of the special kernels of votes."""

import os
import subprocess
import sys
from fractions import Fraction
from itertools import product
from math import comb

import naive
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import BUILT_IN, blobs, designs, problem, questions
from seeds import over_seeds

import knnccv
from knnccv import KFold, LeaveOut, Neighbors, StratifiedKFold, StratifiedSubsample, Subsample, complete_cv
from knnccv.kernel import JOINT, chain_of, simd
from knnccv_variants import votes

FIXED, STRATIFIED = [Subsample(0.5), KFold(4), LeaveOut(2)], [StratifiedSubsample(0.6), StratifiedKFold(3)]
REAL = {name for name in BUILT_IN if knnccv.get_variant(name).target == "values"}
SETTINGS = [
    *[(name, {}) for name in BUILT_IN],
    *[("confidence", {"score": "brier"}), ("confidence", {"score": "log_loss"})],
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}),
]
"""Every built-in rule as it is by default, and what else counts differently."""
every_rule = pytest.mark.parametrize(("rule", "setting"), SETTINGS, ids=str)


def tied_data(n_items=60, n_classes=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n_items, 2)).astype(float)
    y = rng.integers(0, n_classes, n_items)
    y[: 4 * n_classes] = np.tile(np.arange(n_classes), 4)
    return X, y


def asked_of(rule, y):
    """The y that the rule takes: the classes, or real numbers in their place."""
    return np.random.default_rng(len(y)).integers(-40, 60, len(y)) / 8 if rule in REAL else y


def of_one_nearest(rule, setting, number=1):
    """The setting, with one neighbor, or another number."""
    names = {"n_neighbors", "rank"} & set(knnccv.get_variant(rule).parameters)
    return {**setting, **dict.fromkeys(names, number)}


def one_against_one(rule, setting, y):
    """The score of x (rows) if one other sample (columns) decides alone."""
    if rule in REAL:
        return (y[:, None] - y) ** 2
    right = (y[:, None] == y).astype(float)
    if setting.get("score") == "log_loss":
        return -np.log(np.clip(right, 2.0**-52, 1 - 2.0**-52))
    return 2 * (1 - right) if setting.get("score") == "brier" else right


@every_rule
def test_one_class_is_always_right(rule, setting):
    X, _ = tied_data()
    y = np.full(len(X), 0.3 if rule in REAL else "only")
    score = setting.get("score")
    expected, largest = float(rule not in REAL and score is None), 36 if score == "log_loss" else 1
    for design in FIXED if rule in REAL else FIXED + STRATIFIED:
        for ties in ("index", "random"):
            result = complete_cv(X, y, rule, design, ties=ties, **setting)
            assert abs(result.score - expected) <= result.error_bound <= 1.1e-12 * largest, (design, ties)
            assert result.n_tied == 0


@every_rule
def test_two_items(rule, setting):
    setting = of_one_nearest(rule, setting)
    for design in (Subsample(1), KFold(2), LeaveOut(1)):
        for y in ([0, 0], [0, 1]):
            expected = one_against_one(rule, setting, np.array(y))[0, 1]
            for exact in (False, True):
                result = complete_cv([[0.0], [1.0]], y, rule, design, exact=exact, **setting)
                assert result.score == pytest.approx(expected, rel=1e-14)
                assert result.n_train_sets == 2


@every_rule
@pytest.mark.parametrize("ties", ["index", "random"])
def test_the_extreme_sizes(rule, setting, ties):
    X, y = blobs(1, 60, 3)
    y, n_items = asked_of(rule, y), len(y)
    apart = ((X[:, None] - X) ** 2).sum(axis=-1) + np.diag(np.full(n_items, np.inf))
    setting = of_one_nearest(rule, setting)
    pairs = one_against_one(rule, setting, y)
    expected = (pairs.sum() - np.trace(pairs)) / (n_items * (n_items - 1))
    one = complete_cv(X, y, rule, Subsample(1), ties=ties, **setting)
    assert one.score == pytest.approx(expected, rel=1e-12)
    most = complete_cv(X, y, rule, Subsample(n_items - 1), ties=ties, **setting)
    assert most.score == pytest.approx(pairs[np.arange(n_items), apart.argmin(axis=1)].mean(), rel=1e-14)
    assert most.depth == (1 if ties == "index" else 2)  # fair: whether the next one is as near


@every_rule
def test_all_items_equal(rule, setting):
    """One tied group holds everything."""
    y = asked_of(rule, np.repeat([0, 1], [4, 8]))
    asked = {"X": np.zeros((12, 2)), "y": y, "variant": rule, **of_one_nearest(rule, setting, 3)}
    for design in [Subsample(6)] if rule in REAL else [Subsample(6), StratifiedSubsample(0.5)]:
        for ties in ("index", "random"):
            rational = complete_cv(cv=design, ties=ties, exact=True, **asked)
            found = complete_cv(cv=design, ties=ties, **asked)
            assert found.score == pytest.approx(float(rational.fraction), rel=1e-13)
            assert found.n_tied == 12


@settings(max_examples=15, derandomize=True, deadline=None)
@given(data=st.data())
def test_more_depth_never_moves_the_score_beyond_the_bound(data):
    X, y = tied_data(data.draw(st.integers(12, 40)), 2, data.draw(st.integers(0, 10**6)))
    rule = data.draw(st.sampled_from(BUILT_IN))
    design = Subsample(data.draw(st.integers(4, len(y) - 1)))
    if rule not in REAL and data.draw(st.booleans()):
        design = StratifiedSubsample(per_class=data.draw(st.integers(2, 3)))
    asked = {"y": asked_of(rule, y), "variant": rule, "cv": design, "n_jobs": 1}
    asked |= of_one_nearest(rule, {}, data.draw(st.integers(1, 4)))
    short = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(data.draw(st.integers(1, len(y) - 1))))
    for ties in ("index", "random"):
        whole = complete_cv(X, tol=0, ties=ties, **asked)
        cut = complete_cv(short, ties=ties, **asked)
        assert abs(cut.score - whole.score) <= cut.error_bound + whole.error_bound


def run(code, *options):
    subprocess.run([sys.executable, *options, "-c", code], check=True, env=os.environ.copy())


LIGHT = """
import sys, knnccv

def loaded(names):
    return set(names.split()) & {name.removeprefix("knnccv_variants.") for name in sys.modules}

assert not loaded("numba scipy numpy")
knnccv.variant_names()
assert not loaded("knnccv_variants")
knnccv.complete_cv, knnccv.Neighbors, knnccv.datasets, knnccv.testing, knnccv.plot.luck
assert not loaded("sklearn pandas pooch matplotlib dask distributed tqdm")
knnccv.sklearn, knnccv.selection.select_features
assert not loaded("sklearn knnccv_variants")
knnccv.get_variant("rank")
assert loaded("ranks votes nearest confidence regression") == {"ranks"}
"""


def test_importing_stays_light():
    """Packages are loaded when they are needed; the core reaches the built-in rules by their names only."""
    run(LIGHT, "-W", "error")


def test_a_name_that_is_missing():
    with pytest.raises(AttributeError, match="no attribute 'complete'"):
        knnccv.complete  # noqa: B018


@pytest.mark.slow
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled: NUMBA_DISABLE_JIT")
def test_warm_compiles_everything():
    code = (
        "import knnccv\n"
        f"rules = [knnccv.get_variant(name) for name in {BUILT_IN}]\n"
        "kernels = [kernel for rule in rules for kernel in rule.kernels()]\n"
        "assert len(kernels) == 9\n"
        "assert not any(kernel.signatures for kernel in kernels)\n"
        "knnccv.warm()\n"
        "cold = [kernel.__name__ for kernel in kernels if not kernel.signatures]\n"
        "assert not cold, cold\n"
        "import numpy as np\n"
        "from knnccv.kernel import Compiling\n"
        "from knnccv import KFold, StratifiedKFold, complete_cv, monte_carlo_cv, surface\n"
        "rng = np.random.default_rng(0)\n"
        "with Compiling('compiled after all') as compiling:\n"
        "    for shape in ((90, 3), (1100, 3), (1100, 20)):\n"
        "        for X in (rng.normal(size=shape), rng.integers(0, 3, shape).astype(np.float32)):\n"
        "            for n_classes in (2, 3):\n"
        "                y = np.arange(len(X)) % n_classes\n"
        "                for cv in (KFold(3), StratifiedKFold(3)):\n"
        f"                    for name in {sorted(set(BUILT_IN) - {'regression'})}:\n"
        "                        complete_cv(X, y, name, cv)\n"
        "                        monte_carlo_cv(X, y, name, cv, n_runs=1)\n"
        "                surface(X, y, n_neighbors=3, train_sizes=0.5)\n"
        "            complete_cv(X, X[:, 0], 'regression', KFold(3))\n"
        "assert compiling.functions == 0, compiling.functions\n"
    )
    run(code, "-W", "error")


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
        patch.setattr("knnccv._core.driver._rows.chain_of", one_kind_at_a_time)
        expected = complete_cv(*arguments, n_neighbors=k)
    what = f"{len(y)} samples, k = {k}, {design}"
    np.testing.assert_allclose(found.per_item, expected.per_item, rtol=0, atol=1e-12, err_msg=what)
    assert abs(found.score - expected.score) <= found.error_bound, what
    assert found.n_tied == expected.n_tied, what
    return found


@over_seeds(4)
@pytest.mark.usefixtures("contested")
def test_votes_equal_the_enumeration(seeds):
    rules = [("knn", {"n_neighbors": k}) for k in range(1, 7)]
    for seed in seeds:
        for question in questions(seed, rules, pairs=designs(problem(seed), seed)):
            if question.ties == "index":
                found = question.ask()
                assert abs(Fraction(found.score) - question.expected()) <= found.error_bound, question.where


@over_seeds(8)
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


@over_seeds(8)
def test_many_votes_of_two_classes_equal_the_enumeration(monkeypatch, seeds):
    """Kernels for so many votes that no table holds them, here of few."""
    monkeypatch.setattr(votes, "MAX_MARKED_NEIGHBORS", 0)
    monkeypatch.setattr(votes, "MAX_COUNTED_NEIGHBORS", 99)
    monkeypatch.setattr(votes, "max_counted_depth", lambda *_: 0)
    monkeypatch.setattr(votes, "table_of_votes", lambda *_: None)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n_items = int(rng.integers(4, 8))
        distances = rng.integers(0, rng.choice([2, 3, 1000]), (n_items, n_items)).astype(float)
        y = np.append(rng.integers(0, 2, n_items - 2), [0, 1])
        size, folds = int(rng.integers(1, n_items)), int(rng.integers(2, n_items + 1))
        for design, listed in (
            (Subsample(size), naive.subsample(n_items, size)),
            (KFold(folds), naive.kfold(n_items, folds)),
        ):
            least = size if isinstance(design, Subsample) else n_items - -(-n_items // folds)
            asked = {"n_neighbors": int(rng.integers(1, least + 1))}
            asked |= [{}, {"vote_ties": "random"}, {"loss": [[0, 2], [3, 1]]}][seed % 3]
            found = complete_cv(distances, y, "knn", design, metric="precomputed", **asked)
            expected = naive.complete(distances.tolist(), y.tolist(), "knn", listed, **asked)
            assert found.score == pytest.approx(float(expected), abs=1e-12), f"seed {seed}, {design}"


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes without compiled kernels")
def test_very_many_votes_of_tied_samples():
    """Eight different rows of 1,200, against random training sets and orders of tied samples."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (1200, 3)).astype(float)
    y = (X.sum(axis=1) + rng.normal(size=1200) > 1.5).astype(int)
    found = complete_cv(X, y, "knn", Subsample(1080), n_neighbors=945)
    rows = np.unique(np.column_stack([X, y]), axis=0, return_index=True)[1]
    for row in rows:
        others = np.delete(np.arange(1200), row)
        gaps = np.square(X[others] - X[row]).sum(axis=1)
        right = []
        for _ in range(100):
            drawn = rng.permutation(1199)[:1080]  # in this order, tied ones are as well
            near = drawn[np.argsort(gaps[drawn], kind="stable")[:945]]
            right.append((2 * y[others[near]].sum() > 945) == y[row])
        share = found.per_item[row]
        assert abs(np.mean(right) - share) <= 4 * np.sqrt(share * (1 - share) / 100) + 1e-6


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
        exact = complete_cv(X, y, "knn", design, n_neighbors=k, exact=True).fraction
        found = complete_cv(X, y, "knn", design, n_neighbors=k)
        assert abs(Fraction(found.score) - exact) <= found.error_bound


def test_a_subclass_with_its_own_tables_is_asked():
    class Refusing(votes.KNN):
        name = "refusing"

        def tables(self, _task, **_parameters):
            raise ArithmeticError

    X, y = blobs(2, 60, 3)
    with pytest.raises(ArithmeticError):
        complete_cv(X, y, Refusing, n_neighbors=3)


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
