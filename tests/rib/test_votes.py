"""Weights, votes, CVC and LCV against the equations written out, and against scikit-learn."""

import itertools
import math
import subprocess
import sys
from fractions import Fraction

import naive_rib
import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors
from knnccv.datasets import load_wine
from knnccv.rib import _sweep, cvc_score, lcv_score, loo_votes, vote_weights
from knnccv.rib._sweep import BLOCK, sweep
from knnccv.rib._votes import VOTE_WEIGHTINGS, VoteLists, decide

WEIGHTED = VOTE_WEIGHTINGS[1:]
BOTH = (False, True)
TWENTY_FIFTHS = np.arange(26) / 25
THOUSANDTHS = np.arange(1001) / 1000
IRREGULAR = np.array([0.0, 1e-300, 1e-9, 0.0625, 1 / 3, 0.5, 0.5000001, 0.9, 1.0])


def distances_row(rng, depth):
    """Make ascending distances: with repetitions, with zeros, or of very different size."""
    kind = rng.integers(6)
    if kind == 0:
        row = rng.random(depth) * 10.0 ** rng.integers(-8, 9)
    elif kind == 1:
        row = rng.integers(0, 4, depth) * 0.25
    elif kind == 2:
        row = np.zeros(depth)
    elif kind == 3:
        row = np.where(rng.random(depth) < 0.7, 0.0, rng.random(depth))
    elif kind == 4:
        row = np.full(depth, 0.7)
    else:
        row = np.sqrt(rng.integers(1, 9, depth))
    return np.sort(row)


def some_lists(seed, n_rows=6):
    """Make distances and samples of n_rows lists, and all classes; row i is sample i."""
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, 12))
    n_items = max(n_rows, depth) + 1
    n_classes = 1 if seed % 8 == 0 else int(rng.integers(2, 7))
    codes = rng.integers(0, n_classes, n_items)
    distances = np.array([distances_row(rng, depth) for _ in range(n_rows)])
    others = [rng.permutation(np.delete(np.arange(n_items), i))[:depth] for i in range(n_rows)]
    return distances, np.array(others, np.int32), codes


def as_vote_lists(distances, items, codes):
    return VoteLists.of(items, distances, codes, codes[: len(items)])


def as_pairs(distances, items):
    rows = zip(distances.tolist(), items.tolist(), strict=True)
    return [list(zip(d, i, strict=True)) for d, i in rows]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("avgk", BOTH)
@pytest.mark.parametrize("kernel", VOTE_WEIGHTINGS)
def test_weights_are_the_equations(kernel, avgk, seed):
    rng = np.random.default_rng(seed)
    rows = np.array([distances_row(rng, int(seed % 11) + 1) for _ in range(5)])
    if kernel == "majority":
        assert (vote_weights(rows) == 1).all()
        return
    for w_k in (*IRREGULAR, *rng.random(3)):
        found = vote_weights(rows, kernel, w_k=w_k, avgk=avgk)
        expected = [naive_rib.voting_weights(row, kernel, w_k, avgk) for row in rows.tolist()]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", WEIGHTED)
def test_a_weight_is_one_at_distance_zero_and_w_k_at_the_kth(kernel):
    for w_k in (1e-3, 0.25, 0.5, 1.0):
        weights = vote_weights([[0.0, 0.5, 2.0, 7.0]], kernel, w_k=w_k)[0]
        assert weights[0] == 1
        assert weights[-1] == pytest.approx(w_k, rel=1e-14)
        assert (np.diff(weights) <= 0).all()


def test_evenly_spaced_distances_have_their_own_average_scale():
    """Eq. (11): what D_k "would be if the neighbors were distributed evenly"."""
    for k, kernel in itertools.product((1, 2, 5, 30), WEIGHTED):
        row = [np.arange(1, k + 1) * 0.5]
        plain, average = (vote_weights(row, kernel, w_k=0.3, avgk=avgk) for avgk in BOTH)
        np.testing.assert_allclose(plain, average, rtol=1e-13)
    uneven = [[1.0, 1.0, 4.0]]
    assert vote_weights(uneven, w_k=0.3, kernel="linear").tolist() != (
        vote_weights(uneven, w_k=0.3, kernel="linear", avgk=True).tolist()
    )


