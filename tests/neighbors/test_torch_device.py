"""Neighbors proposed by a device of PyTorch: the orders and ties of the CPU, index for index.

Devices of their own memory are tested where there are any; the CPU as a device of PyTorch wherever that
is installed.
"""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import adversarial, by_brute_force, engine, grid

from knnccv import Neighbors
from knnccv.neighbors import UNIT, ProductSearch
from knnccv.neighbors._engines import matrix_product, torch_device

torch = pytest.importorskip("torch", reason="PyTorch (extra [gpu]) is not installed")
NO_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
pytestmark = pytest.mark.peers
DEVICES = ["cpu", pytest.param("cuda", marks=NO_CUDA)]


def same(found, expected):
    for name in ("items", "values", "lengths", "may_tie_beyond"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in adversarial()])
def test_orders_and_ties_are_those_of_brute_force(X, device):
    rows = np.arange(0, len(X), 7)
    for depth in (1, 40, 150):
        near = Neighbors.from_data(X, device=device)
        near.prepare(depth)
        assert engine(near, depth) == "TorchProduct"
        some = near.search(rows, depth)
        near.search_all(depth)
        assert near._engine(depth)._heaps is not None
        of_all = near.search(rows, depth)
        plain = by_brute_force(Neighbors.from_data(X)).search(rows, depth)
        same(some, plain)
        same(of_all, plain)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "correlation"])
def test_metrics_and_types(metric, device):
    X = np.random.default_rng(0).normal(size=(1300, 12))
    for data in (X, X.astype(np.float32), X.round()):
        if metric != "sqeuclidean":
            data = data[np.ptp(data, axis=1) > 0]
        expected = Neighbors.from_data(data, metric).kneighbors(20)
        found = Neighbors.from_data(data, metric, device=device).kneighbors(20)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("device", DEVICES)
def test_queries_and_a_gallery(device):
    rng = np.random.default_rng(0)
    for both in (rng.normal(size=(1160, 16)), rng.integers(0, 3, (1160, 16)).astype(float)):
        queries, gallery = both[:60], both[60:]
        near = Neighbors.between(queries, gallery, n_neighbors=30, device=device)
        plainly = Neighbors.between(queries, gallery, n_neighbors=30)
        for found, expected in zip(
            near.lists(0, 60, fair=True), plainly.lists(0, 60, fair=True), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
        assert engine(near, 30) == "TorchProduct"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("exact", [False, True])
def test_tiles_of_any_size_find_the_same(exact, device, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (1100, 10)).astype(float) if exact else rng.normal(size=(1100, 10))
    search = ProductSearch.of(X)
    assert search.exact == exact
    rows = np.arange(len(X))
    expected = matrix_product.proposals(search, rows, 30)
    for tile_bytes, n_rows in ((2**14, 7), (2**18, 100), (2**26, 4096)):
        monkeypatch.setattr(torch_device, "TILE_ROWS", n_rows)
        found = torch_device.DeviceSearch(search, device, tile_bytes).proposals(rows, 30)
        assert (found.values[:, 0] >= found.values.max(axis=1)).all()
        if not exact:  # proposals may differ by what the device rounds otherwise
            np.testing.assert_allclose(
                np.sort(found.values), np.sort(expected.values), rtol=0, atol=100 * UNIT
            )
            continue
        for heaps in (found, expected):
            order = np.lexsort((heaps.items, heaps.values))
            heaps.items[:] = np.take_along_axis(heaps.items, order, axis=1)
            heaps.values[:] = np.take_along_axis(heaps.values, order, axis=1)
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(found.items, expected.items)


@pytest.mark.parametrize("resident", [False, True])
def test_factors_are_padded_and_streamed_where_they_are_too_large(resident, monkeypatch):
    """As on a device of its own memory."""
    monkeypatch.setattr(torch_device, "SENT_ROWS", 300)
    X = np.random.default_rng(0).normal(size=(1100, 10))
    search = torch_device.DeviceSearch(ProductSearch.of(X), "cpu", 2**18)
    rows = np.arange(len(X))
    whole = search.proposals(rows, 10)
    search._aligned = 16
    search._factors = search._send_all() if resident else None
    np.testing.assert_allclose(search.proposals(rows, 10).values, whole.values, atol=100 * UNIT)


def test_rows_asked_again_deeper_go_through_the_device(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1200, 10))
    near = Neighbors.from_data(X, device="cpu")
    near.search_all(5)
    asked = []
    on_device = near._engine(5)._on_device()
    find = on_device.proposals
    monkeypatch.setattr(
        on_device, "proposals", lambda rows, depth: (asked.append(depth), find(rows, depth))[1]
    )
    rows = np.array([3, 77, 500])
    near.search(rows, 4)
    assert not asked
    same(near.search(rows, 60), Neighbors.from_data(X).search(rows, 60))
    assert asked == [60]


