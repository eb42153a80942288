"""Episodes against the enumeration of all sets of classes and all supports, in Fractions."""

from __future__ import annotations

import itertools
from math import comb

import naive_episodes as naive
import numpy as np
import pytest
from scipy.sparse import csr_array
from seeds import over_seeds

from knnccv import Neighbors
from knnccv.episodes import Episodes, expected_episodes


class Problem:
    """5 to 11 samples of 2 to 4 classes, with few, some or no ties, and what is asked of them.

    The shots are one number for all classes, one for each, or several; the ways are one or several.
    """

    def __init__(self, seed, votes=False):
        rng = self.rng = np.random.default_rng(seed)
        self.n_classes = int(rng.integers(2, 5))
        self.kind = ("one", "by class", "several")[seed % 3]
        most = 3 if self.n_classes == 2 else 2
        shots = rng.integers(1, most + 1, self.n_classes)
        if self.kind != "by class":
            shots[:] = shots[0] if self.kind == "one" else 2
        room = max(11 - shots.sum() - self.n_classes, 0)
        sizes = (
            shots + 1 + rng.multinomial(rng.integers(0, room + 1), np.ones(self.n_classes) / self.n_classes)
        )
        self.y = rng.permutation(np.repeat(np.arange(self.n_classes), sizes))
        n = len(self.y)
        self.D = rng.integers(1, [10_000, 10, 3][rng.integers(3)], (n, n), endpoint=True).astype(float)
        np.fill_diagonal(self.D, 0.0)
        self.ties = str(rng.choice(["random", "index"]))
        self.shots = [dict(enumerate(shots.tolist()))]
        n_way = int(rng.integers(2, self.n_classes + 1))
        self.ways = (n_way,)
        asked = int(shots[0]) if self.kind == "one" else self.shots[0]
        if self.kind == "several":
            self.shots.insert(0, dict.fromkeys(range(self.n_classes), 1))
            self.ways = tuple(range(2, n_way + 1))
            asked = [2, 1]
        self.episodes = Episodes(self.ways if len(self.ways) > 1 else n_way, asked)
        fewest = min(sum(sorted(some.values())[:2]) for some in self.shots)
        self.n_neighbors = int(rng.integers(2, min(fewest, 5) + 1)) if votes else 1
        self.jackknife = "class" if n_way < self.n_classes else None

    def ties_of(self, x, votes):
        """Whether x has samples of its own and another class, or of any two for votes, equally near."""
        others = [j for j in range(len(self.y)) if j != x]
        pairs = [(i, j) for i, j in itertools.combinations(others, 2) if self.D[x, i] == self.D[x, j]]
        classes = [{self.y[i], self.y[j]} for i, j in pairs]
        return any(len(both) == 2 and (votes or self.y[x] in both) for both in classes)

    def ask(self, **options):
        return expected_episodes(
            self.D, self.y, self.episodes, self.n_neighbors, metric="precomputed", ties=self.ties, n_jobs=1,
            **options,
        )  # fmt: skip

    def per_item(self, ways=None, shots=None, classes=None):
        """The accuracy of every sample, as a mean over the ways and the shots that are asked for."""
        y = self.y.tolist()
        found = [
            naive.accuracies(self.D, y, way, some, self.ties, classes, self.n_neighbors)
            for way in ways or self.ways
            for some in shots or self.shots
        ]
        return {x: naive.mean(one[x] for one in found) for x in found[0]}

    def score(self, *args, **more):
        return naive.mean_of_classes(self.y.tolist(), self.per_item(*args, **more))


