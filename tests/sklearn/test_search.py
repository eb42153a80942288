"""`ccv_scorer` and `WholeData` within scikit-learn's own searches."""

import pickle

import numpy as np
import pytest
from exact_bridge import ccv_scorer, expected_score
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest, SequentialFeatureSelector
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import knnccv
from knnccv import StratifiedSubsample, Subsample, complete_cv, surface
from knnccv.datasets import load_wine
from knnccv.sklearn import WholeData

WINE = load_wine()
X, y = WINE.X[::2], WINE.y[::2]


def exact(k, design, seen=X, labels=y, **options):
    return complete_cv(seen, labels, "knn", design, n_neighbors=k, **options).score


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_a_grid_search_agrees_with_the_surface(n_jobs):
    grid = list(range(1, 16))
    search = GridSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": grid},
        scoring=ccv_scorer(Subsample(0.8)),
        cv=WholeData(),
        n_jobs=n_jobs,
    ).fit(X, y)
    whole = surface(X, y, n_neighbors=grid, train_sizes=[0.8])
    best = whole.best()
    assert search.best_params_["n_neighbors"] == best.n_neighbors[0]
    assert np.allclose(
        search.cv_results_["mean_test_score"],
        whole.scores[:, 0],
        rtol=0,
        atol=whole.error_bound.max() + 1e-12,
    )
    assert (search.cv_results_["std_test_score"] == 0).all()
    assert search.best_score_ == exact(best.n_neighbors[0], Subsample(0.8))


def test_metrics_and_weights_are_read():
    grid = {"metric": ["euclidean", "manhattan", "chebyshev"], "weights": ["uniform", "distance"]}
    search = GridSearchCV(KNeighborsClassifier(1), grid, scoring=ccv_scorer(Subsample(0.5)), cv=WholeData())
    found = search.fit(X, y).cv_results_
    for params, score in zip(found["params"], found["mean_test_score"], strict=True):
        assert score == complete_cv(X, y, "nn", Subsample(0.5), metric=params["metric"]).score
    assert len(set(found["mean_test_score"])) == 3


def test_folds_by_number_are_averaged_and_stratified():
    scorer = ccv_scorer(5)
    model = KNeighborsClassifier(3).fit(X, y)
    assert scorer(model, X, y) == exact(3, knnccv.StratifiedKFold(5))
    balanced = ccv_scorer(5, "balanced_accuracy")(model, X, y)
    cv = StratifiedKFold(5, shuffle=True)
    expected = expected_score(model, X, y, cv=cv, scoring="balanced_accuracy").score
    assert balanced == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="ccv_scorer has no exact score: recall_macro of a fold"):
        ccv_scorer(Subsample(0.5), "recall_macro")(model, X, y)
    share = ccv_scorer(StratifiedSubsample(0.5), "balanced_accuracy")(model, X, y)
    assert share == pytest.approx(exact(3, StratifiedSubsample(0.5), average="class"), abs=1e-14)


def test_regression_takes_plain_folds():
    model = KNeighborsRegressor(3).fit(X, X[:, 0])
    found = ccv_scorer(5, "neg_mean_squared_error")(model, X, X[:, 0])
    cv = KFold(5, shuffle=True)
    expected = expected_score(model, X, X[:, 0], cv=cv, scoring="neg_mean_squared_error").score
    assert found == pytest.approx(expected, rel=1e-11)


def test_splitters_of_scikit_learn_and_groups():
    model = KNeighborsClassifier(1).fit(X, y)
    groups = np.arange(len(y)) % 6
    for cv in (ShuffleSplit(test_size=0.25), GroupKFold(3, shuffle=True), KFold(4)):
        used = groups if isinstance(cv, GroupKFold) else None
        found = ccv_scorer(cv, groups=used)(model, X, y)
        assert found == expected_score(model, X, y, cv=cv, groups=used).score
    tied = np.round(X)
    model.fit(tied, y)
    by_index = ccv_scorer(ShuffleSplit(test_size=0.25), ties="index")(model, tied, y)
    by_chance = ccv_scorer(ShuffleSplit(test_size=0.25))(model, tied, y)
    assert by_index == complete_cv(tied, y, "nn", Subsample(66), ties="index").score
    assert by_chance == complete_cv(tied, y, "nn", Subsample(66), ties="random").score


