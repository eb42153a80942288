"""`f1`, `precision`, `recall`, `mcc` of the expected table: scikit-learn's, with its cells as weights."""

import numpy as np
import pytest
from sklearn import metrics

from knnccv import KFold, Neighbors, StratifiedKFold, Subsample, complete_cv

OURS = {"f1": metrics.f1_score, "precision": metrics.precision_score, "recall": metrics.recall_score}


def cells(result):
    """True and predicted labels of all cells of the table, and their weights."""
    n_classes = len(result.classes)
    true, predicted = np.divmod(np.arange(n_classes**2), n_classes)
    weights = result.confusion().astype(float).ravel()
    return result.classes[true], result.classes[predicted], weights


def noisy(n_classes, names=None, n_items=60):
    rng = np.random.default_rng(n_classes)
    y = rng.permutation(np.arange(n_items) ** 2 * n_classes // n_items**2)
    X = rng.normal(size=(n_items, 2)) + 0.8 * y[:, None]
    return X, y if names is None else np.array(names)[y]


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("name", sorted(OURS))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_averages_are_those_of_scikit_learn(n_classes, name, average):
    for options in ({}, {"average": "class"}, {"exact": True}):
        result = complete_cv(*noisy(n_classes, n_items=30), "knn", KFold(3), n_neighbors=3, **options)
        true, predicted, weights = cells(result)
        expected = OURS[name](true, predicted, average=average, sample_weight=weights)
        assert getattr(result, name)(average=average) == pytest.approx(expected, abs=1e-12)
        assert result.mcc() == pytest.approx(
            metrics.matthews_corrcoef(true, predicted, sample_weight=weights), abs=1e-12
        )
    assert 0.2 < expected < 0.99


@pytest.mark.parametrize("name", sorted(OURS))
def test_one_class_of_two(name):
    result = complete_cv(*noisy(2, ["no", "yes"]), "knn", StratifiedKFold(4))
    true, predicted, weights = cells(result)
    ours = {label: getattr(result, name)(average="binary", pos_label=label) for label in ("no", "yes")}
    for label, value in ours.items():
        expected = OURS[name](true, predicted, pos_label=label, sample_weight=weights)
        assert value == pytest.approx(expected, abs=1e-12)
    assert ours["no"] != pytest.approx(ours["yes"])
    plain = complete_cv(*noisy(2), "knn", StratifiedKFold(4))
    assert getattr(plain, name)(average="binary") == pytest.approx(ours["yes"])


def test_the_default_is_macro():
    result = complete_cv(*noisy(3), "nn", 3)
    for name in OURS:
        assert getattr(result, name)() == getattr(result, name)(average="macro")
    assert result.recall() == pytest.approx(result.balanced_accuracy)
    assert result.recall(average="micro") == pytest.approx(result.score)


def test_undefined_values_are_zero():
    """The one sample of class 2 is surrounded by class 1: it is never predicted."""
    X, y = np.array([[0], [1], [2], [10], [11], [12], [11.5]]), [0, 0, 0, 1, 1, 1, 2]
    result = complete_cv(X, y, "knn", Subsample(5), n_neighbors=3)
    true, predicted, weights = cells(result)
    assert result.confusion()[:, 2].sum() == 0
    for name, theirs in OURS.items():
        expected = theirs(true, predicted, average="macro", sample_weight=weights, zero_division=0)
        assert getattr(result, name)() == pytest.approx(expected, abs=1e-12)
    one = complete_cv(X[:3], y[:3], "nn", Subsample(1))
    assert (one.mcc(), one.f1()) == (0, 1)


def test_tables_of_lists_that_end_early_sum_to_less_than_one():
    X, y = noisy(3)
    lists = Neighbors.from_lists(Neighbors.from_data(X).kneighbors(4)[0])
    result = complete_cv(lists, y, "knn", Subsample(0.7), n_neighbors=3)
    true, predicted, weights = cells(result)
    assert weights.sum() < 0.9
    expected = metrics.matthews_corrcoef(true, predicted, sample_weight=weights)
    assert result.mcc() == pytest.approx(expected, abs=1e-12)
    for name, theirs in OURS.items():
        expected = theirs(true, predicted, average="weighted", sample_weight=weights)
        assert getattr(result, name)(average="weighted") == pytest.approx(expected, abs=1e-12)


def test_the_pooled_table_is_not_the_mean_of_the_folds():
    """All six partitions of four samples into two folds, listed: each fold has its own F1."""
    X, y = np.array([[0.0], [1.0], [3.0], [7.0]]), np.array([0, 1, 1, 0])
    folds, pairs = [], ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    for test in pairs:
        train = [i for i in range(4) if i not in test]
        nearest = [min(train, key=lambda j, i=i: abs(X[i, 0] - X[j, 0])) for i in test]
        folds.append((y[list(test)], y[nearest]))
    result = complete_cv(X, y, "nn", KFold(2))
    pooled = metrics.f1_score(*(np.concatenate(each) for each in zip(*folds, strict=True)), average="macro")
    mean = np.mean([metrics.f1_score(*fold, average="macro") for fold in folds])
    assert result.f1() == pytest.approx(pooled)
    assert abs(result.f1() - mean) > 0.01


def test_what_has_no_table_is_refused():
    X, y = noisy(3)
    result = complete_cv(X, y, "nn", 3)
    with pytest.raises(
        ValueError, match="average must be one of 'binary', 'macro', 'micro', 'weighted', got 'samples'"
    ):
        result.f1(average="samples")
    with pytest.raises(ValueError, match=r"needs two classes, .* got 1 for the classes \[0, 1, 2\]"):
        result.precision(average="binary")
    two = complete_cv(*noisy(2, ["no", "yes"]), "nn", 3)
    with pytest.raises(ValueError, match=r"got 1 for the classes \['no', 'yes'\]; other averages: 'macro'"):
        two.recall(average="binary")
    for rule in ("regression", "rank", "confidence"):
        other = complete_cv(X, y, rule, KFold(3))
        for ask in (other.f1, other.precision, other.recall, other.mcc):
            with pytest.raises(ValueError, match=f"variant '{rule}' does not predict a class"):
                ask()
