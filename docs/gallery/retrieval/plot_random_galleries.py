"""
The exact CMC curve against ten random galleries
================================================

Person re-identification is scored with galleries of a few random images per person. Ten are usual. Their
mean still depends on luck; the mean over all galleries does not.
"""

# %%
# Made-up features of 60 people, five queries and twelve gallery images each. Images of a person by the same
# camera resemble each other:

import matplotlib.pyplot as plt
import numpy as np

from knnccv import Neighbors, plot
from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval, sampled_retrieval

rng = np.random.default_rng(0)
person, view = rng.normal(size=(60, 16)), 0.7 * rng.normal(size=(60, 6, 16))
query_ids, ids = np.repeat(np.arange(60), 5), np.repeat(np.arange(60), 12)
query_cams, cams = np.resize(np.arange(6), 300), np.resize(np.arange(6), 720)
queries = person[query_ids] + view[query_ids, query_cams] + rng.normal(size=(300, 16))
gallery = person[ids] + view[ids, cams] + rng.normal(size=(720, 16))

# %%
# A query does not search the images of its person by its own camera. One image per person and camera is
# drawn, and all queries search the same gallery. The exact scores average over all such galleries:

near = Neighbors.between(queries, gallery, metric="cosine")
protocol = {
    "gallery": Gallery(shots=1, strata=(ids, cams)),
    "exclude": SameIdentityAndCamera(query_cams, cams),
    "max_rank": 20,
}
exact = expected_retrieval(near, query_ids, ids, **protocol)
print(exact)
print(f"{exact.n_galleries:.1e} galleries")

# %%
# Now 300 random galleries. The mean of ten is what tables print. It is off by a good half of a point:

runs = sampled_retrieval(near, query_ids, ids, **protocol, n_runs=300)
tables = runs.trials["cmc"].reshape(30, 10, 20).mean(axis=1)
print(f"rank-1, exact: {100 * exact.cmc[0]:.2f} %")
print(f"rank-1, ten galleries: {100 * tables[:, 0].min():.2f} to {100 * tables[:, 0].max():.2f} %")
print(f"standard error of the mean of ten: {100 * runs.std_error('cmc')[0]:.2f} points")

# %%
# The band shows the standard deviation of one gallery. The queries of a gallery share its luck, and the
# sampled deviation contains this:

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for curve in runs.trials["cmc"][:10]:
    left.plot(np.arange(1, 21), curve, color="#8fa9cc", linewidth=0.8)
left.plot([], [], color="#8fa9cc", label="ten random galleries")
plot.cmc(exact, ax=left, trials=runs)
right.hist(100 * tables[:, 0], bins=10, color="#8fa9cc", label="means of ten random galleries")
right.axvline(100 * exact.cmc[0], color="#b3261e", label="all galleries")
right.set(xlabel="rank-1, percent", ylabel="tables", ylim=(0, 10))
right.legend(frameon=False, fontsize="small")

# %%
# How much does the size of the gallery matter? Another question that needs no drawing:

sizes = {
    f"{k} per person": expected_retrieval(
        near,
        query_ids,
        ids,
        Gallery(per_identity=k),
        exclude=protocol["exclude"],
        max_rank=20,
    )
    for k in (1, 2, 5, 10)
}
plt.figure(layout="constrained")
plot.cmc(sizes, ax=plt.gca())
plt.show()