def test_votes_do_not_fall_below_zero():
    """Nine distances are 0 and one is 1: without the limit, the last weight would be -3.95."""
    row = [[0.0] * 9 + [1.0]]
    scale = Fraction(2, 11)
    line = Fraction(1, 10) + Fraction(9, 10) * (scale - 1) / scale
    assert float(line) == -3.95
    assert vote_weights(row, "linear", w_k=0.1, avgk=True)[0].tolist() == [1.0] * 9 + [0.0]


@pytest.mark.parametrize("avgk", BOTH)
@pytest.mark.parametrize("kernel", WEIGHTED)
def test_vanishing_weights_are_the_limit_of_small_ones(kernel, avgk):
    """At w_k = 0 the shares of the votes are those of w_k = 1e-300 (and of 1e-15 for the line)."""
    nearly = 1e-15 if kernel == "linear" else 1e-300
    for row in (
        [2.0],
        [2.0, 2.0],
        [1.0, 2.0, 3.0],
        [1.0, 1.0, 3.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0],
        [2.0, 2.0, 2.0],
    ):
        limit, near = (vote_weights([row], kernel, w_k=w_k, avgk=avgk)[0] for w_k in (0.0, nearly))
        assert limit.sum() > 0
        np.testing.assert_allclose(limit / limit.sum(), near / near.sum(), atol=1e-12)


def test_where_every_weight_vanishes():
    assert vote_weights([[1.0, 1.0, 2.0]], "gaussian", w_k=0.0).tolist() == [[1, 1, 0]]
    assert vote_weights([[1.0, 1.0, 2.0]], "exponential", w_k=0.0).tolist() == [[1, 1, 0]]
    assert vote_weights([[0.0, 1.0, 2.0]], "exponential", w_k=0.0).tolist() == [[1, 0, 0]]
    assert vote_weights([[2.0, 2.0, 2.0]], "linear", w_k=0.0).tolist() == [[1, 1, 1]]
    assert vote_weights([[0.0, 0.0]], "linear", w_k=0.0).tolist() == [[1, 1]]


def test_lines_between_distances_that_are_nearly_the_same():
    """1 - D_j / D_k has no correct digit; (D_k - D_j) / D_k has only correct ones."""
    row = [3.0]
    for _ in range(4):
        row.insert(0, math.nextafter(row[0], 0.0))
    exact = [(Fraction(row[-1]) - Fraction(d)) / Fraction(row[-1]) for d in row]
    found = vote_weights([row], "linear", w_k=0.0)[0]
    assert found == pytest.approx([float(w) for w in exact], rel=1e-14)
    codes = np.array([0, 1, 0, 1, 1, 0])
    items = np.array([[1, 2, 3, 4, 5]], np.int32)
    right, confidence = sweep(
        VoteLists.of(items, np.array([row]), codes, codes[:1]),
        np.array([5]),
        np.array([1]),
        np.array([False]),
        np.array([0.0]),
    )
    own = [exact[j] for j in range(5) if codes[items[0, j]] == 0]
    assert confidence.item() == pytest.approx(float(sum(own) / sum(exact)), rel=1e-13)
    assert right.item() == 0


