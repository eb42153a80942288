"""The nearest gallery items of every query, from every engine: those of a comparison of all pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from knnccv import Neighbors
from knnccv.neighbors._engines.engine import serving
from knnccv.retrieval import Gallery, expected_retrieval, sampled_retrieval

PUBLIC = {"manhattan": "cityblock", "euclidean": "sqeuclidean"}


def features(n_features, integers, seed=0, n_queries=60, n_gallery=1100):
    rng = np.random.default_rng(seed)
    shape = n_queries + n_gallery, n_features
    both = rng.integers(0, 3, shape).astype(float) if integers else rng.normal(size=shape)
    return both[:n_queries], both[n_queries:]


def plain(queries, gallery, depth, metric="euclidean", same=None):
    """Items, the nearest first, ties in their order; the next value."""
    values = cdist(queries.astype(float), gallery.astype(float), PUBLIC.get(metric, metric))
    if same is not None:
        values[np.arange(len(same))[same >= 0], same[same >= 0]] = np.inf
    order = np.argsort(values, axis=1, kind="stable")
    return order[:, :depth], np.take_along_axis(values, order, axis=1)


def engine(near, depth):
    return type(serving(near.engines, depth, prepare=True)).__name__


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize(
    ("n_features", "metric", "algorithm", "name"),
    [
        (3, "euclidean", "auto", "KDTree"),
        (4, "manhattan", "tree", "KDTree"),
        (3, "chebyshev", "brute", "BruteForce"),
        (16, "euclidean", "auto", "MatrixProduct"),
        (12, "cosine", "brute", "MatrixProduct"),
        (6, "canberra", "auto", "BruteForce"),
    ],
)
def test_engines_find_what_a_comparison_of_all_pairs_finds(
    n_features, metric, algorithm, name, integers, dtype
):
    queries, gallery = (X.astype(dtype) for X in features(n_features, integers))
    if metric == "cosine":
        queries, gallery = queries + 1, gallery + 1
    depth = 40
    near = Neighbors.between(queries, gallery, metric, n_neighbors=depth, algorithm=algorithm)
    assert engine(near, depth) == name
    items, values, lengths, doubtful = near.lists(0, 60, fair=True)
    assert (lengths == depth).all()
    assert not near.lists(0, 60, fair=False)[3].any()
    expected, distances = plain(queries, gallery, depth, metric)
    if metric == "cosine" or (metric == "canberra" and integers):  # rounding of another formula
        found = np.take_along_axis(
            cdist(queries.astype(float), gallery.astype(float), metric), items, axis=1
        )
        np.testing.assert_allclose(found, distances[:, :depth], atol=1e-12)
    else:
        np.testing.assert_array_equal(items, expected)
        np.testing.assert_array_equal(doubtful, distances[:, depth - 1] == distances[:, depth])
    parts = [near.lists(start, min(start + 7, 60), fair=True) for start in range(0, 60, 7)]
    for whole, cut in zip((items, values, lengths, doubtful), zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(whole, np.concatenate(cut))


@pytest.mark.parametrize("n_features", [3, 16])
@pytest.mark.parametrize("depth", [5, 300])
def test_lists_that_no_fast_engine_serves(n_features, depth):
    queries, gallery = features(n_features, True)
    near = Neighbors.between(queries, gallery, n_neighbors=depth)
    assert (engine(near, depth) == "BruteForce") == (depth == 300)
    np.testing.assert_array_equal(near.lists(0, 60, fair=True)[0], plain(queries, gallery, depth)[0])


@pytest.mark.parametrize("n_features", [3, 16])
@pytest.mark.parametrize("integers", [False, True])
def test_queries_do_not_find_themselves(n_features, integers):
    _, gallery = features(n_features, integers)
    same = np.arange(0, 120, 2)
    same[::5] = -1
    queries = gallery[np.arange(0, 120, 2)]
    near = Neighbors.between(queries, gallery, same=same, n_neighbors=20)
    items, _, lengths, doubtful = near.lists(0, 60, fair=True)
    expected, distances = plain(queries, gallery, 20, same=same)
    for q in range(60):
        listed = [i for i in items[q, : lengths[q]].tolist() if i != same[q]]
        assert listed == expected[q].tolist()
        assert doubtful[q] == (distances[q, 19] == distances[q, 20])


@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize("integers", [False, True])
def test_scores_bracket_those_of_the_whole_gallery(ties, integers):
    queries, gallery = features(3, integers, n_gallery=1010)
    rng = np.random.default_rng(1)
    query_ids, ids = rng.integers(0, 60, 60), rng.integers(0, 60, 1010)
    options = {"scores": ("cmc", "ap", "inp"), "ties": ties, "max_rank": 5}
    for draw in (Gallery("all"), Gallery(per_identity=2, short="all")):
        distances = cdist(queries, gallery, "sqeuclidean")
        full = expected_retrieval(distances, query_ids, ids, draw, **options)
        for depth in (10, 100, 1010):
            near = Neighbors.between(queries, gallery, n_neighbors=depth)
            r = expected_retrieval(near, query_ids, ids, draw, **options)
            for name in options["scores"]:
                gap = np.asarray(full[name].score) - np.asarray(r[name].score)
                assert (gap >= -1e-13).all()
                assert (gap <= r[name].error_bound).all()
            assert (r.truncated == 0) == (depth == 1010)
        assert r["ap"].per_item.tobytes() == full["ap"].per_item.tobytes()


def test_threads_give_the_same_bits():
    queries, gallery = features(16, False, n_queries=300)
    rng = np.random.default_rng(1)
    query_ids, ids = rng.integers(0, 60, 300), rng.integers(0, 60, 1100)
    found = set()
    for n_jobs in (1, 3):
        near = Neighbors.between(queries, gallery, n_neighbors=50)
        r = expected_retrieval(near, query_ids, ids, n_jobs=n_jobs)
        found.add((r["ap"].per_item.tobytes(), r["ap"].error_bound, r.cmc.tobytes()))
    assert len(found) == 1


def test_the_same_items():
    _, X = features(3, False, n_gallery=1050)
    ids = np.random.default_rng(1).integers(0, 300, 1050)
    full = expected_retrieval(cdist(X, X), ids, ids, exclude="self", scores=("precision@1",))
    for near in (Neighbors.between(X, X, n_neighbors=4), Neighbors.between(X, X.copy(), n_neighbors=4)):
        r = expected_retrieval(near, ids, ids, exclude="self", scores=("precision@1",))
        assert r["precision@1"].score == full["precision@1"].score
        assert r["precision@1"].error_bound < 1e-14


@pytest.mark.parametrize("device", ["cpu"])
@pytest.mark.parametrize("integers", [False, True])
def test_a_device(device, integers):
    pytest.importorskip("torch", reason="PyTorch (extra [gpu]) is not installed")
    queries, gallery = features(16, integers)
    near = Neighbors.between(queries, gallery, n_neighbors=30, device=device)
    assert engine(near, 30) == "TorchProduct"
    plainly = Neighbors.between(queries, gallery, n_neighbors=30)
    for found, expected in zip(near.lists(0, 60, fair=True), plainly.lists(0, 60, fair=True), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(near.lists(0, 60, fair=True)[0], plain(queries, gallery, 30)[0])


def test_sampled_galleries_need_the_whole_one():
    queries, gallery = features(3, False)
    near = Neighbors.between(queries, gallery, n_neighbors=30)
    with pytest.raises(ValueError, match="the order of only 30 of 1100 gallery items"):
        sampled_retrieval(near, np.zeros(60, int), np.zeros(1100, int))


X = np.arange(12.0).reshape(4, 3)
CASES = {
    "no neighbors": (lambda: Neighbors.between(X, X, n_neighbors=0), ValueError, "between 1 and 4"),
    "too many": (lambda: Neighbors.between(X, X, n_neighbors=5), ValueError, "the size of the gallery"),
    "half a neighbor": (lambda: Neighbors.between(X, X, n_neighbors=2.5), TypeError, "must be an integer"),
    "an algorithm alone": (lambda: Neighbors.between(X, X, algorithm="tree"), ValueError, "n_neighbors as"),
    "a device alone": (lambda: Neighbors.between(X, X, device="cpu"), ValueError, "n_neighbors as well"),
    "an unknown algorithm": (
        lambda: Neighbors.between(X, X, n_neighbors=2, algorithm="ball"), ValueError, "algorithm must be"
    ),
    "a tree for angles": (
        lambda: Neighbors.between(X + 1, X + 1, "cosine", n_neighbors=2, algorithm="tree"),
        ValueError, "serves the euclidean",
    ),
    "a metric that is not finite": (
        lambda: Neighbors.between(X, X, lambda *_: np.nan, n_neighbors=2).lists(0, 4, fair=True),
        ValueError, "query 0 and gallery item 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_clear(name):
    function, kind, words = CASES[name]
    with pytest.raises(kind, match=words):
        function()


@pytest.mark.parametrize("cut_ties", [True, False])
def test_only_the_query_itself_is_beyond_its_list(cut_ties):
    """Then nothing beyond the list can tie the last item in it, though all distances are equal."""
    others = np.array([[j for j in range(6) if j != i] for i in range(6)])
    near = Neighbors.between_lists(others, np.zeros((6, 5)), 6, same=np.arange(6), cut_ties=cut_ties)
    np.testing.assert_array_equal(np.isinf(near.listed(0, 6, fair=True)), np.eye(6, dtype=bool))
    unknown = Neighbors.between_lists(others, np.zeros((6, 5)), 6, cut_ties=cut_ties)
    expected = np.ones((6, 6), bool) if cut_ties else np.eye(6, dtype=bool)
    for fair in (True, False):
        np.testing.assert_array_equal(np.isinf(unknown.listed(0, 6, fair=fair)), expected)
