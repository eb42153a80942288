"""Tests of the enumeration itself: by hand, by the papers' formulas, and against scikit-learn."""

import warnings
from fractions import Fraction as F
from itertools import pairwise, permutations, product
from math import comb, factorial, prod

import naive
import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold


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


def untied(seed, n_items, n_classes):
    """Return a problem in which no two samples of a row tie."""
    rng = np.random.default_rng(seed)
    D = np.array([rng.permutation(n_items) for _ in range(n_items)])
    return D, problem(seed, n_items, n_classes, 2)[1]


def orders(D):
    return [naive.neighbor_order(row, x)[0] for x, row in enumerate(D)]


def binomial(n, r):
    return comb(n, r) if 0 <= r <= n else 0


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


def test_three_items_train_on_two():
    # Points 0, 1, 3 of classes a, a, b. Nearest: 0 -> 1 (a, right), 1 -> 0 (a, right),
    # 3 -> 1 (a, wrong). Score 2/3; class means 1 and 0.
    D, y = line(0, 1, 3), ["a", "a", "b"]
    design = naive.subsample(3, 2)
    assert naive.per_item(D, y, "nn", design) == [1, 1, 0]
    assert naive.complete(D, y, "nn", design) == F(2, 3)
    assert naive.complete(D, y, "nn", design, "item") == F(2, 3)
    assert naive.complete(D, y, "nn", design, "class") == F(1, 2)


def test_three_items_train_on_one():
    # T = {0}: 1 right, 3 wrong. T = {1}: 0 right, 3 wrong. T = {3}: both wrong. 2 of 6 are right.
    D, y = line(0, 1, 3), ["a", "a", "b"]
    design = naive.subsample(3, 1)
    assert naive.per_item(D, y, "nn", design) == [F(1, 2), F(1, 2), 0]
    assert naive.complete(D, y, "nn", design) == F(2, 6)
    assert naive.complete(D, y, "nn", design, "class") == F(1, 4)
    assert naive.training_sets(design) == 3


def test_loss_by_hand():
    # As above with 5 for calling an a "b" and 1 for calling a b "a":
    # T = {0}: 0 + 1. T = {1}: 0 + 1. T = {3}: 5 + 5. Mean 12/6.
    D, y = line(0, 1, 3), ["a", "a", "b"]
    loss = np.array([[0, 5], [1, 0]])
    assert naive.complete(D, y, "nn", naive.subsample(3, 1), loss=loss) == 2
    assert naive.complete(D, y, "knn", naive.subsample(3, 1), n_neighbors=1, loss=loss) == 2
    assert naive.per_item(D, y, "nn", naive.subsample(3, 1), loss=loss) == [F(5, 2), F(5, 2), 1]


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


@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_one_neighbor_is_knn_with_one_and_rank_one(seed, ties):
    D, y = problem(seed, 7, 3, 4)
    alphas = dict(zip(*(a.tolist() for a in np.unique(y, return_counts=True)), strict=True))
    alphas = {c: max(1, n - 1) for c, n in alphas.items()}
    for design in (naive.subsample(7, 3), naive.stratified(y, alphas), naive.kfold(7, 3)):
        for average in ("pooled", "item", "class"):
            expected = naive.complete(D, y, "nn", design, average, ties)
            assert naive.complete(D, y, "knn", design, average, ties, n_neighbors=1) == expected
            assert naive.complete(D, y, "rank", design, average, ties, rank=1) == expected


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


@pytest.mark.parametrize(("variant", "params"), VARIANTS)
@pytest.mark.parametrize("average", ["pooled", "item", "class"])
def test_score_is_the_weighted_sum_of_the_items(variant, params, average):
    D, y = problem(6, 7, 3, 3)
    designs = (
        naive.subsample(7, 4),
        naive.leave_out(7, 2),
        naive.stratified(y, {0: 3, 1: 1, 2: 1}),
        naive.kfold(7, 3),
        naive.stratified_kfold(y, 2),
    )
    for design in designs:
        weights = naive.item_weights(y, design, average)
        A = naive.per_item(D, y, variant, design, average=average, **params)
        total = sum(w * a for w, a in zip(weights, A, strict=True) if w)
        assert sum(weights) == 1
        assert total == naive.complete(D, y, variant, design, average, **params)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [1, 3, 6])
