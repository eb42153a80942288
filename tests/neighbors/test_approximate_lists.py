"""Lists as other programs return them, and what results of approximate ones may promise."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from knnccv import KFold, Neighbors, Subsample, complete_cv, monte_carlo_cv, surface

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = RNG.integers(0, 3, 120)
WHOLE = Neighbors.from_data(X)
ITEMS, DISTANCES = WHOLE.kneighbors(20)
WITH_SELF = np.column_stack([np.arange(120), ITEMS])
DISTANCES_WITH_SELF = np.column_stack([np.zeros(120), DISTANCES])


def same_lists(near, other, depth=20):
    np.testing.assert_array_equal(near.kneighbors(depth)[0], other.kneighbors(depth)[0])
    np.testing.assert_array_equal(near.kneighbors(depth)[1], other.kneighbors(depth)[1])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.int8, np.uint8])
def test_samples_in_their_own_lists_are_dropped_on_request(dtype):
    expected = Neighbors.from_lists(ITEMS, DISTANCES)
    near = Neighbors.from_lists(WITH_SELF.astype(dtype), DISTANCES_WITH_SELF, drop_self=True)
    same_lists(near, expected)
    assert near.max_depth == 20
    without = Neighbors.from_lists(WITH_SELF.astype(dtype), drop_self=True)
    np.testing.assert_array_equal(without.kneighbors(20)[0], ITEMS)
    with pytest.raises(ValueError, match=r"indices\[0\] holds the sample itself; .* pass drop_self=True"):
        Neighbors.from_lists(WITH_SELF.astype(dtype), DISTANCES_WITH_SELF)


def test_the_sample_itself_may_be_at_any_position_or_absent():
    """Of duplicates a program may list the other one first, or the sample itself not at all."""
    items = np.array([[1, 0, 2], [0, 2, 3], [3, 1, 2], [3, 2, 1]])
    near = Neighbors.from_lists(items, drop_self=True)
    lists = near.search(np.arange(4), 3)
    assert lists.lengths.tolist() == [2, 3, 2, 2]
    assert [row[:n].tolist() for row, n in zip(lists.items, lists.lengths, strict=True)] == [
        [1, 2],
        [0, 2, 3],
        [3, 1],
        [2, 1],
    ]
    everything = np.tile(np.arange(4), (4, 1))
    assert Neighbors.from_lists(everything, drop_self=True).max_depth == 3
    with pytest.raises(ValueError, match=r"indices\[1\] holds no neighbor"):
        Neighbors.from_lists([[1], [1]], drop_self=True)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("given", [True, False])
def test_missing_neighbors_make_shorter_lists(dtype, given):
    lengths = np.arange(120) % 20 + 1
    missing = np.arange(20) >= lengths[:, None]
    items = np.where(missing, -1, ITEMS).astype(dtype)
    distances = np.where(missing, np.inf, DISTANCES).astype(np.float32) if given else None
    near = Neighbors.from_lists(items, distances, approximate=True)
    lists = near.search(np.arange(120), 20)
    np.testing.assert_array_equal(lists.lengths, lengths)
    for x in range(120):
        np.testing.assert_array_equal(lists.items[x, : lengths[x]], ITEMS[x, : lengths[x]])
    with pytest.raises(ValueError, match=r"indices\[0, 1\] is \d+; it must|-1; .* approximate=True"):
        Neighbors.from_lists(items, distances)
    if given:
        distances[5, 0] = np.nan
        with pytest.raises(ValueError, match=r"distances\[5, 0\] is nan"):
            Neighbors.from_lists(items, distances, approximate=True)
    items[7, 2] = ITEMS[7, 2]
    items[7, 1] = -1 if np.dtype(dtype).kind == "i" else np.iinfo(dtype).max
    with pytest.raises(ValueError, match=r"indices\[7\] continues after indices\[7, 1\]"):
        Neighbors.from_lists(items, distances, approximate=True)


def test_empty_lists_are_refused():
    with pytest.raises(ValueError, match=r"indices\[1\] holds no neighbor"):
        Neighbors.from_lists([[1, 2], [-1, -1], [0, 1]], approximate=True)
    with pytest.raises(ValueError, match=r"indices\[2, 0\] is -2; it must be between 0 and 2"):
        Neighbors.from_lists([[1, 2], [0, -1], [-2, 1]], approximate=True)
    # More asked for than there are, as faiss allows.
    near = Neighbors.from_lists([[0, 1, -1, -1], [1, 0, -1, -1]], approximate=True, drop_self=True)
    assert near.max_depth == 1
    bytes_ = np.array([[255 if x == 0 else 0] for x in range(256)], np.uint8)
    assert Neighbors.from_lists(bytes_, approximate=True).kneighbors(1)[0][0, 0] == 255


def test_similarities_are_not_taken_for_distances():
    for near in (ITEMS, np.column_stack([ITEMS, np.full(120, -1)])):
        missing = near.shape[1] - 20
        falling = np.column_stack([-DISTANCES, np.zeros((120, missing))])
        with pytest.raises(ValueError, match="distances decrease along all lists, as similarities do"):
            Neighbors.from_lists(near, falling, approximate=True)
    Neighbors.from_lists(ITEMS[:, ::-1], DISTANCES[:, ::-1])  # sorted so on purpose
    shuffled = DISTANCES.copy()
    shuffled[:60] = shuffled[:60, ::-1]
    Neighbors.from_lists(ITEMS, shuffled)
    Neighbors.from_lists(ITEMS, np.zeros((120, 20)))
    Neighbors.from_lists(ITEMS[:, :1], DISTANCES[:, :1])


SOURCES = {
    "lists": lambda **more: Neighbors.from_lists(ITEMS, DISTANCES, **more),
    "indices": lambda **more: Neighbors.from_lists(ITEMS, **more),
    "graph": lambda **more: Neighbors.from_graph(
        sp.csr_array((DISTANCES.ravel(), ITEMS.ravel(), np.arange(0, 2401, 20)), (120, 120)), **more
    ),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("ties", ["index", "random"])
def test_results_of_approximate_neighbors_promise_nothing(source, ties):
    """The scores are those of the same lists taken as exact; the bound is not."""
    claimed, near = SOURCES[source](), SOURCES[source](approximate=True)
    assert near.approximate
    assert not claimed.approximate
    assert "approximate" in repr(near)
    expected = complete_cv(claimed, Y, "nn", Subsample(60), ties=ties)
    found = complete_cv(near, Y, "nn", Subsample(60), ties=ties)
    assert found.score == expected.score
    assert expected.certified
    assert not found.certified
    assert found.error_bound == math.inf
    assert found.truncation_bound == expected.error_bound == expected.truncation_bound
    assert "neighbors approximate: error unknown" in repr(found)
    assert "error at most" not in repr(found)
    runs = [
        monte_carlo_cv(one, Y, "nn", KFold(5), n_repeats=3, random_state=0, ties=ties)
        for one in (claimed, near)
    ]
    assert runs[0].scores.tolist() == runs[1].scores.tolist()
    assert (runs[0].certified, runs[1].certified) == (True, False)
    assert runs[1].error_bound == math.inf
    assert runs[1].truncation_bound == runs[0].error_bound == runs[0].truncation_bound
    assert "approximate" in repr(runs[1])
    assert "approximate" not in repr(runs[0])


@pytest.mark.parametrize("stratified", [False, True])
def test_surfaces_of_approximate_neighbors_promise_nothing(stratified):
    claimed, near = SOURCES["lists"](), SOURCES["lists"](approximate=True)
    expected, found = (
        surface(one, Y, [1, 3, 5], [0.5, 0.8], stratified=stratified) for one in (claimed, near)
    )
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.truncation_bound, expected.error_bound)
    np.testing.assert_array_equal(expected.truncation_bound, expected.error_bound)
    assert np.isinf(found.error_bound).all()
    assert (expected.certified, found.certified) == (True, False)
    assert "neighbors approximate" in repr(found)
    for best in zip(*found.best(), *expected.best(), strict=True):
        assert best[:2] == best[2:]


def test_no_fraction_of_approximate_neighbors():
    near = Neighbors.from_lists(WHOLE.kneighbors(119)[0], approximate=True)
    with pytest.raises(ValueError, match=r"exact=True needs exact neighbors, but .* are approximate"):
        complete_cv(near, Y, "nn", Subsample(60), exact=True)


def test_keywords_are_checked():
    for name in ("approximate", "drop_self"):
        with pytest.raises(TypeError, match=name):
            Neighbors.from_lists(ITEMS, **{name: "yes"})
    with pytest.raises(TypeError, match="approximate"):
        Neighbors.from_graph(sp.csr_array(np.ones((3, 3)) * 2), approximate=1)


def test_scikit_learn():
    neighbors = pytest.importorskip("sklearn.neighbors", reason="scikit-learn is not installed")
    expected = Neighbors.from_lists(ITEMS, DISTANCES)
    search = neighbors.NearestNeighbors(n_neighbors=21).fit(X)
    distances, indices = search.kneighbors(X)
    near = Neighbors.from_lists(indices, distances, drop_self=True)
    np.testing.assert_array_equal(near.kneighbors(20)[0], ITEMS)
    distances, indices = search.kneighbors(n_neighbors=20)
    np.testing.assert_array_equal(Neighbors.from_lists(indices, distances).kneighbors(20)[0], ITEMS)
    for include_self in (True, False):
        graph = neighbors.kneighbors_graph(
            search, 20 + include_self, mode="distance", include_self=include_self
        )
        near = Neighbors.from_graph(graph, approximate=True)
        np.testing.assert_array_equal(near.kneighbors(20)[0], expected.kneighbors(20)[0])


@pytest.mark.filterwarnings("default")
def test_faiss():
    faiss = pytest.importorskip("faiss", reason="faiss is not installed")
    index = faiss.IndexFlatL2(4)
    index.add(X.astype(np.float32))
    distances, indices = index.search(X.astype(np.float32), 21)
    near = Neighbors.from_lists(indices, distances, drop_self=True)
    np.testing.assert_array_equal(near.kneighbors(20)[0], ITEMS)
    clustered = faiss.IndexIVFFlat(faiss.IndexFlatL2(4), 4, 20)
    clustered.train(X.astype(np.float32))
    clustered.add(X.astype(np.float32))
    distances, indices = clustered.search(X.astype(np.float32), 60)
    assert (indices == -1).any()
    near = Neighbors.from_lists(indices, distances, approximate=True, drop_self=True)
    assert complete_cv(near, Y, "knn", KFold(5), n_neighbors=3).error_bound == math.inf
    with pytest.raises(ValueError, match="approximate=True"):
        Neighbors.from_lists(indices, distances, drop_self=True)
