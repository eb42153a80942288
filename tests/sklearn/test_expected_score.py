"""`expected_score`: which data, metrics and splits it takes, and how its ways to compute agree."""

import pickle

import numpy as np
import pandas as pd
import pytest
from bridge import FOLDS, Coin, X, Y, data, exact_score, exact_scorer
from scipy.sparse import csr_array
from sklearn import model_selection as ms
from sklearn.metrics import make_scorer, pairwise_distances, recall_score
from sklearn.neighbors import KNeighborsClassifier as KNN
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import knnccv
from knnccv import InferenceWarning
from knnccv.sklearn import ExpectedScore, expected_score

KINDS = [ms.KFold, ms.StratifiedKFold, ms.ShuffleSplit, ms.StratifiedShuffleSplit]


@pytest.mark.parametrize("method", ["exact", "sampled"])
def test_seeds_and_random_states_of_the_caller_do_not_matter_and_are_unchanged(method):
    state, everybodys = np.random.RandomState(3), np.random.mtrand._rand
    before, world = state.get_state()[1].copy(), everybodys.get_state()[1].copy()
    for make in KINDS:
        options = {"shuffle": True} if make in KINDS[:2] else {}
        scores = set()
        for given in (state, None, 0, 1, np.random):
            cv = make(3, random_state=given, **options)
            found = expected_score(KNN(1), X, Y, cv=cv, method=method, n_runs=2, random_state=0)
            scores.add(found.score)
            assert cv.random_state is given
        assert len(scores) == 1, make
    assert (state.get_state()[1] == before).all()
    assert (everybodys.get_state()[1] == world).all()


