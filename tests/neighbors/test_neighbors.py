"""Neighbor orders: metrics, ties, sources, blocks."""

from itertools import product

import numpy as np
import pytest
from features import grid, reference_order
from problems import BUILT_IN
from scipy.spatial.distance import cdist

from knnccv import KFold, Neighbors, StratifiedSubsample, Subsample, complete_cv
from knnccv.neighbors import _neighbors
from knnccv.neighbors._engines import brute_force

SCIPY = {
    "euclidean": ("sqeuclidean", {}),
    "l2": ("sqeuclidean", {}),
    "sqeuclidean": ("sqeuclidean", {}),
    "manhattan": ("cityblock", {}),
    "l1": ("cityblock", {}),
    "cityblock": ("cityblock", {}),
    "chebyshev": ("chebyshev", {}),
    "minkowski": ("minkowski", {"p": 3}),
    "hamming": ("hamming", {}),
}


@pytest.mark.parametrize("metric", SCIPY)
@pytest.mark.parametrize("depth", [1, 5, 68, 69])
def test_orders_and_ties_are_those_of_full_sorts(metric, depth):
    X = grid()
    name, kwargs = SCIPY[metric]
    params = {"metric_params": {"p": 3}} if metric == "minkowski" else {}
    near = Neighbors.from_data(X, metric, **params)
    expected = reference_order(cdist(X, X, name, **kwargs))[:, :depth]
    np.testing.assert_array_equal(near.kneighbors(depth)[0], expected)
    true = cdist(X, X, "euclidean" if name == "sqeuclidean" and metric != "sqeuclidean" else name, **kwargs)
    np.testing.assert_allclose(
        near.kneighbors(depth)[1], np.take_along_axis(true, expected, axis=1), rtol=1e-14
    )


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_angles(metric):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    near = Neighbors.from_data(X, metric)
    D = cdist(X, X, metric)
    items, distances = near.kneighbors(59)
    np.testing.assert_array_equal(items, reference_order(D))
    np.testing.assert_allclose(distances, np.take_along_axis(D, items, axis=1), rtol=1e-11)


def test_cosine_of_parallel_rows_is_exactly_zero_and_ties():
    """Multiples of a row are at distance 0 from it, and tie seen from elsewhere, to the last bit."""
    base = np.array([[1.0, 2.0, 7.0]])
    X = np.concatenate([base * factor for factor in (1, 3, 7, 0.1, 1e-30, 1e200)] + [[[2.0, 1.0, 0.0]]])
    X[3] = [1 / 8, 2 / 8, 7 / 8]
    items, distances = Neighbors.from_data(X, "cosine").kneighbors(6)
    assert (distances[0, :5] == 0).all()
    assert len(np.unique(distances[6])) == 1
    np.testing.assert_array_equal(items[6], range(6))


@pytest.mark.parametrize(("metric", "row"), [("cosine", 0.0), ("correlation", 0.1), ("correlation", 3.0)])
def test_rows_without_a_direction_are_at_distance_one(metric, row):
    X = np.random.default_rng(0).normal(size=(8, 3))
    X[2] = X[5] = row
    _, distances = Neighbors.from_data(X, metric).kneighbors(7)
    assert (distances[2] == 1).all()
    assert (distances[5] == 1).all()
    assert ((distances >= 0) & (distances <= 2)).all()


def test_cosine_agrees_with_scikit_learn():
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    X = np.random.default_rng(1).normal(size=(50, 6))
    X[7] = 0
    expected = np.sort(pairwise.cosine_distances(X) + np.diag(np.full(50, 9.0)), axis=1)[:, :-1]
    np.testing.assert_allclose(Neighbors.from_data(X, "cosine").kneighbors(49)[1], expected, atol=1e-12)


def test_jaccard_of_booleans():
    X = np.random.default_rng(0).integers(0, 2, (40, 6))
    X[3] = X[4] = 0
    D = cdist(X.astype(bool), X.astype(bool), "jaccard")
    np.testing.assert_array_equal(Neighbors.from_data(X, "jaccard").kneighbors(39)[0], reference_order(D))


