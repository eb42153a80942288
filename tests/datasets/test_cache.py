"""The cache folder: damaged files, folders without permission, threads and processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import mirror as local
import numpy as np
import pytest
from mirror import files_in

from knnccv import datasets
from knnccv.datasets import _download, _manifest

ROOT = Path(__file__).resolve().parents[2]
FETCHERS = {
    "abalone": datasets.fetch_abalone,
    "breast-cancer": datasets.fetch_breast_cancer,
    "liver-disorders": datasets.fetch_liver_disorders,
    "orl": datasets.fetch_orl,
}
LIVER = "liver-disorders/bupa.data"
pytestmark = pytest.mark.usefixtures("only_this_machine", "cache")


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
            "from knnccv import datasets\n"
            "from knnccv.datasets import _download\n"
            "_download.public_sources = lambda _: []\n"
            "assert datasets.fetch_abalone().X.shape == (4177, 8)"
        )
        workers = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(4)]
        assert [worker.wait(timeout=120) for worker in workers] == [0] * 4
        assert files_in(cache) == ["abalone/abalone.data"]
