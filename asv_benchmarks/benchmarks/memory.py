"""The most memory that a process holds, imports and kernels included."""

import numpy as np

from knnccv import KFold, Neighbors, Subsample, complete_cv

from .problems import DESIGNS, VARIANTS, gaussian, require, targets
from .processes import LIST_ENTRY, forget_peak, held_bytes, peak_bytes
from .rivals import FEW, SHAPES
from .timing import skip_large

MAPPED = "items.npy"


class Score:
    params = (VARIANTS, ["Subsample(0.5)", "StratifiedKFold(5)"])
    param_names = ("variant", "design")
    timeout = 180

    def setup(self, variant, design):
        require(variant, design)

    def peakmem_5000_items(self, variant, design):
        X, y = gaussian(5000)
        complete_cv(X, targets(variant, X, y), variant, DESIGNS[design])


class Large:
    """Four times the samples: sixteen times the memory would show that N x N distances are stored."""

    timeout = 300

    def peakmem_knn_20000_items(self):
        complete_cv(*gaussian(20_000), "knn", DESIGNS["KFold(5)"])

    def peakmem_kneighbors_20000_items(self):
        X, _ = gaussian(20_000)
        Neighbors.from_data(X).kneighbors(30)


class NeighborLists:
    """Memory that complete_cv adds to a process with the data, relative to the neighbor lists.

    The ratio can be below 1, since the lists need not be stored.
    """

    params = (["20000 x 8", "20000 x 64", "60000 x 64", "100000 x 3"], ["KFold(5)", "Subsample(0.8)"])
    param_names = ("shape", "design")
    timeout = 1200
    unit = "ratio"

    def setup(self, shape, design):
        if SHAPES[shape][0] > 20_000:
            skip_large()
        held_bytes()

    def track_peak_over_lists(self, shape, design):
        X, y = gaussian(*SHAPES[shape], 2)
        X = np.ascontiguousarray(X, dtype=np.float32)
        cv = KFold(5) if design == "KFold(5)" else Subsample(0.8)
        complete_cv(X[:FEW], y[:FEW], "knn", cv)
        forget_peak()
        before = held_bytes()
        depth = complete_cv(X, y, "knn", cv).depth
        return (peak_bytes() - before) / (len(X) * depth * LIST_ENTRY)


class MemoryMapped:
    """The score of 200,000 samples in a file, 8 features in float32 (6 MiB)."""

    params = (["mapped", "read"], ["KFold(5)", "Subsample(0.8)"])
    param_names = ("file", "design")
    timeout = 600

    def setup_cache(self):
        X, y = gaussian(200_000, 8, 2)
        np.save(MAPPED, X.astype(np.float32))
        np.save("labels.npy", y)

    def setup(self, file, design):
        self.cv = KFold(5) if design == "KFold(5)" else Subsample(0.8)

    def peakmem_complete_cv(self, file, design):
        X = np.load(MAPPED, mmap_mode="r" if file == "mapped" else None)
        complete_cv(X, np.load("labels.npy"), "knn", self.cv)
