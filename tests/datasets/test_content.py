"""The arrays of the data sets, and the arguments of their functions."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import pytest

from knnccv import datasets
from knnccv.datasets import _manifest, _tables

LIVER = "liver-disorders/bupa.data"
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


class TestContent:
    @pytest.mark.parametrize(
        ("n_classes", "expected"),
        [(2, {0: 2096, 1: 2081}), (3, {0: 1407, 1: 1323, 2: 1447})],
    )
    @pytest.mark.usefixtures("mirrored")
    def test_abalone_classes(self, n_classes, expected):
        data = datasets.fetch_abalone(n_classes)
        check_form(data, (4177, 8))
        assert counts(data.y) == expected
        # Row 1 has 15 rings, row 2 has 7, row 3 has 9.
        assert data.y[:3].tolist() == {2: [1, 0, 0], 3: [2, 0, 1]}[n_classes]

    @pytest.mark.usefixtures("mirrored")
    def test_abalone_rings(self):
        data = datasets.fetch_abalone()
        check_form(data, (4177, 8))
        assert data.y[:3].tolist() == [15, 7, 9]
        assert set(data.y) == set(range(1, 30)) - {28}
        assert data.X[0].tolist() == [1, 0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15]
        assert counts(data.X[:, 0]) == {0: 1342, 1: 1528, 2: 1307}

    @pytest.mark.usefixtures("mirrored")
    def test_the_two_classes_of_abalone_are_cut_most_evenly(self):
        rings = datasets.fetch_abalone().y
        below = {cut: np.count_nonzero(rings < cut) for cut in range(2, 30)}
        assert min(below, key=lambda cut: abs(2 * below[cut] - 4177)) == 10

    @pytest.mark.usefixtures("mirrored")
    def test_abalone_sex(self):
        integer, one_hot, drop = (datasets.fetch_abalone(sex=sex) for sex in ("integer", "one-hot", "drop"))
        check_form(one_hot, (4177, 10))
        check_form(drop, (4177, 7))
        assert one_hot.feature_names[:3] == ("sex=I", "sex=M", "sex=F")
        np.testing.assert_array_equal(one_hot.X[:, :3].argmax(axis=1), integer.X[:, 0])
        np.testing.assert_array_equal(one_hot.X[:, :3].sum(axis=1), 1)
        np.testing.assert_array_equal(one_hot.X[:, 3:], drop.X)
        np.testing.assert_array_equal(integer.X[:, 1:], drop.X)

    @pytest.mark.usefixtures("mirrored")
    def test_breast_cancer(self):
        data = datasets.fetch_breast_cancer()
        check_form(data, (699, 8))
        assert counts(data.y) == {2: 458, 4: 241}
        assert data.target_names == ("benign", "malignant")
        assert data.X[1].tolist() == [5, 4, 4, 5, 7, 3, 2, 1]
        assert data.y[-1] == 4

    @pytest.mark.usefixtures("mirrored")
    def test_breast_cancer_bare_nuclei(self):
        drop = datasets.fetch_breast_cancer()
        rows = datasets.fetch_breast_cancer(bare_nuclei="complete-rows")
        nan = datasets.fetch_breast_cancer(bare_nuclei="nan")
        check_form(rows, (683, 9))
        check_form(nan, (699, 9))
        assert counts(rows.y) == {2: 444, 4: 239}
        assert rows.feature_names[5] == "bare_nuclei"
        assert rows.X[1].tolist() == [5, 4, 4, 5, 7, 10, 3, 2, 1]
        missing = np.isnan(nan.X)
        assert missing.sum() == missing[:, 5].sum() == 16
        np.testing.assert_array_equal(nan.X[~missing[:, 5]], rows.X)
        np.testing.assert_array_equal(np.delete(nan.X, 5, axis=1), drop.X)

    @pytest.mark.usefixtures("mirrored")
    def test_liver_disorders(self):
        data = datasets.fetch_liver_disorders()
        check_form(data, (345, 6))
        assert counts(data.y) == {1: 145, 2: 200}
        assert data.X[0].tolist() == [85, 92, 45, 27, 31, 0]
        assert data.y[:2].tolist() == [1, 2]
        assert data.feature_names[-1] == "drinks"
        assert "not a diagnosis" in data.description

    @pytest.mark.usefixtures("mirrored")
    def test_orl(self, images):
        data = datasets.fetch_orl()
        check_form(data, (400, 256))
        assert counts(data.y) == dict.fromkeys(range(1, 41), 10)
        assert data.y[:11].tolist() == [1] * 10 + [2]
        assert data.target_names[:2] == ("s1", "s2")
        # The first pixel is 7 rows by 5.75 columns of s2/1.pgm, the eleventh sample.
        pixels = np.frombuffer(images["s2/1.pgm"][14:], dtype=np.uint8).reshape(112, 92)
        corner = pixels[:7, :6].astype(int)
        expected = (corner[:, :5].sum() + 0.75 * corner[:, 5].sum()) / (7 * 5.75)
        assert data.X[10, 0] == pytest.approx(expected, rel=1e-15)

    @pytest.mark.usefixtures("mirrored")
    def test_orl_original_pixels(self, images):
        data = datasets.fetch_orl(size=None)
        check_form(data, (400, 10304))
        assert bytes(data.X[-1].astype(np.uint8)) == images["s40/10.pgm"][14:]
        np.testing.assert_array_equal(datasets.fetch_orl(size=(112, 92)).X, data.X)
        np.testing.assert_allclose(datasets.fetch_orl((1, 1)).X[:, 0], data.X.mean(axis=1), rtol=1e-14)

    def test_wine(self, data_folder):
        data = datasets.load_wine()
        check_form(data, (178, 13))
        original = np.loadtxt(data_folder / "uci31" / "wine" / "wine.data", delimiter=",")
        np.testing.assert_array_equal(data.X, original[:, 1:])
        np.testing.assert_array_equal(data.y, original[:, 0])
        assert data.X[0, :3].tolist() == [14.23, 1.71, 2.43]

    def test_bundled_equal_those_of_scikit_learn(self):
        sklearn = pytest.importorskip("sklearn.datasets")
        wine, theirs = datasets.load_wine(), sklearn.load_wine()
        # Older releases of scikit-learn read some decimals one last bit off.
        np.testing.assert_allclose(wine.X, theirs.data, rtol=4e-16)
        np.testing.assert_array_equal(wine.y, theirs.target + 1)
        assert list(wine.feature_names) == theirs.feature_names
        diabetes, theirs = datasets.load_diabetes(), sklearn.load_diabetes(scaled=False)
        check_form(diabetes, (442, 10))
        np.testing.assert_allclose(diabetes.X, theirs.data, rtol=4e-16)
        np.testing.assert_array_equal(diabetes.y, theirs.target)
        assert list(diabetes.feature_names) == theirs.feature_names

    def test_results_are_independent_of_each_other(self):
        datasets.load_wine().X[:] = 0
        assert datasets.load_wine().X.min() > 0

    @pytest.mark.usefixtures("mirrored")
    def test_repr(self):
        assert repr(datasets.fetch_abalone(3)) == "<Dataset: 4177 samples, 8 features, 3 classes>"


class TestAreaAveraging:
    @pytest.mark.parametrize("shape", [(1, 1), (2, 3), (4, 5), (5, 4), (6, 7), (3, 7)])
    def test_equals_the_rational_mean_of_the_magnified_image(self, shape):
        source = (6, 7)
        rng = np.random.default_rng(0)
        image = rng.integers(0, 256, source)
        # Magnified until every new pixel is a whole block of equal little ones.
        factors = [lcm(n, k) // n for n, k in zip(source, shape, strict=True)]
        large = np.kron(image, np.ones(factors, dtype=int))
        block = [n // k for n, k in zip(large.shape, shape, strict=True)]
        means = _tables.area_means(image[None].astype(float), shape)[0]
        for i in range(shape[0]):
            for j in range(shape[1]):
                cells = large[i * block[0] : (i + 1) * block[0], j * block[1] : (j + 1) * block[1]]
                assert means[i, j] == float(Fraction(int(cells.sum()), cells.size))

    def test_16_by_16_equals_the_rational_mean(self):
        image = np.random.default_rng(1).integers(0, 256, (112, 92))
        means = _tables.area_means(image[None].astype(float), (16, 16))[0]
        for i, j in [(0, 0), (3, 15), (15, 0), (7, 9), (15, 15)]:
            total = Fraction(0)
            left, right = Fraction(92 * j, 16), Fraction(92 * (j + 1), 16)
            for r in range(7 * i, 7 * (i + 1)):
                for c in range(92):
                    covered = max(min(right, c + 1) - max(left, c), 0)
                    total += covered * int(image[r, c])
            assert means[i, j] == float(total / (7 * Fraction(92, 16)))


class TestArguments:
    @pytest.mark.parametrize("n_classes", [1, 4, 2.0, True, "3", [2]])
    def test_n_classes(self, n_classes):
        with pytest.raises(ValueError, match=r"n_classes must be one of None, 2, 3, got"):
            datasets.fetch_abalone(n_classes)

    def test_sex(self):
        with pytest.raises(ValueError, match=r"sex must be one of .*'drop', got 'onehot'"):
            datasets.fetch_abalone(sex="onehot")

    def test_bare_nuclei(self):
        with pytest.raises(ValueError, match=r"bare_nuclei must be one of .*, got True"):
            datasets.fetch_breast_cancer(bare_nuclei=True)

    @pytest.mark.parametrize("size", [(0, 3), (113, 1), (1, 93), (16,), (1, 2, 3), ()])
    def test_size_value(self, size):
        with pytest.raises(ValueError, match=r"size must be None or \(height, width\)") as caught:
            datasets.fetch_orl(size)
        assert str(caught.value).endswith(f"got {size!r}")

    @pytest.mark.parametrize("size", [16, "ab", (16.0, 16), (True, True), [None, 1]])
    def test_size_type(self, size):
        with pytest.raises(TypeError, match=r"size must be None or \(height, width\)"):
            datasets.fetch_orl(size)

    @pytest.mark.usefixtures("mirrored")
    def test_numpy_integers_are_sizes(self):
        assert datasets.fetch_orl(tuple(np.array([2, 3]))).X.shape == (400, 6)

    @pytest.mark.parametrize("url", ["/some/folder", "ftp://127.0.0.1", "http://", "mirror"])
    def test_mirror_address(self, monkeypatch, cache, url):
        monkeypatch.setenv("KNNCCV_DATA_URL", url)
        with pytest.raises(ValueError, match="KNNCCV_DATA_URL must begin with http"):
            datasets.fetch_liver_disorders()
        assert not cache.exists()

    def test_unknown_manifest(self):
        with pytest.raises(ValueError, match="there is no data set 'iris'; choose from: abalone"):
            _manifest.load_manifest("iris")
