"""Every score is its mean over all galleries and all orders of tied items, in Fractions.

Problems go over protocols, galleries, masks, kinds of rank, rules of ties, conventions and averages.
"""

from fractions import Fraction

import naive_retrieval as naive
import numpy as np
from galleries import random_forms
from seeds import over_seeds

from knnccv.retrieval import (
    CameraPairs,
    Gallery,
    JunkIdentities,
    SameCamera,
    SameIdentityAndCamera,
    cuhk03,
    expected_retrieval,
    market1501,
)

PROTOCOLS = {
    "cuhk03": (cuhk03, "both", 1, False),
    "market1501": (market1501, "market1501", 0, False),
    "market1501 trapezoid": (lambda: market1501("trapezoid"), "market1501", 0, False),
    "sysu": (lambda: Gallery.sysu(shots=2), "sysu", 2, True),
}
KINDS = ["all", "own", "shared", "cells", *PROTOCOLS]
MASKS = ["none", "self", "same", "both", "pairs", "junk", "list", "function"]


class Problem:
    """3 to 8 gallery items of up to four identities and three queries, and what is asked of them."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.kind, self.seed = KINDS[seed % len(KINDS)], seed
        n, n_ids = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        self.ids, self.queries = rng.integers(0, n_ids, n), rng.integers(0, n_ids, 3)
        self.cams, self.query_cams = rng.integers(0, 2, n), rng.integers(0, 2, 3)
        self.queries[0] = self.ids[0] = rng.integers(0, 2)  # of query 0, item 0 is always left
        self.query_cams[0], self.cams[0] = 1, 0
        levels = int(rng.choice([2, 4, 1000]))
        self.distances = rng.integers(0, levels, (3, n)) / 4
        self.ties, self.average = rng.choice(["index", "random"]), rng.choice(["pooled", "identity"])
        self.rank, self.ap = rng.choice(["image", "identity"]), rng.choice(["rectangle", "trapezoid"])
        self.mask_name, self.whole = str(rng.choice(MASKS)), ()
        if self.mask_name == "self" and self.kind not in PROTOCOLS:
            self.ids[1] = self.ids[0]
            self.queries, self.query_cams = self.ids, self.cams
            self.distances = rng.integers(0, levels, (n, n)) / 4
        self.sure = (rng.random(n) < 0.3) & bool(rng.integers(2))
        self.shots = int(rng.integers(1, 4))
        if self.kind in PROTOCOLS:
            self.use_protocol(rng)
        else:
            self.use_gallery(rng)

    def use_protocol(self, rng):
        protocol, self.mask_name, self.shots, self.fine = PROTOCOLS[self.kind]
        if self.kind == "sysu":
            self.cams, self.query_cams = rng.choice([1, 2, 4, 5], len(self.ids)), rng.choice([3, 6], 3)
            self.query_cams[0] = 6
        self.ids[1:][(rng.random(len(self.ids) - 1) < 0.2) & ("market" in self.kind)] = -1
        self.arguments = protocol(), self.query_cams, self.cams
        self.rank = "identity" if self.kind == "sysu" else "image"
        self.ap = "trapezoid" if "trapezoid" in self.kind else "rectangle"
        self.whole = ("ap",) if self.kind == "cuhk03" else ()
        self.options = {"exclude": None}
        self.masked = self.masks(rng)[self.mask_name][1]

    def use_gallery(self, rng):
        mask, self.masked = self.masks(rng)[self.mask_name]
        self.fine = self.kind == "cells"
        more = {"short": "all"}
        if self.kind == "all":
            self.shots = 0
            more["which"] = "all"
        elif self.kind == "own":
            more["per_identity"] = self.shots
        else:
            strata = (self.ids, self.cams) if self.fine else None
            more |= {"shots": self.shots, "strata": strata, "mask": "before"}
        self.arguments = (Gallery(more.pop("which", None), **more),)
        self.options = {"exclude": mask, "rank": self.rank, "ap": self.ap}

    def masks(self, rng):
        """Every mask, and which items it removes for each query."""
        query_cams, cams = self.query_cams, self.cams
        same, right = query_cams[:, None] == cams, self.queries[:, None] == self.ids
        junk, some = np.tile(self.ids == 2, (len(same), 1)), rng.random(same.shape) < 0.3
        some[0, 0] = False
        return {
            "none": (None, np.zeros_like(same)),
            "self": ("self", np.arange(len(same))[:, None] == np.arange(len(self.ids))),
            "same": (SameCamera(query_cams, cams), same),
            "both": (SameIdentityAndCamera(query_cams, cams), same & right),
            "pairs": (CameraPairs({0: 1}, query_cams, cams), (query_cams[:, None] == 0) & (cams == 1)),
            "junk": (JunkIdentities(2), junk),
            "list": ([SameCamera(query_cams, cams), JunkIdentities(2, 5)], same | junk),
            "function": (lambda queries: some[queries], some),
            "market1501": (None, same & right | (self.ids == -1)),
            "sysu": (None, (query_cams[:, None] == 3) & (cams == 2)),
        }

    def law(self, q, whole):
        """The rankings of a query, with their chances."""
        query, sure = int(self.queries[q]), set(np.flatnonzero(self.sure).tolist())
        strata = list(
            zip(self.ids.tolist(), self.cams.tolist() if self.fine else self.ids.tolist(), strict=True)
        )
        return naive.law(
            query, self.distances[q], self.ids.tolist(), strata, 0 if whole else self.shots,
            np.flatnonzero(~self.masked[q]).tolist(), always=sure, ties=self.ties,
        )  # fmt: skip

    def n_tied(self):
        """The number of queries with a right and a wrong item that are left and equally near."""
        right = self.queries[:, None] == self.ids
        found = 0
        for row, own, out in zip(self.distances, right, self.masked, strict=True):
            found += bool(np.isin(row[own & ~out], row[~own & ~out]).any())
        return found

    def mean(self, values):
        """The mean over the queries with a right item, or over their identities."""
        of = {}
        for q, value in enumerate(values):
            if value is not None:
                of.setdefault(self.queries[q] if self.average == "identity" else 0, []).append(value)
        means = [sum(some) / Fraction(len(some)) for some in of.values()]
        return np.asarray(sum(means) / Fraction(len(means)), object)


def compare(problem, forms):
    """Compare all scores with the enumeration: those of the queries, means, and the bounds."""
    scores = naive.scores_of(problem.rank, problem.ap)
    scores |= {form.name: naive.of_form(form, problem.rank == "identity") for form in forms}
    names = [name for name in scores if name not in {form.name for form in forms}]
    r = expected_retrieval(
        problem.distances, problem.queries, problem.ids, *problem.arguments, scores=(*names, *forms),
        max_rank=4, ties=problem.ties, average=problem.average, always=problem.sure, n_jobs=1,
        **problem.options,
    )  # fmt: skip
    laws = {
        whole: [problem.law(q, whole) for q in range(len(problem.queries))]
        for whole in (False, bool(problem.whole))
    }
    for name, score in scores.items():
        note = f"seed {problem.seed}, {problem.kind}, {problem.mask_name}: {name}"
        values = [
            naive.expected(score, *one)
            for one in zip(problem.queries, laws[name in problem.whole], strict=True)
        ]
        for q, value in enumerate(values):
            found = r[name].per_item[q]
            assert r.valid[q] == (value is not None), note
            if value is None:
                assert np.isnan(found).all(), note
                assert r[name].weights[q] == 0, note
            else:
                size = max(1.0, np.abs(np.asarray(value, float)).max())
                assert np.abs(found - np.asarray(value, float)).max() < 1e-13 * size, note
        mean = problem.mean(values)
        assert np.abs(r[name].score - mean.astype(float)).max() <= r[name].error_bound < 1e-10, note
    assert r.n_left_out == len(r.valid) - r.valid.sum()
    assert r.n_tied == problem.n_tied(), f"seed {problem.seed}"


@over_seeds(6 * len(KINDS))
def test_every_score_is_its_mean_over_all_galleries_and_orders(seeds):
    for seed in seeds:
        compare(Problem(seed), tuple(random_forms(np.random.default_rng(seed))) if seed % 3 else ())
