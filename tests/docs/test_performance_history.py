"""The page of the performance history, from a small folder of results as asv writes it."""

import json
import math
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
HISTORY = runpy.run_path(str(DOCS / "_ext" / "performance_history.py"))
COLUMNS = ["result", "params", "version", "started_at", "duration"]


@pytest.fixture
def folder(tmp_path):
    """Three commits with a benchmark of two cases, one of scores, and results of an earlier version."""
    results = tmp_path / "asv_benchmarks" / "results"
    (results / "box").mkdir(parents=True)
    known = {
        "kernels.Votes.time_knn": {"version": "1", "unit": "seconds"},
        "scores.CompleteCV.track_score": {"version": "2", "unit": "unit"},
        "version": 2,
    }
    (results / "benchmarks.json").write_text(json.dumps(known), encoding="utf-8")
    (results / "box" / "machine.json").write_text("{}", encoding="utf-8")
    for number, (times, score) in enumerate([([0.4, 2.0], 0.5), ([0.4, None], 0.5), ([0.2, 1.0], 0.5)]):
        run = {
            "commit_hash": f"{number}" * 40,
            "date": 1_700_000_000_000 + 86_400_000 * (2 - number if number < 2 else 5),
            "result_columns": COLUMNS,
            "results": {
                "kernels.Votes.time_knn": [times, [["10", "20"]], "1", 0, 1.0],
                "scores.CompleteCV.track_score": [[score], [], "2", 0, 1.0],
                "kernels.Gone.time_it": [[1.0], [], "1", 0, 1.0],
            },
        }
        if number == 1:
            run["results"]["scores.CompleteCV.track_score"][2] = "1"
        name = f"{run['commit_hash'][:8]}-virtualenv.json"
        (results / "box" / name).write_text(json.dumps(run), encoding="utf-8")
    return tmp_path / "asv_benchmarks"


def test_commits_are_ordered_by_date_and_cases_are_told_apart(folder):
    commits, cases = HISTORY["read_history"](folder / "results")
    assert [commit.hash[0] for commit in commits] == ["1", "0", "2"]
    found = {(case.benchmark, case.parameters): case for case in cases}
    assert set(found) == {
        ("kernels.Votes.time_knn", ("10",)),
        ("kernels.Votes.time_knn", ("20",)),
        ("scores.CompleteCV.track_score", ()),
    }
    assert found["kernels.Votes.time_knn", ("10",)].values == (0.4, 0.4, 0.2)
    assert math.isnan(found["kernels.Votes.time_knn", ("20",)].values[0])
    assert math.isnan(found["scores.CompleteCV.track_score", ()].values[0])  # of an earlier version


def test_the_table_has_the_ratios_of_newest_to_oldest(folder):
    _, cases = HISTORY["read_history"](folder / "results")
    files = HISTORY["by_file"](cases)
    assert list(files) == ["kernels", "scores"]
    assert HISTORY["table"](files["kernels"]) == [("Votes.time_knn", "2", "0.5", "0.5", "0.5")]
    assert HISTORY["table"](files["scores"]) == [("CompleteCV.track_score", "1", "1", "1", "1")]


def test_the_picture_is_drawn(folder):
    commits, cases = HISTORY["read_history"](folder / "results")
    drawn = HISTORY["picture"](commits, cases)
    assert drawn.startswith(b"<?xml")
    assert drawn == HISTORY["picture"](commits, cases)


def test_no_results_are_no_error(tmp_path):
    assert HISTORY["read_history"](tmp_path) == ([], [])
    (tmp_path / "benchmarks.json").write_text("{}", encoding="utf-8")
    assert HISTORY["read_history"](tmp_path) == ([], [])
    assert not HISTORY["can_publish"](tmp_path)


def test_the_folder_is_beside_the_pages_unless_a_variable_names_it(monkeypatch, tmp_path):
    monkeypatch.delenv("KNNCCV_BENCHMARKS", raising=False)
    assert HISTORY["benchmarks_folder"](DOCS) == DOCS.parent / "asv_benchmarks"
    monkeypatch.setenv("KNNCCV_BENCHMARKS", str(tmp_path))
    assert HISTORY["benchmarks_folder"](DOCS) == tmp_path


@pytest.mark.parametrize("recorded", [True, False])
def test_the_page_is_built_with_and_without_results(recorded, folder, tmp_path):
    for name in ("sphinx", "myst_parser"):
        pytest.importorskip(name, reason="Sphinx and MyST are not installed")
    site = tmp_path / "site"
    site.mkdir()
    (site / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(DOCS / '_ext')!r})\n"
        "extensions = ['myst_parser', 'performance_history']\n",
        encoding="utf-8",
    )
    text = (DOCS / "performance_history.md").read_text(encoding="utf-8")
    (site / "index.md").write_text(text, encoding="utf-8")
    if not recorded:
        folder.rename(tmp_path / "elsewhere")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(site), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert ("without recorded results" in page) is not recorded
    assert ("data:image/svg+xml" in page) is recorded
