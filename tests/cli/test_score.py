"""The command score: the answer as text and as JSON, for all rules and designs."""

from __future__ import annotations

import json
import sys
from fractions import Fraction

import numpy as np
import pytest
from command_line import (
    HOMES,
    PLAIN,
    PRICES,
    QUICK,
    refused,
    scaled,
)

from knnccv import (
    KFold,
    LeaveOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    monte_carlo_cv,
    register,
    unregister,
)
from knnccv.datasets import load_wine
from knnccv_variants.nearest import NN


def test_score_without_a_file_is_the_wine_data_and_the_default_question(run):
    wine = load_wine()
    X = scaled(wine.X)
    exact = complete_cv(X, wine.y)
    status, out, err = run("score", "--repeats", "3", "--seed", "1")
    assert (status, err) == (0, "")
    assert "wine (bundled; no file was given): 178 samples, 13 features\n" in out
    assert "features standardized over all samples\n" in out
    assert "3 classes (1: 59, 2: 71, 3: 48)" in out
    assert f"{100 * exact.score:.4f} %" in out
    assert "stratified 5-fold cross-validation" in out
    runs = monte_carlo_cv(X, wine.y, n_repeats=3, random_state=1)
    assert f"{100 * runs.score:.2f} % ± {100 * runs.std:.2f} %" in out
    assert f"± {100 * runs.standard_error:.2f} %" in out
    assert "3 random runs of the same design (seed 1)" in out
    assert max(map(len, out.splitlines())) <= 100


