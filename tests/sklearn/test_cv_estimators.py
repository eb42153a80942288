"""KNeighborsClassifierCV and KNeighborsRegressorCV: the choice, the chosen rule, and its honest score."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from bridge import THREE_CLASSES, X, Y, data, recorded
from scipy.sparse import csr_matrix
from seeds import of_today, over_seeds
from sklearn import model_selection as ms
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import knnccv
from knnccv import KFold, LeaveGroupsOut, LeaveOut, StratifiedSubsample, Subsample, compare, complete_cv
from knnccv._core.luck.inference import InferenceWarning
from knnccv.sklearn import (
    KNeighborsClassifierCV,
    KNeighborsRegressorCV,
    WholeData,
    ccv_scorer,
    expected_score,
)

KS = [1, 2, 5, 9]
MSE = "neg_mean_squared_error"


def searched(X, y, grid, scorer, rule=None):
    """scikit-learn's own search by the same scores, which trains and scores every candidate by itself."""
    rule = KNeighborsClassifier() if rule is None else rule
    found = ms.GridSearchCV(rule, grid, scoring=scorer, cv=WholeData(), error_score="raise")
    return found.fit(X, y)


def scores(model):
    return model.cv_results_["mean_test_score"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        *(KNeighborsClassifierCV(), KNeighborsRegressorCV(), KNeighborsClassifierCV(metric="precomputed")),
        KNeighborsClassifierCV([1, 3], scaling=["standard", None], cv=2, weights=["uniform", "distance"]),
        KNeighborsRegressorCV(3, scaling="minmax", cv=3, n_jobs=1),
    ],
)
def test_scikit_learn_checks_the_estimators(model):
    found = check_estimator(model, on_skip=None, on_fail=None)
    assert [each["check_name"] for each in found if each["status"] == "failed"] == []


