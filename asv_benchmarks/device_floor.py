"""The time of a search on a device, in seconds and relative to that of the matrix products alone.

    python device_floor.py                                     # 1,000,000 x 768, m = 32, on "cuda"
    python device_floor.py --device cpu --items 4000 --features 64

The floor is the time of all inner products in single precision: that of one tile's product on the
same device, times the number of tiles. Prints one JSON object with the stages: preparation of the data,
search on the device, and exact distances in double precision on the CPU.
"""

import argparse
import json
import time

import numpy as np
import torch

import knnccv
from knnccv import Neighbors
from knnccv.neighbors._engines import torch_device as engine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=768)
    parser.add_argument("--neighbors", type=int, default=32)
    parser.add_argument("--check", type=int, default=64, help="rows compared with the plain search")
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((asked.items, asked.features), dtype=np.float32)
    # Some structure, as in embeddings: the neighbors of a row are not all equally far.
    X += rng.standard_normal((256, asked.features), dtype=np.float32)[rng.integers(0, 256, asked.items)]
    near = Neighbors.from_data(X, device=asked.device)
    depth = asked.neighbors
    seconds = {}
    with stage(seconds, "prepare"):
        near.prepare(depth)
    chosen = near._engine(depth)
    if not isinstance(chosen, engine.TorchProduct):
        parser.error("a device does not search this few samples, or this many neighbors of them")
    on_device = chosen._on_device()
    on_device.proposals(np.arange(engine.TILE_ROWS) % asked.items, depth)  # first calls load libraries
    with stage(seconds, "device"):
        near.search_all(depth)
    near.search(np.arange(64), depth)  # compiles
    with stage(seconds, "settle"):
        items, _ = near.kneighbors(depth)
    floor = product_seconds(on_device, asked.items)
    rows = rng.choice(asked.items, min(asked.check, asked.items), replace=False)
    whole = sum(seconds.values())
    report = {
        "device": device_name(on_device._device),
        "torch": torch.__version__,
        "knnccv": knnccv.__version__,
        "n_items": asked.items,
        "n_features": asked.features,
        "n_neighbors": depth,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "seconds_in_all": round(whole, 3),
        "floor_seconds": round(floor, 3),
        "floor_tflops": round(2 * asked.items**2 * asked.features / floor / 1e12, 3),
        "floor_over_device": round(floor / seconds["device"], 3),
        "floor_over_all": round(floor / whole, 3),
        "rows_checked": len(rows),
        "rows_right": int(sum(right(X, row, items[row]) for row in rows)),
    }
    print(json.dumps(report, indent=1))


class stage:
    """Record the seconds of a block under a name."""

    def __init__(self, seconds, name):
        self.seconds, self.name = seconds, name

    def __enter__(self):
        self.start = time.perf_counter()

    def __exit__(self, *error):
        self.seconds[self.name] = time.perf_counter() - self.start


def product_seconds(search, n_items):
    """Return the seconds of all products: those of one tile of the search, times the number of tiles."""
    n_rows = min(engine.TILE_ROWS, n_items)
    n_columns = min(search._n_columns(n_rows), n_items)
    shape = search._aligned
    with search._quiet():
        rows = torch.rand((n_rows, shape), device=search._device)
        columns = torch.rand((n_columns, shape), device=search._device)
        products = torch.empty((n_rows, n_columns), device=search._device)
        best = np.inf
        for _ in range(5):
            wait(search._device)
            start = time.perf_counter()
            torch.mm(rows, columns.T, out=products)
            wait(search._device)
            best = min(best, time.perf_counter() - start)
    return best * (n_items / n_rows) * (n_items / n_columns)


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def device_name(device):
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def right(X, row, found):
    """Return True if the samples are the nearest in double precision, ties by index."""
    pieces = np.array_split(np.arange(len(X)), max(1, len(X) // 2**14))
    values = np.concatenate([((X[piece].astype(np.float64) - X[row]) ** 2).sum(axis=1) for piece in pieces])
    values[row] = np.inf
    return bool(np.array_equal(np.lexsort((np.arange(len(X)), values))[: len(found)], found))


if __name__ == "__main__":
    main()
