"""Feature selection inside the folds, against a plain loop, scikit-learn's pipelines and random runs."""

import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from problems import drawn_folds
from seeds import seeds
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    monte_carlo_cv,
    screened_cv,
)
from knnccv._core.driver import AVERAGES

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
def test_runs_are_those_of_a_literal_loop(design):
    for seed in seeds(3):
        X, y = small_integers(seed)
        k = (1, 2, 4)[seed % 3]
        asked = {"n_neighbors": k, "n_runs": 5, "random_state": seed, "n_jobs": 2}
        result = screened_cv(X, y, two_smallest_sums, design, **asked)
        runs = iter(drawn_folds(design, y, 5, seed))
        total, n_sets = Counter(), 0
        for run in range(5):
            folds = folds_of(design, y, runs)
            score, chosen = naive_run(X, y, two_smallest_sums, folds, k)
            assert result.scores[run] == pytest.approx(float(score), abs=1e-14), seed
            total += chosen
            n_sets += len(folds)
        assert result.n_train_sets == n_sets
        np.testing.assert_array_equal(result.selection_counts, [total[c] for c in range(6)])
        assert result.score == pytest.approx(result.scores.mean())
        assert result.n_runs == 5
        assert result.std_error == pytest.approx(result.scores.std(ddof=1) / np.sqrt(5))


class TwoFaced:
    """Transforms the samples that it is fitted to in another way, as TargetEncoder does."""

    def fit(self, *_):
        return self

    def transform(self, X):
        return X[:, :3]

    def fit_transform(self, X, y):
        return X[:, :3] + y[:, None]


@pytest.mark.parametrize(
    ("step", "cv", "k", "metric"),
    [
        (SelectKBest(k=5), 5, 1, "euclidean"),
        (SelectKBest(k=5), KFold(4), 3, "cosine"),
        (SelectKBest(k=3), Subsample(0.7), 4, "chebyshev"),
        (make_pipeline(StandardScaler(), SelectKBest(k=4)), KFold(5), 1, "manhattan"),
        (PCA(3, svd_solver="full"), KFold(5), 2, "manhattan"),
        (TwoFaced(), KFold(5), 1, "manhattan"),
    ],
)
def test_steps_are_fitted_in_every_fold_as_in_a_pipeline(step, cv, k, metric):
    X, y = gaussian(seed=1, n_classes=3)
    X = X * np.arange(1, 41)
    asked = {"n_neighbors": k, "metric": metric, "n_runs": 3, "random_state": 7}
    found = screened_cv(X, y, step, cv, **asked)
    vote = KNeighborsClassifier(k, algorithm="brute", metric=metric)
    design = StratifiedKFold(5) if cv == 5 else cv
    assert found.design == repr(design)
    runs = iter(drawn_folds(design, y, 3, 7))
    for run in range(3):
        each = cross_val_score(make_pipeline(step, vote), X, y, cv=folds_of(design, y, runs))
        assert found.scores[run] == pytest.approx(each.mean(), abs=1e-14)
    if isinstance(step, SelectKBest):
        assert found.selection_counts.sum() == step.k * found.n_train_sets
    else:
        assert found.selection_counts is None


def test_with_all_columns_runs_are_those_of_monte_carlo_cv():
    X, y = gaussian(61, 2, seed=5, n_classes=3)
    groups = np.arange(61) // 4
    designs = [
        KFold(7),
        5,
        Subsample(0.5),
        StratifiedSubsample(0.6),
        LeaveOut(4),
        LeaveGroupsOut(groups, 2),
    ]
    for design in designs:
        for average in AVERAGES[: 1 if isinstance(design, LeaveGroupsOut) else 3]:
            asked = {"n_neighbors": 3, "average": average, "n_runs": 9, "random_state": 2}
            found = screened_cv(X, y, everything, design, **asked)
            twin = monte_carlo_cv(X, y, "knn", design, ties="index", **asked)
            np.testing.assert_allclose(found.scores, twin.scores, rtol=0, atol=1e-13)
    for design, n_sets in ((LeaveOut(1), 61), (KFold(61), 61), (LeaveGroupsOut(groups), 16)):
        same = LeaveOut(1) if n_sets == 61 else design
        exact = complete_cv(X, y, "knn", same, n_neighbors=3, ties="index")
        found = screened_cv(X, y, everything, design, n_neighbors=3, n_runs=2)
        np.testing.assert_allclose(found.scores, exact.score, rtol=0, atol=1e-14)
        assert found.n_train_sets == 2 * n_sets


