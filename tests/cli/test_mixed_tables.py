"""Mixed tables on the command line: categorical columns and missing values, measured by HEOM or HVDM."""

from __future__ import annotations

import io
import json
import warnings
from functools import cache

import numpy as np
import pytest
from command_line import QUICK, refused, table

from knnccv import LeaveOut, complete_cv, monte_carlo_cv
from knnccv._cli.table import read_table
from knnccv.hvdm import HEOM, HVDM
from knnccv.neighbors import SupervisedDistanceWarning

rng = np.random.default_rng(5)
N = 40
AGE = [None if i == 3 else round(float(x), 1) for i, x in enumerate(rng.normal(50, 10, N))]
WARD = [None if i in (5, 8) else str(x) for i, x in enumerate(rng.choice(["north", "south", "none"], N))]
CODE = rng.integers(1, 4, N).tolist()
OUTCOME = [str(x) for x in rng.choice(["well", "ill"], N)]
PATIENTS = list(zip(AGE, WARD, CODE, strict=True))
NAMES = ("age", "ward", "code", "outcome")


def text(gap="", ward=WARD):
    columns = [[gap if cell is None else cell for cell in column] for column in (AGE, ward, CODE, OUTCOME)]
    return table(NAMES, *columns)


@cache
def heom_score():
    return complete_cv(HEOM(nominal=[1]).fit(PATIENTS).neighbors(), OUTCOME).score


@pytest.mark.parametrize("gap", ["", "?", "NA", "nan", "null", "N/A"])
def test_heom_of_a_file(run, write, gap):
    question = ("score", write(text(gap)), "--target", "outcome", "--metric", "heom", "--repeats", "3")
    status, out, err = run(*question, "--json")
    answer = json.loads(out)
    assert (status, err) == (0, "")
    near = HEOM(nominal=[1]).fit(PATIENTS).neighbors()
    assert answer["score"] == heom_score()
    runs = monte_carlo_cv(near, OUTCOME, n_repeats=3, random_state=0)
    assert answer["random_runs"]["scores"] == runs.scores.tolist()
    assert (answer["metric"], answer["standardized"]) == ("heom", False)
    assert (answer["categorical_features"], answer["n_missing"]) == (["ward"], 3)
    lines = [line.strip() for line in run(*question)[1].splitlines()]
    assert "2 numeric, 1 categorical (ward)" in lines
    assert f"3 missing values ({gap or 'empty'}: 3)" in lines
    assert any("heom distance," in line for line in lines)
    assert max(map(len, lines[1:])) <= 100


def test_none_is_a_category(write):
    found = read_table(str(write(text())), "outcome", mixed=True)
    assert len(np.unique(found.X[~np.isnan(found.X[:, 1]), 1])) == 3


def test_columns_of_codes_are_categorical_where_they_are_named(run, write):
    question = ("score", write(text()), "--target", "outcome", "--metric", "heom", "--repeats", "0")
    answer = json.loads(run(*question, "--categorical", "code", "--json")[1])
    expected = complete_cv(HEOM(nominal=[1, 2]).fit(PATIENTS).neighbors(), OUTCOME)
    assert (answer["score"], answer["categorical_features"]) == (expected.score, ["ward", "code"])
    assert answer["score"] != heom_score()
    assert "0 numeric" not in run(*question)[1]


def test_codes_that_are_the_same_number_are_one_category(write):
    path = write("x,c\n1,a\n1.0,a\n2,b\n")
    assert read_table(str(path), "c", mixed=True, categorical=["x"]).X.ravel().tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("design", "cv", "optimistic"),
    [(("--cv", "5"), 5, True), (("--leave-out", "1"), LeaveOut(1), False)],
)
def test_hvdm_says_where_its_score_is_optimistic(run, write, design, cv, optimistic):
    question = (
        "score",
        write(text()),
        "--target",
        "outcome",
        "--metric",
        "hvdm",
        "--repeats",
        "2",
        *design,
    )
    near = HVDM(nominal=[1]).fit(PATIENTS, OUTCOME).neighbors()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupervisedDistanceWarning)
        expected = complete_cv(near, OUTCOME, cv=cv).score
    status, out, err = run(*question, "--json")
    assert (status, json.loads(out)["score"]) == (0, expected)
    assert ("The score is optimistic" in err) == optimistic
    assert err.count("\n") == optimistic
    out = run(*question)[1]
    assert ("fitted to the labels of all samples: the score is optimistic" in out) == optimistic
    assert max(map(len, out.splitlines()[1:])) <= 100


