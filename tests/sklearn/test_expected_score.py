"""`expected_score`: estimators, pipelines, metrics, scorings, and the messages of refusals."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest
from exact_bridge import expected_score
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    make_scorer,
    mean_squared_error,
    pairwise_distances,
    zero_one_loss,
)
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NeighborhoodComponentsAnalysis,
    RadiusNeighborsClassifier,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

import knnccv
from knnccv import complete_cv
from knnccv.sklearn import ExpectedScore

FOLDS = KFold(3, shuffle=True)


def data(seed=0, n_items=30, n_classes=2, n_features=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_classes
    X = rng.normal(size=(n_items, n_features)) + y[:, None] * 0.7
    order = rng.permutation(n_items)
    return X[order], y[order]


def means_apart(found, estimator, X, y, cv, n_runs=60, **kwargs):
    """Return the difference between expectation and runs of scikit-learn in standard errors."""
    means = [
        cross_val_score(
            estimator, X, y, cv=type(cv)(cv.n_splits, shuffle=True, random_state=seed), **kwargs
        ).mean()
        for seed in range(n_runs)
    ]
    error = np.std(means, ddof=1) / np.sqrt(n_runs)
    assert 0 < error < 0.02
    return abs(found.score - np.mean(means)) / error


def test_the_result_and_its_repr():
    X, y = data()
    found = expected_score(KNeighborsClassifier(3), X, y, cv=FOLDS)
    assert isinstance(found, ExpectedScore)
    assert float(found) == found.score == found.result.score
    assert f"{found:.3f}" == f"{found.score:.3f}"
    assert (found.exact, found.std_error, found.deterministic) == (True, 0.0, False)
    assert found.n_repeats == 0
    assert found.average == "folds"
    assert found.design == "KFold(n_splits=3, random_state=None, shuffle=True)"
    assert found.design in found.explanation
    assert "whatever its seed" in repr(found)
    assert repr(found).startswith(f"<ExpectedScore {found.score:.6g} (error at most ")
    with pytest.raises(AttributeError):
        found.score = 1.0


def test_a_seed_does_not_matter():
    X, y = data()
    scores = {
        expected_score(
            KNeighborsClassifier(3), X, y, cv=StratifiedKFold(4, shuffle=True, random_state=s)
        ).score
        for s in (None, 0, 1, np.random.RandomState(5), np.random)
    }
    assert len(scores) == 1


@pytest.mark.parametrize("method", ["exact", "mc"])
@pytest.mark.parametrize("make", [KFold, StratifiedKFold, ShuffleSplit, StratifiedShuffleSplit])
def test_random_states_of_the_caller_are_unchanged(make, method):
    X, y = data()
    state = np.random.RandomState(3)
    everybodys = np.random.mtrand._rand
    before, world = state.get_state()[1].copy(), everybodys.get_state()[1].copy()
    options = {"shuffle": True} if make in (KFold, StratifiedKFold) else {}
    for given in (state, None):
        cv = make(3, random_state=given, **options)
        expected_score(KNeighborsClassifier(1), X, y, cv=cv, method=method, n_repeats=2, random_state=0)
        assert cv.random_state is given
    assert (state.get_state()[1] == before).all()
    assert (everybodys.get_state()[1] == world).all()


@pytest.mark.parametrize(
    "cv", [None, 4, KFold(4), StratifiedKFold(4), TimeSeriesSplit(3), StratifiedGroupKFold(3)]
)
@pytest.mark.parametrize("scoring", [None, "f1_macro"])
@pytest.mark.parametrize("method", ["exact", "auto", "mc"])
def test_deterministic_splits_are_run(cv, scoring, method):
    X, y = data(4)
    groups = np.arange(30) % 7 if isinstance(cv, StratifiedGroupKFold) else None
    estimator = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    found = expected_score(estimator, X, y, cv=cv, scoring=scoring, method=method, groups=groups)
    wanted = cross_val_score(estimator, X, y, cv=cv, scoring=scoring, groups=groups).mean()
    assert found.score == wanted
    assert (found.exact, found.deterministic, found.std_error, found.result) == (True, True, 0.0, None)
    assert "(deterministic)" in repr(found)
    assert "nothing was averaged" in repr(found)


def test_the_explanation_names_the_shuffled_splitter():
    X, y = data()
    classified = expected_score(KNeighborsClassifier(3), X, y)
    assert "StratifiedKFold(5, shuffle=True) would be averaged over all shuffles" in classified.explanation
    regressed = expected_score(KNeighborsRegressor(3), X, y)  # R², as nothing has to be linear here
    assert "; KFold(5, shuffle=True) would be averaged over all shuffles" in regressed.explanation
    assert regressed.score == cross_val_score(KNeighborsRegressor(3), X, y).mean()


def test_given_splits_are_run():
    X, y = data()
    splits = [(np.arange(0, 20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    estimator = KNeighborsClassifier(3)
    wanted = cross_val_score(estimator, X, y, cv=splits)
    assert expected_score(estimator, X, y, cv=iter(splits)).score == wanted.mean()
    fold = PredefinedSplit(np.repeat([0, 1, -1], [4, 8, 18]))
    wanted = cross_val_score(estimator, X, y, cv=fold)
    assert expected_score(estimator, X, y, cv=fold).score == wanted.mean()
    pooled = expected_score(estimator, X, y, cv=fold, average="pooled")
    assert pooled.score == pytest.approx((4 * wanted[0] + 8 * wanted[1]) / 12)


class Coin:
    """A splitter that draws random numbers without a `random_state`."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def split(self, X, *_):
        order = self.rng.permutation(len(X))
        yield order[5:], order[:5]

    def get_n_splits(self, *_):
        return 1


