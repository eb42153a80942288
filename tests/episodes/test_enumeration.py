"""Episodes against the enumeration of all sets of classes and all supports, in Fractions."""

from __future__ import annotations

import naive_episodes as naive
import numpy as np
import pytest

from knnccv import Neighbors
from knnccv._labels import encode_labels
from knnccv.episodes import Episodes, expected_episodes


def problem(seed):
    """A random problem of few samples: distances with few, some or no ties; unequal classes."""
    rng = np.random.default_rng(seed)
    n_classes, n_shot = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    room = {1: 3, 2: 2, 3: 2}[n_shot] if n_classes < 4 else 1
    if n_classes == 5:
        n_shot = min(n_shot, 2)
    y = np.repeat(np.arange(n_classes), rng.integers(n_shot + 1, n_shot + 2 + room, n_classes))
    rng.shuffle(y)
    D = rng.integers(1, [10_000, 12, 3][seed % 3], (len(y), len(y)), endpoint=True).astype(float)
    np.fill_diagonal(D, 0.0)
    return D, y, n_shot, ["random", "index"][seed % 2], int(rng.integers(2, n_classes + 1)), rng


@pytest.mark.parametrize("seed", range(240))
def test_all_ways_and_the_fractions_equal_the_enumeration(seed):
    D, y, n_shot, ties, n_way, rng = problem(seed)
    names = y.tolist()
    n_classes = len(set(names))
    jackknife = "class" if n_way < n_classes else None
    found = expected_episodes(
        D, y, Episodes(n_way, n_shot), metric="precomputed", ties=ties, jackknife=jackknife, n_jobs=1
    )
    rational = expected_episodes(
        D, y, Episodes(n_way, n_shot), metric="precomputed", ties=ties, exact=True, n_jobs=1
    )
    ways = range(2, n_classes + 1) if len(y) < 16 else (n_way,)
    for way in ways:
        expected = naive.episode_score(D, names, way, n_shot, ties)
        assert found.ways[way] == pytest.approx(float(expected), abs=1e-13)
        if way == n_way:
            assert rational.exact == expected
    assert rational.per_item_exact[0] == naive.query_accuracy(D, names, 0, n_way, n_shot, ties)
    assert abs(rational.score - float(rational.exact)) <= rational.error_bound
    assert found.score == pytest.approx(found.ways[n_way], abs=1e-14)
    assert found.weights @ found.per_item == pytest.approx(found.score, abs=1e-14)
    x = int(rng.integers(len(y)))
    one = naive.query_accuracy(D, names, x, n_way, n_shot, ties)
    assert found.per_item[x] == pytest.approx(float(one), abs=1e-13)
    assert found.per_class[names[x]] == pytest.approx(found.per_item[y == names[x]].mean(), abs=1e-14)
    if jackknife:
        deleted = int(rng.integers(n_classes))
        left = [c for c in range(n_classes) if c != deleted]
        expected = naive.episode_score(D, names, n_way, n_shot, ties, left)
        assert found.score_without[deleted] == pytest.approx(float(expected), abs=1e-13)


@pytest.mark.parametrize("seed", range(120))
def test_votes_equal_the_enumeration(seed):
    D, y, n_shot, ties, n_way, rng = problem(seed)
    n_neighbors = int(rng.integers(1, min(n_way * n_shot, 6) + 1))
    found = expected_episodes(
        D, y, Episodes(n_way, n_shot), n_neighbors, metric="precomputed", ties=ties, n_jobs=1
    )
    for x in rng.choice(len(y), 2, replace=False):
        one = naive.query_accuracy(D, y.tolist(), x, n_way, n_shot, ties, n_neighbors=n_neighbors)
        assert found.per_item[x] == pytest.approx(float(one), abs=1e-13)
    assert found.ways[n_way] == pytest.approx(found.score, abs=1e-14)


def test_one_vote_is_the_nearest_support():
    from knnccv.episodes._passes import Problem, all_votes

    X, y = many()
    near, y = Neighbors.from_data(np.rint(X[:200])), y[:200]
    found = expected_episodes(near, y, Episodes(4, 3), all_ways=False, n_jobs=1)
    labels = encode_labels(y)
    problem = Problem.of(labels, found.episodes, "random", all_ways=False, jackknife=False)
    votes = all_votes(problem, near, 1, 2)
    assert votes.sums[:, 0, 3] / 35 == pytest.approx(found.per_item, abs=1e-13)
    assert votes.tied.any()


