"""Random runs by the thousand, one thread, with neighbors found beforehand."""

from functools import cache

import numpy as np

from knnccv import KFold, Neighbors, StratifiedKFold, complete_cv

from .problems import gaussian

SIZES = [2000, 20_000]
N_CLASSES, N_NEIGHBORS = 2, 5
DESIGNS = {"KFold(5)": KFold(5), "StratifiedKFold(5)": StratifiedKFold(5)}


@cache
def scored(n_items, design):
    """Return an exact score whose neighbor lists are kept."""
    X, y = gaussian(n_items, n_classes=N_CLASSES)
    near = Neighbors.from_data(X)
    return complete_cv(near, y, "knn", DESIGNS[design], n_neighbors=N_NEIGHBORS, n_jobs=1)


class Runs:
    """What single runs of five folds say: their spread, and their confusion tables."""

    params = (SIZES, list(DESIGNS))
    param_names = ("n_items", "design")
    warmup_time = 0
    repeat = (2, 5, 5.0)
    timeout = 120

    def setup(self, n_items, design):
        self.result = scored(n_items, design)
        if not hasattr(self.result, "runs"):
            msg = "this version has no runs()"
            raise NotImplementedError(msg)
        self.result.runs(512)

    def time_split_std(self, n_items, design):
        self.result.split_std()

    def time_runs(self, n_items, design):
        self.result.runs(5000)


class Tuned:
    """Nested cross-validation: one of 16 K is chosen within every training set of 1,000 runs."""

    warmup_time = 0
    repeat = (2, 5, 5.0)
    timeout = 120

    def setup(self):
        try:
            from knnccv import tuned_score
        except ImportError as missing:
            raise NotImplementedError from missing
        X, self.y = gaussian(2000, n_classes=N_CLASSES)
        self.near, self.tuned_score = Neighbors.from_data(X), tuned_score
        self.score(n_runs=1)

    def score(self, n_runs):
        self.tuned_score(self.near, self.y, range(1, 32, 2), KFold(5), n_runs=n_runs, n_jobs=1)

    def time_tuned_score(self):
        self.score(n_runs=1000)


class Rescaled:
    """The nearest training samples of 200 runs whose 30 columns are standardized within the folds."""

    params = ([2000],)
    param_names = ("n_items",)
    warmup_time = 0
    repeat = (2, 5, 5.0)
    timeout = 120

    def setup(self, n_items):
        try:
            from sklearn.preprocessing import StandardScaler

            from knnccv._core.luck.runs import RescaledSearch, scaling_of
        except ImportError as missing:
            raise NotImplementedError from missing
        X, _ = gaussian(n_items, n_features=30, n_classes=N_CLASSES)
        rng = np.random.default_rng(20000629)
        self.codes = np.array([rng.permutation(np.arange(n_items) % 5) for _ in range(200)])
        self.search = RescaledSearch(scaling_of([StandardScaler()], X))
        self.nearest(1)

    def nearest(self, n_runs):
        self.search.nearest(self.codes[:n_runs], n_neighbors=N_NEIGHBORS, n_jobs=1)

    def time_nearest(self, n_items):
        self.nearest(200)
