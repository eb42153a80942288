"""
Which samples matter
====================

How would the score change without one sample? ``influence`` answers this for all samples from one pass, and
so finds samples that mislead their neighbors, such as those with wrong labels.
"""

# %%
# A tenth of the wines get a wrong label:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Subsample, complete_cv
from knnccv.datasets import load_wine

rng = np.random.default_rng(0)
wine = load_wine()
X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
flipped = np.sort(rng.choice(len(wine.y), len(wine.y) // 10, replace=False))
y = wine.y.copy()
y[flipped] = 1 + (y[flipped] + rng.integers(0, 2, len(flipped))) % 3

# %%
# The influence of a sample is the score minus the score without it. It has two parts: the sample is tested,
# and it trains the others. A wrong label harms both:

result = complete_cv(X, y, "nn", Subsample(0.5))
influence = result.influence()
print(result)
print(influence)
is_flipped = np.isin(np.arange(len(y)), flipped)
fig, ax = plt.subplots(layout="constrained")
for chosen, marker, color, label in (
    (~is_flipped, "o", "#8fa9cc", "right label"),
    (is_flipped, "D", "#b3261e", "wrong label"),
):
    ax.plot(
        100 * influence.as_tested[chosen],
        100 * influence.as_training[chosen],
        marker,
        ms=5,
        color=color,
        label=label,
    )
ax.axhline(0, color="0.7", linewidth=1)
ax.axvline(0, color="0.7", linewidth=1)
ax.set(xlabel="as a tested sample, points", ylabel="as a training sample, points")
ax.legend(frameon=False)
plt.show()

# %%
# A wrong label spoils the scores of its neighbors as well. So a low score of its own accuses some samples
# with right labels, on the left of the picture; as training samples they do little harm. The two parts
# together find more wrong labels:

worst = influence.most_harmful(len(flipped))
by_score = result.per_item.argsort(kind="stable")[: len(flipped)]
print(f"found by influence: {np.isin(worst, flipped).sum()} of {len(flipped)}")
print(f"found by their own scores: {np.isin(by_score, flipped).sum()} of {len(flipped)}")

# %%
# Votes of several neighbors outvote a single wrong label, and the score of a sample is then as good a sign.
#
# Look at such samples, and correct their labels if they are wrong. But do not remove samples because they
# lower the score: the score of the rest would be too good.
