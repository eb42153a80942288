"""The exact answer beside random splits: ratios of times that are taken in turn, in one process."""

from statistics import median
from time import perf_counter

from threadpoolctl import threadpool_limits

from knnccv import StratifiedKFold, complete_cv, monte_carlo_cv

from .problems import gaussian

N_PAIRS = 5


def seconds(call):
    start = perf_counter()
    call()
    return perf_counter() - start


def ratio(ours, theirs):
    """Median ratio of two neighbouring runs, each on one thread; a first pair is not counted."""
    with threadpool_limits(1):
        ours()
        theirs()
        return median(seconds(ours) / seconds(theirs) for _ in range(N_PAIRS))


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
    """One shuffled 5-fold run, as people run it today."""

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
    """Fifty 5-fold runs over neighbours that are found once."""

    def sampled(self):
        monte_carlo_cv(
            self.X,
            self.y,
            "knn",
            StratifiedKFold(5),
            n_neighbors=5,
            n_repeats=50,
            random_state=0,
            n_jobs=1,
        )

    def track_exact_over_monte_carlo(self, n_items, n_features):
        return ratio(self.exact, self.sampled)
