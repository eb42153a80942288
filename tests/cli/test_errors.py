"""The errors of the command score: one line each, with status 2."""

from __future__ import annotations

import pytest
from command_line import (
    PLAIN,
    QUICK,
    refused,
)

from knnccv.__main__ import main


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
        ("x,c\n1,a\n2 m,b\n", (), ("line 3, column 'x'", "'2 m' is not a number", "--drop")),
        ("x,c\n1,a\n1_0,b\n", (), ("'1_0' is not a number",)),
        ('x,y,c\n1,"3\n4",a\n1,b,b\n', (), ("line 2, column 'y'",)),
        ("x;c\n1,5;a\n2,5;b\n", (), ("line 2, column 'x'", "; --decimal , if it means 1.5\n")),
        (
            'x,c\n"1,000",a\n2,b\n',
            (),
            ("'1,000' is not a number; --decimal , if it means 1.000, --thousands , if it means 1000\n",),
        ),
        ("x;c\n1.234,5;a\n", (), ("at least 2 rows",)),
        ("x;c\n1.234,5;a\n2;b\n", (), ("; --decimal , --thousands . if it means 1234.5\n",)),
        ("x;c\n1,234,567;a\n2;b\n", (), ("; --thousands , if it means 1234567\n",)),
        (
            "x;c\n1,5;a\n1.000;b\n",
            ("--decimal", ","),
            ("; --decimal . if it means 1.000, --decimal , --thousands . if it means 1000\n",),
        ),
        ("x;c\n1,5;a\n2;b\n", ("--thousands", ","), ("; --decimal , if it means 1.5\n",)),
        ("x;c\n1;a\n2;b\n", ("--thousands", "."), ("--thousands must be different", "'.' and '.'")),
        ("x;c\n1;a\n2;b\n", ("--decimal", "10"), ("--decimal and --thousands must be", "got '10'")),
        ("1,5;a\n2,5;b\n", ("--target", "1"), ("line 1, column '0'", "; --decimal , if it means 1.5\n")),
        ("x,1,c\n2,3,a\n", ("--target", "2"), ("'x' is not a number", "--header")),
        ("x,1,c\n2,3,a\n", ("--target", "c"), ("no column 'c'", "--header")),
        ('x,c\n1,"a\n2,b\n', (), ("cannot be split at commas",)),
        (b"x,c\n1,a\n2,\xff\n", (), ("not UTF-8 text", "line 3", "0xff")),
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
        (("--leave-out", "2", "--stratify"), "--leave-out 2 cannot be stratified"),
        (("--priors", "1=0.5,2"), "must be LABEL=SHARE,..."),
        (("--priors", "1=0.5,1=0.5"), "each given once"),
        (("--priors", "1=0.5,2=0.5"), "average must name every class and no other: missing [3]"),
        (("--priors", "1=0.5,2=0.4,x=0.1"), "missing [3], unknown ['x']"),
        (("--priors", "1=0.5,2=0.4,3=0.2"), "the shares of average must sum to 1"),
        (("--priors", "1=0.5,2=0.4,3=0.1", "--average", "item"), "takes the place of --average item"),
        (("--train-size", "10", "--stratify"), "for a number of samples use per_class=10"),
        (("--train-size", "1.5"), "must be in (0, 1)"),
        (("--train-size", "178"), "between 1 and 177"),
        (("--cv", "1"), "at least 2"),
        (("--cv", "500"), "between 2 and 71"),
        (("--leave-out", "0"), "at least 1"),
        (("--per-class", "x"), "a number or LABEL=NUMBER"),
        (("--per-class", "1=2,3"), "a number or LABEL=NUMBER"),
        (("--per-class", "1=x"), "a number or LABEL=NUMBER"),
        (("--per-class", "1=2,1=3"), "each given once"),
        (("--per-class", "1=2,2=3"), "per_class must name every class and no other: missing [3]"),
        (("--per-class", "1=2,2=3,3=1,4=1"), "missing [], unknown ['4']"),
        (("--per-class", "60"), "at most the size of the class"),
        (("--repeats", "-1"), "n_repeats must be at least 1, got -1"),
        (("--seed", "-1"), "random_state must be at least 0, got -1"),
        (("--rank", "3"), "variant 'nn' has no parameter 'rank'; it takes: loss"),
        (("--n-neighbors", "3"), "variant 'nn' has no parameter 'n_neighbors'"),
        (("--variant", "knn", "--n-neighbors", "0"), "between 1 and"),
        (("--variant", "regression", "--cv", "5", "--stratify"), "no classes to stratify by"),
        (("--variant", "rnk"), "did you mean 'rank'?"),
        (("--variant", "confidance"), "did you mean 'confidence'?"),
        (("--variant", "nonsense"), "choose from: confidence, knn, nn, rank, regression"),
        (("--parameter", "loss"), "must be NAME=VALUE"),
        (("--parameter", "loss=x"), "matrix of real numbers"),
        (("--parameter", "los=[[0]]"), "it takes: loss; did you mean 'loss'?"),
        (("--variant", "rank", "--rank", "2", "--parameter", "rank=3"), "each given once, got 'rank=3'"),
        (("--metric", "cosin"), "did you mean 'cosine'?"),
        (("--p", "3"), "--p belongs to --metric minkowski"),
        (("--metric", "minkowski", "--p", "0"), "positive"),
        (("--jobs", "0"), "must be at least 1, got 0"),
        (("--target", "x"), "--target describes a file"),
        (("--drop", "x"), "--drop describes a file"),
        (("--delimiter", ","), "--delimiter describes a file"),
        (("--decimal", ","), "--decimal describes a file"),
        (("--thousands", ","), "--thousands describes a file"),
        (("--no-header",), "--header describes a file"),
        (("--groups", "x"), "--groups describes a file"),
        (("--groups", "x", "--cv", "5"), "--cv and --groups are different designs"),
        (("--groups", "x", "--train-size", "9"), "--train-size and --groups are different designs"),
        (("--groups", "x", "--per-class", "2"), "--per-class and --groups are different"),
        (("--groups", "x", "--stratify"), "--groups cannot be stratified"),
        (("--groups", "x", "--leave-out", "0"), "--groups describes a file"),
        (("--confusion", "--variant", "rank"), "variant 'rank' does not predict a class"),
        (("--confusion", "--variant", "confidence"), "predict a class, so it has no confusion matrix"),
        (("--confusion", "--variant", "regression"), "variant 'regression' does not predict a class"),
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
        (("score", "--seed", "x"), "argument --seed: invalid int value: 'x'"),
        (("score", "--train-size", "x"), "a number of samples or a fraction"),
        (("reproduce", "tr-table9"), "tr-table1"),
    ],
)
def test_arguments_that_cannot_be_parsed(capsys, argv, part):
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert part in capsys.readouterr().err


@pytest.mark.parametrize("command", ["score", "curve", "report", "retrieval", "episodes"])
def test_seeds_and_levels_are_refused_before_a_file_is_read(run, command):
    assert "random_state must be at least 0" in refused(run, command, "no such file", "--seed", "-1")
    if command in ("score", "curve"):
        assert "confidence_level must be in" in refused(run, command, "no such file", "--interval", "95")
