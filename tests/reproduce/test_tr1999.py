"""Table 1 of the technical report of Mullin & Sukthankar: its numbers, verdicts, text and files."""

from __future__ import annotations

import csv
import io

import mirror as local
import pytest

from knnccv import monte_carlo_cv, reproduce
from knnccv.__main__ import main
from knnccv.designs import Subsample
from knnccv.reproduce._tr1999 import EXPERIMENTS, SEED, lines_of


@pytest.fixture
def report(quick):
    return quick("tr-table1")


def line_of(report, part, quantity):
    (line,) = [line for line in report.lines if (line.part, line.quantity) == (part, quantity)]
    return line


@pytest.mark.slow
def test_the_exact_column_of_the_technical_report(report):
    found = [line.computed for line in report[0].lines if line.quantity == "Exact"]
    assert found == pytest.approx([60.694, 96.328, 88.826, 94.116], abs=0.001)


@pytest.mark.slow
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
    assert "in the order of the file, the exact accuracy is 60.6109" in " ".join(text.split())
    assert "does not say how the images" in text


def test_files_hold_the_same(report):
    found, folder = report
    markdown = (folder / "tr-table1.md").read_text(encoding="utf-8")
    assert markdown.startswith(found.to_markdown())
    assert markdown.rstrip().endswith("(tr-table1-accuracies.png)")
    assert (folder / "tr-table1-accuracies.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "tr-table1.csv").read_text(encoding="utf-8") == found.to_csv()
    table = [line for line in found.to_markdown().splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert len(table) == 4 * (2 + 4)


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
        random_state=SEED,
        rank=5,
    ).scores
    ones, tens = (line_of(report[0], "Experiment 2", f"S-{n}") for n in (1, 10))
    assert ones.computed == pytest.approx(100 * scores.mean())
    assert ones.more["knnccv_2sigma"] == pytest.approx(200 * scores.std(ddof=1))
    means = scores.reshape(25, 10).mean(axis=1)
    assert tens.more["knnccv_2sigma"] == pytest.approx(200 * means.std(ddof=1))


def test_printed_numbers_are_not_used_as_computed_ones():
    """Changing a printed number does not change a computed one."""
    experiment = {**EXPERIMENTS[0], "paper": {"Exact": {"value": 12.3}}}
    (line,) = lines_of(experiment, {"Exact": {"value": 60.0}})
    assert "differs from the printed 12.3 by +47.70" in line.note
    assert line.computed == 60


@pytest.mark.slow
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
    assert "Not computed: no data for experiment 3; experiment 4: ORL" in out
    complaints = [line for line in err.splitlines() if "error" in line]
    assert len(complaints) == 1
    assert "no data for experiment 3; experiment 4: ORL" in complaints[0]
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
    with pytest.raises(ValueError, match="there is no table 'x'; choose from: tr-table1"):
        reproduce.reproduce("x")


def test_the_table_is_complete():
    labels = {tuple(experiment["paper"]) for experiment in EXPERIMENTS}
    assert len(labels) == 1
    numbers = [experiment["number"] for experiment in EXPERIMENTS]
    assert numbers == sorted(set(numbers))