def test_a_splitter_that_changes_is_detected():
    X, y = data()
    with pytest.raises(ValueError, match="change from run to run"):
        expected_score(KNeighborsClassifier(3), X, y, cv=Coin())
    coin = Coin()
    state = coin.rng.bit_generator.state
    found = expected_score(KNeighborsClassifier(3), X, y, cv=coin, method="auto", n_repeats=30)
    assert found.std_error > 0
    assert coin.rng.bit_generator.state == state


def test_random_splitters_without_a_law_are_refused():
    X, y = data()
    cv = StratifiedGroupKFold(3, shuffle=True)
    groups = np.arange(30) % 9
    with pytest.raises(ValueError, match=r"method='auto'.*StratifiedGroupKFold\(.*no closed form"):
        expected_score(KNeighborsClassifier(3), X, y, cv=cv, groups=groups)
    found = expected_score(KNeighborsClassifier(3), X, y, cv=cv, groups=groups, method="auto", n_repeats=3)
    assert (found.exact, found.n_repeats, found.error_bound) == (False, 3, None)


class Third(KFold):
    """A user's subclass of KFold, which may do anything."""


def test_subclasses_are_not_treated_as_their_base():
    X, y = data()
    with pytest.raises(ValueError, match="Third"):
        expected_score(KNeighborsClassifier(3), X, y, cv=Third(3, shuffle=True))
    assert expected_score(KNeighborsClassifier(3), X, y, cv=Third(3)).deterministic


def test_leave_p_out_has_every_scoring():
    X, y = data(n_items=12)
    groups = np.repeat([0, 1, 2], 4)
    for cv in (LeaveOneGroupOut(), LeavePGroupsOut(2), LeavePOut(2)):
        used = groups if "Group" in repr(cv) else None
        found = expected_score(KNeighborsClassifier(1), X, y, cv=cv, scoring="f1_weighted", groups=used)
        wanted = cross_val_score(KNeighborsClassifier(1), X, y, cv=cv, scoring="f1_weighted", groups=used)
        assert found.score == wanted.mean()
        assert found.deterministic
    with pytest.raises(ValueError, match=r"f1_macro.*has no exact expectation here"):
        expected_score(KNeighborsClassifier(1), *data(n_items=60), cv=LeavePOut(5), scoring="f1_macro")
    with pytest.raises(ValueError, match=r"goes through 5\.5e\+6 splits"):
        expected_score(KNeighborsClassifier(1), *data(n_items=60), cv=LeavePOut(5), method="mc")


def test_few_splits_of_groups_have_every_scoring_and_pipeline():
    X, y = data()
    groups = np.repeat(np.arange(6), 5)
    estimator = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    cv = GroupShuffleSplit(test_size=2)
    found = expected_score(estimator, X, y, cv=cv, groups=groups, scoring="f1")
    splits = list(LeavePGroupsOut(2).split(X, y, groups))
    assert found.score == pytest.approx(cross_val_score(estimator, X, y, cv=splits, scoring="f1").mean())
    assert (found.exact, found.deterministic) == (True, False)


