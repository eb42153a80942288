"""
Molecules by Tanimoto distance
==============================

Binary fingerprints are compared by the share of common bits. Any matrix of such distances is accepted, and
scores are means over the orders of its many ties.
"""

# %%
# Made-up fingerprints of 64 bits. Each of three chemical series has a scaffold, whose bits its molecules
# mostly share; half of a series is active, and activity sets some bits more often:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Neighbors, StratifiedSubsample, Subsample, complete_cv, surface

rng = np.random.default_rng(5)
series = np.repeat(np.arange(3), 50)
active = np.arange(150) % 2
probability = np.where(rng.random((3, 64)) < 0.3, 0.75, 0.08)[series]
probability[:, :12] += 0.3 * active[:, None] * (1 - probability[:, :12])
bits = rng.random((150, 64)) < probability
print(bits.sum(axis=1)[:6], "bits of the first molecules")

# %%
# The Tanimoto distance is one minus the number of common bits over the number of bits that either has:

common = bits.astype(int) @ bits.T.astype(int)
n_bits = bits.sum(axis=1)
distances = 1 - common / (n_bits[:, None] + n_bits - common)
near = Neighbors.from_distances(distances)
for question, labels in (("series", series), ("activity", active)):
    print(question, complete_cv(near, labels, "knn", Subsample(0.5), n_neighbors=3))

# %%
# Ratios of small integers are often equal. The default is the exact mean over all orders of tied molecules.
# The report says how far a single order could be from it:

result = complete_cv(near, active, "nn", StratifiedSubsample(0.5))
report = result.tie_report()
print(f"{result.n_tied} of 150 tied: {report.lowest:.3f} to {report.highest:.3f}, mean {report.score:.3f}")

# %%
# How many neighbors, and how many tested molecules, does a prediction of activity need?

found = surface(near, active, n_neighbors=range(1, 26, 2), train_sizes=[30, 60, 100, 140])
fig, ax = plt.subplots(layout="constrained")
colors = plt.get_cmap("viridis")(np.linspace(0.1, 0.85, 4))
for size, scores, color in zip(found.train_sizes, found.scores.T, colors, strict=True):
    ax.plot(found.n_neighbors, scores, "o-", color=color, label=f"{size} known molecules")
ax.set(xlabel="neighbors K", ylabel="accuracy for activity")
ax.legend(frameon=False)
plt.show()
