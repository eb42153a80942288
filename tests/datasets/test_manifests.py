"""Manifests, and the list of data sets."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from knnccv import datasets
from knnccv.datasets import _download, _manifest

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
