"""Bad arguments: an error that says what was wrong and what is allowed."""

import numpy as np
import pytest

from knnccv import Neighbors
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

RNG = np.random.default_rng(0)
D = RNG.random((4, 12))
IDS = np.repeat([1, 2, 3], 4)
QUERIES = np.array([1, 2, 3, 1])
CAMS = np.tile([1, 2], 6)
QUERY_CAMS = np.array([1, 2, 1, 2])


def call(near=D, queries=QUERIES, ids=IDS, gallery=None, *cams, **options):
    return expected_retrieval(near, queries, ids, gallery, *cams, **options)


def with_nan():
    bad = D.copy()
    bad[2, 5] = np.nan
    return bad


def similarities():
    rng = np.random.default_rng(1)
    queries, ids = rng.integers(0, 5, 40), rng.integers(0, 5, 60)
    return call((queries[:, None] == ids) + 0.1 * rng.random((40, 60)), queries, ids)


CASES = {
    "query ids of another length": (lambda: call(queries=[1, 2, 3]), ValueError, r"shape \(4,\), one"),
    "gallery ids of another length": (lambda: call(ids=IDS[:-1]), ValueError, r"shape \(12,\), one"),
    "ids exchanged": (lambda: call(queries=IDS, ids=QUERIES), ValueError, "query_ids must have shape"),
    "graded relevance": (lambda: call(ids=np.ones((12, 2), int)), ValueError, "graded relevance"),
    "ids with fractions": (lambda: call(ids=IDS + 0.5), TypeError, "integers or text"),
    "missing ids": (lambda: call(queries=[1, 2, None, 1]), TypeError, "integers or text"),
    "text and numbers": (lambda: call(queries=["1", "2", "3", "1"]), TypeError, "both text"),
    "NaN": (lambda: call(with_nan()), ValueError, r"distances\[2, 5\] is nan"),
    "infinite": (lambda: call(np.where(D > 0.9, np.inf, D)), ValueError, "is inf; every value"),
    "text distances": (lambda: call(D.astype(str)), TypeError, "distances must be real numbers"),
    "a vector": (lambda: call(D[0]), ValueError, "must have shape"),
    "no queries": (lambda: call(D[:0], [], IDS), ValueError, "must have shape"),
    "similarities": (similarities, ValueError, "similarities; pass distances"),
    "neighbors of one set": (lambda: call(Neighbors.from_data(D)), TypeError, "Neighbors.between"),
    "a function of distances": (lambda: call(np.argsort), TypeError, "re-ranking"),
    "no right item": (lambda: call(queries=[7, 8, 9, 7]), ValueError, "no query has a right item"),
    "a mask that removes all": (
        lambda: call(exclude=lambda queries: np.ones((len(queries), 12), bool)), ValueError, "no query"
    ),
    "a mask of numbers": (
        lambda: call(exclude=lambda queries: np.ones((len(queries), 12))), ValueError, "bool array of shape"
    ),
    "a mask of another shape": (
        lambda: call(exclude=lambda _: np.ones(12, bool)), ValueError, "bool array of shape"
    ),
    "no mask": (lambda: call(exclude=3), TypeError, "exclude must be"),
    "pairs without cameras": (lambda: call(exclude={3: (2,)}), TypeError, "CameraPairs"),
    "pairs that are none": (lambda: CameraPairs((3, 2), QUERY_CAMS, CAMS), TypeError, "must map"),
    "no junk": (JunkIdentities, ValueError, "at least one identity"),
    "cameras of another length": (
        lambda: call(exclude=SameCamera(QUERY_CAMS, CAMS[:-1])), ValueError, "gallery_cams must have shape"
    ),
    "cameras exchanged": (
        lambda: call(exclude=SameIdentityAndCamera(CAMS, QUERY_CAMS)), ValueError, "query_cams must have"
    ),
    "cameras of two kinds": (
        lambda: call(exclude=SameCamera(QUERY_CAMS.astype(str), CAMS)), TypeError, "both text"
    ),
    "self of different items": (lambda: call(exclude="self"), ValueError, "the same items"),
    "a stratum cut": (
        lambda: call(gallery=Gallery(shots=1), exclude=SameIdentityAndCamera(QUERY_CAMS, CAMS)),
        ValueError, 'mask="before"',
    ),
    "a stratum smaller than the shots": (
        lambda: call(gallery=Gallery(shots=5)), ValueError, "has 4 items, but 5 are drawn"
    ),
    "smaller after the mask": (
        lambda: call(gallery=Gallery(per_identity=3), exclude=SameIdentityAndCamera(QUERY_CAMS, CAMS)),
        ValueError, "after the mask",
    ),
    "strata of several identities": (
        lambda: call(gallery=Gallery(shots=1, strata=CAMS)), ValueError, "within one identity"
    ),
    "strata of another length": (
        lambda: call(gallery=Gallery(shots=1, strata=(IDS, CAMS[1:]))), ValueError, "strata must have shape"
    ),
    "strata without shots": (lambda: Gallery("all", strata=IDS), ValueError, "strata needs shots"),
    "no shots": (lambda: Gallery(shots=0), ValueError, "shots must be at least 1"),
    "half a shot": (lambda: Gallery(per_identity=0.5), TypeError, "per_identity must be an integer"),
    "two draws": (lambda: Gallery("all", shots=1), ValueError, "exactly one"),
    "no draw": (Gallery, ValueError, "exactly one"),
    "an unknown gallery": (lambda: Gallery("some"), ValueError, "'all'"),
    "splits that retrain": (lambda: Gallery("RegDB"), ValueError, "trained again for every split"),
    "no identities": (lambda: Gallery(n_identities=0), ValueError, "n_identities must be at least 1"),
    "a mask after": (lambda: Gallery(shots=1, mask="after"), ValueError, "mask must be one of"),
    "short strata": (lambda: Gallery(shots=1, short="drop"), ValueError, "short must be one of"),
    "no gallery": (lambda: call(gallery="all"), TypeError, "gallery must be a Gallery or a Protocol"),
    "an unknown score": (lambda: call(scores=("mAP",)), ValueError, "scores must be of"),
    "no scores": (lambda: call(scores=()), TypeError, "scores must be names"),
    "a score twice": (lambda: call(scores=("ap", "ap")), ValueError, "must be different"),
    "rank 0": (lambda: call(scores=("precision@0",)), ValueError, "scores must be of"),
    "AP at k": (lambda: call(scores=("ap@10",)), ValueError, "hits in the top k"),
    "F1": (lambda: call(scores=("f1@5",)), ValueError, "ratio of two random numbers"),
    "interpolated AP": (lambda: call(scores=("11-point ap",)), ValueError, "maximum over the later ranks"),
    "re-ranking": (lambda: call(scores=("ap re-ranked",)), ValueError, "change the distances"),
    "NDCG without a depth": (lambda: call(scores=("ndcg",)), ValueError, "needs a depth"),
    "persistence": (lambda: call(scores=("rbp@1.5",)), ValueError, "between 0 and 1"),
    "ranks of nothing": (lambda: call(rank="camera"), ValueError, "rank must be one of"),
    "another AP": (lambda: call(ap="sklearn"), ValueError, "ap must be one of"),
    "a CMC of no ranks": (lambda: call(max_rank=0), ValueError, "max_rank must be at least 1"),
    "ties": (lambda: call(ties="fair"), ValueError, "ties must be one of"),
    "tolerance": (lambda: call(tol=2), ValueError, "tol must be in"),
    "average": (lambda: call(average="camera"), ValueError, "average must be one of"),
    "threads": (lambda: call(n_jobs=0), ValueError, "n_jobs"),
    "always of another length": (lambda: call(always=[True, False]), ValueError, "always must have shape"),
    "always an unknown identity": (lambda: call(always=[9]), ValueError, "identities of the gallery"),
    "cameras without a protocol": (
        lambda: call(D, QUERIES, IDS, None, QUERY_CAMS, CAMS), ValueError, "go with a protocol"
    ),
    "a protocol without cameras": (lambda: call(gallery=market1501()), ValueError, "needs query_cams"),
    "another AP than the protocol's": (
        lambda: call(D, QUERIES, IDS, cuhk03(), QUERY_CAMS, CAMS, ap="trapezoid"),
        ValueError, "ap is 'rectangle' in this protocol",
    ),
    "infrared cameras in the gallery": (
        lambda: call(D, QUERIES, IDS, Gallery.sysu(), QUERY_CAMS, CAMS + 2), ValueError, "leave them out"
    ),
    "an unknown search": (lambda: Gallery.sysu("outdoor"), ValueError, "search must be one of"),
    "features of other sizes": (
        lambda: Neighbors.between(D, D[:, 1:]), ValueError, "same number of features"
    ),
    "features with NaN": (lambda: Neighbors.between(with_nan(), D), ValueError, r"queries\[2, 5\] is nan"),
    "an unknown metric": (lambda: Neighbors.between(D, D, metric="cosin"), ValueError, "did you mean"),
    "self out of range": (
        lambda: Neighbors.from_distances(D, queries=[0, 1, 2, 12]), ValueError, "from 0 to 11, or -1"
    ),
    "self in words": (lambda: Neighbors.from_distances(D, queries="self"), ValueError, "queries must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_clear(name):
    function, kind, words = CASES[name]
    with pytest.raises(kind, match=words):
        function()
