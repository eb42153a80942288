"""
A rule of your own
==================

How pure are neighborhoods? A plugin answers: a tested sample scores 1 if its K-th nearest training sample
has the same class.
"""

# %%
# A kernel takes the neighbor order of one sample, the labels and the constraints, and returns the share of
# the training sets that classify the sample correctly. `knnccv.kernel.sampling.position_law` gives the
# probability of each position of the K-th nearest training sample; the kernel adds up the positions with
# the tested sample's class. Every step is explained in :doc:`/variants`.

import matplotlib.pyplot as plt

from knnccv import Subsample, complete_cv, plot, surface
from knnccv.datasets import load_wine
from knnccv.kernel import Tables, Variant, jit
from knnccv.kernel.sampling import position_law
from knnccv.testing import check_variant


@jit
def kth_fixed(order, labels, target, constraints):
    weights = constraints.weights
    own_class = labels.classes[target]
    score = constraints.unit * 0
    start = 0
    while start < len(order.items):
        end = order.group_end[start]
        weight = constraints.unit * 0
        n_own = 0
        for i in range(start, end):
            weight += weights[i]
            if labels.classes[order.items[i]] == own_class:
                n_own += 1
        score += weight * n_own / (end - start)
        start = end
    return score


class Kth(Variant):
    """Correct if the K-th nearest training sample has the tested sample's class."""

    name = "kth"
    parameters = {"n_neighbors": 2}
    tie_rules = ("index", "random")
    fixed = kth_fixed

    def n_nearest(self, **parameters):
        return parameters["n_neighbors"]

    def check(self, task, **parameters):
        if not 1 <= parameters["n_neighbors"] <= task.train_size:
            msg = f"n_neighbors must be between 1 and {task.train_size}, got {parameters['n_neighbors']}"
            raise ValueError(msg)

    def tables(self, task, **parameters):
        law = position_law(task.n_available, task.train_size, parameters["n_neighbors"], task.number)
        return Tables(weights=law)


# %%
# The check against enumeration needs the rule a second time, in plain Python:


def plain_rule(near, own, n_neighbors):
    return int(near[n_neighbors - 1] == own)


compared = check_variant(Kth, plain_rule, parameters=[{"n_neighbors": k} for k in (1, 2, 3)], n_cases=10)
print(compared, "scores agree with the enumeration of all training sets")

# %%
# The class is used like the name of a built-in variant: designs, ties, threads, exact fractions and
# surfaces work at once.

wine = load_wine()
standardized = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
print(complete_cv(standardized, wine.y, Kth, Subsample(0.5), n_neighbors=3))

# %%
# Farther neighbors are less reliable, especially with small training sets:

purity = surface(standardized, wine.y, range(1, 31), [40, 80, 160], variant=Kth)
ax = plot.validation_curve(purity)
ax.set(ylabel="P(K-th neighbor has the same class)")
plt.show()