@pytest.mark.parametrize("seed", range(20))
def test_all_kernels_agree_for_one_neighbor_or_equal_weights(seed):
    distances, items, codes = some_lists(seed)
    lists = as_vote_lists(distances, items, codes)
    n_classes = int(codes.max()) + 1
    settings = [(1, w_k) for w_k in (0.0, 0.3, 1.0)] + [(k, 1.0) for k in range(2, items.shape[1] + 1)]
    for k, w_k in settings:
        shares, chosen = decide(lists, n_classes, k, "majority", None, False)
        for kernel, avgk in itertools.product(WEIGHTED, BOTH):
            others, same = decide(lists, n_classes, k, kernel, w_k, avgk)
            assert (same == chosen).all()
            np.testing.assert_allclose(others, shares, rtol=1e-13)


@pytest.mark.parametrize("arguments", [{"w_k": None}, {"w_k": -0.1}, {"w_k": 1.5}, {"w_k": math.nan}])
@pytest.mark.parametrize("kernel", WEIGHTED)
def test_a_weight_must_be_between_0_and_1(kernel, arguments):
    with pytest.raises(ValueError, match=rf"w_k of kernel '{kernel}' must be between 0 and 1"):
        vote_weights([[1.0]], kernel, **arguments)


@pytest.mark.parametrize(
    ("distances", "arguments", "error", "message"),
    [
        ([[1.0]], {"kernel": "cubic"}, ValueError, "kernel must be one of 'majority'"),
        ([[1.0]], {"kernel": "linear", "w_k": "0.5"}, TypeError, "w_k must be a real number, got '0.5'"),
        (
            [[1.0]],
            {"kernel": "linear", "w_k": 0.5, "avgk": 1},
            TypeError,
            "avgk must be True or False, got 1",
        ),
        ([[1.0]], {"w_k": 0.5}, ValueError, "'majority' has neither w_k nor avgk, got w_k=0.5"),
        ([[1.0]], {"avgk": True}, ValueError, "'majority' has neither w_k nor avgk"),
        ([1.0], {}, ValueError, r"shape \(n_rows, k\), got shape \(1,\)"),
        (np.empty((3, 0)), {}, ValueError, r"got shape \(3, 0\)"),
        ([[-1.0, 2.0]], {}, ValueError, "between 0 and 1e[+]300, got -1.0 in row 0"),
        ([[1.0, 1.0], [1.0, 1e301]], {}, ValueError, "between 0 and 1e[+]300, got 1e[+]301 in row 1"),
        ([[2.0, 1.0]], {}, ValueError, "ascend in every row"),
        ([[1.0, math.nan]], {}, ValueError, "must be finite"),
        ([["near"]], {}, TypeError, "must hold real numbers"),
    ],
)
def test_wrong_arguments_of_vote_weights(distances, arguments, error, message):
    with pytest.raises(error, match=message):
        vote_weights(distances, **arguments)


def sweep_by_hand(distances, items, codes, ks, kernels, avgks, w_ks, vote_ties):
    pairs, y = as_pairs(distances, items), codes.tolist()
    settings = [
        (k, VOTE_WEIGHTINGS[kernel], w_k, avgk)
        for k in ks.tolist()
        for kernel in kernels.tolist()
        for avgk in avgks.tolist()
        for w_k in w_ks.tolist()
    ]
    # Majority votes do not depend on the last two.
    known = {}
    found = []
    for k, kernel, w_k, avgk in settings:
        key = (k, kernel) if kernel == "majority" else (k, kernel, w_k, avgk)
        if key not in known:
            known[key] = naive_rib.evaluate(pairs, y, (k, kernel, w_k, avgk), vote_ties)
        found.append(known[key])
    shape = len(ks), len(kernels), len(avgks), len(w_ks)
    right, confidence = zip(*found, strict=True)
    return np.array(right).reshape(shape), np.array(confidence).reshape(shape)


