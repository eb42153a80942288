"""The enumeration itself, by hand; `tests/sklearn/test_enumeration.py` draws its folds by scikit-learn."""

from fractions import Fraction as F
from itertools import permutations

import naive
import numpy as np
import pytest


def line(*positions):
    """Return the distances between points on a line."""
    return [[abs(p - q) for q in positions] for p in positions]


def problem(seed, n_items, n_classes, n_distances):
    """Return asymmetric dissimilarities and labels; few distinct distances make many ties."""
    rng = np.random.default_rng(seed)
    D = rng.integers(n_distances, size=(n_items, n_items))
    y = np.arange(n_items) % n_classes
    rng.shuffle(y)
    return D, y


VARIANTS = [
    ("nn", {}),
    ("nn", {"loss": [[0, 3, 1], [2, F(1, 2), 0], [1, 1, 0]]}),
    ("knn", {"n_neighbors": 2}),
    ("knn", {"n_neighbors": 3}),
    ("knn", {"n_neighbors": 3, "loss": [[0, 3, 1], [2, 0, 0], [1, 1, 0]]}),
    ("rank", {"rank": 2}),
]


def test_neighbor_order_cuts_ties_and_leaves_out_the_item():
    order, groups = naive.neighbor_order([2, 0, 9, 1, 2, 1], 2)
    assert order == [1, 3, 5, 0, 4]
    assert groups == [[1], [3, 5], [0, 4]]


def test_three_items_by_hand():
    # Points 0, 1, 3 of classes a, a, b. Nearest: 0 -> 1 (a, right), 1 -> 0 (a, right),
    # 3 -> 1 (a, wrong). Score 2/3; class means 1 and 0.
    D, y = line(0, 1, 3), ["a", "a", "b"]
    two = naive.subsample(3, 2)
    assert naive.per_item(D, y, "nn", two) == [1, 1, 0]
    assert naive.complete(D, y, "nn", two) == naive.complete(D, y, "nn", two, "item") == F(2, 3)
    assert naive.complete(D, y, "nn", two, "class") == F(1, 2)
    assert naive.complete(D, y, "nn", two, {"a": F(1, 4), "b": F(3, 4)}) == F(1, 4)
    assert naive.confusion(D, y, "nn", two) == [[F(2, 3), 0], [F(1, 3), 0]]
    # T = {0}: 1 right, 3 wrong. T = {1}: 0 right, 3 wrong. T = {3}: both wrong. 2 of 6 are right.
    one = naive.subsample(3, 1)
    assert naive.per_item(D, y, "nn", one) == [F(1, 2), F(1, 2), 0]
    assert naive.complete(D, y, "nn", one) == F(2, 6)
    assert naive.complete(D, y, "nn", one, "class") == F(1, 4)
    assert naive.training_sets(one) == 3
    runs = naive.run_scores(naive.scores(D, y, "nn", one), y, one)
    assert runs == [F(1, 2), F(1, 2), 0]
    assert naive.variance(runs) == F(1, 18)
    # With 5 for calling an a "b" and 1 for calling a b "a": T = {0}: 0 + 1. T = {1}: 0 + 1. T = {3}: 5 + 5.
    loss = np.array([[0, 5], [1, 0]])
    assert naive.complete(D, y, "nn", one, loss=loss) == 2
    assert naive.complete(D, y, "knn", one, n_neighbors=1, loss=loss) == 2
    assert naive.per_item(D, y, "nn", one, loss=loss) == [F(5, 2), F(5, 2), 1]
    # A rule as a function: the distance of the nearest.
    assert naive.per_item(D, y, lambda *asked: asked[1][0], two, n_nearest=1) == [1, 1, 2]


def test_row_is_the_tested_item():
    # Row 0: sample 1 (a) is nearer, right. Row 1: sample 2 (b) is nearer, wrong. Row 2: always wrong.
    D = [[7, 1, 2], [5, 7, 4], [1, 2, 7]]
    assert naive.per_item(D, ["a", "a", "b"], "nn", naive.leave_out(3, 1)) == [1, 0, 0]


def test_tied_distances_by_hand():
    # All distances equal, classes a, a, b, train on two. By index: 0 -> 1 (a, right),
    # 1 -> 0 (a, right), 2 -> 0 (wrong). At random: samples 0 and 1 are right half of the time.
    D, y = [[1] * 3] * 3, ["a", "a", "b"]
    design = naive.leave_out(3, 1)
    assert naive.per_item(D, y, "nn", design, "index") == [1, 1, 0]
    assert naive.per_item(D, y, "nn", design, "random") == [F(1, 2), F(1, 2), 0]
    assert naive.complete(D, y, "nn", design, ties="index") == F(2, 3)
    assert naive.complete(D, y, "nn", design, ties="random") == F(1, 3)


def test_tied_group_across_the_last_place_by_hand():
    # Sample 0 (a) is tested from a, b, b at one distance with K = 2. By index a and b vote: a tied
    # vote, a wins. At random the two are {a, b} twice in three (right) and {b, b} once (wrong).
    y, groups = ["a", "a", "b", "b"], [[1, 2, 3]]
    two = {"n_neighbors": 2}
    assert naive.expected_over_ties("knn", groups, y, 0, two, "index") == 1
    assert naive.expected_over_ties("knn", groups, y, 0, two, "random") == F(2, 3)
    # One nearer b and then two of a, b tied, K = 2: b with a (right) or b with b (wrong).
    assert naive.expected_over_ties("knn", [[3], [1, 2]], y, 0, two, "random") == F(1, 2)


