"""
How many samples are enough?
============================

A learning curve without noise: the exact mean accuracy for every number of training samples, beside the
curve that a few random splits give.
"""

# %%
# scikit-learn's `learning_curve` with ten random splits, and the exact curve of the same protocol, which
# takes one pass over the neighbor lists:

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import ShuffleSplit, learning_curve
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors, StratifiedSubsample, complete_cv, surface
from knnccv.datasets import load_wine

wine = load_wine()
X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
near = Neighbors.from_data(X)
sizes = np.arange(8, 143, 6)
exact = surface(near, wine.y, n_neighbors=[1, 5, 15], train_sizes=sizes[sizes >= 15])
print(exact)

splits = ShuffleSplit(10, train_size=142, random_state=0)
_, _, drawn = learning_curve(KNeighborsClassifier(5), X, wine.y, train_sizes=sizes[2::3], cv=splits)
fig, ax = plt.subplots(layout="constrained")
for k, scores, color in zip(
    exact.n_neighbors, exact.scores, ("#8fa9cc", "#b3261e", "#30588c"), strict=True
):
    ax.plot(exact.train_sizes, scores, color=color, label=f"K = {k}, exact")
ax.errorbar(
    sizes[2::3],
    drawn.mean(axis=1),
    yerr=drawn.std(axis=1),
    fmt="o",
    color="#b3261e",
    alpha=0.5,
    capsize=3,
    label="K = 5, ten random splits",
)
ax.set(xlabel="training samples", ylabel="accuracy")
ax.legend(frameon=False)
plt.show()

# %%
# With few labeled samples, count them per class. Here every training set has the same number of each
# cultivar:

numbers = [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20]
few = {
    k: [
        complete_cv(near, wine.y, "knn", StratifiedSubsample(per_class=n), n_neighbors=k).score
        for n in numbers
    ]
    for k in (1, 3)
}
fig, ax = plt.subplots(layout="constrained")
for k, scores in few.items():
    ax.plot(numbers, scores, ".-", label=f"K = {k}")
ax.set(xlabel="training samples per class", ylabel="accuracy", xticks=range(2, 21, 2))
ax.legend(frameon=False)
plt.show()

# %%
# How many per class reach 90 %?

enough = next(n for n, score in zip(numbers, few[1], strict=True) if score >= 0.9)
print(enough, "per class with one neighbor")
