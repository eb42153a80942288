"""Feature selection inside the folds, against a plain loop, scikit-learn's pipelines and complete_cv."""

import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from problems import drawn_folds

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    ScreenedCV,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    monte_carlo_cv,
    screened_cv,
)
from knnccv.driver import AVERAGES

DESIGNS = [
    KFold(4),
    StratifiedKFold(3),
    Subsample(9),
    StratifiedSubsample(per_class=2),
    LeaveOut(3),
    LeaveOut(1),
]


def gaussian(n_items=60, n_features=40, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_items, n_features)), rng.permutation(np.arange(n_items) % n_classes)


def small_integers(seed):
    """Make data with many ties and three classes with text labels."""
    rng = np.random.default_rng(seed)
    y = np.array(["c", "a", "b"])[rng.permutation(np.arange(15) % 3)]
    return rng.integers(0, 3, (15, 6)).astype(float), y


def two_smallest_sums(X, y):
    """Select two columns that depend on samples and labels, in any order."""
    sums = X[y == y[0]].sum(axis=0) - X.sum(axis=0) / 3
    return np.argsort(sums, kind="stable")[1::-1]


def everything(X, _):
    return np.ones(X.shape[1], bool)


def folds_of(design, y, runs):
    """Return the (training, tested) samples of the next run; leave-one-out leaves out every sample."""
    items = range(len(y))
    if design == LeaveOut(1):
        return [([i for i in items if i != x], [x]) for x in items]
    fold = next(runs)
    return [
        ([i for i in items if fold[i] != f], [i for i in items if fold[i] == f])
        for f in range(fold.max() + 1)
    ]


def naive_run(X, y, select, folds, k):
    """Return the mean share of correct votes as a Fraction, and how often each column was selected."""
    chosen = Counter()
    scores = []
    for train, test in folds:
        columns = [int(c) for c in select(X[train], y[train])]
        chosen.update(columns)
        right = 0
        for x in test:
            order = sorted((sum(Fraction(X[x, c] - X[i, c]) ** 2 for c in columns), i) for i in train)
            votes = Counter(y[i] for _, i in order[:k])
            right += min(votes, key=lambda label: (-votes[label], label)) == y[x]
        scores.append(Fraction(right, len(test)))
    return sum(scores) / len(scores), chosen


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_against_a_literal_loop(design, k):
    X, y = small_integers(k)
    result = screened_cv(
        X, y, two_smallest_sums, design, n_neighbors=k, n_repeats=5, random_state=3, n_jobs=2
    )
    runs = iter(drawn_folds(design, y, 5, 3))
    total = Counter()
    n_sets = 0
    for run in range(5):
        folds = folds_of(design, y, runs)
        score, chosen = naive_run(X, y, two_smallest_sums, folds, k)
        assert result.scores[run] == pytest.approx(float(score), abs=1e-14)
        total += chosen
        n_sets += len(folds)
    assert result.n_train_sets == n_sets
    np.testing.assert_array_equal(result.selection_counts, [total[c] for c in range(6)])
    assert result.selection_counts.sum() == 2 * n_sets
    assert result.score == pytest.approx(result.scores.mean())
    assert result.n_repeats == 5
    assert result.standard_error == pytest.approx(result.scores.std(ddof=1) / np.sqrt(5))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
@pytest.mark.parametrize(("cv", "k"), [(5, 1), (KFold(4), 3), (Subsample(0.7), 4)])
def test_against_a_pipeline_of_scikit_learn(cv, k, metric):
    pytest.importorskip("sklearn")
    from sklearn.feature_selection import SelectKBest
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    X, y = gaussian(seed=1, n_classes=3)
    found = screened_cv(
        X, y, SelectKBest(k=5), cv, n_neighbors=k, metric=metric, n_repeats=4, random_state=7
    )
    vote = KNeighborsClassifier(k, algorithm="brute", metric=metric)
    design = StratifiedKFold(5) if cv == 5 else cv
    assert found.design == repr(design)
    runs = iter(drawn_folds(design, y, 4, 7))
    for run in range(4):
        folds = folds_of(design, y, runs)
        each = cross_val_score(make_pipeline(SelectKBest(k=5), vote), X, y, cv=folds)
        assert found.scores[run] == pytest.approx(each.mean(), abs=1e-14)
    assert found.selection_counts.sum() == 5 * found.n_train_sets