@pytest.mark.parametrize("seed", range(36))
def test_every_setting_of_a_sweep_is_the_reference(seed):
    distances, items, codes = some_lists(seed)
    ks = np.arange(1, items.shape[1] + 1)
    w_ks = (TWENTY_FIFTHS, IRREGULAR, np.array([0.37]), np.array([0.0, 1.0]))[seed % 4]
    grid = ks, np.arange(4), np.array(BOTH), w_ks
    vote_ties = ("nearest", "smallest")[seed % 2]
    lists = as_vote_lists(distances, items, codes)
    right, confidence = sweep(lists, *grid, nearest_first=vote_ties == "nearest", n_jobs=1)
    expected = sweep_by_hand(distances, items, codes, *grid, vote_ties)
    assert (right == expected[0]).all()
    np.testing.assert_allclose(confidence, expected[1], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_thousand_weights_at_once_are_the_reference(seed):
    distances, items, codes = some_lists(100 + seed, n_rows=3)
    ks = np.array(sorted({min(2, items.shape[1]), items.shape[1]}))
    grid = ks, np.array([1, 2, 3]), np.array(BOTH), THOUSANDTHS
    right, confidence = sweep(as_vote_lists(distances, items, codes), *grid, n_jobs=1)
    expected = sweep_by_hand(distances, items, codes, *grid, "nearest")
    assert (right == expected[0]).all()
    np.testing.assert_allclose(confidence, expected[1], atol=1e-12)


@pytest.mark.parametrize("w_ks", [TWENTY_FIFTHS, IRREGULAR])
def test_sums_do_not_depend_on_the_threads(w_ks):
    distances, items, codes = some_lists(5, n_rows=3 * BLOCK + 17)
    lists = as_vote_lists(distances, items, codes)
    grid = np.arange(1, items.shape[1] + 1), np.arange(4), np.array(BOTH), w_ks
    one = sweep(lists, *grid, n_jobs=1)
    for n_jobs in (2, 5):
        for found, first in zip(sweep(lists, *grid, n_jobs=n_jobs), one, strict=True):
            assert found.tobytes() == first.tobytes()


def test_many_settings_are_evaluated_in_parts(monkeypatch):
    distances, items, codes = some_lists(5, n_rows=BLOCK + 1)
    lists = as_vote_lists(distances, items, codes)
    grid = np.arange(1, items.shape[1] + 1), np.arange(4), np.array(BOTH), TWENTY_FIFTHS
    whole = sweep(lists, *grid)
    for most in (1, 2 * 4 * 2 * 26 * 3):  # one k at a time, and three
        monkeypatch.setattr(_sweep, "MAX_SUMS", most)
        for found, first in zip(sweep(lists, *grid), whole, strict=True):
            assert found.tobytes() == first.tobytes()


def own_confidence(votes, y):
    return [row[c] / sum(row) for row, c in zip(votes, y, strict=True)]


@pytest.mark.parametrize("seed", range(10))
def test_cvc_is_its_two_equations(seed):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n)]
    votes = rng.integers(0, 4, (len(y), n_classes)) + (rng.random((len(y), 1)) < 0.9)
    votes[votes.sum(axis=1) == 0] = 1
    conf = own_confidence(votes.tolist(), y.tolist())
    cv = [row.index(max(row)) == c for row, c in zip(votes.tolist(), y.tolist(), strict=True)]
    each = [naive_rib.cvc_of_one(*both, len(y)) for both in zip(cv, conf, strict=True)]
    names = np.array(["ant", "bee", "cat"])
    for labels in (y, y.tolist(), names[y], y == 0 if n_classes == 1 else y):
        assert cvc_score(labels, votes) == pytest.approx(sum(each) / len(y), rel=1e-13)
        assert lcv_score(labels, votes.tolist()) == sum(cv) / len(y)
    whole = naive_rib.cvc_of_all(sum(cv), sum(conf) / len(y), len(y))
    assert cvc_score(y, votes) == pytest.approx(whole, rel=1e-13)
    # Only the shares matter.
    assert cvc_score(y, votes * rng.uniform(0.1, 1e3, (len(y), 1))) == pytest.approx(whole, rel=1e-12)


