"""Properties that every registered rule must have, and what importing and compiling the package does."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import BUILT_IN
from threadpoolctl import threadpool_info

import knnccv
from knnccv import (
    KFold,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    get_variant,
)

FIXED, STRATIFIED = [Subsample(0.5), KFold(4), LeaveOut(2)], [StratifiedSubsample(0.6), StratifiedKFold(3)]
REAL = {name for name in BUILT_IN if get_variant(name).target == "values"}
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


def smooth_data(n_items=60, n_classes=3, seed=1):
    _, y = tied_data(n_items, n_classes, seed)
    return np.random.default_rng(seed).normal(size=(n_items, 2)) + 0.4 * y[:, None], y


def asked_of(rule, y):
    """The y that the rule takes: the classes, or real numbers in their place."""
    return np.random.default_rng(len(y)).integers(-40, 60, len(y)) / 8 if rule in REAL else y


def of_one_nearest(rule, setting, number=1):
    """The setting, with one neighbor, or another number."""
    names = {"n_neighbors", "rank"} & set(get_variant(rule).parameters)
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
            assert result.tied == 0


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
    X, y = smooth_data()
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
            assert found.score == pytest.approx(float(rational.exact), rel=1e-13)
            assert found.tied == 12


def test_fair_ties_of_one_big_group_have_a_closed_form():
    """All equal: the nearest training sample is any of them, so the chance of a match is a share."""
    y = np.repeat([0, 1, 2], [30, 50, 100])
    found = complete_cv(np.zeros((180, 1)), y, "nn", Subsample(90), ties="random")
    np.testing.assert_allclose(found.per_item, np.repeat([29, 49, 99], [30, 50, 100]) / 179, rtol=1e-12)
    found = complete_cv(np.zeros((180, 1)), y, "nn", StratifiedSubsample(0.5), ties="random")
    np.testing.assert_allclose(found.per_item, np.repeat([15, 25, 50], [30, 50, 100]) / 90, rtol=1e-12)


@pytest.mark.slow
def test_many_neighbors_neither_overflow_nor_vanish():
    for n_items, n_classes, k, design in [
        (1200, 2, 501, Subsample(1100)),
        (400, 2, 190, StratifiedSubsample(0.5)),
        (200, 3, 90, Subsample(100)),
    ]:
        X, y = smooth_data(n_items, n_classes)
        result = complete_cv(X, y, "knn", design, n_neighbors=k, tol=1e-9)
        assert 0.3 < result.score < 0.9
        assert 0 <= result.per_item.min() <= result.per_item.max() <= 1 + 1e-9


@settings(max_examples=60, derandomize=True, deadline=None)
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


def test_importing_stays_light():
    heavy = "{'sklearn', 'pandas', 'pooch', 'matplotlib', 'dask', 'distributed', 'tqdm'}"
    run(
        "import sys, knnccv; assert not {'numba', 'scipy', 'numpy'} & set(sys.modules); "
        "knnccv.complete_cv; knnccv.Neighbors; knnccv.datasets; knnccv.testing; "
        f"heavy = {heavy} & set(sys.modules); assert not heavy, heavy"
    )


def test_public_names_load_and_are_listed():
    for name in knnccv.__all__:
        assert getattr(knnccv, name) is not None
    assert set(knnccv.__all__) <= set(dir(knnccv))
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
        "                        monte_carlo_cv(X, y, name, cv, n_repeats=1)\n"
        "                surface(X, y, n_neighbors=3, train_sizes=0.5)\n"
        "            complete_cv(X, X[:, 0], 'regression', KFold(3))\n"
        "assert compiling.functions == 0, compiling.functions\n"
    )
    run(code, "-W", "error")


def test_blas_gets_its_threads_back():
    """Several callers at once limit it and leave in any order."""

    def limits():
        return {info["filepath"]: info["num_threads"] for info in threadpool_info()}

    before = limits()
    X, y = smooth_data(700)
    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(complete_cv, X, y, "knn", 5, n_jobs=2) for _ in range(24)]
        assert len({call.result().score for call in calls}) == 1
    assert limits() == before
