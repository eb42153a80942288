"""
A pool of labels and a fixed test set
=====================================

How many labels does a class need? Benchmarks of embeddings draw a few labels from a pool, ten times, and
average. The exact mean over all draws has no such noise.
"""

# %%
# 1,297 digits are the pool, 500 the test set:

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from knnccv import Neighbors, StratifiedSubsample, complete_cv

digits = load_digits()
order = np.random.default_rng(0).permutation(1797)
pool, rest = order[:1297], order[1297:]
near, y = Neighbors.between(digits.data[rest], digits.data[pool], metric="cosine"), digits.target[pool]
labels = [1, 2, 4, 8, 16, 32, 64]
exact, tries = [], []
for n in labels:
    found = complete_cv(near, y, "nn", StratifiedSubsample(per_class=n), test=digits.target[rest])
    exact.append(found.score)
    tries.append(found.runs(200).scores)
    print(f"{n:2} labels per class: {found:.4f}, one try ± {tries[-1].std():.4f}")

# %%
# The means of ten tries, as a benchmark reports them, around the exact curve:

fig, ax = plt.subplots(layout="constrained")
for n, scores in zip(labels, tries, strict=True):
    ax.plot(np.full(20, n), scores.reshape(20, 10).mean(axis=1), "o", ms=4, color="#8fa9cc", alpha=0.7)
ax.plot(labels, exact, color="#b3261e", label="mean of all draws")
ax.plot([], [], "o", color="#8fa9cc", label="means of ten draws")
ax.set(xscale="log", xlabel="labels per class", ylabel="accuracy", xticks=labels, xticklabels=labels)
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()