def test_one_more_right_outweighs_any_confidence():
    y = [0, 0, 1]
    sure = [[1, 0], [0, 1], [0, 1]]
    doubtful = [[1.001, 1], [1.001, 1], [1, 1.001]]
    assert np.mean(own_confidence(sure, y)) > np.mean(own_confidence(doubtful, y))
    assert cvc_score(y, sure) < cvc_score(y, doubtful)


def test_extreme_votes():
    assert cvc_score([0, 1], [[1e308, 1e308], [1e308, 1e308]]) == pytest.approx((1 + 0.5) / 3)
    assert cvc_score([0, 1], [[5e-324, 0], [0, 5e-324]]) == 1
    assert lcv_score([0, 1], [[0, 0], [0, 0]]) == 0.5  # no votes are equal votes: the lowest label
    assert cvc_score([0, 1], [[0, 0], [0, 0]]) == pytest.approx((1 + 0.5) / 3)
    third = 1 / 3
    assert lcv_score([0, 1], [[0.1 + 0.2, 0.3], [third + third + third, 1.0]]) == 0.5
    assert lcv_score([0, 1], [[0.3, 0.1 + 0.2], [1.0, third]]) == 0.5  # tied, though not to the last bit
    assert cvc_score(["only"], [[3]]) == 1


@pytest.mark.parametrize("score", [cvc_score, lcv_score])
@pytest.mark.parametrize(
    ("y", "votes", "error", "message"),
    [
        ([0, 1], [[1, 0], [0, -1]], ValueError, r"votes\[1, 1\] is -1.0; votes must be at least 0"),
        ([0, 1], [[1, 0], [0, math.nan]], ValueError, r"votes\[1, 1\] is nan"),
        ([0, 1], [[1, 0], [0, math.inf]], ValueError, r"votes\[1, 1\] is inf"),
        ([0, 1], [[1, 0]], ValueError, r"votes must have shape \(2, 2\).*got shape \(1, 2\)"),
        ([0, 1], [[1, 0, 0], [0, 1, 0]], ValueError, r"votes must have shape \(2, 2\)"),
        ([0, 1], [0, 1], ValueError, r"must have shape \(2, 2\), .*, got shape \(2,\)"),
        ([0, 1], [["a", "b"], ["c", "d"]], TypeError, "votes must hold real numbers"),
        ([0, 1], [[1, 0], [0]], ValueError, "votes must hold real numbers"),
        ([], np.empty((0, 0)), ValueError, r"shape \(0, 0\)"),
        ([0.5, 1], [[1, 0], [0, 1]], TypeError, "class labels must be whole numbers"),
        ([None, 1], [[1, 0], [0, 1]], ValueError, "missing"),
    ],
)
def test_wrong_arguments_of_scores(score, y, votes, error, message):
    with pytest.raises(error, match=message):
        score(y, votes)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kernel", VOTE_WEIGHTINGS)
def test_loo_votes_are_the_reference_and_scikit_learns(kernel, seed):
    """scikit-learn accepts distances, and a function for the weights."""
    rng = np.random.default_rng(seed)
    n_items, k, avgk = int(rng.integers(9, 25)), int(rng.integers(1, 8)), bool(seed % 2)
    y = np.array(["b", "a", "d"])[rng.integers(0, 3, n_items)]
    D = rng.random((n_items, n_items))
    np.fill_diagonal(D, 0)
    w_k = float(rng.random())
    setting = {} if kernel == "majority" else {"w_k": w_k, "avgk": avgk}
    found = loo_votes(Neighbors.from_distances(D), y, k, kernel, **setting)

    def weights(distances):
        return np.array([naive_rib.voting_weights(row, kernel, **setting) for row in distances.tolist()])

    peer = KNeighborsClassifier(k, weights=weights, metric="precomputed").fit(D, y)
    np.testing.assert_allclose(found, peer.predict_proba(None), atol=1e-12)
    lists = naive_rib.neighbor_lists(D.tolist(), k)
    full = (k, kernel, w_k, avgk) if setting else (k, kernel, None, False)
    right, confidence = naive_rib.evaluate(lists, y.tolist(), full, "smallest")
    assert cvc_score(y, found) == pytest.approx(naive_rib.cvc_of_all(right, confidence, n_items), rel=1e-12)
    assert lcv_score(y, found) == right / n_items == (peer.predict(None) == y).mean()