@pytest.mark.slow
def test_heom_of_regression_groups_and_confusion(run, write):
    features = [row[1:] for row in PATIENTS[4:]]
    rows = text().splitlines()
    path = write("\n".join([rows[0], *rows[5:]]))
    priced = ("score", path, "--metric", "heom", "--repeats", "0", "--json", "--target", "age")
    answer = json.loads(run(*priced, "--drop", "outcome", "--variant", "regression")[1])
    near = HEOM(nominal=[0]).fit(features).neighbors()
    assert answer["score"] == complete_cv(near, AGE[4:], "regression").score
    question = (
        "score",
        write(text()),
        "--metric",
        "heom",
        "--repeats",
        "0",
        "--json",
        "--target",
        "outcome",
    )
    answer = json.loads(run(*question, "--groups", "code", "--confusion")[1])
    assert (answer["groups"], answer["n_features"]) == ("code", 2)
    assert answer["confusion"]["classes"] == ["ill", "well"]


def test_a_table_of_numbers_and_the_bundled_data_may_be_measured_by_heom(run, write):
    answer = json.loads(run("score", "--metric", "heom", *QUICK, "--json")[1])
    assert (answer["standardized"], answer["categorical_features"], answer["n_missing"]) == (False, [], 0)
    path = write("x,c\n1,a\n2,b\n3,a\n9,b\n")
    assert run("score", path, "--target", "c", "--metric", "heom", *QUICK, "--leave-out", "1")[0] == 0


def test_a_table_of_names_alone(run, write):
    path = write("u,v,c\n" + "".join(f"{'pq'[i % 2]},{'rst'[i % 3]},{'ab'[i % 2]}\n" for i in range(12)))
    question = ("score", path, "--target", "c", "--metric", "heom", *QUICK)
    _, out, err = run(*question)
    assert "12 samples, 2 features" in out
    assert "0 numeric, 2 categorical (u, v)" in out
    assert "no feature of" in err
    assert "its first line names the columns, --no-header if not" in err
    assert run(*question, "--header")[2] == ""


def test_names_of_the_samples_are_pointed_out(run, write):
    names = [f"patient {i}" for i in range(N)]
    path = write(text(ward=names))
    question = ("score", path, "--target", "outcome", "--metric", "heom", *QUICK)
    err = run(*question)[2]
    assert "column 'ward' is categorical, but 40 of its 40 values occur only once" in err
    assert "leave it out with --drop ward" in err
    assert run(*question, "--drop", "ward")[2] == ""
    assert run("score", write(text()), "--target", "outcome", "--metric", "heom", *QUICK)[2] == ""


@pytest.mark.parametrize(
    ("content", "options", "parts"),
    [
        ("x,c\n1,a\n2 m,b\n", (), ("line 3", "'2 m' is not a number", "other cells", "--categorical x")),
        (
            'x,c\n"1,5",a\n"2,5",b\n',
            (),
            ("line 2", "--decimal , if it means 1.5, --categorical x if it is a category"),
        ),
        ('x,c\n"1,234,567",a\n"2,500,000",b\n', (), ("line 2", "--thousands , if it means 1234567")),
        ("x,c\n1,a\ninf,b\n", (), ("line 3, column 'x': inf is not finite",)),
        ("x,y,c\n1,,a\n2,,b\n", (), ("column 'y' has no value at all; --drop y",)),
        ("x,c\n1,a\n2,\n", (), ("line 3, column 'c': the target is missing",)),
        ("x,c\n1,a\n2,b\n", ("--categorical", "c"), ("column 'c' is not a feature; --categorical",)),
        ("x,c\n1,a\n2,b\n", ("--categorical", "xx"), ("no column 'xx'", "did you mean 'x'?")),
        ("x,c\n1,a\n2,b\n", ("--standardize",), ("--metric heom, which scales every column itself",)),
        ("x,c\n1,a\n2,b\n", ("--p", "3"), ("--p belongs to --metric minkowski, not to heom",)),
        ("x,c\n1,1\n2,2\n", ("--metric", "hvdm", "--variant", "regression"), ("use --metric heom",)),
        ("x,c\n1,a\nu,b\n", ("--metric", "euclidean"), ("--metric heom if it is a category",)),
        ("x,c\n1,a\n,b\n", ("--metric", "euclidean"), ("--metric heom", "missing values")),
        ("x,c\n1,a\n2,b\n", ("--metric", "euclidean", "--categorical", "x"), ("not to euclidean",)),
    ],
)
def test_mixed_tables_that_cannot_be_used(run, write, content, options, parts):
    said = refused(run, "score", write(content), "--target", "c", "--metric", "heom", *options)
    for part in parts:
        assert part in said


