"""RIBClassifier as one of scikit-learn's estimators."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from knnccv import Neighbors, Subsample, complete_cv, surface
from knnccv.datasets import load_wine
from knnccv.neighbors.hvdm import HEOM, HVDM, IdentifierWarning, SupervisedDistanceWarning
from knnccv.rib import RIBClassifier


def frame(n_items=60, seed=0):
    """Make a frame with numeric, categorical and missing values, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n_items)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n_items) + labels,
            "color": np.array(["red", "green", "blue", "gray"])[rng.integers(0, 2, n_items) + labels],
            "round": rng.random(n_items) < 0.3 + 0.3 * (labels == 1),
        }
    )
    table.loc[rng.random(n_items) < 0.1, "size"] = np.nan
    table.loc[rng.random(n_items) < 0.1, "color"] = None
    return table, np.array(["low", "middle", "high"])[labels]


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "fitness"), [("hvdm", "cvc"), ("heom", "ccv"), ("euclidean", "lcv")])
def test_estimator_checks(metric, fitness):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Can't check dok sparse matrix")
        rib = RIBClassifier(metric, fitness=fitness, random_state=0)
        check_estimator(rib, on_skip=None, on_fail="raise")


def test_model_selection():
    X, y = frame(90)
    rib = RIBClassifier(random_state=0)
    assert cross_val_score(rib, X, y, cv=3).mean() > 0.5
    search = GridSearchCV(rib, {"fitness": ["cvc", "ccv"], "metric": ["hvdm", "heom"]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    wine = load_wine()
    scaled = make_pipeline(StandardScaler(), RIBClassifier("euclidean", random_state=0)).fit(wine.X, wine.y)
    # HVDM scales the columns.
    itself = make_pipeline(FunctionTransformer(), RIBClassifier(random_state=0)).fit(wine.X, wine.y)
    assert scaled[-1].best_params_ == itself[-1].best_params_
    assert (scaled.predict(wine.X) == itself.predict(wine.X)).all()
    assert scaled.score(wine.X, wine.y) > 0.95


def test_frames_arrays_and_lists():
    X, y = frame()
    rib = RIBClassifier(random_state=0).fit(X, y)
    assert rib.feature_names_in_.tolist() == ["size", "color", "round"]
    assert rib.n_features_in_ == 3
    assert rib.metric_.nominal_.tolist() == [False, True, True]
    known = pytest.warns(UserWarning, match="valid feature names")
    with known, pytest.raises(ValueError, match="2 features"):
        rib.predict(X[["size", "color"]].to_numpy(object))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = rib.predict(X.to_numpy(dtype=object))
    assert (found == rib.predict(X)).all()
    rows = X.to_numpy(dtype=object)
    for given, labels in ((rows, y), (rows.tolist(), list(y))):
        same = RIBClassifier(nominal=[1, 2], random_state=0).fit(given, labels)
        assert not hasattr(same, "feature_names_in_")
        assert same.best_params_ == rib.best_params_
        assert (same.predict_proba(rows) == rib.predict_proba(X)).all()


def test_masked_entries_are_missing_values():
    X = np.array([[1.0, 5], [2, 6], [3, 7], [4, 8], [9, 9]])
    mask = np.zeros(X.shape, bool)
    mask[1, 0] = mask[3, 1] = True
    for metric, given, plain in (
        ("hvdm", np.ma.array(X, mask=mask), np.where(mask, np.nan, X)),
        ("heom", np.ma.array(X, mask=mask), np.where(mask, np.nan, X)),
        ("euclidean", np.ma.array(X, mask=False), X),
    ):
        one, other = (
            RIBClassifier(metric, search=None).fit(data, [0, 1, 0, 1, 1]) for data in (given, plain)
        )
        assert (one.kneighbors()[0] == other.kneighbors()[0]).all()
        assert (one.predict_proba(given) == other.predict_proba(plain)).all()


def test_large_integers_in_lists_are_kept_apart():
    rows = [[2**53 + i % 2, 0.5 * i] for i in range(8)]
    rib = RIBClassifier("heom", nominal=[0], search=None).fit(rows, [0, 1] * 4)
    assert rib.metric_.categories_ == ((2**53, 2**53 + 1),)
    assert rib.kneighbors([[2**53 + 1, 0.0]], 1)[1].tolist() == [[1]]


@pytest.mark.parametrize("metric", ["hvdm", "heom", "euclidean"])
def test_neighbors(metric):
    X, y = load_iris(return_X_y=True)
    rib = RIBClassifier(metric, max_k=12, random_state=0).fit(X, y)
    distances, items = rib.kneighbors(n_neighbors=12)
    assert distances.shape == items.shape == (150, 12)
    assert (items != np.arange(150)[:, None]).all()
    chosen = rib.best_params_["n_neighbors"]
    assert rib.kneighbors()[1].shape == (150, chosen)
    assert rib.kneighbors(X[:3])[0].shape == (3, chosen)
    found, at = rib.kneighbors(X, 150)
    assert (np.sort(at) == np.arange(150)).all()
    assert (found[:, 0] == 0).all()
    if metric == "hvdm":  # numbers in units of 4 sigma
        apart = np.linalg.norm((X[:, None] - X[None]) / (4 * X.std(axis=0, ddof=1)), axis=2)
        np.testing.assert_allclose(found, np.take_along_axis(apart, at, axis=1), atol=1e-12)


def test_shares_of_votes_and_the_class_with_most():
    X, y = load_iris(return_X_y=True)
    n_tied = 0
    for kernel, vote_ties, k in itertools.product(
        ("majority", "linear", "exponential"), ("nearest", "smallest"), (1, 2, 5, 8)
    ):
        rib = RIBClassifier(
            "euclidean", n_neighbors=k, kernel=kernel, vote_ties=vote_ties, w_k=0.3, search=None
        ).fit(X[::2], y[::2])
        shares, chosen = rib.predict_proba(X), rib.predict(X)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        most = shares >= shares.max(axis=1, keepdims=True) - 1e-12
        assert most[np.arange(150), chosen].all()
        two = most.sum(axis=1) == 2
        if vote_ties == "smallest":
            assert (chosen == most.argmax(axis=1)).all()
        elif kernel == "majority":
            n_tied += two.sum()
            assert (chosen[two] == y[::2][rib.kneighbors(X, 1)[1][:, 0]][two]).all()
    assert n_tied > 0


def test_labels_of_any_kind():
    X, y = frame()
    reference = RIBClassifier(random_state=0).fit(X, y)
    for labels in (y.astype(object), pd.Series(y), pd.Series(y, dtype="category")):
        rib = RIBClassifier(random_state=0).fit(X, labels)
        assert rib.best_params_ == reference.best_params_
        assert (rib.predict_proba(X) == reference.predict_proba(X)).all()
        assert (rib.predict(X) == np.asarray(labels)).mean() == reference.score(X, y)
    binary = RIBClassifier(random_state=0).fit(X, y == "low")
    assert binary.classes_.tolist() == [False, True]
    assert binary.predict(X).dtype == bool
    with pytest.warns(UserWarning, match="column-vector y was passed"):
        RIBClassifier(random_state=0).fit(X, y[:, None])


@pytest.mark.parametrize("metric", ["euclidean", "heom"])
def test_complete_cross_validation_chooses_k(metric):
    X, y = load_iris(return_X_y=True)
    rib = RIBClassifier(metric, fitness="ccv", train_size=0.8).fit(X, y)
    near = Neighbors.from_data(X) if metric == "euclidean" else HEOM().fit(X).neighbors()
    assert rib.n_train_ == 120
    scores = surface(near, y, range(1, 31), [120], "knn", ties="index", tol=1e-12).scores[:, 0]
    assert rib.ccv_ == scores.max()
    chosen = rib.best_params_
    assert chosen == {"n_neighbors": scores.argmax() + 1, "kernel": "majority", "w_k": None, "avgk": None}
    one = complete_cv(near, y, "knn", Subsample(120), n_neighbors=chosen["n_neighbors"], ties="index")
    assert rib.ccv_ == pytest.approx(one.score, abs=1e-12)
    # The leave-one-out scores are attributes, too.
    plain = RIBClassifier(metric, search=None, kernel="majority", n_neighbors=chosen["n_neighbors"])
    assert rib.cvc_ == plain.fit(X, y).cvc_
    few = RIBClassifier(metric, fitness="ccv", train_size=3).fit(X, y)
    assert few.n_train_ == 3
    assert few.best_params_["n_neighbors"] <= 3
    assert not hasattr(few.set_params(fitness="cvc").fit(X, y), "ccv_")


def test_complete_cross_validation_of_labeled_distances():
    """It chooses k by HVDM without the warning about label leakage, since the score is not reported."""
    X, y = frame()
    rib = RIBClassifier(fitness="ccv").fit(X, y)
    assert 0 < rib.ccv_ < 1
    assert rib.n_train_ == 54
    assert rib.best_params_["kernel"] == "majority"


def test_verbose_prints_the_steps(capsys):
    X, y = frame()
    rib = RIBClassifier(random_state=0, verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    for line, step in zip(lines, rib.search_path_, strict=True):
        assert line.startswith(f"{step['parameter']}: k={step['n_neighbors']} {step['kernel']}")
        assert f"{step['n_correct']} of 60 right" in line
        assert line.endswith("the best so far") == step["improved"]
    RIBClassifier(random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""


def test_the_majority_kernel_ignores_the_other_parameters():
    X, y = frame()
    rib = RIBClassifier(kernel="majority", w_k=0.9, avgk=True, search=None).fit(X, y)
    assert rib.best_params_ == {"n_neighbors": 3, "kernel": "majority", "w_k": None, "avgk": None}
    # A search starts from w_k = 1; a random state is drawn from once a fit.
    plain = RIBClassifier(kernel="majority", random_state=0).fit(X, y)
    same, state = RIBClassifier(w_k=1.0, random_state=0).fit(X, y), np.random.RandomState(0)
    one, other = (RIBClassifier(w_k=1.0, random_state=state).fit(X, y) for _ in range(2))
    assert plain.search_path_ == same.search_path_ == one.search_path_ != other.search_path_


def test_warnings_of_leakage_and_identifiers_name_the_users_line():
    rng = np.random.default_rng(0)
    X, y = rng.integers(5, size=(40, 1)), rng.integers(2, size=40)
    for leave_one_out in ("exact", "fixed"):
        rib = RIBClassifier(nominal=[0], leave_one_out=leave_one_out, random_state=0).fit(X, y)
        with pytest.warns(SupervisedDistanceWarning):
            complete_cv(rib.neighbors_, y, "nn", Subsample(20))
    for metric in (RIBClassifier(nominal=[0], random_state=0), HVDM(nominal=[0])):
        with pytest.warns(IdentifierWarning, match="0 is close to an identifier: 100%") as caught:
            metric.fit(np.arange(40)[:, None], y)
        assert caught[0].filename == __file__
