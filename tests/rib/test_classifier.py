"""RIBClassifier as one of scikit-learn's estimators."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from knnccv import Neighbors, Subsample, complete_cv, surface
from knnccv.datasets import load_wine
from knnccv.hvdm import HEOM, HVDM, IdentifierWarning, SupervisedDistanceWarning
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
@pytest.mark.parametrize("fitness", ["cvc", pytest.param("ccv", marks=pytest.mark.slow)])
@pytest.mark.parametrize("metric", ["hvdm", pytest.param("heom", marks=pytest.mark.slow), "euclidean"])
def test_estimator_checks(metric, fitness):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Can't check dok sparse matrix")
        rib = RIBClassifier(metric, fitness=fitness, random_state=0)
        check_estimator(rib, on_skip=None, on_fail="raise")


def test_parameters_are_kept_and_cloned():
    given = {"metric": "heom", "nominal": ["color"], "max_k": 7, "w_k": 0.25, "random_state": 3}
    rib = RIBClassifier(**given)
    assert {name: rib.get_params()[name] for name in given} == given
    copy = clone(rib.fit(*frame()))
    assert copy.get_params() == rib.get_params()
    assert not hasattr(copy, "best_params_")
    copy.set_params(metric="hvdm", fitness="lcv")
    assert (copy.metric, copy.fitness) == ("hvdm", "lcv")
    with pytest.raises(ValueError, match="Invalid parameter 'kernels'"):
        copy.set_params(kernels="linear")


@pytest.mark.parametrize("metric", ["hvdm", "heom"])
def test_a_pickled_estimator_predicts_the_same(metric):
    X, y = frame()
    rib = RIBClassifier(metric, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(rib))
    assert (again.predict_proba(X) == rib.predict_proba(X)).all()
    assert (again.kneighbors()[1] == rib.kneighbors()[1]).all()
    assert again.best_params_ == rib.best_params_


def test_model_selection():
    X, y = frame(90)
    rib = RIBClassifier(random_state=0)
    scores = cross_val_score(rib, X, y, cv=5)
    assert scores.shape == (5,)
    assert scores.mean() > 0.5
    search = GridSearchCV(rib, {"fitness": ["cvc", "lcv", "ccv"], "metric": ["hvdm", "heom"]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    wine = load_wine()
    scaled = make_pipeline(StandardScaler(), RIBClassifier("euclidean", random_state=0)).fit(wine.X, wine.y)
    # HVDM scales the columns.
    itself = make_pipeline(FunctionTransformer(), RIBClassifier(random_state=0)).fit(wine.X, wine.y)
    assert scaled[-1].best_params_ == itself[-1].best_params_
    assert (scaled.predict(wine.X) == itself.predict(wine.X)).all()
    assert scaled.score(wine.X, wine.y) > 0.95


def test_frames_keep_their_columns():
    X, y = frame()
    rib = RIBClassifier(random_state=0).fit(X, y)
    assert rib.feature_names_in_.tolist() == ["size", "color", "round"]
    assert rib.n_features_in_ == 3
    assert rib.metric_.nominal_.tolist() == [False, True, True]
    with pytest.raises(ValueError, match="feature names should match"):
        rib.predict(X[["color", "size", "round"]])
    with pytest.raises(ValueError, match="feature names should match"):
        rib.predict(X.rename(columns={"size": "length"}))
    known = pytest.warns(UserWarning, match="valid feature names")
    with known, pytest.raises(ValueError, match="2 features"):
        rib.predict(X[["size", "color"]].to_numpy(object))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = rib.predict(X.to_numpy(dtype=object))
    assert (found == rib.predict(X)).all()
    rows = RIBClassifier(nominal=[1, 2], random_state=0).fit(X.to_numpy(dtype=object), y)
    assert not hasattr(rows, "feature_names_in_")
    assert rows.best_params_ == rib.best_params_
    assert (rows.predict_proba(X.to_numpy(dtype=object)) == rib.predict_proba(X)).all()
    nested = RIBClassifier(nominal=[1, 2], random_state=0).fit(X.to_numpy(dtype=object).tolist(), list(y))
    assert nested.best_params_ == rib.best_params_


def test_masked_entries_are_missing_values():
    X = np.array([[1.0, 5], [2, 6], [3, 7], [4, 8], [9, 9]])
    mask = np.zeros(X.shape, bool)
    mask[1, 0] = mask[3, 1] = True
    y = [0, 1, 0, 1, 1]
    holes = np.where(mask, np.nan, X)
    for metric in ("hvdm", "heom"):
        rib = RIBClassifier(metric, search=None).fit(np.ma.array(X, mask=mask), y)
        plain = RIBClassifier(metric, search=None).fit(holes, y)
        assert (rib.kneighbors()[0] == plain.kneighbors()[0]).all()
        assert (rib.predict_proba(np.ma.array(X, mask=mask)) == plain.predict_proba(holes)).all()
    with pytest.raises(ValueError, match="contains NaN"):
        RIBClassifier("euclidean", search=None).fit(np.ma.array(X, mask=mask), y)
    whole = RIBClassifier("euclidean", search=None).fit(np.ma.array(X, mask=False), y)
    plain = RIBClassifier("euclidean", search=None).fit(X, y)
    assert (whole.kneighbors()[0] == plain.kneighbors()[0]).all()


def test_large_integers_in_lists_are_kept_apart():
    rows = [[2**53 + i % 2, 0.5 * i] for i in range(8)]
    rib = RIBClassifier("heom", nominal=[0], search=None).fit(rows, [0, 1] * 4)
    assert rib.metric_.categories_ == ((2**53, 2**53 + 1),)
    assert rib.kneighbors([[2**53 + 1, 0.0]], 1)[1].tolist() == [[1]]
    with pytest.raises(ValueError, match=r"integers beyond 2\*\*53"):
        RIBClassifier("heom", search=None).fit(rows, [0, 1] * 4)


@pytest.mark.parametrize("metric", ["hvdm", "heom", "euclidean"])
def test_neighbors(metric):
    X, y = load_iris(return_X_y=True)
    rib = RIBClassifier(metric, max_k=12, random_state=0).fit(X, y)
    distances, items = rib.kneighbors(n_neighbors=12)
    assert distances.shape == items.shape == (150, 12)
    assert (items != np.arange(150)[:, None]).all()
    assert rib.kneighbors()[1].shape == (150, rib.best_params_["n_neighbors"])
    found, at = rib.kneighbors(X, 150)
    assert (np.sort(at) == np.arange(150)).all()
    assert (found[:, 0] == 0).all()
    assert rib.kneighbors(X[:3])[0].shape == (3, rib.best_params_["n_neighbors"])
    for n_neighbors in (0, 13):
        with pytest.raises(ValueError, match="n_neighbors must be between 1 and 12"):
            rib.kneighbors(n_neighbors=n_neighbors)
    with pytest.raises(ValueError, match="n_neighbors must be between 1 and 150"):
        rib.kneighbors(X, 151)
    if metric == "hvdm":  # numbers in units of 4 sigma
        apart = np.linalg.norm((X[:, None] - X[None]) / (4 * X.std(axis=0, ddof=1)), axis=2)
        np.testing.assert_allclose(found, np.take_along_axis(apart, at, axis=1), atol=1e-12)


@pytest.mark.parametrize("vote_ties", ["nearest", "smallest"])
@pytest.mark.parametrize("kernel", ["majority", "linear", "exponential"])
def test_shares_of_votes_and_the_class_with_most(kernel, vote_ties):
    X, y = load_iris(return_X_y=True)
    settings = {"kernel": kernel, "vote_ties": vote_ties, "w_k": 0.3, "search": None}
    n_tied = 0
    for n_neighbors in (1, 2, 5, 8):
        rib = RIBClassifier("euclidean", n_neighbors=n_neighbors, **settings).fit(X[::2], y[::2])
        shares = rib.predict_proba(X)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        most = shares >= shares.max(axis=1, keepdims=True) - 1e-12
        alone = most.sum(axis=1) == 1
        n_tied += (~alone).sum()
        chosen = rib.predict(X)
        assert (chosen[alone] == shares.argmax(axis=1)[alone]).all()
        assert most[np.arange(150), chosen].all()
        first = rib.classes_[most.argmax(axis=1)]
        nearest = y[::2][rib.kneighbors(X, 1)[1][:, 0]]
        two = most.sum(axis=1) == 2
        if vote_ties == "smallest":
            assert (chosen == first).all()
        elif kernel == "majority":
            assert (chosen[two] == nearest[two]).all()
    if kernel == "majority":
        assert n_tied > 0


def test_labels_of_any_kind():
    X, y = frame()
    reference = RIBClassifier(random_state=0).fit(X, y)
    shares = reference.predict_proba(X)
    for labels in (
        y.astype(object),
        y.tolist(),
        pd.Series(y),
        pd.Series(y, dtype="category"),
    ):
        rib = RIBClassifier(random_state=0).fit(X, labels)
        assert rib.best_params_ == reference.best_params_
        assert (rib.predict_proba(X) == shares).all()
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
    assert len(lines) == len(rib.search_path_)
    for line, step in zip(lines, rib.search_path_, strict=True):
        assert line.startswith(f"{step['parameter']}: k={step['n_neighbors']} {step['kernel']}")
        assert f"{step['n_correct']} of 60 right" in line
        assert line.endswith("the best so far") == step["improved"]
    RIBClassifier(random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"metric": "cosine"},
            ValueError,
            "one of 'hvdm', 'heom', 'euclidean', got 'cosine'",
        ),
        ({"fitness": "auc"}, ValueError, "fitness must be one of 'cvc', 'lcv', 'ccv', got 'auc'"),
        ({"kernel": "cubic"}, ValueError, "kernel must be one of"),
        ({"search": "random"}, ValueError, "search must be one of 'greedy', 'grid', got 'random'"),
        ({"vote_ties": "random"}, ValueError, "vote_ties must be one of 'nearest', 'smallest'"),
        ({"leave_one_out": "no"}, ValueError, "leave_one_out must be one of 'exact', 'fixed'"),
        ({"max_k": 0}, ValueError, "max_k must be at least 1, got 0"),
        ({"max_k": 2.5}, TypeError, "max_k must be an integer, got 2.5"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1, got 0"),
        ({"patience": 0}, ValueError, "patience must be at least 1, got 0"),
        ({"n_w_k": 1}, ValueError, "n_w_k must be at least 2, got 1"),
        ({"w_k": 1.5}, ValueError, "w_k of kernel 'linear' must be between 0 and 1, got 1.5"),
        ({"w_k": None}, ValueError, "w_k of kernel 'linear' must be between 0 and 1, got None"),
        ({"avgk": "yes"}, TypeError, "avgk must be True or False, got 'yes'"),
        ({"verbose": "yes"}, TypeError, "verbose must be an integer, got 'yes'"),
        ({"verbose": -1}, ValueError, "verbose must be at least 0, got -1"),
        ({"metric": "euclidean", "nominal": [0]}, ValueError, "has no nominal columns"),
        ({"metric": "heom", "leave_one_out": "no"}, ValueError, "leave_one_out must be one of"),
        ({"train_size": "x"}, TypeError, "train_size"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"random_state": "x"}, ValueError, "cannot be used to seed"),
        ({"fitness": "ccv", "train_size": 60}, ValueError, "between 1 and 59"),
        ({"fitness": "ccv", "train_size": 1.5}, ValueError, "train_size"),
        ({"nominal": ["weight"]}, ValueError, "names among 'size', 'color', 'round', got 'weight'"),
        ({"metric": "euclidean"}, ValueError, "could not convert string to float"),
    ],
)
def test_wrong_parameters_are_refused(settings, error, message):
    X, y = frame()
    with pytest.raises(error, match=message):
        RIBClassifier(**settings).fit(X, y)


def test_the_majority_kernel_ignores_the_other_parameters():
    X, y = frame()
    rib = RIBClassifier(kernel="majority", w_k=0.9, avgk=True, search=None).fit(X, y)
    assert rib.best_params_ == {"n_neighbors": 3, "kernel": "majority", "w_k": None, "avgk": None}
    assert RIBClassifier(kernel="majority", search="grid", n_w_k=3).fit(X, y).cvc_ >= rib.cvc_


def test_wrong_tables_are_refused():
    X, y = frame()
    for wrong, error, message in (
        (X.iloc[:1], ValueError, "at least 2 samples"),
        (X[[]], ValueError, "at least 1 feature"),
        ([[1.0, 2.0], [3.0]], ValueError, "inhomogeneous"),
        ([["a", 2.0], ["b"]], ValueError, "inhomogeneous"),
        (X.assign(size=np.inf), ValueError, r"X\[:, 'size'\] is inf in row 0"),
        ([[np.inf, 1.0], [2.0, 3.0]], ValueError, "numbers must be finite"),
        (X["size"], ValueError, r"shape \(n_items, n_features\), got shape \(60,\)"),
        (X.assign(when=pd.Timestamp("2020-01-01")), TypeError, r"X\[:, 'when'\] holds dates or times"),
        ([["a", 1.0], ["b", 2.0]], TypeError, r"X\[:, 0\] is 'a' in row 0.*nominal="),
    ):
        with pytest.raises(error, match=message):
            RIBClassifier().fit(wrong, y[: len(wrong)])
    for missing in (np.nan, np.inf):
        with pytest.raises(ValueError, match=f"Input y contains {'NaN' if np.isnan(missing) else 'inf'}"):
            RIBClassifier().fit(X, np.r_[np.zeros(59), missing])
    with pytest.raises(ValueError, match="60 samples, but y has 59 labels"):
        RIBClassifier().fit(X, y[1:])
    with pytest.raises(ValueError, match="the target y is None"):
        RIBClassifier().fit(X, None)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        RIBClassifier().fit(X, np.linspace(0.1, 0.9, 60))
    with pytest.raises(ValueError, match=r"numbers must not exceed 1e\+140"):
        RIBClassifier("euclidean").fit([[1e150], [0.0], [1.0]], [0, 1, 1])


def test_a_search_may_start_from_majority_votes():
    wine = load_wine()
    plain = RIBClassifier(kernel="majority", random_state=0).fit(wine.X, wine.y)
    same = RIBClassifier(w_k=1.0, random_state=0).fit(wine.X, wine.y)
    assert plain.search_path_ == same.search_path_
    generator = RIBClassifier(random_state=np.random.default_rng(0)).fit(wine.X, wine.y)
    assert generator.search_path_


def test_the_lists_of_a_fit_warn_about_label_leakage():
    rng = np.random.default_rng(0)
    X, y = rng.integers(5, size=(40, 1)), rng.integers(2, size=40)
    for leave_one_out in ("exact", "fixed"):
        rib = RIBClassifier(nominal=[0], leave_one_out=leave_one_out, random_state=0).fit(X, y)
        with pytest.warns(SupervisedDistanceWarning):
            complete_cv(rib.neighbors_, y, "nn", Subsample(20))


def test_warnings_name_the_users_line():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=40)
    with pytest.warns(IdentifierWarning) as caught:
        RIBClassifier(nominal=[0], random_state=0).fit(np.arange(40)[:, None], y)
    assert caught[0].filename == __file__
    with pytest.warns(IdentifierWarning) as caught:
        HVDM(nominal=[0]).fit(np.arange(40)[:, None], y)
    assert caught[0].filename == __file__
