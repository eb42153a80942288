"""
Ties between neighbours
=======================

Coarse measurements make items equally similar. Whoever is looked at first then wins, and the score
depends on the order of the rows, which means nothing.
"""

# %%
# Of the wines we keep three columns, rounded as a cheap instrument would round them:

import numpy as np

from knnccv import Neighbors, Subsample, complete_cv, plot
from knnccv.datasets import load_wine

wine = load_wine()
names = ["alcohol", "color_intensity", "hue"]
columns = [wine.feature_names.index(name) for name in names]
coarse = wine.X[:, columns].round()
design = Subsample(0.5)

# %%
# ``ties="index"`` takes equally similar items in the order of the rows, as most programs do. The last
# line counts the items that such an order may concern.

by_index = complete_cv(coarse, wine.y, "nn", design, ties="index")
print(by_index)

# %%
# The wines are sorted by cultivar, so that this order favours the first one. Shuffle the rows, and the
# score changes, although nothing about the wines does:

rng = np.random.default_rng(0)
scores = []
for _ in range(300):
    rows = rng.permutation(len(wine.y))
    shuffled = complete_cv(coarse[rows], wine.y[rows], "nn", design, ties="index")
    scores.append(shuffled.score)

# %%
# The default, ``ties="random"``, is the exact mean over all orders of equally similar items, and does not
# depend on the rows' order:

fair = complete_cv(coarse, wine.y, "nn", design)
ax = plot.luck(scores, fair, label="300 random orders of the rows")
ax.set_xlabel("score of one order of the rows")

# %%
# The order of the file is no better than any other:

print(f"file order {by_index.score:.4f}, fair {fair.score:.4f}")
print(f"shuffled rows {min(scores):.4f} to {max(scores):.4f}")

# %%
# Whose score is it that changes? The neighbours are searched once, for both questions:

near = Neighbors.from_data(coarse)
index = complete_cv(near, wine.y, "nn", design, ties="index").per_item
random = complete_cv(near, wine.y, "nn", design, ties="random").per_item
moved = index - random
for name, label in zip(wine.target_names, np.unique(wine.y), strict=True):
    own = moved[wine.y == label]
    print(f"{name}: {own.mean():+.3f} on average, {own.min():+.3f} to {own.max():+.3f}")

# %%
# And how far could an order go? The report asks, item by item, for the worst and the best one:

report = fair.tie_report()
print(f"between {report.lowest:.4f} and {report.highest:.4f}")
ax = plot.tie_report(report)
