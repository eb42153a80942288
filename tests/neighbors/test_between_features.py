"""Distances from queries to a gallery: single precision, memory-mapped and sparse features."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from knnccv import Neighbors
from knnccv.neighbors import _between as module
from knnccv.retrieval import Gallery, expected_retrieval

DENSE = ("euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev", "canberra")
SPARSE = ("euclidean", "sqeuclidean", "manhattan", "cosine", "jaccard")
PUBLIC = {"manhattan": "cityblock"}


def whole(near, step=None):
    step = step or near.n_queries
    parts = [
        near.block(start, min(start + step, near.n_queries)) for start in range(0, near.n_queries, step)
    ]
    return np.concatenate(parts)


def features(seed=0, n_queries=150, n_gallery=130, n_features=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_queries, n_features)), 2 + rng.normal(size=(n_gallery, n_features))


def sparse_features(seed=0, n_queries=40, n_gallery=70, n_features=30):
    rng = np.random.default_rng(seed)
    both = sparse.random(n_queries + n_gallery, n_features, 0.2, "csr", rng=rng)
    return both[:n_queries], both[n_queries:]


def assert_same_order(values, distances):
    """The order of the values is that of the distances, where these differ by more than rounding."""
    order = np.argsort(values, axis=1, kind="stable")
    sorted_ = np.take_along_axis(distances, order, axis=1)
    assert (np.diff(sorted_, axis=1) > -1e-9 * (1 + np.abs(sorted_[:, 1:]))).all()


@pytest.mark.parametrize("metric", DENSE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_the_order_is_that_of_scipy(metric, dtype):
    queries, gallery = (X.astype(dtype) for X in features())
    near = Neighbors.between(queries, gallery, metric)
    expected = cdist(queries.astype(float), gallery.astype(float), PUBLIC.get(metric, metric))
    assert_same_order(whole(near), expected)
    if metric == "euclidean":
        gaps = whole(near) - expected**2
        np.testing.assert_allclose(gaps - gaps[:, :1], 0, atol=1e-11)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_single_precision_is_stored_and_has_the_bits_of_its_copy_in_double(metric):
    queries, gallery = (X.astype(np.float32) for X in features())
    near = Neighbors.between(queries, gallery, metric)
    assert near.compare.__self__._gallery is gallery
    assert near.compare.__self__._queries is queries
    copy = Neighbors.between(queries.astype(float), gallery.astype(float), metric)
    np.testing.assert_array_equal(whole(near), whole(copy))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_blocks_and_pieces_that_are_prepared_again_have_the_same_bits(metric, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 32)
    queries, gallery = features()
    gallery[100:110] = gallery[5]
    ready = Neighbors.between(queries, gallery, metric)
    assert ready.compare.__self__._ready
    monkeypatch.setattr(module, "PREPARED_BYTES", 0)
    again = Neighbors.between(queries, gallery, metric)
    assert again.compare.__self__._ready is None
    expected = whole(ready)
    for step in (1, 7, 64, 100):
        np.testing.assert_array_equal(whole(ready, step), expected)
        np.testing.assert_array_equal(whole(again, step), expected)
    assert (expected[:, 100:110] == expected[:, 5:6]).all()


def test_equal_items_tie():
    queries, gallery = features(1)
    gallery[60:] = 4 * gallery[:70]  # in the same direction
    values = whole(Neighbors.between(queries, gallery, "cosine"))
    np.testing.assert_array_equal(values[:, 60:120], values[:, :60])
    gallery[60:] = gallery[:70]
    gallery[3], gallery[63] = 0.0, -0.0
    values = whole(Neighbors.between(queries, gallery))
    np.testing.assert_array_equal(values[:, 60:120], values[:, :60])


@pytest.mark.parametrize("kind", ["haversine", "hamming", "minkowski", "callable"])
def test_other_metrics(kind):
    rng = np.random.default_rng(4)
    queries, gallery = (rng.uniform(-1.5, 1.5, (n, 2)).astype(np.float32) for n in (30, 50))
    metric, params = kind, None
    if kind == "haversine":
        (a, b), (c, d) = queries.astype(float).T[:, :, None], gallery.astype(float).T[:, None]
        expected = np.arccos(np.clip(np.sin(a) * np.sin(c) + np.cos(a) * np.cos(c) * np.cos(b - d), -1, 1))
    elif kind == "hamming":
        queries, gallery = queries.round(), gallery.round()
        expected = (queries[:, None] != gallery).mean(axis=2)
    elif kind == "minkowski":
        params = {"p": 3}
        expected = cdist(queries.astype(float), gallery.astype(float), "minkowski", p=3)
    else:
        metric = lambda x, y: abs(x[0] - y[0])  # noqa: E731
        expected = np.abs(queries[:, :1].astype(float) - gallery[:, 0].astype(float))
    for near in (
        Neighbors.between(queries, gallery, metric, metric_params=params),
        Neighbors.between(queries, gallery, metric, metric_params=params, n_neighbors=50),
    ):
        assert_same_order(whole(near), expected)
        assert near.metric == (kind if kind != "callable" else "<lambda>")


def test_rows_without_direction():
    queries, gallery = features(2)
    gallery[7], queries[3] = 0, 0
    values = whole(Neighbors.between(queries, gallery, "cosine"))
    assert (values[:, 7] == 2).all()
    assert (values[3] == 2).all()


def test_values_of_many_magnitudes():
    queries, gallery = features(3)
    for factor in (2.0**600, 2.0**-600):
        near = Neighbors.between(queries * factor, gallery * factor)
        assert_same_order(whole(near), cdist(queries, gallery))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_mapped_features_are_read_in_pieces(metric, dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 256)
    rng = np.random.default_rng(0)
    gallery = rng.normal(size=(40000, 32)).astype(dtype)
    gallery.tofile(tmp_path / "gallery")
    queries = gallery[:100] + dtype(0.1)
    expected = whole(Neighbors.between(queries, gallery, metric))
    monkeypatch.setattr(module, "PREPARED_BYTES", 0)
    mapped = np.memmap(tmp_path / "gallery", dtype, "r", shape=gallery.shape)
    Neighbors.between(queries[:2], mapped[:9], metric).block(0, 1)  # imports
    tracemalloc.start()
    near = Neighbors.between(queries, mapped, metric)
    for start in (0, 2):
        near.block(start, start + 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6 < gallery.astype(float).nbytes / 2
    np.testing.assert_array_equal(whole(near, 64), expected)


def test_columns_of_a_memory_map_are_not_copied(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 20)).astype(np.float32)
    X.tofile(tmp_path / "X")
    mapped = np.memmap(tmp_path / "X", np.float32, "r", shape=X.shape)[:, 3:9]
    near = Neighbors.between(mapped, mapped)
    assert np.shares_memory(near.compare.__self__._gallery, mapped)
    assert near.same.tolist() == list(range(50))
    np.testing.assert_array_equal(whole(near), whole(Neighbors.between(X[:, 3:9], X[:, 3:9].copy())))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_memory_mapped_matrix(order, tmp_path):
    rng = np.random.default_rng(0)
    distances = rng.random((70, 40)).astype(np.float32)
    query_ids, ids = rng.integers(0, 5, 70), rng.integers(0, 5, 40)
    mapped = np.memmap(tmp_path / "D", np.float32, "w+", shape=distances.shape, order=order)
    mapped[:] = distances
    mapped.flush()
    results = []
    for near in (
        distances,
        np.memmap(tmp_path / "D", np.float32, "r", shape=distances.shape, order=order),
        Neighbors.from_distances(mapped, queries="other"),
    ):
        r = expected_retrieval(near, query_ids, ids, Gallery(per_identity=2, short="all"))
        results.append((r.cmc.tobytes(), r["ap"].per_item.tobytes()))
    assert len(set(results)) == 1
    mapped[9, 3] = np.nan
    with pytest.raises(ValueError, match=r"distances\[9, 3\] is nan"):
        expected_retrieval(mapped, query_ids, ids)


@pytest.mark.parametrize("metric", SPARSE)
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_features_have_the_order_of_dense_ones(metric, form):
    queries, gallery = sparse_features()
    gallery = sparse.vstack([gallery, gallery[:5], sparse.csr_matrix((1, 30))])
    near = Neighbors.between(queries.asformat(form), gallery.asformat(form), metric)
    dense = [queries.toarray(), gallery.toarray()]
    if metric == "jaccard":
        dense = [X != 0 for X in dense]
    if metric == "cosine":
        lengths = np.maximum(np.linalg.norm(dense[1], axis=1), 1e-300)
        expected = 1 - dense[0] @ dense[1].T / np.linalg.norm(dense[0], axis=1)[:, None] / lengths
    else:
        expected = cdist(*dense, PUBLIC.get(metric, metric))
    values = whole(near)
    assert_same_order(values, expected)
    np.testing.assert_array_equal(values[:, 70:75], values[:, :5])
    for step in (1, 7):
        np.testing.assert_array_equal(whole(near, step), values)


def test_sparse_features_are_never_dense():
    rng = np.random.default_rng(0)
    gallery = sparse.random(3000, 10**6, 1e-5, "csr", rng=rng)  # 24 GB if dense
    queries = gallery[:10]
    tracemalloc.start()
    values = Neighbors.between(queries, gallery, "cosine").block(0, 10)
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()
    held = np.diff(queries.indptr) > 0
    assert (values.argmin(axis=1) == np.arange(10))[held].all()


def test_sparse_items_do_not_find_themselves():
    _, X = sparse_features()
    near = Neighbors.between(X, X, "cosine")
    assert near.same.tolist() == list(range(70))
    ids = np.random.default_rng(0).integers(0, 4, 70)
    unit = X.toarray() / np.linalg.norm(X.toarray(), axis=1)[:, None]
    found, expected = (
        expected_retrieval(D, ids, ids, exclude="self", scores=("ap",), ties="random")
        for D in (near, np.round(1 - unit @ unit.T, 12))  # many are orthogonal
    )
    assert found.tied == expected.tied > 0
    np.testing.assert_allclose(found["ap"].per_item, expected["ap"].per_item, atol=1e-12)


def test_threads_and_blocks_give_the_same_scores():
    rng = np.random.default_rng(0)
    queries, gallery = sparse_features()
    query_ids, ids = rng.integers(0, 4, 40), rng.integers(0, 4, 70)
    for near in (
        Neighbors.between(queries, gallery, "cosine"),
        Neighbors.between(queries.toarray().astype(np.float32), gallery.toarray().astype(np.float32)),
    ):
        found = {
            expected_retrieval(near, query_ids, ids, n_jobs=n_jobs)["ap"].per_item.tobytes()
            for n_jobs in (1, 2, 3)
        }
        assert len(found) == 1


X = np.arange(12.0).reshape(4, 3)
S = sparse.csr_matrix(X)
NAN = sparse.csr_matrix(np.array([[0, np.nan, 1.0]]))
CASES = {
    "sparse and dense": (lambda: Neighbors.between(S, X), TypeError, "gallery is dense"),
    "dense and sparse": (lambda: Neighbors.between(X, S), TypeError, "queries is dense"),
    "sparse with another metric": (
        lambda: Neighbors.between(S, S, "canberra"), TypeError, "'canberra' does not take, only euclidean"
    ),
    "sparse with a callable": (
        lambda: Neighbors.between(S, S, lambda *_: 0.0), TypeError, "a callable metric does not take"
    ),
    "sparse with NaN": (lambda: Neighbors.between(S, NAN), ValueError, r"gallery\[0, 1\] is nan"),
    "sparse of other widths": (lambda: Neighbors.between(S, S[:, :2]), ValueError, "number of features"),
    "sparse and complex": (lambda: Neighbors.between(S * 1j, S), TypeError, "queries must hold real"),
    "sparse without rows": (lambda: Neighbors.between(S[:0], S), ValueError, "queries must have shape"),
    "sparse with a wrong same": (
        lambda: Neighbors.between(S, S, same=[0, 1]), ValueError, r"must have shape \(4,\)"
    ),
    "single precision with NaN": (
        lambda: Neighbors.between(X, np.full((2, 3), np.nan, np.float32)), ValueError, r"gallery\[0, 0\]"
    ),
    "masked": (
        lambda: Neighbors.between(np.ma.masked_equal(X, 3.0), X), ValueError, "masked entries in queries"
    ),
    "text": (lambda: Neighbors.between(X.astype(str), X), TypeError, "queries must hold real numbers"),
    "a vector": (lambda: Neighbors.between(X[0], X), ValueError, "queries must have shape"),
    "parameters of no use": (
        lambda: Neighbors.between(X, X, metric_params={"p": 2}), TypeError, "takes no parameter 'p'"
    ),
    "minkowski without an exponent": (
        lambda: Neighbors.between(X, X, "minkowski", metric_params={"p": 0}), ValueError, "positive"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_clear(name):
    function, kind, words = CASES[name]
    with pytest.raises(kind, match=words):
        function()