def compare(seed, votes):
    """Compare all that is known with the enumeration."""
    problem = Problem(seed, votes)
    y, note = problem.y, f"seed {seed}, votes {votes}"
    r = problem.ask(jackknife=problem.jackknife, all_ways=True)
    per_item = problem.per_item()
    expected = naive.mean_of_classes(y.tolist(), per_item)
    assert abs(r.score - float(expected)) <= r.error_bound < 1e-12, note
    assert r.per_item == pytest.approx([float(value) for value in per_item.values()], abs=1e-13), note
    assert r.weights @ r.per_item == pytest.approx(r.score, abs=1e-14), note
    for c, value in r.per_class.items():
        assert value == pytest.approx(r.per_item[y == c].mean(), abs=1e-14), note
    assert list(r.ways) == list(range(2, problem.n_classes + 1)), note
    way = int(problem.rng.choice(list(r.ways)))
    several = []
    for shots in problem.shots:
        several.append(float(problem.score([way], [shots])))
        if problem.kind != "by class":
            assert r.accuracy_table[way, shots[0]] == pytest.approx(several[-1], abs=1e-13), note
    assert r.ways[way] == pytest.approx(np.mean(several), abs=1e-13), note
    if problem.jackknife:
        out = int(problem.rng.integers(problem.n_classes))
        left = [c for c in range(problem.n_classes) if c != out]
        assert r.score_without[out] == pytest.approx(float(problem.score(classes=left)), abs=1e-13), note
    assert r.n_tied == sum(problem.ties_of(x, votes) for x in range(len(y))), note


@over_seeds(24)
def test_the_nearest_support(seeds):
    for seed in seeds:
        compare(seed, votes=False)


@over_seeds(18)
def test_votes(seeds):
    for seed in seeds:
        compare(seed, votes=True)


@over_seeds(12)
def test_some_classes_with_shots_of_their_own(seeds):
    for seed in seeds:
        problem = Problem(3 * seed + 1)
        chosen = problem.rng.permutation(problem.n_classes)
        chosen = chosen[: int(problem.rng.integers(2, problem.n_classes + 1))].tolist()
        shots = {c: int(problem.rng.integers(1, problem.shots[0][c] + 1)) for c in chosen}
        rows = np.flatnonzero(np.isin(problem.y, chosen))
        found = expected_episodes(
            problem.D[np.ix_(rows, rows)], problem.y[rows], Episodes(len(shots), shots),
            metric="precomputed", ties=problem.ties, n_jobs=1,
        )  # fmt: skip
        expected = problem.score([len(shots)], [shots], sorted(chosen))
        assert found.score == pytest.approx(float(expected), abs=1e-13), seed


