"""As many random runs as a wanted standard error needs: bias, errors and caps, on scores of known means."""

import numpy as np
import pytest
from seeds import FIRST

from knnccv._core.luck.scorings import Budget, Wish, check_precision, controlled_mean, enough_runs

N_TRIALS = 400


def ask(rng, draw, wish, budget, with_control=False):
    """Enough runs of scores that `draw` makes; with a control of mean 0, on which they depend."""
    scores, controls = [], []

    def look(n):
        more = rng.normal(size=n)
        controls.extend(more)
        scores.extend(draw(rng, n) + (0.05 * more if with_control else 0.0))
        known = (np.array(controls)[:, None], [0.0]) if with_control else ()
        return controlled_mean(scores, *known)

    return enough_runs(look, wish, budget)


DRAWS = {
    "normal": lambda rng, n: 0.7 + 0.02 * rng.normal(size=n),
    "skewed": lambda rng, n: 0.7 + 0.02 * (1 - rng.exponential(size=n)),
    "few values": lambda rng, n: 0.7 + 0.02 * rng.integers(-1, 2, n),
}


@pytest.mark.parametrize("with_control", [False, True])
@pytest.mark.parametrize("name", DRAWS)
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
    assert all(each.lacking == "" and each.n_runs % 64 == 0 for each in found)
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


@pytest.mark.parametrize(
    ("precision", "n_runs", "message"),
    [
        (0, None, "must be positive and finite, got 0"),
        (float("nan"), None, "must be positive and finite, got nan"),
        (-0.1, None, "must be positive and finite, got -0.1"),
        (0.1, 20, "give the precision, or n_runs"),
        (None, 0, "n_runs must be at least 1"),
    ],
)
def test_wishes_that_are_none_are_refused(precision, n_runs, message):
    with pytest.raises(ValueError, match=message):
        check_precision(precision, n_runs)
    with pytest.raises(TypeError, match="precision must be a real number"):
        check_precision("1e-3", None)