def test_a_callable_metric_may_be_asymmetric():
    X = grid(30)

    def metric(tested, other):
        return float(np.maximum(tested - other, 0).sum())

    D = np.array([[metric(a, b) for b in X] for a in X])
    near = Neighbors.from_data(X, metric)
    np.testing.assert_array_equal(near.kneighbors(29)[0], reference_order(D))
    y = np.random.default_rng(0).integers(0, 2, 30)
    by_matrix = complete_cv(D, y, "knn", KFold(3), metric="precomputed")
    assert complete_cv(X, y, "knn", KFold(3), metric=metric).score == by_matrix.score


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "minkowski", "cosine"])
def test_tiny_and_huge_numbers_keep_their_order(scale, metric):
    X = grid(40) * 2.0
    expected, distances = Neighbors.from_data(X, metric).kneighbors(39)
    power = 2.0 ** round(np.log2(scale))
    items, scaled = Neighbors.from_data(X * power, metric).kneighbors(39)
    np.testing.assert_array_equal(items, expected)
    factor = 1.0 if metric == "cosine" else power
    np.testing.assert_allclose(scaled, distances * factor, rtol=1e-14)


def test_squares_of_neighboring_distances_are_not_blurred():
    """sqrt() maps these two squared distances to one double."""
    X = np.array([[0.0, 0.0], [1.0, 2.0**-26], [1.0, 0.0]])
    assert np.sqrt(1.0 + 2.0**-52) == 1.0
    np.testing.assert_array_equal(Neighbors.from_data(X).kneighbors(2)[0][0], [2, 1])


def test_duplicates_are_neighbors_and_the_sample_itself_is_not():
    X = np.repeat(np.arange(4.0), 3)[:, None]
    items, distances = Neighbors.from_data(X).kneighbors(2)
    assert (distances == 0).all()
    assert not (items == np.arange(12)[:, None]).any()
    np.testing.assert_array_equal(items[1], [0, 2])


def test_every_source_gives_the_same_answer():
    neighbors = pytest.importorskip("sklearn.neighbors")
    X = np.random.default_rng(5).normal(size=(80, 3))
    y = np.random.default_rng(6).integers(0, 3, 80)
    D = cdist(X, X)
    search = neighbors.NearestNeighbors(n_neighbors=60).fit(X)
    distances, indices = search.kneighbors()
    assert np.abs(X).max() < 3  # so that the balls below hold everything
    sources = [
        Neighbors.from_distances(D),
        Neighbors.from_distances(D.astype(np.float32)),
        Neighbors.from_lists(indices, distances),
        Neighbors.from_lists(indices[:, ::-1], distances[:, ::-1]),
        Neighbors.from_lists(indices),
        Neighbors.from_graph(search.kneighbors_graph(mode="distance")),
        Neighbors.from_graph(neighbors.radius_neighbors_graph(X, 6.0, mode="distance")),
        Neighbors.from_graph(search.kneighbors_graph(X, mode="distance")),
    ]
    for variant, design, ties in product(
        BUILT_IN, (KFold(5), StratifiedSubsample(0.7)), ("index", "random")
    ):
        real = variant == "regression"
        if not (real and isinstance(design, StratifiedSubsample)):
            targets = X[:, 0] / 4 if real else y
            expected = complete_cv(X, targets, variant, design, ties=ties)
            for source in sources:
                found = complete_cv(source, targets, variant, design, ties=ties)
                assert found.error_bound < 1e-10
                assert found.score == pytest.approx(expected.score, abs=2e-11)
                assert abs(found.score - expected.score) <= found.error_bound + expected.error_bound


def test_a_short_list_shows_in_the_bound():
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = np.random.default_rng(1).integers(0, 2, 100)
    whole = complete_cv(X, y, "knn", Subsample(50), n_neighbors=5)
    items, distances = Neighbors.from_data(X).kneighbors(12)
    for short in (
        Neighbors.from_lists(items, distances),
        Neighbors.from_data(X, n_neighbors=12),
    ):
        cut = complete_cv(short, y, "knn", Subsample(50), n_neighbors=5)
        assert 1e-3 < cut.error_bound < 1
        assert cut.depth == 12
        assert abs(cut.score - whole.score) <= cut.error_bound
        with pytest.raises(ValueError, match="exact=True needs 54 neighbors"):
            complete_cv(short, y, "knn", Subsample(50), n_neighbors=5, exact=True)
    graph = Neighbors.from_lists(items, distances)
    with pytest.raises(ValueError, match="n_neighbors must be between 1 and 12, got 13"):
        graph.kneighbors(13)


def test_rows_of_a_graph_may_differ_in_length():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    D = rng.random((30, 30)) + 0.1
    keep = rng.random((30, 30)) < 0.7
    np.fill_diagonal(keep, True)  # entries of the samples themselves are left out
    y = rng.integers(0, 2, 30)
    graph = sparse.csr_array((D[keep], np.nonzero(keep)), shape=(30, 30))
    near = Neighbors.from_graph(graph)
    _, lengths, _ = near.max_depth, near.search(np.arange(30), 29).lengths, None
    np.testing.assert_array_equal(lengths, keep.sum(axis=1) - 1)
    items = near.search(np.arange(30), 29).items
    for x in range(30):
        expected = [j for j in np.argsort(D[x]) if keep[x, j] and j != x]
        np.testing.assert_array_equal(items[x, : lengths[x]], expected)
    assert complete_cv(near, y, "nn", Subsample(25)).error_bound < 0.01
    with pytest.raises(ValueError, match="has only"):
        near.kneighbors(29 if near.max_depth == 29 else near.max_depth)


