"""
Tuned votes, and the leak of a supervised distance
==================================================

A table of numbers and names, whose distance is learnt from the labels: what a search for the weights of
the votes walks over, and what happens to a score if an item's own label has a part in its distances.
"""

# %%
# 250 mushrooms: two columns of numbers, two of names, each telling a little of the kind.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from knnccv.hvdm import HVDM
from knnccv.rib import RIBClassifier, lcv_score, loo_votes

rng = np.random.default_rng(2)
n_items = 250
code = rng.integers(3, size=n_items)
kinds = np.array(["agaric", "bolete", "parasol"])[code]


def told(names, share):
    """Of a share of the items the name that goes with its kind; any name of the others."""
    return np.where(rng.random(n_items) < share, np.array(names)[code], rng.choice(names, n_items))


mushrooms = pd.DataFrame(
    {
        "place": told(["meadow", "wood", "garden"], 0.4),
        "colour": told(["white", "brown", "grey"], 0.2),
        "stem": np.array([6, 8, 7])[code] + rng.normal(scale=1.5, size=n_items),
        "cap": np.array([4, 6, 9])[code] + rng.normal(scale=2, size=n_items),
    }
)
rib = RIBClassifier(random_state=0).fit(mushrooms, kinds)
print(rib.best_params_)

# %%
# Leave-one-out accuracy (colours) is a landscape of terraces: many settings have equally many items
# right. The mean confidence in the items' own classes (lines) is smooth. CVC takes the highest terrace,
# and on it the highest confidence. Numbers are the steps of the greedy search that improved, one
# parameter each:

ks = np.arange(2, 31)
w_ks = np.arange(0, 26) / 25
kernels = ("linear", "gaussian", "exponential")
accuracy = np.empty((3, len(w_ks), len(ks)))
confidence = np.empty((3, len(w_ks), len(ks)))
own = np.searchsorted(rib.classes_, kinds)
for at in np.ndindex(accuracy.shape):
    votes = loo_votes(rib.neighbors_, kinds, ks[at[2]], kernels[at[0]], w_k=w_ks[at[1]])
    accuracy[at] = lcv_score(kinds, votes)
    confidence[at] = votes[np.arange(n_items), own].mean()

path = pd.DataFrame(rib.search_path_).query("improved")
fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained", sharex=True, sharey=True)
shown = {"vmin": np.quantile(100 * accuracy, 0.02), "vmax": 100 * accuracy.max(), "cmap": "viridis"}
levels = [60, 62, 64, 66, 68]
for kernel, ax, right, sure in zip(kernels, axes, accuracy, confidence, strict=True):
    mesh = ax.pcolormesh(ks, w_ks, 100 * right, **shown)
    lines = ax.contour(ks, w_ks, 100 * sure, levels=levels, colors="white", linewidths=0.8)
    ax.clabel(lines, fmt="%g %%", fontsize=7)
    ax.set_title(kernel)
    ax.set_xlabel("neighbours k")
    steps = path[path.kernel == kernel]
    ax.plot(steps.n_neighbors, steps.w_k, color="#b3261e", clip_on=False)
    for number, step in steps.iterrows():
        ax.text(
            step.n_neighbors,
            step.w_k,
            str(number),
            ha="center",
            va="center",
            fontsize=9,
            bbox={"boxstyle": "circle", "fc": "white", "ec": "#b3261e"},
        )
axes[0].set_ylabel("weight of the k-th vote, w_k")
fig.colorbar(mesh, ax=axes, label="right when left out, %", extend="min")
plt.show()

# %%
# Now labels that nothing can predict: a coin. Each of 200 people lives in one of some towns, drawn at
# random, and has two measurements of noise. Five neighbours vote. With ``leave_one_out="fixed"``, as in
# the paper, a person's own label is part of what is known of the town; with "exact" it is not.

n_towns = [2, 5, 10, 20, 40, 60, 100]
tries = range(20)
found = {}
for how in ("fixed", "exact"):
    found[how] = np.empty((len(n_towns), len(tries)))
    for row, towns in enumerate(n_towns):
        for seed in tries:
            rng = np.random.default_rng(seed)
            coin = rng.integers(2, size=200)
            people = np.column_stack([rng.permutation(200) % towns, rng.normal(size=(200, 2))])
            near = HVDM(nominal=[0], leave_one_out=how).fit(people, coin).neighbors()
            found[how][row, seed] = 100 * lcv_score(coin, loo_votes(near, coin, 5))

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for how, colour in (("fixed", "#b3261e"), ("exact", "#30588c")):
    mean = found[how].mean(axis=1)
    ax.plot(n_towns, found[how], ".", color=colour, alpha=0.15)
    ax.plot(n_towns, mean, "o-", color=colour, label=f'leave_one_out="{how}"')
ax.axhline(50, color="0.5", linewidth=1, linestyle="--", label="a coin")
ax.set_xscale("log")
ax.set_xticks(n_towns, [str(towns) for towns in n_towns])
ax.minorticks_off()
ax.set_xlabel("towns of 200 people")
ax.set_ylabel("right when left out, %")
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The more towns, the more of a town is the very person who is tested. The points scatter as 200 coins do.
# "exact" is a little below one half, as leave-one-out is: without an item, its class is somewhat rarer.

for how, scores in found.items():
    few, many = scores[0].mean(), scores[-1].mean()
    print(f"{how}: {few:.1f} % with {n_towns[0]} towns, {many:.1f} % with {n_towns[-1]}")