@pytest.mark.slow
def test_sampled_scores_have_a_standard_error():
    X, y = data()
    cv = ShuffleSplit(4, test_size=0.4)
    exact = expected_score(KNeighborsClassifier(1), X, y, cv=cv)
    found = expected_score(KNeighborsClassifier(1), X, y, cv=cv, method="mc", n_repeats=40, random_state=1)
    again = expected_score(KNeighborsClassifier(1), X, y, cv=cv, method="mc", n_repeats=40, random_state=1)
    assert found.score == again.score
    assert 0 < found.std_error < 0.03
    assert abs(found.score - exact.score) < 4 * found.std_error
    assert (found.exact, found.n_repeats, found.error_bound, found.ties) == (False, 40, None, None)
    assert "±" in repr(found)
    one = expected_score(KNeighborsClassifier(1), X, y, cv=cv, method="mc", n_repeats=1, random_state=2)
    assert math.isnan(one.std_error)


@pytest.mark.slow
def test_pooled_samples_weight_folds_by_their_size():
    X, y = data(1, n_items=14)
    groups = np.repeat([0, 1, 2, 3], [1, 2, 4, 7])
    cv = GroupShuffleSplit(3, test_size=1)
    for average in ("folds", "pooled"):
        exact = expected_score(KNeighborsClassifier(1), X, y, cv=cv, groups=groups, average=average)
        options = {"method": "mc", "n_repeats": 100, "random_state": np.random.RandomState(0)}
        found = expected_score(
            KNeighborsClassifier(1), X, y, cv=cv, groups=groups, average=average, **options
        )
        assert abs(found.score - exact.score) < 4 * found.std_error
        if average == "folds":
            first = exact.score
    assert abs(first - exact.score) > 1e-3
    with pytest.raises(ValueError, match="average='pooled' of scikit-learn"):
        expected_score(KNeighborsClassifier(1), X, y, cv=FOLDS, scoring="f1", average="pooled", method="mc")


def test_any_estimator_can_be_sampled():
    X, y = data()
    for estimator in (DecisionTreeClassifier(), RadiusNeighborsClassifier(5.0)):
        with pytest.raises(ValueError, match=f"{type(estimator).__name__} is neither KNeighbors"):
            expected_score(estimator, X, y, cv=FOLDS)
        found = expected_score(estimator, X, y, cv=FOLDS, method="auto", n_repeats=3, random_state=0)
        assert not found.exact
        assert "is neither KNeighborsClassifier nor" in found.explanation


@pytest.mark.parametrize("k", [1, 2])
def test_weights_by_distance_of_one_or_two_neighbors(k):
    X, y = data(2)
    found = expected_score(KNeighborsClassifier(k, weights="distance"), X, y, cv=FOLDS)
    assert found.score == expected_score(KNeighborsClassifier(1), X, y, cv=FOLDS).score
    assert means_apart(found, KNeighborsClassifier(k, weights="distance"), X, y, FOLDS) < 4