class TwoFaced:
    """Transforms the samples that it is fitted to in another way, as TargetEncoder does."""

    def fit(self, *_):
        return self

    def transform(self, X):
        return X[:, :3]

    def fit_transform(self, X, y):
        return X[:, :3] + y[:, None]


def test_transformers_are_fitted_in_every_fold():
    pytest.importorskip("sklearn")
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = gaussian(seed=2)
    X = X * np.arange(1, 41)
    vote = KNeighborsClassifier(1, algorithm="brute", metric="manhattan")
    for step in (
        make_pipeline(StandardScaler(), SelectKBest(k=4)),
        PCA(3, svd_solver="full"),
        TwoFaced(),
    ):
        found = screened_cv(X, y, step, KFold(5), metric="manhattan", n_repeats=2, random_state=0)
        runs = iter(drawn_folds(KFold(5), y, 2, 0))
        for run in range(2):
            each = cross_val_score(make_pipeline(step, vote), X, y, cv=folds_of(KFold(5), y, runs))
            assert found.scores[run] == pytest.approx(each.mean(), abs=1e-14)
        assert found.selection_counts is None
        assert "training sets with transformed features" in repr(found)


@pytest.mark.parametrize("design", [KFold(7), 5, Subsample(0.5), StratifiedSubsample(0.6), LeaveOut(4)])
@pytest.mark.parametrize("average", AVERAGES)
def test_with_all_columns_the_mean_is_that_of_complete_cv(design, average):
    X, y = gaussian(61, 2, seed=5, n_classes=3)
    X[:, 0] += y
    exact = complete_cv(X, y, "knn", design, n_neighbors=3, average=average).score
    found = screened_cv(
        X, y, everything, design, n_neighbors=3, average=average, n_repeats=400, random_state=2
    )
    assert 0 < found.standard_error < 0.015
    assert abs(found.score - exact) < 4 * found.standard_error
    twin = monte_carlo_cv(
        X, y, "knn", design, n_neighbors=3, average=average, n_repeats=400, random_state=2, ties="index"
    )
    np.testing.assert_allclose(found.scores, twin.scores, rtol=0, atol=1e-13)


def test_leaving_one_out_is_exact():
    X, y = gaussian(41, 3, seed=6)
    groups = np.arange(41) // 4
    for design, same in (
        (LeaveOut(1), LeaveOut(1)),
        (KFold(41), LeaveOut(1)),
        (LeaveGroupsOut(groups), LeaveGroupsOut(groups)),
    ):
        exact = complete_cv(X, y, "knn", same, n_neighbors=3, ties="index")
        found = screened_cv(X, y, everything, design, n_neighbors=3, n_repeats=2)
        np.testing.assert_allclose(found.scores, exact.score, rtol=0, atol=1e-14)
        assert found.n_train_sets == 2 * (11 if isinstance(design, LeaveGroupsOut) else 41)


