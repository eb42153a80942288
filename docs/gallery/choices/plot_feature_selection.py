"""
Which columns help?
===================

Columns are added one at a time, each the one that raises the exact score most. The best score is
optimistic; the honest one repeats the whole search within every training set.
"""

# %%
# 569 tumors with 30 measurements each (Wisconsin, from scikit-learn). The first 150 are enough here.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from knnccv.selection import FeatureSelector, select_features
from knnccv.sklearn import expected_score

cancer = load_breast_cancer()
X, y = cancer.data[:150], cancer.target[:150]
X = (X - X.mean(axis=0)) / X.std(axis=0)
chosen = select_features(X, y, n_features=8)
names = [cancer.feature_names[column] for column in chosen.columns]
for name, score in zip(names, chosen.scores, strict=True):
    print(f"{score:.4f}  + {name}")

# %%
# What to expect of new samples:

line = make_pipeline(FeatureSelector(n_features=8), KNeighborsClassifier(5))
honest = expected_score(line, X, y, cv=KFold(5, shuffle=True), n_runs=2, random_state=0).score
print(f"inner {chosen.inner_score:.3f}, honest {honest:.3f}")

fig, ax = plt.subplots(layout="constrained")
ax.plot(range(1, 9), chosen.scores, "o-", color="#30588c", label="exact score of the columns so far")
ax.axhline(honest, color="#b3261e", label="honest score of the whole search")
ax.set(xlabel="number of columns", ylabel="accuracy")
ax.legend(frameon=False, loc="lower right")
plt.show()
