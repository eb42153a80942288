"""Weights, votes, CVC and LCV against the equations written out, and against scikit-learn."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from fractions import Fraction

import naive_rib
import numpy as np
import pytest
from seeds import over_seeds, seeds
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors
from knnccv.datasets import load_wine
from knnccv.rib import cvc_score, lcv_score, loo_votes, vote_weights
from knnccv.rib._search import Grid, sweep
from knnccv.rib._votes import VoteLists

# The public searches tell the best setting alone: a fault in any other is seen in the sweep.

KERNELS = naive_rib.VOTE_WEIGHTINGS
WEIGHTED = KERNELS[1:]
BOTH = (False, True)
IRREGULAR = np.array([0.0, 1e-300, 1e-9, 0.0625, 1 / 3, 0.5, 0.5000001, 0.9, 1.0])
MANY = [np.arange(26) / 25, IRREGULAR, np.array([0.37]), np.array([0.0, 1.0]), np.arange(1001) / 1000]


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


def swept(distances, items, codes, *grid, **options):
    lists = VoteLists.of(items, distances, codes, codes[: len(items)])
    return sweep(lists, Grid(*map(np.array, grid)), **options)


def test_weights_are_the_equations():
    for seed, kernel, avgk in itertools.product(seeds(20), KERNELS, BOTH):
        rng = np.random.default_rng(seed)
        rows = np.array([distances_row(rng, int(seed % 11) + 1) for _ in range(5)])
        for w_k in (*IRREGULAR, *rng.random(3)) if kernel != "majority" else (None,):
            found = vote_weights(rows, kernel, w_k=w_k, avgk=avgk and w_k is not None)
            expected = [naive_rib.voting_weights(row, kernel, w_k, avgk) for row in rows.tolist()]
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13, err_msg=f"seed {seed}")


def test_vanishing_weights_are_the_limit_of_small_ones():
    """At w_k = 0 the shares of the votes are those of w_k = 1e-300 (and of 1e-15 for the line)."""
    rows = [2.0], [2.0, 2.0], [1.0, 2.0, 3.0], [1.0, 1.0, 3.0], [0.0, 0.0, 1.0], [0.0, 0.0], [2.0, 2.0, 2.0]
    for kernel, avgk, row in itertools.product(WEIGHTED, BOTH, rows):
        nearly = 1e-15 if kernel == "linear" else 1e-300
        limit, near = (vote_weights([row], kernel, w_k=w_k, avgk=avgk)[0] for w_k in (0.0, nearly))
        assert limit.sum() > 0
        np.testing.assert_allclose(limit / limit.sum(), near / near.sum(), atol=1e-12)


def test_lines_between_distances_that_are_nearly_the_same():
    """1 - D_j / D_k has no correct digit; (D_k - D_j) / D_k has only correct ones."""
    row = [3.0]
    for _ in range(4):
        row.insert(0, math.nextafter(row[0], 0.0))
    exact = [(Fraction(row[-1]) - Fraction(d)) / Fraction(row[-1]) for d in row]
    found = vote_weights([row], "linear", w_k=0.0)[0]
    assert found == pytest.approx([float(w) for w in exact], rel=1e-14)
    codes, items = np.array([0, 1, 0, 1, 1, 0]), np.array([[1, 2, 3, 4, 5]], np.int32)
    right, confidence = swept(np.array([row]), items, codes, [5], [1], [False], [0.0])
    own = sum(exact[j] for j in range(5) if codes[items[0, j]] == 0)
    assert confidence.item() == pytest.approx(float(own / sum(exact)), rel=1e-13)
    assert right.item() == 0


@over_seeds(10)
def test_every_setting_of_a_sweep_is_the_reference(seeds):
    for seed in seeds:
        w_ks, vote_ties = MANY[seed % 5], ("nearest", "smallest")[seed % 2]
        distances, items, codes = some_lists(seed, n_rows=6 if len(w_ks) < 100 else 1)
        ks = np.arange(1, items.shape[1] + 1)[:: 1 if len(w_ks) < 100 else 4]
        grid = ks, np.arange(4), BOTH, w_ks
        right, confidence = swept(
            distances, items, codes, *grid, nearest_first=vote_ties == "nearest", n_jobs=1
        )
        lists = [
            list(zip(d, i, strict=True)) for d, i in zip(distances.tolist(), items.tolist(), strict=True)
        ]
        for at in np.ndindex(right.shape):
            k, kernel, avgk, w_k = (values[place] for values, place in zip(grid, at, strict=True))
            if kernel == 0 and at[2:] != (0, 0):  # majority votes do not depend on the last two
                assert (right[at], confidence[at]) == (right[*at[:2], 0, 0], confidence[*at[:2], 0, 0]), (
                    seed
                )
                continue
            setting = int(k), KERNELS[kernel], float(w_k), avgk
            expected = naive_rib.evaluate(lists, codes.tolist(), setting, vote_ties)
            assert right[at] == expected[0], (seed, setting)
            assert confidence[at] == pytest.approx(expected[1], abs=1e-12), (seed, setting)


def own_confidence(votes, y):
    return [row[c] / sum(row) for row, c in zip(votes, y, strict=True)]


def test_cvc_is_its_two_equations():
    for seed in seeds(10):
        rng = np.random.default_rng(seed)
        n, n_classes = int(rng.integers(1, 12)), int(rng.integers(1, 4))
        y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n)]
        votes = rng.integers(0, 4, (len(y), n_classes)) + (rng.random((len(y), 1)) < 0.9)
        votes[votes.sum(axis=1) == 0] = 1
        conf = own_confidence(votes.tolist(), y.tolist())
        cv = [row.index(max(row)) == c for row, c in zip(votes.tolist(), y.tolist(), strict=True)]
        each = [naive_rib.cvc_of_one(*both, len(y)) for both in zip(cv, conf, strict=True)]
        whole = naive_rib.cvc_of_all(sum(cv), sum(conf) / len(y), len(y))
        assert sum(each) / len(y) == pytest.approx(whole, rel=1e-13), seed
        for labels in (y, np.array(["ant", "bee", "cat"])[y]):
            assert cvc_score(labels, votes) == pytest.approx(whole, rel=1e-13), seed
            assert lcv_score(labels, votes.tolist()) == sum(cv) / len(y), seed
        shares = votes * rng.uniform(0.1, 1e3, (len(y), 1))
        assert cvc_score(y, shares) == pytest.approx(whole, rel=1e-12), seed


def test_loo_votes_are_the_reference_and_scikit_learns():
    """scikit-learn accepts distances, and a function for the weights."""
    for seed, kernel in itertools.product(seeds(6), KERNELS):
        rng = np.random.default_rng(seed)
        n_items, k = int(rng.integers(9, 25)), int(rng.integers(1, 8))
        y = np.array(["b", "a", "d"])[rng.integers(0, 3, n_items)]
        D = rng.random((n_items, n_items))
        np.fill_diagonal(D, 0)
        w_k, avgk = float(rng.random()), bool(seed % 2)
        setting = {} if kernel == "majority" else {"w_k": w_k, "avgk": avgk}
        found = loo_votes(Neighbors.from_distances(D), y, k, kernel, **setting)

        def weights(distances, kernel=kernel, setting=setting):
            return np.array(
                [naive_rib.voting_weights(row, kernel, **setting) for row in distances.tolist()]
            )

        peer = KNeighborsClassifier(k, weights=weights, metric="precomputed").fit(D, y)
        np.testing.assert_allclose(found, peer.predict_proba(None), atol=1e-12, err_msg=f"seed {seed}")
        lists = naive_rib.neighbor_lists(D.tolist(), k)
        right, confidence = naive_rib.evaluate(lists, y.tolist(), (k, kernel, w_k, avgk), "smallest")
        whole = naive_rib.cvc_of_all(right, confidence, n_items)
        assert cvc_score(y, found) == pytest.approx(whole, rel=1e-12), seed
        assert lcv_score(y, found) == right / n_items, seed


def test_loo_votes_of_arrays_neighbors_and_cross_val_predict_agree():
    wine = load_wine()
    near = Neighbors.from_data(wine.X)
    one, same = (loo_votes(source, wine.y, 7, "gaussian", w_k=0.1) for source in (wine.X, near))
    assert (one == same).all()
    assert (loo_votes(near, wine.y, 7, "gaussian", w_k=0.1, n_jobs=1) == one).all()
    listed = Neighbors.from_lists(near.kneighbors(7)[0])  # without distances
    assert (loo_votes(listed, wine.y, 7) == loo_votes(near, wine.y, 7)).all()
    assert loo_votes(listed, wine.y, 3, "linear", w_k=0.5)[0, 0] == 1
    X, y = wine.X[::3], wine.y[::3]
    peer = cross_val_predict(KNeighborsClassifier(5), X, y, cv=LeaveOneOut(), method="predict_proba")
    np.testing.assert_allclose(loo_votes(X, y, 5), peer, atol=1e-15)
    assert lcv_score(y, peer) == np.mean(np.unique(y)[peer.argmax(axis=1)] == y)


@pytest.mark.slow
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
        "    assert 'scikit-learn: pip install \"knnccv[sklearn]\"' in str(error), error\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