def test_costs_are_negated():
    model = KNeighborsClassifier(3).fit(X, y)
    costs = np.array([[0, 1, 2], [3, 0, 1], [5, 5, 0]])
    assert ccv_scorer(Subsample(0.5), costs)(model, X, y) == -exact(3, Subsample(0.5), loss=costs)


def test_pipelines_are_transductive():
    pipeline = make_pipeline(StandardScaler(), "passthrough", KNeighborsClassifier(3))
    scorer = ccv_scorer(Subsample(0.7), transductive=True)
    found = cross_val_score(pipeline, X, y, scoring=scorer, cv=WholeData())
    seen = StandardScaler().fit_transform(X)
    assert found == [exact(3, Subsample(0.7), seen)]
    assert found[0] != exact(3, Subsample(0.7))
    cv = KFold(4, shuffle=True)
    once = expected_score(pipeline, X, y, cv=cv, transductive=True).score
    assert ccv_scorer(cv, transductive=True)(pipeline.fit(X, y), X, y) == once
    leaking = make_pipeline(SelectKBest(k=2), KNeighborsClassifier(3)).fit(X, y)
    with pytest.raises(ValueError, match="uses the labels"):
        scorer(leaking, X, y)


def test_precomputed_distances():
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    model = KNeighborsClassifier(3, metric="precomputed")
    found = cross_val_score(model, D, y, scoring=ccv_scorer(Subsample(0.7)), cv=WholeData())
    assert found[0] == pytest.approx(exact(3, Subsample(0.7)))


def test_validation_curves_have_no_noise():
    train, test = validation_curve(
        KNeighborsClassifier(),
        X,
        y,
        param_name="n_neighbors",
        param_range=[1, 4, 9],
        scoring=ccv_scorer(Subsample(40)),
        cv=WholeData(),
    )
    assert test[:, 0].tolist() == pytest.approx([exact(k, Subsample(40)) for k in (1, 4, 9)], abs=1e-14)
    assert (train == test).all()


def test_features_are_selected():
    few = X[:, [0, 6, 9, 2]]
    selector = SequentialFeatureSelector(
        KNeighborsClassifier(3), n_features_to_select=2, scoring=ccv_scorer(Subsample(0.7)), cv=WholeData()
    ).fit(few, y)
    first = max(range(4), key=lambda j: exact(3, Subsample(0.7), few[:, [j]]))
    second = max(
        set(range(4)) - {first}, key=lambda j: exact(3, Subsample(0.7), few[:, sorted({first, j})])
    )
    assert selector.get_support(indices=True).tolist() == sorted({first, second})


def test_labels_are_permuted():
    score, permuted, p_value = permutation_test_score(
        KNeighborsClassifier(3),
        X,
        y,
        scoring=ccv_scorer(5),
        cv=WholeData(),
        n_permutations=9,
        random_state=0,
    )
    assert score == exact(3, knnccv.StratifiedKFold(5))
    assert permuted.max() < score
    assert p_value == 0.1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scorers_are_pickled_and_have_a_repr(n_jobs):
    scorer = ccv_scorer(Subsample(0.8), average="pooled", ties="index", n_jobs=n_jobs, method="auto")
    assert repr(scorer) == (
        "ccv_scorer(cv=Subsample(train_size=0.8), scoring=None, average='pooled', ties='index', "
        f"n_jobs={n_jobs})"
    )
    model = KNeighborsClassifier(3).fit(X, y)
    assert pickle.loads(pickle.dumps(scorer))(model, X, y) == scorer(model, X, y)
    assert repr(ccv_scorer(method="auto")) == "ccv_scorer(cv=5, scoring=None)"
    search = clone(GridSearchCV(model, {}, scoring=scorer, cv=WholeData()))
    assert repr(search.cv) == "WholeData()"
    assert pickle.loads(pickle.dumps(WholeData())).get_n_splits() == 1