def test_neighbors_with_a_device_can_be_pickled():
    X = grid(1200, 10)
    near = Neighbors.from_data(X, device="cpu")
    expected = near.kneighbors(9)[0]
    packed = pickle.dumps(near)
    assert b"torch." not in packed  # no tensors; the engine's module is torch_device
    copy = pickle.loads(packed)
    assert not copy._engine(9)._on_device.is_built
    np.testing.assert_array_equal(copy.kneighbors(12)[0], near.kneighbors(12)[0])
    np.testing.assert_array_equal(copy.kneighbors(9)[0], expected)


def settings():
    found = [torch.backends.cuda.matmul.fp32_precision, torch.backends.mkldnn.matmul.fp32_precision]
    try:
        found += [torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32]
    except RuntimeError:  # set by both of PyTorch's ways
        found.append("mixed")
    return found


SETTINGS = {
    "default": "",
    "medium": "torch.set_float32_matmul_precision('medium')",
    "allow_tf32": "torch.backends.cuda.matmul.allow_tf32 = True",
    "everywhere": "torch.backends.fp32_precision = 'tf32'",
    "one backend": "torch.backends.cuda.matmul.fp32_precision = 'tf32'",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_precision_are_put_aside_and_come_back(name, tmp_path):
    """In processes of their own: settings belong to the process."""
    if not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        pytest.skip("this PyTorch has the older settings alone")
    script = tmp_path / "precision.py"
    script.write_text(
        "\n".join(
            [
                "import sys",
                f"sys.path[:0] = {[*sys.path, str(Path(__file__).parent)]!r}",
                "from knnccv import Neighbors",
                "Neighbors.from_data([[0.0], [1.0], [3.0]]).kneighbors(1)",
                "assert 'torch' not in sys.modules",
                "from test_torch_device import settings, torch_device",
                "import torch",
                SETTINGS[name],
                "before = settings()",
                "with torch_device.single_precision(torch):",
                "    assert settings() == ['ieee', 'ieee', 'highest', False], settings()",
                "assert settings() == before, (before, settings())",
                "try:",
                "    with torch_device.single_precision(torch): raise KeyError",
                "except KeyError: assert settings() == before",
            ]
        )
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_autocast_does_not_reach_the_search():
    X = np.random.default_rng(0).normal(size=(1100, 12))
    expected = Neighbors.from_data(X).kneighbors(9)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        near = Neighbors.from_data(X, device="cpu")
        near.search_all(9)
    assert (near._engine(9)._heaps.values[:, 0] > 0).all()
    np.testing.assert_array_equal(near.kneighbors(9)[0], expected)


def test_less_than_single_precision_is_noticed():
    for n_features in (3, 80, 800):
        X = np.random.default_rng(0).normal(size=(1000, n_features))
        one, other, found = torch_device.DeviceSearch(ProductSearch.of(X), "cpu")._probe()
        torch_device._check_products(one, other, found)
        for lost_bits in (8, 13, 16):  # 13 bits fewer is TF32, 16 is bfloat16
            mask = np.uint32(2**32 - 2**lost_bits)
            short = [(part.view(np.uint32) & mask).view(np.float32) for part in (one, other)]
            with pytest.raises(RuntimeError, match="less than single precision"):
                torch_device._check_products(one, other, short[0] @ short[1].T)


def test_devices_that_do_not_serve():
    X = grid(50)
    for metric in ("manhattan", "chebyshev", "hamming"):
        with pytest.raises(ValueError, match=f"device serves the euclidean, .* metrics, not '{metric}'"):
            Neighbors.from_data(X, metric, device="cpu")
    zero = np.concatenate([X, np.zeros((1, 3))])
    with pytest.raises(ValueError, match="some row has no direction"):
        Neighbors.from_data(zero, "cosine", device="cpu")
    wide = [[0.0], [1e-150], [1e145]]
    with pytest.raises(ValueError, match="span too many orders of magnitude"):
        Neighbors.from_data(wide, device="cpu")
    with pytest.raises(ValueError, match="'tree' runs on the CPU"):
        Neighbors.from_data(X, algorithm="tree", device="cpu")
    for wrong in ("gpu", 1.5, "cuda:x", ["cpu"]):
        with pytest.raises(ValueError, match=r"device must be None or a device of PyTorch"):
            Neighbors.from_data(X, device=wrong)
    for absent in ("cuda:99", "meta"):
        with pytest.raises(ValueError, match=f"this machine has no device '{absent}', only 'cpu'"):
            Neighbors.from_data(X, device=absent)


def test_small_problems_are_left_to_the_cpu():
    X = grid(50)
    near = Neighbors.from_data(X, device=torch.device("cpu"))
    np.testing.assert_array_equal(near.kneighbors(9)[0], Neighbors.from_data(X).kneighbors(9)[0])
    assert engine(near, 9) == "BruteForce"


@NO_CUDA
def test_cuda_keeps_to_its_memory_and_to_the_order():
    X = np.random.default_rng(0).normal(size=(20_000, 64)).astype(np.float32)
    near = Neighbors.from_data(X, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    found = near.kneighbors(32)
    assert torch.cuda.max_memory_allocated() < 3 * torch_device.TILE_BYTES
    expected = Neighbors.from_data(X).kneighbors(32)
    np.testing.assert_array_equal(found, expected)