def test_json_holds_what_the_library_found(run):
    wine = load_wine()
    X = scaled(wine.X)
    found = complete_cv(X, wine.y, "nn", Subsample(100))
    status, out, _ = run("score", *QUICK, "--train-size", "100", "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["score"] == found.score
    assert answer["error_bound"] == found.error_bound
    assert answer["n_train_sets"] == str(found.n_train_sets)
    assert answer["design"] == "Subsample(train_size=100)"
    assert answer["measure"] == "accuracy"
    assert answer["classes"] == {"1": 59, "2": 71, "3": 48}
    assert (answer["standardized"], answer["groups"]) == (True, None)
    assert (answer["confusion"], answer["per_class"], answer["per_item"]) == (None, None, None)
    runs = monte_carlo_cv(X, wine.y, "nn", Subsample(100), n_repeats=2, random_state=0)
    assert answer["random_runs"]["scores"] == runs.scores.tolist()
    assert answer["random_runs"]["standard_error"] == runs.standard_error


@pytest.mark.slow
def test_json_of_a_number_too_long_to_read(run, write):
    rows = "".join(f"{x},{x % 7 % 2}\n" for x in range(15_000))
    question = (
        "score",
        write("x,label\n" + rows),
        "--target",
        "label",
        "--variant",
        "nn",
        "--repeats",
        "0",
        "--train-size",
        "0.5",
    )
    answer = json.loads(run(*question, "--json")[1])
    exponent = int(answer["n_train_sets"].split("e+")[1])
    assert exponent == int(answer["log10_n_train_sets"]) > 4300
    assert f"{answer['n_train_sets']} different training sets" in run(*question)[1]


def test_json_of_one_run_and_of_none(run, write):
    path = write(PLAIN)
    one = json.loads(
        run("score", path, "--target", "label", "--variant", "nn", "--repeats", "1", "--json")[1]
    )
    assert one["random_runs"]["std"] is None
    assert one["n_train_sets"] == int(one["n_train_sets"])
    none = json.loads(run("score", path, "--target", "2", "--variant", "nn", "--repeats", "0", "--json")[1])
    assert none["random_runs"] is None
    assert none["score"] == one["score"]


def test_exact_prints_the_fraction(run, write):
    path = write(PLAIN)
    question = ("score", path, "--target", "label", *QUICK, "--leave-out", "3", "--exact")
    answer = json.loads(run(*question, "--json")[1])
    assert float(Fraction(answer["exact"])) == answer["score"]
    assert answer["error_bound"] == 0
    assert f"exactly {answer['exact']}" in run(*question)[1]


def test_a_long_fraction_is_described_by_its_length(run):
    out = run("score", "--variant", "nn", "--repeats", "0", "--train-size", "60", "--exact")[1]
    assert "exactly a fraction of" in out


@pytest.mark.parametrize(
    ("options", "design", "words"),
    [
        ((), StratifiedKFold(5), "stratified 5-fold cross-validation"),
        (("--cv", "4"), StratifiedKFold(4), "stratified 4-fold cross-validation"),
        (("--cv", "4", "--stratify"), StratifiedKFold(4), "stratified 4-fold"),
        (("--cv", "4", "--no-stratify"), KFold(4), "4-fold cross-validation"),
        (("--no-stratify",), KFold(5), "5-fold cross-validation"),
        (("--train-size", "50"), Subsample(50), "training sets of 50 samples"),
        (("--train-size", "0.5"), Subsample(0.5), "a share 0.5 of the samples"),
        (("--train-size", "0.5", "--no-stratify"), Subsample(0.5), "a share 0.5 of the samples"),
        (("--train-size", "0.5", "--stratify"), StratifiedSubsample(0.5), "a share 0.5 of every class"),
        (("--per-class", "3"), StratifiedSubsample(per_class=3), "3 samples of every class"),
        (
            ("--per-class", "2=4, 1=3,3=5"),
            StratifiedSubsample(per_class={1: 3, 2: 4, 3: 5}),
            "training sets of 4 of class 2, 3 of class 1, 5 of class 3",
        ),
        (("--leave-out", "2"), Subsample(176), "leave 2 out"),
    ],
)
def test_designs(run, options, design, words):
    wine = load_wine()
    question = ("score", "--variant", "nn", "--repeats", "0", *options)
    expected = complete_cv(scaled(wine.X), wine.y, "nn", design)
    assert json.loads(run(*question, "--json")[1])["score"] == expected.score
    assert words in run(*question)[1]


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (("--n-neighbors", "3"), {"variant": "knn", "n_neighbors": 3}),
        (("--variant", "rank", "--rank", "2"), {"variant": "rank", "rank": 2}),
        (("--variant", "nn", "--ties", "random"), {"variant": "nn", "ties": "random"}),
        (("--metric", "manhattan"), {"metric": "manhattan"}),
        (("--metric", "minkowski", "--p", "3"), {"metric": "minkowski", "metric_params": {"p": 3}}),
        (("--average", "class", "--jobs", "1"), {"average": "class"}),
        (
            ("--variant", "nn", "--parameter", "loss=[[0,1,2],[3,0,1],[1,1,0]]"),
            {"variant": "nn", "loss": [[0, 1, 2], [3, 0, 1], [1, 1, 0]]},
        ),
    ],
)
def test_rules(run, options, asked):
    wine = load_wine()
    answer = json.loads(run("score", "--repeats", "0", *options, "--json")[1])
    assert answer["score"] == complete_cv(scaled(wine.X), wine.y, **asked).score
    measure = "rank-2 accuracy (CMC at rank 2)" if "rank" in asked else "accuracy"
    measure = "balanced accuracy" if asked.get("average") == "class" else measure
    measure = "expected loss" if "loss" in asked else measure
    assert answer["measure"] == measure
    out = run("score", "--repeats", "3", *options)[1]
    assert measure in out.lower().replace("cmc", "CMC")
    assert f"from the exact {measure}" in out
    assert (f"{100 * answer['score']:.4f} %" in out) == ("accuracy" in measure)
    assert answer["ties"] == asked.get("ties", "random")


@pytest.mark.parametrize(("score", "words"), [("share", "share of the votes"), ("brier", "Brier score")])
def test_the_votes_as_probabilities(run, score, words):
    wine = load_wine()
    exact = complete_cv(scaled(wine.X), wine.y, "confidence", n_neighbors=3, score=score)
    question = ("score", "--variant", "confidence", "--n-neighbors", "3", "--parameter", f"score={score}")
    answer = json.loads(run(*question, "--repeats", "0", "--json")[1])
    assert (answer["score"], answer["measure"]) == (exact.score, words)
    out = run(*question, "--repeats", "3")[1]
    assert words in out
    assert f"{exact.score:.10g}" in out
    assert "stratified 5-fold" in out
    assert "%" not in out


