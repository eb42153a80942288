"""What a result tells beside its score: tables, classes, class shares, the range of ties."""

import copy
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from problems import blobs, one_of_each
from sklearn import metrics
from sklearn.model_selection import LeavePGroupsOut, LeavePOut
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors, compare, complete_cv, monte_carlo_cv
from knnccv._core.driver import AVERAGES
from knnccv._core.luck.inference import InferenceWarning
from knnccv.designs import KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample

LOSS = np.array([[0, 1, 4], [2, -1, 1], [5, 3, 0]])


def designs_for(y):
    groups = np.random.default_rng(5).integers(0, 12, len(y))
    return [
        *one_of_each(groups),
        LeaveGroupsOut(groups, 4),
        StratifiedSubsample(per_class=dict.fromkeys(y, 2)),
    ]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_tables_and_classes_add_up_to_the_score(n_classes):
    X, y = blobs(0, 60, n_classes, uneven=True)
    names = np.array(["x", "a", "m"][:n_classes])[y]
    for d, design in enumerate(designs_for(names)):
        for a, average in enumerate(AVERAGES):
            loss = LOSS[:n_classes, :n_classes] if (d + a) % 2 else None
            rule, setting = ("nn", {}) if getattr(design, "p", 1) > 1 else ("knn", {"n_neighbors": 2})
            found = complete_cv(X, names, rule, design, average=average, loss=loss, **setting)
            matrix, classes = found.confusion(), found.per_class()
            weights = [found.weights[names == c].sum() for c in found.classes]
            assert list(classes) == list(found.classes) == sorted(set(names))
            np.testing.assert_allclose(matrix.sum(axis=1), weights, atol=1e-12)
            worth = np.eye(n_classes) if loss is None else loss
            assert (matrix * worth).sum() == pytest.approx(found.score, abs=1e-11)
            for name, weight in zip(classes, weights, strict=True):
                own = names == name
                assert found.weights[own] @ found.per_item[own] == pytest.approx(weight * classes[name])
            if loss is None:
                recalls = np.diag(found.confusion(normalize="true"))
                np.testing.assert_allclose(recalls, list(classes.values()), atol=1e-12)
                assert found.balanced_accuracy == pytest.approx(np.mean(recalls), rel=1e-13)
                assert average != "class" or found.balanced_accuracy == pytest.approx(found.score)
            np.testing.assert_allclose(found.confusion("all"), matrix, rtol=1e-12)


def test_confusion_is_the_mean_of_scikit_learns():
    rng = np.random.default_rng(1)
    X, y, groups = rng.normal(size=(9, 2)), np.array(list("bca" * 3)), np.arange(9) // 3
    for k, design, splits in (
        (2, LeaveOut(2), LeavePOut(2).split(X)),
        (1, LeaveGroupsOut(groups, 2), LeavePGroupsOut(2).split(X, y, groups)),
    ):
        true, predicted, peer = [], [], KNeighborsClassifier(k, algorithm="kd_tree")
        for train, test in splits:
            true.extend(y[test])
            predicted.extend(peer.fit(X[train], y[train]).predict(X[test]))
        found = complete_cv(X, y, "knn", design, n_neighbors=k)
        for normalize in (None, "true", "pred", "all"):
            expected = metrics.confusion_matrix(true, predicted, normalize=normalize or "all")
            np.testing.assert_allclose(found.confusion(normalize=normalize), expected, atol=1e-13)


def test_confusion_of_exact_results_is_scaled_exactly():
    X, y = blobs(0, 30, 3, uneven=True)
    found = complete_cv(X, y, "nn", KFold(4), exact=True)
    assert found.confusion().sum() == 1
    assert found.confusion("true").sum(axis=1).tolist() == [1, 1, 1]
    assert found.confusion("pred").sum(axis=0).tolist() == [1, 1, 1]
    assert (found.confusion("all") == found.confusion()).all()


def test_what_has_no_weight_has_no_share():
    """Class 1 is never tested, and class 2 never predicted."""
    y = np.array([0] * 6 + [1] * 3 + [2] * 3)
    X, design = np.arange(12.0)[:, None], StratifiedSubsample(per_class={0: 3, 1: 3, 2: 0})
    for exact in (False, True):
        found = complete_cv(X, y, "nn", design, exact=exact, average="item")
        confusion = found.confusion()
        assert (confusion[1] == 0).all()
        assert (confusion[:, 2] == 0).all()
        rows, columns = found.confusion("true").astype(float), found.confusion("pred").astype(float)
        assert np.isnan(rows).tolist() == [[False] * 3, [True] * 3, [False] * 3]
        assert np.isnan(columns).tolist() == [[False, False, True]] * 3
        classes = found.per_class()
        assert np.isnan(classes[1])
        assert classes[2] == 0
        assert found.balanced_accuracy == pytest.approx((classes[0] + 0) / 2)


