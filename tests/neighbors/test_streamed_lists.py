"""Lists that others have found, in memory and in files, of one table and between two."""

import pickle
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from bad_input import changed
from dask import array as dask_array
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from knnccv import KFold, Neighbors, StratifiedKFold, Subsample, complete_cv, monte_carlo_cv, surface
from knnccv.neighbors import _list_readers
from knnccv.retrieval import Gallery, expected_retrieval

N_ITEMS, DEPTH = 600, 30


def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ITEMS)
    X = (rng.normal(size=(N_ITEMS, 2)) + y[:, None]).round(1)  # with ties
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    items = np.argsort(distances, axis=1, kind="stable")[:, :DEPTH]
    return items.astype(np.int32), np.take_along_axis(distances, items, axis=1), y


ITEMS, DISTANCES, Y = problem()
WITH_SELF = np.column_stack([np.arange(N_ITEMS), ITEMS])
ZERO_FIRST = np.column_stack([np.zeros(N_ITEMS), DISTANCES])
SHORT = np.arange(DEPTH) >= np.arange(N_ITEMS)[:, None] % 9 + DEPTH - 9
GIVEN = {
    "int32-float32": (ITEMS, DISTANCES.astype(np.float32), {}),
    "int64-float64": (ITEMS.astype(np.int64), DISTANCES, {}),
    "int32": (ITEMS, None, {}),
    "integers": (ITEMS.astype(np.uint16), np.rint(100 * DISTANCES).astype(np.int64), {}),
    "fortran": (np.asfortranarray(ITEMS), np.asfortranarray(DISTANCES), {}),
    "unsorted": (np.roll(ITEMS, 9, axis=1), np.roll(DISTANCES, 9, axis=1), {}),
    "drop_self": (WITH_SELF, ZERO_FIRST, {"drop_self": True}),
    "approximate": (np.where(SHORT, -1, ITEMS), np.where(SHORT, np.inf, DISTANCES), {"approximate": True}),
}


def mapped(folder, array, name):
    if array is None:
        return None
    np.save(folder / f"{name}.npy", array)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def in_dask(array, rows):
    return None if array is None else dask_array.from_array(array, chunks=(rows, -1))


def streamed(how, folder, items, distances, **options):
    if how == "mapped":
        return Neighbors.from_lists(
            mapped(folder, items, "items"), mapped(folder, distances, "distances"), **options
        )
    return Neighbors.from_lists(in_dask(items, 250), in_dask(distances, 101), **options)


def ask(near, ties="random", **options):
    return complete_cv(near, Y, "knn", KFold(5), ties=ties, **options)


def assert_same(found, expected):
    assert found.per_item.tobytes() == expected.per_item.tobytes()
    assert (found.score, found.n_tied) == (expected.score, expected.n_tied)
    # Without reading all rows, the longest list is known only if none is shorter than the array.
    assert expected.depth <= found.depth <= expected.depth + expected.depth // 10
    assert found.error_bound == expected.error_bound


FEW = ("int32-float32", "drop_self", "approximate")


