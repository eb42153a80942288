"""
Tuned votes, and the leak of a supervised distance
==================================================

A table of numbers and names, whose distance is learnt from the labels: what a search for the weights of the
votes walks over, and what happens to a score if an item's own label has a part in its distances.
"""

# %%
# 250 mushrooms: two columns of numbers, two of names, each telling a little of the kind.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from knnccv.hvdm import HVDM
from knnccv.rib import RIBClassifier, lcv_score, loo_votes

rng = np.random.default_rng(2)
n_items = 250
code = rng.integers(3, size=n_items)
kinds = np.array(["agaric", "bolete", "parasol"])[code]


def told(names, share):
    """Of a share of the items the name that goes with its kind; any name of the others."""
    return np.where(rng.random(n_items) < share, np.array(names)[code], rng.choice(names, n_items))


mushrooms = pd.DataFrame(
    {
        "place": told(["meadow", "wood", "garden"], 0.4),
        "colour": told(["white", "brown", "grey"], 0.2),
        "stem": np.array([6, 8, 7])[code] + rng.normal(scale=1.5, size=n_items),
        "cap": np.array([4, 6, 9])[code] + rng.normal(scale=2, size=n_items),
    }
)
rib = RIBClassifier(random_state=0).fit(mushrooms, kinds)
path = pd.DataFrame(rib.search_path_)
print(rib.best_params_)
print(path[["parameter", "n_neighbors", "kernel", "w_k", "avgk", "n_correct", "confidence"]].to_string())
