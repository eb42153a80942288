"""
The luck of the split
=====================

How much do random splits vary about the number that they estimate? Here half of the wines are the
training set, the other half is tested, and the nearest neighbor decides.
"""

# %%
# A thousand random splits, and the mean over *all* splits, which takes less time than a few of them:

import matplotlib.pyplot as plt

from knnccv import Subsample, complete_cv, monte_carlo_cv, plot
from knnccv.datasets import load_wine

wine = load_wine()
design = Subsample(0.5)
exact = complete_cv(wine.X, wine.y, "nn", design)
runs = monte_carlo_cv(wine.X, wine.y, "nn", design, n_runs=1000, random_state=0)
print(exact)
print(runs)

# %%
# One split is off by several points, in either direction. The mean of the thousand still has an error bar
# of more than a tenth of a point. The exact value has none.

plot.luck(runs, exact)

# %%
# With ten splits, a usual number, even the mean depends on the seed. Twelve seeds give these means and
# standard errors:

fig, ax = plt.subplots(layout="constrained")
for seed in range(12):
    ten = monte_carlo_cv(wine.X, wine.y, "nn", design, n_runs=10, random_state=seed)
    ax.errorbar(seed, ten.score, yerr=ten.std_error, fmt="o", color="#4a6fa5", capsize=3)
ax.axhline(exact.score, color="#b3261e", label="all splits")
ax.set(xlabel="seed", ylabel="mean score of ten random splits", xticks=range(12))
ax.legend()
plt.show()

# %%
# The red line is not the accuracy on *other* wines. That depends on the luck of having collected these
# 178, which no way of splitting removes. The next example measures it.
