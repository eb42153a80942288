"""
How many random runs is one exact score worth?
==============================================

The error of a mean of random runs falls with the square root of their number. How many would it take to
tell two rules apart?
"""

# %%
# Three or five neighbors on the standardized wine data? Their exact scores are close:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Subsample, complete_cv, monte_carlo_cv
from knnccv.datasets import load_wine

wine = load_wine()
X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
design = Subsample(0.5)
exact = {k: complete_cv(X, wine.y, "knn", design, n_neighbors=k) for k in (3, 5)}
difference = exact[5].score - exact[3].score
print(exact[3])
print(exact[5])
print(f"difference: {100 * difference:+.3f} percentage points")

# %%
# Now 4000 random runs of each rule. The same seed draws the same splits, so the rules can be compared run
# by run, which is the most favorable way to compare them:

runs = {
    k: monte_carlo_cv(X, wine.y, "knn", design, n_neighbors=k, n_runs=4000, random_state=0).scores
    for k in (3, 5)
}
paired = runs[5] - runs[3]
wrong = np.mean(paired * difference < 0)
needed = int(np.ceil((2 * paired.std() / difference) ** 2))
print(f"{100 * wrong:.0f} % of single runs prefer the worse rule")
print(f"{needed} runs put the difference two standard errors from zero")

# %%
# Means of more and more runs approach the exact difference slowly. Each thin line is another set of runs:

numbers = np.arange(1, 501)
fig, ax = plt.subplots(layout="constrained")
for part in paired.reshape(8, 500):
    ax.plot(numbers, 100 * part.cumsum() / numbers, color="#8fa9cc", linewidth=1)
ax.plot([], [], color="#8fa9cc", label="means of random runs")
error = 100 * 2 * paired.std() / np.sqrt(numbers)
ax.fill_between(
    numbers,
    100 * difference - error,
    100 * difference + error,
    color="#4a6fa5",
    alpha=0.15,
    label="exact ± 2 standard errors of a mean",
)
ax.axhline(100 * difference, color="#b3261e", label="exact difference")
ax.axhline(0, color="0.5", linewidth=1, linestyle="--")
ax.set(
    xscale="log",
    xlim=(1, 500),
    ylim=(-6, 8),
    xlabel="random runs",
    ylabel="5 minus 3 neighbors, points",
)
ax.legend(frameon=False, fontsize="small")
plt.show()
