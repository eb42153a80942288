"""Standard errors from halves, the spread of one run, and the influence of every sample: seconds."""

from knnccv import KFold, Subsample, complete_cv

from .problems import gaussian


class StandardError:
    """Two hundred halvings of 2,000 samples, beside the score of all of them."""

    params = ("KFold(5)", "default")
    param_names = ("design",)
    timeout = 300

    def setup(self, design):
        self.X, self.y = gaussian(2000)
        self.cv = KFold(5) if design == "KFold(5)" else 5
        self.score().standard_error(n_halvings=2)

    def score(self):
        return complete_cv(self.X, self.y, "knn", self.cv, n_neighbors=5)

    def time_score(self, design):
        self.score()

    def time_standard_error(self, design):
        self.score().standard_error(n_halvings=200)


class Influence:
    """The score without each of 5,000 samples."""

    params = ("nn", "knn")
    param_names = ("variant",)
    timeout = 300

    def setup(self, variant):
        self.X, self.y = gaussian(5000)
        complete_cv(self.X[:200], self.y[:200], variant, Subsample(0.8)).influence()

    def time_influence(self, variant):
        complete_cv(self.X, self.y, variant, Subsample(0.8)).influence()
