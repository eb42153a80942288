"""Search engines: all give the orders and ties of a comparison of all pairs, bit for bit."""

import pickle
from unittest.mock import Mock

import numpy as np
import pytest
from problems import adversarial, by_brute_force, engine, reference_order
from scipy.spatial.distance import cdist
from seeds import seeds

from knnccv import KFold, Neighbors, complete_cv
from knnccv.neighbors import nearest_of
from knnccv.retrieval import expected_retrieval

ADVERSARIAL = dict(adversarial())
ULP = 2.0**-52
VALUES = {  # that agree in their upper bits
    "different": lambda rng, shape: rng.random(shape),
    "few": lambda rng, shape: rng.integers(0, 4, shape).astype(float),
    "all equal": lambda rng, shape: np.zeros(shape),  # noqa: ARG005
    "last bits": lambda rng, shape: 1 + rng.integers(0, 2000, shape) * ULP,
    "many ties": lambda rng, shape: 1 + rng.integers(0, 3, shape) * ULP * rng.integers(0, 2, shape),
    "clusters": lambda rng, shape: rng.integers(1, 5, shape) + rng.integers(0, 9, shape) * 4 * ULP,
    "denormals": lambda rng, shape: rng.choice([0.0, -0.0, 5e-324, 1e-320, 2.3e-308], shape),
    "huge": lambda rng, shape: rng.choice([1e308, np.nextafter(1e308, 2e308), 1.7e308], shape),
    "negative": lambda rng, shape: -1 - rng.integers(0, 5, shape) * ULP,
    "all magnitudes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, shape),
}


def assert_same(found, expected):
    for name in ("items", "values", "lengths", "may_tie_beyond"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def by_sorting(values, row, depth):
    """Items, values and whether the next one ties, from a stable sort of the others."""
    others = np.delete(np.arange(len(values)), row)
    order = others[np.argsort(values[others], kind="stable")]
    nearest = order[:depth]
    return nearest, values[nearest], depth < len(order) and values[order[depth]] == values[nearest[-1]]


@pytest.mark.parametrize("kind", VALUES)
def test_the_nearest_are_those_of_a_stable_sort(kind):
    for seed in seeds(5):
        rng = np.random.default_rng(seed)
        for n_items in (2, 3, 16, 17, 70, 300):
            n_rows = min(n_items, 5)
            rows = rng.choice(n_items, n_rows, replace=False)
            values = np.ascontiguousarray(VALUES[kind](rng, (n_rows, n_items)))
            values[0, rows[0]] = np.nan  # whatever stands at the sample itself does not matter
            kept = values.copy()
            for depth in {1, 2, n_items // 3, n_items // 2, n_items - 1} & set(range(1, n_items)):
                items, ranked, may_tie_beyond = nearest_of(values, rows, depth)
                np.testing.assert_array_equal(values, kept)
                for r, row in enumerate(rows):
                    expected = by_sorting(values[r], row, depth)
                    np.testing.assert_array_equal(items[r], expected[0], f"seed {seed}")
                    np.testing.assert_array_equal(ranked[r], expected[1], f"seed {seed}")
                    np.testing.assert_array_equal(np.signbit(ranked[r]), np.signbit(expected[1]))
                    assert may_tie_beyond[r] == expected[2], seed


LESS_ODD = ("integer grid", "far from the origin", "tiny", "many features")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LESS_ODD)) for name in ADVERSARIAL]
)
def test_every_engine_gives_the_orders_and_ties_of_brute_force(name):
    X = ADVERSARIAL[name]
    rows = np.arange(0, len(X), 7)
    rng = np.random.default_rng(seeds(1)[0])
    for metric in rng.permutation(["euclidean", "sqeuclidean", "manhattan", "chebyshev"])[:2].tolist():
        plain = by_brute_force(Neighbors.from_data(X, metric))
        for depth in rng.permutation([1, 4, 40, 150, len(X) - 1])[:2].tolist():
            expected = plain.search(rows, depth)
            for algorithm in ("tree", "brute"):
                near = Neighbors.from_data(X, metric, algorithm=algorithm)
                near.prepare(depth)
                assert_same(near.search(rows, depth), expected)
            if depth <= 150:
                product = "MatrixProduct" if "euclidean" in metric else "BruteForce"
                assert engine(near, depth) == product


