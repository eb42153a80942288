"""The tables that score reads: delimiters, headers, labels, and notes on suspicious columns."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import (
    FIRST,
    LABEL,
    PLAIN,
    QUICK,
    ROWS,
    refused,
    stdin,
    table,
)

from knnccv._cli.reader import Format
from knnccv._cli.table import read_table


@pytest.mark.parametrize("separator", [",", ";", "\t", " ", ", ", "   ", "|"])
@pytest.mark.parametrize("header", [True, False])
def test_delimiters_and_headers_are_found(write, separator, header):
    text = PLAIN if header else PLAIN.split("\n", 1)[1]
    path = str(write(text.replace(",", separator)))
    given = {"delimiter": "|"} if separator == "|" else {}
    table = read_table(path, "-1", Format(**given))
    np.testing.assert_array_equal(table.X, [row[:2] for row in ROWS])
    assert table.y.tolist() == [row[2] for row in ROWS]
    assert table.feature_names == (("x", "y") if header else ("0", "1"))
    assert table.target_name == ("label" if header else "2")


@pytest.mark.parametrize(
    ("name", "mark"), [("semicolon", ";"), ("tab", "\t"), ("\\t", "\t"), ("space", " ")]
)
def test_delimiters_have_names(write, name, mark):
    table = read_table(str(write(PLAIN.replace(",", mark))), "label", Format(delimiter=name))
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
    assert read_table(path, "1", Format(header=True)).target_name == "1"
    assert read_table(path, "1", Format(header=True)).y.tolist() == [5, 7]


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
        ("", SHUFFLED, ("column 0 of", "if it numbers the rows, leave it out with --drop 0")),
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
def test_a_sample_is_not_taken_for_a_header(write, first, labels):
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
