"""`ccv_scorer` and `WholeData` within searches of scikit-learn, and grid searches scored by runs."""

import pickle

import numpy as np
import pytest
from bridge import exact_score, exact_scorer
from sklearn import model_selection as ms
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.neighbors import KNeighborsClassifier as KNN
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import knnccv
from knnccv import StratifiedSubsample, Subsample, complete_cv, surface, tuned_score
from knnccv._core.scores.tuning import Inner
from knnccv.datasets import load_wine
from knnccv.sklearn import WholeData, ccv_scorer, expected_score

WINE = load_wine()
X, y = WINE.X[::2], WINE.y[::2]


def exact(k, design, seen=X, labels=y, **options):
    return complete_cv(seen, labels, "knn", design, n_neighbors=k, **options).score


def search(rule, grid, scorer, **options):
    options = {"cv": WholeData(), "error_score": "raise", **options}
    return ms.GridSearchCV(rule, grid, scoring=scorer, **options).fit(X, y)


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_a_grid_search_agrees_with_the_surface(n_jobs):
    grid = list(range(1, 16))
    found = search(KNN(), {"n_neighbors": grid}, exact_scorer(Subsample(0.8)), n_jobs=n_jobs)
    whole = surface(X, y, n_neighbors=grid, train_sizes=[0.8])
    best = whole.best()
    assert found.best_params_["n_neighbors"] == best.n_neighbors[0]
    scores, bound = found.cv_results_["mean_test_score"], whole.error_bound.max() + 1e-12
    np.testing.assert_allclose(scores, whole.scores[:, 0], rtol=0, atol=bound)
    assert (found.cv_results_["std_test_score"] == 0).all()
    assert found.best_score_ == exact(best.n_neighbors[0], Subsample(0.8))


def test_metrics_weights_and_draws_are_read():
    grid = {"metric": ["euclidean", "manhattan", "chebyshev"], "weights": ["uniform", "distance"]}
    found = search(KNN(1), grid, exact_scorer(Subsample(0.5))).cv_results_
    for params, score in zip(found["params"], found["mean_test_score"], strict=True):
        assert score == complete_cv(X, y, "nn", Subsample(0.5), metric=params["metric"]).score
    assert len(set(found["mean_test_score"])) == 3
    grid = {"n_neighbors": [2, 12], "weights": ["uniform", "distance"]}
    drawn = [search(KNN(), grid, ccv_scorer(Subsample(0.5), n_draws=20)) for _ in range(2)]
    scores = [each.cv_results_["mean_test_score"].tolist() for each in drawn]
    assert scores[0] == scores[1]
    assert len(set(scores[0])) > 2


def test_scorers_take_designs_splitters_and_numbers_of_folds():
    groups = np.arange(len(y)) % 6
    model = KNN(3).fit(X, y)
    for cv, scoring in (
        (ms.ShuffleSplit(test_size=0.25), None),
        (ms.GroupKFold(3, shuffle=True), None),
        (ms.KFold(4), None),
        (ms.StratifiedKFold(5, shuffle=True), "balanced_accuracy"),
        (ms.StratifiedKFold(5, shuffle=True), "neg_brier_score"),
    ):
        used = groups if isinstance(cv, ms.GroupKFold) else None
        wanted = exact_score(model, X, y, cv=cv, scoring=scoring, groups=used).score
        assert exact_scorer(cv, scoring, groups=used)(model, X, y) == wanted
    assert exact_scorer(5)(model, X, y) == exact(3, knnccv.StratifiedKFold(5))
    assert exact_scorer(5, "balanced_accuracy")(model, X, y) == pytest.approx(
        exact_score(model, X, y, cv=ms.StratifiedKFold(5, shuffle=True), scoring="balanced_accuracy").score
    )
    assert exact_scorer(5, "recall_macro")(model, X, y) == exact_scorer(5, "balanced_accuracy")(model, X, y)
    share = exact_scorer(StratifiedSubsample(0.5), "balanced_accuracy")(model, X, y)
    assert share == pytest.approx(exact(3, StratifiedSubsample(0.5), average="class"), abs=1e-14)
    costs = np.array([[0, 1, 2], [3, 0, 1], [5, 5, 0]])
    assert exact_scorer(Subsample(0.5), costs)(model, X, y) == -exact(3, Subsample(0.5), loss=costs)
    left_out, every = knnccv.LeaveGroupsOut(groups), ms.LeaveOneGroupOut()
    asked = {"cv": every, "groups": groups, "scoring": "balanced_accuracy"}
    found = ccv_scorer(left_out, "balanced_accuracy")(model, X, y)
    assert found == pytest.approx(exact_score(model, X, y, **asked).score, abs=0.01)
    tied = np.round(X)
    for ties in ("index", "random", None):
        found = exact_scorer(ms.ShuffleSplit(test_size=0.25), ties=ties)(KNN(1).fit(tied, y), tied, y)
        assert found == complete_cv(tied, y, "nn", Subsample(66), ties=ties or "random").score
    values, squared = X[:, 0], "neg_mean_squared_error"
    model = KNeighborsRegressor(3).fit(X, values)
    wanted = exact_score(model, X, values, cv=ms.KFold(5, shuffle=True), scoring=squared).score
    assert exact_scorer(5, squared)(model, X, values) == pytest.approx(wanted, rel=1e-11)


