"""``reproduce all`` shows one bar over all reproductions, on stderr."""

from __future__ import annotations

import pytest

from knnccv.__main__ import main
from knnccv._cli import output
from knnccv.reproduce import _catalog
from knnccv.reproduce._paper import Comparison


@pytest.fixture
def asked(monkeypatch):
    """Two reproductions, and whether each was asked for a bar of its own."""
    pytest.importorskip("tqdm")
    bars = []

    def run(_, progress):
        bars.append(progress)
        return Comparison("A title", "a source", ())

    few = {name: _catalog.Reproduction("A title", run) for name in ("one", "two")}
    monkeypatch.setattr(_catalog, "REPRODUCTIONS", few)
    return bars


def test_one_bar_over_all(asked, capsys):
    assert main(["reproduce", "all", "--progress"]) == 0
    out, err = capsys.readouterr()
    assert asked == [False, False]
    assert "2/2" in err
    assert "reproduction" in err
    assert "2/2" not in out


def test_no_bar_where_stderr_is_no_terminal(asked, capsys):
    assert main(["reproduce", "all"]) == 0
    assert asked == [False, False]
    assert capsys.readouterr().err == ""


def test_a_bar_by_default_on_a_terminal(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setenv("TQDM_DELAY", "0")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert output.shows_progress(None)
    assert not output.shows_progress(False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    assert not output.shows_progress(None)
    assert output.shows_progress(True)
    monkeypatch.undo()