def test_leaving_two_groups_out():
    X, y = gaussian(30, 2, seed=8)
    design = LeaveGroupsOut(np.arange(30) // 4, p=2)
    found = screened_cv(X, y, everything, design, n_neighbors=2, n_repeats=20, random_state=4)
    twin = monte_carlo_cv(X, y, "knn", design, n_neighbors=2, n_repeats=20, random_state=4)
    np.testing.assert_allclose(found.scores, twin.scores, rtol=0, atol=1e-14)


def test_the_wrong_way_is_far_too_good_and_this_one_is_not():
    X, y = gaussian(50, 2000, seed=9)

    def best(X, y):
        return np.argsort(-np.abs((y - y.mean()) @ (X - X.mean(axis=0)) / X.std(axis=0)))[:50]

    wrong = complete_cv(X[:, best(X, y)], y, "nn", 5).score
    right = screened_cv(X, y, best, 5, n_repeats=20, random_state=0).score
    assert wrong > 0.9
    assert right < 0.75


def test_the_selector_sees_the_training_items_only():
    """It gets copies of them, and of the labels of the caller."""
    X, y = small_integers(0)
    seen = []

    def note(X_train, y_train):
        seen.append((X_train.copy(), y_train.tolist()))
        X_train[:] = -1
        y_train[:] = "z"
        return [0, 2]

    first = screened_cv(X, y, note, KFold(3), n_repeats=2, random_state=0, n_jobs=1)
    runs = iter(drawn_folds(KFold(3), y, 2, 0))
    training = [train for _ in range(2) for train, _ in folds_of(KFold(3), y, runs)]
    assert len(seen) == 6
    for (rows, labels), train in zip(seen, training, strict=True):
        np.testing.assert_array_equal(rows, X[train])
        assert labels == y[train].tolist()
    again = screened_cv(X, y, lambda *_: [0, 2], KFold(3), n_repeats=2, random_state=0)
    np.testing.assert_array_equal(first.scores, again.scores)


def test_threads_and_seeds(monkeypatch):
    X, y = gaussian(50, 60, seed=3)
    one = screened_cv(X, y, two_smallest_sums, random_state=5, n_repeats=12, n_jobs=1)
    for n_jobs in (2, 3, None):
        other = screened_cv(X, y, two_smallest_sums, random_state=5, n_repeats=12, n_jobs=n_jobs)
        np.testing.assert_array_equal(other.scores, one.scores)
        np.testing.assert_array_equal(other.selection_counts, one.selection_counts)
    monkeypatch.setattr(
        "knnccv.montecarlo._feature_selection.BLOCK_BYTES", 8 * 40 * 3
    )  # three rows at a time
    blocks = screened_cv(X, y, two_smallest_sums, random_state=np.random.default_rng(5), n_repeats=12)
    np.testing.assert_array_equal(blocks.scores, one.scores)
    assert (screened_cv(X, y, two_smallest_sums, random_state=6, n_repeats=12).scores != one.scores).any()


def test_masks_indices_and_their_order_are_one():
    X, y = gaussian(40, 5, seed=4)
    ways = [
        lambda *_: [3, 0, 4],
        lambda *_: np.array([0, 3, 4], np.uint8),
        lambda *_: np.array([True, False, False, True, True]),
        lambda *_: (0, 3, 4),
    ]
    found = [screened_cv(X, y, way, n_repeats=3, random_state=0).scores for way in ways]
    for scores in found[1:]:
        np.testing.assert_array_equal(scores, found[0])


class Fitted:
    """A selector outside scikit-learn, which must be copied before it is fitted."""

    def fit(self, X, _):
        assert not hasattr(self, "support_")
        self.support_ = np.arange(X.shape[1]) < 2

    def get_support(self):
        return self.support_


def test_selectors_are_copied():
    X, y = gaussian(20, 4)
    selector = Fitted()
    found = screened_cv(X, y, selector, n_repeats=2, random_state=0, n_neighbors=3)
    assert not hasattr(selector, "support_")
    np.testing.assert_array_equal(found.selection_counts, [10, 10, 0, 0])


def test_the_result_and_its_repr():
    X, y = gaussian(20, 4)
    found = screened_cv(X, y, Fitted(), n_repeats=2, random_state=0, n_neighbors=3)
    assert isinstance(found, ScreenedCV)
    assert float(found) == found.score
    assert f"{found:.3f}" == f"{found.score:.3f}"
    text = repr(found)
    assert "3 nearest neighbors, 2 random runs of StratifiedKFold(n_splits=5)" in text
    assert "2 of 4 columns" in text
    assert f"{found}" == text
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).scores, found.scores)
    one = screened_cv(X, y, lambda *_: [1], LeaveOut(), n_repeats=1)
    assert np.isnan(one.standard_error)
    assert "1 nearest neighbor, 1 random run of LeaveOut(p=1)" in repr(one)
    assert "1 of 4 columns" in repr(one)


