"""
Tuned votes, and the leak of a supervised distance
==================================================

A table of numeric and categorical columns, with a distance that is learned from the labels. The first
picture shows the settings of the vote weights, the second how a score changes if a sample's own label
enters its distances.
"""

# %%
# 250 mushrooms: two numeric and two categorical columns, each a weak predictor of the species.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from knnccv.neighbors.hvdm import HVDM
from knnccv.rib import RIBClassifier, lcv_score, loo_votes

rng = np.random.default_rng(2)
n_samples = 250
code = rng.integers(3, size=n_samples)
species = np.array(["agaric", "bolete", "parasol"])[code]


def informative(names, share):
    """Return the category of the species for a share of the samples, and a random one for the others."""
    return np.where(rng.random(n_samples) < share, np.array(names)[code], rng.choice(names, n_samples))


mushrooms = pd.DataFrame(
    {
        "place": informative(["meadow", "wood", "garden"], 0.4),
        "color": informative(["white", "brown", "gray"], 0.2),
        "stem": np.array([6, 8, 7])[code] + rng.normal(scale=1.5, size=n_samples),
        "cap": np.array([4, 6, 9])[code] + rng.normal(scale=2, size=n_samples),
    }
)
rib = RIBClassifier(random_state=0).fit(mushrooms, species)
print(rib.best_params_)

# %%
# Leave-one-out accuracy (colors) has plateaus: many settings have the same number of correct samples. The
# mean confidence, the share of the votes for the sample's class (lines), is smooth. CVC takes the highest
# plateau, and the highest confidence on it. The numbered circles are the improving steps of the greedy
# search, one parameter each:

ks = np.arange(2, 31)
w_ks = np.arange(0, 16) / 15
kernels = ("linear", "gaussian", "exponential")
accuracy = np.empty((3, len(w_ks), len(ks)))
confidence = np.empty((3, len(w_ks), len(ks)))
own_class = np.searchsorted(rib.classes_, species)
for at in np.ndindex(accuracy.shape):
    votes = loo_votes(rib.neighbors_, species, ks[at[2]], kernels[at[0]], w_k=w_ks[at[1]])
    accuracy[at] = lcv_score(species, votes)
    confidence[at] = votes[np.arange(n_samples), own_class].mean()

path = pd.DataFrame(rib.search_path_).query("improved")
fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained", sharex=True, sharey=True)
shown = {"vmin": np.quantile(100 * accuracy, 0.02), "vmax": 100 * accuracy.max(), "cmap": "viridis"}
levels = [60, 62, 64, 66, 68]
for kernel, ax, right, sure in zip(kernels, axes, accuracy, confidence, strict=True):
    mesh = ax.pcolormesh(ks, w_ks, 100 * right, **shown)
    lines = ax.contour(ks, w_ks, 100 * sure, levels=levels, colors="white", linewidths=0.8)
    ax.clabel(lines, fmt="%g %%", fontsize=7)
    ax.set_title(kernel)
    ax.set_xlabel("neighbors k")
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
fig.colorbar(mesh, ax=axes, label="correct when left out, %", extend="min")
plt.show()

# %%
# Now the labels are coin flips, which nothing can predict. Each of 200 people lives in a random town and
# has two measurements of noise. Five neighbors vote. With ``leave_one_out="fixed"``, as in the paper, a
# person's own label enters the statistics of the town; with "exact" it does not.

n_towns = [2, 5, 10, 20, 40, 60, 100]
tries = range(10)
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
for how, color in (("fixed", "#b3261e"), ("exact", "#30588c")):
    mean = found[how].mean(axis=1)
    ax.plot(n_towns, found[how], ".", color=color, alpha=0.15)
    ax.plot(n_towns, mean, "o-", color=color, label=f'leave_one_out="{how}"')
ax.axhline(50, color="0.5", linewidth=1, linestyle="--", label="chance")
ax.set_xscale("log")
ax.set_xticks(n_towns, [str(towns) for towns in n_towns])
ax.minorticks_off()
ax.set_xlabel("towns of 200 people")
ax.set_ylabel("correct when left out, %")
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The more towns there are, the larger the tested person's share in the statistics of the town. The
# points scatter like means of 200 coin flips. "exact" is slightly below one half, as usual for
# leave-one-out: without a sample, its class is slightly rarer.

for how, scores in found.items():
    few, many = scores[0].mean(), scores[-1].mean()
    print(f"{how}: {few:.1f} % with {n_towns[0]} towns, {many:.1f} % with {n_towns[-1]}")

# sphinx_gallery_thumbnail_number = 2
