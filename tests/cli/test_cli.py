"""The command line: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import time
from fractions import Fraction

import numba
import numpy as np
import pytest
from numba.core import event

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    __version__,
    _warmup,
    complete_cv,
    monte_carlo_cv,
    register,
    unregister,
)
from knnccv.__main__ import main
from knnccv._cli import commands, score
from knnccv._cli.input_table import read_table
from knnccv._cli.score_data import standardized
from knnccv.datasets import load_wine, uci_names
from knnccv_variants.nearest import NN

ROWS = [(2 * x, (7 * x) % 5, "ab"[x % 3 == 0]) for x in range(12)]
PLAIN = "x,y,label\n" + "".join(f"{x},{y},{c}\n" for x, y, c in ROWS)
needs_compiler = pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT", False)), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)
QUICK = ("--variant", "nn", "--repeats", "2")


@pytest.fixture
def run(capsys):
    """Run a command in this process; its status, what it prints, and its complaints.

    Without the line that says that kernels are compiled: it depends on what ran before.
    """

    def run(*argv):
        status = main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        return status, out, without_compiling(err)

    return run


def without_compiling(err):
    """What stands on stderr for other reasons."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("knnccv: compiling once"))


@pytest.fixture
def write(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "table.csv"
        path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
        return path

    return write


def refused(run, *argv):
    """What a command complains about; it must do so in one line, with status 2."""
    status, out, err = run(*argv)
    assert status == 2
    assert out == ""
    assert err.startswith("knnccv: error: ")
    assert err.count("\n") == 1
    return err


def stdin(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def table(names, *columns):
    """A table with these columns, of text."""
    header = [",".join(names)] if names else []
    return "\n".join([*header, *(",".join(map(str, cells)) for cells in zip(*columns, strict=True))]) + "\n"


FIRST, LABEL = [row[0] for row in ROWS], [row[2] for row in ROWS]


def scaled(X):
    """Zero mean and unit standard deviation of every column."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


# What score says


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


def test_a_long_fraction_is_not_printed_but_told(run):
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
        (("--train-size", "50"), Subsample(50), "training sets of 50 items"),
        (("--train-size", "0.5"), Subsample(0.5), "a share 0.5 of the items"),
        (("--train-size", "0.5", "--no-stratify"), Subsample(0.5), "a share 0.5 of the items"),
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


HOMES = [(2 * x, (7 * x) % 5, (x * x) / 4) for x in range(12)]
PRICES = "x,y,price\n" + "".join(f"{x},{y},{price}\n" for x, y, price in HOMES)


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
    assert "12 of 12 samples have equally near neighbors of different targets" in out


@pytest.mark.parametrize(
    ("target", "options", "parts"),
    [
        ("label", (), ("needs a number as every item's target", "column 'label' holds 'b'", "knn")),
        ("y", ("--per-class", "2"), ("real targets, no classes to stratify by",)),
        ("y", ("--per-class", "0=1,1=2"), ("real targets, no classes to stratify by",)),
        ("y", ("--cv", "3", "--stratify"), ("real targets, no classes to stratify by",)),
        ("y", ("--train-size", "0.5", "--stratify"), ("real targets, no classes to stratify by",)),
        ("y", ("--n-neighbors", "50"), ("between 1 and",)),
        ("y", ("--parameter", "part=skew"), ("part must be one of", "'bias2'")),
        ("y", ("--parameter", "loss=[[0]]"), ("its parameters: n_neighbors, part, output",)),
    ],
)
def test_regression_that_cannot_be(run, write, target, options, parts):
    question = ("score", write(PLAIN), "--target", target, "--variant", "regression")
    said = refused(run, *question, *(() if target == "label" else ("--drop", "label")), *options)
    for part in parts:
        assert part in said


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
            assert "equally near samples averaged over all orders" in out
            assert " of 6 samples have equally near neighbors of different classes" in out
            assert "--ties" not in out
        out = run(*question, *rule, "--ties", "index")[1]
        assert "equally near samples in the order of the rows" in out
        assert "without --ties index" in out


class ByRows(NN):
    """The nearest neighbor, which knows no other ties than those by index."""

    name = "by-rows"
    tie_rules = ("index",)


def test_a_variant_without_fair_ties_is_asked_for_the_order_of_the_rows(run, write):
    register(ByRows)
    try:
        path = write("x,label\n0,a\n0,b\n0,a\n1,b\n2,a\n2,b\n")
        question = ("score", path, "--target", "label", "--cv", "2", "--variant", "by-rows")
        out = run(*question)[1]
        assert "equally near samples in the order of the rows" in out
        assert "may depend on the order" in out
        assert "offers ties='index', got ties='random'" in refused(run, *question, "--ties", "random")
    finally:
        unregister("by-rows")


def test_progress_goes_to_standard_error(run):
    pytest.importorskip("tqdm")
    status, out, err = run("score", *QUICK, "--progress", "--json")
    assert status == 0
    assert json.loads(out)
    assert "item" in err


def test_a_missing_extra_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert "pip install 'knnccv[progress]'" in refused(run, "score", *QUICK, "--progress")


# Scaled features, groups, confusions, samples


def test_bundled_data_unscaled(run):
    wine = load_wine()
    out = run("score", *QUICK, "--no-standardize")[1]
    assert f"({complete_cv(wine.X, wine.y, 'nn').score:.12f}" in out
    assert "178 samples, 13 features\n" in out
    assert "standardized" not in out


def test_a_file_is_standardized_where_that_is_asked_for(run, write):
    X = np.array([[x, 1000 * y + 3, 0.1] for x, y, _ in ROWS])  # the last column is constant
    y = [row[2] for row in ROWS]
    question = ("score", write(table("abcd", *X.T.tolist(), y)), "--target", "d", *QUICK, "--json")
    known = np.column_stack([scaled(X[:, :2]), np.zeros(12)])
    for option, features in (((), X), (("--no-standardize",), X), (("--standardize",), known)):
        answer = json.loads(run(*question, *option)[1])
        assert answer["score"] == complete_cv(features, y, "nn").score
        assert answer["standardized"] is (features is known)
    assert "features standardized over all samples\n" in run(*question[:-1], "--standardize")[1]


def test_regression_standardizes_features_and_no_targets(run, write):
    X, y = np.array([row[:2] for row in HOMES]), np.array([row[2] for row in HOMES])
    question = ("score", write(PRICES), "--target", "price", "--variant", "regression", "--standardize")
    answer = json.loads(run(*question, "--repeats", "0", "--json")[1])
    assert answer["score"] == complete_cv(scaled(X), y, "regression").score
    assert "targets from 0 to 30.25" in run(*question)[1]


@pytest.mark.parametrize("factor", [1.0, 1e-200, 1e300, 2.0**-1070])
def test_standardized_columns_of_any_magnitude(factor):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    X = np.random.default_rng(0).integers(-9, 10, (50, 3)).astype(float)
    expected = preprocessing.StandardScaler().fit_transform(X)
    np.testing.assert_allclose(standardized(X * [1, factor, -factor]), expected * [1, 1, -1], atol=1e-14)


def test_constant_columns_stay_at_zero():
    X = np.array([[0.1, 1e300, 0.0, -7.0]] * 7)
    np.testing.assert_array_equal(standardized(X), np.zeros((7, 4)))


GROUPS = ["u", "v", "v", "w", "w", "w", "u", "v", "x", "x", "w", "u"]
GROUPED = table(("x", "y", "who", "label"), *zip(*[row[:2] for row in ROWS], strict=True), GROUPS, LABEL)


@pytest.mark.parametrize(
    ("options", "asked", "p", "words"),
    [
        ((), {}, 1, "leave one group out"),
        (("--leave-out", "1", "--no-stratify"), {}, 1, "leave one group out"),
        (("--variant", "nn", "--leave-out", "2"), {"variant": "nn"}, 2, "leave 2 groups out"),
        (
            ("--variant", "rank", "--rank", "2"),
            {"variant": "rank", "rank": 2},
            1,
            "all samples count alike",
        ),
        (("--average", "class"), {"average": "class"}, 1, "all classes count alike"),
        (("--ties", "index", "--drop", "who"), {"ties": "index"}, 1, "leave one group out"),
    ],
)
def test_groups(run, write, options, asked, p, words):
    X = np.array([row[:2] for row in ROWS])
    design = LeaveGroupsOut(GROUPS, p)
    exact = complete_cv(X, LABEL, cv=design, **asked)
    runs = monte_carlo_cv(X, LABEL, cv=design, n_repeats=3, random_state=7, **asked)
    question = ("score", write(GROUPED), "--target", "label", "--groups", "who", *options)
    status, out, err = run(*question, "--repeats", "3", "--seed", "7", "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert answer["score"] == exact.score
    assert answer["random_runs"]["scores"] == runs.scores.tolist()
    assert (answer["groups"], answer["design"]) == ("who", f"LeaveGroupsOut(4 groups, p={p})")
    assert (answer["n_features"], answer["n_train_sets"]) == (2, exact.n_train_sets)
    out = run(*question)[1]
    assert words in out
    assert "4 groups of 2 to 4 samples (column 'who')" in out
    assert "weighted by the sizes of their test sets" in out


def test_groups_of_one_size(run, write):
    path = write(table(("x", "who", "label"), FIRST, range(12), LABEL))
    out = run("score", path, "--target", "label", "--groups", "who", *QUICK)[1]
    assert "12 groups of 1 sample (column 'who')" in out
    assert "weighted" not in out


def test_groups_are_numbers_where_all_are_and_serve_regression_and_exact_scores(run, write):
    numbers = {"u": "1", "v": "2.0", "w": "3", "x": "10"}
    cells = [numbers[g] if i % 2 else numbers[g].removesuffix(".0") for i, g in enumerate(GROUPS)]
    path = write(table(("x", "price", "who"), FIRST, [x / 4 for x in FIRST], cells))
    question = ("score", path, "--target", "price", "--variant", "regression", "--groups", "-1", "--exact")
    answer = json.loads(run(*question, "--repeats", "1", "--json")[1])
    features = np.array(FIRST, dtype=float)[:, None]
    found = complete_cv(features, features[:, 0] / 4, "regression", LeaveGroupsOut(GROUPS), exact=True)
    assert answer["exact"] == f"{found.exact.numerator}/{found.exact.denominator}"
    assert answer["groups"] == "who"


@pytest.mark.parametrize(
    ("text", "options", "parts"),
    [
        ("x,g,c\n1,u,a\n2,,b\n", ("--groups", "g"), ("line 3, column 'g'", "the group is missing")),
        (
            "x,g,c\n1,u,a\n2,NA,b\n",
            ("--groups", "1"),
            ("the group is missing (NA); every sample needs one",),
        ),
        ("x,g,c\n1,u,a\n2,u,b\n", ("--groups", "g"), ("column 'g'", "one group only", "at least 2")),
        ("x,g,c\n1,1,a\n2,1.0,b\n", ("--groups", "g"), ("one group only",)),
        ("x,g,c\n1,u,a\n2,v,b\n", ("--groups", "c"), ("column 'c' is the target", "--groups")),
        ("x,g,c\n1,u,a\n2,v,b\n", ("--groups", "gg"), ("no column 'gg'", "did you mean 'g'?")),
        ("g,c\nu,a\nv,b\n", ("--groups", "g"), ("none is left beside the target and the groups",)),
        ("x,g,c\n1,u,a\n2,v,b\n", ("--groups", "g", "--leave-out", "2"), ("between 1 and 1", "groups")),
    ],
)
def test_groups_that_cannot_be(run, write, text, options, parts):
    said = refused(run, "score", write(text), "--target", "c", *QUICK, *options)
    for part in parts:
        assert part in said
    assert "--drop" not in said


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", [False, True])
def test_confusion(run, n_classes, loss, write):
    wine = load_wine()
    y = np.minimum(wine.y, n_classes)
    matrix = (1 - np.eye(n_classes, dtype=int)).tolist()
    asked = {"variant": "nn", "loss": matrix} if loss else {"variant": "nn"}
    path = write(table((), *wine.X[:, :3].T.tolist(), y.tolist()))
    exact = complete_cv(wine.X[:, :3], y, cv=KFold(5), **asked)
    shares = exact.confusion(normalize="true")
    question = ("score", path, "--target", "-1", "--variant", "nn", "--cv", "5", "--no-stratify")
    question = (*question, "--repeats", "0", "--confusion")
    question = (*question, "--parameter", f"loss={matrix}") if loss else question
    answer = json.loads(run(*question, "--json")[1])
    names = [str(name) for name in range(1, n_classes + 1)]
    assert answer["confusion"]["classes"] == names
    assert answer["confusion"]["normalize"] == "true"
    assert answer["confusion"]["matrix"] == shares.tolist()
    assert answer["per_class"] == {str(name): score for name, score in exact.per_class().items()}
    lines = run(*question)[1].splitlines()
    start = next(i for i, line in enumerate(lines) if "expected confusion matrix" in line.lower())
    assert lines[start + 1].split() == names
    for name, row, line in zip(names, shares, lines[start + 2 :], strict=False):
        assert line.split() == [name, *(f"{100 * share:.2f}" for share in row)]
    assert max(map(len, lines[1:])) <= 100


def test_confusion_of_a_class_that_is_never_tested(run, write):
    path = write("x,c\n0,a\n1,a\n2,b\n3,b\n")
    question = ("score", path, "--target", "c", "--variant", "nn", "--per-class", "a=1,b=2", "--confusion")
    answer = json.loads(run(*question, "--repeats", "0", "--json")[1])
    assert answer["confusion"]["matrix"] == [[0.75, 0.25], [None, None]]
    assert answer["per_class"] == {"a": 0.75, "b": None}
    assert [line.split() for line in run(*question, "--repeats", "0")[1].splitlines()][-2:] == [
        ["a", "75.00", "25.00"],
        ["b", "-", "-"],
    ]


def test_confusion_of_rational_scores(run, write):
    question = ("score", write(PLAIN), "--target", "label", *QUICK, "--leave-out", "3")
    found = json.loads(run(*question, "--confusion", "--exact", "--json")[1])["confusion"]["matrix"]
    rounded = json.loads(run(*question, "--confusion", "--json")[1])["confusion"]["matrix"]
    np.testing.assert_allclose(found, rounded, rtol=1e-12)


def items_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["item", "label", "score", "weight"]
    assert [row[0] for row in rows] == [str(i) for i in range(len(rows))]
    return rows


def test_items_in_a_file(run, write, tmp_path):
    labels = ['a "quoted", β', "b"]
    y = [labels[label == "b"] for label in LABEL]
    found = complete_cv(np.array([row[:2] for row in ROWS]), y, "nn")
    path = write(PLAIN.replace(",a\n", ',"a ""quoted"", β"\n'))
    items = tmp_path / "items.csv"
    items.write_text("something long and old\n" * 50)
    question = ("score", path, "--target", "label", *QUICK, "--per-item", items)
    assert json.loads(run(*question, "--json")[1])["per_item"] == str(items)
    rows = items_of(items)
    assert [row[1] for row in rows] == y
    assert [float(row[2]) for row in rows] == found.per_item.tolist()
    assert [float(row[3]) for row in rows] == found.weights.tolist()
    out = run(*question)[1]
    assert f"the scores of all samples are in {items}" in out


def test_items_that_are_never_tested_have_no_score(run, write, tmp_path):
    items = tmp_path / "items.csv"
    question = ("score", write("x,c\n0,7\n1,7\n2,8\n3,8\n"), "--target", "c", *QUICK, "--per-item", items)
    assert run(*question, "--per-class", "7=1,8=2")[0] == 0
    rows = items_of(items)
    assert [row[1] for row in rows] == ["7", "7", "8", "8"]
    assert [row[2:] for row in rows][2:] == [["", "0.0"]] * 2


def test_items_of_regression(run, write, tmp_path):
    items = tmp_path / "items.csv"
    question = ("score", write(PRICES), "--target", "price", "--variant", "regression", "--per-item", items)
    assert run(*question, "--repeats", "0")[0] == 0
    rows = items_of(items)
    assert [float(row[1]) for row in rows] == [row[2] for row in HOMES]
    found = complete_cv(np.array([row[:2] for row in HOMES]), [row[2] for row in HOMES], "regression")
    assert [float(row[2]) for row in rows] == found.per_item.tolist()


def test_a_file_for_items_is_left_as_it_was_where_there_is_no_answer(run, write, tmp_path):
    path, items = write(PLAIN), tmp_path / "items.csv"
    question = ("score", path, "--target", "label", *QUICK, "--per-item", items)
    refused(run, *question, "--train-size", "50")
    assert not items.exists()
    items.write_text("old")
    refused(run, *question, "--train-size", "50")
    assert items.read_text() == "old"
    assert "--per-item would overwrite the table" in refused(run, *question[:-1], path)
    assert path.read_text() == PLAIN


def test_a_file_for_items_that_cannot_be_written_is_found_before_anything_is_computed(
    run, write, monkeypatch
):
    monkeypatch.setattr(score, "complete_cv", None)
    question = ("score", write(PLAIN), "--target", "label", *QUICK)
    assert "No such file" in refused(run, *question, "--per-item", "missing-folder/items.csv")
    assert "predicts no class" in refused(run, *question[:-4], "--variant", "rank", "--confusion")


# What it reads


@pytest.mark.parametrize("separator", [",", ";", "\t", " ", ", ", "   ", "|"])
@pytest.mark.parametrize("header", [True, False])
def test_delimiters_and_headers_are_found(write, separator, header):
    text = PLAIN if header else PLAIN.split("\n", 1)[1]
    path = str(write(text.replace(",", separator)))
    given = {"delimiter": "|"} if separator == "|" else {}
    table = read_table(path, "-1", **given)
    np.testing.assert_array_equal(table.X, [row[:2] for row in ROWS])
    assert table.y.tolist() == [row[2] for row in ROWS]
    assert table.feature_names == (("x", "y") if header else ("0", "1"))
    assert table.target_name == ("label" if header else "2")


@pytest.mark.parametrize(
    ("name", "mark"), [("semicolon", ";"), ("tab", "\t"), ("\\t", "\t"), ("space", " ")]
)
def test_delimiters_have_names(write, name, mark):
    table = read_table(str(write(PLAIN.replace(",", mark))), "label", delimiter=name)
    assert table.X.shape == (12, 2)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_marks_and_line_ends(write, encoding, newline):
    path = str(write(PLAIN.replace("x,", "größe,").replace("\n", newline) + newline, encoding))
    table = read_table(path, "label", drop=["y"])
    assert table.feature_names == ("größe",)
    assert table.X[:, 0].tolist() == [row[0] for row in ROWS]


def test_quotes_blank_lines_and_drops(write):
    path = str(write('"id","a, b",c\n"n ""1""", 1.5 ,"x, y"\n\nn2,-2e1,"z\nz"\n'))
    table = read_table(path, "c", drop=["id"])
    assert table.X.tolist() == [[1.5], [-20.0]]
    assert table.y.tolist() == ["x, y", "z\nz"]
    assert table.feature_names == ("a, b",)


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (("1", "2.0"), "i", [1, 2]),
        (("1", "x"), "U", ["1", "x"]),
        (("1.5", "2"), "f", [1.5, 2.0]),
        (("9007199254740993", "9007199254740992"), "U", ["9007199254740993", "9007199254740992"]),
    ],
)
def test_labels_are_numbers_where_all_are(write, cells, kind, values):
    table = read_table(str(write("".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))), "1")
    assert table.y.dtype.kind == kind
    assert table.y.tolist() == values


