"""A whole report of 20,000 items with 20 columns, and its sections on classes, items and ties."""

import numpy as np

try:
    from knnccv import report
except ImportError:
    report = None


class Report:
    params = (["two classes", "three classes", "targets"],)
    param_names = ("task",)
    timeout = 600

    def setup(self, task):
        if report is None:
            msg = "this version has no report"
            raise NotImplementedError(msg)
        rng = np.random.default_rng(0)
        n_classes = {"two classes": 2, "three classes": 3, "targets": 1}[task]
        classes = rng.integers(0, n_classes, 20_000)
        self.X = rng.normal(size=(n_classes, 20))[classes] + 1.5 * rng.normal(size=(20_000, 20))
        self.y = classes
        if task == "targets":
            self.y = self.X[:, 0] + self.X[:, 1] ** 2 + rng.normal(size=20_000)
        report(self.X[:500], self.y[:500])

    def time_report(self, task):
        report(self.X, self.y)

    def peakmem_report(self, task):
        report(self.X, self.y)