@pytest.mark.parametrize(
    ("options", "design", "asked"),
    [
        ((), KFold(5), {}),
        (("--cv", "3", "--n-neighbors", "2"), KFold(3), {"n_neighbors": 2}),
        (("--cv", "3", "--no-stratify"), KFold(3), {}),
        (("--train-size", "6", "--ties", "index"), Subsample(6), {"ties": "index"}),
        (("--leave-out", "2", "--parameter", "part=variance"), LeaveOut(2), {"part": "variance"}),
    ],
)
def test_regression(run, write, options, design, asked):
    question = ("score", write(PRICES), "--target", "price", "--variant", "regression", *options)
    X, y = np.array([row[:2] for row in HOMES]), np.array([row[2] for row in HOMES])
    exact = complete_cv(X, y, "regression", design, **asked)
    runs = monte_carlo_cv(X, y, "regression", design, n_repeats=4, random_state=0, **asked)
    status, out, err = run(*question, "--repeats", "4", "--json")
    answer = json.loads(out)
    assert (status, err) == (0, "")
    assert answer["score"] == exact.score
    assert answer["random_runs"]["scores"] == runs.scores.tolist()
    measure = "variance" if asked.get("part") else "mean squared error"
    assert answer["measure"] == measure
    assert answer["classes"] is None
    assert answer["ties"] == asked.get("ties", "random")
    out = run(*question, "--repeats", "4")[1]
    assert measure in out.lower()
    assert f"{exact.score:.10g}" in out
    assert f"from the exact {measure}" in out
    assert "targets from 0 to 30.25" in out
    assert "stratified" not in out
    assert "class" not in out.replace("classifications", "")
    assert "%" not in out
    assert max(map(len, out.splitlines()[1:])) <= 100


def test_regression_takes_whole_and_large_numbers(run, write):
    question = (
        "--target",
        "2",
        "--variant",
        "regression",
        "--n-neighbors",
        "1",
        "--repeats",
        "0",
        "--json",
    )
    small = json.loads(run("score", write(PRICES.replace(".25", "")), *question)[1])
    assert small["score"] > 0
    huge = "".join(f"{x},{y},{int(4 * price)}e18\n" for x, y, price in HOMES)
    answer = json.loads(run("score", write(huge), *question)[1])
    exact = json.loads(run("score", write(PRICES), *question)[1])
    assert answer["score"] == pytest.approx(exact["score"] * 16e36, rel=1e-12)


def test_ties_of_regression_are_of_targets(run, write):
    text = "x,price\n" + "".join(f"{x // 3},{x}.5\n" for x in range(12))
    out = run("score", write(text), "--target", "price", "--variant", "regression", "--n-neighbors", "1")[1]
    assert "12 of 12 samples have tied neighbors of different targets" in out


@pytest.mark.parametrize(
    ("target", "options", "parts"),
    [
        ("label", (), ("needs a number as every sample's target", "column 'label' holds 'b'", "knn")),
        ("y", ("--per-class", "2"), ("real targets, no classes to stratify by",)),
        ("y", ("--per-class", "0=1,1=2"), ("real targets, no classes to stratify by",)),
        ("y", ("--cv", "3", "--stratify"), ("real targets, no classes to stratify by",)),
        ("y", ("--train-size", "0.5", "--stratify"), ("real targets, no classes to stratify by",)),
        ("y", ("--n-neighbors", "50"), ("between 1 and",)),
        ("y", ("--parameter", "part=skew"), ("part must be one of", "'bias2'")),
        ("y", ("--parameter", "loss=[[0]]"), ("it takes: n_neighbors, part, output",)),
    ],
)
def test_regression_that_cannot_be(run, write, target, options, parts):
    question = ("score", write(PLAIN), "--target", target, "--variant", "regression")
    said = refused(run, *question, *(() if target == "label" else ("--drop", "label")), *options)
    for part in parts:
        assert part in said