@pytest.mark.slow
def test_splits_that_are_always_the_same_are_run():
    groups, estimator = np.arange(30) % 7, make_pipeline(StandardScaler(), KNN(3))
    few = ms.PredefinedSplit(np.repeat([0, 1, -1], [4, 8, 18]))
    given = [(np.arange(0, 20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    for cv in (None, 4, ms.KFold(4), ms.TimeSeriesSplit(3), ms.StratifiedGroupKFold(3), few, given):
        for scoring in (None, ["accuracy", "f1_macro"]):
            for method in ("auto", "sampled"):
                asked = {"cv": cv, "groups": groups if "Group" in repr(cv) else None}
                found = expected_score(estimator, X, Y, scoring=scoring, method=method, **asked)
                for name, one in found.items() if scoring else [(None, found)]:
                    assert one.score == ms.cross_val_score(estimator, X, Y, scoring=name, **asked).mean()
                    told = one.is_exact, one.deterministic, one.std_error, one.result, one.ties
                    assert told == (True, True, 0.0, None, None)
    first, second = ms.cross_val_score(KNN(3), X, Y, cv=few)
    pooled = expected_score(KNN(3), X, Y, cv=few, average="pooled")
    assert pooled.score == pytest.approx((4 * first + 8 * second) / 12)
    assert (
        expected_score(KNN(3), X, Y, cv=iter(given)).score
        == ms.cross_val_score(KNN(3), X, Y, cv=given).mean()
    )


def test_a_splitter_with_random_numbers_of_its_own_is_copied():
    coin = Coin()
    state = coin.rng.bit_generator.state
    assert expected_score(KNN(3), X, Y, cv=coin, n_runs=30).std_error > 0
    assert coin.rng.bit_generator.state == state


def test_a_single_run_has_no_standard_error_and_costs_of_runs_are_those_of_closed_forms():
    assert np.isnan(expected_score(KNN(1), X, Y, cv=FOLDS, method="sampled", n_runs=1).std_error)
    names, costs = np.array(["b", "a"])[Y], [[0, 4], [2, 1]]
    asked = {"cv": ms.LeaveOneOut(), "scoring": costs}
    runs = expected_score(KNN(3), X, names, method="sampled", **asked)
    assert runs.result is None
    assert runs.score == pytest.approx(expected_score(KNN(3), X, names, **asked).score)


def fading(distances):
    return np.exp2(-distances)


def test_distances_and_sparse_data():
    wanted = exact_score(KNN(3), X, Y, cv=FOLDS).score
    rule, D = KNN(3, metric="precomputed"), pairwise_distances(X)
    for estimator in (rule, Pipeline([("vote", rule)])):
        assert exact_score(estimator, D, Y, cv=FOLDS).score == pytest.approx(wanted)
    assert exact_score(KNN(3), csr_array(X), Y, cv=FOLDS).score == wanted
    model = rule.fit(D, Y)
    assert exact_scorer(knnccv.KFold(3))(model, D, Y) == pytest.approx(
        exact_scorer(knnccv.KFold(3))(KNN(3).fit(X, Y), X, Y)
    )


def test_labels_of_any_kind_in_any_container():
    frame = pd.DataFrame(X, columns=list("abc"), index=range(100, 130))
    words = pd.Series(np.array(["no", "yes"])[Y], index=frame.index)
    groups = pd.Series([f"patient {i % 5}" for i in range(30)], index=frame.index)
    for cv in (FOLDS, ms.KFold(3), ms.GroupKFold(2, shuffle=True)):
        grouped = isinstance(cv, ms.GroupKFold)
        wanted = exact_score(KNN(3), X, Y, cv=cv, groups=groups.to_numpy() if grouped else None).score
        for labels in (words.to_numpy(), Y.astype(bool), Y.tolist(), Y[:, None], Y * 5.0):
            found = exact_score(KNN(3), X, labels, cv=cv, groups=groups.tolist() if grouped else None)
            assert found.score == wanted
        for estimator in (KNN(3), make_pipeline(FunctionTransformer(lambda X: X * 1.0), KNN(3))):
            for labels in (words, words.astype("category"), words.astype("string")):
                found = exact_score(estimator, frame, labels, cv=cv, groups=groups if grouped else None)
                assert found.score == wanted
    strata = ms.StratifiedKFold(3, shuffle=True)
    yes = make_scorer(recall_score, pos_label="yes")
    assert (
        exact_score(KNN(1), X, words, cv=strata, scoring=yes).score
        == exact_score(KNN(1), X, Y, cv=strata, scoring="recall").score
    )
    for estimator in (KNN(3), make_pipeline(StandardScaler(), KNN(3))):
        for method in ("auto", "sampled"):
            how = {"cv": strata, "scoring": "neg_brier_score", "method": method, "n_runs": 3}
            words_and_numbers = (expected_score(estimator, X, y, **how).score for y in (words, Y))
            assert len(set(words_and_numbers)) == 1


def test_several_scorings_are_those_asked_alone_with_one_search():
    calls = []

    def metric(a, b):
        calls.append(1)
        return float(np.abs(a - b).sum())

    cv, rule = ms.StratifiedKFold(3, shuffle=True), KNN(3, metric=metric)
    names = ["accuracy", "neg_brier_score", "recall_macro"]
    exact_score(rule, X, Y, cv=cv)
    n_calls = len(calls)
    for scoring in (names, tuple(names), set(names), {"plain": None, "costs": [[0, 1], [2, 0]]}):
        calls.clear()
        found = exact_score(rule, X, Y, cv=cv, scoring=scoring)
        assert len(calls) == n_calls
        assert set(found) == set(scoring)
        for name, one in found.items():
            alone = exact_score(rule, X, Y, cv=cv, scoring=scoring[name] if "costs" in scoring else name)
            assert (one.score, one.error_bound) == (alone.score, alone.error_bound)
    assert list(exact_score(KNN(3), X, Y, cv=cv, scoring=names)) == names
    assert isinstance(exact_score(KNN(3), X, Y, cv=cv, scoring=[[0, 1], [2, 0]]), ExpectedScore)


@pytest.mark.parametrize("seed", [3, np.random.default_rng(0), np.random.RandomState(0), None], ids=str)
def test_several_scorings_are_sampled_on_the_same_splits(seed):
    scorings = {"one": "f1_macro", "same": "f1_macro", "exact": "accuracy"}
    asked = {"cv": ms.ShuffleSplit(4, test_size=0.4), "n_runs": 64, "random_state": seed}
    found = expected_score(KNN(3), X, Y, scoring=scorings, **asked)
    assert found["one"].score == found["same"].score
    assert [found[name].is_exact for name in scorings] == [False, False, True]
    if seed == 3:
        assert expected_score(KNN(3), X, Y, scoring="f1_macro", **asked).score == found["one"].score


def test_log_loss_without_strata_is_exact_where_a_fold_hardly_lacks_a_class():
    many, y = data(0, 400)
    found = exact_score(KNN(3), many, y, cv=ms.KFold(4, shuffle=True), scoring="neg_log_loss")
    whole = knnccv.complete_cv(
        many, y, "confidence", knnccv.KFold(4), ties="index", n_neighbors=3, score="log_loss"
    )
    assert found.is_exact
    assert found.score == -whole.score
    assert whole.error_bound <= found.error_bound < 1e-10
    assert found.standard_error(20) == whole.standard_error(20)


def test_weighted_samples_are_drawn_for_all_outputs_and_scorings():
    """Kinds of folds share the training sets; errors of outputs add up; the same for any threads."""
    many, y = data(1, 70)
    cv, rule = ms.StratifiedKFold(4, shuffle=True), KNN(12, weights=fading)
    asked = {"cv": cv, "n_draws": 50, "random_state": 0}
    found = expected_score(rule, many, y, **asked)
    assert 50 <= found.n_draws <= 54
    again = expected_score(rule, many, y, **asked, n_jobs=2)
    assert (again.score, again.std_error) == (found.score, found.std_error)
    assert expected_score(rule, many, y, **asked | {"random_state": 1}).score != found.score
    with pytest.warns(InferenceWarning, match="fewer than 4 K = 48"):  # halves by random runs
        assert found.standard_error(20) > found.std_error
    several = expected_score(
        KNN(12, weights="distance"), many, y, n_runs=20, **asked,
        scoring=["accuracy", "recall_weighted", "f1_macro"],
    )  # fmt: skip
    assert several["accuracy"].score == several["recall_weighted"].score
    assert (several["f1_macro"].n_draws, several["f1_macro"].n_runs) == (0, 20)
    rule = KNeighborsRegressor(12, weights=fading)
    asked |= {"cv": FOLDS, "scoring": "neg_mean_squared_error"}
    both = expected_score(rule, many, np.column_stack([many[:, 0], y]), **asked)
    assert both.std_error == pytest.approx(np.hypot(*(each.std_error for each in both.result)) / 2)
    assert pickle.loads(pickle.dumps(found)).score == found.score
