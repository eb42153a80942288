"""Sparse data: orders, distances and ties are those of the dense array, to the last bit."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from knnccv import KFold, Neighbors, StratifiedSubsample, complete_cv, loo_curve, monte_carlo_cv, surface
from knnccv.neighbors._metrics import SPARSE_NAMES

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def data(kind, n_items=90, n_features=40, seed=0):
    """Dense data, mostly zeros, with empty and equal rows."""
    rng = np.random.default_rng(seed)
    there = rng.random((n_items, n_features)) < 0.12
    X = {
        "bits": np.ones((n_items, n_features)),
        "counts": rng.poisson(1.5, (n_items, n_features)),
        "reals": rng.normal(size=(n_items, n_features)),
        "single": rng.normal(size=(n_items, n_features)).astype(np.float32),
        "bytes": rng.integers(0, 120, (n_items, n_features)).astype(np.int8),
        "tiny": rng.normal(size=(n_items, n_features)) * 2.0**-700,
        "huge": rng.normal(size=(n_items, n_features)) * 2.0**900,
    }[kind] * there
    X[5] = X[17] = 0
    X[30] = X[31] = X[60]
    X[70] = 2 * X[71].astype(float)
    return X.astype({"single": np.float32, "bytes": np.int8}.get(kind, float))


def tf_idf(n_items=120, n_features=300, seed=0):
    """Documents as scikit-learn's TfidfTransformer makes them: rows of length 1."""
    rng = np.random.default_rng(seed)
    often = 1 / np.arange(2, n_features + 2)
    counts = rng.poisson(12 * often / often.sum(), (n_items, n_features)).astype(float)
    idf = np.log((1 + n_items) / (1 + (counts > 0).sum(axis=0))) + 1
    weighted = counts * idf
    return weighted / np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-300)


@pytest.mark.parametrize("metric", [*SPARSE_NAMES, "l1", "l2", "cityblock"])
@pytest.mark.parametrize("kind", ["bits", "counts", "reals", "single", "bytes", "tiny", "huge"])
def test_lists_are_those_of_dense_data(metric, kind):
    if (kind, metric) == ("huge", "sqeuclidean"):
        pytest.skip("squares beyond the range of doubles")
    X = data(kind)
    dense, sparse = Neighbors.from_data(X, metric), Neighbors.from_data(sp.csr_array(X), metric)
    rows = np.arange(len(X))
    for depth in (1, 7, 40, 88, 89):
        one, other = dense.search(rows, depth), sparse.search(rows, depth)
        np.testing.assert_array_equal(other.items, one.items)
        np.testing.assert_array_equal(other.may_tie_beyond, one.may_tie_beyond)
        np.testing.assert_array_equal(sparse.kneighbors(depth)[1], dense.kneighbors(depth)[1])


@pytest.mark.parametrize("metric", SPARSE_NAMES)
def test_documents(metric):
    X = tf_idf()
    for one, other in zip(
        Neighbors.from_data(sp.csr_matrix(X), metric).kneighbors(60),
        Neighbors.from_data(X, metric).kneighbors(60),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("metric", "name"), [("euclidean",) * 2, ("manhattan", "cityblock"), ("cosine",) * 2]
)
def test_distances_are_scipys(metric, name):
    X = data("reals", seed=4) + np.eye(90, 40, 3)
    X = X[X.any(axis=1)]
    items, distances = Neighbors.from_data(sp.csr_array(X), metric).kneighbors(len(X) - 1)
    np.testing.assert_allclose(distances, np.take_along_axis(cdist(X, X, name), items, axis=1), atol=1e-12)


def test_long_rows_whose_sums_are_pairwise():
    """NumPy sums long rows in another order than short ones."""
    X = np.random.default_rng(0).normal(size=(40, 1500)) * (
        np.random.default_rng(1).random((40, 1500)) < 0.3
    )
    for metric in SPARSE_NAMES:
        found = Neighbors.from_data(sp.csr_array(X), metric).kneighbors(39)
        expected = Neighbors.from_data(X, metric).kneighbors(39)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
