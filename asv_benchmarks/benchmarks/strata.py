"""Plurality votes over stratified folds, whose sizes differ by class, and over one stratified share."""

from knnccv import StratifiedKFold, StratifiedSubsample

from .votes import _Votes


class StratifiedVotes(_Votes):
    cv = StratifiedKFold(5)


class Share(_Votes):
    """One kind of training sets: half of every class."""

    params = ([5, 51], [10])
    cv = StratifiedSubsample(0.5)