def test_inner_folds_of_groups_get_the_groups():
    groups, outer, rows = np.arange(len(y)) // 6, ms.GroupKFold(3), list(range(len(y)))
    search = ms.GridSearchCV(KNN(), {"n_neighbors": [1, 9]}, cv=ms.GroupKFold(4))
    scores = [
        search.fit(X[train], y[train], groups=groups[train]).score(X[test], y[test])
        for train, test in outer.split(rows, y, groups)
    ]
    for model in (search, make_pipeline("passthrough", search)):
        assert exact_score(model, X, y, cv=outer, groups=groups).score == pytest.approx(np.mean(scores))


def test_several_scorers_of_a_search():
    cv, names = ms.StratifiedKFold(3, shuffle=True), ["recall_macro", "neg_brier_score"]
    scorers = {name: exact_scorer(cv, name) for name in names}
    found = search(KNN(), {"n_neighbors": [1, 3]}, scorers, refit="recall_macro").cv_results_
    for name in names:
        wanted = [exact_score(KNN(k), X, y, cv=cv, scoring=name).score for k in (1, 3)]
        assert found[f"mean_test_{name}"].tolist() == wanted


def test_functions_of_scikit_learn_have_no_noise():
    scorer = exact_scorer(Subsample(0.7), transductive=True)
    pipeline = make_pipeline(StandardScaler(), "passthrough", KNN(3))
    found = ms.cross_val_score(pipeline, X, y, scoring=scorer, cv=WholeData())
    assert found == [exact(3, Subsample(0.7), StandardScaler().fit_transform(X))]
    train, test = ms.validation_curve(
        KNN(), X, y, param_name="n_neighbors", param_range=[1, 4, 9], scoring=scorer, cv=WholeData()
    )
    assert test[:, 0].tolist() == pytest.approx([exact(k, Subsample(0.7)) for k in (1, 4, 9)], abs=1e-14)
    assert (train == test).all()
    score, permuted, pvalue = ms.permutation_test_score(
        KNN(3), X, y, scoring=exact_scorer(5), cv=WholeData(), n_permutations=9, random_state=0
    )
    assert score == exact(3, knnccv.StratifiedKFold(5)) > permuted.max()
    assert pvalue == 0.1
    few = X[:, [0, 6, 9, 2]]
    selector = SequentialFeatureSelector(KNN(3), n_features_to_select=2, scoring=scorer, cv=WholeData())
    first = max(range(4), key=lambda j: exact(3, Subsample(0.7), few[:, [j]]))
    pairs = [sorted({first, j}) for j in set(range(4)) - {first}]
    best = max(pairs, key=lambda pair: exact(3, Subsample(0.7), few[:, pair]))
    assert selector.fit(few, y).get_support(indices=True).tolist() == best


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scorers_and_splitters_can_be_copied(n_jobs):
    scorer = exact_scorer(Subsample(0.8), average="pooled", ties="index", n_jobs=n_jobs)
    model = KNN(3)  # not fitted at all
    assert pickle.loads(pickle.dumps(scorer))(model, X, y) == scorer(model, X, y)
    copied = clone(ms.GridSearchCV(model, {}, scoring=scorer, cv=WholeData()))
    assert repr(copied.cv) == "WholeData()"
    assert pickle.loads(pickle.dumps(WholeData())).get_n_splits() == 1


