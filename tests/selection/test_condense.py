"""Prototype selection against the enumeration of all training sets that a pool can give."""

import math
from fractions import Fraction
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from naive import expected_over_ties, mean, neighbor_order
from seeds import over_seeds
from sklearn.neighbors import KNeighborsClassifier

from knnccv import KFold, LeaveOut, Neighbors, StratifiedSubsample, Subsample, complete_cv
from knnccv.selection import Condense, condense


def pool_sets(design, y, pool, x):
    """The equally likely training sets of x; a list of lists, one for each kind with its share."""
    others = [j for j in pool if j != x]
    match design:
        case StratifiedSubsample(train_size=share):
            drawn = []
            for c in sorted(set(y)):
                size = math.floor(share * sum(y[j] == c for j in pool))
                drawn.append(list(combinations([j for j in others if y[j] == c], size)))
            return [(Fraction(1), [sum(parts, ()) for parts in product(*drawn)])]
        case Subsample(train_size=size):
            n_train = size if isinstance(size, int) else math.floor(size * len(pool))
            sizes = {n_train: 1}
        case LeaveOut(p=p):
            sizes = {len(pool) - p: 1}
        case KFold(n_splits=k):
            longer = len(pool) % k
            sizes = {len(pool) - len(pool) // k: k - longer}
            if longer:
                sizes[len(pool) - len(pool) // k - 1] = longer
    total = sum(sizes.values())
    return [(Fraction(folds, total), list(combinations(others, n))) for n, folds in sizes.items()]


def naive_scores(D, y, design, rule, parameters, ties, pool):
    """The mean score of every sample over all training sets that the pool gives."""
    scores = []
    for x in range(len(y)):
        _, groups = neighbor_order(D[x], x)
        score = Fraction(0)
        for share, sets in pool_sets(design, y, pool, x):
            each = []
            for T in sets:
                in_T = [kept for group in groups if (kept := [j for j in group if j in T])]
                each.append(expected_over_ties(rule, in_T, y, x, parameters, ties))
            score += share * mean(each)
        scores.append(score)
    return scores


def averaged(scores, y, average):
    if average == "pooled":
        return mean(scores)
    return mean([mean([s for s, label in zip(scores, y, strict=True) if label == c]) for c in np.unique(y)])


@over_seeds(16)
def test_paths_are_those_of_enumerated_scores(seeds):
    """The scores of all pools, of the last without each sample, and the removal of the least valuable."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n_items = int(rng.integers(7, 9))
        shape = n_items, n_items
        D = (rng.integers(0, 4, shape) if seed % 2 else rng.random(shape)).astype(float)
        y = np.unique([0, 0, 0, 1, 1, 1, *rng.integers(0, 3, n_items - 6)], return_inverse=True)[1]
        rule, parameters = (("nn", {}), ("knn", {"n_neighbors": 3}))[seed // 2 % 2]
        k = parameters.get("n_neighbors", 1)
        designs = [Subsample(k), Subsample(k + 1), Subsample(0.7), LeaveOut(2), KFold(3)]
        if k == 1 and (np.bincount(y) > 1).all():
            designs.append(StratifiedSubsample(0.5))
        design = designs[seed // 4 % len(designs)]
        average, ties = ("pooled", "class")[seed // 8 % 2], ("random", "index")[seed // 16 % 2]
        asked = {
            "metric": "precomputed",
            "average": average,
            "ties": ties,
            "max_loss": math.inf,
            **parameters,
        }
        asked["min_per_class"] = int(rng.integers(1, 3))
        where = f"seed {seed}: {rule} {design} {asked}"

        score = partial(naive_scores, D.tolist(), y.tolist(), design, rule, parameters, ties)
        found = condense(D, y, rule, design, n_prototypes=int(rng.integers(1, n_items + 1)), **asked)
        for n, known in zip(found.n_kept, found.scores, strict=True):
            each = score(found.kept_at(n).tolist())
            assert abs(known - averaged(each, y, average)) < 1e-14, where
        assert found.per_item == pytest.approx([float(s) for s in each], abs=1e-14), where
        assert found.error_bound == 0
        pool = found.sample_indices
        for j, known in zip(pool, found.without, strict=True):
            if not np.isnan(known):
                rest = score([i for i in pool.tolist() if i != j])
                assert abs(known - averaged(rest, y, average)) < 1e-14, where
        free = ~np.isnan(found.without) & (
            np.bincount(y[pool], minlength=3)[y[pool]] > asked["min_per_class"]
        )
        if free.any():
            more = condense(D, y, rule, design, n_prototypes=len(pool) - 1, **asked)
            best = np.where(free, found.without, -1).round(9).argmax()
            assert more.removed.tolist() == [*found.removed, pool[best]], where


def clusters(n_items=120, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_classes
    return rng.normal(size=(n_items, 3)) + 1.5 * np.eye(3)[y], y


def nearest_score(X, y, pool, n_train):
    """ICML eq. 4 of the samples in a pool: the i-th nearest decides if it is drawn, and no nearer one."""
    total = 0.0
    for x in range(len(y)):
        others = pool[pool != x]
        order = others[((X[others] - X[x]) ** 2).sum(axis=1).argsort()]
        ways = [math.comb(len(order) - i, n_train - 1) for i in range(1, len(order) + 1)]
        right = sum(n for n, j in zip(ways, order, strict=True) if y[j] == y[x])
        total += right / math.comb(len(order), n_train)
    return total / len(y)


@pytest.mark.parametrize("cv", [None, Subsample(0.8), StratifiedSubsample(0.5)], ids=repr)
def test_the_path_never_falls_and_ends_where_every_removal_would_lower_it(cv):
    X, y = clusters()
    found = condense(X, y, "nn", cv)
    assert (np.diff(found.scores) >= -1e-10).all()
    assert found.n_kept[0] == len(y)
    of_all = complete_cv(X, y, "nn", cv or Subsample(12), average="item").score
    assert found.score_of_all == pytest.approx(of_all, abs=1e-13)
    assert found.n_kept[-1] == len(found.sample_indices) == len(y) - len(found.removed)
    assert found.score == found.scores[-1]
    assert not (found.without >= found.score - 1e-10).any()  # NaN: no training sets
    assert sorted([*found.removed, *found.sample_indices]) == list(range(len(y)))
    for step in (len(found.n_kept) // 2, -1) if cv != StratifiedSubsample(0.5) else ():
        pool = found.kept_at(found.n_kept[step])
        n_train = 12 if cv is None else math.floor(0.8 * len(pool))
        assert found.scores[step] == pytest.approx(nearest_score(X, y, pool, n_train), abs=1e-13)


def test_lists_that_are_too_short():
    """They are searched again, where they can be; given lists that end too early widen the bound."""
    X, y = clusters(300)
    found = condense(X, y, "nn", Subsample(0.8), max_loss=0.05)
    n_train = math.floor(0.8 * len(found.sample_indices))
    assert found.reduction > 0.8
    assert found.score == pytest.approx(nearest_score(X, y, found.sample_indices, n_train), abs=1e-12)
    X, y = clusters()
    lists = Neighbors.from_data(X).kneighbors(20)
    found = condense(Neighbors.from_lists(*lists), y, "nn", Subsample(12), n_prototypes=60)
    assert found.error_bound > 0
    assert abs(found.score - nearest_score(X, y, found.sample_indices, 12)) <= found.error_bound
    approximate = Neighbors.from_lists(*lists, approximate=True)
    assert condense(approximate, y, "nn", Subsample(12), n_prototypes=100).error_bound == math.inf


@pytest.mark.slow
def test_criteria_that_end_the_search():
    X, y = clusters()
    assert len(condense(X, y, n_prototypes=50).sample_indices) == 50
    exactly = condense(X, y, "nn", Subsample(0.5), max_loss=math.inf, n_prototypes=20, min_per_class=8)
    assert len(exactly.sample_indices) == 20
    assert np.bincount(y[exactly.sample_indices]).min() >= 8
    rare = np.where(np.arange(len(y)) < 4, 2, y)
    assert (rare[condense(X, rare, min_per_class=6).sample_indices] == 2).sum() == 4
    less = condense(X, y, "nn", Subsample(0.5), max_loss=0.01)
    assert (np.maximum.accumulate(less.scores) - less.scores <= 0.01 + 1e-10).all()
    assert less.reduction > condense(X, y, "nn", Subsample(0.5)).reduction
    costs = condense(X, y, "nn", loss=[[0, 1], [5, 0]])
    assert costs.is_loss
    assert (np.diff(costs.scores) <= 1e-10).all()
    assert costs.score < costs.score_of_all


def test_the_estimator_keeps_rows_and_votes_with_them():
    X, y = clusters(90, n_classes=3)
    names = np.array(["a", "b", "c"])[y]
    model = Condense(n_neighbors=3, cv=Subsample(0.5), max_loss=0.01).fit(X, names)
    X_kept, y_kept = model.fit_resample(X, names)
    assert len(y_kept) < len(y)
    assert (X_kept == X[model.sample_indices_]).all()
    assert (y_kept == names[model.sample_indices_]).all()
    plain = KNeighborsClassifier(3, algorithm="brute").fit(X_kept, y_kept)
    rows = np.random.default_rng(5).normal(size=(50, 3))
    assert (model.predict(rows) == plain.predict(rows)).all()
