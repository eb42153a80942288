"""Random runs: uniform draws, every count against a plain loop over the runs, and `CompleteCV.runs`."""

from collections import Counter
from itertools import combinations
from math import comb, factorial

import numpy as np
import pytest
from naive_splits import neighbor_order, tables_of_runs
from problems import drawn_folds
from scipy.stats import chi2
from seeds import over_seeds
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors, compare, complete_cv
from knnccv._core.driver import validate_problem
from knnccv._core.luck.runs import (
    ANY,
    CONFUSION,
    RIGHT,
    VOTES,
    RunCounter,
    draw_runs,
    given_runs,
    nearest_in_runs,
    pack,
    unpack,
)
from knnccv._core.luck.runs._planes import draw_planes
from knnccv.designs import Allotment, KFold, LeaveGroupsOut, StratifiedKFold, StratifiedSubsample, Subsample


def allotment(sizes, folded):
    """An allotment of strata with these sizes, whose samples are mixed."""
    sizes = np.array(sizes)
    strata = np.repeat(np.arange(len(sizes)), sizes.sum(axis=1))
    strata = np.random.default_rng(len(strata)).permutation(strata)
    return Allotment(sizes, strata, np.zeros(sizes.shape[1], np.int64), folded)


def n_ways(sizes):
    """The number of ways to fill the folds."""
    ways = 1
    for row in sizes:
        ways *= factorial(sum(row))
        for size in row:
            ways //= factorial(size)
    return ways


FOLDS = [
    [[3, 3]],
    [[3, 2]],
    [[2, 2, 2]],
    [[2, 1, 1, 1]],
    [[1, 1, 1, 1, 1]],
    [[2, 1], [1, 2]],
    [[1, 1, 0], [1, 1, 2]],
    [[2, 2], [1, 0], [1, 1]],
]
SETS = [[[4, 2]], [[5, 1]], [[1, 5]], [[3, 2, 1]], [[2, 2], [3, 1]]]


@pytest.mark.parametrize(
    ("sizes", "folded"), [(s, True) for s in FOLDS] + [(s, False) for s in SETS], ids=str
)
def test_all_ways_to_fill_the_folds_are_equally_likely(sizes, folded):
    asked, ways = allotment(sizes, folded), n_ways(sizes)
    found = Counter()
    n_blocks = 8 + ways // 20
    for block in range(n_blocks):
        found.update(map(bytes, unpack(draw_planes(asked, 7, 512 * n_blocks, block).bits).astype(np.int8)))
    n_runs = 512 * n_blocks
    assert len(found) == ways
    statistic = sum((number - n_runs / ways) ** 2 for number in found.values()) / (n_runs / ways)
    assert chi2.sf(statistic, ways - 1) > 1e-4


@pytest.mark.parametrize("sizes", [[[40, 40, 40, 39]], [[30, 70], [300, 20]], [[9] * 5, [50] * 5]])
def test_pairs_of_samples_meet_as_often_as_in_random_partitions(sizes):
    """Many samples, digits and repair: sizes are exact, pairs of a stratum meet as often as they should."""
    asked = allotment(sizes, folded=True)
    codes = np.concatenate([unpack(draw_planes(asked, 3, 512 * 10, block).bits) for block in range(10)])
    for s, row in enumerate(sizes):
        members = np.flatnonzero(asked.strata == s)
        for code, size in enumerate(row):
            assert ((codes[:, members] == code).sum(axis=1) == size).all()
        together = sum(comb(size, 2) for size in row) / comb(sum(row), 2)
        for one, other in list(combinations(members[:8], 2)):
            seen = (codes[:, one] == codes[:, other]).mean()
            assert abs(seen - together) < 5 * np.sqrt(together * (1 - together) / len(codes))
        first = (codes[:, members[:, None]] == np.arange(len(row))).mean(axis=0)
        expected = np.array(row) / sum(row)
        assert (np.abs(first - expected) < 6 * np.sqrt(expected * (1 - expected) / len(codes))).all()


@pytest.mark.parametrize("sizes", [[[40, 40, 40, 39]], [[9] * 5, [50] * 5], [[30, 70]]])
def test_the_first_runs_are_the_same_however_many_are_drawn(sizes):
    asked = allotment(sizes, folded=len(sizes[0]) > 2)
    every = unpack(draw_planes(asked, 3, 512, 0).bits)
    for n_runs in (1, 10, 64, 65, 500):
        codes = unpack(draw_planes(asked, 3, n_runs, 0).bits)
        np.testing.assert_array_equal(codes[:n_runs], every[:n_runs])
        np.testing.assert_array_equal(codes[n_runs:], np.tile(every[0], (512 - n_runs, 1)))