@pytest.mark.slow
@pytest.mark.parametrize("d", [10, 301])
def test_products_of_many_features_by_blocks_and_all_pairs_at_once(d, monkeypatch):
    monkeypatch.setattr("knnccv.neighbors._engines.matrix_product.BLOCK", 200)  # the last one is short
    rng = np.random.default_rng(d)
    for X in (
        rng.normal(size=(1370, d)),
        rng.integers(0, 3, (1370, d)).astype(float),
        1e6 + rng.normal(size=(1370, d)),
        np.repeat(rng.normal(size=(10, d)), 137, axis=0),
    ):
        D = cdist(X, X, "sqeuclidean")
        order, rows = reference_order(D), np.arange(1370)
        for depth in (1, 20, 150):
            expected = Neighbors.from_data(X, algorithm="brute").search(rows, depth)
            np.testing.assert_array_equal(expected.items, order[:, :depth])
            for n_jobs, margin in ((1, 5.0), (3, -1.0)):  # so small that bounds are often too low
                monkeypatch.setattr("knnccv.neighbors._engines.matrix_product.MARGIN", margin)
                near = Neighbors.from_data(X, algorithm="brute")
                near.search_all(depth, n_jobs=n_jobs)
                assert near._engine(depth)._heaps is not None
                assert_same(near.search(rows, depth), expected)
        items, values = Neighbors.from_data(X, "sqeuclidean").kneighbors(25)
        np.testing.assert_array_equal(values, np.take_along_axis(D, items, axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 12])
def test_engines_read_files_and_single_precision_in_place_and_can_be_pickled(d, tmp_path):
    y = np.arange(1300) % 3
    for dtype in (np.float32, np.float64):
        X = np.random.default_rng(d).normal(size=(1300, d)).astype(dtype)
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        expected = Neighbors.from_data(X.astype(float)).kneighbors(30)
        for given in (X, mapped):
            near = Neighbors.from_data(given)
            assert np.shares_memory(near._source.metric.data, given)
            near.kneighbors(9)
            for one in (near, pickle.loads(pickle.dumps(near))):
                for found, wanted in zip(one.kneighbors(30), expected, strict=True):
                    np.testing.assert_array_equal(found, wanted)
        assert complete_cv(mapped, y, "knn", KFold(5)).score == complete_cv(X, y, "knn", KFold(5)).score
    for metric in ("euclidean", "manhattan"):
        expected = by_brute_force(Neighbors.from_data(X.astype(np.float32).astype(float), metric))
        for algorithm in ("auto", "brute", "tree"):
            found = Neighbors.from_data(X.astype(np.float32), metric, algorithm=algorithm)
            for one, other in zip(found.kneighbors(30), expected.kneighbors(30), strict=True):
                np.testing.assert_array_equal(one, other)


