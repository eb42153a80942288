"""The command score: standardized features, groups, confusion matrices and scores of samples."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from command_line import (
    FIRST,
    HOMES,
    LABEL,
    PLAIN,
    PRICES,
    QUICK,
    ROWS,
    refused,
    scaled,
    table,
)

from knnccv import (
    KFold,
    LeaveGroupsOut,
    complete_cv,
    monte_carlo_cv,
)
from knnccv._cli import score
from knnccv.datasets import load_wine
from knnccv.tuning import standardized


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
            "all samples have equal weight",
        ),
        (("--average", "class"), {"average": "class"}, 1, "all classes have equal weight"),
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
