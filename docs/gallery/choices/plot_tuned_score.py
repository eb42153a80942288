"""
How good is a tuned K?
======================

Whoever reports the best of many scores promises too much. ``tuned_score`` chooses K and the scaling
within each of a thousand training sets, and tests the choice on the other samples.
"""

# %%
# The wine data, K from 1 to 30, raw or standardized columns:

import matplotlib.pyplot as plt

from knnccv import tuned_score
from knnccv.datasets import load_wine

wine = load_wine()
tuned = tuned_score(wine.X, wine.y, range(1, 31), scaling=[None, "standard"], random_state=0)
print(tuned)
print(f"the best inner score is too high by {100 * tuned.optimism:.2f} points")

# %%
# How often each K was chosen. A choice that changes with the training set is not worth an argument:

chosen = {}
for setting, share in tuned.choices.items():
    chosen[setting.n_neighbors] = chosen.get(setting.n_neighbors, 0) + share
fig, ax = plt.subplots(layout="constrained")
ax.bar(list(chosen), list(chosen.values()), color="#30588c")
ax.set(xlabel="chosen K", ylabel="share of the training sets")
plt.show()
