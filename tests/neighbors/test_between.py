"""Distances from queries to a gallery: single precision, memory-mapped and sparse features."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from knnccv import Neighbors
from knnccv.retrieval import Gallery, expected_retrieval

METRICS = dict.fromkeys(["euclidean", "sqeuclidean", "cosine", "correlation", "chebyshev", "canberra"])
METRICS |= {"manhattan": "cityblock", "minkowski": "minkowski", "hamming": "hamming"}


def whole(near, step=None):
    step = step or near.n_queries
    parts = [
        near.block(start, min(start + step, near.n_queries)) for start in range(0, near.n_queries, step)
    ]
    return np.concatenate(parts)


def features(seed=0, n_queries=150, n_gallery=130, n_features=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_queries, n_features)), 2 + rng.normal(size=(n_gallery, n_features))


def sparse_features():
    both = sparse.random(110, 30, 0.2, "csr", rng=np.random.default_rng(0))
    return both[:40], both[40:]


def assert_same_order(values, distances):
    """The order of the values is that of the distances, where these differ by more than rounding."""
    order = np.argsort(values, axis=1, kind="stable")
    sorted_ = np.take_along_axis(distances, order, axis=1)
    assert (np.diff(sorted_, axis=1) > -1e-9 * (1 + np.abs(sorted_[:, 1:]))).all()


@pytest.mark.parametrize("metric", METRICS)
def test_the_order_is_that_of_scipy(metric):
    options = {"p": 3} if metric == "minkowski" else {}
    for dtype in (np.float64, np.float32, np.float16):
        queries, gallery = (X.astype(dtype) for X in features())
        if metric == "hamming":
            queries, gallery = queries.round(), gallery.round()
        doubles = queries.astype(float), gallery.astype(float)
        expected = cdist(*doubles, METRICS[metric] or metric, **options)
        near = Neighbors.between(queries, gallery, metric, metric_params=options or None)
        assert near.metric == metric
        assert_same_order(whole(near), expected)
        if metric == "euclidean":
            gaps = whole(near) - expected**2
            np.testing.assert_allclose(gaps - gaps[:, :1], 0, atol=1e-11)
        if dtype == np.float32:
            copy = Neighbors.between(*doubles, metric, metric_params=options or None)
            np.testing.assert_array_equal(whole(near), whole(copy))
            if metric in ("euclidean", "cosine", "correlation"):  # in place
                assert near.compare.__self__._gallery is gallery
                assert near.compare.__self__._queries is queries


def test_haversine_and_callables():
    rng = np.random.default_rng(4)
    queries, gallery = (rng.uniform(-1.5, 1.5, (n, 2)).astype(np.float32) for n in (30, 50))
    (a, b), (c, d) = queries.astype(float).T[:, :, None], gallery.astype(float).T[:, None]
    cosine = np.clip(np.sin(a) * np.sin(c) + np.cos(a) * np.cos(c) * np.cos(b - d), -1, 1)
    for metric, expected in (("haversine", np.arccos(cosine)), (lambda x, y: abs(x[0] - y[0]), abs(a - c))):
        for options in ({}, {"n_neighbors": 50}):
            assert_same_order(whole(Neighbors.between(queries, gallery, metric, **options)), expected)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_blocks_and_pieces_that_are_prepared_again_have_the_same_bits(metric, monkeypatch):
    monkeypatch.setattr("knnccv.neighbors._between.PIECE", 32)
    queries, gallery = features()
    gallery[100:110] = gallery[5]
    ready = Neighbors.between(queries, gallery, metric)
    assert ready.compare.__self__._ready
    monkeypatch.setattr("knnccv.neighbors._between.PREPARED_BYTES", 0)
    again = Neighbors.between(queries, gallery, metric)
    assert again.compare.__self__._ready is None
    expected = whole(ready)
    for step in (1, 7, 64, 100):
        np.testing.assert_array_equal(whole(ready, step), expected)
        np.testing.assert_array_equal(whole(again, step), expected)
    assert (expected[:, 100:110] == expected[:, 5:6]).all()


def test_equal_items_tie_and_rows_without_direction_are_last():
    queries, gallery = features(1)
    gallery[60:] = 4 * gallery[:70]  # in the same direction
    gallery[7], gallery[67], queries[3] = 0, 0, 0
    values = whole(Neighbors.between(queries, gallery, "cosine"))
    np.testing.assert_array_equal(values[:, 60:120], values[:, :60])
    assert (values[:, 7] == 2).all()
    assert (values[3] == 2).all()
    gallery[60:] = gallery[:70]
    gallery[3], gallery[63] = 0.0, -0.0
    values = whole(Neighbors.between(queries, gallery))
    np.testing.assert_array_equal(values[:, 60:120], values[:, :60])
    for factor in (2.0**600, 2.0**-600):
        assert_same_order(
            whole(Neighbors.between(queries * factor, gallery * factor)), cdist(queries, gallery)
        )


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_memory_mapped_features_are_read_in_pieces(metric, tmp_path, monkeypatch):
    monkeypatch.setattr("knnccv.neighbors._between.PIECE", 256)
    for dtype in (np.float32, np.float64):
        gallery = np.random.default_rng(0).normal(size=(40000, 32)).astype(dtype)
        gallery.tofile(tmp_path / "gallery")
        queries = gallery[:20] + dtype(0.1)
        expected = whole(Neighbors.between(queries, gallery, metric))
        with monkeypatch.context() as patch:
            patch.setattr("knnccv.neighbors._between.PREPARED_BYTES", 0)
            mapped = np.memmap(tmp_path / "gallery", dtype, "r", shape=gallery.shape)
            Neighbors.between(queries[:2], mapped[:9], metric).block(0, 1)  # imports
            tracemalloc.start()
            near = Neighbors.between(queries, mapped, metric)
            for start in (0, 2):
                near.block(start, start + 2)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 4e6 < gallery.astype(float).nbytes / 2
            np.testing.assert_array_equal(whole(near, 16), expected)
    columns = mapped[:50, 3:9]
    near = Neighbors.between(columns, columns)
    assert np.shares_memory(near.compare.__self__._gallery, mapped)
    assert near.same.tolist() == list(range(50))
    copy = gallery[:50, 3:9]
    np.testing.assert_array_equal(whole(near), whole(Neighbors.between(copy, copy.copy())))


def test_a_memory_mapped_matrix(tmp_path):
    rng = np.random.default_rng(0)
    distances = rng.random((70, 40)).astype(np.float32)
    query_ids, ids = rng.integers(0, 5, 70), rng.integers(0, 5, 40)
    for order in ("C", "F"):
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


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine", "jaccard"])
def test_sparse_features_have_the_order_of_dense_ones(metric):
    queries, gallery = sparse_features()
    gallery = sparse.vstack([gallery, gallery[:5], sparse.csr_matrix((1, 30))])
    dense = [X.toarray() != 0 if metric == "jaccard" else X.toarray() for X in (queries, gallery)]
    if metric == "cosine":
        lengths = np.maximum(np.linalg.norm(dense[1], axis=1), 1e-300)
        expected = 1 - dense[0] @ dense[1].T / np.linalg.norm(dense[0], axis=1)[:, None] / lengths
    else:
        expected = cdist(*dense, METRICS.get(metric) or metric)
    for form in ("csr", "csc", "coo"):
        near = Neighbors.between(queries.asformat(form), gallery.asformat(form), metric)
        values = whole(near)
        assert_same_order(values, expected)
        np.testing.assert_array_equal(values[:, 70:75], values[:, :5])
        for step in (1, 7):
            np.testing.assert_array_equal(whole(near, step), values)


def test_sparse_features_are_never_dense():
    gallery = sparse.random(3000, 10**6, 1e-5, "csr", rng=np.random.default_rng(0))  # 24 GB if dense
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