def test_two_neighbors_by_distance_that_tie_in_leave_one_out():
    """In leave-one-out the training set is known, and with it the order of tied samples."""
    X, y = np.array([[0.0], [1.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    estimator = KNeighborsClassifier(2, weights="distance")
    found = expected_score(estimator, X, y, cv=KFold(4, shuffle=True))
    assert found.score == 0.25  # the first is right: its two neighbors tie, and 0 wins
    assert found.exact


def test_two_neighbors_by_distance_that_tie():
    X, y = data(3, n_items=12, n_features=1)
    X = np.round(X)
    estimator = KNeighborsClassifier(2, weights="distance")
    groups = np.arange(12) % 4  # here every split is looked at by itself
    found = expected_score(estimator, X, y, cv=LeaveOneGroupOut(), groups=groups)
    D = np.abs(X - X.T)
    scores = []
    for group in range(4):
        train, test = np.flatnonzero(groups != group), np.flatnonzero(groups == group)
        right = 0
        for x in test:
            near = train[np.argsort(D[x, train], kind="stable")[:2]]
            tie = D[x, near[0]] == D[x, near[1]]
            right += (min(y[near]) if tie else y[near[0]]) == y[x]
        scores.append(right / len(test))
    assert found.score == pytest.approx(np.mean(scores), abs=1e-14)


METRICS = [
    {"p": 1},
    {"p": 3},
    {"p": np.inf},
    {"metric": "chebyshev"},
    {"metric": "cosine"},
    {"metric": "canberra"},
    {"metric": "minkowski", "metric_params": {"w": np.array([1.0, 5.0, 0.2])}},
    {"metric": "seuclidean", "metric_params": {"V": np.array([1.0, 5.0, 0.2])}},
    {"metric": lambda a, b: float(np.abs(a - b).max())},
]


@pytest.mark.parametrize("options", METRICS, ids=[str(i) for i in range(len(METRICS))])
def test_metrics_are_scikit_learns(options):
    X, y = data(5, n_items=14)
    found = expected_score(KNeighborsClassifier(3, **options), X, y, cv=LeaveOneOut())
    wanted = cross_val_score(KNeighborsClassifier(3, **options), X, y, cv=LeaveOneOut()).mean()
    assert found.score == pytest.approx(wanted)


def test_metrics_differ():
    X, y = data(5, n_items=40)
    X[:, 1] *= 40
    scores = {str(o): expected_score(KNeighborsClassifier(1, **o), X, y, cv=FOLDS).score for o in METRICS}
    assert len(set(scores.values())) >= 6


def test_precomputed_distances():
    X, y = data(6)
    D = pairwise_distances(X)
    found = expected_score(KNeighborsClassifier(3, metric="precomputed"), D, y, cv=FOLDS)
    assert found.score == pytest.approx(expected_score(KNeighborsClassifier(3), X, y, cv=FOLDS).score)
    alone = Pipeline([("vote", KNeighborsClassifier(3, metric="precomputed"))])
    assert expected_score(alone, D, y, cv=FOLDS).score == found.score
    for first in ("passthrough", StandardScaler()):
        both = Pipeline([("first", first), ("vote", KNeighborsClassifier(3, metric="precomputed"))])
        with pytest.raises(ValueError, match="metric='precomputed'"):
            expected_score(both, D, y, cv=FOLDS)


def test_metrics_with_parameters_of_the_compared_samples():
    X, y = data()
    for metric in ("seuclidean", "mahalanobis"):
        with pytest.raises(ValueError, match="would depend on the split"):
            expected_score(KNeighborsClassifier(3, metric=metric, algorithm="brute"), X, y, cv=FOLDS)


def test_scorings_that_are_linear():
    X, y = data(n_classes=3)
    cv = StratifiedKFold(3, shuffle=True)
    estimator = KNeighborsClassifier(3)

    def score(scoring):
        return expected_score(estimator, X, y, cv=cv, scoring=scoring).score

    accuracy = score(None)
    assert 0.2 < accuracy < 1
    assert score("accuracy") == accuracy
    assert score(make_scorer(accuracy_score, greater_is_better=False)) == -accuracy
    assert score(make_scorer(zero_one_loss)) == pytest.approx(1 - accuracy)
    assert score(make_scorer(zero_one_loss, greater_is_better=False)) == pytest.approx(accuracy - 1)
    assert score(1 - np.eye(3)) == pytest.approx(1 - accuracy)
    assert score([[1, 0, 0], [0, 1, 0], [0, 0, 1]]) == pytest.approx(accuracy)
    assert score("balanced_accuracy") == score(make_scorer(balanced_accuracy_score))
    distances = (np.arange(3)[:, None] - np.arange(3)) ** 2
    assert score("neg_mean_squared_error") == pytest.approx(-score(distances))
    assert score(make_scorer(mean_squared_error)) == pytest.approx(score(distances))


@pytest.mark.parametrize(
    "scoring",
    [
        "f1_macro",
        "roc_auc",
        make_scorer(log_loss, response_method="predict_proba", normalize=False),
        "matthews_corrcoef",
        make_scorer(f1_score),
        make_scorer(balanced_accuracy_score, adjusted=True),
        make_scorer(accuracy_score, normalize=False),
    ],
)
def test_scorings_that_are_not(scoring):
    X, y = data()
    with pytest.raises(ValueError, match="has no exact expectation here"):
        expected_score(KNeighborsClassifier(3), X, y, cv=FOLDS, scoring=scoring)
    found = expected_score(
        KNeighborsClassifier(3), X, y, cv=FOLDS, scoring=scoring, method="auto", n_repeats=2, random_state=0
    )
    assert not found.exact


@pytest.mark.parametrize("scoring", [None, "r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"])
def test_scorings_of_regression_that_are_not(scoring):
    X, y = data()
    name = "R²" if scoring is None else scoring
    with pytest.raises(ValueError, match=f"{name}.* has no exact expectation here"):
        expected_score(KNeighborsRegressor(3), X, y, cv=FOLDS, scoring=scoring)


def test_scorers_with_unknown_functions_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match=r"the function of the scorer .* is unknown"):
        expected_score(KNeighborsClassifier(3), X, y, cv=FOLDS, scoring=lambda e, X, y: e.score(X, y))


def test_recall_of_all_classes_needs_fixed_numbers():
    X, y = data()
    for cv in (KFold(3, shuffle=True), ShuffleSplit(3)):
        with pytest.raises(ValueError, match="use a stratified splitter with enough samples"):
            expected_score(KNeighborsClassifier(1), X, y, cv=cv, scoring="recall_macro")
    single = expected_score(
        KNeighborsClassifier(1), X, y, cv=ShuffleSplit(test_size=1), scoring="balanced_accuracy"
    )
    assert single.score == expected_score(KNeighborsClassifier(1), X, y, cv=LeaveOneOut()).score


def test_costs_of_runs_are_the_same():
    X, y = data(n_classes=3)
    names = np.array(["c", "a", "b"])[y]
    costs = [[0, 1, 4], [2, 0, 1], [7, 3, 0]]
    runs = expected_score(KNeighborsClassifier(3), X, names, cv=LeaveOneOut(), scoring=costs, method="mc")
    assert runs.result is None
    assert runs.score == pytest.approx(
        expected_score(KNeighborsClassifier(3), X, names, cv=LeaveOneOut(), scoring=costs).score
    )
    with pytest.raises(ValueError, match=r"shape \(3, 3\) for 3 classes"):
        expected_score(KNeighborsClassifier(3), X, names, cv=FOLDS, scoring=np.eye(2))
    with pytest.raises(ValueError, match="matrix of costs is for classifiers"):
        expected_score(KNeighborsRegressor(3), X, y, cv=FOLDS, scoring=np.eye(3))


@pytest.mark.parametrize(
    "first",
    [
        "passthrough",
        None,
        Normalizer(),
        Binarizer(threshold=0.2),
        FunctionTransformer(np.abs),
        FunctionTransformer(),
    ],
    ids=str,
)
def test_stateless_steps_are_applied_in_advance(first):
    X, y = data(7)
    pipeline = Pipeline([("first", first), ("vote", KNeighborsClassifier(1))])
    found = expected_score(pipeline, X, y, cv=LeaveOneOut())
    assert "closed form" in found.explanation
    if isinstance(first, Binarizer):
        seen = (X > 0.2).astype(float)
        assert found.score == complete_cv(seen, y, "nn", knnccv.LeaveOut(1), ties="index").score
    else:
        assert found.score == pytest.approx(cross_val_score(pipeline, X, y, cv=LeaveOneOut()).mean())


def test_a_function_that_mixes_rows_is_detected():
    X, y = data()
    centered = make_pipeline(FunctionTransformer(lambda X: X - X.mean(axis=0)), KNeighborsClassifier(1))
    with pytest.raises(ValueError, match="depends on the other samples"):
        expected_score(centered, X, y, cv=FOLDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", [StandardScaler(), PCA(2), VarianceThreshold(), PolynomialFeatures()], ids=str
)
def test_steps_that_are_fitted_are_refused_or_fitted_once(first):
    X, y = data(8)
    X[:, 0] *= 30
    pipeline = Pipeline([("nothing", "passthrough"), ("first", first), ("vote", KNeighborsClassifier(1))])
    with pytest.raises(
        ValueError, match=r"method='auto'.*transductive=True.*'first' would be fitted .*7\.10\.2"
    ):
        expected_score(pipeline, X, y, cv=FOLDS)
    found = expected_score(pipeline, X, y, cv=FOLDS, transductive=True)
    seen = first.fit_transform(X)
    assert found.score == expected_score(KNeighborsClassifier(1), seen, y, cv=FOLDS).score
    assert found.explanation.startswith("the steps first fitted once to all samples")
    sampled = expected_score(pipeline, X, y, cv=FOLDS, method="auto", n_repeats=40, random_state=0)
    inside = "scaled within the folds" if isinstance(first, StandardScaler) else "steps are fitted to every"
    assert (sampled.exact, inside in sampled.explanation) == (False, True)
    runs = [
        cross_val_score(pipeline, X, y, cv=KFold(3, shuffle=True, random_state=s)).mean() for s in range(40)
    ]
    error = np.hypot(sampled.std_error, np.std(runs) / np.sqrt(40))
    assert abs(sampled.score - np.mean(runs)) < 6 * error


class Leak(TransformerMixin, BaseEstimator):
    """A transformer that needs labels, without the tag for it."""

    def fit(self, X, y):
        self.means_ = [X[y == c].mean(axis=0) for c in np.unique(y)]
        return self

    def transform(self, X):
        return np.stack([((X - mean) ** 2).sum(axis=1) for mean in self.means_], axis=1)


LOOKERS = [
    SelectKBest(k=1),
    LinearDiscriminantAnalysis(),
    NeighborhoodComponentsAnalysis(max_iter=2),
    TargetEncoder(cv=2),
    SelectFromModel(DecisionTreeClassifier()),
    FeatureUnion([("best", SelectKBest(k=1)), ("scaled", StandardScaler())]),
    make_pipeline(StandardScaler(), SelectKBest(k=1)),
    Leak(),
]


@pytest.mark.parametrize("first", LOOKERS, ids=lambda step: type(step).__name__)
def test_steps_that_use_labels_are_refused_even_if_transductive(first):
    X, y = data(9)
    pipeline = Pipeline([("first", first), ("vote", KNeighborsClassifier(1))])
    with pytest.raises(ValueError, match="would be fitted to every training set, so the distances"):
        expected_score(pipeline, X, y, cv=FOLDS)
    for method in ("exact", "auto"):
        with pytest.raises(ValueError, match=r"'first' \(\w+\) uses the labels.*leak"):
            expected_score(pipeline, X, y, cv=FOLDS, transductive=True, method=method)


def test_errors_of_transductive_steps_propagate():
    X, y = data()
    pipeline = make_pipeline(PCA(70), KNeighborsClassifier(1))
    with pytest.raises(ValueError, match="n_components=70"):
        expected_score(pipeline, X, y, cv=FOLDS, transductive=True)


@pytest.mark.parametrize(
    "cv",
    [
        LeavePOut(6),
        KFold(2, shuffle=True),
        KFold(2),
        StratifiedShuffleSplit(test_size=6),
        LeaveOneGroupOut(),
    ],
)
@pytest.mark.parametrize("method", ["exact", "mc", "auto"])
def test_k_must_fit_into_every_training_set(cv, method):
    X, y = data(n_items=8)
    groups = [0] * 7 + [1] if isinstance(cv, LeaveOneGroupOut) else None
    if isinstance(cv, StratifiedShuffleSplit):
        cv = StratifiedShuffleSplit(test_size=5)
    estimator = KNeighborsClassifier(7)
    with pytest.raises(ValueError, match=r"n_neighbors must be between 1 and \d, the size of .* got 7"):
        expected_score(estimator, X, y, cv=cv, groups=groups, method=method, n_repeats=2)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"method": "best"}, ValueError, "method must be one of 'exact', 'mc', 'auto', got 'best'"),
        ({"average": "item"}, ValueError, "average must be one of 'folds', 'pooled', got 'item'"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be at least 1, got 0"),
        ({"transductive": 1}, TypeError, "transductive must be True or False, got 1"),
        ({"tol": 2}, ValueError, r"tol must be in \[0, 1\), got 2"),
        ({"random_state": "x", "method": "mc"}, TypeError, "random_state must be None, an integer"),
        ({"cv": knnccv.KFold(5)}, TypeError, r"knnccv's own KFold\(n_splits=5\): use knnccv.complete_cv"),
        ({"cv": True}, TypeError, "cv must be a number of folds, a splitter or splits, got True"),
        ({"cv": KFold}, TypeError, "cv must be a number of folds, a splitter or splits, got <class"),
        ({"cv": "five"}, ValueError, "Expected .?cv.? as an integer"),
        ({"cv": 90}, ValueError, "n_splits=90"),
        ({"cv": GroupKFold(2, shuffle=True)}, ValueError, "'groups' parameter should not be None"),
        ({"scoring": "acuracy"}, ValueError, "acuracy"),
        ({"scoring": 5}, TypeError, r"scoring must be None, a name, a scorer or a matrix"),
        ({"scoring": ["accuracy", "f1"]}, ValueError, r"no exact expected score of 'f1': f1 has no exact"),
        ({"scoring": ["accuracy", "accuracy"]}, ValueError, r"several scorings must have different names"),
        ({"scoring": []}, ValueError, r"scoring must name at least one scoring, got \[\]"),
        ({"scoring": {}}, ValueError, r"scoring must name at least one scoring, got \{\}"),
        (
            {"scoring": ["accuracy", 3]},
            TypeError,
            r"several scorings must be a list of names, or a mapping",
        ),
        (
            {"scoring": {1: "accuracy"}},
            TypeError,
            r"several scorings must be a list of names, or a mapping",
        ),
        ({"scoring": {"a": "acuracy"}}, ValueError, r"acuracy"),
        (
            {"estimator": KNeighborsClassifier},
            TypeError,
            "got the class KNeighborsClassifier; call it first",
        ),
        ({"estimator": KNeighborsClassifier(2.5)}, TypeError, "n_neighbors must be an integer, got 2.5"),
        ({"y": np.arange(7)}, ValueError, r"y must have shape \(30,\) for 30 samples, got shape \(7,\)"),
        (
            {"y": np.zeros((30, 2), int)},
            ValueError,
            r"y has shape \(30, 2\): several labels for each sample",
        ),
    ],
)
def test_wrong_arguments_are_refused(changed, error, message):
    X, y = data()
    asked = {
        "estimator": KNeighborsClassifier(3),
        "X": X,
        "y": y,
        "cv": FOLDS,
        "scoring": "accuracy",
    } | changed
    with pytest.raises(error, match=message):
        expected_score(asked.pop("estimator"), asked.pop("X"), asked.pop("y"), **asked)


