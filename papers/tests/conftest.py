"""Original files as the cache of downloads, no other machine, and reproductions computed once."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

import knnccv_papers

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "datasets"
DATA = Path(os.environ.get("KNNCCV_TEST_DATA", BESIDE))
KEPT = os.environ.get("KNNCCV_CACHE_DIR", "")
"""Where whole reproductions of this code are, if they were computed before."""


@pytest.fixture(autouse=True)
def _only_this_machine(monkeypatch, tmp_path):
    """There is no way to another machine, and nothing is kept where another test finds it."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nothing listens
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    monkeypatch.delenv("KNNCCV_DATA_URL", raising=False)
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("KNNCCV_CACHE_DIR", str(tmp_path / "kept"))


@pytest.fixture(scope="session")
def data_folder():
    """The folder with the original files, which are not part of the repository."""
    if not (DATA / "SHA256SUMS").is_file():
        pytest.skip(f"the original data files are not at {DATA}; KNNCCV_TEST_DATA can name their folder")
    return DATA


@pytest.fixture
def stored(data_folder, monkeypatch):
    """The original files, as the cache of downloads."""
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(data_folder))
    return data_folder


@pytest.fixture(scope="session")
def typing(data_folder):
    """The typing of columns that is kept beside the files: numbers, -1 for the last."""
    return json.loads((data_folder / "uci31" / "typing.json").read_text(encoding="utf-8"))["sets"]


@pytest.fixture(scope="session")
def _computed():
    return {}


@pytest.fixture
def quick(_computed, stored, monkeypatch, tmp_path_factory):  # noqa: ARG001
    """``quick(name)``: the quick report, the folder of the files that it wrote, and its table."""

    def compute(name):
        if name not in _computed:
            folder = tmp_path_factory.mktemp("reproduced") / "new" / "out"
            if KEPT:
                monkeypatch.setenv("KNNCCV_CACHE_DIR", KEPT)
            report = knnccv_papers.reproduce(name, quick=True, folder=folder)
            text = (folder / f"{name}.csv").read_text(encoding="utf-8")
            _computed[name] = report, folder, list(csv.DictReader(io.StringIO(text)))
        return _computed[name]

    return compute