def test_a_graph_keeps_its_zeros():
    neighbors = pytest.importorskip("sklearn.neighbors")
    X = np.repeat(np.arange(6.0), 2)[:, None]
    graph = neighbors.kneighbors_graph(X, 11, mode="distance")
    items, distances = Neighbors.from_graph(graph).kneighbors(11)
    assert (distances[:, 0] == 0).all()
    np.testing.assert_array_equal(items, Neighbors.from_data(X).kneighbors(11)[0])


@pytest.mark.parametrize("ties", ["index", "random"])
def test_a_tied_group_cut_by_the_list_is_completed_or_counted(ties):
    """12 samples at one distance: a depth inside the group must not pass for an order."""
    X = np.concatenate([[[0.0]], np.ones((12, 1)), 5 + np.arange(7.0)[:, None]])
    y = np.array([0] + [0, 1] * 6 + [0, 1, 0, 1, 0, 1, 1])
    whole = complete_cv(X, y, "nn", Subsample(16), ties=ties, exact=True)
    found = complete_cv(X, y, "nn", Subsample(16), ties=ties)
    assert found.score == pytest.approx(whole.score, rel=1e-12)
    cut = complete_cv(Neighbors.from_data(X, n_neighbors=6), y, "nn", Subsample(16), ties=ties)
    assert abs(cut.score - whole.score) <= cut.error_bound
    lists = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(6))
    cut = complete_cv(lists, y, "nn", Subsample(16), ties=ties)
    assert abs(cut.score - whole.score) <= cut.error_bound
    assert cut.error_bound > 0.01


def test_lists_are_kept_and_reused():
    calls = []

    def metric(a, b):
        calls.append(1)
        return float(abs(a - b).sum())

    X, y = grid(25), np.random.default_rng(0).integers(0, 2, 25)
    near = Neighbors.from_data(X, metric)
    complete_cv(near, y, "nn", Subsample(5), ties="index")
    first = len(calls)
    assert first == 25 * 25
    for variant in BUILT_IN:
        complete_cv(near, y, variant, Subsample(20), ties="index")
    assert len(calls) == first


def test_average_ties_search_again_only_where_the_list_cuts_a_group():
    searched = []

    def metric(a, b):
        searched.append(tuple(a))
        return float(abs(a - b).sum())

    X, y = grid(25), np.random.default_rng(0).integers(0, 2, 25)
    near = Neighbors.from_data(X, metric)
    expected = complete_cv(Neighbors.from_data(X, "manhattan"), y, "nn", Subsample(5), tol=0)
    assert abs(complete_cv(near, y, "nn", Subsample(5)).score - expected.score) < 1e-12
    first = len(searched)
    assert 25 * 25 <= first < 2 * 25 * 25
    for variant in BUILT_IN:
        complete_cv(near, y, variant, Subsample(20))
    assert len(searched) < 2 * first


def test_nothing_of_the_size_of_all_pairs_is_kept(monkeypatch):
    """A deep question on data whose lists exceed the cache streams them instead."""
    import tracemalloc

    monkeypatch.setattr(_neighbors, "CACHE_BYTES", 2**20)
    monkeypatch.setattr(brute_force, "BLOCK_BYTES", 2**18)
    X = np.random.default_rng(0).normal(size=(3000, 2))
    y = np.random.default_rng(1).integers(0, 2, 3000)
    near = Neighbors.from_data(X)
    complete_cv(near, y, "nn", Subsample(3), n_jobs=1)
    tracemalloc.start()
    complete_cv(near, y, "nn", Subsample(3), n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 3000 * 3000 / 4


def test_a_metric_cannot_change_the_data():
    def metric(a, b):
        b[:] = a
        return 0.0

    X = grid(20)
    before = X.copy()
    with pytest.raises(ValueError, match="read-only"):
        complete_cv(X, np.arange(20) % 2, "nn", Subsample(5), metric=metric)
    np.testing.assert_array_equal(X, before)
    X[0] = 1  # the caller's own array stays theirs to write


def test_a_metric_belongs_to_the_neighbors():
    near = Neighbors.from_data(grid(20), "manhattan")
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match="which already has a metric"):
        complete_cv(near, y, "nn", Subsample(5), metric="cosine")


