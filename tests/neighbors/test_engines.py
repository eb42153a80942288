"""Search engines: all give the orders and ties of brute force; pickling, precision, threads."""

import numpy as np
import pytest
from features import adversarial, by_brute_force, engine, grid, reference_order
from problems import BUILT_IN
from scipy.spatial.distance import cdist

from knnccv import KFold, Neighbors, StratifiedSubsample, Subsample, complete_cv
from knnccv.neighbors._engines import matrix_product


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in adversarial()])
def test_every_engine_gives_the_orders_and_ties_of_brute_force(X, metric):
    """Index for index and bit for bit."""
    rows = np.arange(0, len(X), 7)
    for depth in (1, 4, 40, 150, len(X) - 1):
        tree = Neighbors.from_data(X, metric, algorithm="tree")
        product = Neighbors.from_data(X, metric, algorithm="brute")
        for near in (tree, product):
            near.prepare(depth)
        found = [near.search(rows, depth) for near in (tree, product)]
        if depth <= 150:
            assert engine(product, depth) == ("MatrixProduct" if "euclidean" in metric else "BruteForce")
        plain = by_brute_force(Neighbors.from_data(X, metric)).search(rows, depth)
        for other in found:
            np.testing.assert_array_equal(other.items, plain.items)
            np.testing.assert_array_equal(other.values, plain.values)
            np.testing.assert_array_equal(other.may_tie_beyond, plain.may_tie_beyond)


@pytest.mark.slow
@pytest.mark.parametrize("d", [10, 64, 301])
def test_products_of_many_features(d):
    rng = np.random.default_rng(d)
    for X in (rng.normal(size=(1500, d)), rng.integers(0, 3, (1500, d)), 1e6 + rng.normal(size=(1500, d))):
        near = Neighbors.from_data(X, "sqeuclidean")
        items, values = near.kneighbors(25)
        D = cdist(X, X, "sqeuclidean")
        np.testing.assert_array_equal(items, reference_order(D)[:, :25])
        np.testing.assert_array_equal(values, np.take_along_axis(D, items, axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["index", "random"])
def test_the_score_does_not_depend_on_the_algorithm(ties):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 30, (2000, 2)).astype(float), rng.integers(0, 3, 2000)
    questions = [("nn", KFold(5)), ("nn", StratifiedSubsample(per_class=20))]
    questions += [(variant, Subsample(0.8)) for variant in BUILT_IN]
    sources = [Neighbors.from_data(X, algorithm=algorithm) for algorithm in ("auto", "brute", "tree")]
    for variant, cv in questions:
        scores = {complete_cv(near, y, variant, cv, ties=ties).per_item.tobytes() for near in sources}
        assert len(scores) == 1, (variant, cv)


def test_the_algorithm_must_suit_the_metric():
    with pytest.raises(ValueError, match="algorithm must be one of 'auto', 'brute', 'tree', got 'ball'"):
        Neighbors.from_data(grid(), algorithm="ball")
    with pytest.raises(ValueError, match=r"'tree' serves the euclidean, .* not 'cosine'"):
        Neighbors.from_data(grid(), "cosine", algorithm="tree")


@pytest.mark.parametrize("d", [3, 12])
def test_neighbors_with_an_engine_can_be_pickled(d):
    import pickle

    near = Neighbors.from_data(grid(1500, d))
    expected = near.kneighbors(9)[0]
    copy = pickle.loads(pickle.dumps(near))
    np.testing.assert_array_equal(copy.kneighbors(9)[0], expected)
    np.testing.assert_array_equal(copy.kneighbors(30)[0], near.kneighbors(30)[0])


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 12])
def test_single_precision_data_are_kept_and_give_the_orders_of_double_precision(d):
    X = np.random.default_rng(d).normal(size=(1300, d)).astype(np.float32)
    near = Neighbors.from_data(X)
    assert near._source.metric.data is X
    expected = Neighbors.from_data(X.astype(float)).kneighbors(30)
    for metric in ("euclidean", "manhattan"):
        expected = Neighbors.from_data(X.astype(float), metric).kneighbors(30)
        for algorithm in ("auto", "brute", "tree"):
            found = Neighbors.from_data(X, metric, algorithm=algorithm).kneighbors(30)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [3, 12])
