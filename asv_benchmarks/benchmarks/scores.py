"""The scores: a commit that changes one is visible in the history.

Defaults are tracked, since a changed default changes the users' results.
"""

from knnccv import complete_cv, datasets

from .problems import DESIGNS, VARIANTS, require

SOURCES = {
    "liver-disorders": lambda: datasets.fetch_liver_disorders(),
    "breast-cancer": lambda: datasets.fetch_breast_cancer(),
    "abalone, 3 classes": lambda: datasets.fetch_abalone(n_classes=3),
    "orl, 16 x 16": lambda: datasets.fetch_orl(size=(16, 16)),
    "wine": lambda: datasets.load_wine(),
    "diabetes": lambda: datasets.load_diabetes(),
}


class CompleteCV:
    params = (list(SOURCES), VARIANTS, ["Subsample(0.5)", "StratifiedKFold(5)"])
    param_names = ("data set", "variant", "design")
    timeout = 120

    def setup_cache(self):
        """Fetch every data set once; None in place of one that cannot be had."""
        found = {}
        for name, load in SOURCES.items():
            try:
                data = load()
            except OSError:
                found[name] = None
            else:
                found[name] = data.X, data.y
        return found

    setup_cache.timeout = 600

    def setup(self, data, name, variant, design):
        require(variant, design)
        if data[name] is None:
            msg = f"{name} could not be fetched"
            raise NotImplementedError(msg)
        if name == "diabetes" and variant != "regression":
            msg = "the targets of diabetes are no classes"
            raise NotImplementedError(msg)

    def track_score(self, data, name, variant, design):
        X, y = data[name]
        return float(complete_cv(X, y, variant, DESIGNS[design]).score)

    track_score.unit = "score"