@pytest.mark.parametrize("target", ["label", "2", "-1"])
def test_target_by_name_and_by_number(write, target):
    assert read_table(str(write(PLAIN)), target).target_name == "label"


def test_a_name_that_is_a_number_goes_before_the_number(write):
    path = str(write("1,0,c\n5,6,3\n7,8,4\n"))
    assert read_table(path, "1", header=True).target_name == "1"
    assert read_table(path, "1", header=True).y.tolist() == [5, 7]


def test_standard_input(run, monkeypatch):
    stdin(monkeypatch, PLAIN)
    status, out, _ = run("score", "-", "--target", "label", *QUICK)
    assert status == 0
    assert "standard input: 12 samples, 2 features\n" in out
    assert "2 classes (a: 8, b: 4)" in out


def test_per_class_with_text_labels(run, write):
    path = write(PLAIN)
    out = run("score", path, "--target", "label", *QUICK, "--per-class", "a=2,b=1", "--json")[1]
    assert json.loads(out)["n_train_sets"] == 28 * 4


def test_a_column_without_a_name_is_pointed_out(run, write):
    path = write(PLAIN.replace("x,", ",", 1))
    status, _, err = run("score", path, "--target", "label", *QUICK)
    assert status == 0
    assert "column 0" in err
    assert "--drop 0" in err
    assert run("score", path, "--target", "label", *QUICK, "--drop", "0")[2] == ""


