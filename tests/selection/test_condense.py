"""Prototype selection against the enumeration of all training sets that a pool can give."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from naive import expected_over_ties, mean, neighbor_order
from problems import drawn_folds

from knnccv import (
    KFold,
    LeaveOut,
    Neighbors,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    get_variant,
)
from knnccv.driver import validate_problem
from knnccv.selection import Condense, condense, condensed_cv
from knnccv.selection._condense_scores import PoolScorer

RULES = [("nn", {}), ("knn", {"n_neighbors": 3})]


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


def naive_score(D, y, pool, design, rule, parameters, ties, average="item"):
    """The mean score of all samples over all training sets that the pool gives."""
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
    if average == "item":
        return mean(scores)
    classes = sorted(set(y))
    return mean([mean([s for s, label in zip(scores, y, strict=True) if label == c]) for c in classes])


def small_problem(rng, n_items, tied):
    """A matrix of distances, labels of two or three classes with three samples at least, and a pool."""
    D = rng.integers(0, 4, (n_items, n_items)) if tied else rng.permutation(n_items**2).reshape(n_items, -1)
    y = np.concatenate([[0, 0, 0, 1, 1, 1], rng.integers(0, 3, n_items - 6)])
    kept = np.ones(n_items, bool)
    spare = np.flatnonzero(np.arange(n_items) >= 6)
    kept[rng.choice(spare, rng.integers(0, len(spare) + 1), replace=False)] = False
    _, codes = np.unique(y, return_inverse=True)
    if (codes == 2).sum() > 0:
        kept[codes == 2] = True
    return D.astype(float), codes, kept


def scorer_of(D, y, design, rule, parameters, ties, average="item"):
    near = Neighbors.from_distances(D)
    problem = validate_problem(y, len(y), rule, design, ties, average, parameters)
    return PoolScorer(problem, near, 1e-12, 1)


def designs_for(y, kept, k):
    """Designs that can draw at least k training samples from the pool, and from it without a sample."""
    sizes = [Subsample(k), Subsample(k + 1), Subsample(0.7), LeaveOut(2), KFold(3)]
    counts = np.bincount(y[kept])
    return sizes + ([StratifiedSubsample(0.5)] if k == 1 and (counts >= 2).all() else [])


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("rule", "parameters"), RULES)
def test_pools_score_as_enumerated(rule, parameters, tied):
    """53 problems each, of 7 or 8 samples, in and out of the pool: 212 in all."""
    rng = np.random.default_rng(7 + tied)
    k = parameters.get("n_neighbors", 1)
    n_checked = 0
    while n_checked < 53:
        D, y, kept = small_problem(rng, int(rng.integers(7, 9)), tied)
        designs = designs_for(y, kept, k)
        design = designs[n_checked % len(designs)]
        ties = ("random", "index")[n_checked // 2 % 2]
        average = ("item", "class")[n_checked // 4 % 2]
        pool = np.flatnonzero(kept).tolist()
        scorer = scorer_of(D, y, design, rule, parameters, ties, average)
        found = scorer.score(kept)
        expected = naive_score(D.tolist(), y.tolist(), pool, design, rule, parameters, ties, average)
        assert abs(found.score - expected) < 1e-14
        assert found.error_bound == 0
        j = int(rng.choice(pool))
        if not np.isnan(found.without[j]):
            rest = [i for i in pool if i != j]
            alone = naive_score(D.tolist(), y.tolist(), rest, design, rule, parameters, ties, average)
            assert abs(found.without[j] - alone) < 1e-14
        n_checked += 1


@pytest.mark.parametrize(
    ("design", "rule", "parameters"),
    [
        (Subsample(9), *RULES[0]),
        (Subsample(0.6), *RULES[1]),
        (StratifiedSubsample(0.5), *RULES[0]),
        pytest.param(StratifiedSubsample(0.5), *RULES[1], marks=pytest.mark.slow),
    ],
)
def test_values_without_each_sample_are_those_of_smaller_pools(design, rule, parameters):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 5, (40, 2)).astype(float), np.repeat([0, 1], 20)
    problem = validate_problem(y, 40, rule, design, None, "item", parameters)
    near = Neighbors.from_data(X)
    kept = rng.random(40) < 0.7
    found = PoolScorer(problem, near, 1e-12, 1).score(kept)
    assert np.isnan(found.without[~kept]).all()
    shrinking = PoolScorer(problem, near, 1e-12, 1)
    shrinking.score(np.ones(40, bool))
    for j in np.flatnonzero(kept):
        rest = kept.copy()
        rest[j] = False
        assert found.without[j] == pytest.approx(shrinking.score(rest).score, abs=1e-13)


def blobs(n_items=120, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_classes
    return rng.normal(size=(n_items, 3)) + 1.5 * np.eye(3)[y], y


def test_the_pool_of_all_samples_scores_as_complete_cv():
    X, y = blobs()
    found = condense(X, y, "knn", Subsample(0.4), n_neighbors=3, n_prototypes=len(y))
    assert len(found.sample_indices) == len(y)
    expected = complete_cv(X, y, "knn", Subsample(0.4), n_neighbors=3, average="item").score
    assert found.score == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("cv", [None, Subsample(0.8), StratifiedSubsample(0.5)], ids=repr)
def test_the_path_never_falls_and_ends_where_every_removal_would_lower_it(cv):
    X, y = blobs()
    found = condense(X, y, "nn", cv)
    assert (np.diff(found.scores) >= -1e-10).all()
    assert found.n_kept[0] == len(y)
    assert found.n_kept[-1] == len(found.sample_indices) == len(y) - len(found.removed)
    assert found.score == found.scores[-1]
    assert not (found.without >= found.score - 1e-10).any()  # NaN: no training sets
    assert sorted([*found.removed, *found.sample_indices]) == list(range(len(y)))
    halfway = len(found.n_kept) // 2
    pool = found.kept_at(found.n_kept[halfway])
    kept = np.isin(np.arange(len(y)), pool)
    problem = validate_problem(y, len(y), "nn", cv or Subsample(12), None, "item", {})
    again = PoolScorer(problem, Neighbors.from_data(X), 1e-12, 1).score(kept)
    assert again.score == pytest.approx(found.scores[halfway], abs=1e-13)


def test_the_result_does_not_depend_on_threads_or_blocks(monkeypatch):
    X, y = blobs(200, n_classes=3)
    one = condense(X, y, n_jobs=1)
    monkeypatch.setattr("knnccv.selection._condense_scores.BLOCK", 17)
    many = condense(X, y, n_jobs=3)
    assert (one.scores == many.scores).all()
    assert (one.removed == many.removed).all()
    assert (one.without == many.without)[~np.isnan(one.without)].all()


def test_lists_that_are_too_short_are_searched_again():
    X, y = blobs(300)
    found = condense(X, y, "nn", Subsample(0.8), tol=0.05)
    kept = np.isin(np.arange(len(y)), found.sample_indices)
    problem = validate_problem(y, len(y), "nn", Subsample(0.8), None, "item", {})
    fresh = PoolScorer(problem, Neighbors.from_data(X), 0.0, 1).score(kept)
    assert found.reduction > 0.8
    assert found.score == pytest.approx(fresh.score, abs=1e-12)


def test_given_lists_that_end_too_early_widen_the_bound():
    X, y = blobs()
    near = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(20))
    found = condense(near, y, "nn", Subsample(12), n_prototypes=60)
    kept = np.isin(np.arange(len(y)), found.sample_indices)
    problem = validate_problem(y, len(y), "nn", Subsample(12), None, "item", {})
    exact = PoolScorer(problem, Neighbors.from_data(X), 1e-12, 1).score(kept).score
    assert found.error_bound > 0
    assert abs(found.score - exact) <= found.error_bound
    approximate = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(20), approximate=True)
    assert condense(approximate, y, "nn", Subsample(12), n_prototypes=100).error_bound == math.inf


def test_criteria_that_end_the_search():
    X, y = blobs()
    assert len(condense(X, y, n_prototypes=50).sample_indices) == 50
    exactly = condense(X, y, "nn", Subsample(0.5), tol=math.inf, n_prototypes=20, min_per_class=8)
    assert len(exactly.sample_indices) == 20
    assert np.bincount(y[exactly.sample_indices]).min() >= 8
    rare = np.where(np.arange(len(y)) < 4, 2, y)
    assert (rare[condense(X, rare, min_per_class=6).sample_indices] == 2).sum() == 4
    less = condense(X, y, "nn", Subsample(0.5), tol=0.01)
    assert (np.maximum.accumulate(less.scores) - less.scores <= 0.01 + 1e-10).all()
    assert less.reduction > condense(X, y, "nn", Subsample(0.5)).reduction


def test_a_loss_does_not_rise():
    X, y = blobs()
    found = condense(X, y, "nn", loss=[[0, 1], [5, 0]])
    assert found.is_loss
    assert (np.diff(found.scores) <= 1e-10).all()
    assert found.score < found.score_of_all


def test_honest_runs_repeat_the_search_in_every_training_set():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 3)), np.repeat([0, 1], 40)
    runs = condensed_cv(X, y, outer=4, n_repeats=6, random_state=0, n_jobs=2)
    assert runs.inner_score > 0.65
    assert abs(runs.score - 0.5) < 0.12  # the classes do not depend on the columns
    first = condensed_cv(X, y, outer=4, n_repeats=2, random_state=0, n_jobs=1)
    assert (runs.scores[:2] == first.scores).all()  # the splits are drawn one after the other
    D = np.abs(X[:, None] - X[None]).sum(axis=-1)
    options = {"outer": 2, "n_repeats": 1, "random_state": 0}
    given = condensed_cv(D, y, metric="precomputed", **options)
    assert given.score == condensed_cv(X, y, metric="manhattan", **options).score
    assert "optimistic" in repr(runs)
    assert "optimistic" in repr(condense(X, y))
    assert math.isnan(given.difference_error)


def test_honest_runs_of_one_fold_are_those_by_hand():
    X, y = blobs(100)
    runs = condensed_cv(X, y, outer=Subsample(0.5), n_repeats=2, random_state=5)
    for run, fold in enumerate(drawn_folds(Subsample(0.5), y, 2, 5)):
        tested = fold == 0
        train = np.flatnonzero(~tested)
        kept = train[condense(X[train], y[train]).sample_indices]
        for rows, scores in ((kept, runs.scores), (train, runs.scores_of_all)):
            distances = ((X[tested][:, None] - X[rows][None]) ** 2).sum(axis=-1)
            assert scores[run] == np.mean(y[rows][distances.argmin(axis=1)] == y[tested])


def test_the_first_of_tied_samples_decides_in_the_outer_test():
    """The nearest sample of the smallest index, as `ties="index"` says."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 4, (60, 2)).astype(float), np.arange(60) % 2
    cv = Subsample(0.5)
    runs = condensed_cv(X, y, "nn", outer=cv, n_repeats=2, random_state=5, ties="index")
    for run, fold in enumerate(drawn_folds(cv, y, 2, 5)):
        tested, train = fold == 0, np.flatnonzero(fold != 0)
        distances = ((X[tested][:, None] - X[train][None]) ** 2).sum(axis=-1)
        assert runs.scores_of_all[run] == np.mean(y[train][distances.argmin(axis=1)] == y[tested])