def test_lists_that_end_leave_a_part_open():
    X, y = blobs(0, 200, 3, uneven=True)
    near = Neighbors.from_data(X, n_neighbors=4)
    with pytest.warns(UserWarning, match="the score is uncertain .* lists of 4 neighbors"):
        found = complete_cv(near, y, "knn", Subsample(60), n_neighbors=3)
    assert found.error_bound > 0.1
    confusion = found.confusion()
    assert 1 - found.error_bound <= confusion.sum() < 1
    assert np.trace(confusion) == pytest.approx(found.score, abs=1e-12)
    assert found.confusion("all").sum() == pytest.approx(1)
    near = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(40), approximate=True)
    found = complete_cv(near, y, "nn", Subsample(100))
    assert not found.certified
    assert np.trace(found.confusion()) == pytest.approx(found.score, abs=1e-12)


def test_a_copy_leaves_the_data_behind():
    X, y = blobs(0, 3000, 3, uneven=True)
    found = complete_cv(X, y, "nn", KFold(5))
    packed = pickle.dumps(found)
    assert len(packed) < 5 * y.nbytes + 5000  # three arrays of the items' own
    copies = pickle.loads(packed), copy.deepcopy(found), copy.copy(found)
    for other in copies:
        assert (other.score, other.n_train_sets) == (found.score, found.n_train_sets)
        assert other.per_class() == found.per_class()
        for ask in (other.confusion, other.influence, other.split_std, other.tie_report):
            with pytest.raises(
                ValueError, match=r"copied or pickled result does not contain|needs the data"
            ):
                ask()
    found.confusion()
    for other in (pickle.loads(pickle.dumps(found)), replace(found, seconds=1.0)):
        np.testing.assert_array_equal(other.confusion(), found.confusion())
    with pytest.raises(AttributeError, match="cannot assign"):
        found.score = 1.0
    assert found != copy.copy(found)


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


def check_table_scores(result, averages):
    """`f1` and the others are scikit-learn's of the expected table, with its cells as weights."""
    true, predicted, weights = cells(result)
    mcc = metrics.matthews_corrcoef(true, predicted, sample_weight=weights)
    assert result.mcc() == pytest.approx(mcc, abs=1e-12)
    for name, theirs in OURS.items():
        for average in averages:
            asked = {"average": average, "sample_weight": weights, "zero_division": 0}
            expected = theirs(true, predicted, **asked)
            assert getattr(result, name)(average=average) == pytest.approx(expected, abs=1e-12)
        assert getattr(result, name)() == getattr(result, name)(average="macro")


def test_table_scores_are_those_of_scikit_learn():
    for n_classes in (2, 3, 5):
        for options in ({}, {"average": "class"}, {"exact": True}):
            X, y = noisy(n_classes, n_items=24)
            result = complete_cv(X, y, "knn", KFold(3), n_neighbors=3, **options)
            check_table_scores(result, ("macro", "micro", "weighted"))
    X, y = noisy(3)
    result = complete_cv(X, y, "nn", 3)
    assert result.recall() == pytest.approx(result.balanced_accuracy)
    assert result.recall(average="micro") == pytest.approx(result.score)
    lists = Neighbors.from_lists(Neighbors.from_data(X).kneighbors(4)[0])
    short = complete_cv(lists, y, "knn", Subsample(0.7), n_neighbors=3)
    assert cells(short)[2].sum() < 0.9
    check_table_scores(short, ["weighted"])
    # The one sample of class 2 is surrounded by class 1: it is never predicted.
    X, y = np.array([[0], [1], [2], [10], [11], [12], [11.5]]), [0, 0, 0, 1, 1, 1, 2]
    result = complete_cv(X, y, "knn", Subsample(5), n_neighbors=3)
    assert result.confusion()[:, 2].sum() == 0
    check_table_scores(result, ["macro"])
    one = complete_cv(X[:3], y[:3], "nn", Subsample(1))
    assert (one.mcc(), one.f1()) == (0, 1)


def test_table_scores_of_one_class_of_two():
    result = complete_cv(*noisy(2, ["no", "yes"]), "knn", StratifiedKFold(4))
    plain = complete_cv(*noisy(2), "knn", StratifiedKFold(4))
    true, predicted, weights = cells(result)
    for name, theirs in OURS.items():
        for label in ("no", "yes"):
            ours = getattr(result, name)(average="binary", pos_label=label)
            expected = theirs(true, predicted, pos_label=label, sample_weight=weights)
            assert ours == pytest.approx(expected, abs=1e-12)
        assert getattr(plain, name)(average="binary") == pytest.approx(ours)