def test_tied_vote_goes_to_the_smallest_label():
    # Train on the three others, K = 3. Sample 0 (a): b, c, a all one vote -> a, right.
    # Sample 1 (b): a, c, a -> a, wrong. Sample 2 (c): a, b, a -> wrong. Sample 3 (a): a, b, c -> right.
    D = line(0, 1, 3, 7)
    design = naive.leave_out(4, 1)
    assert naive.per_item(D, list("abca"), "knn", design, n_neighbors=3) == [1, 0, 0, 1]
    # Labels a, b, c, c: b c c -> c; a c c -> c; a b c -> a; a b c -> a: all wrong.
    assert naive.complete(D, list("abcc"), "knn", design, n_neighbors=3) == 0
    # The nearest sample has no casting vote: K = 2 on b then a elects a.
    assert naive.score_one("knn", [1, 0], list("aba"), 2, {"n_neighbors": 2}) == 1


def test_rank_by_hand():
    # Points 0, 1, 2.5, 6 of classes a, b, b, a. Labels met: sample 0: b b a; sample 1: a b a;
    # sample 2: b a a; sample 3: b b a. The first right one is third, second, first, third.
    D, y = line(0, 1, 2.5, 6), list("abba")
    design = naive.leave_out(4, 1)
    by_rank = [naive.complete(D, y, "rank", design, rank=R) for R in (1, 2, 3, 10)]
    assert by_rank == [F(1, 4), F(2, 4), 1, 1]
    # One training sample, R = 3: right for the 4 of 12 ordered pairs with equal labels.
    assert naive.complete(D, y, "rank", naive.subsample(4, 1), rank=3) == F(4, 12)


def test_stratified_by_hand():
    # a: 0 and 2; b: 3, 7 and 8; one training sample of each class.
    # T       tested and right (+) or wrong (-)
    # 0 3     2-  7+  8+
    # 0 7     2+  3-  8+
    # 0 8     2+  3-  7+
    # 2 3     0+  7+  8+
    # 2 7     0+  3-  8+
    # 2 8     0+  3-  7+
    D, y = line(0, 2, 3, 7, 8), list("aabbb")
    design = naive.stratified(y, {"a": 1, "b": 1})
    assert naive.training_sets(design) == 6
    assert naive.per_item(D, y, "nn", design) == [1, F(2, 3), 0, 1, 1]
    assert naive.complete(D, y, "nn", design, "pooled") == F(13, 18)
    assert naive.complete(D, y, "nn", design, "item") == F(11, 15)
    assert naive.complete(D, y, "nn", design, "class") == F(3, 4)


def test_items_that_are_never_tested_are_left_out():
    # All of class b is in T. T = {0, 3}: 1 is nearer 0, right. T = {1, 3}: 0 is nearer 1, right.
    D, y = line(0, 1, 3), ["a", "a", "b"]
    design = naive.stratified(y, {"a": 1, "b": 1})
    assert naive.per_item(D, y, "nn", design) == [1, 1, None]
    assert [naive.complete(D, y, "nn", design, a) for a in ("pooled", "item", "class")] == [1] * 3
    assert naive.item_weights(y, design, "class") == [F(1, 2), F(1, 2), 0]


def test_one_more_sample_of_a_random_class():
    # One of the classes a and b gets a second training sample: T = {0, 1, 2} or {0, 2, 3}, {0, 2, 4}, ...
    design = naive.one_more("aabbb", {"a": 1, "b": 1}, ["a", "b"], 1)
    sets = [sorted(T) for (T,) in design.outcomes]
    assert len(sets) == 12
    assert sum(set(T) >= {0, 1} for T in sets) == 6  # as often as two of b, which stand once for each of a
    assert sets.count([0, 1, 2]) == 2
    assert sets.count([0, 2, 3]) == 1


def test_ranges_and_ties_by_hand():
    # Samples 1 (a) and 2 (b) tie for sample 0 (a); the others have one nearest.
    D, y = [[0, 1, 1], [1, 0, 2], [1, 2, 0]], ["a", "a", "b"]
    design = naive.leave_out(3, 1)
    assert naive.tied_items(D, y, design, 1, 3) == 1
    assert naive.tied_items(D, y, design, 1, 1) == 0
    assert naive.tied_items(D, y, naive.subsample(3, 1), 1, 3) == 1
    assert naive.extremes(D, y, "nn", design) == ([0, 1, 0], [1, 1, 0])


@pytest.mark.parametrize(("variant", "params"), VARIANTS)
def test_random_ties_are_the_mean_over_row_orders(variant, params):
    D, y = problem(5, 5, 3, 2)
    for design in (naive.subsample(5, 3), naive.kfold(5, 3)):
        by_index = []
        for p in permutations(range(5)):
            rows = np.array(p)
            args = (D[np.ix_(rows, rows)], y[rows], variant, design, "pooled", "index")
            by_index.append(naive.complete(*args, **params))
        assert naive.complete(D, y, variant, design, **params) == naive.mean(by_index)