@pytest.mark.parametrize(
    ("how", "given"),
    [("mapped", given) for given in GIVEN]
    + [pytest.param("dask", given, marks=[pytest.mark.slow] * (given not in FEW)) for given in GIVEN],
)
def test_the_same_bits_as_lists_in_memory(how, given, tmp_path):
    items, distances, options = GIVEN[given]
    near = streamed(how, tmp_path, items, distances, **options)
    expected = Neighbors.from_lists(items, distances, **options)
    assert near.n_items == N_ITEMS
    assert repr(near).startswith(f"<Neighbors of {N_ITEMS} samples (lists")
    for ties, n_jobs in (("random", 2), ("index", 1)):
        assert_same(ask(near, ties, n_jobs=n_jobs), ask(expected, ties))
    rows = np.array([7, 3, 300, 599])
    for depth in (1, 20):
        found, wanted = near.search(rows, depth), expected.search(rows, depth)
        for name in ("lengths", "may_tie_beyond", "items", "values"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
        assert found.items.dtype == wanted.items.dtype


@pytest.mark.parametrize("how", ["mapped", pytest.param("dask", marks=pytest.mark.slow)])
def test_all_computations_read_them(how, tmp_path):
    near, expected = streamed(how, tmp_path, ITEMS, DISTANCES), Neighbors.from_lists(ITEMS, DISTANCES)
    for question in (
        lambda near: near.kneighbors(9)[0],
        lambda near: near.kneighbors(9)[1],
        lambda near: complete_cv(near, Y, "knn", StratifiedKFold(5)).per_item,
        lambda near: monte_carlo_cv(near, Y, "knn", 5, n_runs=3, random_state=0).scores,
        lambda near: surface(near, Y, [1, 3], [0.5, 0.8]).scores,
        lambda near: ask(near).confusion(),
    ):
        np.testing.assert_array_equal(question(near), question(expected))


BAD = 437  # of the second chunk; not among the rows of a file that are seen at once
MISTAKES = [
    (changed(ITEMS, (BAD, 3), 600), DISTANCES, {}, r"indices\[437, 3\] is 600; it must be between"),
    (changed(ITEMS, (BAD, 3), BAD), DISTANCES, {}, r"indices\[437\] holds the sample itself"),
    (changed(ITEMS, (BAD, 3), ITEMS[BAD, 9]), DISTANCES, {}, r"indices\[437\] holds sample \d+ twice"),
    (ITEMS, changed(DISTANCES, (BAD, 3), np.nan), {}, r"distances\[437, 3\] is nan"),
    (ITEMS, changed(DISTANCES, (BAD, 3), np.inf), {}, r"distances\[437, 3\] is inf"),
    (ITEMS, changed(ITEMS, (BAD, 3), 2**53 + 1, int), {}, r"distances\[437, 3\] is 9007199254740993; "),
    (
        changed(ITEMS, (BAD, 3), -1),
        DISTANCES,
        {"approximate": True},
        r"continues after indices\[437, 3\] = -1",
    ),
    (changed(ITEMS, BAD, -1), DISTANCES, {"approximate": True}, r"indices\[437\] holds no neighbor"),
]


@pytest.mark.parametrize("how", ["mapped", "dask"])
def test_mistakes_are_found_when_the_row_is_read(how, tmp_path):
    for items, distances, options, message in MISTAKES:
        near = streamed(how, tmp_path, items, distances, **options)
        near.search(np.arange(200), 5)
        with pytest.raises(ValueError, match=message):
            ask(near)


def test_usual_mistakes_in_a_file_are_found_at_once(tmp_path):
    items, distances = mapped(tmp_path, ITEMS, "items"), mapped(tmp_path, DISTANCES, "distances")
    falling, complex_ = mapped(tmp_path, -DISTANCES, "falling"), mapped(tmp_path, DISTANCES + 1j, "complex")
    similar = "distances decrease along all lists, as similarities do"
    for given, options, error, message in (
        ((mapped(tmp_path, WITH_SELF, "self"),), {}, ValueError, r"indices\[0\] holds the sample itself"),
        ((items, falling), {"approximate": True}, ValueError, similar),
        ((items, distances[:, 1:]), {}, ValueError, "distances must have the shape of indices"),
        ((items, complex_), {}, TypeError, "distances must be real numbers, got dtype complex128"),
        ((distances,), {}, TypeError, "indices must be integers, got dtype float64"),
        ((items, np.ma.masked_array(DISTANCES, DISTANCES < 0.1)), {}, ValueError, "masked entries"),
    ):
        with pytest.raises(error, match=message):
            Neighbors.from_lists(*given, **options)


def resident(path):
    """Bytes of a mapped file that count as memory of this process."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0]:
            inside = line.endswith(str(path))
        elif inside and line.startswith("Rss:"):
            found += 1024 * int(line.split()[1])
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_file_is_read_once_and_takes_no_memory(tmp_path, monkeypatch):
    n_items, depth = 20_000, 40
    items = ((np.arange(n_items)[:, None] + np.arange(1, depth + 1)) % n_items).astype(np.int32)
    given = mapped(tmp_path, items, "items")
    read = []
    take = _list_readers.MappedRows.take
    monkeypatch.setattr(
        _list_readers.MappedRows, "take", lambda self, rows: read.append(rows) or take(self, rows)
    )
    near = Neighbors.from_lists(given)
    assert sum(map(len, read)) < 2000  # a sample of the rows
    read.clear()
    complete_cv(near, np.arange(n_items) % 2, "knn", KFold(5))
    np.testing.assert_array_equal(np.sort(np.concatenate(read)), np.arange(n_items))
    assert near.room(depth) is None, "lists that were given are not kept again"
    assert near._stored is None
    assert resident(tmp_path / "items.npy") < items.nbytes / 4


def test_a_file_is_pickled_by_its_path(tmp_path):
    near = streamed("mapped", tmp_path, ITEMS, DISTANCES)
    message = pickle.dumps(near)
    assert len(message) < 5000
    np.testing.assert_array_equal(pickle.loads(message).kneighbors(9)[1], near.kneighbors(9)[1])
    own = np.load(tmp_path / "distances.npy", mmap_mode="c")  # changes of this process are not in the file
    own[:] = 7.0
    near = Neighbors.from_lists(mapped(tmp_path, ITEMS, "items"), own)
    assert (pickle.loads(pickle.dumps(near)).kneighbors(9)[1] == 7.0).all()
    assert (own == 7.0).all()
    np.save(tmp_path / "distances.npy", DISTANCES[:50])
    with pytest.raises(ValueError, match=r"under the same path.* has \d+ bytes, not \d+"):
        pickle.loads(message)
    (tmp_path / "items.npy").unlink()
    with pytest.raises(ValueError, match="must see the file of the given lists under the same path"):
        pickle.loads(message)


def test_a_thread_keeps_one_chunk(monkeypatch):
    alive, most = set(), 0
    lock = threading.Lock()
    computed = _list_readers.DaskLists._computed

    def counting(self, number):
        nonlocal most
        chunk = computed(self, number)
        with lock:
            alive.add(number)
            most = max(most, len(alive))
        weakref.finalize(chunk, alive.discard, number)
        return chunk

    monkeypatch.setattr(_list_readers.DaskLists, "_computed", counting)
    ask(Neighbors.from_lists(in_dask(ITEMS, 20), in_dask(DISTANCES, 20)), n_jobs=2)
    assert 1 <= most <= 3  # two threads and the caller's


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
                assert near.compare._gallery is gallery
                assert near.compare._queries is queries


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_blocks_and_pieces_that_are_prepared_again_have_the_same_bits(metric, monkeypatch):
    monkeypatch.setattr("knnccv.neighbors._products.PIECE", 32)
    queries, gallery = features()
    gallery[100:110] = gallery[5]
    ready = Neighbors.between(queries, gallery, metric)
    assert ready.compare._ready
    monkeypatch.setattr("knnccv.neighbors._products.PREPARED_BYTES", 0)
    again = Neighbors.between(queries, gallery, metric)
    assert again.compare._ready is None
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
    assert found.n_tied == expected.n_tied > 0
    np.testing.assert_allclose(found["ap"].per_item, expected["ap"].per_item, atol=1e-12)


def lattice(values, n_columns, n_rows, seed):
    """Rows of few values: many distances are equal, and none of them is zero for most metrics."""
    return np.random.default_rng(seed).choice(values, (n_rows, n_columns))


LATTICES = {"integers": [1.0, 2.0, 3.0], "decimals": [0.1, 0.2, 0.7], "many": np.arange(17) / 10}
EXACT = [*METRICS, "haversine", "braycurtis", "tanimoto", "mahalanobis"]


@pytest.mark.parametrize("values", LATTICES)
@pytest.mark.parametrize("metric", EXACT)
def test_orders_and_ties_are_those_of_pairs(metric, values):
    for n_columns in (2,) if metric == "haversine" else (3, 64):
        for dtype in (np.float64, np.float32):
            params = {"V": np.eye(n_columns)} if metric == "mahalanobis" else None
            both = lattice(np.array(LATTICES[values]) / 2, n_columns, 100, 3).astype(dtype)
            queries, gallery = both[:40], both[40:]
            if metric in ("euclidean", "sqeuclidean"):
                expected = cdist(queries, gallery, "sqeuclidean")
            else:
                listed = Neighbors.between(queries, gallery, metric, metric_params=params, n_neighbors=60)
                expected = whole(listed)
            found = whole(Neighbors.between(queries, gallery, metric, metric_params=params))
            np.testing.assert_array_equal(rankdata(found, axis=1), rankdata(expected, axis=1))


@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_scores_of_ties_are_those_of_a_matrix(metric, ties):
    both = lattice(LATTICES["many"], 3, 100, 0)
    queries, gallery = both[:40], both[40:]
    distances = cdist(queries, gallery, "sqeuclidean")
    if metric == "cosine":  # 2 (1 - cosine)
        unit = both / np.abs(both).max(axis=1, keepdims=True)
        unit /= np.sqrt((unit * unit).sum(axis=1, keepdims=True))
        distances = cdist(unit[:40], unit[40:], "sqeuclidean")
    ids, cameras = np.arange(100) % 7, np.arange(100) % 3
    order = np.argsort(distances, axis=1, kind="stable")
    lists = Neighbors.between_lists(order, np.take_along_axis(distances, order, axis=1), 60)
    sources = distances, Neighbors.between(queries, gallery, metric), lists
    maps, asked = [], {"exclude": "same-identity-camera", "ties": ties}
    for gallery in (Gallery(per_identity=2, per_query=True), Gallery("all")):
        people = ids[:40], ids[40:], gallery, cameras[:40], cameras[40:]
        maps.append([expected_retrieval(of, *people, **asked)["ap"].score for of in sources])
    asked["jackknife"] = "identity"
    errors = [expected_retrieval(of, *people, **asked)["ap"].standard_error() for of in sources[:2]]
    asked = {"variant": "nn", "cv": Subsample(30), "test": ids[:40], "ties": ties}
    scores = [complete_cv(distances, ids[40:], metric="precomputed", **asked).score]
    scores += [complete_cv(of, ids[40:], **asked).score for of in sources[1:]]
    for values in (*maps, errors, scores):
        np.testing.assert_allclose(values, values[0], rtol=0, atol=1e-12)