def test_scores_take_what_cross_val_predict_gives():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 3
    X = rng.normal(size=(40, 2)) + y[:, None]
    peer = cross_val_predict(KNeighborsClassifier(5), X, y, cv=LeaveOneOut(), method="predict_proba")
    votes = loo_votes(X, y, 5)
    np.testing.assert_allclose(votes, peer, atol=1e-15)
    assert lcv_score(y, peer) == np.mean(peer.argmax(axis=1) == y)
    assert cvc_score(y, peer) == pytest.approx(cvc_score(y, votes), rel=1e-14)


def test_loo_votes_of_arrays_and_neighbors_agree():
    wine = load_wine()
    near = Neighbors.from_data(wine.X)
    one, same = (loo_votes(source, wine.y, 7, "gaussian", w_k=0.1) for source in (wine.X, near))
    assert (one == same).all()
    np.testing.assert_allclose(one.sum(axis=1), 1)
    assert (loo_votes(near, wine.y, 7, "gaussian", w_k=0.1, n_jobs=1) == one).all()
    listed = Neighbors.from_lists(near.kneighbors(7)[0])  # without distances
    assert (loo_votes(listed, wine.y, 7) == loo_votes(near, wine.y, 7)).all()
    assert loo_votes(listed, wine.y, 3, "linear", w_k=0.5)[0, 0] == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, "linear"), ValueError, "w_k of kernel 'linear' must be between 0 and 1, got None"),
        ((0,), ValueError, "n_neighbors must be between 1 and 4"),
        ((5,), ValueError, "n_neighbors must be between 1 and 4"),
        ((2.0,), TypeError, "n_neighbors must be an integer"),
        ((2, "votes"), ValueError, "kernel must be one of"),
    ],
)
def test_wrong_arguments_of_loo_votes(arguments, error, message):
    with pytest.raises(error, match=message):
        loo_votes(np.arange(5.0)[:, None], [0, 1, 0, 1, 0], *arguments)
    with pytest.raises(ValueError, match="X has 5 samples, but y has 4 labels"):
        loo_votes(np.arange(5.0)[:, None], [0, 1, 0, 1])


def test_similarities_are_no_distances():
    """They order the neighbors, which is enough for majority votes, but their ratios are not weights."""
    near = Neighbors.from_distances([[0, -3.0, -1], [-2, 0, -1], [-2, -1, 0]])
    assert loo_votes(near, [0, 1, 1], 1).tolist() == [[0, 1], [1, 0], [1, 0]]
    with pytest.raises(ValueError, match=r"distances must be between 0 and 1e[+]300, got -3.0 in row 0"):
        loo_votes(near, [0, 1, 1], 1, "linear", w_k=0.5)


def test_scores_need_no_scikit_learn_and_the_estimator_names_it():
    code = (
        "import sys\n"
        "sys.modules['sklearn'] = None\n"
        "from knnccv import rib\n"
        "assert round(rib.cvc_score(['a', 'b'], [[2, 1], [1, 3]]), 6) == 0.902778\n"
        "assert rib.loo_votes([[0.0], [1.0], [3.0]], [0, 1, 1], 1).tolist() == [[0, 1], [1, 0], [0, 1]]\n"
        "assert 'RIBClassifier' in dir(rib) and not hasattr(rib, 'Nothing')\n"
        "try:\n"
        "    from knnccv.rib import RIBClassifier\n"
        "except ImportError as error:\n"
        "    assert str(error) == \"knnccv.rib needs scikit-learn: pip install 'knnccv[sklearn]'\", error\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