def test_icml_eq_4_and_11(n_classes, alpha):
    N = 7
    D, y = untied(alpha, N, n_classes)
    design = naive.subsample(N, alpha)
    for R in (1, 2, 3):
        expected = []
        for x, order in enumerate(orders(D)):
            A_x = wrong = 0
            for i, j in enumerate(order, start=1):
                if y[j] == y[x]:
                    A_x += sum(
                        binomial(N - i - 1, alpha - r) * binomial(wrong, r - 1) for r in range(1, R + 1)
                    )
                else:
                    wrong += 1
            expected.append(F(A_x, comb(N - 1, alpha)))
        assert naive.per_item(D, y, "rank", design, rank=R) == expected
    first = naive.per_item(D, y, "rank", design, rank=1)
    assert naive.per_item(D, y, "nn", design) == first


@pytest.mark.parametrize("alphas", [(1, 1, 1), (2, 1, 0), (2, 2, 1), (1, 3, 2)])
def test_icml_eq_8(alphas):
    D, y = untied(3, 8, 3)
    sizes = [int(np.sum(y == c)) for c in range(3)]
    design = naive.stratified(y, dict(enumerate(alphas)))
    assert naive.training_sets(design) == prod(map(comb, sizes, alphas))
    for x, (order, A_x) in enumerate(zip(orders(D), naive.per_item(D, y, "nn", design), strict=True)):
        total = 0
        for i, j in enumerate(order):
            farther = [sum(y[m] == c for m in order[i + 1 :]) for c in range(3)]
            chosen = [alphas[c] - (c == y[j]) for c in range(3)]
            total += (y[j] == y[x]) * prod(map(binomial, farther, chosen))
        if alphas[y[x]] == sizes[y[x]]:
            assert A_x is None
            continue
        available = [sizes[c] - (c == y[x]) for c in range(3)]
        assert A_x == F(int(total), prod(map(binomial, available, alphas)))


