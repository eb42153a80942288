"""Without PyTorch, a device is a clear error, and nothing else notices."""

import subprocess
import sys

import pytest

from knnccv import Neighbors

DATA = [[0.0], [1.0], [3.0]]


def test_a_device_without_pytorch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"device=... needs PyTorch: pip install 'knnccv\[gpu\]'"):
        Neighbors.from_data(DATA, device="cpu")
    assert Neighbors.from_data(DATA).kneighbors(2)[0].tolist() == [[1, 2], [0, 2], [1, 0]]


def test_pytorch_is_not_imported_before_a_device_is_asked_for():
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; from knnccv import Neighbors; "
        f"Neighbors.from_data({DATA!r}).kneighbors(1); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
