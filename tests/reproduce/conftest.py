"""Reproductions computed once for all tests, from the mirror's files alone."""

from __future__ import annotations

import socket

import pytest

from knnccv import reproduce
from knnccv.datasets import _download


def use_only_this_machine(patch, folder):
    """Leave no way to a public address, and keep files and reports in the folder."""
    patch.setattr(_download, "public_sources", lambda _: [])
    patch.setattr(_download, "PAUSE", 0.0)
    patch.setenv("KNNCCV_DATA_DIR", str(folder / "cache"))
    patch.setenv("KNNCCV_CACHE_DIR", str(folder / "kept"))
    for name in ("NO_PROXY", "no_proxy"):
        patch.setenv(name, "127.0.0.1,localhost")
    assert socket.getaddrinfo("127.0.0.1", 80)


def pytest_collection_modifyitems(config, items):
    """Mark the tests of all reports but the shortest as slow, unless the command line names tests."""
    if any("::" in str(argument) for argument in config.args):
        return
    for item in items:
        if "quick" in getattr(item, "fixturenames", ()) and item.path.name != "test_tr1999.py":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _only_this_machine(monkeypatch, tmp_path):
    use_only_this_machine(monkeypatch, tmp_path)


WITHOUT_DOWNLOADS = ("coverage", "esl-cv", "kanagawa-figures")


@pytest.fixture(scope="session")
def quick(request, tmp_path_factory):
    """``quick(name)``: the quick report, and the folder of the files that it wrote."""
    computed = {}

    def compute(name):
        if name not in computed:
            folder = tmp_path_factory.mktemp("reproduced")
            with pytest.MonkeyPatch.context() as patch:
                use_only_this_machine(patch, folder)
                if name not in WITHOUT_DOWNLOADS:
                    patch.setenv("KNNCCV_DATA_URL", request.getfixturevalue("mirror").url)
                out = folder / "new" / "out"
                computed[name] = reproduce.reproduce(name, quick=True, folder=out), out
        return computed[name]

    return compute
