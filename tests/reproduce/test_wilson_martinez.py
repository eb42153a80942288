"""Table 1 of Wilson & Martinez: its numbers, tests, text and files."""

from __future__ import annotations

import csv
import io
from collections import Counter

import mirror as local
import numpy as np
import pytest

from knnccv.__main__ import main
from knnccv.datasets import fetch_uci
from knnccv.reproduce import _wilson_martinez
from knnccv.reproduce._wilson_martinez import ACCURACIES, folds, signed_ranks


@pytest.fixture
def wm_report(quick):
    return quick("wm-table1")


def column_of(report, name, side="computed"):
    """The accuracies of a column, by set."""
    return np.array(
        [getattr(line, side) for line in report.lines if line.quantity == name and "n_items" in line.more]
    )


def test_the_printed_table_is_the_papers():
    """Its own means and counts, which are printed under it."""
    printed = np.array(list(ACCURACIES.values()))
    assert len(printed) == 31
    assert printed.mean(axis=0).round(2).tolist() == [82.11, 82.59, 83.17]
    assert (printed == printed.max(axis=1, keepdims=True)).sum(axis=0).tolist() == [7, 10, 18]


def test_the_signed_rank_test_is_the_papers():
    """CVC against static has 99.5 % there; against LCV 99 is printed, and 98.8 is what the columns give."""
    static, lcv, cvc = np.array(list(ACCURACIES.values())).T
    assert signed_ranks(cvc - static) == "+1.06 points, 22 up, 9 down, Wilcoxon 99.5 % one-sided"
    assert signed_ranks(cvc - lcv) == "+0.58 points, 18 up, 7 down, Wilcoxon 98.8 % one-sided"
    assert signed_ranks(np.zeros(3)) == "+0.00 points, 0 up, 0 down"


@pytest.mark.slow
def test_static_votes_are_as_good_as_printed_and_tuned_ones_better(wm_report):
    report, _ = wm_report
    assert not report.failures
    static, tuned = (column_of(report, name) for name in ("static", "cvc"))
    assert len(static) == 30
    assert abs(static.mean() - column_of(report, "static", "paper").mean()) <= 0.5
    assert tuned.mean() > static.mean()


@pytest.mark.parametrize("name", ["Iris", "Zoo", "Hepatitis", "Bridges"])
def test_the_static_column_by_hand(name, wm_report, mirror, monkeypatch):
    """Sums of squares written out, three neighbors by an argsort, votes counted by a Counter."""
    monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
    data = fetch_uci(name)
    shares = []
    for train, test in folds(data.y, 0):
        squares = hvdm_by_columns(data.X[test], data.X[train], data.y[train], data.nominal)
        order = np.argsort(squares.round(9), axis=1, kind="stable")[:, :3]
        right = 0
        for nearest, own_class, gaps in zip(order, data.y[test], squares, strict=True):
            votes = Counter(data.y[train][nearest])
            tied = [label for label, number in votes.items() if number == max(votes.values())]
            first = {label: gaps[nearest[data.y[train][nearest] == label][0]].round(9) for label in tied}
            right += min(tied, key=lambda label: (first[label], label)) == own_class
        shares.append(100 * right / len(test))
    (line,) = [one for one in wm_report[0].lines if (one.part, one.quantity) == (name, "static")]
    assert line.computed == pytest.approx(np.mean(shares))


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
    assert mean["cvc"] == pytest.approx(column_of(report, "cvc").mean())
    off = {column: mean[column] - column_of(report, column, "paper").mean() for column in mean}
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


@pytest.mark.slow
def test_a_set_without_data_leaves_the_others(data_folder, monkeypatch, capsys, tmp_path):
    healthy = local.folder(data_folder)

    def no_zoo(handler):
        return handler.send_error(404) if "zoo" in handler.path else healthy(handler)

    monkeypatch.setattr(
        _wilson_martinez, "ACCURACIES", {name: ACCURACIES[name] for name in ("Iris", "Zoo")}
    )
    monkeypatch.setattr("knnccv.datasets.uci_names", lambda: ["Iris", "Zoo"])
    with local.serve(no_zoo) as server:
        monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
        status = main(["reproduce", "wm-table1", "--quick", "--out", str(tmp_path)])
    out, err = capsys.readouterr()
    assert status == 1
    assert "Not computed: no data for Zoo" in out
    assert "no data for Zoo" in err
    assert "404" in err
    lines = list(csv.DictReader(io.StringIO((tmp_path / "wm-table1.csv").read_text(encoding="utf-8"))))
    assert [line["knnccv"] == "" for line in lines] == [False] * 4 + [True] * 4 + [False] * 5
