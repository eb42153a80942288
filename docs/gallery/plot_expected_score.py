"""
What cross_val_score estimates
==============================

The same call, and the mean over all of the splitter's random numbers in place of one of them.
"""

# %%
# Repeated shuffled folds, as people run them, and their expectation:

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from knnccv import plot
from knnccv.datasets import load_wine
from knnccv.sklearn import WholeData, ccv_scorer, expected_score

wine = load_wine()
rule = KNeighborsClassifier(5)
splitter = RepeatedKFold(n_splits=10, n_repeats=3, random_state=0)
print("one run:", cross_val_score(rule, wine.X, wine.y, cv=splitter).mean())
exact = expected_score(rule, wine.X, wine.y, cv=splitter)
print(exact)

# %%
# Other seeds find other numbers. All of them estimate the line:

runs = [
    cross_val_score(rule, wine.X, wine.y, cv=KFold(10, shuffle=True, random_state=seed)).mean()
    for seed in range(60)
]
plot.luck(runs, exact.score, label="60 seeds of KFold(10, shuffle=True)")

# %%
# A grid search by exact scores: the scorer reads K and the metric from each candidate, and
# ``WholeData`` hands it all items once. What differs between candidates is then no luck of the split.

search = GridSearchCV(
    KNeighborsClassifier(),
    {"n_neighbors": list(range(1, 16)), "metric": ["euclidean", "manhattan"]},
    scoring=ccv_scorer(cv=KFold(10, shuffle=True)),
    cv=WholeData(),
)
search.fit(wine.X, wine.y)
fig, ax = plt.subplots(layout="constrained")
for metric in ("euclidean", "manhattan"):
    rows = np.array([found["metric"] == metric for found in search.cv_results_["params"]])
    ax.plot(range(1, 16), search.cv_results_["mean_test_score"][rows], ".-", label=metric)
ax.set(xlabel="n_neighbors", ylabel="expected score of KFold(10, shuffle=True)")
ax.legend()
plt.show()
print(search.best_params_, search.best_score_)
