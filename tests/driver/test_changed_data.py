"""Data that the caller changes in place after the score: later questions refuse them, or use a copy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

import knnccv
from knnccv import KFold, Neighbors, complete_cv
from knnccv.sklearn import expected_score

QUESTIONS = {
    "confusion": lambda result: result.confusion(),
    "influence": lambda result: result.influence().total,
    "standard_error": lambda result: result.standard_error(n_halvings=4),
    "confidence_interval": lambda result: result.confidence_interval(n_halvings=4),
    "split_std": lambda result: float(result.split_std()),
    "tie_report": lambda result: result.tie_report().lowest,
}
REFUSED = r"compute the score \(or the Neighbors\) again, from X\.copy\(\)"


def samples(n_items=24, n_features=2):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_items, n_features))
    return X, (X[:, 0] + rng.normal(size=n_items) > 0) + (X[:, 0] > 1).astype(int)


def distances(X):
    return np.abs(X[:, None] - X).sum(axis=2)


def lists(X):
    return np.argsort(distances(X) + np.diag(np.full(len(X), -1.0)), axis=1)[:, 1:].astype(
        np.int32, order="C"
    )


def mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r+")


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_a_question_refuses_features_that_changed(ask):
    X, y = samples()
    result = complete_cv(X, y, "knn", KFold(4), n_neighbors=3)
    before = X.copy()
    expected = ask(complete_cv(before, y, "knn", KFold(4), n_neighbors=3))
    X[:] = X[::-1].copy()
    with pytest.raises(ValueError, match=REFUSED) as caught:
        ask(result)
    assert "X was changed in place since <Neighbors of 24 samples" in str(caught.value)
    X[:] = before
    assert np.array_equal(ask(result), expected)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda X, _: (X, X), id="features"),
        pytest.param(lambda X, _: (X.astype(np.float32),) * 2, id="single"),
        pytest.param(lambda X, folder: (mapped(X, folder),) * 2, id="mapped"),
        pytest.param(lambda X, _: (D := distances(X), Neighbors.from_distances(D)), id="matrix"),
        pytest.param(
            lambda X, _: (D := np.asfortranarray(distances(X)), Neighbors.from_distances(D)), id="columns"
        ),
        pytest.param(
            lambda X, _: (D := distances(np.repeat(X, 2, 0))[::2, ::2], Neighbors.from_distances(D)),
            id="strided",
        ),
        pytest.param(lambda X, _: (found := lists(X), Neighbors.from_lists(found)), id="lists"),
    ],
)
def test_whatever_the_neighbors_read(make, tmp_path):
    X, y = samples()
    array, given = make(X, tmp_path)
    result = complete_cv(given, y, "nn", KFold(4))
    result.influence()
    array[1, :2] = array[1, 1::-1].copy()  # one sample
    with pytest.raises(ValueError, match=REFUSED):
        result.influence()
    if isinstance(given, Neighbors):
        with pytest.raises(ValueError, match=REFUSED):
            complete_cv(given, y, "nn", KFold(4))


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_bands_of_surfaces_and_expected_scores_refuse_too():
    X, y = samples()
    surface = knnccv.surface(X, y, n_neighbors=[1, 3], train_sizes=[12, 16])
    expected = expected_score(KNeighborsClassifier(1), X, y, cv=ShuffleSplit(random_state=None))
    X *= [1.0, -3.0]
    with pytest.raises(ValueError, match=REFUSED):
        surface.standard_error(n_halvings=4)
    with pytest.raises(ValueError, match=REFUSED):
        expected.standard_error(n_halvings=4)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype(np.float16),
        lambda X: np.rint(4 * X).astype(int),
        np.asfortranarray,
        scipy.sparse.csr_array,
    ],
    ids=["half", "integers", "columns", "sparse"],
)
def test_converted_data_are_a_copy(convert):
    X, y = samples()
    given = convert(X)
    result = complete_cv(given, y, "nn", KFold(4))
    expected = complete_cv(given.copy(), y, "nn", KFold(4)).influence().total
    given *= 0
    assert np.array_equal(result.influence().total, expected)


def test_labels_targets_and_groups_are_copies():
    X, y = samples()
    groups = np.arange(24) // 2
    result = complete_cv(X, y, "knn", knnccv.LeaveGroupsOut(groups), n_neighbors=3)
    expected = complete_cv(X, y.copy(), "knn", knnccv.LeaveGroupsOut(groups.copy()), n_neighbors=3)
    values, labels = knnccv.item_values(X, y), y.copy()
    targets = X[:, 0].copy()
    regression = complete_cv(X, targets, "regression")
    bias2 = complete_cv(X, targets.copy(), "regression").bias2
    y[:], groups[:], targets[:] = 0, 0, 0
    assert np.array_equal(result.confusion(), expected.confusion())
    assert np.array_equal(result.influence().total, expected.influence().total)
    assert np.array_equal(values.labels, labels)
    assert np.array_equal(regression.bias2, bias2)


@pytest.mark.parametrize("shape", [(40, 64), (40, 65), (300,), (7, 900), (500, 96), (3, 70)], ids=str)
def test_the_checksum_reads_some_of_every_row_and_column(shape):
    if len(shape) == 2:
        table = np.random.default_rng(0).random(shape)
        near = Neighbors.from_data(table)
    else:
        shape = (*shape, *shape)
        table = np.random.default_rng(0).random(shape).T
        near = Neighbors.from_distances(table)
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
        for at in np.ndindex(shape):
            check(at, np.nextafter(original[at], 9))
