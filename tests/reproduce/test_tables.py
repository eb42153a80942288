"""Tables of the literature: that they are computed, judged and told truly."""

from __future__ import annotations

import csv
import io
import socket
from collections import Counter
from dataclasses import replace

import mirror as local
import numpy as np
import pytest

from knnccv import monte_carlo_cv, reproduce
from knnccv.__main__ import main
from knnccv.datasets import _download
from knnccv.designs import Subsample
from knnccv.reproduce import Cell, Row
from knnccv.reproduce.tr1999._paper import TABLES
from knnccv.reproduce.tr1999._protocol import SEED
from knnccv.reproduce.tr1999._report import TableReport
from knnccv.reproduce.wilson_martinez import _protocol
from knnccv.reproduce.wilson_martinez._report import signed_ranks


@pytest.fixture(autouse=True)
def _only_this_machine(monkeypatch, tmp_path):
    """Leave no way to a public address."""
    monkeypatch.setattr(_download, "public_sources", lambda _: [])
    monkeypatch.setattr(_download, "PAUSE", 0.0)
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("KNNCCV_CACHE_DIR", str(tmp_path / "kept"))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    assert socket.getaddrinfo("127.0.0.1", 80)


def ask_only(patch, mirror, folder):
    """Leave no way but to the mirror."""
    patch.setenv("KNNCCV_DATA_URL", mirror.url)
    patch.setenv("KNNCCV_DATA_DIR", str(folder / "cache"))
    patch.setenv("KNNCCV_CACHE_DIR", str(folder / "kept"))
    patch.setattr(_download, "public_sources", lambda _: [])
    for name in ("NO_PROXY", "no_proxy"):
        patch.setenv(name, "127.0.0.1,localhost")


@pytest.fixture(scope="module")
def report(mirror, tmp_path_factory):
    """The quick table, with the files that it wrote."""
    folder = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patch:
        ask_only(patch, mirror, folder)
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
    markdown = (folder / "tr-table1.md").read_text(encoding="utf-8")
    assert markdown.startswith(found.to_markdown())
    assert markdown.rstrip().endswith("(tr-table1-accuracies.png)")
    assert (folder / "tr-table1-accuracies.png").read_bytes().startswith(b"\x89PNG")
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
        random_state=SEED,
        rank=5,
    ).scores
    cells = report[0].rows[1].cells
    assert cells["S-1"].value == pytest.approx(100 * scores.mean())
    assert cells["S-1"].two_sigma == pytest.approx(200 * scores.std(ddof=1))
    tens = scores.reshape(25, 10).mean(axis=1)
    assert cells["S-10"].two_sigma == pytest.approx(200 * tens.std(ddof=1))


def test_nothing_printed_as_ours_is_stored():
    """Were a paper's number taken for ours, changing it would change ours."""
    table = TABLES["tr-table1"]
    experiment = replace(table.experiments[0], paper={"Exact": Cell(12.3)})
    row = Row(experiment, {"Exact": Cell(60.0)})
    text = TableReport(replace(table, experiments=(experiment,)), (row,), ()).to_text()
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


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_are_complete(table):
    labels = {tuple(experiment.paper) for experiment in table.experiments}
    assert len(labels) == 1
    numbers = [experiment.number for experiment in table.experiments]
    assert numbers == sorted(set(numbers))


@pytest.fixture(scope="module")
def wm_report(mirror, tmp_path_factory):
    """Table 1 of Wilson and Martinez, computed once, with the files that it wrote."""
    folder = tmp_path_factory.mktemp("wm")
    with pytest.MonkeyPatch.context() as patch:
        ask_only(patch, mirror, folder)
        return reproduce.reproduce("wm-table1", quick=True, folder=folder), folder


def test_the_printed_table_is_the_papers():
    """Its own means and counts, which are printed under it."""
    printed = np.array(list(_protocol.PAPER.values()))
    assert len(printed) == 31
    assert printed.mean(axis=0).round(2).tolist() == [82.11, 82.59, 83.17]
    assert (printed == printed.max(axis=1, keepdims=True)).sum(axis=0).tolist() == [7, 10, 18]


def test_the_signed_rank_test_is_the_papers():
    """CVC against static has 99.5 % there; against LCV 99 is printed, and 98.8 is what the columns give."""
    static, lcv, cvc = np.array(list(_protocol.PAPER.values())).T
    assert signed_ranks(cvc - static) == "+1.06 points, 22 up, 9 down, Wilcoxon 99.5 % one-sided"
    assert signed_ranks(cvc - lcv) == "+0.58 points, 18 up, 7 down, Wilcoxon 98.8 % one-sided"
    assert signed_ranks(np.zeros(3)) == "+0.00 points, 0 up, 0 down"


def test_static_votes_are_as_good_as_printed_and_tuned_ones_better(wm_report):
    report, _ = wm_report
    assert not report.failures
    assert len(report.found) == 30
    assert abs(report.ours("static").mean() - report.printed("static").mean()) <= 0.5
    assert report.ours("cvc").mean() > report.ours("static").mean()