SHUFFLED = [5, 0, 3, 1, 9, 2, 11, 4, 10, 6, 8, 7]


@pytest.mark.parametrize(
    ("name", "values", "parts"),
    [
        ("id", range(1, 13), ("column 'id' counts the rows (1, 2, 3, …)", "--drop id leaves it out")),
        ("year", range(1990, 2002), ("column 'year' counts the rows (1990, 1991, 1992, …)",)),
        ("", range(12), ("column 0 of", "has no name and counts the rows (0, 1, 2, …)", "--drop 0 leaves")),
        ("", SHUFFLED, ("column 0 of", "if it numbers the rows, leave it out by --drop 0")),
        ("my id", range(12), ("--drop 'my id' leaves it out",)),
        ("-x", range(12), ("column '-x' counts", "--drop 0 leaves it out")),
        ("x", range(12), ("column 'x' counts", "--drop 0 leaves it out")),  # two are called x
        ("patient_id", SHUFFLED, ("column 'patient_id' has a different number in every row", "--drop")),
        ("PassengerId", SHUFFLED, ("column 'PassengerId' has a different number",)),
        ("ID", [10 * x for x in SHUFFLED], ("column 'ID' has a different number",)),
    ],
)
def test_a_column_that_numbers_the_rows_is_pointed_out(run, write, name, values, parts):
    path = write(table((name, "x", "label"), values, FIRST, LABEL))
    question = ("score", path, "--target", "label", *QUICK, "--json")
    status, out, err = run(*question)
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("knnccv: note: ")
    for part in parts:
        assert part in err
    assert json.loads(out)["n_features"] == 2
    status, out, err = run(*question, "--drop", "0")
    assert (status, err) == (0, "")
    assert json.loads(out)["n_features"] == 1


