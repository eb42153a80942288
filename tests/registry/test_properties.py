"""Properties that every registered variant must have, whatever it computes."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import BUILT_IN

import knnccv.neighbors
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

STRATIFIED = (StratifiedKFold, StratifiedSubsample)
DESIGNS = [Subsample(0.5), StratifiedSubsample(0.6), KFold(4), StratifiedKFold(3), LeaveOut(2)]
SETTINGS = [
    *[(name, {}) for name in BUILT_IN],
    ("confidence", {"score": "brier"}),
    ("confidence", {"score": "log_loss"}),
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}),
]
"""Every built-in variant as it is by default, and what else counts differently."""
SEVERAL = {"n_neighbors": 3, "rank": 2}
REAL = {name for name in BUILT_IN if get_variant(name).target == "values"}
CASES = [
    pytest.param(name, setting, design, ties, id=f"{name}-{setting}-{design}-{ties}")
    for name, setting in SETTINGS
    for design in DESIGNS
    for ties in get_variant(name).tie_rules
    if name not in REAL or get_variant(name).stratified or not isinstance(design, STRATIFIED)
]
cases = pytest.mark.parametrize(("variant", "setting", "design", "ties"), CASES)
settings_alone = pytest.mark.parametrize(("variant", "setting"), SETTINGS, ids=str)


def asked_of(variant, y):
    """The y that the variant takes: the classes, or real numbers in their place."""
    return np.random.default_rng(len(y)).integers(-40, 60, len(y)) / 8 if variant in REAL else y


def is_loss(variant, setting):
    return variant in REAL or setting.get("score") in ("brier", "log_loss")


def of_one_nearest(variant, setting):
    """The setting, with one neighbor."""
    parameters = get_variant(variant).parameters
    ones = {name: 1 for name in ("n_neighbors", "rank") if name in parameters}
    return {**setting, **ones}


def one_against_one(variant, setting, y):
    """The score of x (rows) if one other sample (columns) decides alone."""
    if variant in REAL:
        return (y[:, None] - y) ** 2
    right = (y[:, None] == y).astype(float)
    if setting.get("score") == "log_loss":
        return -np.log(np.clip(right, 2.0**-52, 1 - 2.0**-52))
    return 2 * (1 - right) if setting.get("score") == "brier" else right


def tied_data(n_items=60, n_classes=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n_items, 2)).astype(float)
    y = rng.integers(0, n_classes, n_items)
    y[: 4 * n_classes] = np.tile(np.arange(n_classes), 4)
    return X, y


def smooth_data(n_items=60, n_classes=3, seed=1):
    _, y = tied_data(n_items, n_classes, seed)
    return np.random.default_rng(seed).normal(size=(n_items, 2)) + 0.4 * y[:, None], y


@cases
def test_the_answer_does_not_depend_on_threads_or_blocks(variant, setting, design, ties, monkeypatch):
    X, y = tied_data(150)
    y = asked_of(variant, y)
    one = complete_cv(X, y, variant, design, ties=ties, n_jobs=1, **setting)
    monkeypatch.setattr(knnccv.neighbors._engines.brute_force, "BLOCK_BYTES", 8 * 150 * 7)  # 22 blocks
    for n_jobs in (2, 5):
        many = complete_cv(X, y, variant, design, ties=ties, n_jobs=n_jobs, **setting)
        assert many.score == one.score
        assert many.per_item.tobytes() == one.per_item.tobytes()
        assert many.error_bound == one.error_bound


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_executor(monkeypatch):
    X, y = tied_data(150)
    monkeypatch.setattr(knnccv.neighbors._engines.brute_force, "BLOCK_BYTES", 8 * 150 * 40)
    one = complete_cv(X, y, "knn", 5, n_jobs=1)
    with ThreadPoolExecutor(3) as threads:
        assert complete_cv(X, y, "knn", 5, executor=threads).per_item.tobytes() == one.per_item.tobytes()
    for metric in ("cosine", "minkowski"):
        one = complete_cv(X, y, "knn", 5, metric=metric)
        with ProcessPoolExecutor(1, get_context("spawn")) as processes:
            other = complete_cv(X, y, "knn", 5, metric=metric, executor=processes)
        assert other.per_item.tobytes() == one.per_item.tobytes()


@cases
def test_rows_may_come_in_any_order(variant, setting, design, ties):
    """Where ties are broken by index, only on data without ties."""
    if isinstance(design, StratifiedKFold):
        pytest.skip("scikit-learn's allocation depends on the order in which the classes appear")
    X, y = tied_data() if ties == "random" else smooth_data()
    y = asked_of(variant, y)
    expected = complete_cv(X, y, variant, design, ties=ties, **setting)
    assert (expected.tied > 0) == (ties == "random")
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(len(y))
        found = complete_cv(X[order], y[order], variant, design, ties=ties, **setting)
        assert found.score == pytest.approx(expected.score, rel=1e-12)
        np.testing.assert_allclose(found.per_item, expected.per_item[order], rtol=1e-12)
        assert found.tied == expected.tied


@cases
def test_without_ties_both_tie_rules_say_the_same(variant, setting, design, ties):
    X, y = smooth_data()
    y = asked_of(variant, y)
    found = complete_cv(X, y, variant, design, ties=ties, **setting)
    default = complete_cv(X, y, variant, design, **setting)
    assert default.ties == "random"
    assert found.tied == default.tied == 0
    assert found.score == pytest.approx(default.score, rel=1e-12)


@cases
def test_fair_ties_are_the_mean_over_shuffled_rows(variant, setting, design, ties):
    """Index order depends on the rows; its mean over random orders of the rows is the fair score."""
    if isinstance(design, StratifiedKFold):
        pytest.skip("scikit-learn's allocation depends on the order in which the classes appear")
    if ties == "random":
        pytest.skip("compared from the other side")
    X, y = tied_data()
    y = asked_of(variant, y)
    fair = complete_cv(X, y, variant, design, **setting).score
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(60):
        order = rng.permutation(len(y))
        scores.append(complete_cv(X[order], y[order], variant, design, ties=ties, **setting).score)
    assert np.std(scores) > 0
    assert abs(np.mean(scores) - fair) < 5 * np.std(scores) / np.sqrt(60)


@cases
def test_names_of_classes_do_not_matter(variant, setting, design, ties):
    if variant in REAL:
        pytest.skip("real targets have no names")
    X, y = tied_data()

    def score(labels):
        return complete_cv(X, labels, variant, design, ties=ties, **setting).score

    expected = score(y)
    for names in (["a", "b", "c"], [-5, 0, 7], [False, True, 2]):
        assert score(np.array(names)[y]) == expected
    assert score(y.astype(float)) == expected
    assert score(list(map(str, y))) == expected


@pytest.mark.parametrize("variant", sorted(REAL))
@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize("design", [one for one in DESIGNS if not isinstance(one, STRATIFIED)], ids=str)
def test_real_targets_may_be_moved_scaled_and_set_side_by_side(variant, ties, design):
    X, y = tied_data()
    y = asked_of(variant, y)

    def scores(targets):
        return complete_cv(X, targets, variant, design, ties=ties).per_item

    expected = scores(y)
    assert (expected > 0).all()
    np.testing.assert_array_equal(scores(y + 2.0**20), expected)
    np.testing.assert_array_equal(scores(-y), expected)
    np.testing.assert_array_equal(scores(4 * y), 16 * expected)
    np.testing.assert_array_equal(scores(y[:, None]), expected)
    np.testing.assert_array_equal(scores(y.tolist()), expected)
    np.testing.assert_array_equal(scores(y.astype(np.float32)), expected)
    other = y[::-1]
    together = scores(np.column_stack([y, other]))
    np.testing.assert_allclose(together, expected + scores(other), rtol=1e-12)
    np.testing.assert_allclose(scores(np.column_stack([other, y])), together, rtol=1e-12)


@cases
def test_kinds_of_input_do_not_matter(variant, setting, design, ties):
    X, y = tied_data()  # codes of classes are real numbers too

    def score(data, labels):
        return complete_cv(data, labels, variant, design, ties=ties, **setting).score

    expected = score(X, y)
    frozen, labels = X.copy(), y.copy()
    frozen.flags.writeable = labels.flags.writeable = False
    inputs = [
        frozen,
        X.tolist(),
        np.asfortranarray(X),
        X[::-1][::-1],
        X.astype(np.float32),
        X.astype(np.int8),
    ]
    for data in [*inputs, X.astype(object), np.repeat(X, 2, axis=0)[::2]]:
        assert score(data, labels) == expected
    assert score(X, y.astype(np.uint8)) == expected
    assert score(X, y.astype(object)) == expected


def test_pandas_goes_in():
    pd = pytest.importorskip("pandas")
    X, y = tied_data()
    frame = pd.DataFrame(X, columns=["a", "b"])
    expected = complete_cv(X, y, "nn", 4).score
    for labels in (pd.Series(y), pd.Series(y).astype("category"), pd.Series(y.astype(str))):
        assert complete_cv(frame, labels, "nn", 4).score == expected
    with pytest.raises(ValueError, match=r"y\[3\] is nan; every sample needs a label"):
        complete_cv(frame, pd.Series([1, 2, 1, None, 2] * 12, dtype="Int64"), "nn", 4)


@cases
def test_one_class_is_always_right(variant, setting, design, ties):
    X, _ = tied_data()
    y = np.full(len(X), 0.3 if variant in REAL else "only")
    result = complete_cv(X, y, variant, design, ties=ties, **setting)
    expected = 0.0 if is_loss(variant, setting) else 1.0
    largest = 36 if "log_loss" in setting.values() else 1
    assert abs(result.score - expected) <= result.error_bound <= 1.1e-12 * largest
    assert result.tied == 0


@settings_alone
@pytest.mark.parametrize("design", [Subsample(1), KFold(2), LeaveOut(1)])
def test_two_items(variant, setting, design):
    setting = of_one_nearest(variant, setting)
    for y in ([0, 0], [0, 1]):
        expected = one_against_one(variant, setting, np.array(y))[0, 1]
        for exact in (False, True):
            result = complete_cv([[0.0], [1.0]], y, variant, design, exact=exact, **setting)
            assert result.score == expected
            assert result.n_train_sets == 2


@settings_alone
@pytest.mark.parametrize("ties", ["index", "random"])
def test_the_extreme_sizes(variant, setting, ties):
    X, y = smooth_data()
    y = asked_of(variant, y)
    n_items = len(y)
    order = np.argsort(
        ((X[:, None] - X[None]) ** 2).sum(axis=-1) + np.diag(np.full(n_items, np.inf)), axis=1
    )
    setting = of_one_nearest(variant, setting)
    pairs = one_against_one(variant, setting, y)
    expected = (pairs.sum() - np.trace(pairs)) / (n_items * (n_items - 1))
    one = complete_cv(X, y, variant, Subsample(1), ties=ties, **setting)
    assert one.score == pytest.approx(expected, rel=1e-12)
    most = complete_cv(X, y, variant, Subsample(n_items - 1), ties=ties, **setting)
    assert most.score == pytest.approx(pairs[np.arange(n_items), order[:, 0]].mean(), rel=1e-14)
    assert most.depth == (1 if ties == "index" else 2)  # fair: whether the next one is as near


@settings_alone
def test_all_items_equal(variant, setting):
    """One tied group holds everything."""
    y = asked_of(variant, np.repeat([0, 1], [4, 8]))
    X = np.zeros((12, 2))
    parameters = get_variant(variant).parameters
    setting = {**setting, **{name: k for name, k in SEVERAL.items() if name in parameters}}
    designs = [Subsample(6)] if variant in REAL else [Subsample(6), StratifiedSubsample(0.5)]
    for ties in get_variant(variant).tie_rules:
        for design in designs:
            rational = complete_cv(X, y, variant, design, ties=ties, exact=True, **setting)
            found = complete_cv(X, y, variant, design, ties=ties, **setting)
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
def test_a_large_tied_group_stays_fast_and_finite():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (3000, 2)), rng.integers(0, 2, 3000)
    for variant in sorted(set(BUILT_IN) - REAL):
        setting = of_one_nearest(variant, {})
        some = slice(3000 if variant == "nn" else 1000)
        for design in (KFold(5), StratifiedKFold(5), Subsample(10)):
            result = complete_cv(X[some], y[some], variant, design, ties="random", **setting)
            assert 0.4 < result.score < 0.6
            assert result.error_bound < 1e-10
    for design in (KFold(5), Subsample(10)):
        result = complete_cv(X, y, "regression", design, ties="random", n_neighbors=2)
        assert 0.35 < result.score < 0.4  # of fair coins: 1/4 + 1/8
        assert result.error_bound < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_items", "n_classes", "k", "design"),
    [
        (600, 2, 301, Subsample(400)),
        (1200, 2, 501, Subsample(1100)),
        (600, 2, 290, StratifiedSubsample(0.5)),
        (200, 3, 90, Subsample(100)),
        (200, 3, 60, StratifiedSubsample(0.5)),
    ],
)
def test_many_neighbors_neither_overflow_nor_vanish(n_items, n_classes, k, design):
    X, y = smooth_data(n_items, n_classes)
    result = complete_cv(X, y, "knn", design, n_neighbors=k, tol=1e-9)
    assert np.isfinite(result.per_item).all()
    assert 0.3 < result.score < 0.9
    assert result.per_item.max() <= 1 + 1e-9
    assert result.per_item.min() >= 0


@pytest.mark.slow
@settings(max_examples=150, derandomize=True, deadline=None)
@given(data=st.data())
def test_more_depth_never_moves_the_score_beyond_the_bound(data):
    n_items = data.draw(st.integers(5, 40))
    seed = data.draw(st.integers(0, 10**6))
    X, y = tied_data(max(n_items, 12), 2, seed)
    size = data.draw(st.integers(1, len(y) - 1))
    near = Neighbors.from_data(X)
    variant = data.draw(st.sampled_from(BUILT_IN))
    y = asked_of(variant, y)
    setting = of_one_nearest(variant, {})
    setting = {name: data.draw(st.integers(1, min(size, 4))) for name in setting}
    depth = data.draw(st.integers(1, len(y) - 1))
    short = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(depth))
    for ties in ("index", "random"):
        whole = complete_cv(near, y, variant, Subsample(size), tol=0, ties=ties, n_jobs=1, **setting)
        cut = complete_cv(short, y, variant, Subsample(size), ties=ties, n_jobs=1, **setting)
        assert abs(cut.score - whole.score) <= cut.error_bound


def test_importing_stays_light():
    code = (
        "import sys, knnccv; knnccv.complete_cv; knnccv.Neighbors; knnccv.datasets; knnccv.testing; "
        "heavy = {'sklearn', 'pandas', 'pooch', 'matplotlib', 'dask', 'distributed', 'tqdm'}; "
        "heavy &= set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ.copy())
    code = "import sys, knnccv; assert not {'numba', 'scipy', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ.copy())


def test_public_names_load_and_are_listed():
    import knnccv

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
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=os.environ.copy())


def test_warm_knows_every_built_in_variant():
    from knnccv._warmup import BUILT_IN as warmed

    assert sorted(warmed) == BUILT_IN


def test_blas_gets_its_threads_back():
    """Several callers at once limit it and leave in any order."""
    from threadpoolctl import threadpool_info

    def limits():
        return {info["filepath"]: info["num_threads"] for info in threadpool_info()}

    before = limits()
    X, y = smooth_data(700)
    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(complete_cv, X, y, "knn", 5, n_jobs=2) for _ in range(24)]
        scores = {call.result().score for call in calls}
    assert len(scores) == 1
    assert limits() == before
