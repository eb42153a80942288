"""A whole report of a table with 20 columns."""

try:
    from knnccv import report
except ImportError:
    report = None

from .problems import gaussian

N_CLASSES = {"two classes": 2, "three classes": 3, "targets": 3}


class Report:
    params = ([1000, 20_000], list(N_CLASSES))
    param_names = ("n_items", "task")
    timeout = 600

    def setup(self, n_items, task):
        if report is None:
            msg = "this version has no report"
            raise NotImplementedError(msg)
        self.X, self.y = gaussian(n_items, 20, N_CLASSES[task])
        if task == "targets":
            self.y = self.X[:, 0] + self.X[:, 1] ** 2
        report(self.X[:500], self.y[:500])

    def time_report(self, n_items, task):
        report(self.X, self.y)

    def peakmem_report(self, n_items, task):
        report(self.X, self.y)
