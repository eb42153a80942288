"""Every variant under every design: kernels and loop over the samples, with neighbors found beforehand."""

from functools import cache, partial

from knnccv import Neighbors, complete_cv, get_variant

from .problems import DESIGNS, GROUPS, VARIANTS, gaussian, require, targets


@cache
def prepared(variant, design, n_items, decimals=None, **options):
    """Return a call without arguments that was made once: kernels are compiled, neighbors found.

    asv runs a setup before every sample; this runs once per process.
    """
    require(variant, design)
    X, y = gaussian(n_items)
    near = Neighbors.from_data(X if decimals is None else X.round(decimals))
    target = targets(variant, X, y)
    call = partial(complete_cv, near, target, variant, DESIGNS[design], n_jobs=1, **options)
    call()
    return call


class Score:
    params = (VARIANTS, [name for name in DESIGNS if name != GROUPS])
    param_names = ("variant", "design")
    warmup_time = 0
    repeat = (2, 7, 2.0)
    timeout = 120

    def setup(self, variant, design):
        self.call = prepared(variant, design, 2000, ties="index")

    def time_score(self, variant, design):
        self.call()


class Groups:
    """All sets of 5 of 60 groups are tested."""

    params = (["nn", "knn", "rank"],)
    param_names = ("variant",)
    warmup_time = 0
    repeat = (2, 7, 2.0)
    timeout = 120

    def setup(self, variant):
        self.call = prepared(variant, GROUPS, 2000, ties="index")

    def time_score(self, variant):
        self.call()


class Tied:
    """Data with few distinct distances, averaged over all orders of tied samples."""

    params = (VARIANTS, ["KFold(5)", "StratifiedKFold(5)"])
    param_names = ("variant", "design")
    warmup_time = 0
    repeat = (2, 7, 2.0)
    timeout = 120

    def setup(self, variant, design):
        require(variant, design)
        if "random" not in get_variant(variant).tie_rules:
            msg = f"variant {variant!r} takes ties in the order of the data only"
            raise NotImplementedError(msg)
        self.call = prepared(variant, design, 500, 0, ties="random")

    def time_score(self, variant, design):
        self.call()


class Rational:
    """The exact rational score of a few samples."""

    params = (VARIANTS, ["KFold(5)", "StratifiedKFold(5)"])
    param_names = ("variant", "design")
    warmup_time = 0
    repeat = (2, 5, 2.0)
    timeout = 120

    def setup(self, variant, design):
        self.call = prepared(variant, design, 60, ties="index", exact=True)

    def time_score(self, variant, design):
        self.call()
