"""Scalers within the folds: weights of columns and nearest samples, against scikit-learn's own fits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_wine
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from knnccv._core.luck.runs import SCALERS as WORDS
from knnccv._core.luck.runs import RescaledSearch, scaled, scaling_of
from knnccv._core.luck.runs import _rescaled as rescaled

SCALERS = {
    "standard": StandardScaler(),
    "no mean": StandardScaler(with_mean=False),
    "no std": StandardScaler(with_std=False),
    "min max": MinMaxScaler(),
    "range": MinMaxScaler(feature_range=(-3, 4)),
    "max abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust unit": RobustScaler(quantile_range=(10.0, 83.0), unit_variance=True, with_centering=False),
    "no scaling": RobustScaler(with_scaling=False),
}


def table_of(name, seed=0):
    rng = np.random.default_rng(seed)
    if name == "wine":
        return load_wine(return_X_y=True)
    X = rng.normal(size=(90, 5))
    if name == "constant columns":
        X[:, 1] = 0.1
        X[:, 3] = 0.0
        X[7, 3] = 3.0  # constant in the training sets that lack this sample
    elif name == "heavy tails":
        X = rng.standard_t(1, size=(90, 5))
    elif name == "offset":
        X = X * 10.0 ** np.arange(-3, 2) + 10.0 ** np.arange(5)
    elif name == "outliers":
        X[5] = 10.0 ** np.arange(4, 9)  # without it, a mean square is mostly the squared mean
        X[:, 2] = np.where(np.arange(90) == 8, 7.0, 0.1)
    elif name == "tiny":
        X = X[:7]
    return X, rng.integers(3, size=len(X))


def folds_of(n_items, n_folds, n_runs, seed=1):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(np.arange(n_items) % n_folds) for _ in range(n_runs)], dtype=np.int32)


def check_run(steps, X, fold, near, distances, n_folds, **metric):
    """The distances of a run are scikit-learn's, and its neighbors wherever nothing nearly ties."""
    X, k = np.asarray(X, dtype=float), near.shape[1]
    n_clear = 0
    for g in range(n_folds):
        train, test = np.flatnonzero(fold != g), np.flatnonzero(fold == g)
        scaler = make_pipeline(*steps).fit(X[train])
        asked = {"p": metric.get("p", 2), "w": metric.get("metric_params", {}).get("w")}
        gaps = cdist(scaler.transform(X[test]), scaler.transform(X[train]), "minkowski", **asked)
        order = np.argsort(gaps, axis=1, kind="stable")
        far = np.take_along_axis(gaps, order, axis=1)
        np.testing.assert_allclose(distances[test], far[:, :k], rtol=1e-6, atol=1e-7)
        clear = (np.diff(far[:, : k + 1]) > 1e-6 * far[:, 1 : k + 1] + 1e-7).all(axis=1)
        np.testing.assert_array_equal(near[test][clear], train[order[clear, :k]])
        n_clear += clear.sum()
    return n_clear


METRICS = [
    *({"p": p} for p in (1, 3, 1.5)),
    {"p": 2, "metric_params": {"w": np.arange(5.0)}},
    {"p": 3, "metric_params": {"w": np.array([1.0, 0.0, 1e-3, 4.0, 2.0])}},
]


@pytest.mark.parametrize(
    "data",
    ["constant columns", "outliers", "tiny"]
    + [pytest.param(name, marks=pytest.mark.slow) for name in ("wine", "heavy tails", "offset")],
)
def test_weights_and_neighbors_are_those_of_scikit_learn(data):
    X, _ = table_of(data)
    for name in SCALERS:
        check_weights(name, X)
        if data == "outliers":
            continue
        steps, folds = [SCALERS[name]], folds_of(len(X), 3, 2)
        for metric in METRICS if name == "standard" and X.shape[1] == 5 else [{}]:
            weights = metric.get("metric_params", {}).get("w")
            search, n_clear = RescaledSearch(scaling_of(steps, X), metric.get("p", 2), weights), 0
            for k in (1, 4) if data == "tiny" else (1, 9):
                items, distances = search.nearest(folds, k)
                for r in range(2):
                    n_clear += check_run(steps, X, folds[r], items[r], distances[r], 3, **metric)
            assert n_clear > 0.4 * 2 * 2 * len(X), (name, metric)


