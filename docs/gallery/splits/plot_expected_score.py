"""
What cross_val_score estimates
==============================

The arguments are those of scikit-learn's ``cross_val_score``. The result is the exact mean over all random
states of the splitter.
"""

# %%
# Repeated shuffled folds, as they are usually run, and their expectation:

from sklearn.model_selection import KFold, RepeatedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from knnccv import plot
from knnccv.datasets import load_wine
from knnccv.sklearn import expected_score

wine = load_wine()
rule = KNeighborsClassifier(5)
splitter = RepeatedKFold(n_splits=10, n_repeats=3, random_state=0)
print("one run:", cross_val_score(rule, wine.X, wine.y, cv=splitter).mean())
exact = expected_score(rule, wine.X, wine.y, cv=splitter)
print(exact)

# %%
# Other seeds give other scores. All of them estimate the vertical line:

runs = [
    cross_val_score(rule, wine.X, wine.y, cv=KFold(10, shuffle=True, random_state=seed)).mean()
    for seed in range(25)
]
plot.luck(runs, exact.score, label="25 seeds of KFold(10, shuffle=True)")

# %%
# Other scores are exact as well, if they are means over the tested samples or over the classes. A ratio
# such as F1 has no closed form. It is the mean of thousands of random runs, with a standard error:

folds = KFold(10, shuffle=True)
for scoring in ("balanced_accuracy", "f1_macro"):
    found = expected_score(rule, wine.X, wine.y, cv=folds, scoring=scoring, random_state=0)
    print(f"{scoring}: {found.score:.6f}, standard error {found.std_error:.1g}")
