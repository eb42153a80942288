"""The command report: its numbers are those of `knnccv.report`, and the files are what the options say."""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from command_line import (
    LABEL,
    PLAIN,
    PRICE,
    PRICES,
    ROWS,
    FewWords,
    Refused,
    X,
    csv,
    elsewhere,
    excel,
    knnccv,
    numbers,
    parquet,
    run,
    table,
    write,
)

import knnccv as library
from knnccv.datasets import load_wine

CELLS = [[None if x % 5 == 0 else x, None if y == 3 else "uv"[y % 2], y] for x, y, _ in ROWS]
MIXED = csv(
    "x kind code label",
    *zip(*[["?" if c is None else c for c in row] for row in CELLS], strict=True),
    LABEL,
)


def test_the_arguments_of_report():
    options = "--target label --n-neighbors 1,2 --train-size 6 --max-items 9 --seed 4 --average class"
    read = table(PLAIN, options)
    np.testing.assert_array_equal(read.X, X)
    assert (read.y.tolist(), read.notes) == (LABEL, "")
    assert read.how == {
        "task": None,
        "train_size": 6,
        "n_neighbors": [1, 2],
        "average": "class",
        "max_items": 9,
        "n_jobs": None,
        "progress": False,
        "random_state": 4,
        "feature_names": ("x", "y"),
        "categorical": [],
        "name": "t.csv",
    }
    read, wine = table(None, "--task classification --jobs 1"), load_wine()
    np.testing.assert_array_equal(read.X, wine.X)
    assert (read.how["name"], read.names) == ("wine", wine.feature_names)
    assert [read.how[name] for name in ("task", "n_jobs", "train_size")] == ["classification", 1, 0.8]
    np.testing.assert_array_equal(read.by_pandas[0], wine.X)
    np.testing.assert_array_equal(read.by_pandas[1], wine.y)


def test_mixed_tables_are_read_with_their_categories():

    read = table(MIXED, "--target label --categorical code")
    missing = sum(cell is None for row in CELLS for cell in row)
    note = f"2 categorical columns (kind, code) and {missing} missing values: the distance is HEOM "
    assert read.notes == f"knnccv: note: {note}(docs/guide/mixed_tables.md)\n"
    assert read.categorical == [1, 2]
    for found, (x, kind, code) in zip(read.X.tolist(), CELLS, strict=True):
        assert (found[0] == x) if x is not None else np.isnan(found[0])
        assert found[1:] == [kind, str(code)]
    read = table(MIXED, "--target label --drop kind --drop code")
    assert (read.X.dtype, read.categorical) == (np.float64, [])
    frame = pd.DataFrame(CELLS, columns=["x", "kind", "code"]).assign(label=LABEL)
    for blob, options in ((parquet(frame), ""), (excel(other=ROWS, rows=frame), "--sheet rows")):
        read = table(blob, f"--target label {options}")
        assert (read.y.tolist(), read.categorical) == (LABEL, [1])
        assert [row[1] for row in read.X.tolist()] == [cells[1] for cells in CELLS]


@mock.patch("knnccv.reporting.report_on", return_value=FewWords())
def test_the_page_and_its_conclusions(asked):
    """Columns of the terminal, and the widest line."""
    with elsewhere() as folder:
        for columns, widest in (("", 100), ("60", 60), ("20", 40)):
            with mock.patch.dict(os.environ, COLUMNS=columns):
                lines = run("report").out.splitlines()
            assert lines[:2] == ["Report      report.html", "Data        Few rows."]
            assert lines[2].startswith("Scores      Good <b>enough</b>.")
            assert lines[3].startswith(" " * 12)
            assert widest - 12 < max(map(len, lines)) <= widest
        assert (folder / "report.html").read_text(encoding="utf-8") == "a page"
        run("report --json --out page.htm")
        run("report --json")
        assert {path.name for path in folder.iterdir()} == {"report.html", "page.htm"}
        opened = []
        with mock.patch("webbrowser.open", lambda address: opened.append(address) or len(opened) == 1):
            assert run("report --open --out", "a page.html").err == ""
            again = run("report --open --out", "a page.html").err
        assert opened == [(folder / "a page.html").resolve().as_uri()] * 2
        assert again == "knnccv: note: no browser was found; open a page.html yourself\n"
    with pytest.raises(Refused, match=r"the page needs altair: pip install 'knnccv\[report\]'"):
        knnccv("report --out page.html", without="altair")
    with pytest.raises(Refused, match=r"--out would overwrite the table t\.csv"):
        knnccv("report t.csv --target label --json --out t.csv", PLAIN)
    assert asked.call_count == 7
    for options in ("--json", "--out page.json"):
        assert knnccv(f"report {options}", without="altair")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_numbers_are_those_of_report():
    """Content, target, features, names and labels."""
    mixed = np.array(CELLS, dtype=object)
    for content, target, features, names, y in (
        (PLAIN, "label", X, ["x", "y"], LABEL),
        (PRICES, "price", X, ["x", "y"], PRICE),
        (MIXED, "label", mixed, ["x", "kind", "code"], LABEL),
    ):
        answer = numbers(f"report t.csv --target {target} --n-neighbors 1,2 --train-size 6", content)
        how = {"train_size": 6, "n_neighbors": [1, 2], "feature_names": names, "name": "t.csv"}
        found = library.report(features, np.array(y), **how).to_dict()
        for one in (answer, found):
            del one["method"]["seconds"], one["method"]["code"]
        assert answer == found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_page_with_one_bar_over_all_stages():
    with elsewhere() as folder:
        write("before", "page.html")
        done = run("report --n-neighbors 1,5 --out page.html --progress")
        assert done.out.startswith("Report      page.html\n")
        assert (folder / "page.html").read_text(encoding="utf-8").lower().startswith("<!doctype html")
        assert [path.name for path in folder.iterdir()] == ["page.html"]
    for part in ("10/10", "scores (3/10)"):
        assert part in done.err
