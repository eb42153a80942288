"""
A grid search without luck
==========================

``GridSearchCV`` chooses by scores of a few random folds, so the choice depends on the seed. With
`ccv_scorer` it chooses by the exact mean over all folds.
"""

# %%
# The usual search: five shuffled folds. Eight people use eight seeds:

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from knnccv.datasets import load_wine
from knnccv.sklearn import WholeData, ccv_scorer

wine = load_wine()
X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
grid = {"n_neighbors": list(range(1, 50, 6))}
chosen, curves = [], []
for seed in range(8):
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    usual = GridSearchCV(KNeighborsClassifier(), grid, cv=folds).fit(X, wine.y)
    chosen.append(usual.best_params_["n_neighbors"])
    curves.append(usual.cv_results_["mean_test_score"])
print("chosen by eight seeds:", chosen)
print(f"scores of one candidate differ by up to {np.ptp(curves, axis=0).max():.3f}")

# %%
# The same search by exact scores. The scorer reads K and the metric from each candidate; ``WholeData``
# passes all samples once, so nothing else in the search has to change:

search = GridSearchCV(
    KNeighborsClassifier(),
    grid,
    scoring=ccv_scorer(cv=StratifiedKFold(5, shuffle=True)),
    cv=WholeData(),
).fit(X, wine.y)
print("chosen by the exact score:", search.best_params_, round(search.best_score_, 4))

fig, ax = plt.subplots(layout="constrained")
for curve in curves:
    ax.plot(grid["n_neighbors"], curve, color="#8fa9cc", linewidth=1)
ax.plot([], [], color="#8fa9cc", label="one seed each")
ax.plot(
    grid["n_neighbors"], search.cv_results_["mean_test_score"], "o-", color="#b3261e", label="all shuffles"
)
ax.set(xlabel="n_neighbors", ylabel="score in GridSearchCV")
ax.legend(frameon=False)
plt.show()

# %%
# A grid may have several parameters. Each candidate has one exact score:

both = GridSearchCV(
    KNeighborsClassifier(),
    {"n_neighbors": [1, 5, 15, 25], "metric": ["euclidean", "manhattan", "chebyshev"]},
    scoring=ccv_scorer(cv=StratifiedKFold(5, shuffle=True)),
    cv=WholeData(),
).fit(X, wine.y)
print(both.best_params_, round(both.best_score_, 4))
