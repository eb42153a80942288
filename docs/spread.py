"""Draw the figure of the README: scores of random splits of 1-NN on liver-disorders, and the exact score.

Run it with ``python docs/spread.py`` (needs matplotlib, and the data or the network).
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from knnccv import Subsample, complete_cv, monte_carlo_cv
from knnccv.datasets import fetch_liver_disorders

mpl.use("Agg")
import matplotlib.pyplot as plt

N_RUNS = 20_000
TARGET = Path(__file__).with_name("spread.png")


def main() -> None:
    """Write the figure beside this file."""
    liver = fetch_liver_disorders()
    question = {"variant": "nn", "cv": Subsample(172), "ties": "random"}
    exact = complete_cv(liver.X, liver.y, **question).score
    runs = monte_carlo_cv(liver.X, liver.y, **question, n_runs=N_RUNS, random_state=0).scores

    mpl.rcParams.update({"font.size": 9})
    figure, axes = plt.subplots(figsize=(7.2, 2.9), layout="constrained")
    for n_splits, color in [(1, "#c7d3e3"), (10, "#8fa9cc"), (50, "#4a6fa5")]:
        means = runs.reshape(-1, n_splits).mean(axis=1)
        axes.hist(
            100 * means,
            bins=np.arange(48.5, 73, 0.25 if n_splits > 1 else 100 / 173),
            density=True,
            color=color,
            alpha=0.85,
            label=f"{n_splits} random split{'s' if n_splits > 1 else ''}: ± {100 * means.std():.1f}",
        )
    axes.axvline(
        100 * exact,
        color="#b3261e",
        lw=1.6,
        label=f"all 3·10¹⁰² splits: {100 * exact:.3f}",
    )
    axes.set(
        xlabel="accuracy of the nearest neighbor on liver-disorders, trained on 172 of 345 samples (%)",
        ylabel="density",
        xlim=(50, 71),
        yticks=[],
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(TARGET, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