@pytest.mark.parametrize(("alpha", "K"), [(3, 1), (3, 3), (5, 3), (6, 5)])
def test_icml_eq_9_and_10(alpha, K):
    N = 8
    D, y = untied(alpha, N, 2)
    A = naive.per_item(D, y, "knn", naive.subsample(N, alpha), n_neighbors=K)
    for x, order in enumerate(orders(D)):
        total = 0
        for i, j in enumerate(order, start=1):
            own = int(y[j] == y[x])
            g_own = sum(int(y[m] == y[x]) for m in order[: i - 1])
            g_other = i - 1 - g_own
            total += sum(
                binomial(g_own, s - own)
                * binomial(g_other, K - s - (1 - own))
                * binomial(N - i - 1, alpha - K)
                for s in range((K + 1) // 2, K + 1)
            )
        assert A[x] == F(total, comb(N - 1, alpha))


@pytest.mark.parametrize(("variant", "params"), VARIANTS)
@pytest.mark.parametrize(("N", "k"), [(5, 2), (7, 3), (6, 3), (5, 5)])
def test_kfold_is_a_mixture_of_two_training_sizes(N, k, variant, params):
    D, y = problem(N + k, N, 3, 3)
    if variant == "knn" and N - -(-N // k) < params["n_neighbors"]:
        with pytest.raises(ValueError, match="knn needs 3 training samples, T has 2"):
            naive.complete(D, y, variant, naive.kfold(N, k), **params)
        return
    q, r = divmod(N, k)
    smaller = naive.complete(D, y, variant, naive.subsample(N, N - q), **params)
    larger = 0
    if r:
        larger = naive.complete(D, y, variant, naive.subsample(N, N - q - 1), **params)
    design = naive.kfold(N, k)
    pooled = F(r, k) * larger + F(k - r, k) * smaller
    item = F(r * (q + 1), N) * larger + F((k - r) * q, N) * smaller
    assert naive.complete(D, y, variant, design, "pooled", **params) == pooled
    assert naive.complete(D, y, variant, design, "item", **params) == item
    assert naive.training_sets(design) == comb(N, q) + (comb(N, q + 1) if r else 0)


def test_kfold_is_the_mean_over_all_shuffles():
    D, y = untied(8, 6, 2)
    nearest = orders(D)
    for k in (2, 4):
        stops = np.cumsum([0, *naive.kfold_sizes(6, k)])
        by_fold, by_item = [], []
        for p in permutations(range(6)):
            folds = [p[a:b] for a, b in pairwise(stops)]
            right = [
                [int(y[next(j for j in nearest[x] if j not in fold)] == y[x]) for x in fold]
                for fold in folds
            ]
            by_fold.append(naive.mean([naive.mean(fold) for fold in right]))
            by_item.append(F(sum(map(sum, right)), 6))
        design = naive.kfold(6, k)
        assert naive.complete(D, y, "nn", design) == naive.mean(by_fold)
        assert naive.complete(D, y, "nn", design, "item") == naive.mean(by_item)


def test_allocation_by_hand():
    # Order of first appearance b, a; sorted codes 0 0 1 1 1; fold 0 takes places 0, 2, 4.
    assert naive.stratified_allocation(list("bbaaa"), 2) == [[1, 2], [1, 1]]
    # One a, three c, one b: the table depends on which class appears first.
    # a b c c c -> fold 0: a c c, fold 1: b c. a c c c b -> fold 0: a c b, fold 1: c c.
    assert naive.stratified_allocation(list("abccc"), 2) == [[1, 0, 2], [0, 1, 1]]
    assert naive.stratified_allocation(list("acccb"), 2) == [[1, 1, 1], [0, 2, 0]]


def test_stratified_kfold_is_the_mean_over_all_shuffles_of_the_fold_labels():
    D, y = untied(9, 7, 2)
    nearest, k = orders(D), 3
    allocation = naive.stratified_allocation(y, k)
    members = [np.flatnonzero(y == c) for c in dict.fromkeys(y.tolist())]
    dealt = [
        sorted(set(permutations(i for i in range(k) for _ in range(allocation[i][c])))) for c in range(2)
    ]
    by_fold, by_item = [], []
    for labels in product(*dealt):
        fold_of = np.empty(7, dtype=int)
        for items, fold_labels in zip(members, labels, strict=True):
            fold_of[items] = fold_labels
        right = [int(y[next(j for j in nearest[x] if fold_of[j] != fold_of[x])] == y[x]) for x in range(7)]
        by_item.append(F(sum(right), 7))
        by_fold.append(
            naive.mean([naive.mean([right[x] for x in np.flatnonzero(fold_of == i)]) for i in range(k)])
        )
    design = naive.stratified_kfold(y, k)
    assert naive.complete(D, y, "nn", design) == naive.mean(by_fold)
    assert naive.complete(D, y, "nn", design, "item") == naive.mean(by_item)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize(("variant", "params"), VARIANTS)
def test_stratified_kfold_is_a_mixture_of_stratified_designs(k, variant, params):
    D, y = problem(k, 8, 3, 3)
    classes = list(dict.fromkeys(y.tolist()))
    by_fold = []
    for row in naive.stratified_allocation(y, k):
        alphas = {c: int(np.sum(y == c)) - t for c, t in zip(classes, row, strict=True)}
        by_fold.append(naive.complete(D, y, variant, naive.stratified(y, alphas), **params))
    actual = naive.complete(D, y, variant, naive.stratified_kfold(y, k), **params)
    assert actual == naive.mean(by_fold)


def sklearn_folds(splitter, y):
    """Return scikit-learn's test folds, in its order."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return [frozenset(test.tolist()) for _, test in splitter.split(np.zeros(len(y)), y)]


def enumerated(design):
    """Return the set of partitions into test folds, folds unordered."""
    S = frozenset(range(design.n_items))
    return {frozenset(S - T for T in outcome) for outcome in design.outcomes}


@pytest.mark.parametrize(("N", "k", "n_seeds"), [(5, 2, 150), (5, 3, 150), (7, 3, 40), (6, 6, 5)])
def test_sklearn_kfold_is_enumerated(N, k, n_seeds):
    possible = enumerated(naive.kfold(N, k))
    seen = set()
    for seed in range(n_seeds):
        folds = sklearn_folds(KFold(k, shuffle=True, random_state=seed), np.zeros(N))
        assert [len(fold) for fold in folds] == naive.kfold_sizes(N, k)
        seen.add(frozenset(folds))
    assert seen <= possible
    if n_seeds == 150:
        assert seen == possible


@pytest.mark.parametrize(
    ("y", "k"),
    [("bbaaa", 2), ("abccc", 2), ("acccb", 2), ("cabacbabc", 3), ("aaaabbcbb", 4), ("bbbaaa", 3)],
)
def test_sklearn_stratified_kfold_is_enumerated(y, k):
    y = np.array(list(y))
    possible = enumerated(naive.stratified_kfold(y, k))
    allocation = naive.stratified_allocation(y, k)
    classes = list(dict.fromkeys(y.tolist()))
    seen = set()
    for seed in range(100):
        folds = sklearn_folds(StratifiedKFold(k, shuffle=True, random_state=seed), y)
        counts = [[sum(y[x] == c for x in fold) for c in classes] for fold in folds]
        assert counts == allocation
        seen.add(frozenset(folds))
    assert seen <= possible
    if len(possible) <= 10:
        assert seen == possible


def test_partitions_are_listed_once():
    # 7 samples in folds of 3, 2, 2: 7! / (3! 2! 2!) labeled deals, the two equal folds exchangeable.
    design = naive.kfold(7, 3)
    assert len(design.outcomes) == len(enumerated(design)) == factorial(7) // (6 * 2 * 2) // 2
    # Classes of 4 and 3 in two folds: codes 0 0 0 0 1 1 1 give (2, 2) and (2, 1): C(4,2) C(3,2).
    design = naive.stratified_kfold([0, 1, 0, 1, 0, 1, 0], 2)
    assert len(design.outcomes) == len(enumerated(design)) == 18


@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_leave_one_out_is_a_plain_loop(K):
    rng = np.random.default_rng(K)
    X, y = rng.normal(size=(9, 2)), rng.integers(3, size=9)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    right = 0
    for x in range(9):
        distances = D[x].copy()
        distances[x] = np.inf
        votes = np.bincount(y[np.argsort(distances)[:K]], minlength=3)
        right += int(np.argmax(votes) == y[x])
    for design in (naive.leave_out(9, 1), naive.subsample(9, 8), naive.kfold(9, 9)):
        assert naive.training_sets(design) == 9
        assert naive.complete(D, y, "knn", design, n_neighbors=K) == F(right, 9)
        assert naive.complete(D, y, "knn", design, "item", n_neighbors=K) == F(right, 9)


def test_leave_out_is_subsampling_with_the_rest():
    D, y = problem(4, 6, 2, 3)
    for p in range(1, 6):
        left_out, drawn = naive.leave_out(6, p), naive.subsample(6, 6 - p)
        assert set(left_out.outcomes) == set(drawn.outcomes)
        assert naive.complete(D, y, "nn", left_out) == naive.complete(D, y, "nn", drawn)


@pytest.mark.parametrize(
    "call",
    [
        lambda: naive.subsample(4, 4),
        lambda: naive.subsample(4, 0),
        lambda: naive.leave_out(4, 0),
        lambda: naive.kfold(4, 5),
        lambda: naive.kfold(4, 1),
        lambda: naive.stratified_kfold("aab", 4),
        lambda: naive.stratified("aab", {"a": 1}),
        lambda: naive.stratified("aab", {"a": 2, "b": 1}),
        lambda: naive.stratified("aab", {"a": 3, "b": 0}),
        lambda: naive.complete(line(0, 1, 2), "aab", "knn", naive.subsample(3, 1), n_neighbors=2),
        lambda: naive.complete(line(0, 1, 2), "aab", "nn", naive.subsample(3, 1), ties="all"),
        lambda: naive.complete(line(0, 1, 2), "aab", "nn", naive.subsample(3, 1), "median"),
        lambda: naive.complete(line(0, 1), "aab", "nn", naive.subsample(3, 1)),
    ],
)
def test_impossible_requests_are_refused(call):
    with pytest.raises(ValueError, match=r"must|needs|rows"):
        call()
