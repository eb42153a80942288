"""Growth of times with the number of samples: the slope of log time over log N, 2 for quadratic."""

import numpy as np

from knnccv import KFold, Neighbors, complete_cv

from .problems import gaussian
from .rivals import FEW
from .timing import exponent, in_turn, skip_large


class Exponent:
    """Five sizes from 1000 samples to the parameter; float32, two classes."""

    params = ([10_000, 100_000], [3, 16])
    param_names = ("largest", "n_features")
    timeout = 1200
    unit = "exponent"

    def setup(self, largest, n_features):
        if largest > 10_000:
            skip_large()
        self.sizes = np.geomspace(1000, largest, 5).round().astype(int)
        X, self.y = gaussian(largest, n_features, 2)
        self.X = np.ascontiguousarray(X, dtype=np.float32)

    def fitted(self, call_for):
        call_for(min(FEW, max(self.sizes)))()
        return exponent(self.sizes, in_turn([call_for(size) for size in self.sizes]))

    def exact(self, X, size):
        return complete_cv(X, self.y[:size], "knn", KFold(5), n_neighbors=5)

    def track_complete_cv(self, largest, n_features):
        return self.fitted(lambda size: lambda: self.exact(self.X[:size], size))

    def track_kneighbors(self, largest, n_features):
        return self.fitted(lambda size: lambda: Neighbors.from_data(self.X[:size]).kneighbors(40))


class KernelExponent(Exponent):
    """Kernels only: the first call stores the neighbors."""

    params = ([10_000, 100_000], [3])
    track_complete_cv = track_kneighbors = None

    def track_kernels(self, largest, n_features):
        def call_for(size):
            near = Neighbors.from_data(self.X[:size])
            self.exact(near, size)
            return lambda: self.exact(near, size)

        return self.fitted(call_for)