@pytest.mark.parametrize("name", ["Iris", "Zoo", "Hepatitis", "Bridges"])
def test_the_static_column_by_hand(name, wm_report, mirror, monkeypatch):
    """Sums of squares written out, three neighbors by an argsort, votes counted by a Counter."""
    from knnccv.datasets import fetch_uci

    monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
    data = fetch_uci(name)
    (row,) = [row for row in wm_report[0].rows if row.name == name]
    for fold, (train, test) in enumerate(_protocol._folds(data.y, 0)):
        squares = hvdm_by_columns(data.X[test], data.X[train], data.y[train], data.nominal)
        order = np.argsort(squares.round(9), axis=1, kind="stable")[:, :3]
        right = 0
        for nearest, own, gaps in zip(order, data.y[test], squares, strict=True):
            votes = Counter(data.y[train][nearest])
            tied = [label for label, number in votes.items() if number == max(votes.values())]
            first = {label: gaps[nearest[data.y[train][nearest] == label][0]].round(9) for label in tied}
            right += min(tied, key=lambda label: (first[label], label)) == own
        assert row.scores["static"][0, fold] == pytest.approx(100 * right / len(test))


def hvdm_by_columns(X, others, labels, nominal):
    """Squared HVDM of all rows of X to all of `others`, whose labels are given, a column at a time."""
    total = np.zeros((len(X), len(others)))
    for a, is_nominal in enumerate(nominal):
        known = ~np.isnan(others[:, a])
        if is_nominal:
            shares = {
                value: np.array([(labels[others[:, a] == value] == c).mean() for c in np.unique(labels)])
                for value in np.unique(others[known, a])
            }
            none = np.zeros(len(np.unique(labels)))
            one = np.array([shares.get(value, none) for value in X[:, a]])
            other = np.array([shares.get(value, none) for value in others[:, a]])
            part = ((one[:, None] - other[None]) ** 2).sum(axis=2)
        else:
            width = 4 * np.std(others[known, a], ddof=1)
            part = ((X[:, None, a] - others[None, :, a]) / width) ** 2
        part[np.isnan(X[:, a])] = 1
        part[:, ~known] = 1
        total += part
    return total


def test_the_report_of_wm_table1(wm_report):
    report, folder = wm_report
    markdown = (folder / "wm-table1.md").read_text(encoding="utf-8")
    assert markdown.startswith(report.to_markdown())
    assert (folder / "wm-table1-gains.png").read_bytes().startswith(b"\x89PNG")
    lines = list(csv.DictReader(io.StringIO((folder / "wm-table1.csv").read_text(encoding="utf-8"))))
    assert len(lines) == 30 * 4 + 3 + 2
    for line in lines:
        if line["paper"]:
            assert float(line["difference"]) == float(line["knnccv"]) - float(line["paper"])
    mean = {line["column"]: float(line["knnccv"]) for line in lines[120:123]}
    assert mean["cvc"] == pytest.approx(report.ours("cvc").mean())
    off = {column: mean[column] - report.printed(column).mean() for column in mean}
    expected = ["agrees" if abs(off[column]) <= 0.5 else "differs" for column in ("static", "lcv", "cvc")]
    assert [line["verdict"] for line in lines[120:124]] == [*expected, "holds"]
    assert expected[0] == "agrees"
    gain = float(lines[124]["knnccv"])
    assert gain == pytest.approx(mean["cvc"] - mean["lcv"])
    assert lines[124]["verdict"] == ("holds" if gain > 0 else "does not hold")
    text = report.to_text()
    assert max(map(len, text.splitlines())) <= 100
    said = " ".join(text.split())
    assert "Heart (More) is left out: its definition is unknown" in said
    assert "the paper on its 31 sets +0.58 points, 18 up, 7 down, Wilcoxon 98.8 % one-sided" in said
    table = [line for line in report.to_markdown().splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert len(table) == 2 + 30 + 2


def test_a_set_without_data_leaves_the_others(data_folder, monkeypatch, capsys, tmp_path):
    healthy = local.folder(data_folder)

    def no_zoo(handler):
        return handler.send_error(404) if "zoo" in handler.path else healthy(handler)

    monkeypatch.setattr(_protocol, "PAPER", {name: _protocol.PAPER[name] for name in ("Iris", "Zoo")})
    monkeypatch.setattr("knnccv.datasets.uci_names", lambda: ["Iris", "Zoo"])
    with local.serve(no_zoo) as server:
        monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
        status = main(["reproduce", "wm-table1", "--quick", "--out", str(tmp_path)])
    out, err = capsys.readouterr()
    assert status == 1
    assert "Zoo was not computed" in out
    assert "no data for Zoo" in err
    assert "404" in err
    lines = list(csv.DictReader(io.StringIO((tmp_path / "wm-table1.csv").read_text(encoding="utf-8"))))
    assert [line["knnccv"] == "" for line in lines] == [False] * 4 + [True] * 4 + [False] * 5
