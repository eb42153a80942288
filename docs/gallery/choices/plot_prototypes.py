"""
How few samples are enough?
===========================

``condense`` removes samples as long as the exact score of the rest does not fall. A tenth of the wines
classify as well as all.
"""

# %%
# The removed samples are still tested, so that the scores along the path can be compared.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from knnccv.datasets import load_wine
from knnccv.selection import Condense, condense
from knnccv.sklearn import expected_score

wine = load_wine()
X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
found = condense(X, wine.y)
print(
    f"{len(found.sample_indices)} of {len(X)} wines are left: {found.score_of_all:.3f} to {found.score:.3f}"
)

# %%
# The kept samples were chosen for this score. ``expected_score`` condenses every training set by itself:

splits = StratifiedKFold(5, shuffle=True)
honest = expected_score(Condense(), X, wine.y, cv=splits, n_runs=2, random_state=0)
whole = expected_score(KNeighborsClassifier(1), X, wine.y, cv=splits)
print(f"honest: {honest.score:.3f} with prototypes, {whole.score:.3f} with all samples")

# %%
# The wines in their first two principal components, and those that are left:

centered = X - X.mean(axis=0)
places = centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T
kept = places[found.sample_indices]
fig, ax = plt.subplots(layout="constrained")
ax.scatter(*places.T, c=wine.y, cmap="viridis", s=12, alpha=0.4)
ax.scatter(*kept.T, c=wine.y[found.sample_indices], cmap="viridis", s=90, edgecolor="#b3261e", linewidth=2)
ax.set(xlabel="first principal component", ylabel="second", title="prototypes have red edges")
plt.show()
