"""
What is a sample worth?
=======================

The KNN-Shapley value of a sample: what it adds to the score, averaged over all orders in which samples
may join the training set. Wrong labels have negative values.
"""

# %%
# A tenth of the iris labels are changed:

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from knnccv import item_values

rng = np.random.default_rng(0)
iris = load_iris()
wrong = rng.choice(150, 15, replace=False)
y = iris.target.copy()
y[wrong] = (y[wrong] + rng.integers(1, 3, 15)) % 3
values = item_values(iris.data, y, n_neighbors=5)
print(f"they sum to {values.per_item.sum():.4f}, the share of right labels among the five nearest")

# %%
# The samples in the order of their values:

order = np.argsort(values.per_item)
is_wrong = np.isin(order, wrong)
places = np.arange(150)
fig, ax = plt.subplots(layout="constrained")
ax.axhline(0, color="0.7", linewidth=1)
ax.plot(
    places[~is_wrong], values.per_item[order][~is_wrong], "o", ms=4, color="#8fa9cc", label="right label"
)
ax.plot(places[is_wrong], values.per_item[order][is_wrong], "D", ms=6, color="#b3261e", label="wrong label")
ax.set(xlabel="samples, the least valuable first", ylabel="KNN-Shapley value")
ax.legend(frameon=False)
plt.show()
print(f"{np.isin(values.least_valuable(15), wrong).sum()} of the 15 least valuable labels are wrong")
