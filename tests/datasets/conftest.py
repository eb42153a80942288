"""The original files of the data sets."""

from __future__ import annotations

import zipfile

import pytest

LIVER = "liver-disorders/bupa.data"


@pytest.fixture
def liver(data_folder) -> bytes:
    return (data_folder / LIVER).read_bytes()


@pytest.fixture
def images(data_folder) -> dict[str, bytes]:
    with zipfile.ZipFile(data_folder / "orl" / "att_faces.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def stored(data_folder, cache, monkeypatch):
    """Use the original files as the cache, not the empty one."""
    assert not cache.exists()
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(data_folder))
    return data_folder