@pytest.mark.filterwarnings("ignore:Precomputed sparse input was not sorted")
def test_sparse_data_are_sampled_where_their_metric_is_not_served():
    from scipy.sparse import csr_array

    X, y = data()
    found = expected_score(KNeighborsClassifier(3), csr_array(X), y, cv=FOLDS)
    assert found.score == expected_score(KNeighborsClassifier(3), X, y, cv=FOLDS).score
    for options in (
        {"p": 3},
        {"metric": "precomputed"},
        {"metric": "minkowski", "metric_params": {"w": X[0]}},
    ):
        with pytest.raises(ValueError, match=r"X is sparse, which is exact for .*; pass X.toarray\(\)"):
            expected_score(KNeighborsClassifier(3, **options), csr_array(X), y, cv=FOLDS)
    vote = KNeighborsClassifier(3, metric="precomputed")
    graph = csr_array(pairwise_distances(X))
    assert not expected_score(vote, graph, y, cv=FOLDS, method="auto", n_repeats=2).exact


def test_stratified_regression_is_sampled():
    X, y = data()
    cv = StratifiedKFold(3, shuffle=True)
    options = {"scoring": "neg_mean_squared_error", "cv": cv}
    with pytest.raises(ValueError, match="stratified splits of a regression have no closed form"):
        expected_score(KNeighborsRegressor(3), X, y, **options)
    assert not expected_score(KNeighborsRegressor(3), X, y, method="auto", n_repeats=2, **options).exact


