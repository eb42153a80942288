"""As many random runs, or draws, as a wanted error needs: bias, errors, caps, on scores of known means."""

import numpy as np
import pytest
from seeds import FIRST

from knnccv import Subsample, complete_cv
from knnccv._core.luck.scorings import (
    Budget,
    EnoughRuns,
    Wish,
    controlled_mean,
    enough_runs,
)
from knnccv.episodes import Episodes, expected_episodes, sampled_episodes
from knnccv.retrieval import Gallery, expected_retrieval, sampled_retrieval

N_TRIALS = 400


def ask(rng, draw, wish, budget, with_control=False):
    """Enough runs of scores that `draw` makes; with a control of mean 0, on which they depend."""
    scores, controls = [], []

    def look(n):
        more = rng.normal(size=n)
        controls.extend(more)
        scores.extend(draw(rng, n) + (0.05 * more if with_control else 0.0))
        known = (np.array(controls)[:, None], [0.0]) if with_control else ()
        return [controlled_mean(scores, *known)]

    (found,), n_runs, (lacking,) = enough_runs(look, [wish], budget)
    return EnoughRuns(found, n_runs, lacking)


DRAWS = {
    "normal": lambda rng, n: 0.7 + 0.02 * rng.normal(size=n),
    "skewed": lambda rng, n: 0.7 + 0.02 * (1 - rng.exponential(size=n)),
    "few values": lambda rng, n: 0.7 + 0.02 * rng.integers(-1, 2, n),
}


@pytest.mark.parametrize(
    ("name", "with_control"),
    [
        *(("normal", False), ("skewed", False), ("few values", True)),
        *(pytest.param(name, name != "few values", marks=pytest.mark.slow) for name in DRAWS),
    ],
)
def test_means_have_the_wanted_error_and_hardly_a_bias(name, with_control):
    rng, wanted = np.random.default_rng(FIRST), 0.0008
    found = [
        ask(rng, DRAWS[name], Wish(500, wanted), Budget(64, 1000), with_control) for _ in range(N_TRIALS)
    ]
    means, errors = np.array([(each.found.mean, each.found.std_error) for each in found]).T
    off = (means - 0.7) / wanted
    assert abs(off.mean()) < 0.15 + 4 / np.sqrt(N_TRIALS)
    assert 0.8 < np.sqrt((errors**2).mean()) / np.sqrt(((means - 0.7) ** 2).mean()) < 1.25
    assert np.quantile(errors, 0.95) < 1.15 * wanted
    assert all(each.n_runs % 64 == 0 for each in found)
    # Skewed scores are sometimes underrated by every look but the last one, which says so.
    assert np.mean([each.lacking != "" for each in found]) < 0.02
    # A pilot of 64 runs is not nearly enough: 625 are.
    assert 400 < np.median([each.n_runs for each in found]) < 1100


def test_the_pilot_is_enough_where_its_error_is_small():
    rng = np.random.default_rng(0)
    assert ask(rng, DRAWS["normal"], Wish(100, 0.01), Budget(64, 1000)).n_runs == 64
    assert ask(rng, DRAWS["normal"], Wish(100, 0.01), Budget(50, 1000)).n_runs == 50  # it is not rounded
    # By default, 0.01 / sqrt(n_items); relative to the score if that is an error.
    assert ask(rng, DRAWS["normal"], Wish(4), Budget(64, 1000)).n_runs == 64
    assert Wish(100).error(-7.0) == 0.001
    assert Wish(100, is_relative=True).error(-7.0) == pytest.approx(0.007)
    assert Wish(100, 0.02, is_relative=True).error(-7.0) == 0.02


def test_a_number_of_runs_is_kept_whatever_the_error():
    found = ask(np.random.default_rng(0), DRAWS["normal"], Wish(10**9, n_runs=7), Budget(64, 1000))
    assert (found.n_runs, found.lacking) == (7, "")
    one = ask(np.random.default_rng(0), DRAWS["normal"], Wish(10**9, n_runs=1), Budget(64, 1000))
    assert one.n_runs == 1
    assert np.isnan(one.found.std_error)


def test_relative_errors_of_scores_near_zero_do_not_ask_for_all_runs():
    def near_zero(rng, n):
        return 1e-6 + 0.02 * rng.normal(size=n)

    found = ask(np.random.default_rng(0), near_zero, Wish(100, is_relative=True), Budget(64, 1000))
    assert found.n_runs == 1000
    assert "takes some" in found.lacking
    asked = ask(np.random.default_rng(0), near_zero, Wish(100, 5e-4, is_relative=True), Budget(64, 1000))
    assert asked.n_runs > 1000
    assert asked.found.std_error < 6e-4


