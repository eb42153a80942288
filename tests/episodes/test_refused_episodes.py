"""Arguments of episodes that are refused, with the message that says why."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from knnccv import Neighbors
from knnccv.episodes import Episodes, described_episodes, expected_episodes, sampled_episodes

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], [4, 5, 6])
X = RNG.normal(size=(15, 2))
D = np.abs(X[:, None] - X[None]).sum(axis=-1)
NAN = np.where(np.arange(30).reshape(15, 2) == 7, np.nan, X)
BAD_D = D + np.where(np.arange(225).reshape(15, 15) == 1, np.nan, 0)
MAKING = {
    "way-1": ({"n_way": 1}, ValueError, "n_way must be at least 2, got 1"),
    "way-float": ({"n_way": 5.0}, TypeError, "n_way must be an integer, got 5.0"),
    "way-text": ({"n_way": "5"}, TypeError, "n_way must be an integer, got '5'"),
    "way-bool": ({"n_way": True}, TypeError, "n_way must be an integer, got True"),
    "way-none": ({"n_way": None}, TypeError, "n_way must be an integer, got None"),
    "way-mapping": ({"n_way": {2: 1}}, TypeError, "n_way must be an integer, got {2: 1}"),
    "way-0-D": ({"n_way": np.array(2.0)}, TypeError, "n_way must be an integer"),
    "ways-nested": ({"n_way": [[2]]}, TypeError, "every number in n_way must be an integer"),
    "shot-bool-among": ({"n_shot": [1, True]}, TypeError, "every number in n_shot must be an integer"),
    "shot-float": ({"n_shot": 2.0}, TypeError, "n_shot must be an integer, got 2.0"),
    "shot-nan": ({"n_shot": np.nan}, TypeError, "n_shot must be an integer, got nan"),
    "ways-empty": ({"n_way": range(5, 5)}, ValueError, "n_way must hold at least one number"),
    "ways-repeated": ({"n_way": [2, 2]}, ValueError, "n_way must hold different numbers"),
    "ways-low": ({"n_way": range(1, 4)}, ValueError, "every number in n_way must be at least 2, got 1"),
    "shot-0": ({"n_shot": 0}, ValueError, "n_shot must be at least 1, got 0"),
    "shot-negative": ({"n_shot": -1}, ValueError, "n_shot must be at least 1, got -1"),
    "shots-none": ({"n_shot": {}}, ValueError, "n_shot must hold at least one number"),
    "shots-class-0": ({"n_shot": {"a": 0}}, ValueError, r"n_shot\['a'\] must be at least 1, got 0"),
    "shots-class-float": ({"n_shot": {"a": 1.0}}, TypeError, r"n_shot\['a'\] must be an integer"),
    "shots-text": ({"n_shot": ["1", 5]}, TypeError, "every number in n_shot must be an integer"),
}
ASKING = {
    "ways-many": (
        {"episodes": Episodes(4, 1)},
        ValueError,
        "n_way must be between 2 and 3, the number of cl",
    ),
    "default-5-way": (
        {"episodes": None},
        ValueError,
        "n_way must be between 2 and 3, the number of classes in y",
    ),
    "shots-huge": ({"episodes": Episodes(2, 10**30)}, ValueError, "n_shot must be at most 3"),
    "shots-of-few": ({"episodes": Episodes(3, {0: 1, 1: 1})}, ValueError, "but 2 has no number in n_shot"),
    "shots-of-others": (
        {"episodes": Episodes(3, {0: 1, 1: 1, 2: 1, 7: 2})},
        ValueError,
        "but 7 of n_shot is not in y",
    ),
    "shots-of-a-class": (
        {"episodes": Episodes(3, {0: 1, 1: 5, 2: 1})},
        ValueError,
        "class 1 has 5 samples, .* n_shot=5 and a query: n_shot must be at most 4",
    ),
    "votes-of-a-mapping": (
        {"episodes": Episodes(2, {0: 1, 1: 3, 2: 1}), "n_neighbors": 3},
        ValueError,
        "between 1 and 2, the supports of the smallest episode, got 3",
    ),
    "y-empty": ({"y": []}, ValueError, "X has 15 samples, but y has 0 labels"),
    "y-one": ({"y": 1}, ValueError, "y must have shape"),
    "y-missing-text": ({"y": [*"abcde" * 2, *"abcd", None]}, ValueError, r"y\[14\] is missing \(None\)"),
    "y-nan-text": ({"y": [*"abcde" * 2, *"abcd", np.nan]}, ValueError, r"y\[14\] is missing \(nan\)"),
    "y-masked": ({"y": np.ma.masked_equal(Y, 1)}, ValueError, "masked entries"),
    "y-classes-conflated": ({"y": Y + 2.0**60}, ValueError, "at least 2 classes; y has 1"),
    "X-empty": ({"X": X[:0], "y": []}, ValueError, "at least 2 samples and 1 feature"),
    "X-no-features": ({"X": X[:, :0]}, ValueError, "at least 2 samples and 1 feature"),
    "X-inf": ({"X": np.where(X > 1, np.inf, X)}, ValueError, "is inf; every value must be finite"),
    "X-complex": ({"X": X + 0j}, TypeError, "X must hold real numbers, got dtype complex128"),
    "X-dates": (
        {"X": X.astype("datetime64[s]")},
        TypeError,
        "X must hold real numbers, got dtype datetime64",
    ),
    "X-masked": ({"X": np.ma.masked_greater(X, 1)}, ValueError, "masked entries in X"),
    "X-params": ({"metric_params": {"p": 3}}, TypeError, "takes no parameter 'p'"),
    "episodes-class": ({"episodes": Episodes}, TypeError, "must be an Episodes object"),
    "neighbors-bool": ({"n_neighbors": True}, TypeError, "n_neighbors must be an integer, got True"),
    "tol-nan": ({"tol": np.nan}, ValueError, r"tol must be in \[0, 1\)"),
    "tol-text": ({"tol": "x"}, TypeError, "tol must be a real number"),
    "shots-many": (
        {"episodes": Episodes(2, 4)},
        ValueError,
        "class 0 has 4 samples, .* n_shot=4 and a query: n_shot must be at most 3",
    ),
    "one-class": ({"y": np.zeros(15, int)}, ValueError, "at least 2 classes; y has 1, 0"),
    "class-of-one": (
        {"y": [*range(14), 13]},
        ValueError,
        "class 0 has 1 sample; every class needs at least 2",
    ),
    "class-of-one-text": ({"y": ["a", *"b" * 14]}, ValueError, "class 'a' has 1 sample; every class needs"),
    "y-short": ({"y": Y[:14]}, ValueError, "X has 15 samples, but y has 14 labels"),
    "y-2-D": ({"y": np.zeros((15, 2), int)}, ValueError, "y must have shape"),
    "y-nan": ({"y": np.where(Y == 1, np.nan, Y)}, ValueError, r"y\[4\] is nan"),
    "y-real": ({"y": X[:, 0]}, TypeError, "class labels must be whole numbers"),
    "y-mixed": ({"y": ["a", *Y[1:].tolist()]}, TypeError, "cannot be sorted together"),
    "X-nan": ({"X": NAN}, ValueError, r"X\[3, 1\] is nan"),
    "X-1-D": ({"X": X[:, 0]}, ValueError, "X must have shape"),
    "X-text": ({"X": [["a", "b"]] * 15}, TypeError, "X must hold real numbers"),
    "D-nan": ({"X": BAD_D, "metric": "precomputed"}, ValueError, "is nan"),
    "D-similar": ({"X": 9 - D, "metric": "precomputed"}, ValueError, "similarit"),
    "D-oblong": ({"X": D[:, :9], "metric": "precomputed"}, ValueError, "must have shape"),
    "metric": ({"metric": "near"}, ValueError, "metric must be"),
    "metric-twice": ({"X": Neighbors.from_data(X), "metric": "cosine"}, ValueError, "already has a metric"),
    "lists-short": (
        {"X": Neighbors.from_lists(np.argsort(D, axis=1)[:, 1:6])},
        ValueError,
        "below what samples beyond the lists of <Neighbors of 15 samples .* could add to the score",
    ),
    "lists-approximate": (
        {"X": Neighbors.from_lists(np.argsort(D, axis=1)[:, 1:], approximate=True)},
        ValueError,
        "are approximate",
    ),
    "episodes-text": ({"episodes": "5-way"}, TypeError, "must be an Episodes object"),
    "episodes-numbers": ({"episodes": (5, 1)}, TypeError, "must be an Episodes object"),
    "votes-many": ({"n_neighbors": 3}, ValueError, "n_neighbors must be between 1 and 2, the supports of"),
    "votes-of-ranges": (
        {"n_neighbors": 4, "episodes": Episodes((2, 3), (1, 2))},
        ValueError,
        "n_neighbors must be between 1 and 2, the supports of the smallest episode, got 4",
    ),
    "neighbors-0": ({"n_neighbors": 0}, ValueError, "n_neighbors must be between 1 and 2, .* got 0"),
    "ties": ({"ties": "fair"}, ValueError, "ties must be 'random' or 'index', got 'fair'"),
    "tol": ({"tol": 1}, ValueError, r"tol must be in \[0, 1\)"),
    "tol-0": ({"tol": 0, "episodes": Episodes(2)}, ValueError, "below the rounding error"),
    "jackknife": ({"jackknife": "item"}, ValueError, "jackknife must be None or 'class', got 'item'"),
    "jackknife-true": ({"jackknife": True}, ValueError, "jackknife must be None or 'class', got True"),
    "jackknife-all": (
        {"jackknife": "class", "episodes": Episodes(3)},
        ValueError,
        "needs more classes than ways",
    ),
    "all-ways": ({"all_ways": "yes", "episodes": Episodes(2)}, TypeError, "all_ways must be True, False"),
    "all-ways-votes": (
        {"all_ways": 1, "episodes": Episodes(2), "n_neighbors": 2},
        TypeError,
        "all_ways must be True, False or None, got 1",
    ),
    "exact": ({"exact": 1}, TypeError, "exact must be True or False"),
    "jobs": ({"n_jobs": 0}, ValueError, "n_jobs"),
}
SAMPLING = {
    "few": ({"n_episodes": 1}, ValueError, "n_episodes must be at least 2, got 1"),
    "few-for-a-slope": (
        {"n_episodes": 2, "head": "prototype", "control_variate": True},
        ValueError,
        "n_episodes must be at least 3, got 2",
    ),
    "queries-0": ({"n_query": 0}, ValueError, "n_query must be at least 1, got 0"),
    "queries-many": (
        {"n_query": 15},
        ValueError,
        "class 0 has 4 samples; every class needs at least 16: n_shot=1 and 15 queries",
    ),
    "queries-shots": (
        {"n_query": 3, "episodes": Episodes(2, 2)},
        ValueError,
        "n_shot=2 and 3 queries: n_shot must be at most 1",
    ),
    "shots-by-class": ({"episodes": Episodes(2, {0: 1, 1: 1, 2: 2})}, ValueError, "shots of every class"),
    "head": ({"head": "linear"}, ValueError, "head must be one of 'nearest', 'prototype'"),
    "control": ({"control_variate": True}, ValueError, "needs head='prototype'"),
    "control-text": ({"control_variate": "yes"}, TypeError, "control_variate must be True or False"),
    "metric": ({"metric": "manhattan"}, ValueError, "metric must be one of 'euclidean', 'cosine'"),
    "seed": ({"random_state": -1}, ValueError, "random_state must be at least 0"),
    "seed-text": ({"random_state": "a"}, TypeError, "random_state must be"),
    "episodes-float": ({"n_episodes": 1.5}, TypeError, "n_episodes must be an integer, got 1.5"),
    "queries-float": ({"n_query": 1.0}, TypeError, "n_query must be an integer, got 1.0"),
    "seed-state": ({"random_state": np.random.RandomState(0)}, TypeError, "random_state must be"),
    "zero": ({"X": X * 0, "metric": "cosine"}, ValueError, r"X\[0\] is 0 in all features"),
    "X-nan": ({"X": NAN}, ValueError, r"X\[3, 1\] is nan"),
    "y-short": ({"y": Y[:9]}, ValueError, "X has 15 samples, but y has 9 labels"),
    "episodes": ({"episodes": 5}, TypeError, "must be an Episodes object"),
    "neighbors": ({"X": Neighbors.from_data(X)}, TypeError, "X must be the embedded samples"),
}


DESCRIBING = {
    "none": ([], ValueError, "at least one description"),
    "one-class": ([{0: 1}], ValueError, r"at least two labels of y, got \{0: 1\}"),
    "unknown": ([{0: 1, 9: 1}], ValueError, "got 9, which is not in y"),
    "no-mapping": ([(0, 1)], TypeError, "must map labels to numbers"),
    "shots": ([{0: 4, 1: 1}], ValueError, "class 0 has 4 samples"),
    "shots-0": ([{0: 0, 1: 1}], ValueError, r"n_shot\[0\] must be at least 1"),
}


def refused(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert type(caught.value) is error


@pytest.mark.parametrize("case", MAKING)
def test_bad_episodes(case):
    arguments, error, message = MAKING[case]
    refused(lambda: Episodes(**arguments), error, message)


@pytest.mark.parametrize("case", ASKING)
def test_bad_questions(case):
    arguments, error, message = ASKING[case]
    refused(
        lambda: expected_episodes(**{"X": X, "y": Y, "episodes": Episodes(2), **arguments}), error, message
    )


@pytest.mark.parametrize("case", SAMPLING)
def test_bad_samples(case):
    arguments, error, message = SAMPLING[case]
    given = {"X": X, "y": Y, "episodes": Episodes(2), "n_query": 2, **arguments}
    refused(lambda: sampled_episodes(**given), error, message)


@pytest.mark.parametrize("case", DESCRIBING)
def test_bad_descriptions(case):
    descriptions, error, message = DESCRIBING[case]
    refused(lambda: described_episodes(X, Y, descriptions), error, message)


def test_descriptions_need_rows():
    with pytest.raises(TypeError, match="X must be an array"):
        described_episodes(Neighbors.from_data(X), Y, [{0: 1, 1: 1}])


def test_descriptions_need_all_distances():
    with pytest.raises(ValueError, match=r"distances must have shape \(n_items, n_items\), got \(15, 9\)"):
        described_episodes(D[:, :9], Y, [{1: 1, 2: 1}], metric="precomputed")


@pytest.mark.parametrize("n_way", [400, 1100])
def test_sets_of_classes_beyond_double_precision_are_refused(n_way):
    y = np.arange(2200) % 1100
    with pytest.raises(ValueError, match=rf"n_way must be at most 3\d\d for 1100 classes, .* got {n_way}"):
        expected_episodes(np.arange(2200.0)[:, None], y, Episodes(n_way, 1), all_ways=False)


@pytest.mark.slow
def test_the_largest_number_of_sets_of_classes():
    y = np.arange(2200) % 1100
    X = np.zeros((2200, 1))  # all supports tie, so that a class is right with the probability 1 / n_way
    found = expected_episodes(X, y, Episodes(300, 1), all_ways=False, n_jobs=1)
    assert found.score == pytest.approx(1 / 300, rel=1e-11)


def test_all_ways_of_votes_by_a_numpy_bool():
    found = expected_episodes(X, Y, Episodes(2, 2), 2, all_ways=np.True_, n_jobs=1)
    assert list(found.ways) == [2, 3]


def test_many_classes_are_not_all_ways():
    y = np.arange(240) % 120
    found = expected_episodes(np.arange(240.0)[:, None], y, n_jobs=1)
    assert list(found.ways) == [2, 3, 4, 5]
    assert found.score == found.ways[5]


def test_votes_that_take_hours_are_refused_with_the_figure():
    y = np.arange(12_000) % 20
    X = np.random.default_rng(0).normal(size=(12_000, 3))
    with pytest.raises(
        ValueError, match=r"votes of 15 supports for 12000 samples would take about \d\d+ hours"
    ):
        expected_episodes(X, y, Episodes(10, 5), 15)


def frozen(values):
    values = np.array(values)
    values.flags.writeable = False
    return values


SAME = {
    "read-only": (frozen(X), frozen(Y)),
    "Fortran order": (np.asfortranarray(X), Y),
    "every other row": (np.repeat(X, 2, axis=0)[::2], np.repeat(Y, 2)[::2]),
    "objects": (X.astype(object), Y.astype(object)),
    "long double": (X.astype(np.longdouble), Y),
    "a DataFrame": (pd.DataFrame(X), pd.Series(Y, index=range(15, 0, -1))),
    "text": (X, pd.Series(Y.astype(str))),
    "bytes": (X, Y.astype("S")),
    "hashes": (X, Y.astype(np.uint64) + np.uint64(2**63)),
    "large integers": (X, [10**30 + int(c) for c in Y]),
    "large features": (X * 2.0**600, Y),
    "small features": (X * 2.0**-600, Y),
}


@pytest.mark.parametrize("name", SAME)
def test_the_score_is_the_same(name):
    features, labels = SAME[name]
    assert expected_episodes(features, labels, Episodes(2, 2), n_jobs=1).score == pytest.approx(
        expected_episodes(X, Y, Episodes(2, 2), n_jobs=1).score, abs=1e-14
    )
    for head in ("nearest", "prototype"):
        for metric in ("euclidean", "cosine"):
            options = {"n_episodes": 50, "n_query": 2, "head": head, "metric": metric, "n_jobs": 1}
            found = sampled_episodes(features, labels, Episodes(2, 2), random_state=0, **options)
            given = sampled_episodes(X, Y, Episodes(2, 2), random_state=0, **options)
            assert (found.accuracies == given.accuracies).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint8, bool])
def test_small_types_are_exact(dtype):
    values = np.abs(9 * X).astype(dtype)
    found = expected_episodes(values, Y, Episodes(2), n_jobs=1)
    assert found.score == expected_episodes(values.astype(float), Y, Episodes(2), n_jobs=1).score
