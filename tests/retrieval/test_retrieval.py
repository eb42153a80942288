"""Properties of expected scores, galleries, masks and results."""

import numpy as np
import plain_retrieval as plain
import pytest
from plain_retrieval import random_problem
from scipy.stats import hypergeom

from knnccv import Neighbors
from knnccv.neighbors import Between
from knnccv.retrieval import (
    CameraPairs,
    Gallery,
    JunkIdentities,
    SameCamera,
    SameIdentityAndCamera,
    expected_retrieval,
)
from knnccv.retrieval._compiled.laws import rule

SCORES = ("cmc", "ap", "rr", "inp", "precision@3", "recall@4", "r_precision", "map@r", "ndcg@5", "rbp@0.7")


def data(seed=0, n_queries=150, n_gallery=220, n_ids=15, levels=None):
    return random_problem(seed, n_queries, n_gallery, n_ids, levels, nearer=0.4)


def convolved(row, query_id, ids, shots):
    """AP, both conventions, of one query without ties: sums over the laws of A and W."""
    own = np.flatnonzero(ids == query_id)
    n_own, drawn_own = len(own), min(shots, len(own))
    others = [np.flatnonzero(ids == other) for other in np.unique(ids) if other != query_id]
    rectangle = trapezoid = 0.0
    for i in own:
        nearer = (row[own] < row[i]).sum()
        mine = hypergeom.pmf(np.arange(drawn_own), n_own - 1, nearer, drawn_own - 1)
        law = np.ones(1)
        for cell in others:
            drawn = min(shots, len(cell))
            law = np.convolve(
                law, hypergeom.pmf(np.arange(drawn + 1), len(cell), (row[cell] < row[i]).sum(), drawn)
            )
        a, b = np.arange(drawn_own)[:, None], np.arange(len(law))
        both = mine[:, None] * law
        before = np.where(a + b > 0, a / np.maximum(a + b, 1), 1.0)
        share = drawn_own / n_own / drawn_own
        rectangle += share * (both * (1 + a) / (1 + a + b)).sum()
        trapezoid += share * (both * ((1 + a) / (1 + a + b) + before)).sum() / 2
    return rectangle, trapezoid


@pytest.mark.parametrize("shots", [1, 3, 9])
def test_integrals_equal_double_sums(shots):
    distances, query_ids, ids, _, _ = data(1, 12, 900, 60)
    gallery = Gallery(per_identity=shots, short="all")
    for ap, place in (("rectangle", 0), ("trapezoid", 1)):
        r = expected_retrieval(distances, query_ids, ids, gallery, ap=ap, scores=("ap",))
        for q in np.flatnonzero(r.valid):
            value = convolved(distances[q], query_ids[q], ids, shots)[place]
            assert abs(r["ap"].per_item[q] - value) < 1e-12
        assert r["ap"].error_bound < 1e-11


@pytest.mark.parametrize("degree", [3, 100, 3000])
def test_the_rule_reaches_its_tolerance(degree):
    for tol in (1e-6, 1e-12):
        found = rule(degree, tol)
        d = np.arange(degree + 1)
        sums = (found.weights * found.nodes ** d[:, None]).sum(axis=1)
        assert np.abs(1 - (d + 1) * sums).max() <= max(found.error * 1.01, 1e-15) <= tol


def test_a_looser_tolerance_is_within_its_bound():
    distances, query_ids, ids, _, _ = data(2, 40, 900, 120)
    fine, rough = (
        expected_retrieval(
            distances,
            query_ids,
            ids,
            Gallery(per_identity=2, short="all"),
            scores=("ap", "rr", "inp"),
            tol=tol,
        )
        for tol in (1e-13, 1e-4)
    )
    for name in fine:
        difference = abs(fine[name].score - rough[name].score)
        assert difference <= fine[name].error_bound + rough[name].error_bound
        assert rough[name].error_bound > fine[name].error_bound


@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize("rank", ["image", "identity"])
def test_the_same_bits_for_any_threads_and_blocks(ties, rank, monkeypatch):
    distances, query_ids, ids, query_cams, cams = data(3, levels=40)
    results = []
    for n_jobs, rows in ((1, 64), (2, 64), (5, 64), (2, 7), (1, 150)):
        monkeypatch.setattr(Between, "rows_at_once", property(lambda _, rows=rows: rows))
        for near in (distances, Neighbors.between(distances[:, :9], distances.T[:, :9], metric="cosine")):
            r = expected_retrieval(
                near, query_ids, ids, Gallery(per_identity=2, short="all"), scores=SCORES, ties=ties,
                rank=rank, exclude=SameIdentityAndCamera(query_cams, cams), n_jobs=n_jobs,
            )  # fmt: skip
            results.append(
                [(r[name].per_item.tobytes(), np.asarray(r[name].score).tobytes()) for name in r]
            )
    assert all(found == results[i % 2] for i, found in enumerate(results))


