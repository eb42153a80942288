"""The data layer: what the arrays hold, and that no broken download gets anywhere near them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import pickle
import random
import subprocess
import sys
import tarfile
import threading
import zipfile
from fractions import Fraction
from math import lcm
from pathlib import Path

import mirror as local
import numpy as np
import pooch
import pytest

from knnccv import datasets
from knnccv.datasets import _archive, _csv, _download, _manifest, _orl
from knnccv.datasets._manifest import Source

ROOT = Path(__file__).resolve().parents[2]
FETCHERS = {
    "abalone": datasets.fetch_abalone,
    "breast-cancer": datasets.fetch_breast_cancer,
    "liver-disorders": datasets.fetch_liver_disorders,
    "orl": datasets.fetch_orl,
}
BUNDLED = {"wine": datasets.load_wine, "diabetes": datasets.load_diabetes}
LIVER = "liver-disorders/bupa.data"
pytestmark = pytest.mark.usefixtures("only_this_machine", "cache")


@pytest.fixture
def liver(data_folder) -> bytes:
    return (data_folder / LIVER).read_bytes()


@pytest.fixture
def images(data_folder) -> dict[str, bytes]:
    with zipfile.ZipFile(data_folder / "orl" / "att_faces.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def counts(y: np.ndarray) -> dict[int, int]:
    return dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True))


def pack_zip(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, blob in members.items():
            archive.writestr(name, blob)
    return buffer.getvalue()


def pack_tar(members: dict[str, bytes], mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, blob in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(blob)
            archive.addfile(info, io.BytesIO(blob))
    return buffer.getvalue()


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
        assert "no diagnosis" in data.description

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
        means = _orl.area_means(image[None].astype(float), shape)[0]
        for i in range(shape[0]):
            for j in range(shape[1]):
                cells = large[i * block[0] : (i + 1) * block[0], j * block[1] : (j + 1) * block[1]]
                assert means[i, j] == float(Fraction(int(cells.sum()), cells.size))

    def test_16_by_16_equals_the_rational_mean(self):
        image = np.random.default_rng(1).integers(0, 256, (112, 92))
        means = _orl.area_means(image[None].astype(float), (16, 16))[0]
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
        with pytest.raises(ValueError, match="no data set is called 'iris'; there are abalone"):
            _manifest.load_manifest("iris")


class TestCache:
    @pytest.mark.parametrize("name", FETCHERS)
    def test_second_fetch_needs_no_server(self, mirrored, monkeypatch, cache, name):
        first = FETCHERS[name]()
        assert files_in(cache) == [_manifest.load_manifest(name).path]
        asked = len(mirrored.requests)
        monkeypatch.setenv("KNNCCV_DATA_URL", local.unused_url())
        second = FETCHERS[name]()
        np.testing.assert_array_equal(first.X, second.X)
        assert len(mirrored.requests) == asked

    @pytest.mark.parametrize("name", FETCHERS)
    @pytest.mark.parametrize("damage", ["flip", "truncate", "empty"])
    @pytest.mark.usefixtures("mirrored")
    def test_damaged_file_is_replaced(self, cache, name, damage):
        FETCHERS[name]()
        path = cache / _manifest.load_manifest(name).path
        good = path.read_bytes()
        middle = len(good) // 2
        bad = {
            "flip": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
            "truncate": good[:middle],
            "empty": b"",
        }[damage]
        path.write_bytes(bad)
        FETCHERS[name]()
        assert path.read_bytes() == good
        assert files_in(cache) == [_manifest.load_manifest(name).path]

    def test_damaged_file_without_a_server_is_reported_and_kept(self, cache, liver):
        path = cache / LIVER
        path.parent.mkdir(parents=True)
        path.write_bytes(liver[:-1])
        with pytest.raises(datasets.DatasetError) as caught:
            datasets.fetch_liver_disorders()
        assert f"{path}\n    the SHA-256 of its 7296 bytes is" in str(caught.value)
        assert path.read_bytes() == liver[:-1]

    def test_a_folder_filled_by_hand_may_be_read_only(self, data_folder, monkeypatch):
        monkeypatch.setenv("KNNCCV_DATA_DIR", str(data_folder))
        monkeypatch.setattr(_download, "_require_writable", None)
        for fetch in FETCHERS.values():
            fetch()

    def test_default_folder(self, monkeypatch):
        monkeypatch.setenv("KNNCCV_DATA_DIR", "")
        assert "knnccv" in _download.cache_folder().parts

    def test_home_is_expanded(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        monkeypatch.setenv("KNNCCV_DATA_DIR", "~/data")
        assert _download.cache_folder() == tmp_path / "data"

    def test_unwritable_folder(self, mirrored, monkeypatch, tmp_path):
        (tmp_path / "file").touch()
        monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path / "file" / "cache"))
        asked = len(mirrored.requests)
        with pytest.raises(datasets.DatasetError, match=r"cannot be stored at .*KNNCCV_DATA_DIR"):
            datasets.fetch_liver_disorders()
        assert len(mirrored.requests) == asked

    @pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user bound by permissions"
    )
    @pytest.mark.usefixtures("mirrored")
    def test_folder_without_permission(self, cache):
        cache.mkdir(mode=0o500)
        with pytest.raises(datasets.DatasetError, match=r"PermissionError.*KNNCCV_DATA_DIR"):
            datasets.fetch_liver_disorders()

    @pytest.mark.usefixtures("mirrored")
    def test_full_disk(self, monkeypatch, cache):
        def full(path, blob):
            with path.open("wb") as stream:
                stream.write(blob[:10])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(datasets.DatasetError, match=r"No space left.*KNNCCV_DATA_DIR"):
            datasets.fetch_liver_disorders()
        assert files_in(cache) == []

    @pytest.mark.parametrize("moment", ["transfer", "rename"])
    @pytest.mark.usefixtures("mirrored")
    def test_interrupt_leaves_nothing(self, monkeypatch, cache, moment):
        def interrupt(*_):
            raise KeyboardInterrupt

        if moment == "transfer":
            monkeypatch.setattr(_download._Sink, "write", interrupt)
        else:
            monkeypatch.setattr(_download.os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            datasets.fetch_liver_disorders()
        assert files_in(cache) == []

    @pytest.mark.usefixtures("mirrored")
    def test_threads(self, cache):
        results, barrier = [], threading.Barrier(8)

        def work():
            barrier.wait()
            results.append(datasets.fetch_orl().X)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 8
        assert all(np.array_equal(results[0], result) for result in results)
        assert files_in(cache) == ["orl/att_faces.zip"]

    @pytest.mark.usefixtures("mirrored")
    def test_processes(self, cache):
        code = (
            "from knnccv import _download, datasets\n"
            "_download.public_sources = lambda _: []\n"
            "assert datasets.fetch_abalone().X.shape == (4177, 8)"
        )
        workers = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(4)]
        assert [worker.wait(timeout=120) for worker in workers] == [0] * 4
        assert files_in(cache) == ["abalone/abalone.data"]


class TestBrokenServers:
    def fails(self, url, monkeypatch, cache, *reasons):
        monkeypatch.setenv("KNNCCV_DATA_URL", url)
        with pytest.raises(datasets.DatasetError) as caught:
            datasets.fetch_liver_disorders()
        message = str(caught.value)
        for part in (f"{url}/{LIVER}", str(cache / LIVER), "KNNCCV_DATA_URL", *reasons):
            assert part in message
        assert files_in(cache) == []
        assert not _download.is_cached(_manifest.load_manifest("liver-disorders"))

    @pytest.mark.parametrize("code", [403, 404, 500, 503])
    def test_status(self, monkeypatch, cache, code):
        with local.serve(local.status(code)) as server:
            self.fails(server.url, monkeypatch, cache, f"HTTP {code}")
            assert len(server.requests) == (_download.ATTEMPTS if code >= 500 else 1)

    def test_wrong_content(self, monkeypatch, cache, liver):
        with local.serve(local.content(liver.replace(b"92", b"93", 1))) as server:
            self.fails(server.url, monkeypatch, cache, "SHA-256 of its 7297 bytes is")
            assert len(server.requests) == 1

    def test_truncated_with_a_matching_length(self, monkeypatch, cache, liver):
        with local.serve(local.content(liver[:5000])) as server:
            self.fails(server.url, monkeypatch, cache, "SHA-256 of its 5000 bytes is")

    def test_dropped_in_the_body(self, monkeypatch, cache, liver):
        with local.serve(local.dropped(liver)) as server:
            self.fails(server.url, monkeypatch, cache, "IncompleteRead")
            assert len(server.requests) == _download.ATTEMPTS

    def test_hangup(self, monkeypatch, cache):
        with local.serve(local.hangup) as server:
            self.fails(server.url, monkeypatch, cache, "RemoteDisconnected")

    def test_refused(self, monkeypatch, cache):
        self.fails(local.unused_url(), monkeypatch, cache, "refused")

    def test_no_network(self, monkeypatch, cache):
        self.fails("http://nowhere.invalid", monkeypatch, cache, "nowhere.invalid")

    @pytest.mark.parametrize("half", [False, True])
    def test_timeout(self, monkeypatch, cache, liver, half):
        monkeypatch.setattr(_download, "READ_TIMEOUT", 0.1)
        with local.serve(local.stalled(liver) if half else local.silent) as server:
            self.fails(server.url, monkeypatch, cache, "no answer within", "0.1 s")
            assert len(server.requests) == 1

    def test_dripping(self, monkeypatch, cache, liver):
        monkeypatch.setattr(_download, "DEADLINE", -1.0)
        with local.serve(local.content(liver)) as server:
            self.fails(server.url, monkeypatch, cache, "not complete after")

    def test_too_large(self, monkeypatch, cache, liver):
        monkeypatch.setattr(_archive, "MAX_BYTES", 3000)
        with local.serve(local.content(liver)) as server:
            self.fails(server.url, monkeypatch, cache, "larger than 3000 bytes")

    def test_a_passing_failure_is_forgiven(self, monkeypatch, liver):
        answers = iter([local.dropped(liver), local.content(liver)])
        with local.serve(lambda handler: next(answers)(handler)) as server:
            monkeypatch.setenv("KNNCCV_DATA_URL", server.url + "/")
            datasets.fetch_liver_disorders()
            assert server.requests == [f"/{LIVER}"] * 2

    def test_error_is_an_os_error_and_survives_pickling(self, monkeypatch):
        monkeypatch.setenv("KNNCCV_DATA_URL", local.unused_url())
        with pytest.raises(OSError, match="could not be fetched") as caught:
            datasets.fetch_liver_disorders()
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


class TestAddresses:
    def test_public_addresses_follow_the_mirror(self, monkeypatch, mirror, cache):
        with local.serve(local.status(404)) as broken:
            monkeypatch.setenv("KNNCCV_DATA_URL", f"{broken.url}/base")
            public = [Source(local.unused_url()), Source(f"{mirror.url}/{LIVER}")]
            monkeypatch.setattr(_download, "public_sources", lambda _: public)
            assert datasets.fetch_liver_disorders().X.shape == (345, 6)
            assert broken.requests == [f"/base/{LIVER}"]
        assert files_in(cache) == [LIVER]

    def test_every_address_is_listed_with_its_reason(self, monkeypatch, cache, liver):
        with (
            local.serve(local.status(404)) as missing,
            local.serve(local.content(liver[1:])) as wrong,
        ):
            public = [Source(f"{missing.url}/a"), Source(f"{wrong.url}/b")]
            monkeypatch.setattr(_download, "public_sources", lambda _: public)
            with pytest.raises(datasets.DatasetError) as caught:
                datasets.fetch_liver_disorders()
        message = str(caught.value)
        assert f"{missing.url}/a\n    HTTP 404" in message
        assert f"{wrong.url}/b\n    the SHA-256 of its 7296 bytes is" in message
        assert files_in(cache) == []

    def test_member_of_a_zip(self, monkeypatch, cache, liver):
        archive = pack_zip({"Index": b"", "bupa.data": liver})
        with local.serve(local.content(archive)) as server:
            public = [Source(server.url, "bupa.data")]
            monkeypatch.setattr(_download, "public_sources", lambda _: public)
            datasets.fetch_liver_disorders()
        assert (cache / LIVER).read_bytes() == liver

    @pytest.mark.parametrize(
        ("archive", "reason"),
        [
            (b"<html>moved</html>", "not a usable zip"),
            (pack_zip({"other.data": b"1"}), "bupa.data"),
            (pack_zip({"bupa.data": b"1"}), "SHA-256 of its 1 bytes"),
            (pack_zip({"bupa.data": bytes(65 * 2**20)}), "larger than"),
        ],
        ids=["page", "missing", "wrong", "bomb"],
    )
    def test_bad_zip(self, monkeypatch, cache, archive, reason):
        with local.serve(local.content(archive)) as server:
            public = [Source(server.url, "bupa.data")]
            monkeypatch.setattr(_download, "public_sources", lambda _: public)
            with pytest.raises(datasets.DatasetError, match=reason):
                datasets.fetch_liver_disorders()
        assert files_in(cache) == []

    def test_only_downloads_are_logged(self, mirrored, monkeypatch, caplog):
        monkeypatch.setattr(pooch.get_logger(), "handlers", [caplog.handler])
        datasets.fetch_liver_disorders()
        datasets.fetch_liver_disorders()
        logged = [record.getMessage() for record in caplog.records if record.name == "pooch"]
        assert logged == [f"Downloading {mirrored.url}/{LIVER}"]


class TestFaceArchives:
    def fetch(self, archive, monkeypatch):
        with local.serve(local.content(archive)) as server:
            monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
            return datasets.fetch_orl(size=(2, 2))

    @pytest.mark.parametrize("prefix", ["", "att_faces/", "a/orl_faces/"])
    @pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
    def test_forms(self, monkeypatch, mirror, cache, images, prefix, form):
        members = [(prefix + name, blob) for name, blob in images.items()]
        random.Random(0).shuffle(members)
        members = {"__MACOSX/att_faces/s1/._1.pgm": b"", **dict(members)}
        archive = {
            "zip": lambda: pack_zip(members),
            "tar": lambda: pack_tar(members, "w"),
            "tar.gz": lambda: pack_tar(members, "w:gz"),
        }[form]()
        data = self.fetch(archive, monkeypatch)
        assert files_in(cache) == ["orl/att_faces.zip"]
        # The same once more, from the cache, and from the original.
        np.testing.assert_array_equal(datasets.fetch_orl((2, 2)).X, data.X)
        (cache / "orl" / "att_faces.zip").unlink()
        monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
        np.testing.assert_array_equal(datasets.fetch_orl((2, 2)).X, data.X)

    def test_one_altered_image(self, monkeypatch, cache, images):
        blob = images["s17/4.pgm"]
        images["s17/4.pgm"] = blob[:-1] + bytes([blob[-1] ^ 1])
        with pytest.raises(datasets.DatasetError, match=r"s17/4\.pgm does not have .*\(1 of 400"):
            self.fetch(pack_zip(images), monkeypatch)
        assert files_in(cache) == []

    def test_a_second_copy_may_be_the_right_one(self, monkeypatch, images):
        self.fetch(pack_zip({"thumbnails/s1/1.pgm": b"P5", **images}), monkeypatch)
        self.fetch(pack_zip({**images, "thumbnails/s1/1.pgm": b"P5"}), monkeypatch)

    def test_missing_images(self, monkeypatch, cache, images):
        members = {name: blob for name, blob in images.items() if not name.startswith("s40/")}
        with pytest.raises(datasets.DatasetError, match=r"s40/1\.pgm is missing \(10 of 400"):
            self.fetch(pack_zip(members), monkeypatch)
        assert files_in(cache) == []

    @pytest.mark.parametrize(
        ("archive", "reason"),
        [
            (b"", "usable|missing"),
            (b"<html>gone</html>" * 99, "not a usable zip, tar or tar.gz"),
            (pack_zip({"s1/1.pgm": bytes(65 * 2**20)}), "larger than"),
            (pack_tar({"s1/1.pgm": bytes(65 * 2**20)}, "w:gz"), "larger than"),
            (gzip.compress(b"no tar" * 999), "not a usable zip, tar or tar.gz"),
            (pack_tar({"s1/1.pgm": bytes(10000)}, "w:gz")[:-20], "not a usable|missing"),
            (pack_zip({"s1/1.pgm": bytes(10000)})[:-20], "not a usable"),
        ],
        ids=["empty", "page", "zip-bomb", "gzip-bomb", "no-tar", "cut-tar", "cut-zip"],
    )
    def test_bad_archives(self, monkeypatch, cache, archive, reason):
        with pytest.raises(datasets.DatasetError, match=reason):
            self.fetch(archive, monkeypatch)
        assert files_in(cache) == []

    def test_only_listed_members_are_unpacked(self, monkeypatch, images):
        # Unpacking the large one would exceed the bound.
        monkeypatch.setattr(_archive, "MAX_BYTES", 2**23)
        self.fetch(pack_zip({"movie": bytes(2**24), **images}), monkeypatch)


class TestParsing:
    @pytest.mark.parametrize(
        ("blob", "message"),
        [
            (b"1,2,3,4,5,6,1\n1,2\n", r"bupa\.data, line 2: 7 fields expected, got 2"),
            (b"1,2,3,4,5,6,1\n\n1,x,3,4,5,6,2\n", r"line 3: alkphos must be a number, got 'x'"),
            (b"1,2,3,4,5,6,\xff\n", r"line 1: selector must be a number"),
        ],
    )
    def test_file_and_line_are_named(self, blob, message):
        with pytest.raises(datasets.DatasetError, match=message):
            _csv.parse(_manifest.load_manifest("liver-disorders"), blob)

    def test_unknown_code(self):
        with pytest.raises(datasets.DatasetError, match="sex must be one of I, M, F, got 'X'"):
            _csv.parse(_manifest.load_manifest("abalone"), b"X,1,1,1,1,1,1,1,1\n")

    def test_no_pgm(self):
        with pytest.raises(datasets.DatasetError, match=r"s1/1\.pgm: not a binary PGM"):
            _orl.read_pgm("s1/1.pgm", b"P5\n92 112\n255\n" + bytes(10))


class TestManifests:
    def test_there_is_one_for_every_function(self):
        assert _manifest.manifest_names() == sorted([*FETCHERS, *BUNDLED])

    @pytest.mark.parametrize("name", [*FETCHERS, *BUNDLED])
    def test_is_complete(self, name):
        manifest = _manifest.load_manifest(name)
        assert manifest.citation
        assert manifest.licence
        assert manifest.homepage.startswith("https://")
        hashes = list(manifest.checksums.values()) or [manifest.sha256]
        for sha256 in hashes:
            assert len(sha256) == 64
            assert set(sha256) <= set("0123456789abcdef")
        assert manifest.bundled == (not manifest.sources)
        for source in manifest.sources:
            assert source.url.startswith(("https://", "http://"))
            assert (source.member is None) == (manifest.name == "orl" or not source.url.endswith(".zip"))

    @pytest.mark.parametrize("name", BUNDLED)
    def test_bundled_file_is_the_recorded_one(self, name):
        manifest = _manifest.load_manifest(name)
        blob = _download.file_path(manifest).read_bytes()
        assert hashlib.sha256(blob).hexdigest() == manifest.sha256
        assert blob.splitlines()[0].decode().split(",") == list(manifest.table.fields)

    def test_bundled_wine_is_the_original_below_a_header(self, data_folder):
        blob = _download.file_path(_manifest.load_manifest("wine")).read_bytes()
        original = (data_folder / "uci31" / "wine" / "wine.data").read_bytes()
        assert blob.split(b"\n", 1)[1] == original

    @pytest.mark.parametrize("name", FETCHERS)
    def test_mirror_has_the_recorded_file(self, data_folder, name):
        manifest = _manifest.load_manifest(name)
        _download.verify(manifest, (data_folder / manifest.path).read_bytes())

    @pytest.mark.parametrize("name", FETCHERS)
    @pytest.mark.usefixtures("mirrored")
    def test_numbers_are_those_of_the_default(self, name):
        manifest, data = _manifest.load_manifest(name), FETCHERS[name]()
        assert data.X.shape == (manifest.n_items, manifest.n_features)
        assert len(np.unique(data.y)) == manifest.n_classes

    def test_installed_manifests_are_preferred(self, monkeypatch, tmp_path):
        package = tmp_path / "site" / "knnccv" / "datasets"
        package.mkdir(parents=True)
        monkeypatch.setattr(_manifest, "_HERE", package)
        assert _manifest.manifest_folder() == tmp_path / "site" / "datasets"
        (package / "_manifests").mkdir()
        assert _manifest.manifest_folder() == package / "_manifests"


class TestList:
    def test_before_and_after_a_fetch(self, mirrored, cache):
        asked = len(mirrored.requests)
        before = {info.name: info for info in datasets.list_datasets()}
        assert len(mirrored.requests) == asked
        assert not cache.exists()
        assert {name for name, info in before.items() if info.cached} == set(BUNDLED)
        assert before["orl"].path == cache / "orl" / "att_faces.zip"
        assert (before["diabetes"].n_classes, before["wine"].n_classes) == (None, 3)
        datasets.fetch_liver_disorders()
        after = {info.name: info for info in datasets.list_datasets()}
        assert {n for n, info in after.items() if info.cached} == {*BUNDLED, "liver-disorders"}

    @pytest.mark.usefixtures("mirrored")
    def test_a_damaged_file_is_not_cached(self, cache):
        datasets.fetch_liver_disorders()
        (cache / LIVER).write_bytes(b"")
        assert not any(i.cached for i in datasets.list_datasets() if i.name == "liver-disorders")


@pytest.mark.skipif(
    not (ROOT / "knnccv" / "__init__.py").is_file(), reason="the package has no __init__.py"
)
def test_import_is_light():
    code = (
        "import sys, knnccv.datasets\n"
        "heavy = {'pooch', 'requests', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)
