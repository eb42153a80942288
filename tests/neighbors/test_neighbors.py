"""Where neighbor orders come from: data, matrices, lists, graphs; what is kept, and what is mistaken."""

import math
import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from problems import BUILT_IN, grid, reference_order
from scipy.spatial.distance import cdist
from sklearn import neighbors

from knnccv import KFold, Neighbors, StratifiedSubsample, Subsample, complete_cv, monte_carlo_cv, surface

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = RNG.integers(0, 3, 120)
WHOLE = Neighbors.from_data(X)
ITEMS, DISTANCES = WHOLE.kneighbors(20)
WITH_SELF = np.column_stack([np.arange(120), ITEMS])
DISTANCES_WITH_SELF = np.column_stack([np.zeros(120), DISTANCES])
INTEGERS = (np.int32, np.int64, np.uint32, np.uint64)


def assert_lists(near, items=ITEMS, distances=DISTANCES):
    found = near.kneighbors(items.shape[1])
    np.testing.assert_array_equal(found[0], items)
    np.testing.assert_array_equal(found[1], distances)


def test_every_source_gives_the_same_answer():
    D = cdist(X, X)
    search = neighbors.NearestNeighbors(n_neighbors=90).fit(X)
    distances, indices = search.kneighbors()
    with_self = search.kneighbors(X)
    assert D.max() < 9  # so that the balls below hold everything
    sources = [
        Neighbors.from_distances(D),
        Neighbors.from_distances(D.astype(np.float32)),
        Neighbors.from_lists(indices, distances),
        Neighbors.from_lists(np.roll(indices, 40, axis=1), np.roll(distances, 40, axis=1)),
        Neighbors.from_lists(indices),
        Neighbors.from_lists(with_self[1], with_self[0], drop_self=True),
        Neighbors.from_graph(search.kneighbors_graph(mode="distance")),
        Neighbors.from_graph(neighbors.radius_neighbors_graph(X, 9.0, mode="distance")),
        Neighbors.from_graph(search.kneighbors_graph(X, mode="distance"), approximate=True),
    ]
    rules = [("nn", KFold(5)), ("rank", StratifiedSubsample(0.7)), ("regression", KFold(5))]
    for (variant, design), ties in product(rules, ("index", "random")):
        targets = X[:, 0] / 4 if variant == "regression" else Y
        expected = complete_cv(X, targets, variant, design, ties=ties)
        for near in sources:
            found = complete_cv(near, targets, variant, design, ties=ties)
            assert found.truncation_bound < 1e-10
            assert abs(found.score - expected.score) <= found.truncation_bound + expected.error_bound
    for near in sources:
        np.testing.assert_array_equal(near.kneighbors(89)[0], WHOLE.kneighbors(89)[0])


@pytest.mark.parametrize("ties", ["index", "random"])
def test_a_tied_group_cut_by_the_list_is_completed_or_counted(ties):
    """12 samples at one distance: a depth inside the group must not pass for an order."""
    points = np.concatenate([[[0.0]], np.ones((12, 1)), 5 + np.arange(7.0)[:, None]])
    y = np.array([0] + [0, 1] * 6 + [0, 1, 0, 1, 0, 1, 1])
    whole = complete_cv(points, y, "nn", Subsample(16), ties=ties, exact=True)
    found = complete_cv(points, y, "nn", Subsample(16), ties=ties)
    assert found.score == pytest.approx(whole.score, rel=1e-12)
    cut = complete_cv(Neighbors.from_data(points, n_neighbors=6), y, "nn", Subsample(16), ties=ties)
    assert abs(cut.score - whole.score) <= cut.error_bound
    lists = Neighbors.from_lists(*Neighbors.from_data(points).kneighbors(6))
    cut = complete_cv(lists, y, "nn", Subsample(16), ties=ties)
    assert abs(cut.score - whole.score) <= cut.error_bound
    assert cut.error_bound > 0.01