def test_a_number_of_the_rows_without_a_header_is_pointed_out(run, write):
    err = run("score", write(table((), range(3, 15), FIRST, LABEL)), "--target", "2", *QUICK)[2]
    assert "column '0' counts the rows (3, 4, 5, …); it is used as a feature; --drop 0 leaves it out" in err


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", [1, 2, 3, 4] * 3),  # one that repeats may be a feature
        ("id", [x + 0.5 for x in range(12)]),
        ("fluid", SHUFFLED),
        ("height", SHUFFLED),
        ("height", range(10, 34, 2)),
    ],
)
def test_features_are_not_taken_for_numbers_of_the_rows(run, write, name, values):
    path = write(table((name, "x", "label"), values, FIRST, LABEL))
    assert run("score", path, "--target", "label", *QUICK)[2] == ""


def test_the_target_may_count_the_rows_and_so_may_a_tiny_table(run, write):
    path = write(table(("x", "price"), FIRST, range(12)))
    assert run("score", path, "--target", "price", "--variant", "regression", "--repeats", "0")[2] == ""
    assert read_table(str(write("x,label\n0,a\n1,a\n2,b\n3,b\n")), "label").notes == ()


NUMBERED = [[(3 * x) % 7 / 2 for x in range(12)], FIRST, [(5 * x) % 12 / 4 for x in range(12)]]


