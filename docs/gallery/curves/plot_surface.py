"""
Every K and every training size
===============================

Which K is best depends on how many items train. All numbers of neighbours times all training sizes come
from one neighbour list and one pass over it.
"""

# %%
# The columns of the wine data have very different units. Standardised (over all items, beforehand, so
# that the distances do not depend on the split) they tell much more:

import matplotlib.pyplot as plt

from knnccv import plot, surface
from knnccv.datasets import load_wine

wine = load_wine()
standardised = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
question = {"n_neighbors": range(1, 31), "train_sizes": range(32, 177, 8)}
raw = surface(wine.X, wine.y, **question)
scaled = surface(standardised, wine.y, **question)
print(raw)
print(scaled)

# %%
# As maps, with the best K of every training size:

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
plot.surface(raw, ax=left).set_title("raw", loc="left")
plot.surface(scaled, ax=right).set_title("standardised", loc="left")

# %%
# Columns of the map are validation curves. They are exact, so the wiggles of the left ones are no noise:
# with an even K votes can be tied, and a tied vote goes to the smallest label.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
sizes = [32, 64, 120, 176]
plot.validation_curve(raw, sizes, ax=left).set_title("raw")
plot.validation_curve(scaled, sizes, ax=right).set_title("standardised")

# %%
# Rows are learning curves:

ax = plot.learning_curve(scaled, n_neighbors=[1, 3, 5, 9, 15])
ax.set_title("standardised wine")
plt.show()

# %%
# The best K for training sets of 120 items, its score, and by how much another K may be better at most,
# as far as the error bounds tell:

best = scaled.best(120)
print(best, best.regret)
