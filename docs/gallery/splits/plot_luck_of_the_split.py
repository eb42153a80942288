"""
The luck of the split
=====================

How far do random splits scatter about the number that they estimate? Here half of the wines train, the
other half is tested, and the nearest neighbour decides.
"""

# %%
# A thousand random splits, as people run them (though few people run a thousand), and the mean over *all*
# splits, which takes less time than a few of them:

import matplotlib.pyplot as plt

from knnccv import Subsample, complete_cv, monte_carlo_cv, plot
from knnccv.datasets import load_wine

wine = load_wine()
design = Subsample(0.5)
exact = complete_cv(wine.X, wine.y, "nn", design)
runs = monte_carlo_cv(wine.X, wine.y, "nn", design, n_repeats=1000, random_state=0)
print(exact)
print(runs)

# %%
# One split is off by several points, in either direction. The mean of the thousand still has an error bar
# of more than a tenth of a point. The exact value has none.

plot.luck(runs, exact)

# %%
# With ten splits, a usual number, the mean itself depends on luck: on the seed, that is. Twelve people
# who choose twelve seeds find these, each with the standard error that belongs to it:

fig, ax = plt.subplots(layout="constrained")
for seed in range(12):
    ten = monte_carlo_cv(wine.X, wine.y, "nn", design, n_repeats=10, random_state=seed)
    ax.errorbar(seed, ten.score, yerr=ten.standard_error, fmt="o", color="#4a6fa5", capsize=3)
ax.axhline(exact.score, color="#b3261e", label="all splits")
ax.set(xlabel="seed", ylabel="mean score of ten random splits", xticks=range(12))
ax.legend()
plt.show()

# %%
# The red line is no estimate of what the rule is worth on *other* wines: that depends on the luck of
# having collected these 178, which no way of splitting them removes.
