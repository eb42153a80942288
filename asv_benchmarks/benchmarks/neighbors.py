"""Finding the neighbor order of every sample."""

from knnccv import Neighbors

from .problems import gaussian


class FromData:
    params = ([500, 2000, 5000], [2, 64], ["euclidean", "manhattan", "cosine"])
    param_names = ("n_items", "n_features", "metric")
    warmup_time = 0
    repeat = (2, 5, 2.0)
    timeout = 120

    def setup(self, n_items, n_features, metric):
        self.X, _ = gaussian(n_items, n_features)
        Neighbors.from_data(self.X[:20], metric).kneighbors(5)

    def time_kneighbors(self, n_items, n_features, metric):
        # A new object every time, since it stores its lists.
        Neighbors.from_data(self.X, metric).kneighbors(30)