def test_fair_ties_do_not_depend_on_the_order_of_the_gallery():
    distances, query_ids, ids, query_cams, cams = data(4, 30, 90, 9, levels=8)
    order = np.random.default_rng(0).permutation(len(ids))
    for gallery in (Gallery("all"), Gallery(per_identity=3, short="all")):
        one, other = (
            expected_retrieval(
                distances[:, at], query_ids, ids[at], gallery, scores=SCORES, ties="random",
                exclude=SameIdentityAndCamera(query_cams, cams[at]),
            )
            for at in (np.arange(len(ids)), order)
        )  # fmt: skip
        for name in SCORES:
            gap = np.abs(one[name].per_item - other[name].per_item)
            assert np.nanmax(gap) < 1e-12, name


def test_all_shots_are_the_whole_gallery():
    distances, query_ids, ids, _, _ = data(5, levels=30)
    for ties in ("index", "random"):
        whole = expected_retrieval(distances, query_ids, ids, Gallery("all"), scores=SCORES, ties=ties)
        many = Gallery(shots=1000, short="all")
        drawn = expected_retrieval(distances, query_ids, ids, many, scores=SCORES, ties=ties)
        sure = expected_retrieval(
            distances, query_ids, ids, Gallery(shots=1), scores=SCORES, ties=ties, always=np.unique(ids)
        )
        for name in SCORES:
            assert np.abs(whole[name].per_item - drawn[name].per_item).max() < 1e-12, name
            assert np.abs(whole[name].per_item - sure[name].per_item).max() < 1e-12, name


def test_masks():
    distances, query_ids, ids, query_cams, cams = data(6)
    same = query_cams[:, None] == cams
    masks = {
        "same": (SameCamera(query_cams, cams), same),
        "both": (SameIdentityAndCamera(query_cams, cams), same & (query_ids[:, None] == ids)),
        "pairs": (
            CameraPairs({3: (2, 1), 0: 1}, query_cams, cams),
            (query_cams[:, None] == 3) & np.isin(cams, (1, 2)) | (query_cams[:, None] == 0) & (cams == 1),
        ),
        "junk": (JunkIdentities(3, 5), np.isin(ids, (3, 5)) & np.ones((len(distances), 1), bool)),
        "list": ([SameCamera(query_cams, cams), JunkIdentities(3)], same | (ids == 3)),
    }
    for name, (mask, removed) in masks.items():
        for gallery in (Gallery("all"), Gallery(per_identity=1)):
            named = expected_retrieval(distances, query_ids, ids, gallery, exclude=mask)
            by_function = expected_retrieval(
                distances, query_ids, ids, gallery, exclude=lambda queries, out=removed: out[queries]
            )
            assert np.array_equal(named["ap"].per_item, by_function["ap"].per_item, equal_nan=True), name
            assert (named.cmc == by_function.cmc).all(), name
    for q in (0, 5):  # a removed item is like no item
        kept = ~masks["same"][1][q]
        alone = expected_retrieval(distances[q : q + 1, kept], query_ids[q : q + 1], ids[kept])
        r = expected_retrieval(distances, query_ids, ids, exclude=masks["same"][0])
        assert abs(alone["ap"].score - r["ap"].per_item[q]) < 1e-14


def test_distances_in_a_file_and_in_single_precision(tmp_path):
    distances, query_ids, ids, _, _ = data(7)
    distances = distances.astype(np.float32)
    np.save(tmp_path / "D.npy", distances)
    mapped = np.load(tmp_path / "D.npy", mmap_mode="r")
    values = [
        expected_retrieval(near, query_ids, ids)["ap"].score
        for near in (distances, mapped, Neighbors.from_distances(mapped, queries="other"))
    ]
    assert len(set(values)) == 1


def test_metrics_by_products_rank_as_scipy_does():
    rng = np.random.default_rng(8)
    queries, gallery = rng.normal(size=(70, 5)), rng.normal(size=(90, 5))
    gallery[7] = gallery[50]
    from scipy.spatial.distance import cdist

    for metric, name in (("euclidean", "euclidean"), ("cosine", "cosine"), ("manhattan", "cityblock")):
        near = Neighbors.between(queries, gallery, metric=metric)
        values = near.block(0, 70)
        assert (
            np.argsort(values, kind="stable") == np.argsort(cdist(queries, gallery, name), kind="stable")
        ).all()
        assert (values[:, 7] == values[:, 50]).all()
        assert (near.block(13, 29) == values[13:29]).all()
    assert repr(near) == "<Between 70 queries and 90 gallery items (manhattan)>"


