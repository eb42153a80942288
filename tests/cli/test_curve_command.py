"""The command curve: its numbers are those of `surface`, and the plot and the files show them."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pytest
from command_line import HOMES, LABEL, PLAIN, PRICES, ROWS, refused, scaled

import knnccv
from knnccv.__main__ import main
from knnccv._cli.curve import draw, shows_colors, tenths
from knnccv._cli.options import counts
from knnccv.datasets import load_wine

pytest.importorskip("plotext")

X = np.array([row[:2] for row in ROWS], float)
SMALL = ("--n-neighbors", "1,2", "--train-sizes", "4,0.5,8")


def test_sizes_of_small_tables():
    assert [tenths(n_items) for n_items in (2, 3)] == [[0.5], [0.4, 0.7]]
    for n_items in (10, 11, 178, 100_000):
        assert tenths(n_items) == [tenth / 10 for tenth in range(1, 10)]


def as_json(run, *argv):
    status, out, err = run("curve", *argv, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def equals(answer, found):
    assert answer["n_neighbors"] == found.n_neighbors.tolist()
    assert answer["train_sizes"] == found.train_sizes.tolist()
    assert answer["scores"] == found.scores.tolist()
    assert answer["error_bound"] == found.error_bound.tolist()
    best = found.best()
    assert [cell["n_neighbors"] for cell in answer["best"]] == best.n_neighbors.tolist()
    assert [cell["score"] for cell in answer["best"]] == best.score.tolist()
    assert answer["measure"] == found.measure


def test_the_numbers_are_those_of_surface(run, write):
    path = write(PLAIN)
    answer = as_json(run, path, "--target", "label", *SMALL)
    equals(answer, knnccv.surface(X, LABEL, [1, 2], [4, 0.5, 8]))
    assert (answer["n_items"], answer["n_features"], answer["kind"]) == (12, 2, "learning")
    answer = as_json(run, path, "--target", "label", *SMALL, "--standardize", "--average", "class")
    equals(answer, knnccv.surface(scaled(X), LABEL, [1, 2], [4, 0.5, 8], average="class"))
    assert answer["standardized"]
    answer = as_json(run, path, "--target", "label", *SMALL, "--drop", "y", "--metric", "manhattan")
    equals(answer, knnccv.surface(X[:, :1], LABEL, [1, 2], [4, 0.5, 8], metric="manhattan"))
    answer = as_json(run, path, "--target", "label", *SMALL, "--ties", "index")
    equals(answer, knnccv.surface(X, LABEL, [1, 2], [4, 0.5, 8], ties="index"))


def test_a_quantity_is_for_regression_in_every_command(run, write):
    counted = [f"{x},{x % 7},{3 * x}" for x in range(60)]
    shares = [f"{x},{x % 7},{x / 4}" for x in range(12)]
    for rows, why, is_whole in (
        (counted, "60 different numbers, more than 50", True),
        (shares, "numbers that are not whole", False),
    ):
        path = write("\n".join(["a,b,price", *rows]))
        question = (path, "--target", "price", "--drop", "a", "--json")
        report = json.loads(run("report", *question, "--n-neighbors", "1")[1])
        for command in (
            ("score", *question, "--repeats", "0"),
            ("curve", *question, "--n-neighbors", "1", "--train-sizes", "0.5"),
        ):
            status, out, err = run(*command)
            assert (status, report["task"]) == (0, "regression")
            assert json.loads(out)["measure"] == "mean squared error"
            taken = "column 'price' is taken as a quantity and predicted by regression"
            assert f"{taken}, since the target holds {why}" in err
            assert ("--variant knn takes each number as a class" in err) == is_whole
            status, _, err = run(*command, "--variant", "regression")
            assert (status, err) == (0, "")
    options = ("--n-neighbors", "1", "--train-sizes", "30", "--json")
    path = write("\n".join(["a,b,price", *counted]))
    status, out, err = run("curve", path, "--target", "price", "--drop", "a", *options, "--variant", "knn")
    assert (status, json.loads(out)["measure"]) == (0, "accuracy")
    assert "column 'price' may be a quantity, since the target holds 60 different numbers" in err
    assert "--variant regression" in err


def test_the_bundled_data_and_the_default_points(run):
    wine = load_wine()
    answer = as_json(run, "--train-sizes", "0.1,0.5")
    equals(answer, knnccv.surface(scaled(wine.X), wine.y, [1, 5, 15], [0.1, 0.5]))
    assert as_json(run, "--train-sizes", "7")["n_neighbors"] == [1, 5]
    answer = as_json(run, "--kind", "validation", "--no-standardize")
    equals(answer, knnccv.surface(wine.X, wine.y, None, [0.8]))
    assert answer["n_neighbors"] == list(range(1, 31))
    assert as_json(run, "--variant", "nn", "--kind", "learning")["train_sizes"][0] == 17


@pytest.mark.slow
def test_other_rules(run, write):
    path = write(PRICES)
    prices = [row[2] for row in HOMES]
    answer = as_json(run, path, "--target", "price", *SMALL, "--variant", "regression")
    equals(answer, knnccv.surface(X, prices, [1, 2], [4, 0.5, 8], "regression"))
    assert answer["is_loss"]
    answer = as_json(run, write(PLAIN), "--target", "label", *SMALL, "--variant", "rank")
    equals(answer, knnccv.surface(X, LABEL, [1, 2], [4, 0.5, 8], "rank"))
    loss = ("--parameter", "loss=[[0,1],[5,0]]")
    answer = as_json(run, path.parent / "table.csv", "--target", "label", *SMALL, *loss)
    equals(answer, knnccv.surface(X, LABEL, [1, 2], [4, 0.5, 8], loss=[[0, 1], [5, 0]]))
    status, out, _ = run("curve", path, "--target", "label", *SMALL, "--variant", "rank")
    assert status == 0
    assert "R:  * 1   o 2" in out


def test_a_mixed_table(run, write):
    rows = [(x, "" if x % 5 == 0 else y, "uv"[x % 2], c) for x, y, c in ROWS]
    text = "x,y,kind,label\n" + "".join(f"{x},{y},{kind},{c}\n" for x, y, kind, c in rows)
    mixed = np.array([[x, np.nan if y == "" else y, "uv".index(kind)] for x, y, kind, _ in rows])
    near = knnccv.hvdm.HEOM(nominal=(False, False, True)).fit(mixed).neighbors()
    answer = as_json(run, write(text), "--target", "label", *SMALL, "--metric", "heom")
    equals(answer, knnccv.surface(near, LABEL, [1, 2], [4, 0.5, 8]))


def test_intervals(run):
    wine = load_wine()
    points = ("--n-neighbors", "1,5", "--train-sizes", "80,140")
    answer = as_json(run, *points, "--interval", "0.9", "--seed", "3")
    found = knnccv.surface(scaled(wine.X), wine.y, [1, 5], [80, 140])
    low, high = found.confidence_interval(0.9, random_state=3)
    assert answer["interval"] == {
        "level": 0.9,
        "low": low.tolist(),
        "high": high.tolist(),
        "standard_error": found.standard_error(random_state=3).tolist(),
        "not_worse": found.not_worse(0.9, random_state=3).tolist(),
    }
    _, out, _ = run("curve", *points, "--interval", "0.9", "--seed", "3")
    assert f"[{low[0, 0]:.4f}, {high[0, 0]:.4f}]" in out
    assert "90 % interval for the population (luck of the data)" in out


def test_the_plot_and_the_table(run, write, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    path = write(PLAIN)
    found = knnccv.surface(X, LABEL, [1, 2], [4, 0.5, 8])
    status, out, err = run("curve", path, "--target", "label", *SMALL)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    for part in (
        "accuracy",
        "training samples",
        "K:  * 1   o 2",
        "┌",
        "accuracy by training samples (rows)",
    ):
        assert part in out
    assert "\x1b" not in out
    assert max(map(len, lines[3:22])) <= 70
    rows = {int(cells[0]): cells[1:] for cells in (line.split() for line in lines[-4:-1])}
    assert list(rows) == [4, 6, 8]
    for at, n in enumerate(rows):
        assert [float(cell.rstrip("*")) for cell in rows[n]] == found.scores[:, at].round(4).tolist()
    _, out, _ = run("curve", path, "--target", "label", *SMALL, "--kind", "validation")
    assert "training samples:  * 4   o 6   + 8" in out
    assert "accuracy by K (rows) and training samples (columns)" in out


def test_many_lines_are_named_in_the_table(run):
    _, out, _ = run("curve", "--n-neighbors", "1-12", "--train-sizes", "20,80")
    assert "8 of 12 lines are drawn; the table has all of them" in out
    header = [line for line in out.splitlines() if line.startswith("training samples  ")]
    assert [int(k) for line in header for k in line.split()[2:]] == list(range(1, 13))


def test_colors_and_frames(monkeypatch):
    for variable in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(variable, raising=False)
    assert not shows_colors()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert shows_colors()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not shows_colors()
    names = {"x_name": "K", "y_name": "accuracy", "legend": "n"}
    lines = [("40", [0.5, float("nan"), 0.7]), ("80", [0.4, 0.6, float("inf")])]
    colored = draw([1, 2, 3], lines, **names, colored=True)
    assert "\x1b[" in colored
    plain = draw([1, 2, 3], lines, **names, colored=False)
    assert "\x1b" not in plain
    assert "n:  * 40   o 80" in plain
    assert draw([1, 2, 3], lines, **names, colored=False, framed=False).isascii()
    nothing = draw([1], [("40", [float("nan")])], **names, colored=False)
    assert nothing == "accuracy: no finite value to draw"
    assert "0.5" in draw([1], [("40", [0.5])], **names, colored=False)


def as_text(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def cells(frame):
    rows = [[str(value) for value in row] for row in frame.itertuples(index=False)]
    return [list(frame.columns), *rows]


def test_a_file_of_numbers(run, tmp_path):
    pytest.importorskip("pandas")
    wine = load_wine()
    out = tmp_path / "curves.csv"
    points = ("--n-neighbors", "1,5", "--train-sizes", "80,140")
    status, said, _ = run("curve", *points, "--out", out)
    assert status == 0
    assert f"Written  {out}" in said
    assert "┌" not in said
    found = knnccv.surface(scaled(wine.X), wine.y, [1, 5], [80, 140])
    assert as_text(out) == cells(found.to_frame())
    run("curve", *points, "--out", out, "--interval", "0.9")
    assert as_text(out) == cells(found.to_frame(interval=True, confidence_level=0.9))
    assert [path.name for path in tmp_path.iterdir()] == ["curves.csv"]


@pytest.mark.slow
def test_pictures(run, tmp_path):
    pytest.importorskip("matplotlib")
    points = ("--n-neighbors", "1,5", "--train-sizes", "80,140")
    assert run("curve", *points, "--out", tmp_path / "curves.svg", "--kind", "validation")[0] == 0
    drawn = (tmp_path / "curves.svg").read_bytes()
    for text in (b"accuracy", b"training samples", b">K<", b">140<"):
        assert text in drawn
    assert run("curve", *points, "--out", tmp_path / "curves.svg", "--kind", "validation")[0] == 0
    assert (tmp_path / "curves.svg").read_bytes() == drawn
    assert run("curve", *points, "--out", tmp_path / "curves.PNG")[0] == 0
    assert (tmp_path / "curves.PNG").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {"curves.svg", "curves.PNG"}


def test_numbers_and_ranges():
    assert counts("1,3-5, 4") == [1, 3, 4, 5]
    assert counts("7") == [7]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--train-sizes", "1.5"), "must be in (0, 1)"),
        (("--interval", "2"), "confidence_level must be in (0, 1), got 2.0"),
        (("--train-sizes", "0"), "train_size"),
        (("--train-sizes", "178"), "between 1 and 177"),
        (("--n-neighbors", "99", "--train-sizes", "20"), "between 1 and 20"),
        (("--variant", "knnn"), "did you mean 'knn'?"),
        (("--variant", "nn", "--n-neighbors", "3"), "leave n_neighbors out"),
        (("--metric", "cosin"), "did you mean 'cosine'?"),
        (("--p", "3"), "--p belongs to --metric minkowski"),
        (("--parameter", "los=1"), "has no parameter 'los'; it takes: "),
        (("--parameter", "n_neighbors=3"), "given by --n-neighbors"),
        (("--parameter", "x"), "must be NAME=VALUE"),
        (("--target", "x"), "--target describes a file"),
        (("--sheet", "x"), "--sheet describes a file"),
        (("--categorical", "x"), "--categorical describes a file"),
        (("--jobs", "0"), "must be at least 1, got 0"),
        (("--out", "curves.pdf"), "--out must end in .png, .svg or .csv, got 'curves.pdf'"),
        (("--out", "-"), "--out needs the name of a file"),
        (("--out", ""), "--out needs the name of a file"),
        (("--out", "missing-folder/curves.csv"), "missing-folder/curves.csv: No such file"),
        (("--out", "/"), "/: Is a directory"),
        (("--metric", "heom", "--standardize"), "--standardize cannot be given with --metric heom"),
    ],
)
def test_options_that_cannot_be(run, tmp_path, monkeypatch, options, part):
    monkeypatch.chdir(tmp_path)
    assert part in refused(run, "curve", *options)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--n-neighbors", "0"), "numbers of at least 1"),
        (("--n-neighbors", "5-3"), "numbers of at least 1"),
        (("--n-neighbors", "a"), "numbers of at least 1"),
        (("--n-neighbors", "1-999999999"), "numbers of at least 1"),
        (("--train-sizes", "a"), "a number of samples or a fraction"),
        (("--kind", "x"), "invalid choice"),
    ],
)
def test_arguments_that_cannot_be_parsed(capsys, options, part):
    with pytest.raises(SystemExit) as ended:
        main(["curve", *options])
    assert ended.value.code == 2
    assert part in capsys.readouterr().err


def test_tables_that_cannot_be_used(run, write):
    assert "'a' is not a number" in refused(run, "curve", write("x,c\na,1\n2,2\n"), "--target", "c")
    assert "no column 'd'" in refused(run, "curve", write(PLAIN), "--target", "d")
    path = write(PLAIN, name="table.csv")
    said = refused(run, "curve", path, "--target", "label", "--out", path)
    assert f"--out would overwrite the table {path}" in said
    assert path.read_text(encoding="utf-8") == PLAIN


def test_packages_that_are_missing(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "plotext", None)
    assert "pip install 'knnccv[cli]'" in refused(run, "curve", *SMALL)
    assert run("curve", *SMALL, "--json")[0] == 0
    for package, name in (("matplotlib", "c.svg"), ("pandas", "c.csv")):
        monkeypatch.setitem(sys.modules, package, None)
        assert f"needs {package}: pip install" in refused(run, "curve", *SMALL, "--out", tmp_path / name)
    assert not any(tmp_path.iterdir())