class NoTransform:
    def fit(self, *_):
        return self


class Broken:
    """Transforms to a given value."""

    def __init__(self, make):
        self.make = make

    def fit(self, *_):
        return self

    def transform(self, X):
        return self.make(X)


class Sparse:
    shape = (1, 1)

    def tocsr(self):
        return self


def failing(*_):
    msg = "no luck"
    raise ZeroDivisionError(msg)


BAD_SELECTORS = [
    (lambda *_: [], ValueError, "select returned no column"),
    (lambda *_: np.zeros(4, bool), ValueError, "select returned no column"),
    (lambda *_: None, TypeError, "must return column indices or a mask, got None"),
    (lambda *_: np.ones(3, bool), ValueError, r"a mask must have shape \(4,\), got shape \(3,\)"),
    (lambda *_: [[0, 1]], ValueError, r"column indices must have one dimension, got shape \(1, 2\)"),
    (lambda *_: 2, ValueError, r"column indices must have one dimension, got shape \(\)"),
    (lambda *_: [[0, 1], [2]], ValueError, "column indices or a mask in a rectangular array"),
    (lambda *_: [0, 4], ValueError, "columns must be between 0 and 3, got 4"),
    (lambda *_: [-1], ValueError, "columns must be between 0 and 3, got -1"),
    (lambda *_: [2, 0, 2], ValueError, "column 2 was selected 2 times"),
    (lambda *_: [0.0, 1.0], TypeError, "column indices or a mask, got dtype float64"),
    (lambda *_: ["a"], TypeError, "column indices or a mask, got dtype <U1"),
    ("best", TypeError, "select must be a function .* got 'best'"),
    (3, TypeError, "select must be a function .* got 3"),
    (Fitted, TypeError, "select must be an instance, got the class Fitted; call it first"),
    (NoTransform(), TypeError, "with fit and get_support or transform.* got .*NoTransform"),
    (failing, ZeroDivisionError, "no luck"),
    (Broken(lambda X: X[:, 0]), ValueError, r"must transform 40 samples into .* got shape \(40,\)"),
    (Broken(lambda X: X[1:]), ValueError, r"must transform 40 samples into .* got shape \(39, 4\)"),
    (Broken(lambda X: X[:, :0]), ValueError, r"must transform 40 samples into .* got shape \(40, 0\)"),
    (
        Broken(lambda X: X[:, : len(X) // 10]),
        ValueError,
        "the same columns, got 4 for training samples and 1 for tested",
    ),
    (Broken(lambda X: X * np.nan), ValueError, "every value must be finite"),
    (Broken(lambda _: Sparse()), TypeError, "sparse"),
]


@pytest.mark.parametrize(("select", "error", "message"), BAD_SELECTORS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_selectors_that_are_refused(select, error, message, n_jobs):
    X, y = gaussian(50, 4)
    with pytest.raises(error, match=message):
        screened_cv(X, y, select, StratifiedKFold(5), n_repeats=2, n_jobs=n_jobs)


def test_errors_of_selectors_name_run_and_fold():
    X, y = gaussian(50, 4)
    with pytest.raises(ZeroDivisionError) as caught:
        screened_cv(X, y, failing, KFold(5), n_repeats=2, n_jobs=1)
    assert caught.value.__notes__ == ["select failed on the 40 training samples of run 0, fold 0"]


WRONG = [
    ({"n_neighbors": 0}, ValueError, "n_neighbors must be between 1 and 40"),
    ({"n_neighbors": 41}, ValueError, "n_neighbors must be between 1 and 40.* got 41"),
    ({"n_neighbors": 2.5}, TypeError, "n_neighbors must be an integer"),
    ({"n_repeats": 0}, ValueError, "n_repeats must be at least 1, got 0"),
    ({"random_state": "x"}, TypeError, "random_state must be None, an integer"),
    ({"metric": "euclid"}, ValueError, "did you mean 'euclidean'"),
    ({"metric": "precomputed"}, ValueError, "needs the features .* 'precomputed'"),
    ({"metric": "minkowski", "metric_params": {"q": 2}}, TypeError, "takes no parameter 'q'"),
    ({"metric": lambda *_: np.nan}, ValueError, "every value must be finite"),
    ({"cv": 1}, ValueError, "n_splits must be at least 2, got 1"),
    ({"cv": KFold(51)}, ValueError, "n_splits must be between 2 and 50"),
    ({"cv": "five"}, TypeError, "cv must be a number of folds or a design"),
    ({"average": "folds"}, ValueError, "average must be one of"),
    ({"n_jobs": 0}, ValueError, "n_jobs"),
    ({"progress": 1}, TypeError, "progress must be True or False"),
    ({"y": np.zeros(49)}, ValueError, "X has 50 samples, but y has 49 labels"),
    ({"y": np.full(50, 0.5)}, TypeError, "class labels must be whole numbers"),
    ({"X": np.full((50, 2), np.nan)}, ValueError, r"X\[0, 0\] is nan; every value must be finite"),
    ({"X": np.zeros(50)}, ValueError, r"X must have shape \(n_items, n_features\)"),
    ({"X": Neighbors.from_data(np.zeros((50, 1)))}, TypeError, "needs the features .* got <?Neighbors"),
]


@pytest.mark.parametrize(("changed", "error", "message"), WRONG)
def test_arguments_that_are_refused(changed, error, message):
    X, y = gaussian(50, 4)
    asked = {"X": X, "y": y, "select": everything, **changed}
    with pytest.raises(error, match=message):
        screened_cv(**asked)


def test_a_metric_that_depends_on_the_columns_chosen():
    """Cosine distances of three columns, written out."""
    X, y = gaussian(40, 6, seed=2)
    found = screened_cv(X, y, lambda *_: [1, 3, 4], KFold(4), metric="cosine", random_state=0, n_repeats=3)
    rows = X[:, [1, 3, 4]] / np.linalg.norm(X[:, [1, 3, 4]], axis=1, keepdims=True)
    runs = iter(drawn_folds(KFold(4), y, 3, 0))
    for run in range(3):
        right = []
        for train, test in folds_of(KFold(4), y, runs):
            nearest = np.array(train)[(rows[test] @ rows[train].T).argmax(axis=1)]
            right.append(np.mean(y[nearest] == y[test]))
        assert found.scores[run] == pytest.approx(np.mean(right))


def test_messages_on_leaks_name_screened_cv():
    """`complete_cv` cannot detect that X was screened, but it refuses a selector."""
    pytest.importorskip("sklearn")
    from sklearn.feature_selection import SelectKBest
    from sklearn.model_selection import KFold as Shuffled
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from knnccv import surface
    from knnccv.sklearn import expected_score

    X, y = gaussian()
    way = r"7\.10\.2.*knnccv\.screened_cv"
    for step in (SelectKBest(k=3), make_pipeline(StandardScaler(), SelectKBest(k=3))):
        for ask in (complete_cv, monte_carlo_cv, surface):
            with pytest.raises(TypeError, match=rf"metric is \w+.*{way}"):
                ask(X, y, metric=step)
            with pytest.raises(TypeError, match=rf"X is \w+.*{way}"):
                ask(step, y)
        pipeline = make_pipeline(step, KNeighborsClassifier(1))
        for settings in ({}, {"transductive": True}):
            with pytest.raises(ValueError, match=way):
                expected_score(pipeline, X, y, cv=Shuffled(3, shuffle=True), method="exact", **settings)


def test_progress(capsys):
    pytest.importorskip("tqdm")
    X, y = gaussian(20, 4)
    screened_cv(X, y, everything, n_repeats=3, progress=True)
    assert "15/15" in capsys.readouterr().err
