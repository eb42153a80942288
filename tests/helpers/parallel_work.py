"""For tests of parallel work: progress bars that write to memory, and functions for worker processes."""

import io

import pytest
from threadpoolctl import threadpool_info

import knnccv._base.parallel.threads


def bars(monkeypatch):
    """Records of the progress bars shown from now on."""
    tqdm = pytest.importorskip("tqdm").tqdm
    shown = []

    class Bar(tqdm):
        def __init__(self, *args, **kwargs):
            self.paper = io.StringIO()
            super().__init__(*args, file=self.paper, **kwargs)
            shown.append(self)

    monkeypatch.setattr(knnccv._base.parallel.threads, "tqdm", lambda: Bar)
    return shown


def blas_threads():
    return {info["filepath"]: info["num_threads"] for info in threadpool_info()}
