"""
The luck of the data
====================

Two kinds of luck: one random split varies about the exact score, and the exact score of these wines is
not that of all wines. Here are both, for one rule and one data set.
"""

# %%
# The nearest neighbor, five folds. ``split_std`` is the luck of the split, ``standard_error`` the luck of
# the data:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import KFold, compare, complete_cv, monte_carlo_cv
from knnccv.datasets import load_wine

wine = load_wine()
result = complete_cv(wine.X, wine.y, "nn", KFold(5))
one_run = result.split_std()
error = result.standard_error()
low, high = result.confidence_interval(0.95)
print(f"exact score {result.score:.4f}")
print(f"one run ± {one_run.std:.4f} (luck of the split)")
print(f"95 % [{low:.4f}, {high:.4f}] (luck of the data)")

# %%
# A thousand runs show the luck of the split. The mean of so many runs is very close to the exact score, so
# its standard error is tiny, and says nothing about other wines. The halves of the data, scored completely,
# show the luck of the data: two disjoint halves are two independent samples of wines.

runs = monte_carlo_cv(wine.X, wine.y, "nn", KFold(5), n_runs=1000, random_state=0)
halves = result.half_scores().scores
fig, axes = plt.subplots(2, 1, sharex=True, layout="constrained", figsize=(5.8, 5.2))
bins = np.linspace(0.55, 0.9, 71)
axes[0].hist(runs.scores, bins, color="#8fa9cc", label="runs of five folds")
axes[0].axvspan(
    result.score - 1.96 * one_run.std,
    result.score + 1.96 * one_run.std,
    color="#4a6fa5",
    alpha=0.2,
    label="exact ± 1.96 split_std",
)
axes[0].set(title="luck of the split: the same wines", yticks=[])
axes[1].hist(halves.ravel(), bins, color="#8fa9cc", label="exact scores of halves")
axes[1].axvspan(low, high, color="#4a6fa5", alpha=0.2, label="95 % interval of the score")
axes[1].set(title="luck of the data: other wines", yticks=[], xlabel="accuracy")
for ax in axes:
    ax.axvline(result.score, color="#b3261e")
    ax.legend(frameon=False, fontsize="small", loc="upper left")
plt.show()

# %%
# Scores of halves vary more than those of all wines would, since halves have half as many wines. They are
# lower, since there are fewer wines to train on. A quarter of the mean squared difference of two halves is
# the variance of the score.
#
# Would another rule be better? The same halves are scored by both rules, since the luck of the data is in
# part the same for both. Their difference is less uncertain than that of two independent scores:

five = complete_cv(wine.X, wine.y, "knn", KFold(5), n_neighbors=5)
found = compare(result, five)
print(found)
apart = np.hypot(error, five.standard_error())
print(f"standard error of the difference {found.standard_error():.4f}, if independent {apart:.4f}")
first, equivalent, second = found.probability(rope=0.01)
print(f"better by more than a point: nn {first:.2f}, 5-NN {second:.2f}, neither {equivalent:.2f}")