def test_the_selector_sees_the_training_items_only():
    """It gets copies of them, and of the labels of the caller."""
    X, y = small_integers(0)
    seen = []

    def note(X_train, y_train):
        seen.append((X_train.copy(), y_train.tolist()))
        X_train[:] = -1
        y_train[:] = "z"
        return [0, 2]

    first = screened_cv(X, y, note, KFold(3), n_runs=2, random_state=0, n_jobs=1)
    runs = iter(drawn_folds(KFold(3), y, 2, 0))
    training = [train for _ in range(2) for train, _ in folds_of(KFold(3), y, runs)]
    assert len(seen) == 6
    for (rows, labels), train in zip(seen, training, strict=True):
        np.testing.assert_array_equal(rows, X[train])
        assert labels == y[train].tolist()
    again = screened_cv(X, y, lambda *_: [0, 2], KFold(3), n_runs=2, random_state=0)
    np.testing.assert_array_equal(first.scores, again.scores)


def test_seeds_blocks_and_ways_to_name_columns(monkeypatch):
    X, y = gaussian(50, 60, seed=3)
    one = screened_cv(X, y, two_smallest_sums, random_state=5, n_runs=4)
    assert (screened_cv(X, y, two_smallest_sums, random_state=6, n_runs=4).scores != one.scores).any()
    ways = [
        lambda *_: [3, 0, 4],
        lambda *_: np.array([0, 3, 4], np.uint8),
        lambda *_: np.isin(np.arange(60), [0, 3, 4]),
        lambda *_: (0, 3, 4),
    ]
    named = [screened_cv(X, y, way, n_runs=3, random_state=0).scores.tolist() for way in ways]
    assert named == [named[0]] * 4
    three_rows = 8 * 40 * 3
    monkeypatch.setattr("knnccv._core.scores.montecarlo._monte_carlo.BLOCK_BYTES", three_rows)
    blocks = screened_cv(X, y, two_smallest_sums, random_state=np.random.default_rng(5), n_runs=4)
    np.testing.assert_array_equal(blocks.scores, one.scores)


class Fitted:
    """A selector outside scikit-learn, which must be copied before it is fitted."""

    def fit(self, X, _):
        assert not hasattr(self, "support_")
        self.support_ = np.arange(X.shape[1]) < 2

    def get_support(self):
        return self.support_


def test_selectors_are_copied_and_results_are_numbers(capsys):
    X, y = gaussian(20, 4)
    selector = Fitted()
    found = screened_cv(X, y, selector, n_runs=2, random_state=0, n_neighbors=3, progress=True)
    assert "10/10" in capsys.readouterr().err
    assert not hasattr(selector, "support_")
    np.testing.assert_array_equal(found.selection_counts, [10, 10, 0, 0])
    assert float(found) == found.score
    assert f"{found:.3f}" == f"{found.score:.3f}"
    assert f"{found}" == repr(found)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).scores, found.scores)
    assert np.isnan(screened_cv(X, y, lambda *_: [1], LeaveOut(), n_runs=1).std_error)


def test_errors_of_selectors_name_run_and_fold():
    X, y = gaussian(50, 4)
    for n_jobs in (1, 2):
        with pytest.raises(ZeroDivisionError) as caught:
            screened_cv(X, y, lambda *_: 1 / 0, KFold(5), n_runs=2, n_jobs=n_jobs)
        (note,) = caught.value.__notes__
        assert note.startswith("select failed on the 40 training samples of run 0, fold ")
