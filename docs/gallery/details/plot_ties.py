"""
Ties between neighbors
=======================

Coarse measurements give many samples the same distance. If the first of tied samples wins, the score
depends on the order of the rows, which has no meaning.
"""

# %%
# Three columns of the wine data, rounded to integers:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Neighbors, Subsample, complete_cv, plot
from knnccv.datasets import load_wine

wine = load_wine()
names = ["alcohol", "color_intensity", "hue"]
columns = [wine.feature_names.index(name) for name in names]
coarse = wine.X[:, columns].round()
design = Subsample(0.5)

# %%
# ``ties="index"`` takes tied samples in the order of the rows, as most programs do. The result counts the
# samples whose score such an order may affect.

by_index = complete_cv(coarse, wine.y, "nn", design, ties="index")
print(by_index)

# %%
# The wines are sorted by cultivar, so this order favors the first one. Shuffle the rows and the score
# changes, although the wines are the same:

rng = np.random.default_rng(0)
scores = []
for _ in range(300):
    rows = rng.permutation(len(wine.y))
    shuffled = complete_cv(coarse[rows], wine.y[rows], "nn", design, ties="index")
    scores.append(shuffled.score)

# %%
# The default, ``ties="random"``, is the exact mean over all orders of tied samples, and does not depend
# on the order of the rows:

all_orders = complete_cv(coarse, wine.y, "nn", design)
ax = plot.luck(scores, all_orders, label="300 random orders of the rows")
ax.set_xlabel("score of one order of the rows")

# %%
# The order of the file is no better than any other:

print(f"order of the file {by_index.score:.4f}, mean over all orders {all_orders.score:.4f}")
print(f"shuffled rows {min(scores):.4f} to {max(scores):.4f}")

# %%
# Which classes gain? One search of the neighbors serves both scores:

near = Neighbors.from_data(coarse)
index = complete_cv(near, wine.y, "nn", design, ties="index").per_item
random = complete_cv(near, wine.y, "nn", design, ties="random").per_item
moved = index - random
for name, label in zip(wine.target_names, np.unique(wine.y), strict=True):
    change = moved[wine.y == label]
    print(f"{name}: {change.mean():+.3f} on average, {change.min():+.3f} to {change.max():+.3f}")

# %%
# What is the largest possible effect of the order? The report finds the worst and the best order for each
# sample:

report = all_orders.tie_report()
print(f"between {report.lowest:.4f} and {report.highest:.4f}")
_, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
widest = np.argsort(report.per_item_lowest - report.per_item_highest)[:40]
ax.vlines(range(40), report.per_item_lowest[widest], report.per_item_highest[widest], linewidth=5)
ax.set(xlabel="sample, the 40 with the widest range", ylabel="accuracy by the order of ties")
