"""What public evaluation codes print, from the scores of `expected_retrieval`."""

import numpy as np
import plain_retrieval as plain
import pytest

from knnccv.retrieval import (
    Gallery,
    JunkIdentities,
    SameCamera,
    SameIdentityAndCamera,
    cuhk03,
    expected_retrieval,
    market1501,
)


def data(seed, n_queries=40, n_gallery=120, n_ids=10, n_cams=4):
    """Distances, identities and cameras; the last query identity is not in the gallery."""
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, n_ids + 1, n_queries), rng.integers(0, n_ids, n_gallery)
    query_cams, cams = rng.integers(1, n_cams + 1, n_queries), rng.integers(1, n_cams + 1, n_gallery)
    distances = rng.random((n_queries, n_gallery)) + 0.3 * (query_ids[:, None] != ids)
    return distances, query_ids, ids, query_cams, cams


def z_scores(runs, exact):
    """Deviations of the mean of runs from the exact values, in standard errors."""
    error = np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
    return np.abs(np.mean(runs, axis=0) - exact) / np.maximum(error, 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_layumi_counts_queries_without_a_hit(seed):
    distances, query_ids, ids, query_cams, cams = data(seed)
    ids[:7] = -1
    curve, mean = plain.layumi(distances, query_ids, ids, query_cams, cams, 10)
    r = expected_retrieval(
        distances, query_ids, ids, market1501("trapezoid"), query_cams, cams, max_rank=10
    )
    assert r.n_left_out > 0
    share = r.valid.mean()  # theirs is a mean over all queries, those left out count as 0
    assert np.abs(share * r.cmc - curve).max() < 1e-12
    assert abs(share * r["ap"].score - mean) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_open_reid_without_a_draw(seed):
    distances, query_ids, ids, query_cams, cams = data(seed)
    problem = distances, query_ids, ids, query_cams, cams
    for mask, other_cameras in ((SameIdentityAndCamera, False), (SameCamera, True)):
        exclude = mask(query_cams, cams)
        first = plain.open_reid_cmc(*problem, 8, other_cameras=other_cameras, first_only=True)
        r = expected_retrieval(distances, query_ids, ids, exclude=exclude, scores=("cmc",), max_rank=8)
        assert np.abs(r.cmc - first).max() < 1e-12
        every = plain.open_reid_cmc(*problem, 8, other_cameras=other_cameras)
        r = expected_retrieval(
            distances, query_ids, ids, exclude=exclude, scores=("cmc_all_shots",), max_rank=8
        )
        assert np.abs(r["cmc_all_shots"].score - every).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("other_cameras", [False, True])
def test_open_reid_draws_one_item_of_every_identity(other_cameras):
    problem = data(11)
    rng = np.random.default_rng(1)
    runs = [
        plain.open_reid_cmc(*problem, 6, other_cameras=other_cameras, rng=rng, repeats=2)
        for _ in range(200)
    ]
    distances, query_ids, ids, query_cams, cams = problem
    mask = SameCamera if other_cameras else SameIdentityAndCamera
    r = expected_retrieval(
        distances, query_ids, ids, Gallery(per_identity=1), exclude=mask(query_cams, cams), max_rank=6
    )
    assert z_scores(runs, r.cmc).max() < 4


def sysu(seed, n_queries=40, n_gallery=160, n_ids=8):
    """Infrared probes of the cameras 3 and 6, visible images of the others, and permutations of cells."""
    rng = np.random.default_rng(seed)
    distances, query_ids, ids, _, _ = data(seed, n_queries, n_gallery, n_ids)
    query_cams, cams = rng.choice([3, 6], n_queries), rng.choice([1, 2, 4, 5], n_gallery)
    cells = sorted(set(zip(ids.tolist(), cams.tolist(), strict=True)))
    return distances, query_ids, ids, query_cams, cams, cells, rng


def permuted(cells, ids, cams, rng):
    return {(i, c): rng.permutation(((ids == i) & (cams == c)).sum()) for i, c in cells}


@pytest.mark.parametrize("shots", [1, 3])
def test_one_trial_of_sysu_matlab(shots):
    distances, query_ids, ids, query_cams, cams, cells, rng = sysu(3)
    for _ in range(5):
        permutations = permuted(cells, ids, cams, rng)
        curve, mean = plain.sysu_matlab(distances, query_ids, ids, query_cams, cams, permutations, shots, 6)
        drawn = np.sort(
            np.concatenate(
                [
                    np.flatnonzero((ids == i) & (cams == c))[order[:shots]]
                    for (i, c), order in permutations.items()
                ]
            )
        )
        everything = Gallery.sysu(shots=1000)  # of a drawn gallery, all images
        r = expected_retrieval(
            distances[:, drawn], query_ids, ids[drawn], everything, query_cams, cams[drawn], max_rank=6
        )
        assert np.abs(r.cmc - curve).max() < 1e-12
        assert abs(r["ap"].score - mean) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("shots", [1, 3])
def test_the_mean_over_permutations_of_sysu_matlab(shots):
    distances, query_ids, ids, query_cams, cams, cells, rng = sysu(4)
    runs = []
    for _ in range(300):
        permutations = permuted(cells, ids, cams, rng)
        curve, mean = plain.sysu_matlab(distances, query_ids, ids, query_cams, cams, permutations, shots, 6)
        runs.append(np.append(curve, mean))
    r = expected_retrieval(
        distances, query_ids, ids, Gallery.sysu(shots=shots), query_cams, cams, max_rank=6
    )
    assert z_scores(runs, np.append(r.cmc, r["ap"].score)).max() < 4


@pytest.mark.parametrize("shots", [1, 2])
def test_one_trial_of_sysu_in_python(shots):
    """A gallery that is drawn once is a whole gallery."""
    distances, query_ids, ids, query_cams, cams, _, _ = sysu(5)
    trial = plain.sysu_trial(
        distances, query_ids, ids, query_cams, cams, shots, np.random.default_rng(0), 6
    )
    rng = np.random.default_rng(0)
    drawn = [
        rng.permutation(np.flatnonzero((ids == i) & (cams == c)))[:shots]
        for i in np.unique(ids)
        for c in np.unique(cams)
    ]
    drawn = np.concatenate(drawn)
    r = expected_retrieval(
        distances[:, drawn], query_ids, ids[drawn], Gallery.sysu(shots=1000), query_cams, cams[drawn],
        scores=("cmc", "ap", "inp"), max_rank=6,
    )  # fmt: skip
    assert np.abs(np.append(r.cmc, [r["ap"].score, r["inp"].score]) - trial).max() < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_revisitop(seed):
    """Landmarks are identities; junk lists are a mask."""
    rng = np.random.default_rng(seed)
    n_queries, n_gallery = 30, 90
    query_ids, ids = rng.integers(0, 7, n_queries), rng.integers(0, 8, n_gallery)
    distances = rng.random((n_queries, n_gallery)) + 0.3 * (query_ids[:, None] != ids)
    same = query_ids[:, None] == ids
    junk = same & (rng.random(same.shape) < 0.4)
    junk[0] = same[0]  # a query without a right item
    depths = (1, 5, 10, 80)
    mean, at_depths = plain.revisitop(distances, same & ~junk, junk, depths)
    names = [f"precision@{k}" for k in depths]
    r = expected_retrieval(
        distances, query_ids, ids, exclude=lambda queries: junk[queries], ap="trapezoid",
        scores=("ap", "inp", *names),
    )  # fmt: skip
    assert not r.valid[0]
    assert abs(r["ap"].score - mean) < 1e-12
    last = (same & ~junk).sum(axis=1) / r["inp"].per_item  # rank of the last right item
    for name, k, value in zip(names, depths, at_depths, strict=True):
        found = r[name].per_item * k / np.minimum(k, last)
        assert abs(np.nanmean(found) - value) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_torchmetrics_and_oml(seed):
    distances, query_ids, ids, _, _ = data(seed)
    similarities = 2 - distances  # all above 0
    names = ("ap", "precision@6", "recall@6")
    r = expected_retrieval(distances, query_ids, ids, scores=names)
    right = query_ids[:, None] == ids
    theirs = [plain.torchmetrics_ap(*pair) for pair in zip(similarities, right, strict=True)]
    assert abs(np.mean(theirs) - r["ap"].score * r.valid.mean()) < 1e-12
    assert np.abs(np.array(theirs)[r.valid] - r["ap"].per_item[r.valid]).max() < 1e-12
    for q in np.flatnonzero(r.valid):
        ranking = right[q][np.argsort(distances[q])].tolist()
        both = max(r["precision@6"].per_item[q], r["recall@6"].per_item[q])
        assert abs(both - plain.oml_precision(ranking, 6)) < 1e-12


def test_torchmetrics_divides_by_the_hits_in_the_top():
    """Its AP@k is no score of this library: the denominator depends on the gallery that is drawn."""
    scores = np.array([0.9, 0.8, 0.7, 0.6])
    right = np.array([True, False, True, True])
    assert plain.torchmetrics_ap(scores, right, 2) == 1.0
    with pytest.raises(ValueError, match="hits in the top k, is random"):
        expected_retrieval(1 - scores[None], [1], right.astype(int), scores=("ap@2",))
    assert plain.torchmetrics_ap(scores - 0.65, right) == (1 + 2 / 3) / 2  # the last does not count


@pytest.mark.parametrize("seed", range(3))
def test_tied_scores_of_sklearn_are_one_threshold(seed):
    """Neither order of ties gives its AP; without ties all are the same."""
    from sklearn.metrics import average_precision_score

    distances, query_ids, ids, _, _ = data(seed)
    rough = np.round(5 * distances)
    r = expected_retrieval(distances, query_ids, ids, scores=("ap",))
    tied = expected_retrieval(rough, query_ids, ids, scores=("ap",), ties="random")
    for q in np.flatnonzero(r.valid):
        right = ids == query_ids[q]
        for values in (distances[q], rough[q]):
            theirs = average_precision_score(right, -values)
            assert abs(theirs - plain.one_threshold_ap(values, right)) < 1e-12
        assert abs(r["ap"].per_item[q] - plain.one_threshold_ap(distances[q], right)) < 1e-12
    thresholds = [plain.one_threshold_ap(rough[q], ids == query_ids[q]) for q in np.flatnonzero(r.valid)]
    assert np.abs(tied["ap"].per_item[r.valid] - thresholds).max() > 1e-3


def test_distractors_under_one_identity():
    """Market-1501 names all its distractors 0: with always= they stay in a draw per identity."""
    distances, query_ids, ids, query_cams, cams = data(8)
    query_ids += 1
    ids += 1
    ids[:40] = 0
    mask = SameIdentityAndCamera(query_cams, cams)
    one = expected_retrieval(distances, query_ids, ids, Gallery(per_identity=1), exclude=mask)
    stay = expected_retrieval(distances, query_ids, ids, Gallery(per_identity=1), exclude=mask, always=[0])
    assert stay["ap"].score < one["ap"].score
    apart = ids.copy()
    apart[:40] = 1000 + np.arange(40)  # each an identity of its own
    same = expected_retrieval(distances, query_ids, apart, Gallery(per_identity=1), exclude=mask)
    assert np.nanmax(np.abs(stay["ap"].per_item - same["ap"].per_item)) < 1e-13
    junk = expected_retrieval(
        distances, query_ids, ids, Gallery(per_identity=1), exclude=[mask, JunkIdentities(0)]
    )
    assert junk["ap"].score > one["ap"].score


@pytest.mark.slow
def test_ten_repeats_of_cuhk03_scatter_as_the_formula_says():
    distances, query_ids, ids, query_cams, cams = data(9, 30, 90, 8)
    rng = np.random.default_rng(2)
    runs = [
        plain.cuhk03_run(distances, query_ids, ids, query_cams, cams, rng, 4, repeats=10)
        for _ in range(250)
    ]
    r = expected_retrieval(
        distances, query_ids, ids, cuhk03(), query_cams, cams, scores=("cmc",), max_rank=4
    )
    assert z_scores(runs, r.cmc).max() < 4
    assert np.abs(np.std(runs, axis=0, ddof=1) / r.cmc_std(10) - 1).max() < 0.15
