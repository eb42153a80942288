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


class HalvesByRuns:
    """The interval of macro F1 of 2,000 samples, from halves that are scored by random runs."""

    params = ("votes", "scaler")
    param_names = ("rule",)
    timeout = 300

    def setup(self, rule):
        from sklearn.model_selection import StratifiedKFold
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        from knnccv.sklearn import expected_score

        X, y = gaussian(2000)
        model = KNeighborsClassifier(5)
        model = make_pipeline(StandardScaler(), model) if rule == "scaler" else model
        cv = StratifiedKFold(5, shuffle=True)
        self.score = expected_score(model, X, y, cv=cv, scoring="f1_macro")
        self.score.standard_error(n_halvings=2)

    def time_standard_error(self, rule):
        self.score.standard_error(random_state=None)  # which is not kept


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