def test_scores_of_the_scorer_are_those_of_the_whole_data():
    """The transcript has the training scores, which are refused."""
    model, mine, wanted = KNN(3), exact_scorer(Subsample(0.8)), exact(3, Subsample(0.8))
    both = {"one": mine, "two": exact_scorer(3)}
    assert ms.cross_validate(model, X, y, cv=WholeData(), scoring=both)["test_one"] == [wanted]
    own = ms.cross_val_score(model, X, y, cv=WholeData(), scoring=lambda *args: mine(*args))
    assert own == [wanted]
    # The outer folds have an ordinary scorer; that of the search within them counts.
    inner = ms.GridSearchCV(model, {"n_neighbors": [1, 3]}, scoring=mine, cv=WholeData())
    assert len(ms.cross_val_score(inner, X, y, cv=3, scoring="accuracy", error_score="raise")) == 3


KS = {"n_neighbors": [5, 1, 3]}
FOLDS, PLAIN = ms.StratifiedKFold(4, shuffle=True), ms.KFold(3, shuffle=True)
SMALL, CLASSES = X[::2, :3], y[::2]


def grid_search(rule=None, grid=KS, **settings):
    return ms.GridSearchCV(KNN(algorithm="kd_tree") if rule is None else rule, grid, **settings)


def test_grid_searches_are_tuned_scores():
    """What a search asks is read: its score is that of `tuned_score` with the same arguments and seed."""
    by_p = grid_search(KNN(p=1), [KS], cv=3, scoring="accuracy")
    metrics = {"metric": ["cosine", "minkowski"]}
    ours, plain = knnccv.StratifiedKFold, knnccv.KFold
    for given, cv, expected in (
        (grid_search(cv=ms.LeaveOneOut()), FOLDS, ([5, 1, 3], ours(4), "euclidean", Inner())),
        (
            grid_search(),
            ms.KFold(3, shuffle=True),
            ([5, 1, 3], plain(3), "euclidean", Inner(5, True, False)),
        ),
        (by_p, ms.RepeatedKFold(n_splits=7), ([5, 1, 3], plain(7), "manhattan", Inner(3, True, False))),
        (
            grid_search(grid=metrics, cv=ms.KFold(2, shuffle=True, random_state=0)),
            ms.RepeatedStratifiedKFold(n_splits=3, n_repeats=9),
            (5, ours(3), ["cosine", "euclidean"], Inner(2, False, True)),
        ),
    ):
        found = expected_score(given, SMALL, CLASSES, cv=cv, n_runs=100, random_state=3)
        ks, design, metric, inner = expected
        asked = {"metric": metric, "inner_cv": inner, "n_runs": 100, "random_state": 3}
        wanted = tuned_score(SMALL, CLASSES, ks, design, **asked)
        assert (found.score, found.std_error) == (wanted.score, wanted.std_error), given
        assert (found.n_runs, found.is_exact) == (100, False)


def test_searches_behind_steps_of_single_rows_and_by_costs():
    asked = {"cv": FOLDS, "n_runs": 15, "random_state": 3}
    search = grid_search(cv=ms.LeaveOneOut())
    found = expected_score(make_pipeline(Normalizer(), search), SMALL, CLASSES, **asked)
    assert found.score == expected_score(search, Normalizer().transform(SMALL), CLASSES, **asked).score
    costs = expected_score(search, SMALL, CLASSES, scoring=1 - np.eye(3), **asked)
    plain = expected_score(search, SMALL, CLASSES, **asked)
    assert abs(costs.score + plain.score - 1) < 4 * np.hypot(costs.std_error, plain.std_error)
