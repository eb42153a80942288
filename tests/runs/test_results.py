"""`CompleteCV.runs` and `Comparison.misranked`: runs against scikit-learn and against the exact mean."""

import pickle

import numpy as np
import pytest
from problems import drawn_folds

from knnccv import KFold, LeaveGroupsOut, StratifiedKFold, Subsample, compare, complete_cv
from knnccv.designs import Design


def blobs(n_items, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_items)
    return rng.normal(size=(n_items, 3)) + 0.8 * y[:, None], y


@pytest.mark.parametrize(
    ("design", "n_classes"), [(KFold(5), 2), (StratifiedKFold(3), 4), (Subsample(0.6), 3)]
)
def test_runs_equal_scikit_learn_split_by_split(design, n_classes):
    neighbors = pytest.importorskip("sklearn.neighbors")
    metrics = pytest.importorskip("sklearn.metrics")
    X, y = blobs(90, n_classes)
    result = complete_cv(X, y, "knn", design, n_neighbors=4)
    runs = result.runs(20, random_state=7)
    for run, folds in enumerate(drawn_folds(design, y, 20, 7)):
        scores, tables = [], []
        for fold in range(folds.max() + 1):
            train, test = folds != fold, folds == fold
            model = neighbors.KNeighborsClassifier(4, algorithm="brute").fit(X[train], y[train])
            predicted = model.predict(X[test])
            scores.append(np.mean(predicted == y[test]))
            tables.append(metrics.confusion_matrix(y[test], predicted, labels=np.arange(n_classes)))
        assert runs.scores[run] == pytest.approx(np.mean(scores), abs=1e-13)
        np.testing.assert_array_equal(runs.confusions[run], np.sum(tables, axis=0))


CASES = [
    ("knn", {"n_neighbors": 4, "loss": [[0, 3, 1], [2, 0, 5], [1, 1, -1]]}, KFold(4)),
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}, 4),
    ("knn", {"n_neighbors": 2}, Subsample(0.5)),
    ("nn", {}, LeaveGroupsOut(np.arange(60) // 4, 3)),
    ("rank", {"rank": 2}, KFold(3)),
    ("confidence", {"n_neighbors": 3}, KFold(3)),
]


OTHERS = [pytest.param(*case, marks=pytest.mark.slow) for case in (("index", "pooled"), ("index", "class"))]


@pytest.mark.parametrize(("ties", "average"), [("random", "pooled"), ("random", "class"), *OTHERS])
def test_the_mean_of_the_runs_is_the_exact_score(ties, average):
    for variant, parameters, design in CASES:
        check_mean(variant, parameters, design, ties, average)


def check_mean(variant, parameters, design, ties, average):
    X, y = blobs(60, 3)
    result = complete_cv(X.round(), y, variant, design, ties=ties, average=average, **parameters)
    assert result.tied > 10
    runs = result.runs(4000, random_state=1)
    assert abs(runs.score - result.score) < 5 * runs.standard_error
    assert runs.expected == result.score
    assert (runs.confusions is None) == (variant in ("rank", "confidence"))
    if runs.confusions is not None and average == "pooled":
        total = runs.confusions.sum(axis=(1, 2))
        assert (total[0] == 60) == (not isinstance(design, Subsample | LeaveGroupsOut))
        error = runs.confusions.std(axis=0) / np.sqrt(len(total)) + 1e-9
        expected = result.confusion() * total.mean()
        assert (np.abs(runs.confusions.mean(axis=0) - expected) < 5.5 * error).all()


def test_quantiles_seeds_threads_and_text():
    X, y = blobs(200, 2)
    result = complete_cv(X, y, "knn", KFold(5), n_jobs=1)
    runs = result.runs(1200)
    np.testing.assert_array_equal(runs.scores, result.runs(1200, n_jobs=2).scores)
    np.testing.assert_array_equal(runs.scores[:100], result.runs(100).scores)
    assert (runs.scores != result.runs(1200, random_state=1).scores).any()
    assert runs.quantile(0.5) == np.median(runs.scores)
    assert runs.quantile([0, 1]).tolist() == [runs.scores.min(), runs.scores.max()]
    assert "1,200 runs, accuracy" in repr(runs)
    assert float(runs) == runs.scores.mean()


def test_comparisons_tell_how_often_one_run_is_wrong():
    X, y = blobs(80, 2)
    one = complete_cv(X, y, "nn", KFold(5))
    five = complete_cv(X, y, "knn", KFold(5), n_neighbors=5)
    found = compare(one, five)
    a, b = one.runs(3000, random_state=2).scores, five.runs(3000, random_state=2).scores
    expected = np.mean((a > b) if found.difference < 0 else (a < b)) + np.mean(a == b) / 2
    assert found.misranked(3000, random_state=2) == pytest.approx(expected)
    assert compare(five, one).misranked(3000, random_state=2) == pytest.approx(expected)
    assert 0 < expected < 0.5
    with pytest.raises(ValueError, match="was not pickled or copied"):
        pickle.loads(pickle.dumps(found)).misranked()


def test_bad_arguments():
    X, y = blobs(40, 2)
    result = complete_cv(X, y, "knn", KFold(5))
    with pytest.raises(ValueError, match=r"n_runs must be between 1 and 10000000, .* got 0"):
        result.runs(0)
    with pytest.raises(ValueError, match=r"n_runs must be between 1 and 10000000, .* got 1000000000"):
        result.runs(10**9)
    with pytest.raises(ValueError, match="this needs the data"):
        pickle.loads(pickle.dumps(result)).runs()

    class Undrawn(Design):
        def training_sets(self, labels):
            return KFold(4).training_sets(labels)

    with pytest.raises(ValueError, match=r"cannot draw runs of .*: define draw\(\) or allotment\(\)"):
        complete_cv(X, y, "knn", Undrawn()).runs()
    bias = complete_cv(X, X[:, 0], "regression", KFold(5), part="variance")
    with pytest.raises(ValueError, match="a mean over runs"):
        bias.runs()