@over_seeds(16)
def test_short_lists_bracket_the_score(seeds):
    for seed in seeds:
        problem = Problem(3 * seed)
        full, n = Neighbors.from_distances(problem.D), len(problem.y)
        expected = expected_episodes(full, problem.y, problem.episodes, ties=problem.ties, n_jobs=1)
        errors = []
        for depth in range(n // 2, n):
            lists = Neighbors.from_lists(*full.kneighbors(depth, n_jobs=1))
            found = expected_episodes(
                lists, problem.y, problem.episodes, ties=problem.ties, tol=0.999999, n_jobs=1
            )
            for way, score in expected.ways.items():
                assert found.ways[way] - 1e-13 <= score <= found.ways[way] + found.error_bound + 1e-13, seed
            assert found.score - 1e-13 <= expected.score <= found.score + found.error_bound + 1e-13, seed
            errors.append(found.error_bound)
        assert errors == sorted(errors, reverse=True), seed


def many(n_features=12, integers=False, duplicates=0):
    """1,040 samples of 8 classes, so that distances come from matrix products."""
    rng = np.random.default_rng(5)
    y = np.arange(1040) % 8
    X = rng.normal(size=(8, n_features))[y] + rng.normal(size=(1040, n_features))
    if integers:
        X = np.rint(2 * X)
    X[:duplicates] = X[duplicates : 2 * duplicates]
    return X, y


BY_CLASS = dict(enumerate((1, 5, 2, 9, 1, 30, 1, 1)))


@pytest.mark.parametrize(
    ("integers", "duplicates"), [(False, 0), pytest.param(True, 30, marks=pytest.mark.slow)]
)
def test_products_give_the_scores_of_exact_distances(integers, duplicates):
    X, y = many(12, integers, duplicates)
    near = Neighbors.from_data(X)
    for ties, episodes in (("random", Episodes((2, 5), (1, 3))), ("index", Episodes(4, BY_CLASS))):
        options = {"ties": ties, "jackknife": "class"}
        values = near.values(np.arange(len(X)))
        same = expected_episodes(values, y, episodes, metric="precomputed", n_jobs=1, **options)
        r = expected_episodes(near, y, episodes, n_jobs=2, **options)
        assert r.per_item == pytest.approx(same.per_item, abs=1e-12)
        assert r.score_without == pytest.approx(same.score_without, abs=1e-12)
        assert r.n_tied == same.n_tied
        assert (r.n_tied > 0) == (duplicates > 0)


def test_complete_lists_and_sparse_data_serve():
    X, y = many(6)
    X, y = np.rint(X[:120]), y[:120]
    near = Neighbors.from_data(X, "sqeuclidean")
    expected = expected_episodes(near, y, Episodes(3, 2), n_jobs=1)
    lists = Neighbors.from_lists(*near.kneighbors(119, n_jobs=1))
    for other in (lists, Neighbors.from_data(csr_array(X), "sqeuclidean")):
        found = expected_episodes(other, y, Episodes(3, 2), n_jobs=1)
        assert found.per_item == pytest.approx(expected.per_item, abs=1e-12)


def test_short_lists_need_a_tolerance():
    X, y = many()
    lists = Neighbors.from_data(X, n_neighbors=300)
    found = expected_episodes(lists, y, Episodes(5, 5), tol=0.1, n_jobs=2)
    expected = expected_episodes(X, y, Episodes(5, 5), n_jobs=1)
    assert 1e-8 < found.error_bound < 0.1
    assert found.score < expected.score < found.score + found.error_bound


def test_far_samples_leave_few_cells_for_the_others():
    """One sample stretches the range of the own distances, so that one cell holds all the others."""
    X, y = many(1)
    X = np.abs(X[:200])
    X[0] = 1e9
    y = y[:200] % 2
    found = expected_episodes(X, y, Episodes(2, 1), ties="index", n_jobs=1)
    for x in (0, 7, 8):
        order = np.lexsort((np.arange(200), np.abs(X - X[x])[:, 0]))
        own = y[order[order != x]] == y[x]
        right = np.cumsum(own)[~own].sum()
        assert found.per_item[x] == pytest.approx(right / (own.sum() * (~own).sum()), abs=1e-13)


@pytest.mark.slow
def test_numbers_of_sets_of_classes_whose_squares_overflow():
    """All supports tie, so that a class is right with the probability 1 / n_way."""
    y = np.arange(1280) % 640
    found = expected_episodes(np.zeros((1280, 1)), y, Episodes(200, 1), all_ways=False, n_jobs=1)
    assert found.score == pytest.approx(1 / 200, rel=1e-11)


KINDS = [[(0, 0), (1, 3), (7, 1)], [(2, 0), (9, 9), (3, 3)], [(0, 1), (8, 2), (9, 8)]]


def of_kinds(kinds):
    X = np.array([point for kind in kinds for point in KINDS[kind]], float)
    return X, np.repeat(np.arange(len(kinds)), 3)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_the_bias_of_the_jackknife_is_that_of_a_u_statistic(n_classes):
    """Effects of k classes count k (C - 1) / (C - k) times (Efron and Stein, Ann. Statist. 9, 1981)."""
    kernel = np.empty((3, 3))
    for pair in itertools.product(range(3), repeat=2):
        X, y = of_kinds(pair)
        D = ((X[:, None] - X) ** 2).sum(axis=-1)
        values = naive.accuracies(D, y.tolist(), 2, {0: 1, 1: 1}, "random")
        kernel[pair] = float(naive.mean_of_classes(y.tolist(), values))
    alone = kernel.mean(axis=1)
    one = 4 * alone.var() / n_classes
    both = (kernel.var() - 2 * alone.var()) / comb(n_classes, 2)
    found = []
    for kinds in itertools.product(range(3), repeat=n_classes):
        X, y = of_kinds(kinds)
        r = expected_episodes(X, y, Episodes(2, 1), jackknife="class", n_jobs=1)
        found.append([r.score, r.standard_error() ** 2])
    scores, squares = np.array(found).T
    assert scores.mean() == pytest.approx(kernel.mean(), abs=1e-13)
    assert scores.var() == pytest.approx(one + both, rel=1e-10)
    bias = 2 * (n_classes - 1) / (n_classes - 2)
    assert squares.mean() == pytest.approx(one + bias * both, rel=1e-10)
    assert squares.mean() > scores.var()