SHARES = {"a": 0.7, "b": Fraction(1, 5), "c": 0.1}
PRIORS_X = np.random.default_rng(0).normal(size=(60, 2))
PRIORS_Y = np.repeat(["a", "b", "c"], [30, 20, 10])


def test_all_results_use_the_class_shares():
    X, y = PRIORS_X, PRIORS_Y
    for design in one_of_each(np.arange(60) // 6):
        asked = {"cv": design, "n_neighbors": 3}
        found = complete_cv(X, y, "knn", average=SHARES, **asked)
        assert (found.measure, found.average) == ("accuracy at given class shares", SHARES)
        recalls = found.per_class()
        assert sum(float(SHARES[c]) * recalls[c] for c in SHARES) == pytest.approx(found.score, abs=1e-14)
        assert found.confusion().sum(axis=1) == pytest.approx([0.7, 0.2, 0.1])
        assert np.trace(found.confusion()) == pytest.approx(found.score, abs=1e-12)
        balanced = complete_cv(X, y, "knn", average="class", **asked)
        assert found.balanced_accuracy == pytest.approx(balanced.score, abs=1e-14)
        equal = complete_cv(X, y, "knn", average=dict.fromkeys("abc", Fraction(1, 3)), **asked)
        assert equal.score == balanced.score
        runs = monte_carlo_cv(X, y, "knn", average=SHARES, n_runs=500, random_state=0, **asked)
        assert abs(runs.score - found.score) <= 4 * runs.std_error + 1e-12
        if not isinstance(design, LeaveGroupsOut):
            rest = complete_cv(np.delete(X, 7, 0), np.delete(y, 7), "knn", average=SHARES, **asked)
            assert found.influence().per_item[7] == pytest.approx(found.score - rest.score, abs=1e-12)


def test_intervals_and_comparisons_use_the_class_shares():
    asked = PRIORS_X, PRIORS_Y, "knn", Subsample(0.5)
    one = complete_cv(*asked, average=SHARES, n_neighbors=1)
    two = complete_cv(*asked, average=SHARES, n_neighbors=3)
    heavy = complete_cv(*asked, average={"a": 0.1, "b": 0.1, "c": 0.8}, n_neighbors=1)
    with pytest.warns(InferenceWarning, match="class 'c' has 10 samples, fewer than 20, and counts more"):
        error = heavy.standard_error(50)
    assert 0.01 < error < 0.2
    assert compare(one, two, n_halvings=20).difference == pytest.approx(one.score - two.score)
    with pytest.raises(ValueError, match="weight"):
        compare(one, heavy)


def test_class_shares_are_read_as_written():
    asked, shares = (PRIORS_X[::4], PRIORS_Y[::4], "nn", LeaveOut(1)), {"a": 0.7, "b": 0.2, "c": 0.1}
    given = dict(shares)
    expected = complete_cv(*asked, average=given, exact=True)
    given["a"] = 0
    assert expected.average == shares
    assert expected.fraction.denominator <= 10 * 8 * 5 * 3
    for kind in (np.float16, np.float32, np.float64):  # as float32 they sum to 1 + 1e-8
        given = {label: kind(share) for label, share in shares.items()}
        assert complete_cv(*asked, average=given, exact=True).fraction == expected.fraction


def test_ranges_of_orders_that_lists_do_not_show():
    """The order by index can use the whole list; other orders cannot, as more samples may tie."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (60, 2)).astype(float), rng.integers(0, 2, 60)
    near = Neighbors.from_data(X)
    for short, asked in (
        (Neighbors.from_data(X, n_neighbors=7), {"n_neighbors": 1, "ties": "index"}),
        (Neighbors.from_lists(*near.kneighbors(6)), {}),
    ):
        whole = complete_cv(near, y, "knn", Subsample(0.6), **asked).tie_report()
        result = complete_cv(short, y, "knn", Subsample(0.6), **asked)
        report = result.tie_report()
        assert report.error_bound > (result.error_bound if asked else 0.1)
        for name in ("lowest", "score", "highest"):
            assert abs(getattr(report, name) - getattr(whole, name)) <= report.error_bound
    unsure = Neighbors.from_lists(*near.kneighbors(20), approximate=True)
    assert complete_cv(unsure, y, "knn", Subsample(0.5)).tie_report().error_bound == np.inf