def test_formats(kind, container):
    X = data("counts")
    y = np.arange(90) % 3
    given = container(X).asformat(kind)
    found = complete_cv(given, y, "knn", KFold(5))
    np.testing.assert_array_equal(found.per_item, complete_cv(X, y, "knn", KFold(5)).per_item)
    np.testing.assert_array_equal(given.toarray(), X)


@pytest.mark.slow
@pytest.mark.parametrize("metric", SPARSE_NAMES)
def test_duplicates_stored_zeros_and_disorder(metric):
    rng = np.random.default_rng(0)
    at = rng.integers(0, 60, 500), rng.integers(0, 25, 500)
    values = rng.integers(-2, 3, 500).astype(float)
    coo = sp.coo_array((values, at), shape=(60, 25))
    order = np.argsort(at[0], kind="stable")
    starts = np.searchsorted(at[0][order], np.arange(61))
    csr = sp.csr_array((values[order], at[1][order], starts), shape=(60, 25))
    assert not csr.has_canonical_format
    before = csr.copy()
    expected = Neighbors.from_data(coo.toarray(), metric).kneighbors(30)
    for given in (coo, csr):
        found = Neighbors.from_data(given, metric).kneighbors(30)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    for name in ("data", "indices", "indptr"):  # the caller's own matrix stays as it is
        np.testing.assert_array_equal(getattr(csr, name), getattr(before, name))


def test_no_values_at_all():
    X = sp.csr_array((6, 4))
    for metric in SPARSE_NAMES:
        expected = Neighbors.from_data(np.zeros((6, 4)), metric).kneighbors(5)
        found = Neighbors.from_data(X, metric).kneighbors(5)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


def test_every_function_takes_sparse_data():
    X = data("counts")
    y = np.random.default_rng(0).integers(0, 3, 90)
    sparse = sp.csr_matrix(X)
    for metric in ("euclidean", "cosine"):
        for variant, cv in (("nn", KFold(3)), ("knn", StratifiedSubsample(0.7)), ("rank", KFold(4))):
            one = complete_cv(X, y, variant, cv, metric=metric)
            for n_jobs in (1, 3):
                other = complete_cv(sparse, y, variant, cv, metric=metric, n_jobs=n_jobs)
                np.testing.assert_array_equal(one.per_item, other.per_item)
        one = monte_carlo_cv(X, y, "nn", KFold(3), metric=metric, n_repeats=3, random_state=0)
        other = monte_carlo_cv(sparse, y, "nn", KFold(3), metric=metric, n_repeats=3, random_state=0)
        np.testing.assert_array_equal(one.scores, other.scores)
        np.testing.assert_array_equal(
            surface(X, y, metric=metric).scores, surface(sparse, y, metric=metric).scores
        )
        np.testing.assert_array_equal(loo_curve(X, y, metric=metric), loo_curve(sparse, y, metric=metric))


def test_neighbors_of_sparse_data_can_be_pickled():
    near = Neighbors.from_data(sp.csr_array(data("reals")), "cosine", n_neighbors=20)
    copy = pickle.loads(pickle.dumps(near))
    np.testing.assert_array_equal(copy.kneighbors(20), near.kneighbors(20))


def test_many_features_are_never_dense():
    """The dense array of these would take 32 GB."""
    rng = np.random.default_rng(0)
    rest = sp.random_array((400, 10**7), density=2e-6, rng=rng)
    X = sp.hstack([sp.csr_array(rng.integers(1, 9, (400, 1))), rest], format="csr")
    for metric in ("euclidean", "manhattan", "jaccard", "tanimoto"):
        items, distances = Neighbors.from_data(X, metric).kneighbors(3)
        y = X[[7]].toarray()[0], X[[items[7, 0]]].toarray()[0]
        if metric == "euclidean":
            assert distances[7, 0] == pytest.approx(np.linalg.norm(y[0] - y[1]))


def test_graphs_used_as_features_are_warned_of():
    neighbors = pytest.importorskip("sklearn.neighbors")
    graph = neighbors.kneighbors_graph(np.random.default_rng(0).normal(size=(30, 2)), 4, mode="distance")
    with pytest.warns(UserWarning, match=r"empty diagonal.*Neighbors.from_graph\(X\)"):
        Neighbors.from_data(graph)


