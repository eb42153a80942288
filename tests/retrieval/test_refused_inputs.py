"""Bad arguments: an error that says what was wrong and what is allowed."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

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
HASHES = np.where(IDS == 1, np.uint64(2**64 - 1), IDS.astype(np.uint64))


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
    "no shots": (lambda: Gallery(shots=0), ValueError, "shots must be between 1 and"),
    "negative shots": (lambda: Gallery(shots=-1), ValueError, "shots must be between 1 and"),
    "shots as bool": (lambda: Gallery(shots=True), TypeError, "shots must be an integer, got True"),
    "shots as float": (lambda: Gallery(shots=2.0), TypeError, r"shots must be an integer, got 2\.0"),
    "too many shots": (lambda: Gallery(shots=10**30), ValueError, "shots must be between 1 and"),
    "half a shot": (lambda: Gallery(per_identity=0.5), TypeError, "per_identity must be an integer"),
    "two draws": (lambda: Gallery("all", shots=1), ValueError, "exactly one"),
    "no draw": (Gallery, ValueError, "exactly one"),
    "an unknown gallery": (lambda: Gallery("some"), ValueError, "'all'"),
    "splits that retrain": (lambda: Gallery("RegDB"), ValueError, "trained again for every split"),
    "random identities": (lambda: Gallery(n_identities=5), NotImplementedError, "not available yet"),
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
    "a CMC of no ranks": (lambda: call(max_rank=0), ValueError, "max_rank must be between 1 and"),
    "a CMC of endless ranks": (lambda: call(max_rank=10**12), ValueError, "max_rank must be between 1 and"),
    "a depth without end": (lambda: call(scores=("ndcg@" + "9" * 12,)), ValueError, "depth of 'ndcg@9999"),
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
    "cameras as text": (
        lambda: call(D, QUERIES, IDS, Gallery.sysu(), QUERY_CAMS, CAMS.astype(str)),
        ValueError, "got items of '1'",
    ),
    "NaN ids": (lambda: call(queries=[1, 2, np.nan, 1]), TypeError, "integers or text, none missing"),
    "NaN among text": (
        lambda: call(queries=["1", "2", np.nan, "1"], ids=IDS.astype(str)), TypeError, "missing, got nan"
    ),
    "a number among text": (
        lambda: call(queries=["1", "2", 3, "1"], ids=IDS.astype(str)), TypeError, "all of one kind"
    ),
    "infinite ids": (lambda: call(queries=[1, 2, np.inf, 1]), TypeError, "integers or text"),
    "masked ids": (
        lambda: call(queries=np.ma.masked_equal(QUERIES, 2)), TypeError, "none missing, got masked entries"
    ),
    "missing in a Series": (
        lambda: call(queries=pd.Series([1, 2, None, 1], dtype="Int64")), TypeError, "none missing"
    ),
    "missing text in a Series": (
        lambda: call(queries=pd.Series(["1", None, "2", "3"], dtype="string"), ids=IDS.astype(str)),
        TypeError, "none missing",
    ),
    "floats beyond 2**53": (lambda: call(queries=QUERIES + 2.0**60), ValueError, r"2\*\*53 are not exact"),
    "single floats": (
        lambda: call(queries=QUERIES.astype("f4") + 2.0**25), ValueError, r"2\*\*24 are not exact"
    ),
    "huge floats": (lambda: call(queries=[1, 2, 1e300, 1]), ValueError, "not exact, got 1e"),
    "ids of more than 64 bits": (
        lambda: call(queries=[10**30, 2, 3, 1]), ValueError, "within 64 bits, got 1000000"
    ),
    "unsigned and signed ids": (
        lambda: call(queries=[-1, 2, 3, 1], ids=HASHES),
        TypeError, "integers of less than 64 bits",
    ),
    "bytes and text": (
        lambda: call(queries=QUERIES.astype("S"), ids=IDS.astype("U")), TypeError, r"\(str\) or both bytes"
    ),
    "bool and integers": (lambda: call(queries=QUERIES == 1), TypeError, "both bool or both integers"),
    "dates as ids": (lambda: call(queries=QUERIES.astype("datetime64[D]")), TypeError, "dtype datetime64"),
    "complex ids": (lambda: call(queries=QUERIES + 0j), TypeError, "got dtype complex128"),
    "tuples as ids": (lambda: call(queries=[(1, 2)] * 4), ValueError, "must have shape"),
    "a column of ids": (lambda: call(queries=QUERIES[:, None]), ValueError, "one for each query, got"),
    "one id": (lambda: call(queries=1), ValueError, r"one for each query, got \(\)"),
    "a set of ids": (lambda: call(queries={1, 2, 3, 4}), ValueError, "must have shape"),
    "no gallery items": (lambda: call(D[:, :0], QUERIES, []), ValueError, "must have shape"),
    "missing distances": (lambda: call(np.where(D > 0.9, None, D)), TypeError, "got None at distances"),
    "masked distances": (lambda: call(np.ma.masked_greater(D, 0.9)), ValueError, "masked entries"),
    "complex distances": (lambda: call(D + 0j), TypeError, "distances must be real numbers"),
    "durations": (lambda: call((9 * D).astype("timedelta64[s]")), TypeError, "must be real numbers"),
    "inexact integers": (lambda: call((D * 2**60).astype(np.int64)), ValueError, r"beyond 2\*\*53"),
    "sparse distances": (lambda: call(csr_array(D)), TypeError, "dense array"),
    "a tolerance below 0": (lambda: call(tol=-1e-3), ValueError, "tol must be in"),
    "a tolerance of NaN": (lambda: call(tol=np.nan), ValueError, "tol must be in"),
    "a tolerance in text": (lambda: call(tol="1e-9"), TypeError, "tol must be a real number"),
    "scores in a set": (lambda: call(scores={"ap"}), TypeError, "scores must be names"),
    "always in a set": (lambda: call(always={1}), TypeError, "always must be a bool array"),
    "always as 0 and 1": (
        lambda: call(ids=IDS - 1, queries=QUERIES - 1, always=np.tile([0, 1], 6)), ValueError, "got 0 twice"
    ),
    "always of two dimensions": (
        lambda: call(always=np.ones((12, 1), bool)), ValueError, "always must have shape"
    ),
    "strata in a list": (
        lambda: call(gallery=Gallery(shots=1, strata=[IDS, CAMS])), ValueError, "go in a tuple"
    ),
    "strata of nothing": (
        lambda: call(gallery=Gallery(shots=1, strata=())), ValueError, "at least one array"
    ),
    "strata with NaN": (
        lambda: call(gallery=Gallery(shots=1, strata=(IDS, np.where(CAMS == 1, np.nan, 2)))),
        TypeError, "none missing",
    ),
    "a matrix as a mask": (lambda: call(exclude=np.zeros((4, 12), bool)), TypeError, "exclude must be"),
    "a class as a mask": (lambda: call(exclude=SameCamera), TypeError, "exclude must be"),
    "cameras with NaN": (
        lambda: call(exclude=SameCamera(QUERY_CAMS, np.where(CAMS == 1, np.nan, 2))),
        TypeError, "none missing",
    ),
    "pairs of another kind": (
        lambda: call(exclude=CameraPairs({"1": ("2",)}, QUERY_CAMS, CAMS)), TypeError, "like query_cams"
    ),
    "pairs with None": (
        lambda: call(exclude=CameraPairs({1: None}, QUERY_CAMS, CAMS)), TypeError, "int64, got None"
    ),
    "junk of another kind": (
        lambda: call(exclude=JunkIdentities("1")), TypeError, "like gallery_ids, int64, got"
    ),
    "junk in a list": (lambda: JunkIdentities([1, 2]), TypeError, "one by one, got"),
    "junk in an array": (lambda: JunkIdentities(np.array([1, 2])), TypeError, "one by one, got"),
    "junk that is NaN": (lambda: JunkIdentities(np.nan), TypeError, "one by one, got nan"),
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


def frozen(values):
    values = np.array(values)
    values.flags.writeable = False
    return values


SAME = {
    "read-only": lambda: call(frozen(D), frozen(QUERIES), frozen(IDS)),
    "Fortran order": lambda: call(np.asfortranarray(D)),
    "every other column": lambda: call(np.repeat(D, 2, axis=1)[:, ::2], np.repeat(QUERIES, 2)[::2]),
    "backwards": lambda: call(D[::-1, ::-1][::-1, ::-1]),
    "the other byte order": lambda: call(D.astype(">f8"), QUERIES.astype(">i8"), IDS.astype(">i4")),
    "long double": lambda: call(D.astype(np.longdouble)),
    "objects": lambda: call(D.astype(object), QUERIES.astype(object), IDS.astype(object)),
    "lists": lambda: call(D.tolist(), QUERIES.tolist(), IDS.tolist()),
    "a DataFrame": lambda: call(pd.DataFrame(D), pd.Series(QUERIES, index=[9, 8, 7, 6]), pd.Series(IDS)),
    "nullable integers": lambda: call(D, pd.Series(QUERIES, dtype="Int64"), pd.Series(IDS, dtype="Int64")),
    "text in a Series": lambda: call(D, pd.Series(QUERIES.astype(str)), pd.Series(IDS.astype(str))),
    "categories": lambda: call(D, pd.Series(QUERIES).astype("category"), IDS),
    "bytes": lambda: call(D, QUERIES.astype("S"), IDS.astype("S")),
    "bytes in a list": lambda: call(D, QUERIES.astype("S").tolist(), IDS.astype("S")),
    "whole floats": lambda: call(D, QUERIES.astype(np.float16), IDS.astype(float)),
    "int8 and uint64": lambda: call(D, QUERIES.astype(np.int8), IDS.astype(np.uint64)),
    "hashes as ids": lambda: call(
        D, QUERIES.astype(np.uint64) + np.uint64(2**64 - 9), IDS.astype(np.uint64) + np.uint64(2**64 - 9)
    ),
    "large ids of two types": lambda: call(D, QUERIES + 2**62, IDS.astype(np.uint64) + np.uint64(2**62)),
    "large ids": lambda: call(D, QUERIES - 2**62, IDS - 2**62),
    "subnormal distances": lambda: call(D * 1e-310),
    "large distances": lambda: call(D * 1e308),
    "negative distances": lambda: call(D - 5),
    "no masked entries": lambda: call(np.ma.array(D), np.ma.array(QUERIES)),
    "always as objects": lambda: call(always=np.ones(12, object) == 1, gallery=Gallery(shots=1)),
    "always as bool objects": lambda: call(always=np.array([True] * 12, object), gallery=Gallery(shots=1)),
    "junk of two kinds": lambda: call(exclude=JunkIdentities(-1, "-1")),
}


@pytest.mark.parametrize("name", SAME)
def test_the_score_is_the_same(name):
    assert SAME[name]()["ap"].score == pytest.approx(call()["ap"].score, abs=1e-13)


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int16, bool])
def test_small_types_are_exact(dtype):
    """They have ties, but the same ones as the float64 of the same values."""
    values = (9 * D if dtype is not bool else 2 * D).astype(dtype)
    for ties in ("index", "random"):
        assert call(values, ties=ties)["ap"].score == call(values.astype(float), ties=ties)["ap"].score
