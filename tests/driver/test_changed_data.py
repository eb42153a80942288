"""Data that the caller changes in place after the score: later questions refuse them, or use a copy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

import knnccv
from knnccv import KFold, LeaveGroupsOut, Neighbors, complete_cv
from knnccv.sklearn import expected_score

QUESTIONS = {
    "confusion": lambda result: result.confusion(),
    "influence": lambda result: result.influence().per_item,
    "standard_error": lambda result: result.standard_error(n_halvings=4),
    "confidence_interval": lambda result: result.confidence_interval(n_halvings=4),
    "split_std": lambda result: float(result.split_std()),
    "tie_report": lambda result: result.tie_report().lowest,
}
REFUSED = r"compute the score \(or the Neighbors\) again, from X\.copy\(\)"
pytestmark = pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")


def samples():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(24, 2))
    return X, (X[:, 0] + rng.normal(size=24) > 0) + (X[:, 0] > 1).astype(int)


def test_a_question_refuses_features_that_changed():
    for ask in QUESTIONS.values():
        X, y = samples()
        result = complete_cv(X, y, "knn", KFold(4), n_neighbors=3)
        before = X.copy()
        expected = ask(complete_cv(before, y, "knn", KFold(4), n_neighbors=3))
        X[:] = X[::-1].copy()
        with pytest.raises(
            ValueError, match=REFUSED + ".*: X was changed in place since <Neighbors of 24 "
        ):
            ask(result)
        X[:] = before
        assert np.array_equal(ask(result), expected)
    surface = knnccv.surface(X, y, n_neighbors=[1, 3], train_sizes=[12, 16])
    expected = expected_score(KNeighborsClassifier(1), X, y, cv=ShuffleSplit(random_state=None))
    X *= [1.0, -3.0]
    for later in (surface, expected):
        with pytest.raises(ValueError, match=REFUSED):
            later.standard_error(n_halvings=4)


def arrays_and_what_reads_them(X, folder):
    """An array, and what is given to `complete_cv`, which keeps it."""
    distances = np.abs(X[:, None] - X).sum(axis=2)
    np.save(folder / "X.npy", X)
    lists = np.argsort(distances + np.diag(np.full(len(X), -1.0)), axis=1)[:, 1:]
    twice = np.repeat(np.repeat(distances, 2, 0), 2, 1)[::2, ::2]
    for array in (X.copy(), X.astype(np.float32), np.load(folder / "X.npy", mmap_mode="r+")):
        yield array, array
    for array in (distances, np.asfortranarray(distances), twice):
        yield array, Neighbors.from_distances(array)
    array = lists.astype(np.int32, order="C")
    yield array, Neighbors.from_lists(array)


def test_whatever_the_neighbors_read(tmp_path):
    X, y = samples()
    for array, given in arrays_and_what_reads_them(X, tmp_path):
        result = complete_cv(given, y, "nn", KFold(4))
        result.influence()
        array[1, :2] = array[1, 1::-1].copy()  # one sample
        with pytest.raises(ValueError, match=REFUSED):
            result.influence()
        if isinstance(given, Neighbors):
            with pytest.raises(ValueError, match=REFUSED):
                complete_cv(given, y, "nn", KFold(4))


def test_converted_data_are_a_copy():
    X, y = samples()
    for given in (
        X.astype(np.float16),
        np.rint(4 * X).astype(int),
        np.asfortranarray(X),
        scipy.sparse.csr_array(X),
    ):
        result = complete_cv(given, y, "nn", KFold(4))
        expected = complete_cv(given.copy(), y, "nn", KFold(4)).influence().per_item
        given *= 0
        assert np.array_equal(result.influence().per_item, expected)


def test_labels_targets_groups_and_arguments_are_copies():
    X, y = samples()
    groups, loss = np.arange(24) // 2, np.array([[0, 1, 4], [2, -1, 1], [5, 3, 0]])
    asked = {"loss": loss, "n_neighbors": 3}
    result = complete_cv(X, y, "knn", LeaveGroupsOut(groups), **asked)
    copies = {"loss": loss.copy(), "n_neighbors": 3}
    expected = complete_cv(X, y.copy(), "knn", LeaveGroupsOut(groups.copy()), **copies)
    values, labels = knnccv.item_values(X, y), y.copy()
    targets = X[:, 0].copy()
    regression = complete_cv(X, targets, "regression")
    bias2 = complete_cv(X, targets.copy(), "regression").bias2
    sizes = {0: 3, 1: 2, 2: 1}
    design = knnccv.StratifiedSubsample(per_class=sizes)
    y[:], groups[:], targets[:], loss[:], sizes[0] = 0, 0, 0, 0, 9
    assert np.array_equal(result.confusion(), expected.confusion())
    assert np.array_equal(result.influence().per_item, expected.influence().per_item)
    assert np.array_equal(result.parameters["loss"], copies["loss"])
    assert np.array_equal(values.labels, labels)
    assert np.array_equal(regression.bias2, bias2)
    assert design.per_class == {0: 3, 1: 2, 2: 1}


@pytest.mark.parametrize("shape", [(40, 64), (40, 65), (300, 300), (7, 900), (3, 70)], ids=str)
def test_the_checksum_reads_some_of_every_row_and_column(shape):
    table = np.random.default_rng(0).random(shape)
    if shape[0] == shape[1]:
        table = table.T
        near = Neighbors.from_distances(table)
    else:
        near = Neighbors.from_data(table)
    original = table.copy()

    def check(at, value):
        table[at] = value
        with pytest.raises(ValueError, match=REFUSED):
            near.check_unchanged()
        table[at] = original[at]
        near.check_unchanged()

    for row in range(shape[0]):
        check(row, -original[row])
    for column in range(shape[1]):
        check((slice(None), column), 2 * original[:, column])
    for changed in (-original, 2 * original, original[::-1], original[:, ::-1]):
        check(..., changed)
    if shape[1] <= 64:
        for at in np.ndindex(*shape):
            if sum(at) % 7 == 0:
                check(at, np.nextafter(original[at], 9))
