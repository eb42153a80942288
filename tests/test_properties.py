"""Properties that every registered variant must have, whatever it computes."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

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

DESIGNS = [Subsample(0.5), StratifiedSubsample(0.6), KFold(4), StratifiedKFold(3), LeaveOut(2)]
CASES = [
    (name, design, ties) for name in BUILT_IN for design in DESIGNS for ties in get_variant(name).tie_rules
]
cases = pytest.mark.parametrize(("variant", "design", "ties"), CASES)


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
def test_the_answer_does_not_depend_on_threads_or_blocks(variant, design, ties, monkeypatch):
    X, y = tied_data(150)
    one = complete_cv(X, y, variant, design, ties=ties, n_jobs=1)
    monkeypatch.setattr(knnccv.neighbors, "BLOCK_BYTES", 8 * 150 * 7)  # 22 blocks
    for n_jobs in (2, 5):
        many = complete_cv(X, y, variant, design, ties=ties, n_jobs=n_jobs)
        assert many.score == one.score
        assert many.per_item.tobytes() == one.per_item.tobytes()
        assert many.error_bound == one.error_bound


def test_the_answer_does_not_depend_on_the_executor(monkeypatch):
    X, y = tied_data(150)
    monkeypatch.setattr(knnccv.neighbors, "BLOCK_BYTES", 8 * 150 * 40)
    one = complete_cv(X, y, "knn", 5, n_jobs=1)
    with ThreadPoolExecutor(3) as threads:
        assert complete_cv(X, y, "knn", 5, executor=threads).per_item.tobytes() == one.per_item.tobytes()
    for metric in ("cosine", "minkowski"):
        one = complete_cv(X, y, "knn", 5, metric=metric)
        with ProcessPoolExecutor(1, get_context("spawn")) as processes:
            other = complete_cv(X, y, "knn", 5, metric=metric, executor=processes)
        assert other.per_item.tobytes() == one.per_item.tobytes()


@cases
def test_rows_may_come_in_any_order(variant, design, ties):
    """Where ties are broken by index, only on data without ties."""
    if isinstance(design, StratifiedKFold):
        pytest.skip("scikit-learn's allocation depends on the order in which the classes appear")
    X, y = tied_data() if ties == "random" else smooth_data()
    expected = complete_cv(X, y, variant, design, ties=ties)
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(len(y))
        found = complete_cv(X[order], y[order], variant, design, ties=ties)
        assert found.score == pytest.approx(expected.score, rel=1e-12)
        np.testing.assert_allclose(found.per_item, expected.per_item[order], rtol=1e-12)
        assert found.tied == expected.tied


@cases
def test_names_of_classes_do_not_matter(variant, design, ties):
    X, y = tied_data()
    expected = complete_cv(X, y, variant, design, ties=ties).score
    for names in (["a", "b", "c"], [-5, 0, 7], [False, True, 2]):
        renamed = np.array(names)[y]
        assert complete_cv(X, renamed, variant, design, ties=ties).score == expected
    assert complete_cv(X, y.astype(float), variant, design, ties=ties).score == expected
    assert complete_cv(X, list(map(str, y)), variant, design, ties=ties).score == expected


@cases
def test_kinds_of_input_do_not_matter(variant, design, ties):
    X, y = tied_data()
    expected = complete_cv(X, y, variant, design, ties=ties).score
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
        assert complete_cv(data, labels, variant, design, ties=ties).score == expected
    assert complete_cv(X, y.astype(np.uint8), variant, design, ties=ties).score == expected
    assert complete_cv(X, y.astype(object), variant, design, ties=ties).score == expected


def test_pandas_goes_in():
    pd = pytest.importorskip("pandas")
    X, y = tied_data()
    frame = pd.DataFrame(X, columns=["a", "b"])
    expected = complete_cv(X, y, "nn", 4).score
    for labels in (pd.Series(y), pd.Series(y).astype("category"), pd.Series(y.astype(str))):
        assert complete_cv(frame, labels, "nn", 4).score == expected
    with pytest.raises(ValueError, match=r"y\[3\] is nan; every item needs a label"):
        complete_cv(frame, pd.Series([1, 2, 1, None, 2] * 12, dtype="Int64"), "nn", 4)


@cases
def test_one_class_is_always_right(variant, design, ties):
    X, _ = tied_data()
    result = complete_cv(X, np.full(len(X), "only"), variant, design, ties=ties)
    assert result.score == pytest.approx(1.0, abs=1e-13)
    assert result.tied == 0


@pytest.mark.parametrize("variant", BUILT_IN)
@pytest.mark.parametrize("design", [Subsample(1), KFold(2), LeaveOut(1)])
def test_two_items(variant, design):
    parameters = {"n_neighbors": 1} if variant == "knn" else {}
    for y, expected in [([0, 0], 1.0), ([0, 1], 0.0)]:
        for exact in (False, True):
            result = complete_cv([[0.0], [1.0]], y, variant, design, exact=exact, **parameters)
            assert result.score == expected
            assert result.n_train_sets == 2


@pytest.mark.parametrize("variant", BUILT_IN)
def test_the_extreme_sizes(variant):
    X, y = smooth_data()
    n_items = len(y)
    order = np.argsort(
        ((X[:, None] - X[None]) ** 2).sum(axis=-1) + np.diag(np.full(n_items, np.inf)), axis=1
    )
    parameters = {"n_neighbors": 1} if variant == "knn" else {}
    same = (y[:, None] == y).sum() - n_items
    one = complete_cv(X, y, variant, Subsample(1), **parameters)
    assert one.score == pytest.approx(same / (n_items * (n_items - 1)), rel=1e-12)
    parameters = {"n_neighbors": 1} if variant == "knn" else {"rank": 1} if variant == "rank" else {}
    most = complete_cv(X, y, variant, Subsample(n_items - 1), **parameters)
    assert most.score == pytest.approx((y[order[:, 0]] == y).mean(), rel=1e-14)
    assert most.depth == 1


@pytest.mark.parametrize("variant", BUILT_IN)
def test_all_items_equal(variant):
    """One tied group holds everything."""
    y = np.repeat([0, 1], [4, 8])
    X = np.zeros((12, 2))
    for ties in get_variant(variant).tie_rules:
        for design in (Subsample(6), StratifiedSubsample(0.5)):
            parameters = (
                {"rank": 2} if variant == "rank" else {"n_neighbors": 3} if variant == "knn" else {}
            )
            rational = complete_cv(X, y, variant, design, ties=ties, exact=True, **parameters)
            found = complete_cv(X, y, variant, design, ties=ties, **parameters)
            assert found.score == pytest.approx(float(rational.exact), rel=1e-13)
            assert found.tied == 12


def test_fair_ties_of_one_big_group_have_a_closed_form():
    """All equal: the nearest training item is any of them, so the chance of a match is a share."""
    y = np.repeat([0, 1, 2], [30, 50, 100])
    found = complete_cv(np.zeros((180, 1)), y, "nn", Subsample(90), ties="random")
    np.testing.assert_allclose(found.per_item, np.repeat([29, 49, 99], [30, 50, 100]) / 179, rtol=1e-12)
    found = complete_cv(np.zeros((180, 1)), y, "nn", StratifiedSubsample(0.5), ties="random")
    np.testing.assert_allclose(found.per_item, np.repeat([15, 25, 50], [30, 50, 100]) / 90, rtol=1e-12)


def test_a_large_tied_group_stays_fast_and_finite():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (3000, 2)), rng.integers(0, 2, 3000)
    for design in (KFold(5), StratifiedKFold(5), Subsample(10)):
        result = complete_cv(X, y, "nn", design, ties="random")
        assert 0.4 < result.score < 0.6
        assert result.error_bound < 1e-10


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
def test_many_neighbours_neither_overflow_nor_vanish(n_items, n_classes, k, design):
    X, y = smooth_data(n_items, n_classes)
    result = complete_cv(X, y, "knn", design, n_neighbors=k, tol=1e-9)
    assert np.isfinite(result.per_item).all()
    assert 0.3 < result.score < 0.9
    assert result.per_item.max() <= 1 + 1e-9
    assert result.per_item.min() >= 0


@settings(max_examples=60, derandomize=True, deadline=None)
@given(data=st.data())
def test_more_depth_never_moves_the_score_beyond_the_bound(data):
    n_items = data.draw(st.integers(5, 40))
    seed = data.draw(st.integers(0, 10**6))
    X, y = tied_data(max(n_items, 12), 2, seed)
    size = data.draw(st.integers(1, len(y) - 1))
    near = Neighbors.from_data(X)
    whole = complete_cv(near, y, "nn", Subsample(size), tol=0, n_jobs=1)
    depth = data.draw(st.integers(1, len(y) - 1))
    short = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(depth))
    for ties in ("index", "random"):
        whole = complete_cv(near, y, "nn", Subsample(size), tol=0, ties=ties, n_jobs=1)
        cut = complete_cv(short, y, "nn", Subsample(size), ties=ties, n_jobs=1)
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


def test_warm_compiles_everything():
    import knnccv

    knnccv.warm()


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
