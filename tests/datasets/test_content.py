"""What the data sets hold."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas
import pytest
from sklearn import datasets as sklearn

from knnccv import datasets

pytestmark = pytest.mark.usefixtures("only_this_machine", "cache")


def counts(y: np.ndarray) -> dict[int, int]:
    return dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True))


def check_form(data: datasets.Dataset, shape: tuple[int, int]) -> None:
    assert data.X.shape == shape
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert data.y.shape == shape[:1]
    assert data.y.flags.c_contiguous
    assert len(data.feature_names) == len(set(data.feature_names)) == shape[1]
    assert data.description
    assert data.citation
    if data.y.dtype == np.int64:
        assert len(data.target_names) == len(np.unique(data.y))
    else:
        assert data.y.dtype == np.float64
        assert len(data.target_names) == 1


@pytest.mark.usefixtures("mirrored")
def test_abalone():
    data = datasets.fetch_abalone()
    check_form(data, (4177, 8))
    assert data.y[:3].tolist() == [15, 7, 9]
    assert set(data.y) == set(range(1, 30)) - {28}
    assert data.X[0].tolist() == [1, 0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15]
    assert counts(data.X[:, 0]) == {0: 1342, 1: 1528, 2: 1307}
    two, three = datasets.fetch_abalone(2), datasets.fetch_abalone(3)
    check_form(two, (4177, 8))
    check_form(three, (4177, 8))
    assert counts(two.y) == {0: 2096, 1: 2081}  # no other cut is as even
    assert min(range(2, 30), key=lambda cut: abs(2 * np.count_nonzero(data.y < cut) - 4177)) == 10
    assert counts(three.y) == {0: 1407, 1: 1323, 2: 1447}
    assert (two.y[:3].tolist(), three.y[:3].tolist()) == ([1, 0, 0], [2, 0, 1])
    assert repr(three) == "<Dataset: 4177 samples, 8 features, 3 classes>"


@pytest.mark.usefixtures("mirrored")
def test_abalone_sex():
    integer, one_hot, drop = (datasets.fetch_abalone(sex=sex) for sex in ("integer", "one-hot", "drop"))
    check_form(one_hot, (4177, 10))
    check_form(drop, (4177, 7))
    assert one_hot.feature_names[:3] == ("sex=I", "sex=M", "sex=F")
    np.testing.assert_array_equal(one_hot.X[:, :3], np.eye(3)[integer.X[:, 0].astype(int)])
    np.testing.assert_array_equal(one_hot.X[:, 3:], drop.X)
    np.testing.assert_array_equal(integer.X[:, 1:], drop.X)


@pytest.mark.usefixtures("mirrored")
def test_breast_cancer():
    drop, rows, nan = (
        datasets.fetch_breast_cancer(**options)
        for options in ({}, {"bare_nuclei": "complete-rows"}, {"bare_nuclei": "nan"})
    )
    check_form(drop, (699, 8))
    check_form(rows, (683, 9))
    check_form(nan, (699, 9))
    assert counts(drop.y) == {2: 458, 4: 241}
    assert counts(rows.y) == {2: 444, 4: 239}
    assert drop.target_names == ("benign", "malignant")
    assert drop.y[-1] == 4
    assert rows.feature_names[5] == "bare_nuclei"
    assert drop.X[1].tolist() == [5, 4, 4, 5, 7, 3, 2, 1]
    assert rows.X[1].tolist() == [5, 4, 4, 5, 7, 10, 3, 2, 1]
    missing = np.isnan(nan.X)
    assert missing.sum() == missing[:, 5].sum() == 16
    np.testing.assert_array_equal(nan.X[~missing[:, 5]], rows.X)
    np.testing.assert_array_equal(np.delete(nan.X, 5, axis=1), drop.X)


@pytest.mark.usefixtures("mirrored")
def test_liver_disorders():
    data = datasets.fetch_liver_disorders()
    check_form(data, (345, 6))
    assert counts(data.y) == {1: 145, 2: 200}
    assert data.X[0].tolist() == [85, 92, 45, 27, 31, 0]
    assert data.y[:2].tolist() == [1, 2]
    assert data.feature_names[-1] == "drinks"
    assert "not a diagnosis" in data.description


def cells(n_source, n_target, at):
    """The source pixels that a target pixel covers, and the shares of them."""
    left, right = Fraction(n_source * at, n_target), Fraction(n_source * (at + 1), n_target)
    covered = {k: min(right, k + 1) - max(left, k) for k in range(n_source)}
    return {k: share for k, share in covered.items() if share > 0}


@pytest.mark.usefixtures("mirrored")
@pytest.mark.slow
def test_faces_have_the_rational_means_of_their_pixels(images):
    pixels = np.frombuffer(images["s2/1.pgm"][14:], dtype=np.uint8).reshape(112, 92).tolist()
    for height, width in ((16, 16), (1, 1), (112, 5), (5, 91)):
        data = datasets.fetch_orl((height, width))
        check_form(data, (400, height * width))
        found = data.X[10].reshape(height, width)
        for i, j in {(0, 0), (height - 1, 0), (height // 2, width // 3), (height - 1, width - 1)}:
            rows, columns = cells(112, height, i), cells(92, width, j)
            total = sum(rows[r] * columns[c] * pixels[r][c] for r in rows for c in columns)
            assert found[i, j] == float(total / sum(rows.values()) / sum(columns.values()))


@pytest.mark.usefixtures("mirrored")
@pytest.mark.slow
def test_orl(images):
    data = datasets.fetch_orl(size=None)
    check_form(data, (400, 10304))
    assert bytes(data.X[-1].astype(np.uint8)) == images["s40/10.pgm"][14:]
    assert counts(data.y) == dict.fromkeys(range(1, 41), 10)
    assert data.y[:11].tolist() == [1] * 10 + [2]
    assert data.target_names[:2] == ("s1", "s2")
    assert datasets.fetch_orl().X.shape == (400, 256)
    assert datasets.fetch_orl(tuple(np.array([2, 3]))).X.shape == (400, 6)


def test_bundled_tables(data_folder):
    wine, diabetes = datasets.load_wine(), datasets.load_diabetes()
    check_form(wine, (178, 13))
    check_form(diabetes, (442, 10))
    original = np.loadtxt(data_folder / "uci31" / "wine" / "wine.data", delimiter=",")
    np.testing.assert_array_equal(wine.X, original[:, 1:])
    np.testing.assert_array_equal(wine.y, original[:, 0])
    theirs = sklearn.load_diabetes(scaled=False)
    # Older releases of scikit-learn read some decimals one last bit off.
    np.testing.assert_allclose(diabetes.X, theirs.data, rtol=4e-16)
    np.testing.assert_array_equal(diabetes.y, theirs.target)
    assert list(diabetes.feature_names) == theirs.feature_names
    assert list(wine.feature_names) == sklearn.load_wine().feature_names
    wine.X[:] = 0
    assert datasets.load_wine().X.min() > 0


def test_frames():
    """Numbers as they are, a categorical column by its texts, and a copy."""
    wine = datasets.load_wine()
    frame = wine.to_frame()
    assert tuple(frame.columns) == wine.feature_names
    np.testing.assert_array_equal(frame.to_numpy(), wine.X)
    frame.loc[:, "hue"] = -1.0
    assert wine.X.min() >= 0
    X = np.array([[0.5, 1.0], [np.nan, 0.0], [2.0, np.nan]])
    mixed = replace(
        wine, X=X, feature_names=("a", "b"), nominal=(False, True), categories=(None, ("no", "yes"))
    )
    frame = mixed.to_frame()
    assert isinstance(frame["b"].dtype, pandas.CategoricalDtype)
    assert not frame["b"].cat.ordered
    assert [None if pandas.isna(text) else text for text in frame["b"]] == ["yes", "no", None]
    np.testing.assert_array_equal(frame["a"], X[:, 0])