def test_average_over_identities():
    distances, query_ids, ids, _, _ = data(9, n_queries=40)
    ids[ids == 3] = 4  # identity 3 has no right item
    r = expected_retrieval(distances, query_ids, ids, average="identity")
    means = [r["ap"].per_item[query_ids == i].mean() for i in np.unique(query_ids) if i != 3]
    assert abs(r["ap"].score - np.mean(means)) < 1e-14
    assert abs(r["ap"].weights.sum() - 1) < 1e-14
    assert r.n_left_out == (query_ids == 3).sum()


def test_text_identities_and_the_frame():
    distances, query_ids, ids, _, _ = data(10, 20, 60, 4)
    names = np.array(["ann", "bob", "cem", "dan"])
    r = expected_retrieval(distances, names[query_ids], names[ids], Gallery(shots=2), scores=("cmc", "ap"))
    number = expected_retrieval(distances, query_ids, ids, Gallery(shots=2), scores=("cmc", "ap"))
    assert r["ap"].score == number["ap"].score == float(r["ap"])
    frame = r.to_frame()
    assert list(frame) == ["query_id", "valid", "weight", "cmc@1", "cmc@5", "cmc@10", "cmc@20", "ap"]
    assert abs((frame["ap"] * frame["weight"]).sum() - r["ap"].score) < 1e-14
    sizes = np.unique(ids, return_counts=True)[1]
    assert r.n_galleries == np.prod(sizes * (sizes - 1) // 2)
    assert "error at most" in repr(r["ap"])
    assert "rank-1" in repr(r)
    with pytest.raises(KeyError, match="no score 'rr'"):
        r["rr"]


def test_galleries_of_their_own_allow_masks_that_cut_strata():
    distances, query_ids, ids, query_cams, cams = data(11)
    mask = SameIdentityAndCamera(query_cams, cams)
    values = {
        expected_retrieval(distances, query_ids, ids, gallery, exclude=mask)["ap"].score
        for gallery in (
            Gallery(per_identity=1),
            Gallery(shots=1, mask="before"),
            Gallery(shots=1, strata=ids, per_query=True),
        )
    }
    assert len(values) == 1


def test_ties_are_counted():
    distances, query_ids, ids, _, _ = data(12, levels=20)
    right = query_ids[:, None] == ids
    ties = [
        any((row[~own] == value).any() for value in row[own])
        for row, own in zip(distances, right, strict=True)
    ]
    for order in ("index", "random"):
        r = expected_retrieval(distances, query_ids, ids, ties=order)
        assert r.tied == sum(ties)
    assert f"{r.tied} queries have ties" in repr(r)


def test_the_deviation_of_galleries_drawn_for_every_query():
    """Against the runs of the plain definition."""
    distances, query_ids, ids, _, _ = data(13, 15, 60, 8)
    rng = np.random.default_rng(0)
    nobody = np.full(15, -1), np.zeros(60, int)
    runs = [plain.cuhk03_run(distances, query_ids, ids, *nobody, rng, 3, repeats=2) for _ in range(400)]
    r = expected_retrieval(distances, query_ids, ids, Gallery(per_identity=1), max_rank=3)
    assert np.abs(np.std(runs, axis=0, ddof=1) / r.cmc_std(2) - 1).max() < 0.1
    shared = expected_retrieval(distances, query_ids, ids, Gallery(shots=1))
    with pytest.raises(ValueError, match="share a gallery"):
        shared.cmc_std()


def test_small_integers_are_not_copied(tmp_path):
    _, query_ids, ids, _, _ = data(14)
    codes = np.random.default_rng(0).integers(0, 60, (len(query_ids), len(ids)), dtype=np.uint8)
    np.save(tmp_path / "D.npy", codes)
    mapped = np.load(tmp_path / "D.npy", mmap_mode="r")
    near = Neighbors.from_distances(mapped, queries=True)
    assert np.shares_memory(near.compare.args[0], mapped)
    for values in (codes, codes.astype(float)):
        found = expected_retrieval(values, query_ids, ids)["ap"].score
        assert found == expected_retrieval(near, query_ids, ids)["ap"].score
