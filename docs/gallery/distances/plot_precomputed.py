"""
Distances of your own
=====================

Any dissimilarity can be used that does not depend on the split. It need not be a metric, nor symmetric.
Here the samples are strings.
"""

# %%
# Sequences of three families. Each descends from an ancestor, with letters replaced, deleted and inserted.

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Neighbors, StratifiedSubsample, complete_cv

rng = np.random.default_rng(1)
ancestors = [rng.choice(list("ACGT"), 24) for _ in range(3)]


def descendant(ancestor):
    letters = []
    for letter in ancestor:
        draw = rng.random()
        if draw < 0.35:
            letter = rng.choice(list("ACGT"))
        if draw > 0.12:
            letters.append(letter)
        if draw > 0.88:
            letters.append(rng.choice(list("ACGT")))
    return "".join(letters)


families = np.repeat([0, 1, 2], 20)
sequences = [descendant(ancestors[family]) for family in families]
print(sequences[0], sequences[1], sequences[-1])

# %%
# The edit distance counts the letters to replace, insert or delete. Its values are small integers, so
# there are many ties; ``ties="random"`` averages over their orders.


def edit_distance(one, other):
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        before, row[0] = row[0], i
        for j, facing in enumerate(other, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != facing))
    return row[-1]


distances = np.array([[edit_distance(one, other) for other in sequences] for one in sequences], float)
design = StratifiedSubsample(per_class=5)
print(complete_cv(distances, families, "nn", design, metric="precomputed", ties="random"))

# %%
# The same matrix as `Neighbors`, sorted once for the whole learning curve. How many known sequences per
# family are enough?

near = Neighbors.from_distances(distances)
numbers = range(1, 20)
curve = [
    complete_cv(near, families, "nn", StratifiedSubsample(per_class=n), ties="random").score
    for n in numbers
]
fig, ax = plt.subplots(layout="constrained")
ax.plot(numbers, curve, ".-")
ax.set(xlabel="known sequences per family", ylabel="accuracy of the nearest neighbor")
plt.show()

# %%
# A row of the matrix belongs to the tested sample, so dissimilarities may be asymmetric. If deletions are
# cheap and insertions are expensive, the distance from the tested to the known sequence differs from the
# distance in the other direction.


def one_way(tested, known):
    return edit_distance(tested, known) + max(0, len(known) - len(tested))


lopsided = np.array([[one_way(one, other) for other in sequences] for one in sequences], float)
print(abs(lopsided - lopsided.T).max())
print(complete_cv(lopsided, families, "nn", design, metric="precomputed", ties="random"))
