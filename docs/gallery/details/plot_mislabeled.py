"""
Suspicious labels
=================

A sample that hardly any training set classifies correctly may have a wrong label. Complete cross-validation
scores every sample over all training sets, so the list of suspects does not depend on a seed.
"""

# %%
# Eight wines get a wrong label:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Subsample, complete_cv
from knnccv.datasets import load_wine

rng = np.random.default_rng(0)
wine = load_wine()
X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
flipped = np.sort(rng.choice(len(wine.y), 8, replace=False))
y = wine.y.copy()
y[flipped] = 1 + (y[flipped] + rng.integers(0, 2, 8)) % 3

# %%
# ``per_item`` is the share of the training sets that classify a sample correctly:

result = complete_cv(X, y, "knn", Subsample(0.5), n_neighbors=5)
order = result.per_item.argsort()
is_flipped = np.isin(order, flipped)
fig, ax = plt.subplots(layout="constrained")
places = np.arange(len(order))
ax.plot(places, result.per_item[order], color="0.7", linewidth=1)
ax.plot(
    places[~is_flipped],
    result.per_item[order][~is_flipped],
    "o",
    ms=4,
    color="#8fa9cc",
    label="right label",
)
ax.plot(
    places[is_flipped], result.per_item[order][is_flipped], "D", ms=6, color="#b3261e", label="wrong label"
)
ax.set(
    xlim=(-1, 40),
    ylim=(-0.03, 1.03),
    xlabel="samples, the worst first",
    ylabel="share of training sets that are right",
)
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# The wrong labels are at the front of the list:

print("eight worst:", np.sort(order[:8]))
print("flipped:    ", flipped)
print(f"{np.isin(order[:8], flipped).sum()} of 8 found; rank of the last:", 1 + places[is_flipped].max())
