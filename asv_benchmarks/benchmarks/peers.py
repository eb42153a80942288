"""Ratios of times: the exact score and random splits, and each stage and its peers, measured in turn in
one process.
"""

import numpy as np

from knnccv import StratifiedKFold, complete_cv, monte_carlo_cv

from .problems import gaussian
from .rivals import PRECISIONS, SHAPES, ready, require_rival
from .timing import in_turn, ratio, skip_large


class MonteCarlo:
    params = ([500, 2000, 5000], [2, 8, 64])
    param_names = ("n_items", "n_features")
    timeout = 300
    unit = "ratio"

    def setup(self, n_items, n_features):
        self.X, self.y = gaussian(n_items, n_features)

    def exact(self):
        complete_cv(self.X, self.y, "knn", StratifiedKFold(5), n_neighbors=5, n_jobs=1)


class ScikitLearn(MonteCarlo):
    """One ordinary shuffled 5-fold run."""

    def setup(self, n_items, n_features):
        super().setup(n_items, n_features)
        try:
            import sklearn  # noqa: F401
        except ImportError as error:
            msg = "scikit-learn is not installed"
            raise NotImplementedError(msg) from error

    def track_exact_over_monte_carlo(self, n_items, n_features):
        from sklearn import model_selection
        from sklearn.neighbors import KNeighborsClassifier

        folds = model_selection.StratifiedKFold(5, shuffle=True, random_state=0)
        classifier = KNeighborsClassifier(5)
        return ratio(
            self.exact,
            lambda: model_selection.cross_val_score(classifier, self.X, self.y, cv=folds),
        )


class OwnSampler(MonteCarlo):
    """Fifty 5-fold runs with neighbors that are searched once."""

    def sampled(self):
        monte_carlo_cv(
            self.X,
            self.y,
            "knn",
            StratifiedKFold(5),
            n_neighbors=5,
            n_runs=50,
            random_state=0,
            n_jobs=1,
        )

    def track_exact_over_monte_carlo(self, n_items, n_features):
        return ratio(self.exact, self.sampled)


class Stage:
    """On all processors; the median of the ratios of neighboring runs."""

    timeout = 1200
    unit = "ratio"

    def setup(self, shape, *others):
        n_items, n_features = SHAPES[shape]
        if n_items > 20_000 or n_features > 64:
            skip_large()
        for rival in others:
            if isinstance(rival, str):
                require_rival(rival)

    def ratio(self, ours, theirs):
        taken = in_turn([ours, theirs])
        return float(np.median(taken[:, 0] / taken[:, 1]))


class CrossValScore(Stage):
    """All 5-fold runs of 5 neighbors, against one ordinary run."""

    params = (
        list(SHAPES),
        PRECISIONS,
        ["cross_val_score, scikit-learn", "cross_val_score, scikit-learn-intelex"],
    )
    param_names = ("shape", "precision", "rival")

    def track_exact_over_one_run(self, shape, precision, rival):
        return self.ratio(ready("complete_cv", shape, precision), ready(rival, shape, precision))


class NearestNeighbors(Stage):
    """The neighbor stage, to depth 40; faiss always computes in float32."""

    params = (list(SHAPES), PRECISIONS, ["NearestNeighbors, scikit-learn", "IndexFlatL2, faiss"])
    param_names = ("shape", "precision", "rival")

    def track_ours_over_theirs(self, shape, precision, rival):
        return self.ratio(ready("neighbors", shape, precision), ready(rival, shape, precision))


class Kernels(Stage):
    """The time of all 5-fold runs on given neighbors, against the time of the search."""

    params = (list(SHAPES), [2, 10])
    param_names = ("shape", "n_classes")

    def track_kernels_over_neighbors(self, shape, n_classes):
        return self.ratio(
            ready("kernels", shape, "float32", n_classes), ready("neighbors", shape, "float32", n_classes)
        )