@pytest.mark.parametrize(
    ("first", "labels", "part"),
    [
        ("0,1,2,target", LABEL, "line 1 of {} is taken as a sample, but looks like a header (0, 1, 2, …)"),
        ("1,2,3,4", [0, 1] * 6, "looks like a header (1, 2, 3, …)"),
        ("0,1,2,3", [0, 1] * 6, "looks like a header (0, 1, 2, …)"),
        ("1100,1102,1104,species", LABEL, "the only one with 'species' in column '3'"),
        ("1100,1102,1104,7", [0, 1] * 6, "the only one with '7' in column '3'"),
    ],
)
def test_a_header_of_numbers_is_pointed_out(run, write, first, labels, part):
    path = write(first + "\n" + table((), *NUMBERED, labels))
    question = ("score", path, "--target", "-1", *QUICK, "--json")
    status, out, err = run(*question)
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("knnccv: note: line 1 of ")
    assert part.format(path) in err
    assert "--header if it names the columns, --no-header if not" in err
    assert json.loads(out)["n_items"] == 13
    assert run(*question, "--no-header")[2] == ""
    status, out, err = run(*question, "--header")
    assert (status, err) == (0, "")
    assert json.loads(out)["n_items"] == 12


@pytest.mark.parametrize(
    ("first", "labels"),
    [
        ("0,1,3,a", LABEL),
        ("0.5,1,2,a", LABEL),
        ("1100,1102,1104,c", [*LABEL[:-1], "d"]),  # another class is as small
        ("1100,1102,1104,7", range(12)),
    ],
)
def test_an_item_is_not_taken_for_a_header(write, first, labels):
    assert read_table(str(write(first + "\n" + table((), *NUMBERED, labels))), "-1").notes == ()


