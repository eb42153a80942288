"""Fixtures that several test modules share."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Iterator
from pathlib import Path

# Compiled code is tested, as kernels are compared with enumerations; `test_tier` tests the other tier.
os.environ.setdefault("KNNCCV_TIER", "compiled")

import mirror as local
import pooch  # noqa: F401 - now, or its log would keep the stream of the first test that asks for it
import pytest
from seeds import FIRST

import knnccv
from knnccv.datasets import _download

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "datasets"
# The compiler makes millions of objects that live long: with Python's own thresholds the collector takes a
# tenth of the time of the fast tests to look at them again and again.
gc.set_threshold(100_000, 20, 100)
DATA = Path(os.environ.get("KNNCCV_TEST_DATA", BESIDE))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker whole files: what a file computes once, or compiles, is not needed by two."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log) if config.getvalue("dist") == "load" else None


def pytest_report_header() -> str:
    """Tell the seed that repeats today's random problems, and what is tested."""
    return f"KNNCCV_SEED={FIRST}, knnccv from {knnccv.__file__}"


def pytest_sessionstart() -> None:
    """Refuse to test another knnccv than that of the environment which ``KNNCCV_FROM`` names."""
    if not Path(knnccv.__file__).is_relative_to(os.environ.get("KNNCCV_FROM", "/")):
        msg = f"knnccv comes from {knnccv.__file__}"
        raise pytest.UsageError(msg)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder with the original files, which are not part of the repository."""
    if not (DATA / "SHA256SUMS").is_file():
        pytest.skip(f"the original data files are not at {DATA}; KNNCCV_TEST_DATA can name their folder")
    return DATA


@pytest.fixture(scope="session")
def mirror(data_folder: Path) -> Iterator[local.Server]:
    """Serve the original files over HTTP on this machine."""
    with local.serve(local.folder(data_folder)) as server:
        yield server


@pytest.fixture
def mirrored(mirror: local.Server, only_this_machine: pytest.MonkeyPatch) -> local.Server:
    """Use the mirror, and nothing else."""
    only_this_machine.setenv("KNNCCV_DATA_URL", mirror.url)
    return mirror


@pytest.fixture
def only_this_machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Leave no way to a public address: none is known, and no other name can be resolved."""
    resolve = socket.getaddrinfo

    def local_only(host, *args, **kwargs):
        if host not in ("127.0.0.1", "localhost"):
            msg = f"a test asked for {host}"
            raise socket.gaierror(msg)
        return resolve(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", local_only)
    monkeypatch.setattr(_download, "public_sources", lambda _: [])
    monkeypatch.setattr(_download, "PAUSE", 0.0)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    monkeypatch.delenv("KNNCCV_DATA_URL", raising=False)
    return monkeypatch


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache folder."""
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"
