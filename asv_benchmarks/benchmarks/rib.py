"""Mixed tables: HVDM's neighbors and RIB, as ratios to scikit-learn's leave-one-out on the same distances.

Without missing values HVDM is the Euclidean distance of points, which scikit-learn supports.
"""

from functools import cache

import numpy as np

try:
    from knnccv.neighbors.hvdm import HVDM
    from knnccv.rib import RIBClassifier
except ImportError:
    HVDM = RIBClassifier = None

from .timing import in_turn

DEPTH = 30
N_CLASSES = 3
N_NUMERIC = 10
N_VALUES = (2, 2, 3, 3, 4, 5, 6, 8, 12, 20)
NOMINAL = range(N_NUMERIC, N_NUMERIC + len(N_VALUES))


@cache
def mixed(n_items):
    """Return ten numeric columns, ten nominal ones related to the classes, and int64 labels."""
    rng = np.random.default_rng(19990710)
    y = rng.integers(N_CLASSES, size=n_items)
    centers = rng.normal(size=(N_CLASSES, N_NUMERIC))
    columns = [centers[y] + 2 * rng.normal(size=(n_items, N_NUMERIC))]
    for n_values in N_VALUES:
        usual = rng.integers(n_values, size=N_CLASSES)[y]
        told = rng.random(n_items) < 0.3
        columns.append(np.where(told, usual, rng.integers(n_values, size=n_items))[:, None])
    return np.hstack(columns), y


def points(X, y):
    """Return the points whose Euclidean distances are those of HVDM."""
    hvdm = HVDM(nominal=NOMINAL).fit(X, y)
    coordinates = [X[:, :N_NUMERIC] / (4 * hvdm.deviations_)]
    for column, values, shares in zip(X.T[N_NUMERIC:], hvdm.categories_, hvdm.probabilities_, strict=True):
        coordinates.append(shares[[values.index(value) for value in column.tolist()]])
    return np.hstack(coordinates)


class Mixed:
    """Ratios on all processors: the median over pairs of successive runs, without the first pair."""

    params = ([1000],)
    param_names = ("n_items",)
    timeout = 600
    unit = "ratio"

    def setup(self, n_items, *others):
        if RIBClassifier is None:
            msg = "this version has no RIBClassifier, or scikit-learn is not installed"
            raise NotImplementedError(msg)
        self.X, self.y = mixed(n_items)
        self.points = points(self.X, self.y)

    def leave_one_out(self):
        from sklearn.neighbors import KNeighborsClassifier

        return KNeighborsClassifier(DEPTH).fit(self.points, self.y).score(None, self.y)

    def ratio(self, ours):
        calls = [ours, self.leave_one_out]
        in_turn(calls, 1)
        taken = in_turn(calls)
        return float(np.median(taken[:, 0] / taken[:, 1]))


class HVDMNeighbors(Mixed):
    """The fit of HVDM, and the neighbor lists of all samples."""

    params = ([2000, 20_000], ["exact", "fixed"])
    param_names = ("n_items", "leave_one_out")

    def track_neighbors_over_leave_one_out(self, n_items, leave_one_out):
        hvdm = HVDM(nominal=NOMINAL, leave_one_out=leave_one_out)
        return self.ratio(lambda: hvdm.fit(self.X, self.y).neighbors().kneighbors(DEPTH))


class Fit(Mixed):
    """Neighbors and the search: greedy, or the grid of 29 k, 3 kernels, D_k and D'_k, and 26 w_k."""

    params = ([1000], ["greedy", "grid"])
    param_names = ("n_items", "search")

    def track_fit_over_leave_one_out(self, n_items, search):
        rib = RIBClassifier(nominal=NOMINAL, search=search, n_w_k=26, random_state=0)
        return self.ratio(lambda: rib.fit(self.X, self.y))


class Predict(Mixed):
    """The prediction of new rows, the same number as the fitted ones."""

    def track_predict_over_leave_one_out(self, n_items):
        rib = RIBClassifier(nominal=NOMINAL, random_state=0).fit(self.X, self.y)
        rows = self.X + 0.01
        rows[:, NOMINAL] = self.X[:, NOMINAL]
        return self.ratio(lambda: rib.predict(rows))
