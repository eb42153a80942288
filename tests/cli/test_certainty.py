"""The command score: intervals, the two kinds of luck, and comparisons with another rule."""

from __future__ import annotations

import json
import math
from argparse import Namespace

import numpy as np
import pytest
from command_line import HOMES, PRICES, refused, scaled, table

from knnccv import LeaveGroupsOut, compare, complete_cv
from knnccv._cli.options import other_rule
from knnccv._cli.score import Answer
from knnccv.datasets import load_wine
from knnccv.inference import Comparison, ConfidenceInterval
from knnccv.runs import SplitSpread

WINE = load_wine()
X = scaled(WINE.X)
NOTHING = ("score", "--repeats", "0")


def test_nothing_is_said_unless_it_is_asked_for(run):
    out = run(*NOTHING)[1]
    assert "luck" not in out
    assert "Compared" not in out
    answer = json.loads(run(*NOTHING, "--json")[1])
    for field in ("standard_error", "interval", "split_std", "comparison"):
        assert answer[field] is None


def test_both_kinds_of_luck_have_their_names(run):
    status, out, err = run(*NOTHING, "--interval")
    found = complete_cv(X, WINE.y)
    low, high = found.confidence_interval()
    std = found.split_std().std
    lines = [line.strip() for line in out.splitlines()]
    assert (status, err) == (0, "")
    assert f"95 % [{100 * low:.2f} %, {100 * high:.2f} %] (luck of the data)" in lines
    told = f"standard deviation of one random run around this exact score: {100 * std:.2f} points"
    assert told in " ".join(lines)
    assert f"for the {found.confidence_interval().target}" in " ".join(lines)
    assert out.index("one random run") < out.index("luck of the data")
    assert max(map(len, out.splitlines())) <= 100


def test_json_of_an_interval(run):
    answer = json.loads(run(*NOTHING, "--interval", "0.8", "--seed", "3", "--variant", "nn", "--json")[1])
    found = complete_cv(X, WINE.y, "nn")
    interval = found.confidence_interval(0.8, random_state=3)
    assert answer["interval"] == {
        "low": interval.low,
        "high": interval.high,
        "level": 0.8,
        "method": "wilson",
        "target": interval.target,
    }
    assert answer["standard_error"] == found.standard_error(random_state=3)
    spread = found.split_std(random_state=3)
    assert answer["split_std"] == {"std": spread.std, "exact": spread.exact, "error": spread.error}
    assert answer["comparison"] is None


def test_a_comparison(run):
    status, out, err = run(*NOTHING, "--compare", "nn")
    found = compare(complete_cv(X, WINE.y), complete_cv(X, WINE.y, "nn"))
    low, high = found.confidence_interval()
    assert (status, err) == (0, "")
    assert f"Compared with nn: accuracy {100 * found.scores[1]:.2f} %\n" in out
    assert f"{100 * found.difference:+.2f} points  (this rule minus the other)" in out
    assert f"95 % [{100 * low:+.2f}, {100 * high:+.2f}] points (luck of the data)" in out
    likely = found.probability(0.01)
    told = f"this rule {likely.first:.2f}, neither {likely.equivalent:.2f}, the other {likely.second:.2f}"
    assert told in out
    assert max(map(len, out.splitlines())) <= 100


def test_designs_that_use_every_split_have_no_luck_of_the_split(run):
    out = run(*NOTHING, "--interval", "--leave-out", "1", "--variant", "nn")[1]
    assert "every split is used: no luck of the split" in out
    assert "one random run" not in out


def test_the_difference_that_does_not_matter(run):
    question = (*NOTHING, "--variant", "nn", "--compare", "knn:n_neighbors=5", "--rope")
    found = compare(complete_cv(X, WINE.y, "nn"), complete_cv(X, WINE.y, n_neighbors=5))
    likely = found.probability(0.02)
    out = run(*question, "0.02")[1]
    assert "better by more than 2 points  (posterior probability, flat prior, normal approximation)" in out
    assert f"this rule {likely.first:.2f}, neither {likely.equivalent:.2f}" in out
    answer = json.loads(run(*question, "0.02", "--json")[1])["comparison"]
    assert (answer["rope"], answer["probability"]["equivalent"]) == (0.02, likely.equivalent)


def test_losses_have_no_probabilities_without_a_rope(run, write):
    path = write(table(("x", "price"), list(range(40)), [x * 7 % 11 for x in range(40)]))
    question = ("score", path, "--target", "price", "--variant", "regression", "--n-neighbors", "1")
    other = ("--repeats", "0", "--compare", "regression:n_neighbors=3")
    assert "posterior" not in run(*question, *other)[1]
    answer = json.loads(run(*question, *other, "--json")[1])["comparison"]
    assert (answer["rope"], answer["probability"]) == (None, None)
    out = run(*question, *other, "--rope", "0.5")[1]
    assert "better by more than 0.5  (posterior probability" in out


def answer_of(**more):
    """An answer on the wine data with other parts."""
    asked = Namespace(rope=None, interval=0.95)
    answer = Answer(asked, None, None, None, complete_cv(X, WINE.y, "nn"))
    for name, value in more.items():
        setattr(answer, name, value)
    return answer


