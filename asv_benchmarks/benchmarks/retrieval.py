"""Expected retrieval scores, sorting the distances for comparison, and the memory of a large gallery."""

import numpy as np

from knnccv import Neighbors

try:
    from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval
except ImportError:
    expected_retrieval = None

SCORES = ("cmc", "ap", "rr", "inp")


def problem(n_queries, n_gallery, n_ids, n_cams):
    """Distances, identities and cameras of a test set for re-identification."""
    if expected_retrieval is None:
        msg = "this version has no retrieval"
        raise NotImplementedError(msg)
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


class Sysu:
    """The size of SYSU-MM01: 3,327 probes, 5,321 images of 305 cells, identity ranks."""

    params = (1, 10)
    param_names = ("shots",)
    warmup_time = 0
    timeout = 120

    def setup(self, shots):
        rng = np.random.default_rng(0)
        cells = [(i, c) for i in range(96) for c in (1, 2, 4, 5)]
        cells = np.array(cells)[np.sort(rng.permutation(len(cells))[:305])]
        sizes = 1 + rng.multinomial(5321 - 305, np.full(305, 1 / 305))
        self.ids, self.cams = np.repeat(cells, sizes, axis=0)[rng.permutation(5321)].T
        self.query_ids, self.query_cams = rng.integers(0, 96, 3327), rng.choice([3, 6], 3327)
        centers = rng.normal(size=(96, 32))
        queries = centers[self.query_ids] + 1.2 * rng.normal(size=(3327, 32))
        gallery = centers[self.ids] + 1.2 * rng.normal(size=(5321, 32))
        self.distances = Neighbors.between(queries, gallery).block(0, 3327)
        self.rng = rng
        self.time_scores(shots)  # compiles

    def time_scores(self, shots):
        expected_retrieval(
            self.distances,
            self.query_ids,
            self.ids,
            Gallery.sysu(shots=shots),
            self.query_cams,
            self.cams,
            scores=SCORES,
            max_rank=20,
            n_jobs=1,
        )

    def time_one_trial_in_numpy(self, shots):
        """Draw, take the drawn columns, sort them, and score every query."""
        cells = np.unique(np.stack([self.ids, self.cams], axis=1), axis=0)
        drawn = np.concatenate(
            [
                self.rng.permutation(np.flatnonzero((self.ids == i) & (self.cams == c)))[:shots]
                for i, c in cells
            ]
        )
        ids, cams = self.ids[drawn], self.cams[drawn]
        order = np.argsort(self.distances[:, drawn], axis=1)
        curves, precisions, inverses, reciprocals = [], [], [], []
        for q, items in enumerate(order):
            kept = items[(self.query_cams[q] != 3) | (cams[items] != 2)]
            names = ids[kept]
            hits = names == self.query_ids[q]
            if not hits.any():
                continue
            first = np.sort(np.unique(names, return_index=True)[1])
            once = names[first] == self.query_ids[q]
            curves.append((np.cumsum(once) > 0)[:20])
            reciprocals.append(1 / (1 + np.argmax(once)))
            found = np.cumsum(hits)
            precisions.append((found / np.arange(1, len(hits) + 1))[hits].mean())
            inverses.append(hits.sum() / (np.flatnonzero(hits)[-1] + 1))
        return np.mean(curves, axis=0), *map(np.mean, (precisions, inverses, reciprocals))


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
