"""
An exact confusion matrix
=========================

Which classes are confused, averaged over all splits, and the expected cost of mistakes.
"""

# %%
# The expected confusion matrix of three neighbors over all shuffled fivefold cross-validations. It is
# computed from a result:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import KFold, Neighbors, complete_cv
from knnccv.datasets import load_wine

wine = load_wine()
near = Neighbors.from_data(wine.X)
result = complete_cv(near, wine.y, "knn", KFold(5), n_neighbors=3)
shares = result.confusion(normalize="true")
print(result)
print(shares.round(3))

fig, ax = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
for (row, column), share in np.ndenumerate(shares):
    color = "white" if share > 0.55 else "black"
    ax.text(column, row, f"{100 * share:.1f} %", ha="center", va="center", color=color, fontsize=13)
ax.set_xticks(range(3), wine.target_names)
ax.set_yticks(range(3), wine.target_names)
ax.set(xlabel="predicted", ylabel="true")
fig.colorbar(image, label="share of the true class")
plt.show()

# %%
# The score of each class, and their mean:

print(result.per_class())
print("balanced accuracy:", round(result.balanced_accuracy, 4))

# %%
# Suppose that selling a wine of the third cultivar as one of the first two is ten times as bad as any
# other mistake. A matrix of costs makes the score an expected cost (rows: true class, columns:
# predicted):

costs = np.array([[0, 1, 1], [1, 0, 1], [10, 10, 0]])
ks = range(1, 16)
cost = [complete_cv(near, wine.y, "knn", KFold(5), n_neighbors=k, loss=costs).score for k in ks]
fig, ax = plt.subplots(layout="constrained")
ax.plot(ks, cost, "o-", color="#b3261e")
ax.set(xlabel="neighbors K", ylabel="expected cost of a prediction")
plt.show()
print("cheapest K:", ks[int(np.argmin(cost))])
