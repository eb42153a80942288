"""
Large data
==========

Data stay in a memory-mapped file, distances are never held all at once, and neighbor lists are only as
deep as the error bound needs.
"""

# %%
# A file of 6,000 samples stands for one that does not fit into memory. It is read block by block:

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Neighbors, StratifiedKFold, Subsample, complete_cv, surface

rng = np.random.default_rng(0)
path = Path(tempfile.mkdtemp()) / "samples.npy"
np.save(path, rng.normal(size=(6_000, 8)).astype(np.float32))
X = np.load(path, mmap_mode="r")
y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=6_000) > 0).astype(int)

# %%
# The neighbors are searched once and used for every score. float32 data give the score of the same
# numbers in double precision, to the last bit:

start = time.perf_counter()
near = Neighbors.from_data(X)
first = complete_cv(near, y, "knn", StratifiedKFold(5), n_neighbors=15)
searched = time.perf_counter() - start
start = time.perf_counter()
second = complete_cv(near, y, "knn", StratifiedKFold(5), n_neighbors=9)
again = time.perf_counter() - start
print(first)
print(second)
print(f"depth {first.depth} of {len(y) - 1} possible neighbors, error bound {first.error_bound:.0e}")
print(f"{searched:.2f} s with the search, {again:.2f} s without (here, this time)")

# %%
# Depth grows if the training set is a small part of the data, and if `tol` is small. A million samples
# need no deeper lists than a thousand:

shares = [0.02, 0.05, 0.1, 0.2, 0.4, 0.8]
fig, ax = plt.subplots(layout="constrained")
for tol, marker in ((1e-12, "o-"), (1e-6, "s-"), (1e-3, "^-")):
    depths = [complete_cv(near, y, "nn", Subsample(share), tol=tol).depth for share in shares]
    ax.plot(shares, depths, marker, label=f"tol = {tol:g}")
ax.set(xscale="log", yscale="log", xlabel="share of the samples that train", ylabel="neighbors per sample")
ax.set_xticks(shares, [f"{100 * share:g} %" for share in shares])
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

# %%
# The best K for a fifth of the data and for most of them:

found = surface(near, y, n_neighbors=[5, 15, 30, 60, 100], train_sizes=[0.2, 0.8])
print(found.best())
