"""Given neighbor lists in memory-mapped files: time and memory of a score, and of lists in memory."""

import numpy as np

from knnccv import KFold, Neighbors, complete_cv

from .processes import forget_peak, held_bytes, peak_bytes
from .timing import N_ROUNDS, in_turn, skip_large

DEPTH = 48
PIECE = 2**16
ITEMS, DISTANCES, LABELS = "items.npy", "distances.npy", "labels.npy"


def write_lists(n_items, folder="."):
    """Write labels of two classes, and lists with increasing distances, in pieces."""
    rng = np.random.default_rng(20000629)
    make = np.lib.format.open_memmap
    items = make(f"{folder}/{ITEMS}", "w+", np.int32, (n_items, DEPTH))
    distances = make(f"{folder}/{DISTANCES}", "w+", np.float32, (n_items, DEPTH))
    labels = make(f"{folder}/{LABELS}", "w+", np.int8, (n_items,))
    most = max(min((n_items - 1) // DEPTH, 2000), 1)  # the steps add up to less than the number of samples
    for start in range(0, n_items, PIECE):
        rows = np.arange(start, min(start + PIECE, n_items))
        labels[rows] = (2 * rows // n_items) ^ (rng.random(len(rows)) < 0.2)
        steps = rng.integers(1, most + 1, size=(len(rows), DEPTH))
        items[rows] = (rows[:, None] + steps.cumsum(axis=1)) % n_items
        distances[rows] = rng.exponential(size=(len(rows), DEPTH)).cumsum(axis=1)


def opened(folder="."):
    """Return the lists, memory-mapped, and the labels."""
    given = (np.load(f"{folder}/{name}", mmap_mode="r") for name in (ITEMS, DISTANCES))
    return *given, np.load(f"{folder}/{LABELS}")


def score(items, distances, labels):
    return complete_cv(Neighbors.from_lists(items, distances), labels, "knn", KFold(5), n_neighbors=5)


class Stream:
    """Lists of 48 neighbors with float32 distances: 80 MB for 200,000 samples, 800 MB for 2,000,000."""

    params = ([200_000, 2_000_000],)
    param_names = ("n_items",)
    timeout = 1200

    def setup(self, n_items):
        if n_items > 200_000:
            skip_large()
        write_lists(n_items)

    def track_peak_over_lists(self, n_items):
        """Memory that a score adds to a process with the labels, relative to the files."""
        items, distances, labels = opened()
        few = Neighbors.from_lists([[1], [0]], [[1.0], [1.0]])
        complete_cv(few, [0, 1], "knn", KFold(2), n_neighbors=1)  # kernels
        forget_peak()
        before = held_bytes()
        score(items, distances, labels)
        return (peak_bytes() - before) / (items.nbytes + distances.nbytes)

    track_peak_over_lists.unit = "ratio"

    def time_score(self, n_items):
        score(*opened())

    def track_over_memory(self, n_items):
        """Seconds of checks and score from files, divided by those from arrays."""
        items, distances, labels = opened()
        arrays = np.array(items), np.array(distances), labels
        calls = [lambda: score(items, distances, labels), lambda: score(*arrays)]
        in_turn(calls, 1)
        files, memory = in_turn(calls, N_ROUNDS).T
        return float(np.median(files / memory))

    track_over_memory.unit = "ratio"
