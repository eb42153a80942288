"""
Should near neighbors count more?
=================================

Five weights of the votes, each with its exact score for every K. No curve has the noise of random splits,
so that small differences can be seen.
"""

# %%
# 200 of the digits that come with scikit-learn; nine tenths of them train.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from knnccv import Neighbors, Subsample, complete_cv

digits = load_digits()
X, y = digits.data[:200], digits.target[:200]
near = Neighbors.from_data(X)
ks, weights = [1, 2, 3, 4, 5], ["uniform", "inverse", "dudani", "gaussian", "triangular"]
scores = {
    name: [complete_cv(near, y, "weighted", Subsample(0.9), n_neighbors=k, weights=name) for k in ks]
    for name in weights
}
for name, curve in scores.items():
    print(f"{name:10}", *(f"{score:.4f}" for score in curve))

# %%
# Equal votes of two neighbors are a lottery among tied classes. Weights by distance settle such ties.

fig, ax = plt.subplots(layout="constrained")
for name, color in zip(weights, ["0.6", "#30588c", "#8fa9cc", "#b3261e", "#e3b5b1"], strict=True):
    ax.plot(ks, scores[name], "o-", color=color, label=name)
ax.set(xlabel="neighbors K", ylabel="accuracy", xticks=ks)
ax.legend(frameon=False)
plt.show()
