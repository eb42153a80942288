"""Tables of the literature: that they are computed, judged and told truly."""

from __future__ import annotations

import csv
import io
import socket
from dataclasses import replace

import mirror as local
import pytest

from knnccv import _fetch, monte_carlo_cv, reproduce
from knnccv.__main__ import main
from knnccv._report import Report
from knnccv.designs import Subsample
from knnccv.reproduce import Cell, Row


@pytest.fixture(autouse=True)
def _only_this_machine(monkeypatch, tmp_path):
    """Leave no way to a public address."""
    monkeypatch.setattr(_fetch, "public_sources", lambda _: [])
    monkeypatch.setattr(_fetch, "PAUSE", 0.0)
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path / "cache"))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    assert socket.getaddrinfo("127.0.0.1", 80)


@pytest.fixture(scope="module")
def report(mirror, tmp_path_factory):
    """The quick table, with the files that it wrote."""
    folder = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KNNCCV_DATA_URL", mirror.url)
        patch.setenv("KNNCCV_DATA_DIR", str(folder / "cache"))
        patch.setattr(_fetch, "public_sources", lambda _: [])
        for name in ("NO_PROXY", "no_proxy"):
            patch.setenv(name, "127.0.0.1,localhost")
        return reproduce.reproduce(
            "tr-table1", quick=True, folder=folder / "new" / "out"
        ), folder / "new" / "out"


def test_the_exact_column_of_the_technical_report(report):
    rows = report[0].rows
    found = [row.cells["Exact"].value for row in rows]
    assert found == pytest.approx([60.694, 96.328, 88.826, 94.116], abs=0.001)


def test_verdicts_follow_from_the_numbers(report):
    table = list(csv.DictReader(io.StringIO(report[0].to_csv())))
    assert len(table) == 16
    for line in table:
        difference = float(line["knnccv"]) - float(line["paper"])
        assert difference == float(line["difference"])
        if abs(difference) <= 0.05:
            expected = "agrees"
        elif not line["paper_2sigma"]:
            expected = "differs"
        else:
            within = abs(difference) <= float(line["paper_2sigma"])
            expected = "within 2 sigma" if within else "outside 2 sigma"
        assert line["verdict"] == expected
    exact = [line["verdict"] for line in table if line["quantity"] == "Exact"]
    assert exact == ["agrees", "agrees", "agrees", "differs"]


def test_the_text_says_what_differs_and_fits_a_terminal(report):
    text = report[0].to_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "Experiment 4, Exact: knnccv 94.12 differs from the printed 94.0 by +0.12" in text
    assert "taken in the order of the file, the exact accuracy is 60.6109" in " ".join(text.split())
    assert "does not say how the images" in text


def test_files_hold_the_same(report):
    found, folder = report
    assert (folder / "tr-table1.md").read_text(encoding="utf-8") == found.to_markdown()
    assert (folder / "tr-table1.csv").read_text(encoding="utf-8") == found.to_csv()
    table = [line for line in found.to_markdown().splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert len(table) == 2 + 4 * 3


def test_the_spread_of_a_mean_of_trials(report, mirror, monkeypatch):
    from knnccv.datasets import fetch_liver_disorders

    monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
    data = fetch_liver_disorders()
    scores = monte_carlo_cv(
        data.X,
        data.y,
        "rank",
        Subsample(172),
        ties="index",
        n_repeats=250,
        random_state=reproduce.SEED,
        rank=5,
    ).scores
    cells = report[0].rows[1].cells
    assert cells["S-1"].value == pytest.approx(100 * scores.mean())
    assert cells["S-1"].two_sigma == pytest.approx(200 * scores.std(ddof=1))
    tens = scores.reshape(25, 10).mean(axis=1)
    assert cells["S-10"].two_sigma == pytest.approx(200 * tens.std(ddof=1))


def test_nothing_printed_as_ours_is_stored():
    """Were a paper's number taken for ours, changing it would change ours."""
    table = reproduce.TABLES["tr-table1"]
    experiment = replace(table.experiments[0], paper={"Exact": Cell(12.3)})
    row = Row(experiment, {"Exact": Cell(60.0)})
    text = Report(replace(table, experiments=(experiment,)), (row,), ()).to_text()
    assert "+47.70" in text


def test_the_command_prints_the_table(mirror, capsys, monkeypatch):
    monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
    assert main(["reproduce", "tr-table1", "--quick"]) == 0
    out, err = capsys.readouterr()
    assert "60.69" in out
    assert "+0.12" in out
    assert "error" not in err


def test_a_failing_download_leaves_the_other_experiments(data_folder, capsys, monkeypatch, tmp_path):
    healthy = local.folder(data_folder)

    def no_faces(handler):
        return handler.send_error(404) if "orl" in handler.path else healthy(handler)

    with local.serve(no_faces) as server:
        monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
        status = main(["reproduce", "tr-table1", "--quick", "--out", str(tmp_path / "out")])
    out, err = capsys.readouterr()
    assert status == 1
    assert "60.69" in out
    assert "96.33" in out
    assert "Experiment 4 was not computed" in out
    complaints = [line for line in err.splitlines() if "error" in line]
    assert len(complaints) == 1
    assert "no data for experiments 3 and 4: ORL" in complaints[0]
    assert "404" in complaints[0]
    written = (tmp_path / "out" / "tr-table1.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(io.StringIO(written)))
    assert {line["verdict"] for line in lines[8:]} == {"not computed"}


def test_a_bad_address_of_the_mirror(capsys, monkeypatch):
    monkeypatch.setenv("KNNCCV_DATA_URL", "ftp://nowhere")
    assert main(["reproduce", "tr-table1"]) == 2
    assert "KNNCCV_DATA_URL must begin with http" in capsys.readouterr().err


def test_an_output_folder_that_cannot_be(capsys, tmp_path):
    (tmp_path / "file").touch()
    assert main(["reproduce", "tr-table1", "--out", str(tmp_path / "file")]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_unknown_tables():
    with pytest.raises(ValueError, match="there is no table 'x'; there are: tr-table1"):
        reproduce.reproduce("x")


@pytest.mark.parametrize("table", reproduce.TABLES.values(), ids=reproduce.TABLES)
def test_tables_are_complete(table):
    labels = {tuple(experiment.paper) for experiment in table.experiments}
    assert len(labels) == 1
    numbers = [experiment.number for experiment in table.experiments]
    assert numbers == sorted(set(numbers))