def test_a_header_of_numbers_above_the_numbers_of_regression(run, write):
    path = write("1100,1102,1104,price\n" + table((), *NUMBERED, [x / 3 for x in range(12)]))
    said = refused(run, "score", path, "--target", "-1", "--variant", "regression")
    assert "column '3' holds 'price'" in said
    assert "--header if the first line names the columns" in said


def test_a_header_of_numbers_above_an_index(run, write):
    said = refused(run, "score", write(",0,1,c\n0,1,3,a\n1,7,9,b\n"), "--target", "3")
    assert "line 1, column '0': the value is missing" in said
    assert "--header if the first line names the columns" in said


# What it refuses


@pytest.mark.parametrize(
    ("text", "options", "parts"),
    [
        ("", (), ("is empty",)),
        (" \n\n", (), ("is empty",)),
        ("x,c\n", (), ("at least 2 rows below the header, got 0",)),
        ("x,c\n1,a\n", (), ("at least 2 rows below the header, got 1",)),
        ("1,a\n", ("--target", "1"), ("at least 2 rows, got 1",)),
        ("x\n1\n2\n", (), ("one column only",)),
        ("x,c\n1,a\n2\n", (), ("line 3: 2 cells expected", "got 1", "commas")),
        ("x,c\n1,a\n2,b,3\n", (), ("line 3: 2 cells expected", "got 3")),
        ("x,c\n1,a\n,b\n", (), ("line 3, column 'x'", "value is missing", "--drop x", "knnccv.hvdm.HEOM")),
        ("a b,x,c\n1,2,a\nNA,1,b\n", (), ("line 3, column 'a b'", "--drop 'a b'", "knnccv.hvdm.HEOM")),
        ("x,c\n1,a\nNA,b\n", (), ("line 3, column 'x'", "missing (NA)")),
        ("x,c\n1,a\n?,b\n", (), ("line 3, column 'x'", "missing (?)")),
        ("x,c\n1,a\nnan,b\n", (), ("missing (nan)",)),
        ("x,c\n1,a\n\n2,a\nnull,b\n", (), ("line 5", "missing (null)")),
        ("x,c\n1,a\n2,\n", (), ("line 3, column 'c'", "missing")),
        ("x,c\n1,a\ninf,b\n", (), ("line 3, column 'x'", "inf is not finite")),
        (
            "x,c\n1,a\n2,NA\n",
            (),
            ("line 3, column 'c'", "the target is missing (NA); every sample needs one"),
        ),
        ("x,c\n1,a\n2 m,b\n", (), ("line 3, column 'x'", "'2 m' is no number", "--drop")),
        ("x,c\n1,a\n1_0,b\n", (), ("'1_0' is no number",)),
        ('x,y,c\n1,"3\n4",a\n1,b,b\n', (), ("line 2, column 'y'",)),
        ("x;c\n1,5;a\n2,5;b\n", (), ("line 2, column 'x'", "decimal point")),
        ("1,5;a\n2,5;b\n", ("--target", "1"), ("line 1, column '0'", "decimal point")),
        ("x,1,c\n2,3,a\n", ("--target", "2"), ("'x' is no number", "--header")),
        ("x,1,c\n2,3,a\n", ("--target", "c"), ("no column 'c'", "--header")),
        ('x,c\n1,"a\n2,b\n', (), ("cannot be split at commas",)),
        (b"x,c\n1,a\n2,\xff\n", (), ("no text in UTF-8", "line 3", "0xff")),
        ("x,c\n1,a\n2,b\n", ("--target", "xx"), ("no column 'xx'", "x, c", "did you mean 'x'?")),
        ("x,c\n1,a\n2,b\n", ("--target", "2"), ("no column 2",)),
        ("x,c\n1,a\n2,b\n", ("--drop", "d"), ("no column 'd'",)),
        ("x,c\n1,a\n2,b\n", ("--drop", "c"), ("target", "--drop")),
        ("x,c\n1,a\n2,b\n", ("--drop", "x"), ("has no feature",)),
        ("x,x,c\n1,1,a\n2,2,b\n", ("--drop", "x"), ("several columns 'x'", "[0, 1]")),
        ("x,c\n1,a\n2,b\n", ("--delimiter", "ab"), ("--delimiter must be one character",)),
        ("x,c\n1,a\n2,b\n", ("--delimiter", ";"), ("no column 'c'",)),
    ],
)
def test_tables_that_cannot_be_used(run, write, text, options, parts):
    path = write(text)
    target = () if "--target" in options else ("--target", "c")
    said = refused(run, "score", path, *target, *QUICK, *options)
    for part in parts:
        assert part in said
    assert str(path) in said or "--d" in said


