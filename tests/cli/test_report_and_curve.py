"""The commands report and curve."""

from __future__ import annotations

import csv as text_files
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
    X,
    csv,
    elsewhere,
    knnccv,
    numbers,
    run,
    scaled,
    wine,
)

import knnccv as library
from knnccv import surface
from knnccv.datasets import load_wine
from knnccv.neighbors.hvdm import HEOM

CELLS = [[None if x % 5 == 0 else x, None if y == 3 else "uv"[y % 2], y] for x, y, _ in ROWS]
MIXED = csv(
    "x kind code label",
    *zip(*[["?" if c is None else c for c in row] for row in CELLS], strict=True),
    LABEL,
)


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
        found = library.report(features, pd.Series(y, name=target), **how).to_dict()
        for one in (answer, found):
            del one["method"]["seconds"], one["method"]["code"]
        rows = [each for row in answer["items"]["items"] for each in (row, *row["neighbors"])]
        assert all(each.pop("line") == each["index"] + 2 for each in rows)
        assert answer == found


SMALL = "--n-neighbors 1,2 --train-sizes 4,0.5,8"
POINTS = "--n-neighbors 1,5 --train-sizes 80,140"


def check_same(answer, found):
    for name in ("n_neighbors", "train_sizes", "scores", "error_bound"):
        assert answer[name] == getattr(found, name).tolist()
    assert (answer["measure"], answer["is_loss"]) == (found.measure, found.is_loss)
    best = found.best()
    assert [cell["n_neighbors"] for cell in answer["best"]] == best.n_neighbors.tolist()
    assert [cell["score"] for cell in answer["best"]] == best.score.tolist()


def test_the_numbers_are_those_of_surface():
    points = [1, 2], [4, 0.5, 8]
    for options, features, more in (
        ("", X, {}),
        ("--scaling standard --average class", scaled(X), {"average": "class"}),
        ("--drop y --metric manhattan", X[:, :1], {"metric": "manhattan"}),
        ("--ties index --variant rank", X, {"ties": "index", "variant": "rank"}),
        ("--parameter loss=[[0,1],[5,0]]", X, {"loss": [[0, 1], [5, 0]]}),
    ):
        answer = numbers(f"curve t.csv --target label {SMALL} {options}", PLAIN)
        check_same(answer, surface(features, LABEL, *points, **more))
        assert (answer["n_items"], answer["n_features"]) == (12, features.shape[1])
        assert answer["scaling"] == ("standard" if "--scaling" in options else None)
    answer = numbers(f"curve t.csv --target price {SMALL} --variant regression", PRICES)
    check_same(answer, surface(X, PRICE, *points, "regression"))
    rows = [(x, "" if x % 5 == 0 else y, "uv"[x % 2], c) for x, y, c in ROWS]
    mixed = np.array([[x, np.nan if y == "" else y, "uv".index(kind)] for x, y, kind, _ in rows])
    near = HEOM(nominal=(False, False, True)).fit(mixed).neighbors()
    table = csv("x y kind label", *zip(*rows, strict=True))
    check_same(
        numbers(f"curve t.csv --target label {SMALL} --metric heom", table), surface(near, LABEL, *points)
    )


def test_the_bundled_data_and_the_default_points():
    features, y = wine()
    answer = numbers("curve --train-sizes 0.1,0.5")
    check_same(answer, surface(features, y, [1, 5, 15], [0.1, 0.5]))
    assert numbers("curve --train-sizes 7")["n_neighbors"] == [1, 5]
    answer = numbers("curve --kind validation --scaling none")
    check_same(answer, surface(load_wine().X, y, None, [0.8]))
    assert answer["n_neighbors"] == list(range(1, 31))
    assert numbers("curve --train-sizes 20 --n-neighbors '1,3-5, 4'")["n_neighbors"] == [1, 3, 4, 5]
    tenths = [17, 35, 53, 71, 89, 106, 124, 142, 160]
    for n_items, sizes in ((2, [1]), (3, [1, 2]), (11, list(range(1, 10))), (178, tenths)):
        table = csv("x label", [x * x for x in range(n_items)], [x % 2 for x in range(n_items)])
        assert numbers("curve t.csv --target label --variant nn", table)["train_sizes"] == sizes


@pytest.mark.slow
def test_intervals():
    found = surface(*wine(), [1, 5], [80, 140])
    low, high = found.confidence_interval(0.9, random_state=3)
    assert numbers(f"curve {POINTS} --interval 0.9 --seed 3")["interval"] == {
        "confidence_level": 0.9,
        "low": low.tolist(),
        "high": high.tolist(),
        "standard_error": found.standard_error(random_state=3).tolist(),
        "not_worse": found.not_worse(0.9, random_state=3).tolist(),
    }
    text = knnccv(f"curve {POINTS} --interval 0.9 --seed 3")
    for i, j in np.ndindex(2, 2):
        assert f"[{low[i, j]:.4f}, {high[i, j]:.4f}]" in text


def test_the_table_has_the_numbers_of_all_lines():
    found = surface(X, LABEL, [1, 2], [4, 0.5, 8])
    question = f"curve t.csv --target label {SMALL}"
    text = knnccv(question, PLAIN)
    assert knnccv(question.replace("4,0.5,8", "8,4,0.5"), PLAIN) == text
    lines = text.splitlines()
    rows = {int(cells[0]): cells[1:] for cells in (line.split() for line in lines[-4:-1])}
    assert list(rows) == [4, 6, 8]
    for at, n in enumerate(rows):
        assert [float(cell.rstrip("*")) for cell in rows[n]] == found.scores[:, at].round(4).tolist()
    text = run("curve --n-neighbors 1-12 --train-sizes 20,80").out
    header = [line for line in text.splitlines() if line.startswith("training samples  ")]
    assert [int(k) for line in header for k in line.split()[2:]] == list(range(1, 13))


def test_a_file_of_numbers():
    found = surface(*wine(), [1, 5], [80, 140])
    for options, frame in (
        ("", found.to_frame()),
        ("--interval 0.9", found.to_frame(interval=True, confidence_level=0.9)),
    ):
        with elsewhere() as folder:
            text = run(f"curve {POINTS} {options} --out curves.csv").out
            with (folder / "curves.csv").open(encoding="utf-8", newline="") as file:
                rows = list(text_files.reader(file))
            assert [path.name for path in folder.iterdir()] == ["curves.csv"]
        assert "Written  curves.csv" in text
        assert rows == [
            list(frame.columns),
            *([str(value) for value in row] for row in frame.itertuples(index=False)),
        ]


@pytest.mark.slow
def test_pictures():
    with elsewhere() as folder:
        drawn = []
        for _ in range(2):
            assert run(f"curve {POINTS} --out curves.svg --kind validation").status == 0
            drawn.append((folder / "curves.svg").read_bytes())
        assert drawn[0] == drawn[1]
        for text in (b"accuracy", b"training samples", b">K<", b">140<"):
            assert text in drawn[0]
        assert run(f"curve {POINTS} --interval 0.9 --out curves.PNG").status == 0
        assert (folder / "curves.PNG").read_bytes().startswith(b"\x89PNG")
        assert {path.name for path in folder.iterdir()} == {"curves.svg", "curves.PNG"}