def test_what_the_largest_number_of_runs_leaves_is_said():
    found = ask(np.random.default_rng(0), DRAWS["normal"], Wish(100, 1e-5), Budget(64, 1000, 2000))
    assert found.n_runs == 2000
    assert found.found.std_error > 3e-4
    assert found.lacking.startswith("; an error of 1.0e-05 takes some ")
    runs = float(found.lacking.split("some ")[1].split(" runs")[0].replace(",", ""))
    assert 3e6 < runs < 5e6


def test_pilots_that_see_nothing_do_not_ask_for_all_runs():
    """The error of equal scores is that of one run in all; twice as many runs halve it."""

    def always(_, n):
        return np.ones(n)

    found = ask(np.random.default_rng(0), always, Wish(10_000), Budget(64, 1000))
    assert (found.n_runs, found.found.mean) == (1000, 1.0)
    assert found.found.std_error == pytest.approx(1e-3)
    assert "takes some 10000 runs" in found.lacking
    asked = ask(np.random.default_rng(0), always, Wish(10_000, 2e-4), Budget(64, 1000))
    assert asked.found.std_error == pytest.approx(2e-4, rel=0.02)

    def hardly_ever(rng, n):
        return 1.0 - (rng.random(n) < 0.004) * 0.1

    found = [
        ask(np.random.default_rng(seed), hardly_ever, Wish(10_000), Budget(64, 1000)).found
        for seed in range(200)
    ]
    assert max(abs(each.mean - 0.9996) / each.std_error for each in found) < 4


Y = np.arange(60) % 3
X = np.random.default_rng(0).normal(size=(60, 2)) + 1.5 * np.random.default_rng(1).normal(size=(3, 2))[Y]
BETWEEN = np.linalg.norm(X[:30, None] - X[None, 30:], axis=2), Y[:30], Y[30:], Gallery(per_identity=2)


def sampled_rule(**options):
    found = complete_cv(X[:30], Y[:30], "knn", Subsample(20), method="sampled", **options)
    return found.score, found.std_error, found.n_draws


def episodes(**options):
    found = sampled_episodes(X, Y, Episodes(3, 1), **options)
    return found.score, found.std_error, len(found.accuracies)


def retrieval(**options):
    found = sampled_retrieval(*BETWEEN, scores=("cmc", "ap"), max_rank=3, **options)
    n_runs = len(found.trials["ap"])
    errors = found.std_error("ap", n_runs), *found.std_error("cmc", n_runs)
    assert found.mean("cmc").shape == (3,)
    return found.mean("ap"), max(errors), n_runs


SAMPLED = {
    "n_draws": (sampled_rule, 1000, lambda: complete_cv(X[:30], Y[:30], "knn", Subsample(20)).score),
    "n_episodes": (episodes, 600, lambda: expected_episodes(X, Y, Episodes(3, 1)).score),
    "n_runs": (retrieval, 200, lambda: expected_retrieval(*BETWEEN)["ap"].score),
}


@pytest.mark.parametrize("number", SAMPLED)
def test_draws_reach_the_wanted_error(number):
    draw, usual, exact = SAMPLED[number]
    mean, (_, error, n_draws) = exact(), draw()
    assert n_draws == usual
    assert draw() == draw(**{number: usual}) == draw(precision=1.01 * error)
    found = [draw(precision=0.5 * error, random_state=seed) for seed in range(5)]
    assert sum(reached <= 1.15 * 0.5 * error for _, reached, _ in found) >= 4
    assert all(abs(score - mean) < 4 * reached for score, reached, _ in found)
    assert all(usual < number < 16 * usual for *_, number in found)
    one, two = (draw(precision=0.5 * error, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one == two == found[0]
    if number != "n_runs":
        assert one == draw(**{number: one[2]})


@pytest.mark.parametrize("number", ["n_episodes", "n_runs"])
def test_what_a_precision_takes_is_said_where_the_largest_number_ends_it(number):
    draw, usual, _ = SAMPLED[number]
    words = f"{100 * usual:,} {number[2:]} have a standard error of .*; an error of 1.0e-06 takes some "
    with pytest.warns(UserWarning, match=f"^{words}.* {number[2:]}, .* s$") as told:
        assert draw(precision=1e-6)[2] == 100 * usual
    assert told[0].filename == __file__


def test_exact_scores_have_any_precision():
    asked = complete_cv(X, Y, "knn", 3, precision=1e-9)
    assert asked.is_exact
    assert asked.score == complete_cv(X, Y, "knn", 3).score
