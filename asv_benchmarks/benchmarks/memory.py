"""The most memory that a process holds, imports and kernels included."""

from knnccv import Neighbors, complete_cv

from .problems import DESIGNS, VARIANTS, gaussian, require, targets


class Score:
    params = (VARIANTS, ["Subsample(0.5)", "StratifiedKFold(5)"])
    param_names = ("variant", "design")
    timeout = 180

    def setup(self, variant, design):
        require(variant, design)

    def peakmem_5000_items(self, variant, design):
        X, y = gaussian(5000)
        complete_cv(X, targets(variant, X, y), variant, DESIGNS[design])


class Large:
    """Four times the items: sixteen times the memory would mean that N x N distances are kept."""

    timeout = 300

    def peakmem_knn_20000_items(self):
        complete_cv(*gaussian(20_000), "knn", DESIGNS["KFold(5)"])

    def peakmem_kneighbors_20000_items(self):
        X, _ = gaussian(20_000)
        Neighbors.from_data(X).kneighbors(30)
