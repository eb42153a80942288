"""Plurality votes over stratified folds, whose sizes differ by class, and over one stratified share."""

from knnccv import StratifiedKFold, StratifiedSubsample

from .votes import CLASSES, COUNTS, prepared


class StratifiedVotes:
    params = (COUNTS, CLASSES)
    param_names = ("n_neighbors", "n_classes")
    warmup_time = 0
    repeat = (2, 7, 2.0)
    timeout = 120

    def setup(self, n_neighbors, n_classes):
        self.call = prepared(n_neighbors, n_classes, StratifiedKFold(5))

    def time_score(self, n_neighbors, n_classes):
        self.call()


class Share:
    """One kind of training sets: half of every class."""

    params = ([5, 51], [10])
    param_names = ("n_neighbors", "n_classes")
    warmup_time = 0
    repeat = (2, 7, 2.0)
    timeout = 120

    def setup(self, n_neighbors, n_classes):
        self.call = prepared(n_neighbors, n_classes, StratifiedSubsample(0.5))

    def time_score(self, n_neighbors, n_classes):
        self.call()
