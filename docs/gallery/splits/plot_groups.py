"""
Samples that belong together
============================

Several recordings of each patient: if one of them trains while another is tested, the rule recognizes the
patient and not the disease. Leave out whole groups instead.
"""

# %%
# 36 patients, six recordings each. A patient's recordings resemble each other much more than the disease
# separates the patients:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import KFold, LeaveGroupsOut, Neighbors, complete_cv, monte_carlo_cv

rng = np.random.default_rng(4)
n_patients, n_recordings = 36, 6
ill = np.arange(n_patients) % 2
center = rng.normal(size=(n_patients, 6)) + 0.7 * ill[:, None]
patient = np.repeat(np.arange(n_patients), n_recordings)
y = ill[patient]
X = center[patient] + 0.4 * rng.normal(size=(len(y), 6))

# %%
# Folds of recordings promise nearly perfect diagnoses. Leaving out one patient at a time, with all
# recordings, measures the accuracy for new patients:

near = Neighbors.from_data(X)
recordings = complete_cv(near, y, "nn", KFold(6))
patients = complete_cv(near, y, "nn", LeaveGroupsOut(patient))
print(recordings)
print(patients)

# %%
# Several groups can be left out at once: the mean over *all* sets of p patients, for one nearest
# neighbor. For more neighbors, `monte_carlo_cv` draws such sets at random:

numbers = range(1, 31)
exact = [complete_cv(near, y, "nn", LeaveGroupsOut(patient, p=p)).score for p in numbers]
drawn = {
    p: monte_carlo_cv(
        near, y, "knn", LeaveGroupsOut(patient, p=p), n_neighbors=5, n_runs=60, random_state=0
    )
    for p in (1, 6, 12, 18, 24, 30)
}
fig, ax = plt.subplots(layout="constrained")
ax.axhline(recordings.score, color="#b3261e", label="folds of recordings, 1 neighbor: too good")
ax.plot(numbers, exact, ".-", color="#30588c", label="whole patients, 1 neighbor: exact")
ax.errorbar(
    list(drawn),
    [found.score for found in drawn.values()],
    yerr=[2 * found.std_error for found in drawn.values()],
    fmt="o",
    color="black",
    capsize=3,
    label="whole patients, 5 neighbors: 60 random runs",
)
ax.set(xlabel="patients left out", ylabel="accuracy", ylim=(0.5, 1.03))
ax.legend(frameon=False, fontsize="small", loc="upper right", bbox_to_anchor=(1, 0.86))
plt.show()
