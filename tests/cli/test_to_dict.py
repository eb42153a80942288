"""`to_dict` of all results: types that JSON has, and the numbers of the attributes."""

import json
import math

import numpy as np
import pytest

from knnccv import compare, complete_cv, monte_carlo_cv, permutation_test, surface, tuned_score
from knnccv._formatting import plain
from knnccv.episodes import Episodes, expected_episodes, sampled_episodes

rng = np.random.default_rng(3)
X, Y = rng.normal(size=(24, 2)), np.arange(24) % 2


def strict(found):
    """The dictionary as another program reads it; not a number is an error."""
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


def test_types_of_json():
    given = {1: np.float64(0.5), "b": (np.int64(3), math.nan, math.inf), "c": np.array([[True]])}
    assert plain(given) == {"1": 0.5, "b": [3, None, None], "c": [[True]]}
    assert plain([2**53, 2**53 + 2, None]) == [2**53, "9007199254740994", None]
    assert plain(complex(1, 2)) == "(1+2j)"


def test_exact_scores():
    found = complete_cv(X, Y, "knn", 4, n_neighbors=3, exact=True)
    shown = strict(found)
    assert shown["score"] == found.score
    assert shown["exact"] == f"{found.exact.numerator}/{found.exact.denominator}"
    assert (shown["n_train_sets"], shown["std_error"]) == (found.n_train_sets, None)
    assert shown["parameters"]["n_neighbors"] == 3


def test_sampled_scores_have_no_bound():
    found = complete_cv(X, Y, "knn", 4, method="sampled", n_draws=20)
    shown = strict(found)
    assert (shown["error_bound"], shown["exact"], shown["std_error"]) == (None, None, found.std_error)


@pytest.mark.parametrize("n_repeats", [1, 5])
def test_runs(n_repeats):
    found = monte_carlo_cv(X, Y, "nn", 4, n_repeats=n_repeats, random_state=0)
    shown = strict(found)
    assert shown["scores"] == found.scores.tolist()
    assert shown["mean"] == found.score
    assert shown["std"] == (None if n_repeats == 1 else found.std)


@pytest.mark.filterwarnings("ignore")
def test_luck_and_comparisons():
    a, b = complete_cv(X, Y, "nn", 4), complete_cv(X, Y, "knn", 4)
    interval, found, spread = a.confidence_interval(0.9), compare(a, b), a.split_std()
    assert strict(interval)["level"] == 0.9
    assert (strict(interval)["low"], strict(interval)["high"]) == interval
    assert strict(spread) == {"std": spread.std, "exact": spread.exact, "error": spread.error}
    shown = found.to_dict(0.9, 0.02)
    assert shown["interval"] == found.confidence_interval(0.9).to_dict()
    assert shown["probability"]["worse"] == found.probability(0.02).second
    assert strict(found)["probability"] is None


def test_surfaces():
    found = surface(X, Y, [1, 3], [8, 16])
    shown = strict(found)
    assert shown["scores"] == found.scores.tolist()
    assert [one["n_neighbors"] for one in shown["best"]] == found.best().n_neighbors.tolist()


def test_surfaces_of_scorings_say_that_they_are_drawn():
    found = surface(X, Y, [1, 3], [8, 16], scoring="f1", n_runs=64)
    shown = strict(found)
    assert (shown["exact"], shown["std_error"]) == (False, found.std_error.tolist())


def test_what_is_drawn():
    tuned = tuned_score(X, Y, [1, 3], n_runs=20)
    shown = strict(tuned)
    assert (shown["score"], shown["n_runs"]) == (tuned.score, 20)
    assert [one["share"] for one in shown["choices"]] == list(tuned.choices.values())
    test = permutation_test(X, Y, "nn", 4, n_permutations=9)
    assert strict(test)["p_value"] == test.p_value
    runs = complete_cv(X, Y, "nn", 4).runs(30)
    assert strict(runs)["scores"] == runs.scores.tolist()
    assert strict(runs)["confusions"] == runs.confusions.tolist()


def test_expected_scores():
    neighbors = pytest.importorskip("sklearn.neighbors")
    scores = pytest.importorskip("knnccv.sklearn")
    for scoring in ("accuracy", "f1"):
        found = scores.expected_score(
            neighbors.KNeighborsClassifier(3), X, Y, scoring=scoring, random_state=0
        )
        assert strict(found)["std_error"] == found.std_error
        assert (strict(found)["exact"], strict(found)["score"]) == (found.exact, found.score)


def test_episodes():
    exact = expected_episodes(X, Y, Episodes(2, 1))
    drawn = sampled_episodes(X, Y, Episodes(2, 1), n_episodes=10, n_query=2, random_state=0)
    assert strict(exact)["per_class"] == {str(label): score for label, score in exact.per_class.items()}
    assert strict(exact)["standard_error"] is None
    assert (strict(drawn)["n_episodes"], strict(drawn)["std"], strict(drawn)["r2"]) == (10, drawn.std, None)
