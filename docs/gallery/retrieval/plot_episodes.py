"""
All few-shot episodes against 600 of them
=========================================

Few-shot accuracy is printed as the mean of 600 random episodes, with a ±. The mean over all episodes of the
nearest support is one number, for every number of ways from a single pass.
"""

# %%
# Made-up features of 20 classes, with 40 samples each:

import matplotlib.pyplot as plt
import numpy as np

from knnccv.episodes import Episodes, expected_episodes, sampled_episodes

rng = np.random.default_rng(0)
y = np.repeat(np.arange(20), 40)
X = rng.normal(size=(20, 16))[y] + 1.5 * rng.normal(size=(800, 16))
exact = expected_episodes(X, y, Episodes(n_way=5, n_shot=1), jackknife="class")
print(exact)

# %%
# What 600 episodes give instead. Thirty such tables of the same features:

runs = sampled_episodes(X, y, Episodes(5, 1), n_episodes=18_000, random_state=0)
tables = runs.accuracies.reshape(30, 600).mean(axis=1)
half = 1.96 * runs.std / np.sqrt(600)
print(f"exact {100 * exact.score:.2f} %, 600 episodes ±{100 * half:.2f} points")
print(f"tables of 600: {100 * tables.min():.2f} to {100 * tables.max():.2f} %")
print(f"other classes of this kind: standard error {100 * exact.standard_error():.2f} points")

# %%
# On the left the scores of every number of ways, with 600 episodes at some of them. On the right the thirty
# tables, each with its ±, around the exact score. The shaded band is the standard error that the jackknife
# over classes gives. It is larger than every ±, and more episodes do not shrink it:

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(list(exact.ways), list(exact.ways.values()), color="#b3261e", label="all episodes")
for way in (2, 5, 10, 20):
    few = sampled_episodes(X, y, Episodes(way, 1), n_episodes=600, random_state=way)
    left.errorbar(
        way, few.score, 1.96 * few.std_error, color="#4a6fa5", marker="o", markersize=4, capsize=3
    )
left.errorbar([], [], [], color="#4a6fa5", marker="o", markersize=4, label="600 episodes")
left.set(xlabel="ways", ylabel="accuracy", xticks=[2, 5, 10, 15, 20])
left.legend(frameon=False)
order = np.arange(len(tables))
right.axhspan(
    exact.score - exact.standard_error(),
    exact.score + exact.standard_error(),
    color="#b3261e",
    alpha=0.12,
    lw=0,
    label="± standard error for other classes",
)
right.errorbar(order, tables, half, color="#8fa9cc", fmt="o", markersize=3, label="600 episodes, ±")
right.axhline(exact.score, color="#b3261e", label="all episodes")
right.set(xlabel="table", ylabel="5-way accuracy", ylim=(exact.score - 0.05, exact.score + 0.05))
right.legend(frameon=False, fontsize="small", loc="upper right")
plt.show()