@pytest.mark.parametrize(
    "score",
    [
        pytest.param(cross_val_score, id="cross_val_score"),
        pytest.param(cross_validate, id="cross_validate"),
        pytest.param(cross_val_predict, id="cross_val_predict"),
        pytest.param(learning_curve, id="learning_curve"),
        pytest.param(permutation_test_score, id="permutation_test_score"),
        pytest.param(
            lambda model, X, y, **how: validation_curve(
                model, X, y, param_name="n_neighbors", param_range=[1], **how
            ),
            id="validation_curve",
        ),
        pytest.param(
            lambda model, X, y, **how: GridSearchCV(model, {"n_neighbors": [1]}, **how).fit(X, y),
            id="search",
        ),
        pytest.param(
            lambda model, X, y, **how: HalvingGridSearchCV(model, {"n_neighbors": [1]}, **how).fit(X, y),
            id="halving",
        ),
        pytest.param(
            lambda model, X, y, **how: SequentialFeatureSelector(model, **how).fit(X, y), id="selector"
        ),
        pytest.param(expected_score, id="expected_score"),
    ],
)
def test_training_scores_are_refused(score):
    with pytest.raises(ValueError, match="WholeData"):
        score(KNeighborsClassifier(1), X, y, cv=WholeData())


def test_only_ordinary_scorers_are_refused():
    model, mine = KNeighborsClassifier(3), ccv_scorer(Subsample(0.8))
    wanted = exact(3, Subsample(0.8))
    for scoring in ("accuracy", make_scorer(balanced_accuracy_score), {"mine": mine, "other": "accuracy"}):
        with pytest.raises(ValueError, match=r"^pass scoring=ccv_scorer\(\.\.\.\) with cv=WholeData\(\)"):
            cross_validate(model, X, y, cv=WholeData(), scoring=scoring)
    found = cross_validate(
        model, X, y, cv=WholeData(), scoring={"one": mine, "two": ccv_scorer(3)}, n_jobs=2
    )
    assert found["test_one"] == [wanted]
    assert cross_val_score(model, X, y, cv=WholeData(), scoring=lambda *args: mine(*args)) == [wanted]
    # The outer folds have an ordinary scorer; that of the search within them counts.
    search = GridSearchCV(model, {"n_neighbors": [1, 3]}, scoring=mine, cv=WholeData())
    assert len(cross_val_score(search, X, y, cv=3, scoring="accuracy", error_score="raise")) == 3


def test_other_samples_than_the_fitted_ones_are_refused():
    scorer = ccv_scorer(Subsample(0.8))
    assert scorer(KNeighborsClassifier(3), X, y) == exact(3, Subsample(0.8))  # not fitted at all
    with pytest.raises(
        ValueError, match=r"got 89 samples and an estimator fitted to 9: .*cv=WholeData\(\)"
    ):
        scorer(KNeighborsClassifier(3).fit(X[:9], y[:9]), X, y)
    with pytest.raises(
        ValueError, match=r"got 89 samples and an estimator fitted to as many other samples"
    ):
        scorer(KNeighborsClassifier(3).fit(X + 1, y), X, y)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"cv": "five"}, TypeError, "cv must be a number of folds, a design or a splitter, got 'five'"),
        ({"cv": 1}, ValueError, "cv must be at least 2, got 1"),
        ({"cv": True}, TypeError, "cv must be an integer, got True"),
        ({"ties": "fair"}, ValueError, "ties must be one of 'index', 'random', got 'fair'"),
        ({"average": "item"}, ValueError, "average must be one of 'folds', 'pooled', got 'item'"),
        ({"tol": -1}, ValueError, r"tol must be in \[0, 1\), got -1"),
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments, error, message):
    with pytest.raises(error, match=message):
        ccv_scorer(**arguments)


def test_other_estimators_are_refused():
    with pytest.raises(
        ValueError, match="ccv_scorer has no exact score: DecisionTreeClassifier is neither"
    ):
        ccv_scorer()(DecisionTreeClassifier().fit(X, y), X, y)
    with pytest.raises(ValueError, match="n_neighbors must be between 1 and 8"):
        ccv_scorer(Subsample(8))(KNeighborsClassifier(9).fit(X, y), X, y)