@over_seeds(1)
def test_scores_are_means_over_all_training_sets(seeds):
    """Every training set of scikit-learn's own estimators, one by one."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y, values = rng.normal(size=(6, 2)), rng.permutation(np.arange(6) % 3), rng.normal(size=(6, 2))
        metrics, ks = ["euclidean", "manhattan"], [3, 1]
        both = {
            KNeighborsClassifierCV: (KNeighborsClassifier, y),
            KNeighborsRegressorCV: (KNeighborsRegressor, values),
        }
        for kind, (peer, target) in both.items():
            model = kind(ks, metric=metrics, cv=Subsample(4)).fit(X, target)
            wanted = []
            for metric, k in itertools.product(metrics, ks):
                found = []
                for train in map(list, itertools.combinations(range(6), 4)):
                    test = [i for i in range(6) if i not in train]
                    told = (
                        peer(k, metric=metric, algorithm="kd_tree")
                        .fit(X[train], target[train])
                        .predict(X[test])
                    )
                    right = told == target[test] if target is y else -np.square(told - target[test])
                    found.append(right.mean())
                wanted.append(np.mean(found))
            np.testing.assert_allclose(scores(model), wanted, rtol=1e-10, err_msg=str(seed))
            assert model.best_index_ == np.argmax(wanted)
            assert model.cv_results_["rank_test_score"][model.best_index_] == 1


DESIGNS = [
    5,
    KFold(4),
    LeaveOut(2),
    StratifiedSubsample(0.5),
    ms.ShuffleSplit(test_size=0.3),
    ms.LeaveOneOut(),
    ms.KFold(3),
]


COSTS = np.array([[0, 1, 2], [2, 0, 1], [1, 1, 0]])
SCALERS = [MinMaxScaler(), RobustScaler(), StandardScaler(with_mean=False)]
SEARCHES = [
    ({"weights": ["distance", "uniform"]}, {"knn__weights": ["distance", "uniform"]}),
    ({"scaling": [None, "minmax", "robust", SCALERS[2]]}, {"scale": ["passthrough", *SCALERS]}),
    ({"metric": "minkowski", "p": [1, 2, 3.5]}, {"knn__p": [1, 2, 3.5]}),
    *(({"cv": cv}, {}) for cv in DESIGNS),
    *(
        ({"cv": 3, "scoring": one}, {})
        for one in ("balanced_accuracy", "neg_brier_score", "f1_macro", COSTS)
    ),
]


@pytest.mark.parametrize("some", [SEARCHES[:5], pytest.param(SEARCHES[5:], marks=pytest.mark.slow)])
def test_scores_and_choices_are_those_of_a_search_by_the_scorer(some):
    X, y = THREE_CLASSES
    X = X * [1, 3, 9]
    for given, grid in some:
        model = KNeighborsClassifierCV(KS, **{"cv": KFold(5), **given}).fit(X, y)
        pipeline = Pipeline([("scale", "passthrough"), ("knn", KNeighborsClassifier())])
        scorer = ccv_scorer(model.cv, model.scoring, transductive=True)
        found = searched(X, y, {"knn__n_neighbors": KS, **grid}, scorer, pipeline)
        wanted = found.cv_results_["mean_test_score"]
        np.testing.assert_allclose(scores(model), wanted, rtol=1e-9, err_msg=str(given))
        for ask in ("predict", "predict_proba"):
            told = getattr(model, ask)(X), getattr(found, ask)(X)
            np.testing.assert_array_equal(*told, err_msg=f"{ask}, {given}")
        assert model.score(X, y) == found.best_estimator_.score(X, y), given
        assert model.best_score_ == pytest.approx(found.best_score_, rel=1e-9), given
        drawn = (model.cv_results_["std_error"] > 0).all()
        assert drawn == (str(model.scoring) == "f1_macro"), given


def test_all_k_share_the_drawn_training_sets_and_each_has_the_score_that_it_has_alone(monkeypatch):
    scored = knnccv._core.scores.results._scored
    shared = recorded(monkeypatch, scored, "sampled_scores", lambda _, given: given[0])
    X, y = data(3, 45, n_classes=3)
    groups, two = np.arange(45) // 3, np.column_stack([y, X[:, 0]])
    cases = [
        (kind, target, cv, Z)
        for Z in (X, np.round(X))  # with ties
        for kind, target, cv in (
            (KNeighborsClassifierCV, y, KFold(2)),
            (KNeighborsRegressorCV, two, KFold(2)),
            (KNeighborsClassifierCV, y, 4),
        )
    ]
    cases += [(KNeighborsClassifierCV, y, LeaveGroupsOut(groups, 10), Z) for Z in (np.round(X), X)]
    for kind, target, cv, Z in of_today(cases, 2):
        options, results = {"weights": "distance", "cv": cv}, []
        for ks in ([9, 1, 2, 12, 7], [7], [12]):
            shared.clear()
            results.append(kind(ks, **options).fit(Z, target).cv_results_)
            n_outputs = 2 if target is two else 1
            assert len(shared) <= 2 * n_outputs  # the smallest K that is drawn, and all others
            drawn = {one.parameters["n_neighbors"] for problems in shared for one in problems}
            assert {7, 9, 12} & {*ks} <= drawn
        together, seven, twelve = ([one["mean_test_score"], one["std_error"]] for one in results)
        assert np.array_equal(np.array(together)[:, [4, 3]], np.hstack([seven, twelve]))
        assert (np.array(twelve) != 0).all()


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_the_rule_of_one_standard_error_and_the_interval():
    X, y = data(3, 60, n_classes=6)
    X[:, 0] += y
    ks = list(range(1, 20, 3))
    best = KNeighborsClassifierCV(ks).fit(X, y)
    simple = KNeighborsClassifierCV(ks, choose="one-standard-error").fit(X, y)
    exact = [complete_cv(X, y, "knn", KFold(5), n_neighbors=k) for k in ks]
    top = max(exact, key=float)
    near = [top, *(one for one in exact if top.score - one.score <= compare(top, one).standard_error())]
    chosen = max(k for k, one in zip(ks, exact, strict=True) if one in near)
    assert best.n_neighbors_ == ks[exact.index(top)] < simple.n_neighbors_ == chosen
    assert simple.best_score_ == pytest.approx(exact[ks.index(chosen)].score, abs=1e-12)
    assert simple.best_score_ < best.best_score_
    assert simple.best_estimator_.n_neighbors == chosen
    assert best.best_score_interval_ == pytest.approx(tuple(top.confidence_interval()))
    again = pickle.loads(pickle.dumps(clone(best).fit(X, y)))
    assert again.best_score_interval_ == best.best_score_interval_
    again.set_params(n_neighbors=[1]).fit(X, y)
    assert again.best_score_interval_ == pytest.approx(tuple(exact[0].confidence_interval()))
    assert not hasattr(clone(best), "best_score_interval_")
    by_runs = KNeighborsClassifierCV(ks[::3], scoring="f1_macro").fit(X, y)
    assert 0 < by_runs.best_score_interval_[0] < by_runs.best_score_ < by_runs.best_score_interval_[1] < 1
    simple = clone(by_runs).set_params(choose="one-standard-error").fit(X, y)
    assert simple.n_neighbors_ >= by_runs.n_neighbors_
    unknown = KNeighborsClassifierCV([9], scoring="f1_macro", cv=2).fit(X[:20], y[:20])
    with pytest.warns(InferenceWarning, match="best_score_interval_ is nan: take fewer neighbors"):
        assert np.isnan(unknown.best_score_interval_).all()


def test_equal_scores_have_equal_ranks_and_the_first_wins():
    X = np.zeros((20, 2))
    X[:10] += 100
    y = np.arange(20) // 10
    model = KNeighborsClassifierCV([3, 1, 2], weights=["distance", "uniform"], cv=LeaveOut()).fit(X, y)
    assert model.cv_results_["rank_test_score"].tolist() == [1] * 6
    assert model.best_params_ == {
        "metric": "euclidean",
        "n_neighbors": 3,
        "scaling": None,
        "weights": "distance",
    }
    frame = pd.DataFrame(model.cv_results_)
    assert frame["param_n_neighbors"].tolist() == [3, 3, 1, 1, 2, 2]


def test_the_chosen_rule_answers():
    X, y = THREE_CLASSES
    names = np.array(["low", "middle", "high"])[y]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with sklearn.config_context(transform_output="pandas"):
        model = KNeighborsClassifierCV([3, 1], scaling="standard").fit(frame, names)
        told, near = model.predict(frame), model.kneighbors(frame[:4])
    scaler, rule = model.best_estimator_
    peer = KNeighborsClassifier(model.n_neighbors_).fit(StandardScaler().fit_transform(X), names)
    assert type(scaler) is StandardScaler
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.classes_.tolist() == ["high", "low", "middle"] == rule.classes_.tolist()
    assert told.tolist() == peer.predict(StandardScaler().fit_transform(X)).tolist()
    np.testing.assert_allclose(near[0], peer.kneighbors(StandardScaler().fit(X).transform(X[:4]))[0])
    assert (
        model.kneighbors(n_neighbors=2, return_distance=False).tolist()
        == peer.kneighbors(None, 2, False).tolist()
    )
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c"]])
    for ask in ("predict", "predict_proba", "kneighbors"):
        with pytest.raises(NotFittedError):
            getattr(KNeighborsClassifierCV(), ask)(X)


def test_kinds_of_samples():
    wanted = scores(KNeighborsClassifierCV([1, 4]).fit(X, Y)).tolist()
    np.testing.assert_allclose(
        scores(KNeighborsClassifierCV([1, 4]).fit(csr_matrix(X), Y)), wanted, rtol=1e-12
    )
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    model = KNeighborsClassifierCV([1, 4], metric="precomputed").fit(distances, Y)
    np.testing.assert_allclose(scores(model), wanted, rtol=1e-12)
    assert model.predict(distances[:3]).shape == (3,)
    assert len(ms.cross_val_score(model, distances, Y, error_score="raise")) == 5
    pair = KNeighborsClassifierCV().fit([[0.0], [1.0]], [0, 1])
    assert (pair.n_neighbors_, pair.best_score_) == (1, 0)
    alone = KNeighborsClassifierCV(cv=Subsample(1)).fit(X, Y)
    assert [one["n_neighbors"] for one in alone.cv_results_["params"]] == [1]
    assert (
        KNeighborsClassifierCV(cv=LeaveOut()).fit(X[:9], Y[:9]).cv_results_["params"][-1]["n_neighbors"]
        == 8
    )
    assert KNeighborsClassifierCV([5]).fit(X, np.ones(30)).best_score_ == pytest.approx(1, abs=1e-11)
    same = KNeighborsClassifierCV([1, 5], scaling="standard").fit(np.ones((20, 2)), np.arange(20) % 2)
    assert same.best_score_ < 0.5


GROUPS = np.arange(30) % 10


def test_groups_are_routed():
    whole = KNeighborsClassifierCV([1, 3], cv=LeaveGroupsOut(GROUPS)).fit(X, Y)
    model = KNeighborsClassifierCV([1, 3], cv=ms.LeaveOneGroupOut())
    np.testing.assert_allclose(scores(model.fit(X, Y, groups=GROUPS)), scores(whole), rtol=1e-12)
    outer = ms.GroupKFold(3)
    wanted = []
    for train, test in outer.split(X, Y, GROUPS):
        fitted = clone(model).fit(X[train], Y[train], groups=GROUPS[train])
        wanted.append(fitted.score(X[test], Y[test]))
    with sklearn.config_context(enable_metadata_routing=True):
        found = ms.cross_validate(model, X, Y, params={"groups": GROUPS}, cv=outer, error_score="raise")
        assert found["test_score"].tolist() == wanted
        assert model.tuned_score(X, Y, groups=GROUPS, cv=outer).score == pytest.approx(np.mean(wanted))
    assert model.tuned_score(X, Y, groups=GROUPS, cv=outer).score == pytest.approx(np.mean(wanted))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # few groups
        cv = ms.GroupKFold(5, shuffle=True)  # of equal groups: a design that leaves out groups
        many, labels = data(0, 60)
        asked = {"groups": np.arange(60) // 3}
        model = KNeighborsClassifierCV([1, 3], cv=cv, choose="one-standard-error")
        found = model.fit(many, labels, **asked)
        same = expected_score(found.best_estimator_, many, labels, cv=cv, **asked)
        assert found.best_score_interval_ == pytest.approx(tuple(same.confidence_interval()))


def test_the_tuned_score_repeats_the_choice():
    model = KNeighborsClassifierCV([1, 3, 7], scaling=[None, "standard"])
    splits = list(ms.StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
    wanted = [clone(model).fit(X[train], Y[train]).score(X[test], Y[test]) for train, test in splits]
    assert model.tuned_score(X, Y, cv=splits).score == pytest.approx(np.mean(wanted))
    found = model.tuned_score(X, Y, n_runs=2, random_state=5)
    assert found.score == model.tuned_score(X, Y, n_runs=2, random_state=5).score
    assert (found.n_runs, found.is_exact, found.std_error > 0) == (2, False, True)
    plain = KNeighborsClassifierCV([1, 3, 7], cv=ms.LeaveOneOut(), metric=["euclidean", "chebyshev"])
    runs = plain.tuned_score(X, Y, random_state=2)
    nested = knnccv.tuned_score(X, Y, [1, 3, 7], 5, metric=["euclidean", "chebyshev"], random_state=2)
    assert (runs.score, runs.n_runs) == (nested.score, nested.n_runs)