@pytest.mark.parametrize("ties", ["index", "random"])
def test_lists_are_kept_and_searched_again_only_where_they_cut_a_tied_group(ties):
    calls = []

    def metric(a, b):
        calls.append(1)
        return float(abs(a - b).sum())

    points, y = grid(25), np.random.default_rng(0).integers(0, 2, 25)
    near = Neighbors.from_data(points, metric)
    found = complete_cv(near, y, "nn", Subsample(5), ties=ties)
    expected = complete_cv(
        Neighbors.from_data(points, "manhattan"), y, "nn", Subsample(5), ties=ties, tol=0
    )
    assert abs(found.score - expected.score) < 1e-12
    first = len(calls)
    assert first == 25 * 25 if ties == "index" else 25 * 25 <= first < 2 * 25 * 25
    for variant in BUILT_IN:
        complete_cv(near, y, variant, Subsample(20), ties=ties)
    assert len(calls) == first if ties == "index" else len(calls) < 2 * first


def test_nothing_of_the_size_of_all_pairs_is_kept(monkeypatch):
    """A deep question on data whose lists exceed the cache streams them instead."""
    monkeypatch.setattr("knnccv.neighbors._neighbors.CACHE_BYTES", 2**20)
    monkeypatch.setattr("knnccv.neighbors._engines.brute_force.BLOCK_BYTES", 2**18)
    near = Neighbors.from_data(np.random.default_rng(0).normal(size=(2000, 2)))
    y = np.random.default_rng(1).integers(0, 2, 2000)
    complete_cv(near, y, "nn", Subsample(3), n_jobs=1)
    tracemalloc.start()
    complete_cv(near, y, "nn", Subsample(3), n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2000 * 2000 / 4


def test_a_metric_cannot_change_the_data():
    def metric(a, b):
        b[:] = a
        return 0.0

    points = grid(20)
    before = points.copy()
    with pytest.raises(ValueError, match="read-only"):
        complete_cv(points, np.arange(20) % 2, "nn", Subsample(5), metric=metric)
    np.testing.assert_array_equal(points, before)
    points[0] = 1  # the caller's own array stays theirs to write


class TestGraphs:
    def test_rows_may_differ_in_length(self):
        rng = np.random.default_rng(0)
        D = rng.random((30, 30)) + 0.1
        keep = rng.random((30, 30)) < 0.7
        np.fill_diagonal(keep, True)  # entries of the samples themselves are left out
        near = Neighbors.from_graph(sp.csr_array((D[keep], np.nonzero(keep)), shape=(30, 30)))
        lists = near.search(np.arange(30), near.max_depth)
        np.testing.assert_array_equal(lists.lengths, keep.sum(axis=1) - 1)
        for x in range(30):
            expected = [j for j in np.argsort(D[x]) if keep[x, j] and j != x]
            np.testing.assert_array_equal(lists.items[x, : lists.lengths[x]], expected)
        assert complete_cv(near, rng.integers(0, 2, 30), "nn", Subsample(25)).error_bound < 0.01

    def test_a_stored_zero_is_a_distance(self):
        points = np.repeat(np.arange(6.0), 2)[:, None]
        graph = neighbors.kneighbors_graph(points, 11, mode="distance")
        assert_lists(Neighbors.from_graph(graph), *Neighbors.from_data(points).kneighbors(11))

    def test_formats(self):
        D = np.random.default_rng(0).random((9, 9)) + 0.1
        for kind in ("csr", "csc", "coo", "lil", "dok"):
            near = Neighbors.from_graph(sp.csr_array(D).asformat(kind))
            np.testing.assert_array_equal(near.kneighbors(8)[0], reference_order(D))


class TestLists:
    @pytest.mark.parametrize("n_items", [40, 20_000])
    def test_any_order_and_type(self, n_items):
        rng = np.random.default_rng(0)
        steps = np.array([rng.permutation(30)[:6] + 1 for _ in range(n_items)])
        indices = (np.arange(n_items)[:, None] + steps) % n_items
        distances = np.round(rng.random(indices.shape), 1)  # with ties
        order = np.lexsort((indices, distances), axis=1)
        by_hand = np.take_along_axis(indices, order, axis=1)[:, :5]
        for dtype in INTEGERS:
            found = Neighbors.from_lists(np.asfortranarray(indices.astype(dtype)), distances)
            np.testing.assert_array_equal(found.kneighbors(5)[0], by_hand)
        fixed = indices.astype(np.int32)
        fixed.flags.writeable = False
        given = Neighbors.from_lists(fixed)
        assert np.shares_memory(given._source.lists.items, fixed)
        np.testing.assert_array_equal(given.kneighbors(6)[0], indices)
        spoilt = indices.copy()
        spoilt[n_items - 1, 3] = spoilt[n_items - 1, 0]
        with pytest.raises(
            ValueError, match=rf"indices\[{n_items - 1}\] holds sample {spoilt[-1, 0]} twice"
        ):
            Neighbors.from_lists(spoilt, distances)
        distances[n_items - 1, 2] = np.nan
        with pytest.raises(ValueError, match=rf"distances\[{n_items - 1}, 2\] is nan"):
            Neighbors.from_lists(indices, distances)

    def test_samples_in_their_own_lists_are_dropped_on_request(self):
        for dtype in (*INTEGERS, np.int8, np.uint8):
            items = WITH_SELF.astype(dtype)
            near = Neighbors.from_lists(items, DISTANCES_WITH_SELF, drop_self=True)
            assert near.max_depth == 20
            assert_lists(near)
            np.testing.assert_array_equal(
                Neighbors.from_lists(items, drop_self=True).kneighbors(20)[0], ITEMS
            )

    def test_the_sample_itself_may_be_at_any_position_or_absent(self):
        """Of duplicates a program may list the other one first, or the sample itself not at all."""
        items = np.array([[1, 0, 2], [0, 2, 3], [3, 1, 2], [3, 2, 1]])
        lists = Neighbors.from_lists(items, drop_self=True).search(np.arange(4), 3)
        found = [row[:n].tolist() for row, n in zip(lists.items, lists.lengths, strict=True)]
        assert found == [[1, 2], [0, 2, 3], [3, 1], [2, 1]]
        everything = np.tile(np.arange(4), (4, 1))
        assert Neighbors.from_lists(everything, drop_self=True).max_depth == 3

    def test_missing_neighbors_make_shorter_lists(self):
        lengths = np.arange(120) % 20 + 1
        missing = np.arange(20) >= lengths[:, None]
        distances = np.where(missing, np.inf, DISTANCES).astype(np.float32)
        for dtype, given in product(INTEGERS, (distances, None)):
            near = Neighbors.from_lists(np.where(missing, -1, ITEMS).astype(dtype), given, approximate=True)
            lists = near.search(np.arange(120), 20)
            np.testing.assert_array_equal(lists.lengths, lengths)
            np.testing.assert_array_equal(lists.items[~missing], ITEMS[~missing])

    def test_the_largest_index_of_a_type_may_be_a_sample(self):
        # More asked for than there are, as faiss allows.
        near = Neighbors.from_lists([[0, 1, -1, -1], [1, 0, -1, -1]], approximate=True, drop_self=True)
        assert near.max_depth == 1
        for dtype in (np.uint8, np.uint16):
            last = np.iinfo(dtype).max
            items = np.full((last + 1, 1), last, dtype)
            items[-1] = 0
            assert Neighbors.from_lists(items, approximate=True).kneighbors(1)[0][0, 0] == last

    @pytest.mark.filterwarnings("default", "ignore:give longer neighbor lists")
    def test_faiss(self):
        faiss = pytest.importorskip("faiss", reason="faiss is not installed")
        data = X.astype(np.float32)
        clustered = faiss.IndexIVFFlat(faiss.IndexFlatL2(4), 4, 20)
        clustered.train(data)
        for index in (faiss.IndexFlatL2(4), clustered):
            index.add(data)
            distances, indices = index.search(data, 60)
            near = Neighbors.from_lists(indices, distances, approximate=True, drop_self=True)
            assert complete_cv(near, Y, "knn", KFold(5), n_neighbors=3).error_bound == math.inf
            if index is clustered:
                assert (indices == -1).any()
            else:
                np.testing.assert_array_equal(near.kneighbors(20)[0], ITEMS)


def test_results_of_approximate_neighbors_promise_nothing():
    """The scores are those of the same lists taken as exact; the bound is not."""
    graph = sp.csr_array((DISTANCES.ravel(), ITEMS.ravel(), np.arange(0, 2401, 20)), (120, 120))
    sources = [
        (Neighbors.from_lists, (ITEMS, DISTANCES)),
        (Neighbors.from_lists, (ITEMS,)),
        (Neighbors.from_graph, (graph,)),
    ]
    for (make, arguments), ties in product(sources, ("index", "random")):
        claimed, near = make(*arguments), make(*arguments, approximate=True)
        assert (near.approximate, claimed.approximate) == (True, False)
        assert "approximate" in repr(near)
        for ask in (
            lambda near: complete_cv(near, Y, "nn", Subsample(60), ties=ties),  # noqa: B023
            lambda near: monte_carlo_cv(near, Y, "nn", KFold(5), n_runs=3, random_state=0, ties=ties),  # noqa: B023
        ):
            expected, found = ask(claimed), ask(near)
            assert found.score == expected.score
            assert found.error_bound == math.inf > expected.error_bound
            assert "neighbors approximate" in repr(found)
            assert "error at most" not in repr(found)
            assert "approximate" not in repr(expected)
    near = Neighbors.from_lists(ITEMS, DISTANCES, approximate=True)
    claimed = Neighbors.from_lists(ITEMS, DISTANCES)
    for stratified in (False, True):
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


class TestSquareInput:
    """Distances; the transcript has what is mistaken for them, and what they are mistaken for."""

    points = np.random.default_rng(0).normal(size=(30, 3))
    y = np.arange(30) % 2
    D = cdist(points, points)

    def test_distances_of_any_kind_have_their_order(self):
        S = np.exp(-(self.D**2))
        expected = complete_cv(self.points, self.y, "nn", KFold(5)).per_item
        for D in (1 - S, S.max() - S, -S, np.where(np.eye(30) > 0, np.nan, -S)):
            found = complete_cv(D, self.y, "nn", KFold(5), metric="precomputed").per_item
            np.testing.assert_allclose(found, expected)

    def test_the_diagonal_is_ignored(self):
        dtypes = (np.float32, np.float64, np.longdouble, object)
        for own, dtype in zip((np.nan, np.inf, -np.inf, 0.5, -3.0, 0.0), 2 * dtypes, strict=False):
            D = self.D.astype(np.float32).astype(dtype)
            given = D.copy()
            np.fill_diagonal(given, own)
            before = given.copy()
            one, other = (
                complete_cv(each, self.y, "knn", KFold(5), metric="precomputed", exact=True)
                for each in (D, given)
            )
            assert one.fraction == other.fraction
            np.testing.assert_array_equal(one.per_item, other.per_item)
            np.testing.assert_array_equal(given.astype(float), before.astype(float))
            assert_lists(Neighbors.from_distances(given), *Neighbors.from_distances(D).kneighbors(29))
        D = self.D.copy()
        D[4, 4], D[7, 7] = np.nan, np.inf
        assert_lists(Neighbors.from_distances(D), *Neighbors.from_distances(self.D).kneighbors(3))

    def test_a_matrix_in_a_file_is_read_by_blocks(self, tmp_path, monkeypatch):
        monkeypatch.setattr("knnccv.neighbors._inputs.BLOCK_VALUES", 100)
        for name, S in (("D", self.D), ("S", np.exp(-self.D))):
            np.save(tmp_path / f"{name}.npy", S)
        mapped, wrong = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "DS")
        assert np.shares_memory(Neighbors.from_distances(mapped)._source.matrix, mapped)
        with pytest.raises(ValueError, match="similarities"):
            Neighbors.from_distances(wrong)
