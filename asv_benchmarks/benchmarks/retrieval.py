"""Expected retrieval scores, sorting the distances for comparison, and the memory of a large gallery."""

import numpy as np

from knnccv import Neighbors
from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval

SCORES = ("cmc", "ap", "rr", "inp")


def problem(n_queries, n_gallery, n_ids, n_cams):
    """Distances, identities and cameras of a test set for re-identification."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(n_ids, 32))
    query_ids, ids = rng.integers(0, n_ids, n_queries), rng.integers(0, n_ids, n_gallery)
    cams = rng.integers(0, n_cams, n_queries), rng.integers(0, n_cams, n_gallery)
    queries = centers[query_ids] + rng.normal(size=(n_queries, 32))
    gallery = centers[ids] + rng.normal(size=(n_gallery, 32))
    return Neighbors.between(queries, gallery).block(0, n_queries), query_ids, ids, *cams


class Retrieval:
    params = ("all", "1 per identity", "4 per identity", "1 per cell")
    param_names = ("gallery",)
    warmup_time = 0
    timeout = 120

    def setup(self, gallery):
        self.distances, self.query_ids, self.ids, query_cams, cams = problem(1000, 5000, 250, 4)
        self.mask = SameIdentityAndCamera(query_cams, cams)
        self.gallery = {
            "all": Gallery("all"),
            "1 per identity": Gallery(per_identity=1),
            "4 per identity": Gallery(per_identity=4, short="all"),
            "1 per cell": Gallery(shots=1, strata=(self.ids, cams), mask="before"),
        }[gallery]
        self.time_scores(gallery)  # compiles

    def time_scores(self, gallery):
        expected_retrieval(
            self.distances,
            self.query_ids,
            self.ids,
            self.gallery,
            exclude=self.mask,
            scores=SCORES,
            n_jobs=1,
        )

    def time_argsort(self, gallery):
        np.argsort(self.distances, axis=1)


class LargeGallery:
    """A thousand queries and 10^5 items with 128 features."""

    timeout = 300

    def setup(self):
        rng = np.random.default_rng(0)
        self.queries, self.gallery = rng.normal(size=(1000, 128)), rng.normal(size=(100_000, 128))
        self.query_ids, self.ids = rng.integers(0, 2000, 1000), rng.integers(0, 2000, 100_000)

    def peakmem_between(self):
        near = Neighbors.between(self.queries, self.gallery)
        expected_retrieval(near, self.query_ids, self.ids, Gallery(per_identity=1), n_jobs=2)
