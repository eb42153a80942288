"""The random runs that complete cross-validation replaces: measurements, verdicts and text."""

from __future__ import annotations

import csv
import io
import sys

import mirror as local
import numpy as np
import pytest

from knnccv import complete_cv, monte_carlo_cv
from knnccv.__main__ import main
from knnccv.datasets import load_wine
from knnccv.reproduce import _what_ccv_buys
from knnccv.reproduce._what_ccv_buys import Found, interval, log_runs_needed, runs_needed


@pytest.fixture
def report(quick):
    return quick("what-ccv-buys")


@pytest.mark.parametrize(("spread", "error"), [(0.01, 0.001), (0.0132, 0.001), (0.3, 0.1), (0.0, 0.1)])
def test_runs_needed_by_counting(spread, error):
    n_runs = 1
    while spread / np.sqrt(n_runs) > error * (1 + 1e-12):
        n_runs += 1
    assert runs_needed(spread, error) == n_runs
    assert 10 ** log_runs_needed(spread, error) <= n_runs * (1 + 1e-9)


def test_runs_needed_beyond_all_numbers():
    assert log_runs_needed(0.01, 1e-13) == pytest.approx(22)
    assert log_runs_needed(0.01, 1e-300) == pytest.approx(596)
    assert log_runs_needed(0.01, 0.0) == np.inf


def test_the_interval_covers_the_true_spread():
    rng = np.random.default_rng(0)
    spreads = rng.normal(scale=3.0, size=(4000, 30)).std(axis=1, ddof=1)
    low, high = np.array([interval(spread, 30) for spread in spreads]).T
    inside = np.mean((low <= 3) & (high >= 3))
    assert abs(inside - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 4000)


@pytest.mark.slow
def test_the_table(report):
    found, folder = report
    assert not found.failures
    table = list(csv.DictReader(io.StringIO((folder / "what-ccv-buys.csv").read_text(encoding="utf-8"))))
    assert len({line["part"] for line in table}) == 7
    wine = {line["quantity"]: line for line in table if line["part"] == "Wine, 5-NN"}
    data = load_wine()
    exact = complete_cv(data.X, data.y, "knn", 5, n_neighbors=5)
    assert float(wine["exact accuracy in %"]["knnccv"]) == 100 * exact.score
    random = monte_carlo_cv(data.X, data.y, "knn", 5, n_neighbors=5, n_repeats=30, random_state=0)
    spread = float(wine["standard deviation of one random run, points"]["knnccv"])
    assert spread == pytest.approx(100 * random.std)
    needed = float(wine["random runs for the standard error 0.001"]["knnccv"])
    assert needed == runs_needed(random.std, 0.001)
    seconds = float(wine["seconds of these runs"]["knnccv"])
    assert seconds == pytest.approx(needed * float(wine["seconds of one random run"]["knnccv"]))
    near = [line["verdict"] for line in table if "near the exact score" in line["quantity"]]
    assert near == ["holds"] * 7
    assert all(not line["paper"] for line in table)


def test_verdicts_follow_from_the_numbers():
    one = Found((10, 2), 0.5, 1e-13, 0.5, 0.01, 30, seconds_exact=1.0, seconds_run=0.1)
    assert one.needed == 100
    assert one.seconds_needed == pytest.approx(10)
    *_, near, cheaper = _what_ccv_buys.lines_of("", one)
    assert (near.verdict, cheaper.verdict) == ("holds", "holds")
    other = Found((10, 2), 0.5, 1e-13, 0.6, 0.01, 30, seconds_exact=10.1, seconds_run=0.1)
    lines = list(_what_ccv_buys.lines_of("", other))
    assert [line.verdict for line in lines[-2:]] == ["does not hold"] * 2
    assert "1.0e+22 runs for the standard error 1.0e-13" in lines[-3].note
    low, high = (runs_needed(spread, 0.001) for spread in interval(0.01, 30))
    assert lines[4].note.startswith(f"{low} to {high}, ")
    assert low < 100 < high


def test_text_files_and_picture(report):
    found, folder = report
    text = found.to_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "cross_val_score of KNeighborsClassifier" in " ".join(text.split())
    assert (folder / "what-ccv-buys-seconds.png").read_bytes().startswith(b"\x89PNG")
    (axes,) = found.pictures[0].draw().axes
    assert len(axes.get_yticklabels()) == 7
    assert [side.get_label() for side in axes.containers][1:] == ["all splits, exactly", "one random run"]
    assert axes.get_xscale() == "log"


def test_without_scikit_learn(monkeypatch):
    for name in ("sklearn", "sklearn.neighbors", "sklearn.model_selection"):
        monkeypatch.setitem(sys.modules, name, None)
    run, number, how = _what_ccv_buys.plain_run()
    assert "scikit-learn is not installed" in how
    assert len(run(load_wine(), 5).scores) == number == 50


def test_a_failing_download_leaves_the_other_sets(data_folder, capsys, monkeypatch):
    healthy = local.folder(data_folder)

    def no_glass(handler):
        return handler.send_error(404) if "glass" in handler.path else healthy(handler)

    sets = [one for one in _what_ccv_buys.SETS if one["name"] in ("Wine", "Glass")]
    monkeypatch.setattr(_what_ccv_buys, "SETS", sets)
    with local.serve(no_glass) as server:
        monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
        status = main(["reproduce", "what-ccv-buys", "--quick", "--progress"])
    out, err = capsys.readouterr()
    assert status == 1
    assert "Wine, 5-NN" in out
    assert "Not computed: no data for Glass" in out
    assert len([line for line in err.splitlines() if "knnccv: error" in line]) == 1
    assert "404" in err