def test_values_that_are_not_finite_are_found_in_single_precision_and_in_large_data():
    X = np.zeros((600_000, 2), np.float32)
    X[599_999, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[599999, 1\] is nan"):
        Neighbors.from_data(X)


def test_engines_serve_angles():
    for d, name in ((4, "KDTree"), (30, "MatrixProduct")):
        X = np.random.default_rng(d).integers(1, 6, (1200, d)).astype(float)
        X[:, 0] += 6 + np.arange(1200) % 7  # no row is constant
        for metric in ("cosine", "correlation"):
            found = Neighbors.from_data(X, metric)
            assert engine(found, 20) == name
            plain = by_brute_force(Neighbors.from_data(X, metric))
            np.testing.assert_array_equal(found.kneighbors(20), plain.kneighbors(20))


@pytest.mark.slow
def test_few_rows_are_compared_in_double_precision(monkeypatch):
    """The bound of the rounding depends on a row and its neighbors, and is 0 for moderate integers."""
    outlier = np.random.default_rng(0).normal(size=(1500, 12))
    outlier[7] = 1e3
    for X, limit in ((outlier, 30), (np.random.default_rng(0).integers(0, 2, (1500, 12)), 0)):
        near = Neighbors.from_data(X, algorithm="brute")
        near.prepare(10)
        compare = Mock(side_effect=near._engine(10).compare)
        monkeypatch.setattr(near._engine(10), "compare", compare)
        items = near.kneighbors(10)[0]
        assert sum(len(call.args[0]) for call in compare.call_args_list) <= limit
        np.testing.assert_array_equal(items, reference_order(cdist(X, X, "sqeuclidean"))[:, :10])


def test_bitmasks_of_small_values():
    """What a wrong mask costs is time: candidates that fail are compared in vain."""
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


class TestBetween:
    """The nearest gallery items of every query."""

    def features(self, n_features, integers, n_gallery=1100):
        rng = np.random.default_rng(0)
        shape = 60 + n_gallery, n_features
        both = rng.integers(0, 3, shape).astype(float) if integers else rng.normal(size=shape)
        return both[:60], both[60:]

    def plain(self, queries, gallery, depth, metric="sqeuclidean", same=None):
        """Items, the nearest first, ties in their order; all distances in order."""
        values = cdist(queries.astype(float), gallery.astype(float), metric)
        if same is not None:
            values[np.arange(len(same))[same >= 0], same[same >= 0]] = np.inf
        order = np.argsort(values, axis=1, kind="stable")
        return order[:, :depth], np.take_along_axis(values, order, axis=1)

    @pytest.mark.parametrize(
        ("n_features", "metric", "algorithm", "name", "scipys"),
        [
            (3, "euclidean", "auto", "KDTree", "sqeuclidean"),
            (4, "manhattan", "tree", "KDTree", "cityblock"),
            (3, "chebyshev", "brute", "BruteForce", "chebyshev"),
            (16, "euclidean", "auto", "MatrixProduct", "sqeuclidean"),
            (12, "cosine", "brute", "MatrixProduct", "cosine"),
            (6, "canberra", "auto", "BruteForce", "canberra"),
        ],
    )
    def test_engines_find_what_a_comparison_of_all_pairs_finds(
        self, n_features, metric, algorithm, name, scipys
    ):
        for integers, dtype in ((False, np.float64), (True, np.float64), (False, np.float32)):
            queries, gallery = (
                X.astype(dtype) + (metric == "cosine") for X in self.features(n_features, integers)
            )
            near = Neighbors.between(queries, gallery, metric, n_neighbors=40, algorithm=algorithm)
            items, values, lengths, doubtful = near.lists(0, 60, fair=True)
            assert engine(near, 40) == name
            assert (lengths == 40).all()
            assert not near.lists(0, 60, fair=False)[3].any()
            expected, distances = self.plain(queries, gallery, 40, scipys)
            if metric == "cosine" or (metric == "canberra" and integers):  # rounding of another formula
                found = np.take_along_axis(cdist(queries, gallery, metric), items, axis=1)
                np.testing.assert_allclose(found, distances[:, :40], atol=1e-12)
            else:
                np.testing.assert_array_equal(items, expected)
                np.testing.assert_array_equal(doubtful, distances[:, 39] == distances[:, 40])
            parts = [near.lists(start, min(start + 7, 60), fair=True) for start in range(0, 60, 7)]
            whole = items, values, lengths, doubtful
            for one, cut in zip(whole, zip(*parts, strict=True), strict=True):
                np.testing.assert_array_equal(one, np.concatenate(cut))

    @pytest.mark.parametrize("n_features", [3, 16])
    def test_deep_lists_and_queries_that_do_not_find_themselves(self, n_features):
        queries, gallery = self.features(n_features, True)
        for depth in (5, 300):
            near = Neighbors.between(queries, gallery, n_neighbors=depth)
            expected = self.plain(queries, gallery, depth)[0]
            np.testing.assert_array_equal(near.lists(0, 60, fair=True)[0], expected)
            assert (engine(near, depth) == "BruteForce") == (depth == 300)
        same = np.arange(0, 120, 2)
        queries = gallery[same]
        same[::5] = -1
        near = Neighbors.between(queries, gallery, same=same, n_neighbors=20)
        items, _, lengths, doubtful = near.lists(0, 60, fair=True)
        expected, distances = self.plain(queries, gallery, 20, same=same)
        for q in range(60):
            listed = [i for i in items[q, : lengths[q]].tolist() if i != same[q]]
            assert listed == expected[q].tolist()
            assert doubtful[q] == (distances[q, 19] == distances[q, 20])

    def test_the_same_items(self):
        _, X = self.features(3, False, n_gallery=1050)
        ids = np.random.default_rng(1).integers(0, 300, 1050)
        options = {"exclude": "self", "scores": ("precision@1",)}
        full = expected_retrieval(cdist(X, X), ids, ids, **options)["precision@1"]
        for gallery in (X, X.copy()):
            near = Neighbors.between(X, gallery, n_neighbors=4)
            found = expected_retrieval(near, ids, ids, **options)["precision@1"]
            assert found.score == full.score
            assert found.error_bound < 1e-14

    def test_only_the_query_itself_is_beyond_its_list(self):
        """Then nothing beyond the list can tie the last item in it, though all distances are equal."""
        others = np.array([[j for j in range(6) if j != i] for i in range(6)])
        for cut_ties in (True, False):
            given = (others, np.zeros((6, 5)), 6)
            near = Neighbors.between_lists(*given, same=np.arange(6), cut_ties=cut_ties)
            np.testing.assert_array_equal(np.isinf(near.listed(0, 6, fair=True)), np.eye(6, dtype=bool))
            unknown = Neighbors.between_lists(*given, cut_ties=cut_ties)
            expected = np.ones((6, 6), bool) if cut_ties else np.eye(6, dtype=bool)
            for fair in (True, False):
                np.testing.assert_array_equal(np.isinf(unknown.listed(0, 6, fair=fair)), expected)
