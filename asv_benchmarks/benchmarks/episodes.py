"""Few-shot episodes: exact seconds, relative to the matrix products, and seconds of sampled episodes."""

import numpy as np

try:
    from knnccv.episodes import Episodes, expected_episodes, sampled_episodes
except ImportError:
    Episodes = None

from .timing import ratio


def embedding(n_items, n_features, n_classes=20):
    rng = np.random.default_rng(0)
    y = np.arange(n_items) % n_classes
    X = rng.normal(size=(n_classes, n_features))[y] + 2 * rng.normal(size=(n_items, n_features))
    return X, y


class Exact:
    params = ([3000, 12_000], [64, 640], [1, 5])
    param_names = ("n_items", "n_features", "n_shot")
    timeout = 300

    def setup(self, n_items, n_features, n_shot):
        if Episodes is None:
            msg = "this version has no episodes"
            raise NotImplementedError(msg)
        self.X, self.y = embedding(n_items, n_features)
        self.episodes = Episodes(5, n_shot)
        expected_episodes(self.X[:1200], self.y[:1200], self.episodes, n_jobs=1)

    def all_ways(self, n_jobs=None):
        return expected_episodes(self.X, self.y, self.episodes, n_jobs=n_jobs)

    def time_all_ways(self, n_items, n_features, n_shot):
        self.all_ways()

    def peakmem_all_ways(self, n_items, n_features, n_shot):
        self.all_ways()


class Products(Exact):
    """All ways, against the matrix products of all pairs in double precision; both on one thread."""

    params = ([12_000], [64, 640], [1])
    unit = "ratio"
    time_all_ways = peakmem_all_ways = None

    def products(self):
        from threadpoolctl import threadpool_limits

        out = np.empty((200, len(self.X)))
        with threadpool_limits(1):
            for start in range(0, len(self.X), 200):
                np.matmul(self.X[start : start + 200], self.X.T, out=out[: len(self.X) - start])

    def track_products(self, n_items, n_features, n_shot):
        return ratio(lambda: self.all_ways(1), self.products)


class Sampled(Exact):
    params = ([12_000], [640], [1, 5])
    time_all_ways = peakmem_all_ways = None

    def setup(self, n_items, n_features, n_shot):
        super().setup(n_items, n_features, n_shot)
        self.sample("prototype", 2)

    def sample(self, head, n_episodes=600):
        return sampled_episodes(
            self.X, self.y, self.episodes, n_episodes=n_episodes, head=head, random_state=0
        )

    def time_nearest(self, n_items, n_features, n_shot):
        self.sample("nearest")

    def time_prototype(self, n_items, n_features, n_shot):
        self.sample("prototype")