def test_a_missing_target_is_no_column_to_drop(run, write):
    for text in ("x,c\n1,a\n2,\n", "x,c\n1,?\n2,b\n"):
        said = refused(run, "score", write(text), "--target", "c")
        assert "--drop" not in said
        assert "HEOM" not in said


def test_the_columns_are_listed_where_no_target_was_named(run, write):
    assert "it has: x, y, label" in refused(run, "score", write(PLAIN))


def test_long_listings_are_cut(run, write):
    names = [f"f{i}" for i in range(30)]
    path = write("\n".join([",".join(names), ",".join(["1"] * 30), ",".join(["2"] * 30)]))
    said = refused(run, "score", path, "--target", "f300")
    assert "and 10 more" in said
    assert "did you mean 'f30" not in said


def test_files_that_cannot_be_read(run, tmp_path):
    missing = tmp_path / "missing.csv"
    assert f"{missing}: No such file" in refused(run, "score", missing, "--target", "0")
    assert str(tmp_path) in refused(run, "score", tmp_path, "--target", "0")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--cv", "5", "--train-size", "10"), "--cv and --train-size are different designs"),
        (("--per-class", "2", "--leave-out", "1"), "--per-class and --leave-out"),
        (("--per-class", "2", "--no-stratify"), "--per-class is stratified"),
        (("--leave-out", "1", "--stratify"), "--leave-out cannot be stratified"),
        (("--train-size", "10", "--stratify"), "use --per-class"),
        (("--train-size", "1.5"), "must be in (0, 1)"),
        (("--train-size", "178"), "between 1 and 177"),
        (("--cv", "1"), "at least 2"),
        (("--cv", "500"), "between 2 and 71"),
        (("--leave-out", "0"), "at least 1"),
        (("--per-class", "x"), "a number or LABEL=NUMBER"),
        (("--per-class", "1=2,3"), "a number or LABEL=NUMBER"),
        (("--per-class", "1=x"), "a number or LABEL=NUMBER"),
        (("--per-class", "1=2,1=3"), "names class '1' twice"),
        (("--per-class", "1=2,2=3"), "missing: 3"),
        (("--per-class", "1=2,2=3,3=1,4=1"), "a class '4'; there are: 1, 2, 3"),
        (("--per-class", "60"), "at most the size of the class"),
        (("--rank", "3"), "--rank is no parameter of variant 'nn'"),
        (("--n-neighbors", "3"), "--n-neighbors is no parameter of variant 'nn'"),
        (("--variant", "knn", "--n-neighbors", "0"), "between 1 and"),
        (("--variant", "regression", "--cv", "5", "--stratify"), "no classes to stratify by"),
        (("--variant", "rnk"), "did you mean 'rank'?"),
        (("--variant", "confidance"), "did you mean 'confidence'?"),
        (("--variant", "nonsense"), "there are: confidence, knn, nn, rank, regression\n"),
        (("--parameter", "loss"), "must be NAME=VALUE"),
        (("--parameter", "loss=x"), "matrix of real numbers"),
        (("--parameter", "los=[[0]]"), "its parameters: loss"),
        (("--variant", "rank", "--rank", "2", "--parameter", "rank=3"), "given twice"),
        (("--metric", "cosin"), "did you mean 'cosine'?"),
        (("--p", "3"), "--p belongs to --metric minkowski"),
        (("--metric", "minkowski", "--p", "0"), "positive"),
        (("--jobs", "0"), "must be at least 1, got 0"),
        (("--target", "x"), "--target describes a file"),
        (("--drop", "x"), "--drop describes a file"),
        (("--delimiter", ","), "--delimiter describes a file"),
        (("--no-header",), "--header/--no-header describes a file"),
        (("--groups", "x"), "--groups describes a file"),
        (("--groups", "x", "--cv", "5"), "--groups is a design of its own; it cannot be given with --cv"),
        (("--groups", "x", "--train-size", "9"), "cannot be given with --train-size"),
        (("--groups", "x", "--per-class", "2"), "cannot be given with --per-class"),
        (("--groups", "x", "--stratify"), "--groups cannot be stratified"),
        (("--groups", "x", "--leave-out", "0"), "--leave-out must be at least 1, got 0"),
        (("--confusion", "--variant", "rank"), "variant 'rank' predicts no class"),
        (("--confusion", "--variant", "confidence"), "predicts no class that --confusion could count"),
        (("--confusion", "--variant", "regression"), "variant 'regression' predicts no class"),
        (("--per-item", "-"), "--per-item needs the name of a file"),
        (("--per-item", "missing-folder/items.csv"), "missing-folder/items.csv: No such file"),
        (("--per-item", "/"), "/: Is a directory"),
    ],
)
def test_options_that_cannot_be(run, options, part):
    assert part in refused(run, "score", "--variant", "nn", *options)


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        ((), "COMMAND"),
        (("scor",), "invalid choice"),
        (("score", "--repeats", "-1"), "at least 0"),
        (("score", "--seed", "x"), "at least 0"),
        (("score", "--train-size", "x"), "a number of samples or a fraction"),
        (("reproduce", "tr-table9"), "tr-table1"),
    ],
)
def test_arguments_that_cannot_be_parsed(capsys, argv, part):
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert part in capsys.readouterr().err


