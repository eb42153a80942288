"""Votes weighted by distance: exact ones of leave-one-out and few neighbors, and drawn training sets."""

from functools import cache, partial

from knnccv import LeaveOut, Neighbors, Subsample, complete_cv, variant_names

from .problems import gaussian

N_ITEMS, N_FEATURES, N_CLASSES, DRAWS = 2000, 8, 10, 50
DESIGNS = {"LeaveOut(1)": LeaveOut(1), "Subsample(0.5)": Subsample(0.5)}


@cache
def neighbors():
    """Return the neighbors, which keep the lists of the first score, and the labels."""
    X, y = gaussian(N_ITEMS, N_FEATURES, N_CLASSES)
    return Neighbors.from_data(X), y


@cache
def prepared(n_neighbors, design, weights):
    """Return a call that was made once: kernels are compiled, neighbors found."""
    near, y = neighbors()
    asked = {"n_neighbors": n_neighbors, "weights": weights, "n_draws": DRAWS, "n_jobs": 1}
    call = partial(complete_cv, near, y, "weighted", DESIGNS[design], **asked)
    call()
    return call


class Weighted:
    params = ([5, 20, 200], list(DESIGNS), ["inverse", "softmax"])
    param_names = ("n_neighbors", "design", "weights")
    warmup_time = 0
    repeat = (2, 7, 2.0)
    timeout = 120

    def setup(self, n_neighbors, design, weights):
        if "weighted" not in variant_names():
            raise NotImplementedError
        self.call = prepared(n_neighbors, design, weights)

    def time_score(self, n_neighbors, design, weights):
        self.call()

    def track_std_error(self, n_neighbors, design, weights):
        return getattr(self.call(), "std_error", 0.0)
