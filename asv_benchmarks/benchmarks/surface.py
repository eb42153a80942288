"""All K and training sizes at once: seconds, and the ratio to scikit-learn's grid search at one size."""

import numpy as np

try:
    from knnccv import surface
except ImportError:
    surface = None

from .problems import gaussian
from .timing import ratio

COUNTS = range(1, 31)
SIZES = np.linspace(0.05, 0.95, 50)


class Surface:
    params = ([1000, 4000], [2, 3, 8])
    param_names = ("n_items", "n_classes")
    timeout = 300

    def setup(self, n_items, n_classes):
        if surface is None:
            msg = "this version has no surface"
            raise NotImplementedError(msg)
        self.X, self.y = gaussian(n_items, n_classes=n_classes)
        self.all_cells(1)

    def all_cells(self, n_jobs=None):
        return surface(self.X, self.y, n_neighbors=COUNTS, train_sizes=SIZES, n_jobs=n_jobs)

    def time_all_cells(self, n_items, n_classes):
        self.all_cells()

    def peakmem_all_cells(self, n_items, n_classes):
        self.all_cells()


class GridSearch(Surface):
    """Thirty K by fifty sizes, against thirty K at one size; both on one thread."""

    params = ([1000, 4000], [3])
    unit = "ratio"
    time_all_cells = peakmem_all_cells = None

    def setup(self, n_items, n_classes):
        super().setup(n_items, n_classes)
        try:
            import sklearn  # noqa: F401
        except ImportError as error:
            msg = "scikit-learn is not installed"
            raise NotImplementedError(msg) from error

    def track_surface_over_grid_search(self, n_items, n_classes):
        from sklearn.model_selection import GridSearchCV
        from sklearn.neighbors import KNeighborsClassifier

        search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": COUNTS}, cv=5)
        return ratio(lambda: self.all_cells(1), lambda: search.fit(self.X, self.y))