def check_weights(name, X):
    scaling = scaling_of([SCALERS[name]], X)
    folds = folds_of(len(X), 3, 4)
    found = scaling.weights(folds)
    one = scaling.weights(np.where(folds == 1, 0, -1))
    np.testing.assert_array_equal(one.shape, (4, 1, X.shape[1]))
    some = scaling.weights(np.choose(folds, [-1, 0, -2]))
    for r, fold in enumerate(folds):
        for g in range(3):
            expected = weights_of(SCALERS[name], X[fold != g])
            np.testing.assert_allclose(found[r, g], expected, rtol=1e-10)
            if g == 1:
                np.testing.assert_allclose(one[r, 0], expected, rtol=1e-10)
        np.testing.assert_allclose(some[r, 0], weights_of(SCALERS[name], X[fold == 0]), rtol=1e-10)


def weights_of(scaler, X):
    fitted = scaler.fit(X)
    if fitted.scale_ is None:
        return np.ones(X.shape[1])
    return fitted.scale_ if isinstance(scaler, MinMaxScaler) else 1 / fitted.scale_


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_ties_lists_and_threads_decide_nothing(p, monkeypatch):
    """Small integers and copies tie; the order is (distance, sample) for any lists, blocks, threads."""
    rng = np.random.default_rng(3)
    X = rng.integers(3, size=(70, 4)).astype(float)
    X[40:50] = X[:10]
    codes = folds_of(70, 4, 150)
    scaling = scaling_of([StandardScaler()], X)
    items, distances = RescaledSearch(scaling, p).nearest(codes, 5, n_jobs=1)
    weights = scaling.weights(codes)
    for r in (0, 63, 64, 149):
        for i in range(70):
            w = weights[r, codes[r, i]] / scaling.weights(np.full((1, 70), -1))[0, 0]
            unit = scaling.weights(np.full((1, 70), -1))[0, 0]
            far = np.zeros(70)
            for f in range(4):
                gap = abs(X[i, f] - X[:, f]) * unit[f]
                far += w[f] ** p * (gap * gap if p == 2 else gap**p)
            far[codes[r] == codes[r, i]] = np.inf
            expected = np.lexsort((np.arange(70), far))[:5]
            np.testing.assert_array_equal(items[r, i], expected)
            np.testing.assert_allclose(distances[r, i], far[expected] ** (1 / p), rtol=1e-12)
    again = RescaledSearch(scaling, p)
    parts = [again.nearest(codes[at : at + 11], 5, n_jobs=2) for at in range(0, 150, 11)]
    np.testing.assert_array_equal(np.concatenate([part[0] for part in parts]), items)
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), distances)
    monkeypatch.setattr(rescaled, "CELLS", 4 * 4 * 7)  # seven runs at once
    np.testing.assert_array_equal(RescaledSearch(scaling, p).nearest(codes, 5)[0], items)
    monkeypatch.setattr(rescaled, "LIST_BYTES", (0, 12 * 70 * 6))  # nearly every list ends too early
    short = RescaledSearch(scaling, p)
    found = short.nearest(codes, 5, n_jobs=2)
    assert short._listed.items.shape[1] == 6
    np.testing.assert_array_equal(found[0], items)
    np.testing.assert_array_equal(found[1], distances)


def test_nothing_differs_and_no_run():
    """Without a column that varies, all distances are 0, and the first training samples are the nearest."""
    search = RescaledSearch(scaling_of([StandardScaler()], np.full((300, 2), 0.1)))
    codes = folds_of(300, 3, 2)
    items, distances = search.nearest(codes, 4)
    for r in range(2):
        for i in range(300):
            np.testing.assert_array_equal(items[r, i], np.flatnonzero(codes[r] != codes[r, i])[:4])
    assert (distances == 0).all()
    assert search.nearest(codes[:0], 4)[0].shape == (0, 300, 4)


@pytest.mark.parametrize("data", ["heavy tails", "outliers"])
def test_folds_of_one_sample_and_of_all_sizes(data):
    """Weights of training sets that leave out one sample of some; codes without samples; words."""
    X, _ = table_of(data)
    rng = np.random.default_rng(6)
    every = np.where(rng.random(90) < 0.2, -2, np.arange(90))
    sizes = np.minimum(rng.geometric(0.3, 90) - 1, 7) - 1
    for word, name in zip(WORDS, ("standard", "min max", "max abs", "robust"), strict=True):
        scaling = scaling_of([word], X)
        for codes in (every, sizes):
            found = scaling.weights(codes[None])[0]
            for fold in set(codes.tolist()) - {-1, -2}:
                expected = weights_of(SCALERS[name], X[(codes != fold) & (codes != -2)])
                np.testing.assert_allclose(found[fold], expected, rtol=1e-10)


