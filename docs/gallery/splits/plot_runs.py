"""
What has no closed form
=======================

F1, a scaler that is fitted within the folds, and a tuned K depend on the split in ways that cannot be
averaged exactly. Random runs are so cheap that thousands of them answer in a second.
"""

# %%
# F1 of folds whose columns are scaled by the training set, as in scikit-learn's pipeline:

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from knnccv import complete_cv, permutation_test, tuned_score
from knnccv.datasets import load_wine
from knnccv.sklearn import expected_score

wine = load_wine()
rule = make_pipeline(StandardScaler(), KNeighborsClassifier(5))
folds = StratifiedKFold(5, shuffle=True)
print(expected_score(rule, wine.X, wine.y, cv=folds, scoring="f1_macro", random_state=0))

# %%
# The score of a K that is chosen within each training set, and how often each K is chosen:

tuned = tuned_score(
    wine.X, wine.y, n_neighbors=range(1, 32, 2), scaling="standard", n_runs=300, random_state=0
)
print(tuned)
print(f"the best inner score is too high by {tuned.optimism:.4f}")
fig, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.bar([choice.n_neighbors for choice in tuned.choices], tuned.choices.values())
ax.set(xlabel="K", ylabel="share of training sets")

# %%
# What single runs of five folds would have said, of the raw columns:

result = complete_cv(wine.X, wine.y, "knn", 5, n_neighbors=5)
runs = result.runs(random_state=0)
fig, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.hist(100 * runs.scores, bins=np.arange(62, 78, 100 / 178) - 50 / 178)
ax.axvline(100 * result.score, color="black")
ax.set(xlabel="accuracy of one run in %", ylabel="runs")

# %%
# Is there anything to learn? The exact score, among the exact scores of permuted labels:

print(permutation_test(wine.X, wine.y, "knn", 5, n_neighbors=5, n_permutations=199, random_state=0))