def test_options_of_mixed_tables_describe_a_file(run):
    assert "--categorical describes a file" in refused(run, "score", "--categorical", "x")
    assert "--sheet describes a file" in refused(run, "score", "--sheet", "x")


@pytest.mark.parametrize("form", ["parquet", "excel"])
def test_typed_formats(run, write, form):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip({"parquet": "pyarrow", "excel": "openpyxl"}[form])
    frame = pandas.DataFrame(PATIENTS, columns=list(NAMES[:3])).assign(outcome=OUTCOME)
    blob = io.BytesIO()
    getattr(frame, f"to_{form}")(blob, index=False)
    question = (
        "score",
        write(blob.getvalue()),
        "--target",
        "outcome",
        "--metric",
        "heom",
        *QUICK,
        "--json",
    )
    answer = json.loads(run(*question, "--variant", "knn")[1])
    assert (answer["score"], answer["categorical_features"]) == (heom_score(), ["ward"])


@pytest.mark.parametrize("form", ["parquet", "excel"])
def test_types_decide_what_is_categorical(run, write, form):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip({"parquet": "pyarrow", "excel": "openpyxl"}[form])
    frame = pandas.DataFrame(
        {
            "number": range(4),
            "text": ["01", "02", "01", "02"],
            "flag": [True, False, None, True],
            "day": pandas.date_range("2020-01-01", periods=4),
            "c": list("abab"),
        }
    )
    if form == "parquet":
        frame["level"] = pandas.Categorical(["1", "2", "1", "2"])
    blob = io.BytesIO()
    getattr(frame, f"to_{form}")(blob, index=False)
    path = str(write(blob.getvalue()))
    found = read_table(path, "c", mixed=True, drop=["day"])
    expected = (False, True, True, True)
    assert found.categorical == expected[: len(found.categorical)]
    np.testing.assert_array_equal(found.X[:, 2], [1, 0, np.nan, 1])
    said = refused(run, "score", path, "--target", "c", "--metric", "heom")
    assert "column 'day' holds dates or times" in said
    assert "--categorical day" in said
    assert read_table(path, "c", mixed=True, categorical=["day"]).categorical[3]


DATES = (
    "2020-01-31,2020/1/2,31.01.2020,1/31/2020,1/31/20,31-Jan-20,2 March 2020,2020-01-31T12:00:00Z,"
    "2020-01-31 12:00,2020-01-31 12:00:05.123+01:00,1/2/2020 3:04 PM,12:30:05"
)
NO_DATES = (
    "1-2,1/2,1.2.3,2020-01,03-2020,12/2020,12:30,1-2-3,192.168.1.1,12-34-5678,555-12-3456,2020-13-45,"
    "99/99/9999,5-10 years,May 5,may,1.2.20,a 2020-01-31"
)


@pytest.mark.parametrize("gap", ["", "NA"])
def test_dates_in_text_are_refused_as_typed_ones_are(run, write, gap):
    question = ("--target", "c", "--metric", "heom", "--variant", "nn", "--repeats", "0")
    for date in DATES.split(","):
        path = write(table(("x", "day", "c"), range(4), [date, gap, date, date], "abab"))
        for command in (("score", path, *question), ("report", path, "--target", "c", "--json")):
            said = refused(run, *command)
            assert "column 'day' holds dates or times; write numbers" in said
            assert "--drop day" in said
            assert "--categorical day" in said
    assert read_table(str(path), "c", mixed=True, categorical=["day"]).categorical == (False, True)
    assert read_table(str(path), "c", mixed=True, drop=["day"]).feature_names == ("x",)
    said = refused(run, "score", write(table(("day", "c"), ["2020-01-31"] * 2, "ab")), "--target", "c")
    assert (
        "'2020-01-31' is not a number; write numbers, such as days since the first, or --drop day" in said
    )


def test_text_that_only_resembles_dates_is_categorical(write):
    for cell in NO_DATES.split(","):
        for cells in ([cell] * 4, ["2020-01-31", cell] * 2):
            path = write(table(("x", "kind", "c"), range(4), cells, "abab"))
            assert read_table(str(path), "c", mixed=True).categorical == (False, True)


def test_dates_in_a_text_column_of_parquet(write):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    blob = io.BytesIO()
    pandas.DataFrame({"x": [1, 2], "day": ["2020-01-31", "2020-02-01"], "c": ["a", "b"]}).to_parquet(blob)
    with pytest.raises(ValueError, match="column 'day' holds dates or times"):
        read_table(str(write(blob.getvalue())), "c", mixed=True)
