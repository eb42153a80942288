"""
Rank curves, as in retrieval
============================

Search engines and face recognition show a list. It is correct if the right answer is among the first R. The
share of correct lists over R, the cumulative match characteristic (CMC), is exact here as well.
"""

# %%
# A made-up gallery: 40 people, ten pictures each, described by 12 numbers. A picture of a person is the
# person's mean plus noise, and some pictures are bad:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Neighbors, StratifiedSubsample, complete_cv

rng = np.random.default_rng(7)
person = np.repeat(np.arange(40), 10)
noise = np.where(rng.random(400) < 0.25, 1.6, 0.8)
X = rng.normal(size=(40, 12))[person] + noise[:, None] * rng.normal(size=(400, 12))

# %%
# With n enrolled pictures per person, chosen in every possible way, how often does one of the R nearest
# pictures show the right person?

near = Neighbors.from_data(X)
ranks = [1, 2, 3, 5, 8, 12, 20, 30]
curves = {}
for enrolled in (1, 3, 6):
    design = StratifiedSubsample(per_class=enrolled)
    curves[enrolled] = [complete_cv(near, person, "rank", design, rank=r).score for r in ranks]

fig, ax = plt.subplots(layout="constrained")
for (enrolled, scores), color in zip(curves.items(), ("#8fa9cc", "#30588c", "#b3261e"), strict=True):
    ax.plot(ranks, scores, "o-", color=color, label=f"{enrolled} enrolled per person")
ax.set(xlabel="R nearest pictures", ylabel="rank-R accuracy", ylim=(None, 1))
ax.legend(frameon=False, loc="lower right")
plt.show()
for enrolled, scores in curves.items():
    print(enrolled, "enrolled: rank 1", round(scores[0], 4), "rank 5", round(scores[3], 4))

# %%
# Which people are hard to find? The scores of their pictures show it, averaged over all choices of enrolled
# pictures:

result = complete_cv(near, person, "rank", StratifiedSubsample(per_class=3), rank=5)
by_person = result.per_item.reshape(40, 10)
order = by_person.mean(axis=1).argsort()
fig, ax = plt.subplots(layout="constrained")
image = ax.imshow(by_person[order].T, aspect="auto", cmap="viridis", vmin=0, vmax=1)
ax.set(xlabel="people, the hardest first", ylabel="picture", yticks=[])
fig.colorbar(image, label="rank-5 accuracy")
plt.show()