def test_the_estimator_keeps_rows_and_votes_with_them():
    neighbors = pytest.importorskip("sklearn.neighbors")
    X, y = blobs(90, n_classes=3)
    names = np.array(["a", "b", "c"])[y]
    model = Condense(n_neighbors=3, cv=Subsample(0.5), tol=0.01).fit(X, names)
    X_kept, y_kept = model.fit_resample(X, names)
    assert (X_kept == X[model.sample_indices_]).all()
    assert (y_kept == names[model.sample_indices_]).all()
    plain = neighbors.KNeighborsClassifier(3, algorithm="brute").fit(X_kept, y_kept)
    rows = np.random.default_rng(5).normal(size=(50, 3))
    assert (model.predict(rows) == plain.predict(rows)).all()


@pytest.mark.slow
def test_the_estimator_passes_the_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    pytest.importorskip("pandas")
    failed = [
        (result["check_name"], result["exception"])
        for result in checks.check_estimator(Condense(n_jobs=1), on_fail=None, on_skip=None)
        if result["status"] == "failed"
    ]
    assert not failed


def test_rules_of_hart_and_wilson_resample_as_the_estimator_does():
    under_sampling = pytest.importorskip(
        "imblearn.under_sampling", reason="needs imbalanced-learn: pip install imbalanced-learn"
    )
    X, y = blobs(200)
    rivals = [
        under_sampling.CondensedNearestNeighbour(sampling_strategy="all", random_state=0),
        under_sampling.EditedNearestNeighbours(sampling_strategy="all"),
    ]
    for sampler in [*rivals, Condense()]:
        X_kept, y_kept = sampler.fit_resample(X, y)
        assert (X_kept == X[sampler.sample_indices_]).all()
        assert (y_kept == y[sampler.sample_indices_]).all()
        assert len(y_kept) < len(y)


def test_get_variant_objects_serve_as_names():
    X, y = blobs(60)
    by_name, by_object = condense(X, y, "nn"), condense(X, y, get_variant("nn"))
    assert (by_name.removed == by_object.removed).all()
