"""Reproductions computed once for all tests, from the mirror's files alone."""

from __future__ import annotations

import csv
import io

import pytest

from knnccv import reproduce


@pytest.fixture(autouse=True)
def _only_this_machine(only_this_machine, monkeypatch, tmp_path):
    only_this_machine.setenv("KNNCCV_DATA_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("KNNCCV_CACHE_DIR", str(tmp_path / "kept"))


@pytest.fixture(scope="session")
def _computed():
    return {}


@pytest.fixture
def quick(_computed, mirrored, tmp_path_factory):  # noqa: ARG001
    """``quick(name)``: the quick report, the folder of the files that it wrote, and its table."""

    def compute(name):
        if name not in _computed:
            folder = tmp_path_factory.mktemp("reproduced") / "new" / "out"
            report = reproduce.reproduce(name, quick=True, folder=folder)
            text = (folder / f"{name}.csv").read_text(encoding="utf-8")
            _computed[name] = report, folder, list(csv.DictReader(io.StringIO(text)))
        return _computed[name]

    return compute