def test_a_p_value_that_is_not_defined():
    """Halves that coincide although the scores differ."""
    names, scores = ("nn", "knn"), (0.8, 0.7)
    undefined = Comparison(0.1, math.nan, 10.0, names, scores, "accuracy", False, 0.0)
    text = str(list(answer_of(comparison=undefined)._compared(undefined)))
    assert "not defined: the halves do not tell both rules apart" in text
    assert "posterior" not in text
    answer = json.loads(json.dumps(undefined.to_dict(0.95, 0.01), allow_nan=False))
    assert (answer["pvalue"], answer["interval"], answer["probability"]) == (None, None, None)


@pytest.mark.parametrize("exact", [False, True])
def test_a_run_may_vary_by_nothing_although_splits_are_random(exact):
    spread = SplitSpread(0.0, exact, 1e-15 * exact, 0 if exact else 5000)
    interval = ConfidenceInterval(0.9, 1.0, confidence_level=0.95, target="accuracy")
    said = " ".join(answer_of(luck={"interval": interval, "split_std": spread})._luck())
    assert "one random run around this exact score: 0.00 points" in said
    assert "every split" not in said


def test_json_of_a_comparison(run):
    question = (*NOTHING, "--cv", "3", "--compare", "knn:n_neighbors=9,vote_ties=random", "--json")
    answer = json.loads(run(*question)[1])["comparison"]
    found = compare(
        complete_cv(X, WINE.y, cv=3), complete_cv(X, WINE.y, cv=3, n_neighbors=9, vote_ties="random")
    )
    assert answer["with"] == "knn(n_neighbors=9, vote_ties=random)"
    assert answer["difference"] == found.difference
    assert answer["standard_error"] == found.standard_error
    assert answer["pvalue"] == found.pvalue
    assert (answer["interval"]["low"], answer["interval"]["high"]) == found.confidence_interval()
    assert (answer["rope"], sum(answer["probability"].values())) == (0.01, pytest.approx(1))


def test_groups_are_the_units_and_few_of_them_are_noted(run, write):
    groups = np.arange(40) // 4
    x = np.random.default_rng(0).integers(0, 99, 40)
    y = (x + groups * 7) % 2
    path = write(table(("x", "who", "label"), x.tolist(), groups.tolist(), y.tolist()))
    question = ("score", path, "--target", "label", "--groups", "who", "--variant", "nn", "--repeats", "0")
    status, out, err = run(*question, "--interval", "--json")
    found = complete_cv(x[:, None].astype(float), y, "nn", LeaveGroupsOut(groups))
    with pytest.warns(UserWarning, match="10 groups"):
        error = found.standard_error()
    assert (status, error.of_groups) == (0, True)
    assert json.loads(out)["standard_error"] == error
    assert err.startswith("knnccv: note: there are 10 groups, fewer than 20")


def test_regression_has_the_interval_of_skewed_errors(run, write):
    prices = ("score", write(PRICES), "--target", "price", "--variant", "regression")
    status, out, err = run(*prices, "--n-neighbors", "1", "--repeats", "0", "--interval", "--json")
    features = np.array([row[:2] for row in HOMES])
    found = complete_cv(features, [row[2] for row in HOMES], "regression", n_neighbors=1)
    assert (status, err.count("\n")) == (0, err.count("knnccv: note:"))
    assert json.loads(out)["interval"]["method"] == "hall"
    assert json.loads(out)["score"] == found.score


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("nn", "nn", {}),
        ("knn:n_neighbors=5", "knn", {"n_neighbors": 5}),
        ("nn:loss=[[0,1],[5,0]]", "nn", {"loss": [[0, 1], [5, 0]]}),
        (
            "knn:n_neighbors=3,loss=[[0,1],[5,0]], vote_ties=random",
            "knn",
            {"n_neighbors": 3, "loss": [[0, 1], [5, 0]], "vote_ties": "random"},
        ),
    ],
)
def test_the_other_rule(text, name, parameters):
    assert other_rule(text) == (name, parameters)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--compare", "knnn"), ("no variant 'knnn'", "did you mean 'knn'?")),
        (("--compare", "knn:5"), ("--compare must be NAME or NAME:PARAMETER=VALUE", "'5'")),
        (
            ("--compare", "nn:n_neighbors=5"),
            ("variant 'nn' has no parameter 'n_neighbors'", "it takes: loss"),
        ),
        (("--compare", "knn:n_neighbors=5,n_neighbors=6"), ("each given once, got 'n_neighbors=6'",)),
        (("--compare", "rank"), ("scores are of one kind", "rank")),
        (("--rope", "0.02"), ("--rope belongs to --compare",)),
        (("--compare", "nn", "--rope", "-1"), ("rope must be a finite number of at least 0, got -1",)),
        (("--compare", "nn", "--rope", "inf"), ("rope must be", "finite")),
        (("--interval", "95"), ("confidence_level must be in (0, 1), got 95.0; for 95 % give 0.95",)),
        (("--interval", "nan"), ("confidence_level must be",)),
    ],
)
def test_comparisons_that_cannot_be(run, options, parts):
    said = refused(run, *NOTHING, *options)
    for part in parts:
        assert part in said


@pytest.mark.parametrize("option", ["--interval", "--rope"])
def test_words_are_no_numbers(run, option, capsys):
    with pytest.raises(SystemExit):
        run("score", "--compare", "nn", option, "iris.csv")
    assert f"argument {option}: invalid float value: 'iris.csv'" in capsys.readouterr().err
