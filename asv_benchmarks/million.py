"""Seconds and peak memory for a million samples, each part in a process of its own.

    python million.py [n_items]

1. 5 nearest neighbors in 8 features, float32, from a memory-mapped file, trained on 80 % of the samples.
2. The same rule, two classes, from given neighbor lists, 48 deep.

The peak is that of the whole process, imports and kernels included. The first run compiles the kernels.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from benchmarks.processes import LIST_ENTRY, peak_bytes

N_FEATURES = 8
DEPTH = 48
PIECE = 2**16
MIB = 2**20
X_FILE, Y_FILE, LISTS_FILE = "items.npy", "labels.npy", "lists.npy"


def write_files(folder, n_items):
    """Write samples of two Gaussian clouds, labels, and random lists without repetition, in pieces."""
    rng = np.random.default_rng(20000629)
    make = np.lib.format.open_memmap
    X = make(folder / X_FILE, "w+", np.float32, (n_items, N_FEATURES))
    y = make(folder / Y_FILE, "w+", np.int64, (n_items,))
    lists = make(folder / LISTS_FILE, "w+", np.int32, (n_items, DEPTH))
    for start in range(0, n_items, PIECE):
        rows = np.arange(start, min(start + PIECE, n_items))
        y[rows] = rng.integers(2, size=len(rows))
        X[rows] = rng.normal(size=(len(rows), N_FEATURES)) + y[rows, None]
        # The steps never add up to n, so all neighbors differ from each other and from the sample.
        steps = rng.integers(1, (n_items - 1) // DEPTH + 1, size=(len(rows), DEPTH))
        lists[rows] = (rows[:, None] + steps.cumsum(axis=1)) % n_items


def from_file():
    """Time the reading, the search and the kernels."""
    from knnccv import Subsample, complete_cv

    tell_imports()
    start = perf_counter()
    X = np.load(X_FILE, mmap_mode="r")
    found = complete_cv(X, np.load(Y_FILE), "knn", Subsample(0.8), n_neighbors=5)
    tell("5-NN from a memory-mapped file", found, perf_counter() - start)
    lists = len(X) * found.depth * LIST_ENTRY
    tell_multiples({"the file": X.nbytes, f"the lists to depth {found.depth}": lists})


def from_lists():
    """Time the score from given lists; the file is read before the clock starts."""
    from knnccv import Neighbors, Subsample, complete_cv

    tell_imports()
    lists, y = np.load(LISTS_FILE), np.load(Y_FILE)
    start = perf_counter()
    near = Neighbors.from_lists(lists)
    middle = perf_counter()
    found = complete_cv(near, y, "knn", Subsample(0.8), n_neighbors=5)
    tell("binary 5-NN from given lists", found, perf_counter() - start)
    print(f"  {perf_counter() - middle:.2f} s of it after from_lists")
    tell_multiples({"the lists as given": lists.nbytes, "lists with values": lists.size * LIST_ENTRY})


def tell_imports():
    print(f"imports: peak {peak_bytes() / MIB:.0f} MiB")


def tell(what, found, seconds):
    print(
        f"{what}, {len(found.per_item)} samples: {seconds:.2f} s, peak {peak_bytes() / MIB:.0f} MiB\n"
        f"  score {found.score!r}, error bound {found.error_bound:.1e}, depth {found.depth}"
    )


def tell_multiples(sizes):
    for name, size in sizes.items():
        print(f"  peak {peak_bytes() / size:.2f} times {name}, {size / MIB:.0f} MiB")


PARTS = {"file": from_file, "lists": from_lists}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("n_items", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--part", choices=PARTS, help="only this, on files in the current folder")
    options = parser.parse_args()
    if options.part:
        PARTS[options.part]()
        return
    if options.n_items <= DEPTH:
        parser.error(f"more than {DEPTH} samples are needed, got {options.n_items}")
    with TemporaryDirectory() as folder:
        write_files(Path(folder), options.n_items)
        for part in PARTS:
            command = [sys.executable, str(Path(__file__).resolve()), "--part", part]
            subprocess.run(command, check=True, cwd=folder)


if __name__ == "__main__":
    main()
