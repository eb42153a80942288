"""
Regression: bias, variance, and the best K
==========================================

The expected squared error of a mean of K neighbors, split exactly into squared bias and variance over all
training sets.
"""

# %%
# The diabetes data: ten measurements of 442 patients, and the progress of the disease a year later.

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Neighbors, Subsample, complete_cv, surface
from knnccv.datasets import load_diabetes

diabetes = load_diabetes()
X = (diabetes.X - diabetes.X.mean(axis=0)) / diabetes.X.std(axis=0)
near = Neighbors.from_data(X)
ks = [1, 2, 3, 4, 6, 8, 11, 15, 20, 28, 40, 60, 80]
results = [complete_cv(near, diabetes.y, "regression", Subsample(0.5), n_neighbors=k) for k in ks]
print(results[7])

# %%
# More neighbors lower the variance and raise the bias. (The bias contains the noise of the target, which
# no rule can remove.) The parts add up to the error:

error = np.array([result.score for result in results])
bias2 = np.array([result.bias2.mean() for result in results])
variance = np.array([result.variance.mean() for result in results])
print("largest difference:", abs(error - bias2 - variance).max())

fig, ax = plt.subplots(layout="constrained")
ax.stackplot(
    ks, bias2, variance, labels=["squared bias, with noise", "variance"], colors=["#8fa9cc", "#e3b5b1"]
)
ax.plot(ks, error, "o-", color="#b3261e", label="expected squared error")
ax.set(xscale="log", xlim=(1, 80), ylim=(0, None), xlabel="neighbors K", ylabel="squared error")
ax.set_xticks([1, 2, 4, 8, 15, 30, 60], ["1", "2", "4", "8", "15", "30", "60"])
ax.minorticks_off()
ax.legend(loc="lower left")
plt.show()

# %%
# Leave-one-out for every K at once costs one pass over the lists:

curve = surface(near, diabetes.y, range(1, 81), len(diabetes.y) - 1, "regression").scores[:, 0]
fig, ax = plt.subplots(layout="constrained")
ax.plot(range(1, 81), curve, color="#30588c", label="leave-one-out")
ax.plot(ks, error, "o-", color="#b3261e", label="half of the samples train")
ax.set(xlabel="neighbors K", ylabel="squared error")
ax.legend(frameon=False)
plt.show()
print("best K when all but one train:", 1 + curve.argmin())