def test_planes_are_packed_and_unpacked():
    codes = np.random.default_rng(0).integers(0, 6, (100, 33)).astype(np.int32)
    np.testing.assert_array_equal(unpack(pack(codes, True).bits)[:100], codes)


def problem_of(seed):
    """A random problem: X, y, the design, and the parameters of the rule."""
    rng = np.random.default_rng(seed)
    n_items, n_classes = int(rng.integers(12, 60)), int(rng.choice([2, 2, 3, 5, 12]))
    y = rng.permutation(np.arange(n_items) % n_classes)
    X = rng.normal(size=(n_items, 2)) + 0.5 * y[:, None]
    if seed % 3 == 0:
        X = X.round()
    groups = rng.integers(0, max(4, n_items // 4), n_items)
    designs = [KFold(3), KFold(n_items // 2), Subsample(0.6), LeaveGroupsOut(groups, 2)]
    if n_items // n_classes > 2:
        designs += [StratifiedKFold(2), StratifiedSubsample(0.5), StratifiedKFold(3)]
    return X, y, designs[seed % len(designs)], int(rng.choice([1, 2, 3, 5, 6, 40]))


def plain_counts(order, y, folds, k):
    """Confusion, votes and samples with a vote for their class of runs by fold, of plain loops."""
    every = range(folds.max() + 1)
    runs = [[(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in every] for fold in folds]
    confusion, votes = tables_of_runs(order, y, k, runs)
    return confusion, votes, np.diagonal(votes[..., 1:].sum(axis=-1), axis1=2, axis2=3)


def count(problem, neighbors, runs, what):
    """The counts of all runs, by fold."""
    found = {}
    RunCounter(problem, neighbors, runs, what, np.arange(runs.n_folds)).count(found.__setitem__)
    assert all(not tables.unknown.any() for tables in found.values())
    return np.concatenate([found[block].counts for block in range(len(found))])


@over_seeds(15)
def test_every_count_of_every_run_equals_a_plain_loop(seeds):
    for seed in seeds:
        X, y, design, k = problem_of(seed)
        neighbors = Neighbors.from_data(X)
        k = min(k, validate_problem(y, len(y), "nn", design, "index", "pooled", {}).smallest_train)
        problem = validate_problem(y, len(y), "knn", design, "index", "pooled", {"n_neighbors": k})
        rank = validate_problem(y, len(y), "rank", design, "index", "pooled", {"rank": k})
        runs = draw_runs(problem, 30, np.random.default_rng(seed))
        confusion, votes, right = plain_counts(neighbor_order(X), y, runs.all_folds(), k)
        for asked, what, expected in (
            (problem, CONFUSION, confusion),
            (problem, VOTES, votes),
            (problem, RIGHT, np.diagonal(confusion, axis1=2, axis2=3)),
            (rank, ANY, right),
        ):
            np.testing.assert_array_equal(count(asked, neighbors, runs, what), expected, f"seed {seed}")


def test_samples_that_train_in_all_folds_are_not_tested():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    fold = np.array([rng.permutation(np.arange(40) % 4 - 1) for _ in range(30)])
    runs = given_runs([(one, np.zeros(3, np.int64)) for one in fold])
    np.testing.assert_array_equal(runs.all_folds(), fold)
    problem = validate_problem(y, 40, "knn", KFold(3), "index", "pooled", {"n_neighbors": 3})
    expected = plain_counts(neighbor_order(X), y, fold, 3)[0]
    near = Neighbors.from_data(X)
    np.testing.assert_array_equal(count(problem, near, runs, CONFUSION), expected)
    found = {}
    RunCounter(problem, near, runs, CONFUSION, np.zeros(3, np.int64)).count(found.__setitem__)
    np.testing.assert_array_equal(found[0].counts[:, 0], np.sum(expected, axis=1))


@over_seeds(3)
def test_the_nearest_training_samples_of_every_run(seeds):
    for seed in seeds:
        X, y, design, _ = problem_of(seed)
        neighbors, k, out = Neighbors.from_data(X), 2, seed % 12
        problem = validate_problem(y, len(y), "nn", design, "index", "pooled", {})
        folds = draw_runs(problem, 20, np.random.default_rng(seed)).all_folds()
        folds[::2, out] = np.where(folds[::2, out] < 0, -2, folds[::2, out])
        items, distances = nearest_in_runs(neighbors, folds, k, "index", 3)
        _, drawn = nearest_in_runs(neighbors, folds, k, "random", 3)
        D = ((X[:, None] - X) ** 2).sum(axis=2)
        order = neighbor_order(X)
        for run, fold in enumerate(folds):
            for x in range(len(y)):
                near = [j for j in order[x] if fold[j] not in (fold[x], -2)][:k]
                told = items[run, x].tolist()
                assert told == (near if fold[x] >= 0 else [-1] * k), f"seed {seed}, run {run}"
                if fold[x] >= 0:
                    np.testing.assert_allclose(distances[run, x], np.sqrt(D[x, near]), rtol=1e-12)
                    np.testing.assert_allclose(drawn[run, x], np.sqrt(D[x, near]), rtol=1e-12)


def blobs(n_items, n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_items)
    return rng.normal(size=(n_items, 3)) + 0.8 * y[:, None], y


@pytest.mark.parametrize(
    ("design", "n_classes"), [(KFold(5), 2), (StratifiedKFold(3), 4), (Subsample(0.6), 3)]
)
def test_runs_equal_scikit_learn_split_by_split(design, n_classes):
    X, y = blobs(90, n_classes)
    result = complete_cv(X, y, "knn", design, n_neighbors=4)
    runs = result.runs(5, random_state=7)
    for run, folds in enumerate(drawn_folds(design, y, 5, 7)):
        scores, tables = [], []
        for fold in range(folds.max() + 1):
            train, test = folds != fold, folds == fold
            model = KNeighborsClassifier(4, algorithm="kd_tree").fit(X[train], y[train])
            predicted = model.predict(X[test])
            scores.append(np.mean(predicted == y[test]))
            tables.append(confusion_matrix(y[test], predicted, labels=np.arange(n_classes)))
        assert runs.scores[run] == pytest.approx(np.mean(scores), abs=1e-13)
        np.testing.assert_array_equal(runs.confusions[run], np.sum(tables, axis=0))


CASES = [
    ("knn", {"n_neighbors": 4, "loss": [[0, 3, 1], [2, 0, 5], [1, 1, -1]]}, KFold(4)),
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}, 4),
    ("knn", {"n_neighbors": 2}, Subsample(0.5)),
    ("nn", {}, LeaveGroupsOut(np.arange(60) // 4, 3)),
    ("rank", {"rank": 2}, KFold(3)),
    ("confidence", {"n_neighbors": 3}, KFold(3)),
]


OTHERS = [("random", "class"), ("index", "pooled"), ("index", "class")]
OTHERS = [pytest.param(*case, marks=pytest.mark.slow) for case in OTHERS]


@pytest.mark.parametrize(("ties", "average"), [("random", "pooled"), *OTHERS])
def test_the_mean_of_the_runs_is_the_exact_score(ties, average):
    for variant, parameters, design in CASES:
        check_mean(variant, parameters, design, ties, average)


def check_mean(variant, parameters, design, ties, average):
    X, y = blobs(60, 3)
    result = complete_cv(X.round(), y, variant, design, ties=ties, average=average, **parameters)
    assert result.n_tied > 10
    runs = result.runs(1500, random_state=1)
    assert abs(runs.score - result.score) < 5 * runs.std_error
    assert runs.expected == result.score
    assert (runs.confusions is None) == (variant in ("rank", "confidence"))
    if runs.confusions is not None and average == "pooled":
        total = runs.confusions.sum(axis=(1, 2))
        assert (total[0] == 60) == (not isinstance(design, Subsample | LeaveGroupsOut))
        error = runs.confusions.std(axis=0) / np.sqrt(len(total)) + 1e-9
        expected = result.confusion() * total.mean()
        assert (np.abs(runs.confusions.mean(axis=0) - expected) < 5.5 * error).all()


def test_quantiles_seeds_and_threads():
    X, y = blobs(200, 2)
    result = complete_cv(X, y, "knn", KFold(5), n_jobs=1)
    runs = result.runs(1200)
    np.testing.assert_array_equal(runs.scores, result.runs(1200, n_jobs=2).scores)
    np.testing.assert_array_equal(runs.scores[:100], result.runs(100).scores)
    assert (runs.scores != result.runs(1200, random_state=1).scores).any()
    assert runs.quantile(0.5) == np.median(runs.scores)
    assert runs.quantile([0, 1]).tolist() == [runs.scores.min(), runs.scores.max()]
    assert float(runs) == runs.scores.mean()


def test_comparisons_tell_how_often_one_run_is_wrong():
    X, y = blobs(80, 2)
    one = complete_cv(X, y, "nn", KFold(5))
    five = complete_cv(X, y, "knn", KFold(5), n_neighbors=5)
    found = compare(one, five)
    a, b = (each.runs(3000, random_state=2).scores.round(12) for each in (one, five))
    expected = np.mean((a > b) if found.difference < 0 else (a < b)) + np.mean(a == b) / 2
    assert found.misranked(3000, random_state=2) == pytest.approx(expected)
    assert compare(five, one).misranked(3000, random_state=2) == pytest.approx(expected)
    assert 0 < expected < 0.5