@pytest.mark.parametrize("kind", ["bsr", "dia"])
def test_formats_that_blur_zeros_are_refused(kind):
    sparse = pytest.importorskip("scipy.sparse")
    graph = sparse.csr_array(np.random.default_rng(0).random((6, 6))).asformat(kind)
    with pytest.raises(ValueError, match=f"graph has format '{kind}'"):
        Neighbors.from_graph(graph)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok"])
def test_formats_of_graphs(kind):
    sparse = pytest.importorskip("scipy.sparse")
    D = np.random.default_rng(0).random((9, 9)) + 0.1
    near = Neighbors.from_graph(sparse.csr_array(D).asformat(kind))
    np.testing.assert_array_equal(near.kneighbors(8)[0], reference_order(D))


def test_correlation_of_tiny_and_huge_rows():
    X = np.random.default_rng(0).integers(-9, 10, (30, 5)).astype(float)
    expected = Neighbors.from_data(X, "correlation").kneighbors(29)[0]
    for power in (-1070, -500, 900, 1019):
        found = Neighbors.from_data(np.ldexp(X, power), "correlation").kneighbors(29)[0]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "minkowski"])
def test_mixed_scales_keep_small_differences_or_are_refused(metric):
    params = {"metric_params": {"p": 1.5}} if metric == "minkowski" else {}
    for small, large in [(1e-70, 1e100), (1e-170, 1.0), (1e-30, 1e250), (1e-100, 1e305)]:
        X = np.array([[0.0], [small], [3 * small], [large]])
        try:
            items, distances = Neighbors.from_data(X, metric, **params).kneighbors(3)
        except ValueError as error:
            assert metric in {"euclidean", "minkowski"}
            assert large / small > 1e250
            assert "differences to the power of" in str(error)  # noqa: PT017
            continue
        np.testing.assert_array_equal(items[2], [1, 0, 3])
        np.testing.assert_allclose(distances[0], [small, 3 * small, large], rtol=1e-12)
    with pytest.raises(ValueError, match="too many orders of magnitude"):
        Neighbors.from_data([[5e-324], [1e305], [1.0]], metric, **params)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_proportional_integer_rows_tie(metric):
    rng = np.random.default_rng(0)
    base = rng.integers(0, 50, (10, 4))
    X = np.concatenate([base * factor for factor in (1, 2, 3, 7)]).astype(float)
    if metric == "correlation":
        X[10:20] += 5
    _, distances = Neighbors.from_data(X, metric).kneighbors(39)
    assert (distances[:, :3] == 0).all()
    for x in range(len(X)):
        assert len(np.unique(distances[x])) <= 10


@pytest.mark.parametrize("n_items", [40, 20_000])
def test_lists_in_any_order_and_type_are_the_same_lists(n_items):
    rng = np.random.default_rng(0)
    steps = np.array([rng.permutation(30)[:6] + 1 for _ in range(n_items)])
    indices = (np.arange(n_items)[:, None] + steps) % n_items
    distances = np.round(rng.random(indices.shape), 1)  # with ties
    expected = Neighbors.from_lists(indices, distances).kneighbors(5)
    order = np.lexsort((indices, distances), axis=1)
    by_hand = np.take_along_axis(indices, order, axis=1)[:, :5]
    np.testing.assert_array_equal(expected[0], by_hand)
    for dtype in (np.int32, np.uint32, np.uint64):
        found = Neighbors.from_lists(np.asfortranarray(indices.astype(dtype)), distances.astype(np.float64))
        np.testing.assert_array_equal(found.kneighbors(5)[0], by_hand)
    fixed = indices.astype(np.int32)
    fixed.flags.writeable = False
    given = Neighbors.from_lists(fixed)
    assert np.shares_memory(given._source.lists.items, fixed)
    np.testing.assert_array_equal(given.kneighbors(6)[0], indices)
    y = np.arange(n_items) % 3
    assert complete_cv(given, y, "knn", KFold(5)) is not None
    spoilt = indices.copy()
    spoilt[n_items - 1, 3] = spoilt[n_items - 1, 0]
    with pytest.raises(ValueError, match=rf"indices\[{n_items - 1}\] holds sample {spoilt[-1, 0]} twice"):
        Neighbors.from_lists(spoilt, distances)
    distances[n_items - 1, 2] = np.nan
    with pytest.raises(ValueError, match=rf"distances\[{n_items - 1}, 2\] is nan"):
        Neighbors.from_lists(indices, distances)