# The rest


@pytest.mark.parametrize("command", [(), ("score",), ("datasets",), ("reproduce",)])
def test_help(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert "usage: knnccv" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"knnccv {__version__}\n"


def test_datasets(run, tmp_path, monkeypatch):
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path))
    status, out, err = run("datasets")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    wine = next(line for line in lines if line.startswith("wine"))
    assert wine.split()[1:5] == ["178", "13", "3", "yes"]
    assert next(line for line in lines if line.startswith("orl")).split()[1:5] == ["400", "256", "40", "no"]
    assert max(map(len, lines)) <= 100
    assert all(any(name in line for line in lines) for name in uci_names())
    listed = json.loads(run("datasets", "--json")[1])
    assert {"name": "wine", "n_items": 178, "cached": True}.items() <= listed[-1].items()
    assert all(entry["licence"] and entry["citation"] and entry["address"] for entry in listed)


@needs_compiler
def test_a_first_score_says_that_it_compiles_and_a_second_one_does_not(capsys, monkeypatch):
    def compile_something(*_):
        @numba.njit
        def fresh(x):
            return x + 1

        fresh(1)

    assert main(["score", *QUICK]) == 0  # what the question needs is there from now on
    capsys.readouterr()
    assert main(["score", *QUICK]) == 0
    silent = capsys.readouterr()
    assert silent.err == ""
    monkeypatch.setattr(score, "_compile", compile_something)
    assert main(["score", *QUICK, "--json"]) == 0
    found = capsys.readouterr()
    assert re.fullmatch(r"knnccv: compiling once \(about \d+ s.*\)\n", found.err)
    assert json.loads(found.out)["variant"] == "nn"


@needs_compiler
def test_the_time_of_an_answer_has_no_compilation(run, monkeypatch):
    """Half a second of pretended compiling, in an answer that takes some milliseconds."""
    asked = score.complete_cv

    def slow(*args, **kwargs):
        found = asked(*args, **kwargs)
        with event.trigger_event("numba:compile"):
            time.sleep(0.5)
        object.__setattr__(found, "seconds", found.seconds + 0.5)
        return found

    run("score", *QUICK)
    monkeypatch.setattr(score, "complete_cv", slow)
    monkeypatch.setattr(score, "_compile", lambda *_: None)
    _, out, _ = run("score", *QUICK, "--json")
    assert 0 <= json.loads(out)["seconds"] < 0.4


@pytest.mark.parametrize("compiles", [False, pytest.param(True, marks=needs_compiler)])
def test_warm_says_what_it_did_and_where_it_is(run, monkeypatch, compiles):
    @numba.njit
    def fresh(x):
        return x + 1

    monkeypatch.setattr(_warmup, "warm", lambda: fresh(1) if compiles else None)
    status, out, err = run("warm")
    assert (status, err) == (0, "")
    said = "1 function compiled in 0 s" if compiles else "nothing to compile: all kernels are there"
    assert out.startswith(said)
    assert out.endswith(f"kept in {_warmup.kept_in()}\n")


def test_an_interrupted_command(run, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "run_datasets", interrupted)
    assert run("datasets") == (130, "", "knnccv: interrupted\n")


def python(*argv, **options):
    command = [sys.executable, "-W", "error", "-m", "knnccv", *argv]
    return subprocess.run(command, capture_output=True, check=False, timeout=120, **options)


def test_a_process_reads_standard_input():
    question = ("score", "-", "--target=-1", "--no-header", *QUICK, "--json")
    done = python(*question, input=PLAIN.split("\n", 1)[1].encode())
    assert (done.returncode, without_compiling(done.stderr.decode())) == (0, "")
    assert json.loads(done.stdout)["n_items"] == 12


def test_a_process_complains_in_a_line_and_without_a_traceback():
    done = python("score", "missing.csv", "--target", "0", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().strip() == "knnccv: error: missing.csv: No such file or directory"


def test_a_terminal_without_the_signs_gets_question_marks():
    done = python("score", *QUICK, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert b"% ? " in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_a_process_whose_output_nobody_reads_ends_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "knnccv", "datasets"]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=120)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_help_needs_no_heavy_import():
    code = (
        "import sys, contextlib\n"
        "from knnccv.__main__ import main\n"
        "with contextlib.suppress(SystemExit):\n"
        "    main(['score', '--help'])\n"
        "heavy = {'numpy', 'numba', 'scipy', 'pooch'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