def test_too_many_splits_of_groups():
    X, y = data(n_items=60)
    cv = GroupShuffleSplit(test_size=10)
    groups = np.append(np.arange(30), np.full(30, 29))
    for k, average in ((3, "pooled"), (1, "folds")):
        with pytest.raises(
            ValueError, match=r"3\.0e\+7 splits, too many.*average='pooled'.*mean of ratios"
        ):
            expected_score(KNeighborsClassifier(k), X, y, cv=cv, groups=groups, average=average)


@pytest.mark.slow
@pytest.mark.parametrize("equal", [True, False])
def test_the_nearest_neighbor_of_many_groups(equal):
    X, y = data(10, n_items=60)
    groups = np.repeat(np.arange(30), 2) if equal else np.append(np.arange(30), np.arange(30) // 3)
    D = pairwise_distances(X)
    cases = [GroupShuffleSplit(4000, test_size=10, random_state=0), GroupKFold(4, shuffle=True)]
    for cv in cases:
        found = expected_score(KNeighborsClassifier(1), X, y, cv=cv, groups=groups, average="pooled")
        right, tested = [], []
        for seed in range(1 if isinstance(cv, GroupShuffleSplit) else 1500):
            if isinstance(cv, GroupKFold):
                cv = GroupKFold(4, shuffle=True, random_state=seed)
            for train, test in cv.split(X, y, groups):
                right.append((y[train[D[np.ix_(test, train)].argmin(axis=1)]] == y[test]).sum())
                tested.append(len(test))
        off = np.subtract(right, found.score * np.array(tested)) / np.mean(tested)
        assert abs(off.mean()) < 4 * off.std() / np.sqrt(len(off))
        if equal:
            folds = expected_score(
                KNeighborsClassifier(1), X, y, cv=GroupShuffleSplit(test_size=10), groups=groups
            )
            pooled = expected_score(
                KNeighborsClassifier(1),
                X,
                y,
                cv=GroupShuffleSplit(test_size=10),
                groups=groups,
                average="pooled",
            )
            assert folds.score == pooled.score


def test_labels_of_any_kind():
    X, y = data()
    wanted = expected_score(KNeighborsClassifier(3), X, y, cv=FOLDS).score
    for labels in (np.array(["no", "yes"])[y], y.astype(bool), y.tolist(), y[:, None], y.astype(float) * 5):
        assert expected_score(KNeighborsClassifier(3), X, labels, cv=FOLDS).score == wanted


def test_data_frames_and_their_columns():
    pd = pytest.importorskip("pandas")
    X, y = data()
    groups = pd.Series([f"patient {i % 5}" for i in range(30)], index=range(100, 130))
    frame = pd.DataFrame(X, columns=list("abc"), index=range(100, 130))
    labels = pd.Series(np.array(["no", "yes"])[y], index=frame.index)
    pipeline = make_pipeline(FunctionTransformer(np.abs), KNeighborsClassifier(3))
    for estimator in (KNeighborsClassifier(3), pipeline):
        for cv in (FOLDS, KFold(3), GroupKFold(2, shuffle=True)):
            used = groups if isinstance(cv, GroupKFold) else None
            given = None if used is None else used.to_numpy()
            for kind in (labels, labels.astype("category"), labels.astype("string")):
                found = expected_score(estimator, frame, kind, cv=cv, groups=used)
                assert found.score == expected_score(estimator, X, y, cv=cv, groups=given).score


@pytest.mark.slow
def test_regression_lies_among_its_runs():
    X, _ = data(11)
    y = X @ [1.0, -2.0, 0.5] + np.random.default_rng(0).normal(size=30)
    options = {"scoring": "neg_mean_squared_error"}
    found = expected_score(KNeighborsRegressor(3), X, y, cv=FOLDS, **options)
    sampled = expected_score(
        KNeighborsRegressor(3), X, y, cv=FOLDS, method="mc", n_repeats=200, random_state=0, **options
    )
    assert abs(found.score - sampled.score) < 4 * sampled.std_error


def test_the_module_is_lazy_and_does_not_hide_scikit_learn():
    code = (
        "import sys, knnccv\n"
        "assert 'sklearn' not in sys.modules\n"
        "import knnccv.sklearn as ours\n"
        "assert 'sklearn' not in sys.modules\n"
        "assert knnccv.sklearn is ours and ours.expected_score\n"
        "import sklearn\n"
        "assert sklearn is not ours\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_scikit_learn_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    from exact_bridge import ccv_scorer

    message = re.escape("pip install 'knnccv[sklearn]'")
    with pytest.raises(ImportError, match=message):
        expected_score(None, [[0.0]], [0])
    with pytest.raises(ImportError, match=message):
        ccv_scorer()


def test_designs_refuse_splitters_and_say_where_to_go():
    X, y = data()
    with pytest.raises(
        TypeError, match=r"use knnccv's own design of that name, or knnccv\.sklearn\.expected_score"
    ):
        complete_cv(X, y, "nn", FOLDS)