def test_data_in_a_file_are_not_read_whole(d, dtype, tmp_path):
    X = np.random.default_rng(d).normal(size=(1100, d)).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    near = Neighbors.from_data(mapped)
    assert np.shares_memory(near._source.metric.data, mapped)
    np.testing.assert_array_equal(near.kneighbors(9)[0], Neighbors.from_data(X).kneighbors(9)[0])
    y = np.arange(1100) % 3
    assert complete_cv(mapped, y, "knn", KFold(5)).score == complete_cv(X, y, "knn", KFold(5)).score


def test_values_that_are_not_finite_are_found_in_single_precision_and_in_large_data():
    X = np.zeros((600_000, 2), np.float32)
    X[599_999, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[599999, 1\] is nan"):
        Neighbors.from_data(X)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["smooth", "integers", "heaps"])
def test_all_pairs_at_once_give_the_lists_of_single_blocks_for_any_number_of_threads(kind, monkeypatch):
    monkeypatch.setattr(matrix_product, "BLOCK", 200)  # blocks of which the last is short
    rng = np.random.default_rng(5)
    X = {
        "smooth": rng.normal(size=(1370, 11)),
        "integers": rng.integers(0, 2, (1370, 11)).astype(float),
        "heaps": np.repeat(rng.normal(size=(10, 11)), 137, axis=0),
    }[kind]
    for depth in (1, 20, 150):
        expected = Neighbors.from_data(X, algorithm="brute").search(np.arange(1370), depth)
        for n_jobs in (1, 2, 5):
            near = Neighbors.from_data(X, algorithm="brute")
            near.search_all(depth, n_jobs=n_jobs)
            assert near._engine(depth)._heaps is not None
            found = near.search(np.arange(1370), depth)
            np.testing.assert_array_equal(found.items, expected.items)
            np.testing.assert_array_equal(found.values, expected.values)
            np.testing.assert_array_equal(found.may_tie_beyond, expected.may_tie_beyond)
        D = cdist(X, X, "sqeuclidean")
        np.testing.assert_array_equal(expected.items, reference_order(D)[:, :depth])


def test_moderate_integers_are_settled_in_single_precision(monkeypatch):
    """However many tie, no row needs to be compared in double precision."""
    X = np.random.default_rng(0).integers(0, 2, (1500, 12))
    near = Neighbors.from_data(X, algorithm="brute")
    near.prepare(10)
    product = near._engine(10)
    assert product._search().exact
    monkeypatch.setattr(product, "compare", None)
    items = near.kneighbors(10)[0]
    np.testing.assert_array_equal(items, reference_order(cdist(X, X, "sqeuclidean"))[:, :10])


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("d", [4, 30])
def test_engines_serve_angles(metric, d):
    X = np.random.default_rng(d).integers(1, 6, (1200, d)).astype(float)
    X[:, 0] += 6 + np.arange(1200) % 7  # no row is constant
    found = Neighbors.from_data(X, metric)
    assert engine(found, 20) in ("KDTree", "MatrixProduct")
    plain = by_brute_force(Neighbors.from_data(X, metric))
    for one, other in zip(found.kneighbors(20), plain.kneighbors(20), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_outlier_does_not_spoil_single_precision(monkeypatch):
    """The bound of the rounding depends on a row and its neighbors, not on the farthest sample."""
    X = np.random.default_rng(0).normal(size=(1500, 12))
    X[7] = 1e3
    near = Neighbors.from_data(X, algorithm="brute")
    compared = []
    product = near._engine(10)
    compare = product.compare
    monkeypatch.setattr(product, "compare", lambda rows: compared.extend(rows) or compare(rows))
    near.kneighbors(10)
    assert len(compared) < 30


def test_bitmasks_of_small_values():
    import numba

    from knnccv.kernel import simd

    @numba.njit
    def ask(values, first, limits, start, limit):
        hits = simd.small_ones(values, first, limits, start, limit)
        places = []
        rest = hits
        while rest != 0:
            places.append(simd.first_bit(rest))
            rest &= rest - 1
        return hits, places

    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.integers(0, 9, (2, 96)).astype(np.float32)
        limits = rng.integers(-3, 4, 96).astype(np.float32)
        first, start, limit = int(rng.integers(0, 129)), int(rng.integers(0, 33)), np.float32(1)
        chunk = values.ravel()[first : first + 64]
        expected = np.flatnonzero(chunk <= np.maximum(limit, limits[start : start + 64]))
        hits, places = ask(values, first, limits, start, limit)
        assert places == expected.tolist()
        plain = simd._plain_small_ones(values, first, limits, start, limit)
        assert plain == int(hits) % 2**64
