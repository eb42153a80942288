"""The original files of the data sets."""

from __future__ import annotations

import json
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


@pytest.fixture(scope="module")
def typing(data_folder):
    """The typing of columns that is kept beside the files: numbers, -1 for the last."""
    return json.loads((data_folder / "uci31" / "typing.json").read_text(encoding="utf-8"))["sets"]


@pytest.fixture
def stored(data_folder, cache, monkeypatch):
    """Use the original files as the cache, not the empty one."""
    assert not cache.exists()
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(data_folder))
    return data_folder