@pytest.mark.parametrize("metric", SPARSE_NAMES)
@pytest.mark.parametrize("kind", ["counts", "reals"])
def test_expected_score_takes_sparse_data(metric, kind):
    neighbors = pytest.importorskip("sklearn.neighbors")
    from sklearn.model_selection import KFold as Folds

    from knnccv.sklearn import expected_score

    X = data(kind)
    y = np.random.default_rng(0).integers(0, 3, 90)
    asked = {"cv": Folds(3, shuffle=True)}
    for options in ({"metric": metric}, {"p": 1}, {"p": 2}):
        vote = neighbors.KNeighborsClassifier(3, **options)
        found = expected_score(vote, sp.csr_matrix(X), y, **asked)
        assert found.exact
        assert found.score == expected_score(vote, X, y, **asked).score


def test_expected_score_of_documents_is_scikit_learns():
    neighbors = pytest.importorskip("sklearn.neighbors")
    from sklearn.model_selection import LeaveOneOut, cross_val_score

    from knnccv.sklearn import expected_score

    X = sp.csr_matrix(data("reals", seed=2))[20:60]
    y = np.random.default_rng(0).integers(0, 2, 40)
    for metric in ("euclidean", "manhattan", "cosine"):
        vote = neighbors.KNeighborsClassifier(3, metric=metric)
        wanted = cross_val_score(vote, X, y, cv=LeaveOneOut()).mean()
        assert expected_score(vote, X, y, cv=LeaveOneOut()).score == pytest.approx(wanted)


def spoilt(value, dtype=float):
    X = sp.csr_array(data("counts").astype(dtype))
    X.data[40] = value
    return X


COUNTS = sp.csr_array(data("counts"))
REFUSED = {
    "chebyshev": (
        COUNTS,
        {"metric": "chebyshev"},
        TypeError,
        r"metric 'chebyshev' does not.*X.toarray\(\)",
    ),
    "minkowski": (COUNTS, {"metric": "minkowski"}, TypeError, r"'minkowski' does not.*euclidean.*toarray"),
    "canberra": (COUNTS, {"metric": "canberra"}, TypeError, "sparse matrix, which metric 'canberra'"),
    "callable": (COUNTS, {"metric": lambda *_: 0.0}, TypeError, "which a callable metric does not take"),
    "unknown": (COUNTS, {"metric": "cosinus"}, ValueError, "did you mean 'cosine'"),
    "tree": (COUNTS, {"algorithm": "tree"}, ValueError, "its own engine"),
    "device": (COUNTS, {"device": "cpu"}, ValueError, "its own engine"),
    "nan": (spoilt(np.nan), {}, ValueError, r"X\[\d+, \d+\] is nan; every value must be finite"),
    "inf": (spoilt(-np.inf), {}, ValueError, r"X\[\d+, \d+\] is -inf"),
    "complex": (COUNTS.astype(complex), {}, TypeError, "X must hold real numbers, got dtype complex128"),
    "large integers": (spoilt(2**53 + 1, np.int64), {}, ValueError, r"integers beyond 2\*\*53"),
    "one item": (COUNTS[:1], {}, ValueError, "at least 2 samples"),
    "no feature": (sp.csr_array((4, 0)), {}, ValueError, r"1 feature, got shape \(4, 0\)"),
    "one dimension": (sp.coo_array(np.ones(4)), {}, ValueError, r"got shape \(4,\)"),
    "range": (spoilt(1e-200), {}, ValueError, r"too many orders of magnitude.*X.toarray\(\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    X, options, error, message = REFUSED[case]
    if case == "range":
        X = X.copy()
        X.data[0] = 1e200
    with pytest.raises(error, match=message):
        Neighbors.from_data(X, **options)


def test_a_stratified_rank_surface_of_deep_questions():
    """Dense data are compared pair by pair here, which sparse data are not."""
    X, y = data("reals", 150), np.random.default_rng(0).integers(0, 3, 150)
    dense, sparse = (
        surface(Neighbors.from_data(table), y, [1, 30], [2], "rank", stratified=True)
        for table in (X, sp.csr_array(X))
    )
    assert np.abs(sparse.scores - dense.scores).max() <= (sparse.error_bound + dense.error_bound).max()