def test_votes_of_ranges_and_all_ways():
    X, y = many()
    X, y = X[:60], y[:60] % 4
    found = expected_episodes(X, y, Episodes((2, 3), (1, 2)), 2, all_ways=True, n_jobs=2)
    assert "vote of 2 nearest supports" in repr(found)
    for way in (2, 3, 4):
        for shot in (1, 2):
            one = expected_episodes(X, y, Episodes(way, shot), 2, n_jobs=1).score
            assert found.accuracy_table[way, shot] == pytest.approx(one, abs=1e-14)
    three = expected_episodes(X, y, Episodes(3, 1), 3, n_jobs=1)
    assert list(three.ways) == [3]


@pytest.mark.parametrize("ties", ["random", "index"])
def test_ranges_are_drawn_uniformly(ties):
    D, y, *_ = problem(1)
    y = np.arange(len(y)) % 4
    ways, shots = (2, 3), (1, 2)
    found = expected_episodes(
        D,
        y,
        Episodes(range(2, 4), [2, 1]),
        metric="precomputed",
        ties=ties,
        jackknife="class",
        exact=True,
        n_jobs=1,
    )
    single = {(w, s): naive.episode_score(D, y.tolist(), w, s, ties) for w in ways for s in shots}
    for key, value in single.items():
        assert found.accuracy_table[key] == pytest.approx(float(value), abs=1e-13)
    assert found.exact == naive.mean(single.values())
    left = [naive.episode_score(D, y.tolist(), w, s, ties, [0, 1, 3]) for w in ways for s in shots]
    assert found.score_without[2] == pytest.approx(float(naive.mean(left)), abs=1e-13)
    assert found.score == pytest.approx(float(naive.mean(single.values())), abs=1e-13)
    assert found.ways[2] == pytest.approx(float(naive.mean([single[2, 1], single[2, 2]])), abs=1e-13)
    frame = found.to_frame()
    assert list(frame.columns) == ["n_way", "n_shot", "score"]
    asked = frame[frame.n_way.isin(ways)]
    assert asked.score.mean() == pytest.approx(found.score, abs=1e-14)


def test_one_shot_of_all_classes_is_the_stratified_design():
    from knnccv import StratifiedSubsample, complete_cv
    from knnccv.datasets import load_wine

    wine = load_wine()
    found = expected_episodes(wine.X, wine.y, Episodes(3, 4), n_jobs=1)
    same = complete_cv(wine.X, wine.y, "nn", StratifiedSubsample(per_class=4), average="class")
    assert found.score == pytest.approx(same.score, abs=1e-12)
    assert found.per_item == pytest.approx(same.per_item, abs=1e-12)


def many(n_features=12, integers=False, duplicates=0):
    """1,040 samples of 8 classes, so that distances come from matrix products."""
    rng = np.random.default_rng(5)
    y = np.arange(1040) % 8
    X = rng.normal(size=(8, n_features))[y] + rng.normal(size=(1040, n_features))
    if integers:
        X = np.rint(2 * X)
    X[:duplicates] = X[duplicates : 2 * duplicates]
    return X, y


@pytest.mark.parametrize(("integers", "duplicates"), [(False, 0), (False, 30), (True, 30)])
@pytest.mark.parametrize("ties", ["random", "index"])
def test_products_give_the_scores_of_exact_distances(integers, duplicates, ties):
    X, y = many(12, integers, duplicates)
    near = Neighbors.from_data(X)
    episodes = Episodes((2, 5), (1, 3))
    found = expected_episodes(near, y, episodes, ties=ties, jackknife="class", n_jobs=2)
    values = near.values(np.arange(len(X)))
    same = expected_episodes(
        values, y, episodes, metric="precomputed", ties=ties, jackknife="class", n_jobs=1
    )
    assert found.per_item == pytest.approx(same.per_item, abs=1e-12)
    assert found.score_without == pytest.approx(same.score_without, abs=1e-12)
    assert found.tied == same.tied
    assert (found.tied > 0) == (duplicates > 0)


@pytest.mark.parametrize("duplicates", [0, 40])
def test_results_do_not_depend_on_threads_or_blocks(duplicates, monkeypatch):
    from knnccv.episodes import _passes

    X, y = many(11, duplicates=duplicates)
    found = [expected_episodes(X, y, Episodes(3, 2), jackknife="class", n_jobs=n) for n in (1, 2, 5)]
    monkeypatch.setattr(_passes, "MOST_ROWS", 7)
    monkeypatch.setattr(_passes, "FEWEST_ROWS", 3)
    found.append(expected_episodes(X, y, Episodes(3, 2), jackknife="class", n_jobs=2))
    for other in found[1:]:
        assert other.score == found[0].score
        assert other.ways == found[0].ways
        assert (other.per_item == found[0].per_item).all()
        assert (other.score_without == found[0].score_without).all()


