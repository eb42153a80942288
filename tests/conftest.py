"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import mirror as local
import pytest

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "datasets"
DATA = Path(os.environ.get("KNNCCV_TEST_DATA", BESIDE))


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
