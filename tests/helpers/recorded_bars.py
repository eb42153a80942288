"""Progress bars that write to memory."""

import io

import pytest

import knnccv._parallel.bars


def bars(monkeypatch):
    """Records of the progress bars shown from now on."""
    tqdm = pytest.importorskip("tqdm").tqdm
    shown = []

    class Bar(tqdm):
        def __init__(self, *args, **kwargs):
            self.paper = io.StringIO()
            super().__init__(*args, file=self.paper, **kwargs)
            shown.append(self)

    monkeypatch.setattr(knnccv._parallel.bars, "tqdm", lambda: Bar)
    return shown