@pytest.mark.parametrize(
    ("options", "share", "answer"),
    [
        ((), 8 / 12, "'a', the largest class"),
        (("--train-size", "0.5"), 8 / 12, "'a', the largest class"),
        (("--per-class", "a=6,b=1"), 3 / 5, "'b', the class of most weight"),  # tests 2 of a, and 3 of b
        (("--average", "class"), 1 / 2, "'a', the largest class"),
        (("--priors", "a=0.1,b=0.9"), 0.9, "'b', the class of most weight"),
        (("--parameter", "loss=[[0,1],[2,0]]"), None, ""),
        (("--variant", "rank", "--rank", "1"), None, ""),
    ],
)
def test_the_majority_class_is_beside_an_accuracy(run, write, options, share, answer):
    variant = () if "rank" in options else ("--variant", "nn", "--cv" if not options else "--seed", "4")
    question = ("score", write(PLAIN), "--target", "label", "--repeats", "0", *variant, *options)
    found = json.loads(run(*question, "--json")[1])["baseline"]
    shown = [line for line in run(*question)[1].splitlines() if line.startswith("Baseline")]
    if share is None:
        assert (found, shown) == (None, [])
        return
    assert found["score"] == pytest.approx(share, rel=1e-14)
    assert (found["name"], found["explanation"]) == ("majority class", f"always answers {answer}")
    assert shown == [f"Baseline       {100 * share:.4f} %  (majority class: always answers {answer})"]


def test_the_baseline_is_that_of_the_report(run, write):
    question = (write(PLAIN), "--target", "label", "--json")
    mine = json.loads(run("score", *question, *QUICK, "--cv", "4")[1])["baseline"]
    theirs = json.loads(run("report", *question, "--n-neighbors", "1")[1])["scores"]["baselines"][0]
    assert (mine["score"], mine["name"]) == (theirs["score"], theirs["name"])


def test_fractions_as_labels_point_to_regression(run, write):
    said = refused(run, "score", write(PRICES), "--target", "price", *QUICK)
    assert "real targets are for the variant 'regression'" in said


def test_a_loss_is_no_percentage(run):
    out = run("score", *QUICK, "--parameter", "loss=[[0,1,2],[3,0,1],[1,1,0]]")[1]
    assert "Expected loss" in out
    assert "%" not in out


def test_ties_are_pointed_out(run, write):
    path = write("x,label\n0,a\n0,b\n0,a\n1,b\n2,a\n2,b\n")
    question = ("score", path, "--target", "label", "--cv", "2", "--repeats", "0")
    for rule in (("--variant", "nn"), ("--n-neighbors", "1"), ("--variant", "rank", "--rank", "1")):
        for ties in ((), ("--ties", "random")):
            out = run(*question, *rule, *ties)[1]
            assert "tied samples averaged over all orders" in out
            assert " of 6 samples have tied neighbors of different classes" in out
            assert "--ties" not in out
        out = run(*question, *rule, "--ties", "index")[1]
        assert "tied samples in the order of the rows" in out
        assert "without --ties index" in out


class ByRows(NN):
    """The nearest neighbor, which knows no other ties than those by index."""

    name = "by-rows"
    tie_rules = ("index",)


def test_a_variant_without_averaged_ties_uses_the_order_of_the_rows(run, write):
    register(ByRows)
    try:
        path = write("x,label\n0,a\n0,b\n0,a\n1,b\n2,a\n2,b\n")
        question = ("score", path, "--target", "label", "--cv", "2", "--variant", "by-rows")
        out = run(*question)[1]
        assert "tied samples in the order of the rows" in out
        assert "may depend on the order" in out
        assert "offers ties='index', got ties='random'" in refused(run, *question, "--ties", "random")
    finally:
        unregister("by-rows")


def test_progress_goes_to_standard_error(run):
    pytest.importorskip("tqdm")
    status, out, err = run("score", *QUICK, "--progress", "--json")
    assert status == 0
    assert json.loads(out)
    assert "step" in err


def test_a_missing_extra_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert "pip install 'knnccv[progress]'" in refused(run, "score", *QUICK, "--progress")