def test_codes_that_are_no_folds():
    X, _ = table_of("normal")
    rng = np.random.default_rng(5)
    search = RescaledSearch(scaling_of([StandardScaler()], X))
    codes = rng.integers(3, size=(4, 90))
    items, distances = search.nearest(np.where(codes == 2, -2, codes - 1), 3)
    for r in range(4):
        train, test = codes[r] == 0, codes[r] == 1
        assert (items[r][~test] == -1).all()
        assert np.isnan(distances[r][~test]).all()
        scaler = StandardScaler().fit(X[train])
        near = NearestNeighbors(n_neighbors=3).fit(scaler.transform(X[train]))
        far, order = near.kneighbors(scaler.transform(X[test]))
        np.testing.assert_array_equal(items[r][test], np.flatnonzero(train)[order])
        np.testing.assert_allclose(distances[r][test], far, rtol=1e-10)
    spare = folds_of(90, 4, 4)  # fold 3 always trains
    items, _ = search.nearest(np.where(spare == 3, -1, spare), 3)
    full, _ = search.nearest(spare, 3)
    for r in range(4):
        assert (items[r][spare[r] == 3] == -1).all()
        np.testing.assert_array_equal(items[r][spare[r] < 3], full[r][spare[r] < 3])


def same(steps, X):
    """The weights are those by which a fitted pipeline multiplies differences of the table."""
    scaling, folds = scaling_of(steps, X), folds_of(len(X), 3, 3)
    weights = scaling.weights(folds)
    for r, fold in enumerate(folds):
        for g in range(3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = make_pipeline(*steps).fit(X[fold != g])
                seen = np.asarray(fitted.transform(X), dtype=float)
            expected = np.diff(seen, axis=0)
            np.testing.assert_allclose(np.diff(scaling.table, axis=0) * weights[r, g], expected, atol=1e-9)
    return scaling


def test_chains():
    X, _ = table_of("offset")
    same([StandardScaler(), MinMaxScaler()], X)
    same([MaxAbsScaler(), "passthrough", RobustScaler(unit_variance=True), None, MinMaxScaler((2, 5))], X)
    same([make_pipeline(MinMaxScaler((0, 9)), StandardScaler()), RobustScaler(with_scaling=False)], X)
    assert (scaling_of([], X).weights(folds_of(90, 3, 1)) == 1).all()
    assert scaling_of([StandardScaler(), MaxAbsScaler()], X) is None


@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
@pytest.mark.slow
def test_column_transformers(remainder):
    X, _ = table_of("offset")
    table = ColumnTransformer(
        [
            ("a", StandardScaler(), [3, 0]),
            ("b", make_pipeline(MinMaxScaler(), RobustScaler()), slice(1, 3)),
            ("c", "passthrough", [0]),
            ("d", MaxAbsScaler(), []),
            ("e", "drop", [2]),
        ],
        remainder=remainder,
    )
    scaling = same([table, MinMaxScaler()], X)
    assert scaling.table.shape == (90, 5 if remainder == "drop" else 6)
    same([StandardScaler(), table], X)
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(number=np.arange(90) % 7, word="some")
    table = ColumnTransformer(
        [
            ("a", StandardScaler(), ["x", "v"]),
            ("b", RobustScaler(), make_column_selector(dtype_include=int)),
            ("c", MinMaxScaler(), np.array([False, True] + 5 * [False])),
            ("d", MaxAbsScaler(), make_column_selector(pattern="^z")),
        ],
        remainder="drop",
    )
    scaling = same([table], frame)
    assert scaling.table.shape == (90, 5)
    assert same([table.set_output(transform="pandas"), StandardScaler()], frame).table.shape == (90, 5)
    kept = ColumnTransformer([("a", StandardScaler(), ["x"])], remainder="passthrough")
    assert scaling_of([kept], frame) is None  # with words
    assert same([kept], frame.drop(columns="word")) is not None


@pytest.mark.parametrize("word", WORDS)
def test_words_scale_as_the_scalers_that_they_name(word):
    X = np.random.default_rng(0).normal(size=(41, 6)) * [1, 1e-9, 1e9, 0, 0, 1] + [0, 1, 0, 7, 0, 0]
    X[4:, 5] = 0.5  # no spread between the quartiles, for which one value changes nothing
    scaler = getattr(preprocessing, WORDS[word])()
    np.testing.assert_allclose(scaled(X, word), scaler.fit_transform(X), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(scaled(X, scaler), scaler.fit_transform(X))
    given = X[:, [0, 3, 4, 5]]
    np.testing.assert_allclose(scaled(given, word), scaler.fit_transform(given), rtol=1e-10, atol=1e-12)
    for unchanged in (scaled(given, None), given):
        np.testing.assert_array_equal(unchanged, X[:, [0, 3, 4, 5]])
    huge = scaled(X[:, [0]] * [1e-300, 1e300, 2.0**-1000], word)
    np.testing.assert_allclose(huge, scaled(X[:, [0, 0, 0]], word), rtol=1e-12)
