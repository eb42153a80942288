"""
Every K and every training size
===============================

Which K is best depends on the number of training samples. The scores of all K and all training sizes come
from one pass over the neighbor lists.
"""

# %%
# The columns of the wine data have very different units. Standardized (over all samples, beforehand, so
# that the distances do not depend on the split) they predict much better:

import matplotlib.pyplot as plt

from knnccv import plot, surface
from knnccv.datasets import load_wine

wine = load_wine()
standardized = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
question = {"n_neighbors": range(1, 31), "train_sizes": range(32, 177, 8)}
raw = surface(wine.X, wine.y, **question)
scaled = surface(standardized, wine.y, **question)
print(raw)
print(scaled)

# %%
# As maps, with the best K of every training size:

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
plot.surface(raw, ax=left).set_title("raw", loc="left")
plot.surface(scaled, ax=right).set_title("standardized", loc="left")

# %%
# Columns of the map are validation curves. They are exact, so the wiggles on the left are not noise: with
# an even K votes can be tied, and a tied vote goes to the smallest label.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
sizes = [32, 64, 120, 176]
plot.validation_curve(raw, sizes, ax=left).set_title("raw")
plot.validation_curve(scaled, sizes, ax=right).set_title("standardized")

# %%
# Rows are learning curves:

ax = plot.learning_curve(scaled, n_neighbors=[1, 3, 5, 9, 15])
ax.set_title("standardized wine")
plt.show()

# %%
# The best K for training sets of 120 samples, its score, and an upper bound for how much better another K
# could be, given the error bounds:

best = scaled.best(120)
print(best, best.regret)

# sphinx_gallery_thumbnail_number = 3
