"""Nested runs: inner and outer counts, choices and scores against scikit-learn and against plain loops."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.model_selection import KFold as SklearnKFold
from sklearn.model_selection import StratifiedKFold as SklearnStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from knnccv import KFold, Neighbors, StratifiedKFold, Subsample
from knnccv._labels import encode_labels
from knnccv.runs import Planes, draw_runs, given_runs, pack, unpack
from knnccv.tuning._nested import Inner, has_code, inner_folds, nested_runs, right_answers, split_of
from knnccv.tuning._tuned_score import tuned_problem

INNERS = [Inner(), Inner(3), Inner(2, stratified=True), Inner(4, True, False), Inner(3, False, False)]


def problem_of(seed):
    """Points without ties in distance, classes of unequal size, a grid of K in any order."""
    rng = np.random.default_rng(seed)
    n_items, n_classes = int(rng.integers(24, 61)), int(rng.integers(2, 5))
    y = np.r_[np.arange(n_classes).repeat(5), rng.integers(0, n_classes, n_items - 5 * n_classes) ** 2 // 3]
    y = rng.permutation(y)
    X = rng.normal(size=(n_items, 2)) + 0.5 * y[:, None]
    return X, y, [5, 1, 2, 8, 3, 4] if seed % 2 else [1, 4, 7]


def bits_of(masks, run):
    """One run of masks (n_items, 8), bool (n_items,)."""
    return ((masks[:, run // 64] >> np.uint64(run % 64)) & np.uint64(1)).astype(bool)


def check_against_scikit_learn(seed):
    X, y, ks = problem_of(seed)
    rng, inner = np.random.default_rng(seed), INNERS[seed % len(INNERS)]
    design = [KFold(3), StratifiedKFold(4), Subsample(0.7)][seed % 3]
    problem, labels, near = (
        tuned_problem(y, len(y), max(ks), design, inner),
        encode_labels(y),
        Neighbors.from_data(X),
    )
    runs = draw_runs(problem, 512, rng)
    found = nested_runs(problem, [near], ks, inner, runs, 1)
    drawn = runs.all_folds()
    for fold in range(runs.n_folds):
        split = split_of(runs.planes(0), runs, 0, fold, inner, labels)
        train, test, folds = split[:3]
        lists = near.search(np.arange(len(y)), min(12, near.max_depth))  # short: deepened
        counts = right_answers(near, lists, split, labels.codes, ks)
        for run in rng.choice(512, 1 if inner.n_folds == 1 else 2, replace=False).tolist():
            inside, outside = np.flatnonzero(bits_of(train, run)), np.flatnonzero(bits_of(test, run))
            np.testing.assert_array_equal(outside, np.flatnonzero(drawn[run] == fold))
            cv = LeaveOneOut()
            if inner.n_folds > 1:
                code = unpack(Planes(folds.reshape(len(y), -1, 8), True))[run][inside]
                at = np.arange(len(inside))
                cv = [(at[code != f], at[code == f]) for f in range(inner.n_folds)]
            search = GridSearchCV(KNeighborsClassifier(algorithm="brute"), {"n_neighbors": ks}, cv=cv)
            search.fit(X[inside], y[inside])
            scores = np.array([search.cv_results_[f"split{f}_test_score"] for f in range(search.n_splits_)])
            right, sizes = counts[run, :, :-1], counts[run, :, -1]
            if inner.n_folds == 1:
                np.testing.assert_array_equal(right[0], scores.sum(axis=0))
                assert sizes[0] == len(inside)
            else:
                np.testing.assert_array_equal(right[:-1] / sizes[:-1, None], scores)
            for at, k in enumerate(ks):
                model = KNeighborsClassifier(k, algorithm="brute").fit(X[inside], y[inside])
                right_outside = int((model.predict(X[outside]) == y[outside]).sum())
                assert right[-1, at] == right_outside
                assert found.outer[run, fold, at] == right_outside / len(outside)
            assert ks[found.chosen[run, fold]] == search.best_params_["n_neighbors"]
            assert found.best[run, fold] == search.best_score_
            score = accuracy_score(y[outside], search.predict(X[outside]))
            assert found.outer[run, fold, found.chosen[run, fold]] == pytest.approx(score, abs=1e-15)


@pytest.mark.parametrize("seed", range(1, 5))
def test_counts_and_choices_are_those_of_scikit_learn(seed):
    check_against_scikit_learn(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *range(5, 54)])
def test_counts_and_choices_are_those_of_scikit_learn_in_many_problems(seed):
    check_against_scikit_learn(seed)


def plain_votes(order, train, y, k):
    """The prediction of the K nearest training samples in this order; the smallest label wins ties."""
    nearest = [j for j in order if train[j]][:k]
    votes = np.bincount(y[nearest], minlength=y.max() + 1)
    return int(votes.argmax())


@pytest.mark.parametrize(("seed", "n_classes"), [(0, 2), (1, 2), (2, 3), (3, 12)])
def test_ties_follow_the_order_of_rows_in_a_plain_loop(seed, n_classes):
    rng = np.random.default_rng(seed)
    n_items, ks, inner = 70, [1, 2, 3, 6, 20], Inner()
    X, y = rng.integers(0, 4, (n_items, 2)).astype(float), rng.permutation(np.arange(n_items) % n_classes)
    problem, near = tuned_problem(y, n_items, max(ks), KFold(4), inner), Neighbors.from_data(X)
    code = np.array([rng.permutation(np.arange(n_items) % 4) for _ in range(3)])
    runs = given_runs([(row, np.zeros(4, np.int64)) for row in code])
    found = nested_runs(problem, [near, Neighbors.from_data(X, "manhattan")], ks, inner, runs, 1)
    assert found.chosen.shape == (3, 4)
    for metric in (1, 2):
        gaps = np.abs(X[:, None] - X).astype(float) ** metric
        distances = gaps.sum(axis=2)
        np.fill_diagonal(distances, np.inf)
        order = np.argsort(distances, axis=1, kind="stable")[:, :-1]
        for run in range(3):
            for fold in range(4):
                train = code[run] != fold
                right = np.array(
                    [[plain_votes(order[i], train, y, k) == y[i] for k in ks] for i in range(n_items)]
                )
                part = slice(0, 5) if metric == 2 else slice(5, 10)
                np.testing.assert_array_equal(found.outer[run, fold, part], right[~train].mean(axis=0))
                if found.chosen[run, fold] in range(part.start, part.stop):
                    inside = right[train].mean(axis=0)
                    assert found.best[run, fold] == inside.max()
                    assert found.chosen[run, fold] - part.start == inside.argmax()


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("shuffled", [False, True])
def test_inner_folds_are_dealt_as_by_scikit_learn(stratified, shuffled):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 61) ** 2
    labels, inner = encode_labels(y), Inner(5, stratified, shuffled)
    train_codes = (rng.random((512, len(y))) < 0.2).astype(np.int32)  # any training sets, code 0
    train = has_code(pack(train_codes, False), 0)
    found = unpack(Planes(inner_folds(inner, train, labels, 3).reshape(len(y), -1, 8), True))
    split = (SklearnStratifiedKFold if stratified else SklearnKFold)(5, shuffle=shuffled)
    for run in range(512):
        inside = np.flatnonzero(train_codes[run] == 0)
        tests = [inside[test] for _, test in split.split(inside, y[inside])]
        assert not found[run][train_codes[run] == 1].any()
        for fold, test in enumerate(tests):
            mine = inside[found[run][inside] == fold]
            assert len(mine) == len(test)
            if not shuffled:
                np.testing.assert_array_equal(mine, test)
            elif stratified:
                np.testing.assert_array_equal(np.sort(y[mine]), np.sort(y[test]))


def test_inner_folds_are_uniform():
    """Five training samples of six in two folds: all 10 ways, equally often."""
    train = has_code(pack(np.tile([0, 0, 1, 0, 0, 0], (512, 1)), False), 0)
    labels, counts = encode_labels(np.array([0, 1, 0, 1, 0, 1])), {}
    for seed in range(20):
        folds = inner_folds(Inner(2), train, labels, seed)
        for row in unpack(Planes(folds.reshape(6, -1, 8), True)):
            counts[bytes(row.astype(np.int8))] = counts.get(bytes(row.astype(np.int8)), 0) + 1
    assert len(counts) == 10
    expected = 20 * 512 / 10
    assert sum((n - expected) ** 2 for n in counts.values()) / expected < 30  # chi-squared, 9 degrees


def test_no_run_depends_on_the_threads():
    X, y, ks = problem_of(3)
    problem = tuned_problem(y, len(y), max(ks), KFold(3), Inner(3))
    runs = draw_runs(problem, 1200, np.random.default_rng(0))
    one, many = (
        nested_runs(problem, [Neighbors.from_data(X)], ks, Inner(3), runs, jobs) for jobs in (1, 4)
    )
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(one.chosen) == 1200