def test_fair_ties_do_not_depend_on_the_order_of_the_rows():
    D, y, *_ = problem(2)
    moved = np.random.default_rng(0).permutation(len(y))
    episodes = Episodes(2, 1)
    found = expected_episodes(D, y, episodes, metric="precomputed", n_jobs=1)
    again = expected_episodes(D[np.ix_(moved, moved)], y[moved], episodes, metric="precomputed", n_jobs=1)
    assert found.tied > 0
    assert again.per_item == pytest.approx(found.per_item[moved], abs=1e-12)


def test_complete_lists_and_sparse_data_serve():
    from scipy.sparse import csr_array

    X, y = many(6)
    X, y = np.rint(X[:120]), y[:120]
    near = Neighbors.from_data(X, "sqeuclidean")
    expected = expected_episodes(near, y, Episodes(3, 2), n_jobs=1)
    lists = Neighbors.from_lists(*near.kneighbors(119, n_jobs=1))
    sparse = Neighbors.from_data(csr_array(X), "sqeuclidean")
    for other in (lists, sparse):
        assert expected_episodes(other, y, Episodes(3, 2), n_jobs=1).per_item == pytest.approx(
            expected.per_item, abs=1e-12
        )


@pytest.mark.parametrize("seed", range(100))
def test_short_lists_bracket_the_score(seed):
    D, y, n_shot, ties, n_way, rng = problem(seed)
    episodes, full = Episodes(n_way, n_shot), Neighbors.from_distances(D)
    expected = expected_episodes(full, y, episodes, ties=ties, n_jobs=1)
    errors = []
    for depth in sorted(rng.choice(np.arange(len(y) // 2, len(y)), 2, replace=False)):
        lists = Neighbors.from_lists(*full.kneighbors(int(depth), n_jobs=1))
        found = expected_episodes(lists, y, episodes, ties=ties, tol=0.999999, n_jobs=1)
        for way, score in expected.ways.items():
            assert found.ways[way] - 1e-13 <= score <= found.ways[way] + found.error_bound + 1e-13
        assert found.score - 1e-13 <= expected.score <= found.score + found.error_bound + 1e-13
        errors.append(found.error_bound)
    assert errors == sorted(errors, reverse=True)


def test_short_lists_need_a_tolerance():
    X, y = many()
    lists = Neighbors.from_data(X, n_neighbors=300)
    with pytest.raises(ValueError, match=r"what samples beyond the lists .* could add to the score"):
        expected_episodes(lists, y, Episodes(5, 5), n_jobs=1)
    found = expected_episodes(lists, y, Episodes(5, 5), tol=0.1, n_jobs=2)
    expected = expected_episodes(X, y, Episodes(5, 5), n_jobs=1)
    assert 1e-8 < found.error_bound < 0.1
    assert found.score < expected.score < found.score + found.error_bound
    with pytest.raises(ValueError, match="too short: jackknife, exact=True and votes need"):
        expected_episodes(lists, y, Episodes(5, 5), jackknife="class", tol=0.1)


def test_graphs_with_short_rows_are_no_complete_lists():
    from scipy.sparse import csr_array

    D, y, n_shot, *_ = problem(4)
    D = D.copy()
    D[0, 2:] = 0.0
    graph = Neighbors.from_graph(csr_array(D))
    for arguments in ({"exact": True}, {"n_neighbors": 2}, {"jackknife": "class"}):
        with pytest.raises(ValueError, match="are too short"):
            expected_episodes(graph, y, Episodes(2, n_shot), **arguments)


def test_far_samples_leave_few_cells_for_the_others():
    """One sample stretches the range of the own distances, so that one cell holds all the others."""
    X, y = many(1)
    X = np.abs(X[:200])
    X[0] = 1e9
    y = y[:200] % 2
    found = expected_episodes(X, y, Episodes(2, 1), ties="index", n_jobs=1)
    order = [np.lexsort((np.arange(200), np.abs(X - X[x])[:, 0])) for x in range(200)]
    for x in (0, 7, 8):
        own, right = 0, 0
        for j in order[x]:
            if j != x and y[j] == y[x]:
                own += 1
            elif j != x:
                right += own
        n_own, n_other = (y == y[x]).sum() - 1, (y != y[x]).sum()
        assert found.per_item[x] == pytest.approx(right / (n_own * n_other), abs=1e-13)
